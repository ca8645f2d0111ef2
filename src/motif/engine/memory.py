"""Memory: how much of it a query may use, and that the allocator of Linux keeps for the next one."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from motif.limits import Limits

LARGE_BYTES = 24 << 20
UNKNOWN_BYTES = 8 << 30
"""Of a machine that does not say how much it has."""
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def half_of(limits: Limits) -> int:
    """Bytes for what Motif holds, and as many for its host: half of `memory_bytes` each."""
    return (_most_bytes() if limits.memory_bytes is None else limits.memory_bytes) // 2


@cache
def _most_bytes() -> int:
    """Four fifths of the memory of this machine, or of the container that the process is in."""
    found = [UNKNOWN_BYTES]
    with suppress(AttributeError, ValueError, OSError):
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # there is no such file, or it says "max"
            found.append(int(Path(path).read_text(encoding="ascii")))
    return min(found) * 4 // 5


@cache
def expect_large_arrays() -> None:
    """Let go of a large array that was never written, once per process.

    Until the first one has been let go of, glibc asks the system for each anew, and new pages are a third of what many
    results cost; then it serves arrays up to that size from memory it keeps. Nothing is set, and nothing held.
    """
    np.empty(LARGE_BYTES, np.uint8)
