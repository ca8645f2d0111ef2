"""What one query in process holds and gives, counted before it is made, and its limits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TypeVar

import pyarrow as pa

from motif.engine.memory import half_of
from motif.errors import LimitExceeded
from motif.limits import Limits

_RAISE = "motif.limits.LIMITS = replace(motif.limits.LIMITS, {}=...)"


Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


class Budget:
    """Of one query, whatever it is made of and however many threads work at it."""

    def __init__(self, limits: Limits) -> None:
        self.most_bytes = half_of(limits)
        self.most_rows = limits.result_rows
        self.bytes = 0
        self._lock = threading.Lock()

    def hold(self, size: int) -> None:
        """So many more bytes are held to the end, or are about to be; raises before there are too many."""
        with self._lock:
            self.bytes += size
            if self.bytes <= self.most_bytes:
                return
        raise LimitExceeded(
            f"the rows and matches of the query need more memory than half of memory_bytes = {2 * self.most_bytes:,}",
            hint=f"ask for fewer matches (WITHIN, more conditions), or allow more: {_RAISE.format('memory_bytes')}",
        )

    def check(self, rows: int) -> None:
        """A result, or a part of one, has so many rows."""
        if rows > self.most_rows:
            raise LimitExceeded(
                f"the query gives more than result_rows = {self.most_rows:,} rows",
                hint=f"ask for fewer (WITHIN, more conditions), or allow more: {_RAISE.format('result_rows')}",
            )

    def counted(self, parts: Iterator[Rows]) -> Iterator[Rows]:
        """The same parts of one result, which is held."""
        rows = 0
        for part in parts:
            rows += part.num_rows
            self.check(rows)
            self.hold(size_of(part))
            yield part


def size_of(part: Rows) -> int:
    """Bytes of rows, but for texts that are only referred to by codes."""
    chunks = [chunk for column in part.columns for chunk in getattr(column, "chunks", [column])]
    return sum((chunk.indices if pa.types.is_dictionary(chunk.type) else chunk).nbytes for chunk in chunks)
