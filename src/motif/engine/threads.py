"""Work on all cores: what runs long here, loops and Arrow's own, lets other threads go on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_threads(work: Callable[[int], T], parts: int) -> list[T]:
    """`work` of each part's number, in order. Work within work is done by the thread that asks for it."""
    if parts == 1 or _THREAD.is_ours:
        return [work(number) for number in range(parts)]
    pool = _pool(os.getpid(), cores())
    given_up = threading.Event()

    def part(number: int) -> T:
        _THREAD.given_up = given_up
        return work(number)

    futures = [pool.submit(part, number) for number in range(parts)]
    try:
        return [future.result() for future in futures]
    finally:  # after an error, or Ctrl-C, nothing goes on behind the caller's back
        given_up.set()
        for future in futures:
            future.cancel()
        wait(futures)


class GivenUp(BaseException):
    """Nobody waits for this part any more."""


def check_wanted() -> None:
    """For loops that may take long: end this part of the work if the others have failed, or Ctrl-C came."""
    if _THREAD.given_up.is_set():
        raise GivenUp


class _Thread(threading.local):
    is_ours = False
    given_up = threading.Event()  # of threads that nobody started here: never set


_THREAD = _Thread()


@lru_cache(maxsize=1)
def _pool(process: int, size: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a process that was forked has no threads
    """Threads that stay: each allocates memory of its own, which a new one would have to ask the system for."""
    return ThreadPoolExecutor(size, thread_name_prefix="motif-match", initializer=_begin)


def _begin() -> None:
    _THREAD.is_ours = True
