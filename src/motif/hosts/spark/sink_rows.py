"""The rows of a batch as a driver of a database takes them, and what tells one that is refused from the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

SQL_TYPES: dict[type[t.DataType], tuple[str, str]] = {
    t.BooleanType: ("BOOLEAN", "INTEGER"),
    t.ByteType: ("SMALLINT", "INTEGER"),
    t.ShortType: ("SMALLINT", "INTEGER"),
    t.IntegerType: ("INTEGER", "INTEGER"),
    t.LongType: ("BIGINT", "INTEGER"),
    t.FloatType: ("REAL", "REAL"),
    t.DoubleType: ("DOUBLE PRECISION", "REAL"),
    t.DecimalType: ("NUMERIC", "TEXT"),
    t.StringType: ("TEXT", "TEXT"),
    t.BinaryType: ("BYTEA", "BLOB"),
    t.DateType: ("DATE", "TEXT"),
    t.TimestampType: ("TIMESTAMP WITH TIME ZONE", "TEXT"),
    t.TimestampNTZType: ("TIMESTAMP", "TEXT"),
    t.DayTimeIntervalType: ("INTERVAL", "REAL"),
}
"""Types of a table that is created: PostgreSQL's, and SQLite's. Everything else is text."""
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class Unwritable(ValueError):
    """A value that no driver takes."""


def collected(frame: DataFrame) -> pa.Table:
    """The rows, with values that a database takes: nested ones as JSON, others that it may not know as text."""
    fields = frame.schema.fields
    numbered = frame.toDF(*(f"c{i}" for i in range(len(fields))))
    rows = numbered.select(*(_crossing(f"c{i}", column.dataType) for i, column in enumerate(fields))).toArrow()
    return rows.rename_columns([column.name for column in fields])


def _crossing(name: str, kind: t.DataType) -> Column:
    if isinstance(kind, t.StructType | t.ArrayType | t.MapType | t.VariantType):
        return f.to_json(f.col(name), _JSON).alias(name)
    return f.col(name) if type(kind) in SQL_TYPES else f.col(name).cast("string").alias(name)


def values(rows: pa.RecordBatch) -> list[tuple[object, ...]]:
    """Rows as values of Python."""
    return list(zip(*(_column(rows.field(i), column) for i, column in enumerate(rows.columns)), strict=True))


def _column(field: pa.Field, column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raise Unwritable(f"{field.name} has text that is not UTF-8") from None
    except (ValueError, OverflowError):
        what = "a time outside of the years 1 to 9999" if pa.types.is_temporal(field.type) else "a value out of range"
        raise Unwritable(f"{field.name} has {what}") from None


def content(rows: pa.Table, row: int, names: Sequence[str] | None = None) -> str:
    """A row, or columns of it, as JSON in ASCII: whatever is in it, every database takes that."""
    table = rows if names is None else rows.select(names)
    return json.dumps({name: _told(table.column(i)[row]) for i, name in enumerate(table.column_names)})


def _told(value: pa.Scalar) -> object:
    try:
        known = value.as_py()
    except UnicodeDecodeError:
        return {"bytes": value.as_buffer().to_pybytes().hex()}
    except (ValueError, OverflowError):
        return str(value.cast(pa.string()).as_py())
    if isinstance(known, bytes):
        return {"bytes": known.hex()}
    is_json = known is None or isinstance(known, bool | int | str) or (isinstance(known, float) and known - known == 0)
    return known if is_json else str(known)
