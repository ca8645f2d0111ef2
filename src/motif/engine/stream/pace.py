"""Whether the joins of a stream are worth compiling: once plain Python has taken as long as compiling may.

Sessions of one query share the decision, as all buckets of keys in a worker process do.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from motif.engine.events.joins import Mode

PLAIN_SECONDS = 1.0
"""So long steps may take as plain Python, all together."""
SMALL_STEP = 256
"""Events of a step for which a compiled loop is not faster."""

_SPENT: dict[str, float] = defaultdict(float)
"""Seconds by query."""


class Pace:
    """How the joins of one query are run."""

    def __init__(self, query: str, compiled: bool | None) -> None:
        """`query`: what names it; `compiled`: None where it is to be found out."""
        self.query = query
        self.compiled = compiled

    def mode(self, events: int) -> Mode:
        """Of a step over so many events."""
        if self.compiled is not None:
            return Mode(self.compiled)
        compiled = events > SMALL_STEP and _SPENT[self.query] > PLAIN_SECONDS
        return Mode(compiled, hurried=not compiled)

    @contextmanager
    def measured(self, mode: Mode, events: int) -> Iterator[None]:
        """Note how long a step takes."""
        began = time.monotonic()
        try:
            yield
        finally:
            if not mode.compiled and events > SMALL_STEP:
                _SPENT[self.query] += time.monotonic() - began
