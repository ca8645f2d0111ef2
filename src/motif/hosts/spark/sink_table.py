"""A table of a database, with the last batch of each stream noted beside it in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from motif.errors import MotifError, did_you_mean
from motif.hosts.spark.sink_connection import (
    MARK,
    Link,
    connected,
    dotted,
    first_line,
    quoted_name,
)
from motif.hosts.spark.sink_ledger import Ledger
from motif.hosts.spark.sink_refused import DeadLetters, refused_alone, refused_next_to_others
from motif.hosts.spark.sink_rows import collected, content


@dataclass(frozen=True)
class Table:
    """A table of a database, and beside it one with the last batch of each stream."""

    connect: Callable[[], Any] = field(repr=False)
    name: str
    key: tuple[str, ...]
    create: bool
    dead_letters: str | None = None
    proven: set[str] = field(default_factory=set, repr=False, compare=False)
    """Tables whose transactions this object has seen to work."""

    def write(self, frame: DataFrame, batch: int, query: str) -> bool:
        """Write one batch, unless it is there; whether it was written."""
        for name in self.key:
            if _found(name, frame.columns) is None:
                raise MotifError(
                    f"the matches have no column {name}, which key= names", hint=did_you_mean(name, frame.columns)
                )
        with connected(self.connect) as link:
            columns = self._columns(link, frame.schema)
            ledger = Ledger(link, self.name)
            last = ledger.last(batch, query, has_key=bool(self.key))
            if last == batch:
                return False
            if self.name not in self.proven:
                ledger.prove()
                if self.dead_letters is not None:
                    DeadLetters(link, self.dead_letters, self.name).create()
                self.proven.add(self.name)
            work = _Batch(self, link, ledger, self._insert(columns), collected(frame), batch, query)
            work.write(last)
            return True

    def _columns(self, link: Link, schema: t.StructType) -> list[str]:
        """The columns of the table that the matches go to, in their order."""
        known = self._known(link, schema)
        columns = [_found(name, known) for name in schema.names]
        for name, column in zip(schema.names, columns, strict=True):
            if column is None:
                raise MotifError(
                    f"table {self.name} has no column {name}",
                    hint=f"add it, or leave it out of the matches; {did_you_mean(name, known)}",
                )
        return cast("list[str]", columns)

    def _known(self, link: Link, schema: t.StructType) -> list[str]:
        """The columns of the table."""
        if self.create:
            return link.created(self._create(link, schema), f"table {self.name}", lambda: link.columns(self.name))
        try:
            return link.columns(self.name)
        except link.error as error:
            raise MotifError(
                f"table {self.name} cannot be read: {first_line(error)}",
                hint="create it, or have it created: motif.sink(..., create=True)",
            ) from None

    def _create(self, link: Link, schema: t.StructType) -> str:
        keys = [cast("str", _found(name, schema.names)) for name in self.key]
        columns = [
            f"{quoted_name(column.name)} {link.sql_type(column.dataType)}{' NOT NULL' if column.name in keys else ''}"
            for column in schema.fields
        ]
        if keys:
            columns.append(f"PRIMARY KEY ({_list(keys)})")
        return f"CREATE TABLE IF NOT EXISTS {dotted(self.name)} ({', '.join(columns)})"

    def _insert(self, columns: list[str]) -> str:
        text = f"INSERT INTO {dotted(self.name)} ({_list(columns)}) VALUES ({', '.join(MARK for _ in columns)})"
        if not self.key:
            return text
        keys = [cast("str", _found(name, columns)) for name in self.key]
        rest = [name for name in columns if name not in keys]
        update = ", ".join(f"{quoted_name(name)} = excluded.{quoted_name(name)}" for name in rest)
        return f"{text} ON CONFLICT ({_list(keys)}) DO {f'UPDATE SET {update}' if rest else 'NOTHING'}"


@dataclass(frozen=True)
class _Batch:
    """One batch on its way into a table."""

    table: Table
    link: Link
    ledger: Ledger
    insert: str
    rows: pa.Table
    number: int
    query: str

    def write(self, last: int | None) -> None:
        """Write it all, or all but the rows that the table does not take, if these have a table of their own."""
        refused: dict[int, str] = {}
        while True:
            kept = [row for row in range(self.rows.num_rows) if row not in refused]
            rows = self.rows.take(pa.array(kept, pa.int64())) if refused else self.rows
            try:
                with self.link.transaction():
                    self.ledger.note(self.query, last, self.number)
                    self.link.insert(self.insert, rows)
                    self._set_aside(refused)
                return
            except (self.link.error, *self.link.refusals) as error:
                more = self._refused(rows, bool(refused)) if isinstance(error, self.link.refusals) else {}
                if not more or self.table.dead_letters is None:
                    raise self._failure(rows, more, error) from None
                refused |= {kept[row]: reason for row, reason in more.items()}

    def _refused(self, rows: pa.Table, was_tried: bool) -> dict[int, str]:
        """Rows that are the cause, with the reason: all that are refused by themselves, or else one."""
        most = 1 if self.table.dead_letters is None else rows.num_rows
        with suppress(self.link.error):
            alone = {} if was_tried else refused_alone(self.link, self.insert, rows, at_most=most)
            return alone or refused_next_to_others(self.link, self.insert, rows)
        return {}

    def _set_aside(self, refused: dict[int, str]) -> None:
        if refused:
            letters = DeadLetters(self.link, cast("str", self.table.dead_letters), self.table.name)
            letters.add(self.rows, refused, self.query, self.number, has_key=bool(self.table.key))

    def _failure(self, rows: pa.Table, refused: dict[int, str], error: Exception) -> MotifError:
        table = self.table
        why = first_line(error)
        hint = "nothing of the batch was written; the stream goes on from it when it is started again"
        for row, reason in refused.items():
            names = [cast("str", _found(name, rows.column_names)) for name in table.key]
            names = names or [name for name in rows.column_names if name == "match_id"] or rows.column_names
            why = f"row {content(rows, row, names)} is refused: {reason}"
            hint = f"mend it, or have such rows kept elsewhere, with dead_letters='{table.name}_refused'; {hint}"
        if table.key and "conflict" in str(error).lower():
            hint = f"key= needs a primary key or a unique index of the table on ({', '.join(table.key)})"
        return MotifError(f"batch {self.number} was not written to {table.name}: {why}", hint=hint)


def _found(name: str, known: Sequence[str]) -> str | None:
    """The column of that name, in its own spelling."""
    if name in known:
        return name
    alike = [other for other in known if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names))
