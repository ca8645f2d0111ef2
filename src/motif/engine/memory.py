"""Large arrays come and go with every query: told so, the allocator of Linux keeps their memory for the next one."""

from __future__ import annotations

from functools import cache

import numpy as np

LARGE_BYTES = 24 << 20


@cache
def expect_large_arrays() -> None:
    """Let go of a large array that was never written, once per process.

    Until the first one has been let go of, glibc asks the system for each anew, and new pages are a third of what many
    results cost; then it serves arrays up to that size from memory it keeps. Nothing is set, and nothing held.
    """
    np.empty(LARGE_BYTES, np.uint8)
