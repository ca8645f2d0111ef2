"""Rows of the test kit as Arrow tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from motif.testing.generate import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


def to_arrow(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str] = COLUMNS) -> pa.Table:
    """A table with exactly these SQL types; by default the one that random queries read."""
    import pyarrow as pa

    schema = pa.schema([(name, arrow_type(sql_type)) for name, sql_type in columns.items()])
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def arrow_type(sql_type: str) -> pa.DataType:
    """The Arrow type of a SQL type's name."""
    import pyarrow as pa

    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", sql_type)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return {
        "BOOLEAN": pa.bool_(),
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
    }[sql_type]
