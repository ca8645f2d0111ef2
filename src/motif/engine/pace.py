"""Whether a loop is worth compiling: once plain Python has taken as long as compiling may, over all runs of a query.

All runs of a query in this process share the decision: calls over small tables, steps of a stream, buckets of keys.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAIN_SECONDS = 1.0
"""So long a query may run as plain Python, all together: importing the compiler alone takes most of that."""
LOADING_SECONDS = 0.1
"""So long where the code is on disk and has only to be loaded."""
SMALL_STEP = 256
"""Rows of a run for which a compiled loop is not faster."""

_SPENT: dict[str, float] = defaultdict(float)
"""Seconds by query."""


def is_slow(query: str, rows: int, is_kept: Callable[[], bool] = lambda: False, patience: int = 1) -> bool:
    """Whether a run over so many rows is to be compiled, by the time that earlier ones took; `query` names it.

    `is_kept`: whether its code has only to be loaded; `patience`: how many times as long it may be plain.
    """
    spent = _SPENT[query]
    return rows > SMALL_STEP and (spent > PLAIN_SECONDS * patience or (spent > LOADING_SECONDS and is_kept()))


@contextmanager
def timed(query: str, rows: int, *, compiled: bool) -> Iterator[None]:
    """Note how long a run takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        if not compiled and rows > SMALL_STEP:
            _SPENT[query] += time.monotonic() - began
