"""What a stream keeps between steps: a table of rows, the rows of a partition one after the other in their order.

Besides the columns of the program a row has columns of its owner's own, whose names begin with two underscores; one
of them says when time alone decides something about it.

A step takes out the partitions it is about and puts them back. Where it is about a few of many, they stay apart for
a while (`recent`), so that a single event does not move all that is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, flat, numpy_of, taken, to_lanes
from motif.engine.nested import is_nested
from motif.engine.partitions import groups
from motif.engine.runs import bounds_of
from motif.engine.watermark import BEGINNING, FOREVER, is_past
from motif.ir.types import Kind, Type

FEW = 8
"""Partitions (and new rows) of a step that looks them up one by one."""
MOST_RECENT = 1_000
"""Partitions that stay apart, or are gone from the others, before all are put in one table again."""

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """Whole partitions, one after the other; in each the new rows come after those that were kept."""

    table: pa.Table
    is_new: Array
    bounds: Array

    def in_halves(self) -> list[Touched]:
        """Two halves of whole partitions; none where there is one partition only."""
        if len(self.bounds) < 3:
            return []
        half = len(self.bounds) // 2
        middle, end = int(self.bounds[half]), int(self.bounds[-1])
        return [
            Touched(self.table.slice(0, middle), self.is_new[:middle], self.bounds[: half + 1]),
            Touched(self.table.slice(middle, end - middle), self.is_new[middle:], self.bounds[half:] - middle),
        ]


@dataclass(frozen=True, slots=True)
class Recent:
    """The rows of a partition that was touched lately, and when time decides something about them."""

    table: pa.Table
    due: int


@dataclass(slots=True)
class Contents:
    """All rows: those of `base` but for partitions that were taken out of it, and `recent` ones."""

    base: pa.Table | None = None
    taken: frozenset[int] = frozenset()
    """Numbers of the partitions that were, as they come in `base`."""
    recent: dict[Key, Recent] = field(default_factory=dict)
    due: int = FOREVER
    """No moment that decides something comes before."""


@dataclass(frozen=True, slots=True)
class Index:
    """Where the partitions of a table are, and the moments that decide something about one, the earliest first."""

    base: pa.Table
    bounds: Array
    numbers: dict[Key, int]
    moments: Array
    owners: Array
    """Whose the moments are."""


class Kept:
    """Rows that may still matter."""

    def __init__(self, keys: Sequence[int], due: str, delays: Sequence[int] = (0,)) -> None:
        """`due`: the column with the moment after which, by `delays`, something is decided; none: time does nothing."""
        self.keys = keys
        self.due = due
        self.delays = delays
        self.contents = Contents()
        self._index: Index | None = None
        self._few_in_a_row = 0

    @property
    def table(self) -> pa.Table | None:
        """All rows in one table."""
        self._settle()
        return self.contents.base

    @table.setter
    def table(self, table: pa.Table | None) -> None:
        base = table if table is not None and table.num_rows else None
        self.contents = Contents(base, due=FOREVER if base is None else self._next_due(base, BEGINNING))

    @property
    def count(self) -> int:
        table = self.table
        return 0 if table is None else table.num_rows

    def column(self, name: str) -> Array:
        """One of the owner's columns of integers or flags."""
        table = self.table
        assert table is not None
        return numpy_of(flat(table.column(name)))

    def next_due(self, now: int) -> int:
        """The first moment after now at which time decides something, or forever."""
        table = self.table
        return FOREVER if table is None else self._next_due(table, now)

    def copy(self) -> Contents:
        """What is kept now; tables never change, so this costs next to nothing."""
        now = self.contents
        return Contents(now.base, now.taken, dict(now.recent), now.due)

    def touched(self, new: pa.Table | None, before: int, now: int) -> Touched | None:
        """Take out the partitions that have a new row, or one about which time decides something between two moments.

        None: there are none. At the end of all time these are all of them.
        """
        is_due = before < now and is_past(self.contents.due, now)
        if new is None and not is_due:
            return None
        if max(len(self.contents.recent), len(self.contents.taken)) > MOST_RECENT:
            self._settle()
        if now < FOREVER and self._can_look_up(new):
            keys = self._due_keys(before, now) if is_due else []
            if keys is not None:
                return self._of_keys(keys, new)
        return self._many(new, before, now)

    def put(self, table: pa.Table, bounds: Array, now: int) -> None:
        """Rows that stay after all; whole partitions, and time is `now`."""
        if not table.num_rows:
            return
        if len(bounds) - 1 > FEW:
            base = self.table
            self.contents.base = table if base is None else pa.concat_tables([base, table])
            self.contents.due = min(self.contents.due, self._next_due(table, now))
            return
        for low, high in pairwise(bounds.tolist()):
            if low < high:
                part = table if len(bounds) == 2 else table.slice(low, high - low)
                due = self._next_due(part, now)
                self.contents.recent[self._key_of(part)] = Recent(part, due)
                self.contents.due = min(self.contents.due, due)

    def drop(self, gone: Array) -> None:
        """Let go of some rows, numbered as in `table`."""
        table = self.table
        if table is not None and gone.any():
            self.contents.base = taken(table, np.flatnonzero(~gone)) if not gone.all() else None

    # -- all that is kept

    def _settle(self) -> None:
        """Put everything in one table."""
        now = self.contents
        if not now.recent and not now.taken:
            return
        parts = [entry.table for entry in now.recent.values()]
        if now.base is not None:
            parts.insert(0, self._left())
        table = pa.concat_tables(parts).combine_chunks() if parts else None
        self.contents = Contents(table if table is not None and table.num_rows else None, due=now.due)

    def _left(self) -> pa.Table:
        """What was not taken out of `base`."""
        base, gone = self.contents.base, self.contents.taken
        assert base is not None
        if not gone:
            return base
        bounds = self._indexed().bounds
        left = np.ones(len(bounds) - 1, bool)
        left[list(gone)] = False
        return taken(base, np.flatnonzero(np.repeat(left, np.diff(bounds))))

    def _many(self, new: pa.Table | None, before: int, now: int) -> Touched | None:
        base = self.table
        old = 0 if base is None else base.num_rows
        parts = [part for part in (base, new) if part is not None and part.num_rows]
        if not parts:
            return None
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()
        group = groups(table, self.keys)
        wanted = np.zeros(int(group.max(initial=-1)) + 1, bool)
        wanted[group[old:]] = True
        self.contents.due = FOREVER
        if base is not None:
            wanted[group[:old][self._falls_due(base, before, now)]] = True
            self.contents.due = self._next_due(base, now)
        rest = np.flatnonzero(~wanted[group])
        chosen = np.flatnonzero(wanted[group])
        if not len(chosen):
            return None
        self.contents.base = None if not len(rest) else taken(table, rest)
        chosen = chosen[np.argsort(group[chosen], kind="stable")]
        in_place = len(chosen) == table.num_rows and bool((chosen[1:] > chosen[:-1]).all())
        differs = np.flatnonzero(group[chosen[1:]] != group[chosen[:-1]]) + 1
        bounds = np.concatenate(([0], differs, [len(chosen)]))
        return Touched(table if in_place else taken(table, chosen), chosen >= old, bounds)

    # -- a few partitions

    def _can_look_up(self, new: pa.Table | None) -> bool:
        """For a few rows, from the second time on: where all partitions are costs more than one step saves."""
        self._few_in_a_row = self._few_in_a_row + 1 if new is None or new.num_rows <= FEW else 0
        table = self.contents.base if new is None else new
        if self._few_in_a_row < 2 or table is None:
            return False
        # Values within values have no order and no hash.
        return not any(is_nested(table.schema.field(key).type) for key in self.keys)

    def _due_keys(self, before: int, now: int) -> list[Key] | None:
        """Partitions about which time decides something; None where they are many."""
        recent, base = self.contents.recent, self.contents.base
        due: list[Key] = []
        later = FOREVER
        for key, entry in recent.items():
            if is_past(entry.due, now):
                due.append(key)
            elif entry.due < later:
                later = entry.due
        if base is not None:
            index = self._indexed()
            low, high = np.searchsorted(index.moments, (before, now), "right").tolist()
            numbers = set(index.owners[low:high].tolist()) - self.contents.taken
            due += [self._key_of(index.base.slice(int(index.bounds[n]), 1)) for n in sorted(numbers)[: FEW + 1]]
            later = min(later, int(index.moments[high]) if high < len(index.moments) else FOREVER)
        if len(due) > FEW:
            return None
        self.contents.due = later
        return due

    def _of_keys(self, due: list[Key], new: pa.Table | None) -> Touched | None:
        """The partitions of some keys and of new rows."""
        arrived: dict[Key, list[int]] = {key: [] for key in due}
        for number, key in enumerate([] if new is None else self._keys_of(new)):
            arrived.setdefault(key, []).append(number)
        parts, flags, sizes = [], [], []
        for key, rows in arrived.items():
            old = self._taken_out(key)
            size = 0 if old is None else old.num_rows
            if old is not None:
                parts.append(old)
            if rows:
                assert new is not None
                parts.append(new if len(rows) == new.num_rows else taken(new, np.array(rows)))
            flags += [False] * size + [True] * len(rows)
            sizes.append(size + len(rows))
        if not flags:
            return None
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()
        return Touched(table, np.array(flags), np.cumsum([0, *sizes]))

    def _taken_out(self, key: Key) -> pa.Table | None:
        entry = self.contents.recent.pop(key, None)
        if entry is not None:
            return entry.table
        base = self.contents.base
        if base is None:
            return None
        index = self._indexed()
        number = index.numbers.get(key)
        if number is None or number in self.contents.taken:
            return None
        self.contents.taken |= {number}
        low, high = index.bounds[number : number + 2].tolist()
        return index.base.slice(low, high - low)

    def _indexed(self) -> Index:
        """Where the partitions of `base` are."""
        base = self.contents.base
        assert base is not None
        if self._index is None or self._index.base is not base:
            base = self.contents.base = base.combine_chunks()
            bounds = bounds_of([flat(base.column(key)) for key in self.keys], base.num_rows)
            keys = self._keys_of(taken(base, bounds[:-1]))
            moments = np.concatenate([np.zeros(0, np.int64), *self._moments(base)])
            owner = np.repeat(np.arange(len(keys)), np.diff(bounds))
            order = np.argsort(moments, kind="stable")
            owners = np.tile(owner, len(self.delays))[order]
            self._index = Index(base, bounds, {key: n for n, key in enumerate(keys)}, moments[order], owners)
        return self._index

    def _key_of(self, table: pa.Table) -> Key:
        return tuple(_hashable(flat(table.column(key)).slice(0, 1))[0] for key in self.keys)

    def _keys_of(self, table: pa.Table) -> list[Key]:
        """What tells the partitions of rows apart."""
        if not self.keys:
            return [()] * table.num_rows
        return list(zip(*(_hashable(flat(table.column(key))) for key in self.keys), strict=True))

    # -- time

    def _moments(self, table: pa.Table) -> list[Array]:
        due = numpy_of(flat(table.column(self.due)))
        return [due + delay if delay else due for delay in self.delays]

    def _falls_due(self, table: pa.Table, before: int, now: int) -> Array:
        """Rows about which something is decided in between; at the end of all time, all."""
        passes = np.full(table.num_rows, before < now and now >= FOREVER)
        if before < now < FOREVER:
            for due in self._moments(table):
                passes |= ~is_past(due, before) & is_past(due, now)
        return passes

    def _next_due(self, table: pa.Table, now: int) -> int:
        """The first moment after now at which something is decided."""
        ahead = [due[~is_past(due, now)] for due in self._moments(table)]
        return min((int(due.min(initial=FOREVER)) for due in ahead), default=FOREVER)


