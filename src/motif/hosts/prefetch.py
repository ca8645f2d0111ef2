"""Fetch the next batch while the last one is matched; both release the GIL."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from motif.hosts.interrupt import ASKED_AGAIN

T = TypeVar("T")


def ahead(items: Iterable[T], give_up: Callable[[], None], depth: int = 4) -> Iterator[T]:
    """The same items, taken from their source by another thread; its exceptions are raised here.

    `give_up`: ends the taking of an item that nobody waits for any more, after Ctrl-C or an error.
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: T | None, error: BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return ready.put((item, error), timeout=0.1)
            except queue.Full:
                continue

    def fetch() -> None:
        try:
            for item in items:
                put(item, None)
                if stopped.is_set():
                    return
            put(None, StopIteration())
        except BaseException as error:  # noqa: BLE001 - handed to the reader, which raises it
            put(None, error)

    thread = threading.Thread(target=fetch, name="motif-fetch", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join(ASKED_AGAIN)
        while thread.is_alive():
            give_up()
            thread.join(ASKED_AGAIN)
