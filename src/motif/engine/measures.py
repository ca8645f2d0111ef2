"""Leaves of the output columns: gathers and folds over the rows of matches.

Matched rows are *entries*: entry e of match m is row start[m] + e - offsets[m]. Counting the entries of some
variables from the left turns FIRST(x, k) and LAST(x, k) of all output rows into index arithmetic on whole arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import (
    Array,
    Lanes,
    arrow,
    arrow_strings,
    decimals,
    null_flags,
    numpy_of,
    plain_type,
    taken,
    to_lanes,
    values_at,
)
from motif.engine.matcher import Rows
from motif.engine.matches import Matches
from motif.engine.nested import is_nested, ranks
from motif.errors import QueryDataError
from motif.ir.expr import End
from motif.ir.types import Kind, Type
from motif.kernels import fold
from motif.kernels.build import fold_loop, native_fold
from motif.plan.outputs import Folded, Found, Gather, IsMatched, Leaf, Listed, Number, RowValue
from motif.plan.scalar import Lane, lane, scale

_FOLDS = {"count": fold.COUNT, "sum": fold.SUM, "avg": fold.SUM, "min": fold.MIN, "max": fold.MAX}


@dataclass(frozen=True, slots=True)
class OutputRows:
    """One element per output row: its row, its match or -1, and its last entry so far or -1 (empty match)."""

    row: Array
    match: Array
    entry: Array
    are_matches: bool = False
    """Whether it is one for each match, in their order."""


class Members:
    """Entries of some variables, counted."""

    def __init__(self, flags: Array, offsets: Array) -> None:
        self.flags = flags
        self.entries = np.flatnonzero(flags)
        self.before = np.zeros(len(flags) + 1, np.int64)
        """before[e]: how many of them come before entry e."""
        np.cumsum(flags.astype(np.int64), out=self.before[1:])  # of one type, or other threads have to wait
        self.first = self.before[offsets[:-1]]
        self.last = self.before[offsets[1:]]


class Measures:
    """Evaluates leaves for the output rows of one chunk of matches."""

    def __init__(self, rows: Rows, matches: Matches, output: OutputRows) -> None:
        self.rows = rows
        self.program = rows.program
        self.matches = matches
        self.output = output
        self.unmatched = output.match < 0
        # Unmatched rows look at match 0, and what they find there is thrown away.
        self.match = np.where(self.unmatched, 0, output.match) if self.unmatched.any() else output.match
        self._members: dict[tuple[str, ...], Members] = {}

    def leaf(self, leaf: Leaf) -> pa.Array:
        """The values of a leaf, one per output row."""
        match leaf:
            case RowValue(column=column):
                return values_at(self.rows.arrays[column], self.output.row)
            case Number():
                return self.nulled(self.per_match(self.matches.number))
            case IsMatched():
                return arrow(~self.unmatched)
            case Gather(column=int(column)):
                return values_at(self.rows.arrays[column], self.position(leaf))
            case Gather():
                return self.own_label() if self._is_current(leaf) else self.label_at(self.position(leaf))
            case Found():
                return arrow(self.position(leaf) >= 0)
            case Folded():
                return self.folded(leaf)
            case Listed():
                return self.rows_of(leaf)
            case _:
                assert_never(leaf)

    # -- helpers

    def per_match(self, values: Array) -> Array:
        if self.output.are_matches:
            return values
        return values[self.match] if len(values) else np.zeros(len(self.match), values.dtype)

    def nulled(self, values: Array, nulls: Array | None = None) -> pa.Array:
        """Values with NULL for unmatched rows."""
        return arrow(values, self.unmatched if nulls is None else self.unmatched | nulls)

    @cached_property
    def entry_row(self) -> Array:
        """The row of each entry."""
        lengths = self.matches.end - self.matches.start
        shift: Array = np.repeat(self.matches.start - self.matches.offsets[:-1], lengths)
        return np.arange(len(self.matches.labels)) + shift

    def members(self, names: tuple[str, ...]) -> Members:
        if names not in self._members:
            wanted = {self.program.variables.index(name) for name in names}
            table = np.array([var in wanted for var in self.program.automaton.var], bool)
            flags = table[self.matches.labels] if len(self.matches.labels) else np.zeros(0, bool)
            self._members[names] = Members(flags, self.matches.offsets)
        return self._members[names]

    def ordinals(self, names: tuple[str, ...], final: bool) -> tuple[Members, Array, Array]:
        """Members, and per output row the range [low, high) of those it sees."""
        members = self.members(names)
        low = self.per_match(members.first)
        if final:
            high = self.per_match(members.last)
        else:
            high = np.where(self.output.entry < 0, low, members.before[self.output.entry + 1])
        return members, np.where(self.unmatched, 0, low), np.where(self.unmatched, 0, high)

    # -- navigation

    def position(self, leaf: Gather | Found) -> Array:
        """The row a navigation leads to, or -1."""
        if self._is_current(leaf):  # never of ONE ROW PER MATCH, where everything is FINAL
            return np.where(self.output.entry < 0, -1, self.output.row)
        row, found = self._in_match(leaf) if self.line is None else self._in_line(leaf, self.line)
        if leaf.shift:
            row = row + leaf.shift
            segment = self.per_match(self.matches.segment)
            found = found & (row >= self.rows.bounds[segment]) & (row < self.rows.bounds[segment + 1])
        return row if found.all() else np.where(found, row, -1)

    @cached_property
    def line(self) -> tuple[int, ...] | None:
        """The states of every match, row by row, if all are alike; a match that timed out may have only some."""
        line = self.program.automaton.line if self.output.are_matches else None
        if line is None or bool((self.matches.end - self.matches.start == len(line)).all()):
            return line
        return None

    def _in_line(self, leaf: Gather | Found, line: tuple[int, ...]) -> tuple[Array, Array]:
        """The row in every match, and whether it is there, where all matches look alike."""
        wanted = {self.program.variables.index(name) for name in leaf.members}
        places = [place for place, state in enumerate(line) if self.program.automaton.var[state] in wanted]
        chosen = places[leaf.index :] if leaf.end is End.FIRST else places[: len(places) - leaf.index][::-1]
        found = np.broadcast_to(np.bool_(bool(chosen)), len(self.matches))
        return self.matches.start + (chosen[0] if chosen else 0), found

    def _in_match(self, leaf: Gather | Found) -> tuple[Array, Array]:
        members, low, high = self.ordinals(leaf.members, leaf.final)
        if not len(members.entries):
            return np.full(len(low), -1), np.zeros(len(low), bool)
        ordinal = low + leaf.index if leaf.end is End.FIRST else high - 1 - leaf.index
        found = (ordinal >= low) & (ordinal < high)
        entry = members.entries[np.where(found, ordinal, 0)]
        return entry + self.per_match(self.matches.start - self.matches.offsets[:-1]), found

    def _is_current(self, leaf: Gather | Found) -> bool:
        """Whether it is the row itself: the last so far of all variables."""
        is_last = leaf.end is End.LAST and not leaf.final and not leaf.index and not leaf.shift
        return is_last and len(set(leaf.members)) == len(self.program.variables)

    def label_at(self, row: Array) -> pa.Array:
        """The variable a row was matched to, NULL outside the match."""
        names = self.state_names()
        if not len(self.matches.labels):
            return pa.nulls(len(row), pa.string())
        start, end = self.per_match(self.matches.start), self.per_match(self.matches.end)
        inside = (row >= start) & (row < end)
        entry = np.where(inside, row - start + self.per_match(self.matches.offsets[:-1]), 0)
        return values_at(names, np.where(inside, self.matches.labels[entry], -1))

    def own_label(self) -> pa.Array:
        """The variable each row put out was matched to."""
        entry = self.output.entry
        if not len(self.matches.labels):
            return pa.nulls(len(entry), pa.string())
        states = self.matches.labels[entry]
        is_none = entry < 0
        return values_at(self.state_names(), np.where(is_none, -1, states) if is_none.any() else states)

    # -- aggregates

    def folded(self, leaf: Folded) -> pa.Array:
        if leaf.counts_rows:
            _, low, high = self.ordinals(leaf.members, leaf.final)
            return self.nulled(high - low)
        column, kind = self.operand(leaf)
        if leaf.takes_all_values or (leaf.name in ("sum", "avg") and lane(kind) is Lane.CODE):
            return self.listed(leaf, column)
        try:
            values, at, counts = self.fold(leaf, column, kind)
        except OverflowError:
            raise _overflow(leaf.name) from None
        return self.result(leaf, column, kind, values, at, counts)

    def operand(self, leaf: Folded) -> tuple[pa.Array, Type]:
        """What is aggregated: a column over rows, or labels over entries (which then play the rows)."""
        if not leaf.of_labels and leaf.column is not None:
            return self.rows.arrays[leaf.column], self.program.types[leaf.column]
        return taken(self.state_names(), self.matches.labels), Type(Kind.STRING)

    def state_names(self) -> pa.Array:
        """Per state of the automaton: the variable it takes a row for."""
        names = self.program.variables or ("",)  # a pattern may have none
        return arrow_strings([names[var] for var in self.program.automaton.var])

    def lanes(self, column: pa.Array, kind: Type) -> Lanes:
        if lane(kind) is not Lane.CODE:
            return to_lanes(column, kind)
        nulls = null_flags(column)
        if is_nested(column.type):
            return Lanes(ranks(column), nulls)
        values = column.cast(plain_type(column.type))
        order = pc.sort_indices(pc.unique(values.drop_null()))
        places = np.empty(len(order), np.int64)
        places[numpy_of(order)] = np.arange(len(order))
        encoded = values.drop_null().dictionary_encode()
        codes = np.zeros(len(column), np.int64)
        if len(places):
            codes[nulls == 0] = places[numpy_of(encoded.indices)]
        return Lanes(codes, nulls)

    def fold(self, leaf: Folded, column: pa.Array, kind: Type) -> tuple[Array, Array, Array]:
        """Totals, rows where MIN or MAX was met, and counts, one per output row."""
        lanes = self.lanes(column, kind)
        floats = lane(kind) is Lane.FLOAT
        every = not leaf.final
        size = len(self.matches.labels) if every else len(self.matches)
        flags = self.members(leaf.members).flags.astype(np.uint8)
        first = self.matches.offsets[:-1] if leaf.of_labels else self.matches.start
        inputs: list[Any] = [self.matches.offsets, first, every, flags, lanes.values, lanes.nulls]
        results = [np.zeros(size, kind) for kind in (np.float64 if floats else np.int64, np.int64, np.int64)]
        compiled = self.rows.execution.folds_compiled(len(flags), lambda: [native_fold(floats=floats)])
        loop = fold_loop(floats=floats, compiled=compiled)
        if compiled:
            loop(_FOLDS[leaf.name], *inputs, *results)
        else:
            listed = [part.tolist() if isinstance(part, np.ndarray) else part for part in inputs]
            plain = [result.tolist() for result in results]
            loop(_FOLDS[leaf.name], *listed, *plain)
            results = [np.array(done, result.dtype) for done, result in zip(plain, results, strict=True)]
        chosen = self.output.entry if every else self.output.match
        return tuple(_pick(result, chosen) for result in results)  # type: ignore[return-value]

    def result(self, leaf: Folded, column: pa.Array, kind: Type, values: Array, at: Array, counts: Array) -> pa.Array:
        none = counts == 0
        match leaf.name:
            case "count":
                return self.nulled(counts)
            case "min" | "max":
                return values_at(column, np.where(none | self.unmatched, -1, at))
            case "avg":
                divisor = np.where(none, 1, counts) * 10.0 ** scale(kind)
                return self.nulled(values / divisor, none)
            case _ if kind.kind is Kind.DECIMAL:
                return decimals(values, (none | self.unmatched).astype(np.uint8), kind.scale)
            case _:
                return self.nulled(values, none)

    def entries_of(self, leaf: Folded | Listed) -> tuple[Array, Array, Array]:
        """Entries that a leaf reads: of which output row, and which they are; and per output row how many."""
        members, low, high = self.ordinals(leaf.members, leaf.final)
        lengths = high - low
        group = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(group)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = members.entries[np.repeat(low, lengths) + within] if len(group) else np.zeros(0, np.int64)
        return group, entry, lengths

    def rows_of(self, leaf: Listed) -> pa.Array:
        """The rows that an aggregate of the host reads."""
        _, entry, lengths = self.entries_of(leaf)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        row = self.entry_row[entry]
        columns = [
            values_at(self.state_names(), self.matches.labels[entry])
            if column is None
            else values_at(self.rows.arrays[column], row)
            for _, column in leaf.fields
        ]
        structs = pa.StructArray.from_arrays(columns, [name for name, _ in leaf.fields])
        return _lists(offsets, structs, self.unmatched)

    def listed(self, leaf: Folded, column: pa.Array) -> pa.Array:
        """Aggregates that need the values themselves: DISTINCT, ARRAY_AGG, sums too wide for a lane."""
        group, entry, lengths = self.entries_of(leaf)
        values = values_at(column, entry if leaf.of_labels else self.entry_row[entry])
        if leaf.distinct:
            group, values = _first_of_each(group, values)
        sizes = np.bincount(group, minlength=len(lengths))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        if leaf.name == "array_agg":
            return _lists(offsets, values, self.unmatched | (sizes == 0))
        reduced = [_reduce(leaf.name, values[low:high].to_pylist()) for low, high in pairwise(offsets)]
        target = fold_type(leaf.name, column.type)
        kept = [None if hidden else value for hidden, value in zip(self.unmatched, reduced, strict=True)]
        try:
            return pa.array(kept, target)
        except (pa.ArrowInvalid, OverflowError):
            raise _overflow(leaf.name) from None


def fold_type(name: str, kind: pa.DataType) -> pa.DataType:
    """The type of an aggregate: the same on every host."""
    match name:
        case "count":
            return pa.int64()
        case "avg":
            return pa.float64()
        case "array_agg":
            return pa.list_(kind)
        case "sum" if pa.types.is_decimal(kind):
            return pa.decimal128(38, kind.scale)
        case "sum":
            return pa.float64() if pa.types.is_floating(kind) else pa.int64()
        case _:
            return kind


def _pick(values: Array, chosen: Array) -> Array:
    """values[chosen], with 0 where nothing was chosen."""
    if not len(values):
        return np.zeros(len(chosen), values.dtype)
    return np.where(chosen < 0, 0, values[np.maximum(chosen, 0)])


def _first_of_each(group: Array, values: pa.Array) -> tuple[Array, pa.Array]:
    """Distinct (group, value) pairs in the order they were first met; NULL is a value."""
    plain = arrow(ranks(values)) if is_nested(values.type) else values.cast(plain_type(values.type))
    codes = numpy_of(plain.dictionary_encode(null_encoding="encode").indices)
    pairs = np.stack([group, codes.astype(np.int64)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    first.sort()
    return group[first], taken(values, first)


def _lists(offsets: Array, values: pa.Array, nulls: Array) -> pa.Array:
    return pa.ListArray.from_arrays(arrow(offsets.astype(np.int32), np.append(nulls, False)), values)


def _reduce(name: str, values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    if name == "count":
        return len(known)
    if not known:
        return None
    match name:
        case "sum":
            return sum(known)
        case "avg":
            return float(sum(known)) / len(known)
        case "min":
            return min(known, key=_sort_key)
        case _:
            return max(known, key=_sort_key)


def _sort_key(value: Any) -> Any:
    """NaN after all numbers."""
    return (value != value, 0 if value != value else value) if isinstance(value, float) else value


def _overflow(name: str) -> QueryDataError:
    return QueryDataError(
        f"{name.upper()} overflows 64 bits in MEASURES", hint="aggregate a DOUBLE or a DECIMAL instead: CAST the column"
    )
