"""Events that can be in a match at all, found before anything is sorted; which costs more than to find that out.

Where there are nearly as many partitions as events, most partitions have no match: they lack an event for something
that every way must bind, or have none near enough. Where they have more, most events may be alone: `neighbours`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, picked, to_lanes
from motif.engine.events.neighbours import with_neighbours
from motif.engine.events.roles import BITS, Needs, roles_of
from motif.engine.events.rows import ticks_of
from motif.engine.execution import Execution
from motif.engine.times import moments
from motif.ir.event import Duration
from motif.kernels.build import chance_loops, neighbours_loop
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Way

TOO_FAR = 1 << 61
"""Times that are further apart are not subtracted: the difference might not fit."""
LOWEST = np.array([2 * ((roles & -roles).bit_length() - 1) for roles in range(1 << len(BITS))])
"""For each set of roles, twice the number of the lowest; see `kernels.chance.span`."""


def promising(program: EventProgram, events: pa.Table, group: Array, execution: Execution) -> tuple[pa.Table, Array]:
    """Events with a chance, and the numbers of their partitions; all where it is not worth it. `group`: all numbers."""
    if not len(group):
        return events, group
    costs, most = execution.costs, 1 - execution.costs.worth_leaving_out
    are_small = len(group) < costs.few_events * (int(group.max()) + 1)
    loops = chance_loops() if are_small else (neighbours_loop(),)
    by_loops = execution.compiles(len(group), lambda: loops, costs.leaving_out_effort)
    if are_small:
        return with_a_chance(program, events, group, worth_it=most, compiled=by_loops)
    places = with_neighbours(program, events, group, compiled=by_loops, cells_per_event=costs.cells_per_event)
    if places is None or len(places) >= most * len(group):
        return events, group
    _, numbers = np.unique(group[places], return_inverse=True)
    return _at(events, places), numbers


def with_a_chance(
    program: EventProgram, events: pa.Table, group: Array, *, worth_it: float = 1.0, compiled: bool = False
) -> tuple[pa.Table, Array]:
    """The same, of however many events; `worth_it`: the share of them that may be left."""
    needs = Needs.of(program)
    complete = _complete if compiled else _complete_by_numpy
    left = complete(group, roles_of(events, needs.masks), needs.enough())
    left = _near(program, needs, events, left, compiled=compiled)
    if len(left.places) >= worth_it * len(group):
        return events, group
    return _at(events, left.places), left.group


def _at(events: pa.Table, places: Array) -> pa.Table:
    return pa.table([picked(column, places) for column in events.columns], events.schema.names)


@dataclass(frozen=True, slots=True)
class Left:
    """Events that are left: where they are, their roles, and the numbers of their partitions."""

    places: Array
    roles: Array
    group: Array
    partitions: int

    def only(self, possible: Array) -> Left:
        """Those of the partitions that are flagged."""
        numbers = np.cumsum(possible)
        kept = np.flatnonzero(possible[self.group])
        group = numbers[self.group[kept]] - 1
        return Left(self.places[kept], self.roles[kept], group, int(numbers[-1]) if len(numbers) else 0)


def _complete(group: Array, roles: Array, enough: Array) -> Left:
    """Events of partitions that have enough roles."""
    loop, _ = chance_loops()
    partitions = int(group.max(initial=-1)) + 1
    numbers = np.empty(partitions + 1, np.int32)
    kept, kept_group = (np.empty(len(group) + 1, np.int64) for _ in range(2))
    count = loop(group, roles, enough, np.zeros(partitions, np.uint8), numbers, kept, kept_group)
    return Left(kept[:count], roles[kept[:count]], kept_group[:count], int(numbers[-1]))


def _complete_by_numpy(group: Array, roles: Array, enough: Array) -> Left:
    """The same without a compiler."""
    seen = np.zeros(int(group.max(initial=-1)) + 1, np.uint8)
    for bit in BITS[: len(enough).bit_length() - 1]:
        found = np.zeros_like(seen)
        np.maximum.at(found, group, roles & bit)  # faster, for a few bits, than all of them by bitwise_or.at
        seen |= found
    return Left(np.arange(len(group)), roles, group, len(seen)).only(enough[seen].view(bool))


def _near(program: EventProgram, needs: Needs, events: pa.Table, left: Left, *, compiled: bool) -> Left:
    """Events of partitions in which what a way must bind may come in its order, and WITHIN its time."""
    within, kind = program.query.within, program.types[program.time]
    if not isinstance(within, Duration) or program.start is not None or not len(left.places):
        return left
    clock = moments(to_lanes(flat(picked(events.column(program.time), left.places)), kind), kind)
    low, high = int(clock.min()), int(clock.max())
    window = within.microseconds * ticks_of(program)
    if not window < high - low < TOO_FAR:
        return left
    spans = Spans.of(left, clock - low, len(needs.masks), compiled=compiled)
    return left.only(_met(needs, spans, window))


@dataclass(frozen=True, slots=True)
class Spans:
    """When events begin and end to come, per role and partition; where there are none, never."""

    first: Array
    last: Array

    @classmethod
    def of(cls, events: Left, times: Array, roles: int, *, compiled: bool) -> Spans:
        """Times are from 0 on."""
        both = np.empty((events.partitions, roles, 2), np.int64)  # side by side, as they are asked for together
        spans = cls(both[:, :, 0].T, both[:, :, 1].T)
        spans.first[:], spans.last[:] = TOO_FAR, -TOO_FAR
        if compiled:
            _, loop = chance_loops()
            loop(events.group, events.roles, times, LOWEST, both.reshape(-1), 2 * roles)
            return spans
        for role in range(roles):
            own = np.flatnonzero((events.roles & BITS[role]) != 0)
            np.minimum.at(spans.first[role], events.group[own], times[own])
            np.maximum.at(spans.last[role], events.group[own], times[own])
        return spans


def _met(needs: Needs, spans: Spans, window: int) -> Array:
    """Flags of partitions in which all that some way must bind may be as near and in the order as it must."""
    none = np.zeros(spans.first.shape[1], bool)
    return reduce(np.logical_or, [_met_by(way, needs.roles, spans, window) for way in needs.ways], none)


def _met_by(way: Way, roles: dict[str, int], spans: Spans, window: int) -> Array:
    """For each two events that the way must bind: where they may be near each other, and in order."""
    met = np.ones(spans.first.shape[1], bool)
    singles = [number for number in way.singles() if way.elements[number].var in roles]
    for one, other in combinations(singles, 2):
        earlier, later = (roles[way.elements[number].var] for number in (one, other))
        met &= spans.first[later] - spans.last[earlier] <= window
        if one in way.before[other]:
            met &= spans.last[later] >= spans.first[earlier]
        else:
            met &= spans.first[earlier] - spans.last[later] <= window
    return met
