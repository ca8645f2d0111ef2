"""One step of a stream of events: which are new, and which deadlines pass in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.rows import EventRows
from motif.engine.watermark import FOREVER, is_past
from motif.ir.event import EventCount


@dataclass(frozen=True, slots=True)
class Step:
    """From one watermark to the next."""

    is_new: Array
    """Per event: was not there before."""
    before: int
    now: int

    @property
    def is_last(self) -> bool:
        return self.now >= FOREVER

    def falls_due(self, rows: EventRows, moments: Array, segment: Array) -> Array:
        """Which deadlines (in units of WITHIN, of some partitions) pass in this step."""
        if not isinstance(rows.program.query.within, EventCount):
            due: Array = ~is_past(moments, self.before) & is_past(moments, self.now)
            return due
        known = np.concatenate(([0], np.cumsum(~self.is_new)))
        old_end = rows.bounds[:-1] + known[rows.bounds[1:]] - known[rows.bounds[:-1]]
        return (moments >= old_end[segment]) & (self.is_last | (moments < rows.bounds[1:][segment]))
