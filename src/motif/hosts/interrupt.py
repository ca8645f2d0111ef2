"""Ctrl-C while the host works: it is told to stop, and what comes out is KeyboardInterrupt."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
ASKED_AGAIN = 0.05
"""Seconds until the host is told again: it may not have begun yet when it was."""


def heard(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """What `work` gives. Ctrl-C only comes to the main thread, where it is not heard as long as the host works there.

    `stop`: ends the work from another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    future = _worker(os.getpid()).submit(work)
    try:
        return future.result()
    except BaseException:
        _end(future, stop)
        raise


def answered(connection: Any, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a short question; if Ctrl-C comes while the host answers it, the host says so in its own way."""
    try:
        found: list[tuple[Any, ...]] = connection.execute(sql, list(parameters)).fetchall()
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None
    return found


def _end(future: Future[T], stop: Callable[[], None]) -> None:
    """Wait for the end of work that was told to stop; Ctrl-C once more, and nobody waits for it."""
    try:
        while not (future.cancel() or future.done()):
            stop()
            wait([future], ASKED_AGAIN)
    except KeyboardInterrupt:
        _worker.cache_clear()
        raise


@lru_cache(maxsize=1)
def _worker(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a process that was forked has no threads
    return ThreadPoolExecutor(1, thread_name_prefix="motif-host")
