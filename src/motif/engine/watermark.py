"""The one rule of time in streams: every event at or before the watermark has arrived.

So an event at the watermark that comes now is late, events up to and including it can be put in order, and a deadline
at it has passed. Sorting, deciding, pruning and timers all ask `is_past`. Times are integers in the unit of the time
column.
"""

from __future__ import annotations

from typing import Any

FOREVER = 1 << 62
"""Later than every event: the watermark of a stream that has ended."""
BEGINNING = -FOREVER
"""Before every event: nothing has arrived yet."""


def is_past(moment: Any, watermark: int) -> Any:
    """Whether nothing more can happen at a moment (or, element by element, at several)."""
    return moment <= watermark


def after_lateness(latest: int, lateness: int) -> int:
    """The watermark once an event at `latest` was seen: one that is late by `lateness` is still in time."""
    return latest - lateness - 1
