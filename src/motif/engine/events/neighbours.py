"""Events that have all it takes near them: in their partition, in the time that WITHIN gives a match.

Where a partition has few events in that time, most are alone: to find that out is cheaper than to sort and join them.
Time is cut into stretches longer than WITHIN, so all events of a match lie in the stretch of any of them and the two
beside it. An event stays if the events of its partition in these three can be all that some way must bind. Whatever
else a match depends on, lists and the absence of events, lies between its events, and so stays with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, to_lanes
from motif.engine.events.roles import BITS, Needs, roles_of
from motif.engine.events.rows import ticks_of
from motif.engine.times import moments
from motif.ir.event import Duration
from motif.kernels.build import neighbours_loop
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import COSTS

FEW_NEIGHBOURS = 1.0
"""Looked at only where an event has fewer in three stretches, on average."""
LEAST_STRETCHES = 4
"""So that the three are never the same ones."""
TOO_FAR = 1 << 61
"""Times that are further apart are not subtracted: the difference might not fit."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Where events are: partition after partition in a stretch of time, and stretches one after the other."""

    since: int
    shift: int
    """A stretch is 2 ** shift long."""
    stretches: int
    """A power of two; the next one is the first again."""
    partitions: int

    @classmethod
    def of(cls, times: Array, window: int, partitions: int, few: float, cells_per_event: int) -> Cells | None:
        """None where there are not so few events in three stretches."""
        low, high = int(times.min()), int(times.max())
        shift = window.bit_length()
        if high - low >= TOO_FAR or (3 * len(times)) << shift > few * partitions * (high - low):
            return None
        wanted = ((high - low) >> shift) + 1
        room = max(cells_per_event * len(times) // partitions, LEAST_STRETCHES)
        stretches = max(min(1 << wanted.bit_length(), 1 << (room.bit_length() - 1)), LEAST_STRETCHES)
        return cls(low, shift, stretches, partitions)

    @property
    def count(self) -> int:
        return self.stretches * self.partitions


def with_neighbours(
    program: EventProgram,
    events: pa.Table,
    group: Array,
    *,
    compiled: bool,
    few: float = FEW_NEIGHBOURS,
    cells_per_event: int = COSTS.cells_per_event,
) -> Array | None:
    """Places of events that are not alone; None where that would be most. `group`: the numbers of partitions."""
    within, kind = program.query.within, program.types[program.time]
    if not isinstance(within, Duration) or program.start is not None or not len(group):
        return None
    times = moments(to_lanes(flat(events.column(program.time)), kind), kind)
    cells = Cells.of(times, within.microseconds * ticks_of(program), int(group.max()) + 1, few, cells_per_event)
    if cells is None:
        return None
    needs = Needs.of(program)
    find = _found if compiled else _found_by_numpy
    return find(cells, group, times, roles_of(events, needs.masks), needs.enough())


def _found(cells: Cells, group: Array, times: Array, roles: Array, enough: Array) -> Array:
    kept, own = np.empty(len(group) + 1, np.int64), np.empty(len(group), np.int64)
    settings = np.array([cells.since, cells.shift, cells.stretches - 1, cells.partitions])
    count = neighbours_loop()(settings, group, times, roles, enough, np.zeros(cells.count, np.uint8), own, kept)
    return kept[:count]


def _found_by_numpy(cells: Cells, group: Array, times: Array, roles: Array, enough: Array) -> Array:
    """The same without a compiler."""
    own = ((times - cells.since >> cells.shift) & (cells.stretches - 1)) * cells.partitions + group
    seen = np.zeros(cells.count, np.uint8)
    for bit in BITS[: len(enough).bit_length() - 1]:
        seen[own[roles & bit != 0]] |= bit
    near = seen[own] | seen[own - cells.partitions] | seen[(own + cells.partitions) % cells.count]
    return np.flatnonzero(enough[near])
