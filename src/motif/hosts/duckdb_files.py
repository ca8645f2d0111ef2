"""Parquet files and tables that Arrow reads instead of DuckDB: where a query needs nothing but columns as they are.

Arrow reads them faster than DuckDB hands them over, and texts as codes; a table in memory is there already. Only where
both give the same: one local file, or a table, whose columns have the types that DuckDB says. All else DuckDB reads,
and so it does what Arrow fails on.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from motif.engine.order import crossing
from motif.engine.threads import cores
from motif.hosts.columns import TableColumns, table_columns
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


def footer_of(path: str | pa.Table | None) -> Any:
    """What a file says of itself if it is one that Arrow may read; None of any other, and of tables."""
    if not isinstance(path, str) or reader_of(path) != "read_parquet" or not _is_one_file(path):
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


def own_columns(program: Program, source: DuckSource) -> ParquetColumns | TableColumns | None:
    """What Arrow reads of the file or table that the input is; None where DuckDB has to."""
    given, wanted = source.given, _wanted(program, source)
    if wanted is None:
        return None
    if isinstance(given, pa.Table):
        return table_columns(given, wanted)
    if given is None or source.footer is None:
        return None
    from motif.hosts.parquet import columns_of

    return columns_of({given: source.footer}, wanted, program.compared)


def _wanted(program: Program, source: DuckSource) -> list[tuple[str, pa.DataType]] | None:
    """Names and types of what crosses; None unless it is columns, of types that DuckDB hands over in one way only."""
    exprs = crossing(program)
    names = [expr.name for expr in exprs if isinstance(expr, Column)]
    if len(names) < len(exprs) or source.given is None:
        return None
    types = [_arrow_type(kind, source) for kind in source.types_of(exprs)]
    return None if None in types else list(zip(names, types, strict=True))


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


def pieces(columns: ParquetColumns | TableColumns) -> Iterator[pa.RecordBatch]:
    """All rows, in the pieces in which they lie there."""
    try:
        for rows in columns.tables(cores()):
            if not isinstance(columns, TableColumns):
                _check_texts(rows)
            yield from rows.to_batches()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise Unreadable(str(error)) from None


def _check_texts(rows: pa.Table) -> None:
    """DuckDB refuses a file with what is no text, Arrow only where it is asked to look."""
    for part in (part for column in rows.columns for part in column.chunks):
        values = part.dictionary if pa.types.is_dictionary(part.type) else part
        if pa.types.is_string(values.type):
            values.validate(full=True)
