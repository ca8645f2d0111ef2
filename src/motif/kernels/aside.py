"""Compiling aside: another process compiles a loop and keeps it on disk, while a stream goes on in plain Python.

In a thread the compiler would hold Python's lock for seconds, and no push would be answered. The process gets the text
of the loop by its standard input, which stays open: it ends as soon as nobody holds the other end any more. Nothing
depends on it. What it has not kept by the time it has ended is compiled where it is needed.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

ENOUGH = 1
"""Compilers at a time."""
_ASIDE = threading.local()
_STARTED: dict[tuple[int, str], subprocess.Popen[str] | None] = {}
"""By process (one that was forked has no children) and loop; None where no other process can compile it."""
_STARTING = threading.Lock()
_WRITING = threading.Lock()


class NotLoaded(Exception):
    """The loop is being compiled by another process."""


@contextmanager
def compile_aside(*, wanted: bool = True) -> Iterator[None]:
    """Loops that this thread calls and that are not there raise `NotLoaded` while another process compiles them."""
    before = is_wanted()
    _ASIDE.wanted = wanted
    try:
        yield
    finally:
        _ASIDE.wanted = before


def is_wanted() -> bool:
    """Whether this thread can go on without a loop for a while."""
    return getattr(_ASIDE, "wanted", False)


def is_under_way(loop: str, request: Mapping[str, Any]) -> bool:
    """Whether another process compiles a loop, or begins to now; False once it has ended, or if there can be none."""
    with _STARTING:
        key = os.getpid(), loop
        if key not in _STARTED:
            if sum(_is_running(other) for other in list(_STARTED)) >= ENOUGH:
                return True
            _STARTED[key] = _begun(request)
        return _is_running(key)


def _is_running(key: tuple[int, str]) -> bool:
    process = _STARTED[key]
    if key[0] != os.getpid() or process is None:
        return False
    if process.poll() is None:
        return True
    _let_go(process)
    return False


def _begun(request: Mapping[str, Any]) -> subprocess.Popen[str] | None:
    # An application may have a Python within it that cannot be started by itself.
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.lower().startswith("python"):
        return None
    paths = os.pathsep.join(path or "." for path in sys.path)
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
            env=environment,
            text=True,
        )
    except OSError:
        return None
    assert process.stdin is not None
    with suppress(OSError):  # it may have ended already
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
    return process


def _let_go(process: subprocess.Popen[str]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


@atexit.register
def _end_all() -> None:
    """Nobody needs what they compile any more."""
    for (owner, _), process in _STARTED.items():
        if owner == os.getpid() and process is not None:
            _let_go(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)


# -- in the other process


def main() -> None:
    """Compile what is asked for, and keep it."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from motif.kernels.build import defined
    from motif.kernels.native import Native

    with suppress(AttributeError, OSError):
        os.nice(5)
    loop = Native(request["name"], request["source"], partial(defined, known=request["known"]))
    loop.keep(_shape(request["shape"]), _WRITING)


def _end_with_parent() -> None:
    sys.stdin.read()
    _WRITING.acquire()  # what is being written is whole, or nothing of it is left
    os._exit(0)


def _shape(part: Any) -> Any:
    return tuple(map(_shape, part)) if isinstance(part, list) else part


if __name__ == "__main__":
    main()
