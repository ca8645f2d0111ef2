"""What an event may be bound to, as bits, and what the ways through a pattern cannot do without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.events.rows import bindable
from motif.plan.events.program import EventProgram, Mask
from motif.plan.events.ways import Way

BITS = tuple(np.uint8(1 << number) for number in range(8))
"""Roles of an event are bits of a byte: no more are asked for."""
CHUNK = 1 << 18
"""Events that are looked at together, so that what is worked out for them stays in the cache."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the ways through a pattern cannot do without."""

    ways: tuple[Way, ...]
    roles: dict[str, int]
    """Variable -> the number of its mask, for those that are needed."""
    masks: tuple[Mask | None, ...]

    @classmethod
    def of(cls, program: EventProgram) -> Needs:
        asked = {var: program.mask[var] for way in program.ways for var in needed(way)}
        masks = tuple(dict.fromkeys(asked.values()))[: len(BITS)]
        return cls(program.ways, {var: masks.index(mask) for var, mask in asked.items() if mask in masks}, masks)

    def enough(self) -> Array:
        """For each set of roles, as bits, 1 if they are all that some way must bind."""
        sets = np.arange(1 << len(self.masks))
        wanted = [sum({1 << self.roles[var] for var in needed(way) if var in self.roles}) for way in self.ways]
        return reduce(np.logical_or, [sets & bits == bits for bits in wanted], sets < 0).astype(np.uint8)


def needed(way: Way) -> list[str]:
    """Variables without which the way has no match."""
    return [way.elements[number].var for number in way.singles()]


def roles_of(events: pa.Table, masks: Sequence[Mask | None]) -> Array:
    """For each event the masks that it passes, as bits."""
    roles, until = np.zeros(events.num_rows, np.uint8), 0
    for part in events.to_batches(max_chunksize=CHUNK):
        since, until = until, until + part.num_rows
        for bit, mask in zip(BITS, masks, strict=False):
            passed = 1 if mask is None else bindable(mask, part.column(mask.column))
            roles[since:until] |= passed * bit  # to shift takes ten times as long
    return roles
