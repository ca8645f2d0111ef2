"""Parquet files and tables that Arrow reads instead of DuckDB: where all that a query needs of a row Motif can compute.

Arrow reads them faster than DuckDB hands them over, and texts as codes; a table in memory is there already. Only where
both give the same: one local file, or a table, whose columns have the types that DuckDB says. All else DuckDB reads,
and so it does what Arrow fails on.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from motif.engine.local import LocalColumns
from motif.engine.order import crossing
from motif.engine.threads import cores
from motif.hosts.columns import TableColumns, table_columns
from motif.hosts.given_files import reader_of
from motif.ir.expr import Column
from motif.ir.types import Kind, Type
from motif.plan.events.program import EventProgram
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource
    from motif.hosts.parquet import ParquetColumns

COMPUTED_ROWS = 1 << 17
"""Rows that are computed together, so that they stay in the cache."""
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns of an input that a query reads, with the types in which DuckDB hands them over."""

    columns: tuple[tuple[str, pa.DataType], ...]
    compared: tuple[int, ...]
    """Numbers of those whose texts had better be codes."""
    local: LocalColumns | None
    """Computes of them what crosses; None where they are what crosses."""

    @classmethod
    def of(cls, program: Program | EventProgram, source: DuckSource) -> Wanted | None:
        """None where DuckDB has to compute something, or hands over a type in more than one way."""
        exprs = crossing(program)
        chosen = program.admitted if isinstance(program, EventProgram) else None
        types = _arrow_types(source.types_of(exprs), source)
        if types is None:
            return None
        if isinstance(program, Program) and all(isinstance(expr, Column) for expr in exprs):
            names = [expr.name for expr in exprs if isinstance(expr, Column)]
            return cls(tuple(zip(names, types, strict=True)), program.compared, None)
        given = pa.schema([(f"c{number}", kind) for number, kind in enumerate(types)])
        local = LocalColumns.of(exprs, chosen, source.schema, source.dialect, given)
        if local is None or not local.is_columnwise:
            return None
        read = _arrow_types([source.schema[name] for name in local.names], source)
        if read is None:
            return None
        return cls(tuple(zip(local.names, read, strict=True)), tuple(range(len(read))), local)

    def in_table(self, table: pa.Table) -> OwnRows | None:
        """Rows of a table in memory; None where they are not what DuckDB would hand over."""
        columns = table_columns(table, self.columns)
        return None if columns is None else OwnRows(columns, self.local)

    def in_file(self, path: str, footer: Any) -> OwnRows | None:
        """Rows of a file; None where Arrow does not read what DuckDB would hand over."""
        if footer is None:
            return None
        from motif.hosts.parquet import columns_of

        columns = columns_of({path: footer}, self.columns, self.compared)
        return None if columns is None else OwnRows(columns, self.local)


@dataclass(frozen=True, slots=True)
class OwnRows:
    """Rows of a file or table that Arrow reads, and what Motif computes of them."""

    columns: ParquetColumns | TableColumns
    local: LocalColumns | None

    @property
    def are_of_memory(self) -> bool:
        return isinstance(self.columns, TableColumns)

    @property
    def schema(self) -> pa.Schema:
        """Of what crosses, up to texts that are codes."""
        return self.columns.schema if self.local is None else pa.schema(zip(*self.local.given, strict=True))

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """What crosses, in the pieces in which it lies there; raises `Unreadable`."""
        with _unreadable():
            for rows in self.columns.tables(cores(), self._crossing):
                yield from rows.to_batches()

    def _crossing(self, rows: pa.Table) -> pa.Table:
        if not self.are_of_memory:
            _check_texts(rows)
        if self.local is None:
            return rows
        parts = rows.to_batches(max_chunksize=COMPUTED_ROWS)
        found = [self.local.of_columns(part.columns, part.num_rows) for part in parts]
        return pa.concat_tables(found) if found else self.schema.empty_table()


@contextmanager
def _unreadable() -> Iterator[None]:
    try:
        yield
    except (OSError, KeyError, OverflowError, pa.ArrowException) as error:
        raise Unreadable(str(error)) from None


def _arrow_types(kinds: Sequence[Type], source: DuckSource) -> list[pa.DataType] | None:
    """What DuckDB hands types over as; None if it may do so in several ways for any of them."""
    types = [_arrow_type(kind, source) for kind in kinds]
    return None if None in types else types


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


def _check_texts(rows: pa.Table) -> None:
    """DuckDB refuses a file with what is no text, Arrow only where it is asked to look."""
    for part in (part for column in rows.columns for part in column.chunks):
        values = part.dictionary if pa.types.is_dictionary(part.type) else part
        if pa.types.is_string(values.type):
            values.validate(full=True)
