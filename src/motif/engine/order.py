"""The total order of rows: partition, ORDER BY, then the columns that break ties.

Used where the host hands rows over unsorted, because sorting numbers here is cheaper than letting it sort rows.
`Layout` says what crosses and how it is ordered; NULLs come last unless asked for first, NaN after all numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, Lanes, arrow, flat, null_flags, numpy_of, plain_type, taken, to_lanes
from motif.engine.nested import is_nested, ranks
from motif.engine.partitions import groups, with_coded_keys
from motif.engine.threads import on_threads
from motif.ir.expr import Expr
from motif.ir.types import Type
from motif.plan.program import SortKey
from motif.plan.scalar import Lane, lane

_LOOK = 4_096
"""Rows that are looked at before all are."""


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of the layout to sort by."""

    column: int
    type: Type
    descending: bool = False
    nulls_first: bool = False


class Sortable(Protocol):
    """What the order of rows takes to know of a program."""

    @property
    def columns(self) -> tuple[Expr, ...]: ...
    @property
    def keys(self) -> tuple[int, ...]: ...
    @property
    def order(self) -> tuple[SortKey, ...]: ...
    @property
    def ties(self) -> tuple[Expr, ...]: ...
    @property
    def windowed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that cross: first those of the program, then those only the sort reads."""

    exprs: tuple[Expr, ...]
    width: int
    """How many of them the program reads."""
    keys: tuple[int, ...]
    order: tuple[SortColumn, ...]
    ties: tuple[SortColumn, ...]


def layout(program: Sortable, types: Sequence[Type]) -> Layout:
    """What must cross for `program`; `types` are those of `sort_exprs(program)`."""
    exprs = crossing(program)
    order = tuple(
        SortColumn(exprs.index(item.expr), types[exprs.index(item.expr)], item.descending, item.nulls_first)
        for item in program.order
    )
    ties = tuple(SortColumn(exprs.index(expr), types[exprs.index(expr)]) for expr in _breakers(program))
    return Layout(tuple(exprs), len(program.columns), program.keys, order, ties)


def crossing(program: Sortable) -> list[Expr]:
    """Row expressions that cross when rows are sorted on this side."""
    return list(dict.fromkeys([*program.columns, *(item.expr for item in program.order), *_breakers(program)]))


def _breakers(program: Sortable) -> tuple[Expr, ...]:
    """Rows that the host has numbered never tie."""
    return () if program.windowed else program.ties


class Arrangement:
    """Rows with what they are sorted by; gives them out in order, all or in shards of whole partitions."""

    def __init__(
        self,
        rows: pa.Table,
        plan: Layout,
        arrival: Array | None = None,
        *,
        group: Array | None = None,
        members: Array | None = None,
    ) -> None:
        """`arrival`: orders rows that nothing else tells apart; `group`: numbers of the partitions, if known.

        `members`: the numbers of the rows that it is about, of which `arrival` and `group` are; else it is all.
        """
        self.rows = rows
        self.plan = plan
        self.arrival = arrival
        self.members = members
        if group is not None:
            self.group = group

    @cached_property
    def group(self) -> Array:
        """For each row the number of its partition."""
        return groups(self.rows, self.plan.keys)

    @cached_property
    def order(self) -> list[Array]:
        """What the rows of a partition are sorted by."""
        return [key for item in self.plan.order for key in sort_keys(flat(self.rows.column(item.column)), item)]

    def in_order(self) -> pa.Table:
        """All rows in order, with only the columns the program reads."""
        if self.is_in_place:
            return self._kept()
        sequence = self.sequence()
        if self.members is None and bool((sequence[1:] > sequence[:-1]).all()):
            return self._kept()
        self._put_side_by_side()
        if self.members is None:
            return taken(self._kept(), sequence)
        return self._gathered(arrow(self.members), arrow(sequence), arrow(self.members[sequence]))

    def shards(self, count: int) -> Callable[[int], pa.Table]:
        """The same in parts of whole partitions: gives one by its number, on any thread."""
        if count == 1:
            return lambda _: self.in_order()
        if self.is_in_place:
            kept, cuts = self._kept(), [self._cut(at, count) for at in range(count + 1)]
            return lambda number: kept.slice(cuts[number], cuts[number + 1] - cuts[number])
        self._put_side_by_side()
        reached = np.cumsum(np.bincount(self.group))  # partitions whose numbers follow each other, so in their order
        of_partition = ((reached - 1) * count // reached[-1]).astype(np.min_scalar_type(count))
        dealt, order = of_partition[self.group], self.order  # once for all threads
        return lambda number: self._only(np.flatnonzero(dealt == number), order).in_order()

    def _kept(self) -> pa.Table:
        return self.rows.select(range(self.plan.width))

    def _put_side_by_side(self) -> None:
        """Rows that came in pieces and stay where they are need not be copied; to pick some, it takes one piece."""
        if any(column.num_chunks != 1 for column in self.rows.columns):
            columns = on_threads(lambda number: flat(self.rows.column(number)), self.rows.num_columns)
            self.rows = pa.table(columns, self.rows.schema.names)

    def _only(self, members: Array, order: list[Array]) -> Arrangement:
        """Some rows: what they are sorted by is brought together, as it takes longer to sort what lies far apart."""
        arrival = None if self.arrival is None else self.arrival[members]
        part = Arrangement(self.rows, self.plan, arrival, group=self.group[members], members=members)
        part.order = [key[members] for key in order]
        return part

    def _gathered(self, members: pa.Array, sequence: pa.Array, places: pa.Array) -> pa.Table:
        """Members in sequence: where they are in the table. What is wide is brought together first, to be found."""
        kept = self._kept()
        columns = [
            taken(taken(column, members), sequence) if _is_wide(column.type) else taken(column, places)
            for column in kept.columns
        ]
        return pa.Table.from_arrays(columns, kept.column_names)

    @cached_property
    def is_in_place(self) -> bool:
        """Whether the rows came in order, as those of a log or of a table that is kept sorted: nothing has to move.

        They are looked at in the pieces in which they came: to put them side by side takes longer than to look.
        """
        keys = [self.rows.column(key) for key in self.plan.keys]
        is_coded_anew = any(pa.types.is_dictionary(key.type) and key.num_chunks > 1 for key in keys)
        if self.members is not None or is_coded_anew or not self.plan.order:
            return False
        if not self._rises(self.rows.slice(0, _LOOK)):
            return False
        return self.rows.num_rows <= _LOOK or all(map(self._rises, _pieces(self.rows)))

    def _rises(self, rows: pa.Table) -> bool:
        """Whether each row comes after the one before, and no partition goes on after another has begun."""
        keys = [_rank(flat(rows.column(key))) for key in self.plan.keys]
        known = [key for key in keys if key is not None]
        order = [key for item in self.plan.order for key in sort_keys(flat(rows.column(item.column)), item)]
        return len(known) == len(keys) and _is_rising([*known, *order])

    def _cut(self, place: int, shards: int) -> int:
        """Where a shard of rows in place begins: at the first partition that begins behind its share of the rows."""
        count: int = self.rows.num_rows
        at = count * place // shards
        if at in (0, count):
            return at
        keys = [self.rows.column(key) for key in self.plan.keys]
        last = [key[at - 1].as_py() for key in keys]
        behind = range(at, count)
        return at + bisect_left(behind, True, key=lambda row: [key[row].as_py() for key in keys] != last)

    def sequence(self) -> Array:
        """Numbers of the rows, in order."""
        if len(self.group) < 2:
            return np.arange(len(self.group))
        sequence = _sequence(self.group, self.order)
        if self._has_no_ties:
            return sequence
        keys = [key[sequence] for key in (self.group, *self.order)]
        return self._break_ties(sequence, keys)

    @cached_property
    def _has_no_ties(self) -> bool:
        """Whether all rows, as those of a log with a fine clock, came one after the other: none can tie."""
        return len(self.order) == 1 and bool((self.order[0][1:] > self.order[0][:-1]).all())

    def _break_ties(self, sequence: Array, keys: list[Array]) -> Array:
        """Order runs of rows that are equal in `keys` (sorted as `sequence`) by the columns the query reads."""
        equal = np.ones(len(sequence) - 1, bool)
        for key in keys:
            equal &= key[1:] == key[:-1]
        if not equal.any() or not (self.plan.ties or self.arrival is not None):
            return sequence
        tied = np.flatnonzero(np.concatenate(([False], equal)) | np.concatenate((equal, [False])))
        run = np.cumsum(np.concatenate(([True], ~equal)))[tied]
        rows = sequence[tied]
        places = rows if self.members is None else self.members[rows]
        breakers: list[Array] = []
        for item in self.plan.ties:
            breakers += sort_keys(taken(flat(self.rows.column(item.column)), places), item)
        if self.arrival is not None:
            breakers.append(self.arrival[rows])
        sequence = sequence.copy()
        sequence[tied] = rows[np.lexsort((*reversed(breakers), run))]
        return sequence


def _pieces(rows: pa.Table) -> list[pa.Table]:
    """Rows as they came, and the two next to each other wherever one piece ends and another begins."""
    starts = np.cumsum([0, *map(len, rows.column(0).chunks)]).tolist()
    return [rows.slice(low, high - low) for low, high in pairwise(starts)] + [
        rows.slice(start - 1, 2) for start in starts[1:-1] if start
    ]


def _rank(key: pa.Array) -> Array | None:
    """Numbers that rise wherever a value of a key is left for good; None where that is not to be seen."""
    if key.null_count:
        return None
    if pa.types.is_dictionary(key.type):  # coded in the order in which they came
        return numpy_of(key.indices)
    is_number = pa.types.is_integer(key.type) or pa.types.is_timestamp(key.type) or pa.types.is_date(key.type)
    return numpy_of(key) if is_number else None


def _is_wide(kind: pa.DataType) -> bool:
    """Whether values may be of any length."""
    return not (pa.types.is_primitive(kind) or pa.types.is_dictionary(kind) or pa.types.is_decimal(kind))


def _is_rising(keys: list[Array]) -> bool:
    """Whether each row comes after the one before, by the first of the keys that tells them apart."""
    *others, last = keys
    rises = last[1:] > last[:-1]
    for key in reversed(others):
        rises &= key[1:] == key[:-1]
        rises |= key[1:] > key[:-1]
    return bool(rises.all())


def arrange(rows: pa.Table, plan: Layout) -> pa.Table:
    """All rows in order."""
    return Arrangement(with_coded_keys(rows, plan.keys), plan).in_order()


def sort_keys(array: pa.Array, item: SortColumn) -> list[Array]:
    """Integers that sort as the column should: flags for NULL if there are any, then values."""
    lanes = _ordinals(array, item.type)
    values = ~lanes.values if item.descending else lanes.values
    if not lanes.nulls.any():
        return [values]
    nulls = lanes.nulls.astype(np.int64)
    return [1 - nulls if item.nulls_first else nulls, np.where(lanes.nulls == 1, 0, values)]


def _ordinals(array: pa.Array, kind: Type) -> Lanes:
    match lane(kind):
        case Lane.INT:
            return to_lanes(array, kind)
        case Lane.FLOAT:
            lanes = to_lanes(array, kind)
            return Lanes(float_order(lanes.values), lanes.nulls)
        case Lane.CODE if is_nested(array.type):
            return Lanes(ranks(array), null_flags(array))
        case Lane.CODE:
            values = array.cast(plain_type(array.type))
            encoded = values.dictionary_encode()
            nulls = null_flags(array)
            order = numpy_of(pc.sort_indices(encoded.dictionary))
            places = np.empty(len(order), np.int64)
            places[order] = np.arange(len(order))
            indices = np.where(nulls == 0, numpy_of(encoded.indices), 0)
            return Lanes(places[indices] if len(places) else np.zeros(len(array), np.int64), nulls)


def float_order(values: Array) -> Array:
    """Floats as integers in the same order; every NaN is the greatest."""
    clean = np.where(np.isnan(values), np.nan, values) + 0.0
    bits = clean.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    return np.where(np.isnan(values), np.iinfo(np.int64).max, ordered)


def _sequence(group: Array, order: list[Array]) -> Array:
    """Row numbers sorted by partition and order; ties in any order."""
    if len(order) == 1 and int(group.max()) < _MANY_GROUPS:
        falls = int(np.count_nonzero(order[0][1:] < order[0][:-1]))
        if falls * _LONG_RUN < len(group):
            return _merged(group, order[0], is_sorted=falls == 0)
    packed = _packed(group, order[0]) if len(order) == 1 else (group if not order else None)
    if packed is not None:
        return np.argsort(packed)
    return np.lexsort((*reversed(order), group))


_MANY_GROUPS = 1 << 32
_LONG_RUN = 256


def _merged(group: Array, values: Array, *, is_sorted: bool) -> Array:
    """Rows that are mostly in order already, as logs are: merge the runs, then deal them out to the partitions."""
    in_order = np.arange(len(values)) if is_sorted else np.argsort(values, kind="stable")
    digits, most = (group if is_sorted else group[in_order]), int(group.max())
    while most:
        # Of 16-bit integers NumPy's stable sort is a radix sort; larger numbers take a round for each 16 bits.
        dealt = np.argsort(digits.astype(np.uint16), kind="stable")
        in_order, most = in_order[dealt], most >> 16
        digits = digits[dealt] >> 16 if most else digits
    return in_order


def _packed(group: Array, values: Array) -> Array | None:
    """Both in one integer, which sorts several times faster; None where they do not fit."""
    low, high = int(values.min()), int(values.max())
    width = high - low + 1
    if width * (int(group.max()) + 1) >= 2**63:
        return None
    packed: Array = group * width + (values - low)
    return packed
