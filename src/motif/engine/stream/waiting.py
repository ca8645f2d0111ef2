"""Rows of a stream that wait until all that come before them have arrived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, chosen
from motif.engine.watermark import FOREVER, is_past

MOST_PARTS = 64
"""Parts that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows as they arrived, and when they were."""

    rows: pa.Table
    times: Array
    first: int
    last: int

    @classmethod
    def of(cls, rows: pa.Table, times: Array) -> Part:
        return cls(rows, times, int(times.min()), int(times.max()))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Parts in the order of their arrival."""

    parts: tuple[Part, ...] = ()

    @property
    def tables(self) -> list[pa.Table]:
        return [part.rows for part in self.parts]

    @property
    def first(self) -> int:
        """When the earliest row was, or forever."""
        return min((part.first for part in self.parts), default=FOREVER)

    def add(self, rows: pa.Table, times: Array) -> Waiting:
        """With rows that came now."""
        parts = (*self.parts, Part.of(rows, times))
        return Waiting(parts if len(parts) <= MOST_PARTS else (_joined(parts),))

    def until(self, watermark: int) -> tuple[Part | None, Waiting]:
        """Rows that wait no longer, if there are some, and the rest."""
        ripe: list[Part] = []
        rest: list[Part] = []
        for part in self.parts:
            if is_past(part.last, watermark):
                ripe.append(part)
            elif not is_past(part.first, watermark):
                rest.append(part)
            else:
                past = is_past(part.times, watermark)
                ripe.append(Part.of(chosen(part.rows, past), part.times[past]))
                rest.append(Part.of(chosen(part.rows, ~past), part.times[~past]))
        return (_joined(ripe) if ripe else None), Waiting(tuple(rest))


def _joined(parts: Iterable[Part]) -> Part:
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    rows = pa.concat_tables([part.rows for part in parts]).combine_chunks()
    return Part.of(rows, np.concatenate([part.times for part in parts]))
