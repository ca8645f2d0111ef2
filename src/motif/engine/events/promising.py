"""Partitions that can have a match at all: those with an event for everything that some way must bind.

Where there are nearly as many partitions as events, most have none: to find that out is cheaper than to sort them.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, truth
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Role, Way

FEW_EVENTS = 8
"""Looked at only where a partition has fewer on average: of larger ones nearly all can have a match."""
WORTH_IT = 0.7
"""Of more than so many events no one is left out: to move them takes longer."""


def promising(program: EventProgram, events: pa.Table, group: Array) -> Array | None:
    """Flags of the events in such partitions, whose numbers are `group`; None where it is not worth it."""
    if not len(group) or len(group) >= FEW_EVENTS * (int(group.max()) + 1):
        return None
    flags = with_a_chance(program, events, group)
    return flags if int(np.count_nonzero(flags)) < WORTH_IT * len(flags) else None


def with_a_chance(program: EventProgram, events: pa.Table, group: Array) -> Array:
    """The flags themselves."""
    partitions = int(group.max(initial=-1)) + 1
    present = {var: _present(program, events, var, group, partitions) for var in _needed(program)}
    possible = np.zeros(partitions, bool)
    for way in program.ways:
        possible |= reduce(np.logical_and, [present[var] for var in _of_way(way)], np.ones(partitions, bool))
    flags: Array = possible[group]
    return flags


def _needed(program: EventProgram) -> set[str]:
    return {var for way in program.ways for var in _of_way(way)}


def _of_way(way: Way) -> list[str]:
    """Variables without which the way has no match."""
    return [element.var for element in way.elements if element.role is Role.SINGLE]


def _present(program: EventProgram, events: pa.Table, var: str, group: Array, partitions: int) -> Array:
    """Per partition, whether the variable may bind one of its events."""
    column = program.mask[var]
    found = np.zeros(partitions, bool)
    found[group if column is None else group[truth(flat(events.column(column))) != 0]] = True
    return found
