"""Sorted events ready for the join: times, candidates per variable, and groups of equal candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, Lanes, numpy_of, truth
from motif.engine.events.matches import EventMatches, Lists, nothing
from motif.engine.events.places import heads
from motif.engine.execution import Execution
from motif.engine.matcher import Rows
from motif.engine.runs import run_numbers
from motif.engine.times import moments
from motif.ir.event import Duration, EventCount
from motif.kernels.build import Join
from motif.kernels.join import FAR
from motif.kernels.known import Known
from motif.plan.events.codegen import JoinCode
from motif.plan.events.decision import choosing
from motif.plan.events.outputs import Value, Whole
from motif.plan.events.program import EventProgram, Mask
from motif.plan.events.steps import Estimates, Lookup, Steps, compared
from motif.plan.events.ways import Role, coincide
from motif.plan.scalar import scale

UNBOUNDED = -1
SAMPLE = 10_000
COPIES = 4
"""Of the positions of a match at one time: as they were found, all together, in order, and what they are sorted by."""
ITEM_COPIES = 2
"""Of the events in lists."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Candidates in groups: positions[starts[g] : starts[g + 1]]; codes: the group that an event asks for."""

    positions: Array
    starts: Array
    codes: Array


@dataclass(frozen=True, slots=True)
class Plan:
    """What the events of a run do not change about a join."""

    steps: Steps
    code: JoinCode
    static: list[list[int]]
    """The first arguments of the loop."""
    known: Known
    """What follows from these and from the query."""

    @property
    def join(self) -> Join:
        """What `join_loop` is asked for."""
        return self.code.markers, self.known


PlanKey = tuple[int, int | None, bool, bool]
"""The way, the element bound first, whether the join makes the first pick, and whether it is over a few events."""


def ticks_of(program: EventProgram) -> int:
    """Units of time per microsecond."""
    return int(10 ** scale(program.types[program.time]))


def bindable(mask: Mask, column: pa.Array) -> Array:
    """1 for events that pass the mask; `column` is the one it names."""
    return truth(column) if mask.number is None else (numpy_of(column) == mask.number).view(np.uint8)


