"""What the allocator learns."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNTED = """
import ctypes, numpy as np
from motif.engine.memory import expect_large_arrays
class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]
ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
if ask is None:
    raise SystemExit(3)
ask.restype = Info
expect_large_arrays()
before = ask().hblks
held = [np.empty(4 << 20, np.uint8) for _ in range(3)]
assert ask().hblks == before, "asked of the system"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about glibc")
def test_large_arrays_are_served_from_memory_that_is_kept() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, env={}, check=False)
    if done.returncode == 3:
        pytest.skip("another libc, or an older one")
    assert done.returncode == 0, done.stderr
