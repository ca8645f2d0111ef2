"""A table of a database, with the last batch of each stream noted beside it in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from motif.errors import MotifError, did_you_mean
from motif.hosts.spark.sink_connection import (
    MARK,
    SQL_TYPES,
    Link,
    connected,
    dotted,
    first_line,
    quoted_name,
    refusals,
)
from motif.hosts.spark.sink_identity import named

_LEDGER = "motif_batches"
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Table:
    """A table of a database, and beside it one with the last batch of each stream."""

    connect: Callable[[], Any] = field(repr=False)
    name: str
    key: tuple[str, ...]
    create: bool

    def write(self, frame: DataFrame, batch: int, query: str) -> None:
        """Write one batch, unless it is there."""
        for name in self.key:
            if _found(name, frame.columns) is None:
                raise MotifError(
                    f"the matches have no column {name}, which key= names", hint=did_you_mean(name, frame.columns)
                )
        with connected(self.connect) as link:
            columns = self._columns(link, frame.schema)
            last = self._last(link, batch, query)
            if last != batch:
                rows = _collected(frame)
                with self._blamed(link, batch), link.transaction():
                    self._note(link, query, last, batch)
                    link.insert(self._insert(columns), rows)

    def _columns(self, link: Link, schema: t.StructType) -> list[str]:
        """The columns of the table that the matches go to, in their order."""
        try:
            known = link.columns(self.name)
        except link.error as error:
            if not self.create:
                raise MotifError(
                    f"table {self.name} cannot be read: {first_line(error)}",
                    hint="create it, or have it created: motif.sink(..., create=True)",
                ) from None
            with refusals(link, f"table {self.name} cannot be created"):
                link.change(self._create(link, schema))
            known = link.columns(self.name)
        columns = [_found(name, known) for name in schema.names]
        for name, column in zip(schema.names, columns, strict=True):
            if column is None:
                raise MotifError(
                    f"table {self.name} has no column {name}",
                    hint=f"add it, or leave it out of the matches; {did_you_mean(name, known)}",
                )
        return cast("list[str]", columns)

    def _create(self, link: Link, schema: t.StructType) -> str:
        keys = [cast("str", _found(name, schema.names)) for name in self.key]
        columns = [
            f"{quoted_name(column.name)} {link.sql_type(column.dataType)}{' NOT NULL' if column.name in keys else ''}"
            for column in schema.fields
        ]
        if keys:
            columns.append(f"PRIMARY KEY ({_list(keys)})")
        return f"CREATE TABLE IF NOT EXISTS {dotted(self.name)} ({', '.join(columns)})"

    @property
    def _ledger(self) -> str:
        """Beside the table: in its schema."""
        return dotted(".".join((*self.name.split(".")[:-1], _LEDGER)))

    def _last(self, link: Link, batch: int, query: str) -> int | None:
        """The last batch of this stream that was written here."""
        known = self._notes(link)
        last = known.pop(query, None)
        # With a key, a match that is there already is met again and stays one; without, it would be there twice.
        if not self.key and known:
            raise MotifError(
                f"table {self.name} holds the matches of another stream ({named(next(iter(known)))}); without key= "
                "a stream with a new checkpoint would write its matches a second time",
                hint="start with the old checkpoint, or give key=, or another table, or delete the rows of "
                f"{self.name} and of {_LEDGER} with sink = '{self.name}'",
            )
        if not self.key and last is not None and batch < last:
            raise MotifError(
                f"batch {batch} comes again after batch {last} was written to {self.name}: its checkpoint was set back",
                hint="put the checkpoint back, or give key=, so that a match that is there already stays one",
            )
        return last

    def _notes(self, link: Link) -> dict[str, int]:
        """The last batch by query, of those that write to this table."""
        text = f"SELECT query_id, batch_id FROM {self._ledger} WHERE sink = {MARK}"
        try:
            return dict(link.rows(text, self.name))
        except link.error:
            columns = "query_id TEXT NOT NULL, sink TEXT NOT NULL, batch_id BIGINT NOT NULL"
            with refusals(link, f"table {_LEDGER}, which remembers the last batch, cannot be created"):
                link.change(f"CREATE TABLE IF NOT EXISTS {self._ledger} ({columns}, PRIMARY KEY (query_id, sink))")
                return dict(link.rows(text, self.name))

    def _note(self, link: Link, query: str, last: int | None, batch: int) -> None:
        """Remember the batch; a process that was overtaken by another one finds out here."""
        if last is None:
            names = "(query_id, sink, batch_id)"
            link.run(f"INSERT INTO {self._ledger} {names} VALUES ({MARK}, {MARK}, {MARK})", query, self.name, batch)
            return
        where = f"query_id = {MARK} AND sink = {MARK} AND batch_id = {MARK}"
        text = f"UPDATE {self._ledger} SET batch_id = {MARK} WHERE {where}"
        if link.run(text, batch, query, self.name, last).rowcount == 0:
            raise MotifError(
                f"another process has written batch {batch} to {self.name} meanwhile", hint="run the stream only once"
            )

    def _insert(self, columns: list[str]) -> str:
        text = f"INSERT INTO {dotted(self.name)} ({_list(columns)}) VALUES ({', '.join(MARK for _ in columns)})"
        if not self.key:
            return text
        keys = [cast("str", _found(name, columns)) for name in self.key]
        rest = [name for name in columns if name not in keys]
        update = ", ".join(f"{quoted_name(name)} = excluded.{quoted_name(name)}" for name in rest)
        return f"{text} ON CONFLICT ({_list(keys)}) DO {f'UPDATE SET {update}' if rest else 'NOTHING'}"

    @contextmanager
    def _blamed(self, link: Link, batch: int) -> Iterator[None]:
        try:
            yield
        except link.error as error:
            hint = "nothing of the batch was written; the stream goes on from it when it is started again"
            if self.key and "conflict" in str(error).lower():
                hint = f"key= needs a primary key or a unique index of the table on ({', '.join(self.key)})"
            raise MotifError(f"batch {batch} was not written to {self.name}: {first_line(error)}", hint=hint) from None


def _collected(frame: DataFrame) -> pa.Table:
    """The rows, with values that a database takes: nested ones as JSON, others that it may not know as text."""
    fields = frame.schema.fields
    numbered = frame.toDF(*(f"c{i}" for i in range(len(fields))))
    return numbered.select(*(_crossing(f"c{i}", column.dataType) for i, column in enumerate(fields))).toArrow()


def _crossing(name: str, kind: t.DataType) -> Column:
    if isinstance(kind, t.StructType | t.ArrayType | t.MapType | t.VariantType):
        return f.to_json(f.col(name), _JSON).alias(name)
    return f.col(name) if type(kind) in SQL_TYPES else f.col(name).cast("string").alias(name)


def _found(name: str, known: Sequence[str]) -> str | None:
    """The column of that name, in its own spelling."""
    if name in known:
        return name
    alike = [other for other in known if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names))