class EventRows:
    """The events of one run, partition after partition, each in its total order."""

    def __init__(
        self,
        program: EventProgram,
        table: pa.Table,
        execution: Execution,
        estimates: Estimates | None = None,
        bounds: Array | None = None,
    ) -> None:
        """`estimates`: of all events, where these are only a part; `bounds` of the partitions, if they are known."""
        self.program = program
        self.execution = execution
        self.plain_steps = 0
        """Steps that joins over these events have taken as plain Python; a stream goes on counting."""
        self._held = 0
        self.table = table
        self._estimates = estimates
        self.rows = Rows(program, table, execution, bounds)  # type: ignore[arg-type]  # reads only what both kinds of program have
        self.count = table.num_rows
        self.masks: dict[str, Array] = {}
        """Per variable, 1 for the events it may bind for good; see `let_pass`."""
        self._found: dict[str, Array] = {}
        self.only: dict[str, Array] = {}
        """Positions to which a variable is restricted for the time being."""
        self.plans: dict[PlanKey, Plan] = {}
        """Joins that were planned already: a stream plans them once for many runs."""

    @cached_property
    def list_variables(self) -> frozenset[str]:
        """Variables that bind a list in some way through the pattern."""
        ways = self.program.ways
        return frozenset(e.var for way in ways for e in way.elements if e.role is Role.LIST)

    @property
    def bounds(self) -> Array:
        return self.rows.bounds

    @cached_property
    def segment(self) -> Array:
        """The partition of each event."""
        return run_numbers(self.bounds)

    @property
    def ticks(self) -> int:
        """Units of `time` per microsecond."""
        return ticks_of(self.program)

    def _moments(self, column: int) -> Array:
        return moments(self.rows.lanes(column), self.program.types[column])

    @cached_property
    def time(self) -> Array:
        return self._moments(self.program.time)

    @cached_property
    def begin(self) -> Array:
        """When an event begins: composite ones have a length."""
        start = self.program.start
        if start is None:
            return self.time
        nulls = self.rows.lanes(start).nulls
        return np.where(nulls == 1, self.time, self._moments(start))

    @cached_property
    def head(self) -> Array:
        """Per event, the first position that is not before it."""
        return heads(self)

    @property
    def intervals(self) -> bool:
        return self.program.start is not None

    @cached_property
    def clock(self) -> Array:
        """What WITHIN counts in: time, or events."""
        if isinstance(self.program.query.within, EventCount):
            return np.arange(self.count, dtype=np.int64)
        return self.time

    @cached_property
    def opening(self) -> Array:
        return self.clock if isinstance(self.program.query.within, EventCount) else self.begin

    @property
    def within(self) -> int:
        """WITHIN in units of `clock`, -1 for none."""
        match self.program.query.within:
            case Duration(microseconds=us):
                return us * self.ticks
            case EventCount(count=count):
                return count - 1
            case None:
                return UNBOUNDED

    @cached_property
    def result_columns(self) -> tuple[dict[str, int], int]:
        """Where a join writes each variable, and how wide a row is: lists take two columns."""
        place, width = {}, 0
        for var in self.program.variables:
            place[var] = width
            width += 2 if var in self.list_variables else 1
        return place, width

    def matches(self, table: Array, items: Array, way: int) -> EventMatches:
        """Rows of a join as columns."""
        place, _ = self.result_columns
        singles = {var: table[:, column] for var, column in place.items() if var not in self.list_variables}
        lists = {
            var: Lists(np.maximum(table[:, column], 0), np.maximum(table[:, column + 1], 0))
            for var, column in place.items()
            if var in self.list_variables
        }
        return EventMatches(singles, lists, items, np.full(len(table), way))

    def hold(self, found: EventMatches) -> None:
        """Count matches that are held until they are put out, and what their rows of the result will take."""
        per_match, per_item = self._sizes
        self.execution.budget.hold(int(len(found) * per_match + len(found.items) * per_item))
        self._held += len(found)
        if not (choosing(self.program.query.picks) or coincide(self.program.ways)):  # none of them is left out
            self.execution.budget.check(self._held)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """Bytes of a match, and of an event in a list of it."""
        per_match, per_item = 8.0 * COPIES * (self.result_columns[1] + 1), 8.0 * ITEM_COPIES
        for leaf in self.program.outputs.leaves:
            match leaf:
                case Value(column=column):
                    per_match += self._width(column)
                case Whole(is_list=is_list, columns=columns):
                    size = sum(self._width(column) for _, column in columns)
                    per_match, per_item = per_match + (0 if is_list else size), per_item + (size if is_list else 0)
                case _:
                    per_match += 8
        return per_match, per_item

    def _width(self, column: int) -> float:
        """Bytes of a value of a column, as far as the events tell."""
        array = self.rows.arrays[column]
        return float(array.nbytes / max(len(array), 1))

    @cached_property
    def deadlines(self) -> Array:
        """Per event, when a match that begins with it must have ended; what the input does not reach is its end."""
        if self.within < 0:
            return np.full(self.count, FAR)
        last = self.opening + self.within
        if isinstance(self.program.query.within, EventCount):
            last = np.where(last >= self.bounds[self.segment + 1], FAR, last)
        return last

    def let_pass(self, masks: Mapping[str, Array]) -> None:
        """Let variables bind only some events from now on: those that functions of the user accept."""
        self.masks.update((var, mask & self.masks.get(var, 1)) for var, mask in masks.items())
        self._found.clear()

    def candidates(self, var: str) -> Array:
        """Positions that a variable may bind."""
        if var not in self._found:
            self._found[var] = self._candidates(var)
        found = self._found[var]
        return found[self.only[var][found]] if var in self.only else found

    def _candidates(self, var: str) -> Array:
        mask, flags = self.program.mask[var], self.masks.get(var)
        if mask is not None:
            passed = bindable(mask, self.rows.arrays[mask.column])
            flags = passed if flags is None else flags & passed
        if flags is None:
            return np.arange(self.count)
        return np.flatnonzero(flags.view(bool))  # ten times as fast as to look for bytes that are not 0

    @cached_property
    def estimates(self) -> Estimates:
        """Sizes by which the order of the join is chosen."""
        if self._estimates is not None:
            return self._estimates
        counts = {var: len(self.candidates(var)) for var, _ in self.program.masks}
        partitions = max(len(self.bounds) - 1, 1)
        window = 1.0
        if self.within >= 0 and self.count:
            spans = self.clock[self.bounds[1:] - 1] - self.clock[self.bounds[:-1]]
            window = min(1.0, (self.within + 1) / (float(np.mean(spans)) + 1))
        return Estimates(counts, partitions, window, {c: self._distinct(c) for c in compared(self.program)})

    def _distinct(self, column: int) -> float:
        """Values of a column, by a sample: what never comes twice in it is different everywhere."""
        sample = self.rows.arrays[column].slice(0, SAMPLE)
        found = len(sample.unique())
        return found * self.count / max(len(sample), 1) if 2 * found > len(sample) else found

    @property
    def _is_one_partition(self) -> bool:
        return len(self.bounds) == 2

    def by_partition(self, var: str) -> Groups:
        """Candidates of a variable in each partition."""
        positions = self.candidates(var)
        return Groups(positions, np.searchsorted(positions, self.bounds), np.zeros(0, np.int64))

    def by_equality(self, var: str, lookup: Lookup, asking: str) -> Groups:
        """Candidates of a variable that are equal to an event of another one, `asking`, in its partition."""
        positions, own = self.candidates(var), self.rows.lanes(lookup.own)
        positions = positions[own.nulls[positions] == 0]
        values, group = np.unique(own.values[positions], return_inverse=True)
        known = np.arange(len(values))
        if not self._is_one_partition:  # equal values of several are not one group
            known, group = np.unique(self.segment[positions] * max(len(values), 1) + group, return_inverse=True)
        starts = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=len(known)))))
        codes = np.full(self.count, -1)
        askers = self.candidates(asking)
        codes[askers] = self._asked(self.rows.lanes(lookup.other), askers, values, known)
        return Groups(positions[np.argsort(group, kind="stable")], starts, codes)

    def _asked(self, lanes: Lanes, askers: Array, values: Array, known: Array) -> Array:
        """The group of what some events ask for, -1 where there is none. `known`: pairs of partition and value."""
        if not len(values):
            return np.full(len(askers), -1)
        asked = lanes.values[askers]
        at = np.minimum(np.searchsorted(values, asked), len(values) - 1)
        found = (lanes.nulls[askers] == 0) & ((values[at] == asked) | ((values[at] != values[at]) & (asked != asked)))
        if self._is_one_partition:
            return np.where(found, at, -1)
        pairs = self.segment[askers] * len(values) + at
        group = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
        return np.where(found & (known[group] == pairs), group, -1)


def no_matches(rows: EventRows) -> EventMatches:
    """An empty result with all its columns."""
    variables, lists = rows.program.variables, rows.list_variables
    return nothing([v for v in variables if v not in lists], [v for v in variables if v in lists])
