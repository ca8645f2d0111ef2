"""Rows that a database does not take: which they are, and the table where they are kept instead."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from motif.errors import shown
from motif.hosts.spark.sink_connection import MARK, Link, dotted, first_line
from motif.hosts.spark.sink_rows import content


def refused_alone(link: Link, insert: str, rows: pa.Table, *, at_most: int) -> dict[int, str]:
    """Rows that are refused whatever the others are, with the reason: parts are written and taken back."""
    found: dict[int, str] = {}
    parts = [(0, rows.num_rows)]
    while parts and len(found) < at_most:
        low, high = parts.pop()
        reason = _reason(link, insert, rows.slice(low, high - low))
        if reason is not None and high - low == 1:
            found[low] = reason
        elif reason is not None:
            middle = (low + high) // 2
            parts += [(middle, high), (low, middle)]
    return found


def _reason(link: Link, insert: str, rows: pa.Table) -> str | None:
    try:
        with link.trial():
            link.insert(insert, rows)
    except link.refusals as error:
        return first_line(error)
    return None


def refused_next_to_others(link: Link, insert: str, rows: pa.Table) -> dict[int, str]:
    """The first row that is refused after those before it, such as the second one of a unique value."""
    with link.trial():
        for row in range(rows.num_rows):
            try:
                link.insert(insert, rows.slice(row, 1))
            except link.refusals as error:
                return {row: first_line(error)}
    return {}


_LOG = logging.getLogger("motif")


@dataclass(frozen=True)
class DeadLetters:
    """A table with the rows that were refused, as JSON, and why."""

    link: Link
    name: str
    sink: str
    """The table that refuses them."""

    def create(self) -> None:
        """Make sure that it is there."""
        columns = (
            "id VARCHAR(255) NOT NULL PRIMARY KEY, sink TEXT NOT NULL, query_id TEXT NOT NULL, "
            "batch_id BIGINT NOT NULL, reason TEXT NOT NULL, content TEXT NOT NULL"
        )
        create = f"CREATE TABLE IF NOT EXISTS {dotted(self.name)} ({columns})"
        self.link.created(create, f"table {self.name}, which takes the rows that are refused,", self._read)

    def _read(self) -> list[str]:
        return self.link.columns(self.name)

    def add(self, rows: pa.Table, refused: Mapping[int, str], query: str, batch: int, *, has_key: bool) -> None:
        """Keep rows; with a key, one that comes again, under whatever number, stays one."""
        _LOG.warning("%s refuses %d rows of batch %d: they are in %s", self.sink, len(refused), batch, self.name)
        text = f"INSERT INTO {dotted(self.name)} (id, sink, query_id, batch_id, reason, content)"
        text += f" VALUES ({', '.join([MARK] * 6)}){' ON CONFLICT (id) DO NOTHING' if has_key else ''}"
        for row, reason in sorted(refused.items()):
            told = content(rows, row)
            name = f"{self.sink} {told}" if has_key else f"{self.sink} {query} {batch} {row}"
            number = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
            why = shown(reason).encode("ascii", "backslashreplace").decode()
            self.link.run(text, number, self.sink, query, batch, why, told)