def _hashable(array: pa.Array) -> list[Any]:
    """Values that are equal as keys of a dictionary where they are one partition (NULLs are, NaNs are)."""
    kind = array.type
    if pa.types.is_floating(kind):
        return ["nan" if value != value else value for value in array.to_pylist()]
    if pa.types.is_nested(kind):
        return [repr(value) for value in array.to_pylist()]
    if pa.types.is_interval(kind):
        return to_lanes(array, Type(Kind.INTERVAL)).values.tolist()  # type: ignore[no-any-return]
    if pa.types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return array.to_pylist()  # type: ignore[no-any-return]


def too_old(bounds: Array, limit: int) -> Array:
    """Rows that a partition has too many of, the oldest first."""
    sizes = np.diff(bounds)
    return np.repeat(bounds[1:], sizes) - np.arange(int(bounds[-1])) > limit


def with_columns(table: pa.Table, columns: Mapping[str, Array | pa.Array]) -> pa.Table:
    """The table with some columns more, or others in their place."""
    names = table.schema.names
    added = {name: values if isinstance(values, pa.Array) else arrow(values) for name, values in columns.items()}
    if len(added) == 1 and (name := next(iter(added))) in names:
        return table.set_column(names.index(name), name, added[name])
    arrays = table.columns
    for name, values in added.items():
        if name in names:
            arrays[names.index(name)] = values
        else:
            names.append(name)
            arrays.append(values)
    return pa.Table.from_arrays(arrays, names)


def constant(value: int, count: int) -> pa.Array:
    """A column that is the same everywhere."""
    return _constant(value, count) if count <= FEW else arrow(np.full(count, value, np.int64))


@cache
def _constant(value: int, count: int) -> pa.Array:
    return arrow(np.full(count, value, np.int64))
