"""Parquet files that Arrow reads instead of DuckDB: where a query needs nothing of them but columns as they are.

Arrow reads them faster than DuckDB hands them over, and texts as codes. Only where both give the same: one local file
whose columns have the types that DuckDB says. All else DuckDB reads, and so it does what Arrow fails on.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from motif.engine.order import crossing
from motif.engine.threads import cores
from motif.hosts.frames import reader_of
from motif.ir.expr import Column
from motif.ir.types import Kind, Type
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource
    from motif.hosts.parquet import ParquetColumns

UNKNOWN = object()
"""Stands for a footer that no one has asked for."""
_PLAIN = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
_INTEGERS = {kind.bit_width: kind for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}
_FLOATS = {32: pa.float32(), 64: pa.float64()}


class Unreadable(Exception):
    """Arrow fails on a file; DuckDB may not, or says why."""


def footer_of(path: str | None) -> Any:
    """What a file says of itself if it is one that Arrow may read; None of any other."""
    if path is None or reader_of(path) != "read_parquet" or not _is_one_file(path):
        return None
    from motif.hosts import parquet  # takes a while to import, and most tables are no files

    return parquet.footer_of(path)


def _is_one_file(path: str) -> bool:
    """DuckDB takes patterns, and folders that are columns (`day=1`)."""
    return not any(letter in path for letter in "*?[=") and stat.S_ISREG(Path(path).stat().st_mode)


def has_codes(footer: Any, column: str) -> bool:
    """Whether texts of a column are codes in a file."""
    from motif.hosts.parquet import is_coded

    return is_coded(footer, column)


def own_columns(program: Program, source: DuckSource) -> ParquetColumns | None:
    """What Arrow reads of the file that the input is; None where DuckDB has to."""
    exprs = crossing(program)
    names = [expr.name for expr in exprs if isinstance(expr, Column)]
    path, footer = source.file, source.footer
    if len(names) < len(exprs) or path is None or footer is None:
        return None
    types = [_arrow_type(kind, source) for kind in source.types_of(exprs)]
    wanted = [(name, kind) for name, kind in zip(names, types, strict=True) if kind is not None]
    if len(wanted) < len(names):
        return None
    from motif.hosts.parquet import columns_of

    return columns_of({path: footer}, wanted, program.compared)


def _arrow_type(kind: Type, source: DuckSource) -> pa.DataType | None:
    """What DuckDB hands a type over as; None of those that it may hand over in several ways."""
    match kind.kind:
        case Kind.INTEGER if kind.signed:
            return _INTEGERS.get(kind.bits)
        case Kind.FLOAT:
            return _FLOATS.get(kind.bits)
        case Kind.DECIMAL:
            return pa.decimal128(kind.precision, kind.scale)
        case Kind.TIMESTAMP_TZ:
            return pa.timestamp("us", source.database.zone)
        case _:
            return _PLAIN.get(kind.kind) if kind.ordered and not kind.scale else None


def pieces(columns: ParquetColumns) -> Iterator[pa.RecordBatch]:
    """All rows, in the pieces in which they lie in the file."""
    try:
        for rows in columns.tables(cores()):
            for batch in rows.to_batches():
                _check_texts(batch)
                yield batch
    except (OSError, KeyError, pa.ArrowException) as error:
        raise Unreadable(str(error)) from None


def _check_texts(batch: pa.RecordBatch) -> None:
    """DuckDB refuses what is no text, Arrow only where it is asked to look."""
    for column in batch.columns:
        values = column.dictionary if pa.types.is_dictionary(column.type) else column
        if pa.types.is_string(values.type):
            values.validate(full=True)
