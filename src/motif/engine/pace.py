"""Whether a loop is worth compiling, or loading where it was compiled before: for many rows, or once it has taken long.

How long plain Python has taken is counted over all runs of a query in this process: calls over small tables, steps of a
stream, buckets of keys.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from motif.kernels.native import Native, are_kept, are_loaded, is_loader_there

COMPILE_FROM_ROWS = 200_000
"""Below this the loop runs as plain Python: compiling takes longer than it saves."""
LOAD_FROM_ROWS = 50_000
"""A loop that was compiled before is loaded from disk from here on."""
LOAD_NEXT_FROM_ROWS = 5_000
"""The same where another one was loaded before: what loads them takes ten times as long to come as a loop."""
READY_FROM_ROWS = 1_000
"""A loop that is compiled already is used from here on."""
PLAIN_SECONDS = 1.0
"""So long a query may run as plain Python, all together: importing the compiler alone takes most of that."""
LOADING_SECONDS, LOADING_NEXT_SECONDS = 0.025, 0.005
"""So long where the code is on disk and has only to be loaded: the first in this process, and others."""
SMALL_STEP = 256
"""Rows of a run for which a compiled loop is not faster."""

_SPENT: dict[str, float] = defaultdict(float)
"""Seconds by query."""


def pays(rows: int, loops: Callable[[], Sequence[Native]], effort: int = 1) -> bool:
    """Whether so many rows are worth compiled loops, even if they are asked for once.

    `loops`: all that it takes; `effort`: how many times as long as others they take to compile.
    """
    if rows >= COMPILE_FROM_ROWS * effort:
        return True
    load_from = LOAD_NEXT_FROM_ROWS if is_loader_there() else LOAD_FROM_ROWS
    return rows >= READY_FROM_ROWS and (are_loaded(loops()) or (rows >= load_from and are_kept(loops())))


def loading_seconds() -> float:
    """How long it takes to load a loop."""
    return LOADING_NEXT_SECONDS if is_loader_there() else LOADING_SECONDS


def is_slow(query: str, rows: int, loops: Callable[[], Sequence[Native]] | None = None, patience: int = 1) -> bool:
    """Whether a run over so many rows is to be compiled, by the time that earlier ones took; `query` names it.

    `loops`: all that it takes, if they may be loaded; `patience`: how many times as long it may be plain.
    """
    if rows <= SMALL_STEP:
        return False
    spent = _SPENT[query]
    if spent > PLAIN_SECONDS * patience:
        return True
    return loops is not None and spent > loading_seconds() and are_kept(loops())


@contextmanager
def timed(query: str, rows: int, *, compiled: bool) -> Iterator[None]:
    """Note how long a run takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        if not compiled and rows > SMALL_STEP:
            _SPENT[query] += time.monotonic() - began
