"""Partitions that can have a match at all: those with an event for everything that some way must bind.

Where there are nearly as many partitions as events, most have none: to find that out is cheaper than to sort them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, numpy_of, truth
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Role, Way

FEW_EVENTS = 8
"""Looked at only where a partition has fewer on average: of larger ones nearly all can have a match."""
WORTH_IT = 0.7
"""Of more than so many events no one is left out: to move them takes longer."""
CHUNK = 1 << 16
"""Events that are looked at together, so that what is worked out for them stays in the cache."""


def promising(program: EventProgram, events: pa.Table, group: Array) -> Array | None:
    """Flags of the events in such partitions, whose numbers are `group`; None where it is not worth it."""
    if not len(group) or len(group) >= FEW_EVENTS * (int(group.max()) + 1):
        return None
    flags = with_a_chance(program, events, group)
    return flags if int(np.count_nonzero(flags)) < WORTH_IT * len(flags) else None


def with_a_chance(program: EventProgram, events: pa.Table, group: Array) -> Array:
    """The flags themselves."""
    partitions = int(group.max(initial=-1)) + 1
    present = _present(program, events, group, partitions)
    possible = np.zeros(partitions, bool)
    for way in program.ways:
        possible |= reduce(np.logical_and, [present[var] for var in _of_way(way)], np.ones(partitions, bool))
    flags: Array = possible[group]
    return flags


def _of_way(way: Way) -> list[str]:
    """Variables without which the way has no match."""
    return [element.var for element in way.elements if element.role is Role.SINGLE]


def _present(program: EventProgram, events: pa.Table, group: Array, partitions: int) -> dict[str, Array]:
    """Per variable that is needed, the partitions with an event that it may bind."""
    masks = {var: program.mask[var] for way in program.ways for var in _of_way(way)}
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
