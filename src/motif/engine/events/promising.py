"""Partitions that can have a match at all: those with an event for everything that some way must bind, near enough.

Where there are nearly as many partitions as events, most have none: to find that out is cheaper than to sort them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, picked, to_lanes
from motif.engine.events.rows import bindable, moments, ticks_of
from motif.engine.pace import COMPILE_FROM_ROWS, READY_FROM_ROWS
from motif.ir.event import Duration
from motif.kernels.build import are_chances_kept, are_chances_ready, chance_loops
from motif.plan.events.program import EventProgram, Mask
from motif.plan.events.ways import Way

FEW_EVENTS = 8
"""Looked at only where a partition has fewer on average: of larger ones nearly all can have a match."""
WORTH_IT = 0.7
"""Of more than so many events no one is left out: to move them takes longer."""
CHUNK = 1 << 18
"""Events that are looked at together, so that what is worked out for them stays in the cache."""
TOO_FAR = 1 << 61
"""Times that are further apart are not subtracted: the difference might not fit."""
BITS = tuple(np.uint8(1 << number) for number in range(8))
"""Roles of an event are bits of a byte: no more are asked for."""
LOWEST = np.array([2 * ((roles & -roles).bit_length() - 1) for roles in range(1 << len(BITS))])
"""For each set of them, twice the number of the lowest; see `kernels.chance.span`."""
COMPILE_FROM = 1_000_000
"""Events from which on loops are compiled for this, which they are once: NumPy takes twice as long."""


def promising(
    program: EventProgram, events: pa.Table, group: Array, *, compiled: bool | None = None
) -> tuple[pa.Table, Array]:
    """Events of such partitions, and the numbers of these; all where it is not worth it. `group`: numbers so far."""
    if not len(group) or len(group) >= FEW_EVENTS * (int(group.max()) + 1):
        return events, group
    if compiled is None:
        compiled = is_worth_compiling(len(group))
    return with_a_chance(program, events, group, worth_it=WORTH_IT, compiled=compiled)


def is_worth_compiling(events: int) -> bool:
    """Whether so many events are to be looked at by compiled loops."""
    if events >= COMPILE_FROM or (events >= READY_FROM_ROWS and are_chances_ready()):
        return True
    return events >= COMPILE_FROM_ROWS and are_chances_kept()  # so many are joined by code that is loaded, too


def with_a_chance(
    program: EventProgram, events: pa.Table, group: Array, *, worth_it: float = 1.0, compiled: bool = False
) -> tuple[pa.Table, Array]:
    """The same, of however many events; `worth_it`: the share of them that may be left."""
    needs = Needs.of(program)
    complete = _complete if compiled else _complete_by_numpy
    left = complete(group, _roles(needs.masks, events), needs.enough())
    left = _near(program, needs, events, left, compiled=compiled)
    if len(left.places) >= worth_it * len(group):
        return events, group
    columns = [picked(column, left.places) for column in events.columns]
    return pa.table(columns, events.schema.names), left.group


@dataclass(frozen=True, slots=True)
class Needs:
    """What the ways through a pattern cannot do without."""

    ways: tuple[Way, ...]
    roles: dict[str, int]
    """Variable -> the number of its mask, for those that are needed."""
    masks: tuple[Mask | None, ...]

    @classmethod
    def of(cls, program: EventProgram) -> Needs:
        asked = {var: program.mask[var] for way in program.ways for var in _needed(way)}
        masks = tuple(dict.fromkeys(asked.values()))[: len(BITS)]
        return cls(program.ways, {var: masks.index(mask) for var, mask in asked.items() if mask in masks}, masks)

    def enough(self) -> Array:
        """For each set of roles, as bits, 1 if they are all that some way must bind."""
        sets = np.arange(1 << len(self.masks))
        wanted = [sum({1 << self.roles[var] for var in _needed(way) if var in self.roles}) for way in self.ways]
        return reduce(np.logical_or, [sets & bits == bits for bits in wanted], sets < 0).astype(np.uint8)

    def met(self, spans: Spans, window: int) -> Array:
        """Flags of partitions in which all that some way must bind may be as near and in the order as it must."""
        none = np.zeros(spans.first.shape[1], bool)
        return reduce(np.logical_or, [self._met_by(way, spans, window) for way in self.ways], none)

    def _met_by(self, way: Way, spans: Spans, window: int) -> Array:
        """For each two events that the way must bind: where they may be near each other, and in order."""
        met = np.ones(spans.first.shape[1], bool)
        singles = [number for number in way.singles() if way.elements[number].var in self.roles]
        for one, other in combinations(singles, 2):
            earlier, later = (self.roles[way.elements[number].var] for number in (one, other))
            met &= spans.first[later] - spans.last[earlier] <= window
            if one in way.before[other]:
                met &= spans.last[later] >= spans.first[earlier]
            else:
                met &= spans.first[earlier] - spans.last[later] <= window
        return met


def _needed(way: Way) -> list[str]:
    """Variables without which the way has no match."""
    return [way.elements[number].var for number in way.singles()]


def _roles(masks: Sequence[Mask | None], events: pa.Table) -> Array:
    """For each event the masks that it passes, as bits."""
    roles, until = np.zeros(events.num_rows, np.uint8), 0
    for part in events.to_batches(max_chunksize=CHUNK):
        since, until = until, until + part.num_rows
        for bit, mask in zip(BITS, masks, strict=False):
            passed = 1 if mask is None else bindable(mask, part.column(mask.column))
            roles[since:until] |= passed * bit  # to shift takes ten times as long
    return roles


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
    return left.only(needs.met(spans, window))


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
            own = np.flatnonzero(events.roles & BITS[role])
            np.minimum.at(spans.first[role], events.group[own], times[own])
            np.maximum.at(spans.last[role], events.group[own], times[own])
        return spans
