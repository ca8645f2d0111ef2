"""Memory that is let go of stays with the process, within limits: new pages are a large part of what results cost."""

from __future__ import annotations

import ctypes
import os
from functools import cache

KEPT_BYTES = 128 << 20
"""So much of it."""
FROM_SYSTEM_BYTES = 32 << 20
"""Larger pieces are asked of the system, and given back, one by one; the most that glibc allows."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's for the two."""


@cache
def keep_freed_memory() -> None:
    """Once per process; not where someone has set up the allocator already, nor where it is not glibc's."""
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, FROM_SYSTEM_BYTES)
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
