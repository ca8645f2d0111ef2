"""What is pushed into a stream -> a table of the stream's own columns and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from motif.arguments import type_name
from motif.errors import MotifError, did_you_mean
from motif.hosts.frames import to_arrow


def schema_of(given: Any) -> pa.Schema:
    """Columns of a stream: an Arrow schema, a table that has them, or names with types."""
    schema = _schema(given)
    if not len(schema):
        raise MotifError("the schema has no columns", hint='give names and types: {"ts": "timestamp"}')
    return schema


def _schema(given: Any) -> pa.Schema:
    if isinstance(given, pa.Schema):
        return given
    if isinstance(given, Mapping):
        return pa.schema([(str(name), _type(name, kind)) for name, kind in given.items()])
    try:
        return to_arrow(given).schema
    except MotifError:
        raise MotifError(
            f"a schema cannot be {type_name(given)}",
            hint='give a pyarrow.Schema, a table with these columns, or names and types: {"ts": "timestamp"}',
        ) from None


_NAMES = {
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "string": pa.string(),
    "str": pa.string(),
    "varchar": pa.string(),
    "double": pa.float64(),
    "float": pa.float64(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "int": pa.int64(),
    "integer": pa.int32(),
    "bool": pa.bool_(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}


def _type(name: object, kind: Any) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, str) and kind.lower() in _NAMES:
        return _NAMES[kind.lower()]
    raise MotifError(
        f"column {name}: {kind!r} is not a type",
        hint=f"give a pyarrow type, or one of {', '.join(sorted(_NAMES))}",
    )


_ROWS = "push mappings from column names to values (of a generator, list(rows)), or a table"
_TYPES = "push values of the types that the schema of the stream says, or say others there"


def _column(name: str, kind: pa.DataType, values: list[Any]) -> pa.Array:
    try:
        array = pa.array(values, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        culprit = next((value for value in values if not _fits(value, kind)), values)
        raise MotifError(f"column {name} is {kind}, and cannot be {culprit!r}", hint=_TYPES) from error
    if pa.types.is_integer(kind):  # Arrow would cut off what is behind the point
        for value in values:
            if isinstance(value, float | Decimal) and value != int(value):
                raise MotifError(f"column {name} is {kind}, and cannot be {value!r}", hint=_TYPES)
    return array


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


@dataclass(frozen=True)
class Arriving:
    """Makes tables with the columns of a stream, in their order; columns that are missing are NULL."""

    schema: pa.Schema

    @cached_property
    def fields(self) -> dict[str, pa.DataType]:
        """Names with types; asking the schema anew for every row takes longer than the row itself."""
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    def table(self, rows: Any) -> pa.Table:
        """Of a row (a mapping), several, or a table."""
        if isinstance(rows, Mapping):
            return self._from_rows([rows])
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
            return self._from_rows(list(rows))
        if isinstance(rows, str | bytes):
            raise MotifError("rows cannot be a text", hint=_ROWS)
        try:
            table = to_arrow(rows)
        except MotifError as error:
            if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "columns"):
                raise
            raise MotifError(f"rows cannot be {type_name(rows)}", hint=_ROWS) from error.__cause__
        return table if table.schema.equals(self.schema) else self._fitted(table)

    def _fitted(self, table: pa.Table) -> pa.Table:
        self._check_names(table.column_names)
        columns = [
            table.column(name) if name in table.column_names else pa.nulls(table.num_rows, kind)
            for name, kind in self.fields.items()
        ]
        try:
            return pa.Table.from_arrays(columns, names=self.schema.names).cast(self.schema)
        except (pa.ArrowException, ValueError) as error:
            raise MotifError(f"the rows do not fit the columns of the stream: {error}", hint=_TYPES) from None

    def _from_rows(self, rows: list[Any]) -> pa.Table:
        for row in rows:
            if not isinstance(row, Mapping):
                raise MotifError(f"a row cannot be {type_name(row)}", hint=_ROWS)
            if not row.keys() <= self.fields.keys():
                self._check_names(row)
        columns = [_column(name, kind, [row.get(name) for row in rows]) for name, kind in self.fields.items()]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _check_names(self, names: Any) -> None:
        for name in names:
            if name not in self.fields:
                raise MotifError(
                    f"{name} is not a column of the stream",
                    hint=did_you_mean(str(name), list(self.fields)) or f"its columns are {', '.join(self.fields)}",
                )
