"""Partitions that can have a match at all: those with an event for everything that some way must bind, near enough.

Where there are nearly as many partitions as events, most have none: to find that out is cheaper than to sort them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, flat, numpy_of, to_lanes, truth
from motif.engine.events.rows import bindable, moments, ticks_of
from motif.ir.event import Duration
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Way

FEW_EVENTS = 8
"""Looked at only where a partition has fewer on average: of larger ones nearly all can have a match."""
WORTH_IT = 0.7
"""Of more than so many events no one is left out: to move them takes longer."""
CHUNK = 1 << 16
"""Events that are looked at together, so that what is worked out for them stays in the cache."""
TOO_FAR = 1 << 61
"""Times that are further apart are not subtracted: the difference might not fit."""


def promising(program: EventProgram, events: pa.Table, group: Array) -> tuple[pa.Table, Array]:
    """Events of such partitions, and the numbers of these; all where it is not worth it. `group`: numbers so far."""
    if not len(group) or len(group) >= FEW_EVENTS * (int(group.max()) + 1):
        return events, group
    return with_a_chance(program, events, group, worth_it=WORTH_IT)


def with_a_chance(
    program: EventProgram, events: pa.Table, group: Array, *, worth_it: float = 1.0
) -> tuple[pa.Table, Array]:
    """The same, of however many events; `worth_it`: the share of them that may be left."""
    for have_a_chance in (_are_complete, _are_near):
        possible = have_a_chance(program, events, group, int(group.max(initial=-1)) + 1)
        kept = np.flatnonzero(possible[group])
        if len(kept) < worth_it * len(group):
            numbers = np.cumsum(possible, dtype=np.int32) - 1
            events, group = events.take(arrow(kept)), numbers[group[kept]].astype(np.int64)
    return events, group


def _are_complete(program: EventProgram, events: pa.Table, group: Array, partitions: int) -> Array:
    """Flags of partitions that have an event for everything that some way must bind."""
    present = _present(program, events, group, partitions)
    return _in_some_way(program, lambda way: [present[var] for var in _needed(way)], partitions)


def _are_near(program: EventProgram, events: pa.Table, group: Array, partitions: int) -> Array:
    """Flags of partitions in which these may come in the order of the way, and WITHIN its time."""
    within, kind = program.query.within, program.types[program.time]
    if not isinstance(within, Duration) or program.start is not None or not len(group):
        return np.ones(partitions, bool)
    clock = moments(to_lanes(flat(events.column(program.time)), kind), kind)
    low, high = int(clock.min()), int(clock.max())
    window = within.microseconds * ticks_of(program)
    if not window < high - low < TOO_FAR:
        return np.ones(partitions, bool)
    spans = {}
    for var in {var for way in program.ways for var in _needed(way)}:
        mask = program.mask[var]
        flags = None if mask is None else bindable(mask, flat(events.column(mask.column)))
        chosen = slice(None) if flags is None else np.flatnonzero(flags)
        spans[var] = Spans.of(clock[chosen] - low, group[chosen], partitions)
    return _in_some_way(program, lambda way: _meetings(way, spans, window), partitions)


def _in_some_way(program: EventProgram, tests: Callable[[Way], list[Array]], partitions: int) -> Array:
    """Flags of partitions for which all tests of a way hold."""
    ways = [reduce(np.logical_and, tests(way), np.ones(partitions, bool)) for way in program.ways]
    return reduce(np.logical_or, ways, np.zeros(partitions, bool))


def _needed(way: Way) -> list[str]:
    """Variables without which the way has no match."""
    return [way.elements[number].var for number in way.singles()]


@dataclass(frozen=True, slots=True)
class Spans:
    """When the events that a variable may bind begin and end to come, per partition; where there are none, never."""

    first: Array
    last: Array

    @classmethod
    def of(cls, times: Array, group: Array, partitions: int) -> Spans:
        """Times are from 0 on."""
        first, last = np.full(partitions, TOO_FAR), np.full(partitions, -TOO_FAR)
        np.minimum.at(first, group, times)
        np.maximum.at(last, group, times)
        return cls(first, last)


def _meetings(way: Way, spans: Mapping[str, Spans], window: int) -> list[Array]:
    """For each two events that the way must bind: where they may be near each other, and in order."""
    tests = []
    for one, other in combinations(way.singles(), 2):
        earlier, later = spans[way.elements[one].var], spans[way.elements[other].var]
        tests.append(later.first - earlier.last <= window)
        if one in way.before[other]:
            tests.append(later.last >= earlier.first)
        else:
            tests.append(earlier.first - later.last <= window)
    return tests


def _present(program: EventProgram, events: pa.Table, group: Array, partitions: int) -> dict[str, Array]:
    """Per variable that is needed, the partitions with an event that it may bind."""
    masks = {var: program.mask[var] for way in program.ways for var in _needed(way)}
    numbers = {var: mask.number for var, mask in masks.items() if mask is not None and mask.number is not None}
    present = {}
    for var, mask in masks.items():
        if var not in numbers:
            present[var] = np.zeros(partitions, bool)
            present[var][group if mask is None else group[truth(flat(events.column(mask.column))) != 0]] = True
        elif var not in present and mask is not None:
            present |= _by_class(numbers, numpy_of(flat(events.column(mask.column))), group, partitions)
    return present


def _by_class(numbers: Mapping[str, int], classes: Array, group: Array, partitions: int) -> dict[str, Array]:
    """The same for all variables that ask for nothing but a class, in one pass over the events."""
    width = max(int(classes.max(initial=0)), *numbers.values()) + 2  # those of no class are there, too
    found = np.zeros(partitions * width, bool)
    for since in range(0, len(group), CHUNK):
        part = slice(since, since + CHUNK)
        found[group[part] * width + (classes[part] + 1)] = True
    by_class = found.reshape(partitions, width)
    return {var: by_class[:, number + 1] for var, number in numbers.items()}
