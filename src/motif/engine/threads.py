"""Work on all cores: what runs long here, loops and Arrow's own, lets other threads go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_threads(work: Callable[[int], T], parts: int) -> list[T]:
    """`work` of each part's number, in order."""
    if parts == 1:
        return [work(0)]
    with ThreadPoolExecutor(min(cores(), parts), thread_name_prefix="motif-match") as pool:
        return list(pool.map(work, range(parts)))
