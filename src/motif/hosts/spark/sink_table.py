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
)
from motif.hosts.spark.sink_ledger import Ledger

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
            rows = _collected(frame)
            if self.name not in self.proven:
                ledger.prove()
                self.proven.add(self.name)
            with self._blamed(link, batch), link.transaction():
                ledger.note(query, last, batch)
                link.insert(self._insert(columns), rows)
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
