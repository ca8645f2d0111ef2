"""Leaves of the output columns: values, aggregates and whole events of matches."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, arrow, columns_at, taken, values_at
from motif.engine.events.identity import hashed_by_loops, match_ids
from motif.engine.events.matches import EventMatches, Lists
from motif.engine.events.rows import EventRows
from motif.engine.matches import Matches
from motif.engine.measures import Measures, Members, OutputRows
from motif.ir.expr import End
from motif.ir.types import Type
from motif.plan.events.outputs import Edge, EventLeaf, Folded, Found, MatchId, Moment, Rank, Value, Whole
from motif.plan.outputs import Folded as RowFolded
from motif.plan.outputs import leaf_name


def leaves(rows: EventRows, matches: EventMatches, *, hashes: Array | None = None) -> pa.Table:
    """One row per match; `hashes` of the events, if they are known."""
    measures = EventMeasures(rows, matches, hashes=hashes)
    wanted = rows.program.outputs.leaves
    names = [leaf_name(i) for i in range(len(wanted))]
    return pa.Table.from_arrays([measures.leaf(leaf) for leaf in wanted], names=names)


class EventMeasures:
    """Evaluates leaves for some matches."""

    def __init__(self, rows: EventRows, matches: EventMatches, *, hashes: Array | None = None) -> None:
        self.rows = rows
        self.matches = matches
        self.hashes = hashes

    def leaf(self, leaf: EventLeaf) -> pa.Array:
        match leaf:
            case MatchId():
                by_loops = hashed_by_loops(self.rows, self.matches)
                return arrow(match_ids(self.rows, self.matches, by_loops=by_loops, hashes=self.hashes))
            case Moment(at_end=at_end):
                return self.end() if at_end else self.start()
            case Value():
                return self.take(leaf.column, self.position(leaf))
            case Found():
                return arrow(self.position(leaf) >= 0)
            case Folded():
                return self.folded(leaf)
            case Whole():
                return self.whole(leaf)
            case Edge(column=column, at_end=at_end):
                return self.take(column, self.matches.last() if at_end else self.beginning)
            case Rank():
                return arrow(self.matches.ranks(self.rows.program.variables))
            case _:
                assert_never(leaf)

    def take(self, column: int, positions: Array) -> pa.Array:
        return values_at(self.rows.rows.arrays[column], positions)

    def end(self) -> pa.Array:
        return self.take(self.rows.program.time, self.matches.last())

    def start(self) -> pa.Array:
        program, arrays = self.rows.program, self.rows.rows.arrays
        if program.start is None:
            return self.take(program.time, self.beginning)
        return taken(pc.coalesce(arrays[program.start], arrays[program.time]), self.beginning)

    @cached_property
    def beginning(self) -> Array:
        """The event with which each match begins: where there are composite events it need not be the first."""
        if self.rows.program.start is None:
            return self.matches.first()
        begin, head = self.rows.begin, self.rows.head
        events = (self.matches.events_of(match) for match in range(len(self.matches)))
        return np.array([min(own, key=lambda e: (begin[e], head[e])) for own in events], np.int64)

    # -- events of a variable

    def entries(self, var: str) -> Lists:
        """The events of a variable as lists into `self.items(var)`."""
        if var in self.matches.lists:
            return self.matches.lists[var]
        own = self.matches.singles[var]
        return Lists(np.arange(len(own)), (own >= 0).astype(np.int64))

    def items(self, var: str) -> Array:
        return self.matches.items if var in self.matches.lists else self.matches.singles[var]

    def position(self, leaf: Value | Found) -> Array:
        if leaf.var in self.matches.singles and leaf.index == 0:
            return self.matches.singles[leaf.var]
        part, items = self.entries(leaf.var), self.items(leaf.var)
        at = part.start + (leaf.index if leaf.end is End.FIRST else part.count - 1 - leaf.index)
        there = part.count > leaf.index
        if not len(items):
            return np.full(len(self.matches), -1)
        return np.where(there, items[np.where(there, at, 0)], -1)

    def compact(self, var: str) -> tuple[Array, Array]:
        """Offsets per match, and the positions of all events of a variable one after the other."""
        part, items = self.entries(var), self.items(var)
        offsets = np.concatenate(([0], np.cumsum(part.count)))
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], part.count)
        return offsets, items[np.repeat(part.start, part.count) + place]

    def whole(self, leaf: Whole) -> pa.Array:
        if not leaf.is_list:
            own = self.matches.singles[leaf.var]
            return self.structs(leaf, own, own < 0)
        offsets, positions = self.compact(leaf.var)
        events = self.structs(leaf, positions, np.zeros(len(positions), bool))
        empty = np.append(np.diff(offsets) == 0, False)
        return pa.ListArray.from_arrays(arrow(offsets.astype(np.int32), empty), events)

    def structs(self, leaf: Whole, positions: Array, nulls: Array) -> pa.Array:
        names = [name for name, _ in leaf.columns]
        arrays = columns_at([self.rows.rows.arrays[column] for _, column in leaf.columns], positions)
        return pa.StructArray.from_arrays(arrays, names=names, mask=arrow(nulls) if nulls.any() else None)

    def folded(self, leaf: Folded) -> pa.Array:
        if leaf.name == "count" and leaf.column is None and not leaf.distinct:
            return arrow(self.entries(leaf.var).count)
        offsets, positions = self.compact(leaf.var)
        folds = _ListFolds(self.rows, offsets, positions)
        return folds.folded(RowFolded(leaf.name, leaf.column, False, (leaf.var,), leaf.distinct, True))


class _ListFolds(Measures):
    """Aggregates over lists of events, as if each list were a match of adjacent rows."""

    def __init__(self, rows: EventRows, offsets: Array, positions: Array) -> None:
        count = len(offsets) - 1
        none = np.zeros(count, np.int64)
        labels = np.zeros(len(positions), np.int32)
        matches = Matches(offsets[:-1], offsets[1:], none, none, labels, offsets)
        last = np.where(offsets[1:] > offsets[:-1], offsets[1:] - 1, -1)
        output = OutputRows(none, np.arange(count), last, are_matches=True)
        super().__init__(SimpleNamespace(program=rows.program, execution=rows.execution), matches, output)  # type: ignore[arg-type]
        self.events = rows
        self.positions = positions

    def members(self, names: tuple[str, ...]) -> Members:  # noqa: ARG002 - there is one variable only
        return Members(np.ones(len(self.positions), bool), self.matches.offsets)

    def operand(self, leaf: RowFolded) -> tuple[pa.Array, Type]:
        assert leaf.column is not None
        return values_at(self.events.rows.arrays[leaf.column], self.positions), self.events.program.types[leaf.column]

    @property
    def entry_row(self) -> Array:
        """The gathered values lie one after the other."""
        return np.arange(len(self.positions))
