"""Columns that Arrow has, and whether they are what a host would hand over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from motif.engine.threads import on_threads

PART_ROWS = 1 << 17
"""Fewer rows than this are not worth a thread."""
TEXTS = (pa.large_string(), pa.string_view())
"""Texts in other forms than that in which hosts hand them over."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of a table in memory."""

    table: pa.Table
    names: tuple[str, ...]
    schema: pa.Schema
    """What they are to be: c0, c1, ..., in the types of the host."""

    def tables(self, threads: int = 1, then: Callable[[pa.Table], pa.Table] = lambda rows: rows) -> Iterator[pa.Table]:
        """All rows; raises `pa.ArrowException`. `then`: what a thread is to make of some of them."""
        rows = self.table.select(self.names).rename_columns(self.schema.names).cast(self.schema)
        parts = max(min(threads, rows.num_rows // PART_ROWS), 1)
        cuts = [rows.num_rows * part // parts for part in range(parts + 1)]
        yield from on_threads(lambda part: then(rows.slice(cuts[part], cuts[part + 1] - cuts[part])), parts)


def table_columns(table: pa.Table, wanted: Sequence[tuple[str, pa.DataType]]) -> TableColumns | None:
    """Columns of a table by name and type; None unless it has them, and in a form that loses nothing."""
    if not has_columns(table.schema, wanted, units=("us",)):  # hosts tell milliseconds of memory apart
        return None
    fields = [pa.field(f"c{number}", kind) for number, (_, kind) in enumerate(wanted)]
    return TableColumns(table, tuple(name for name, _ in wanted), pa.schema(fields))


def has_columns(schema: pa.Schema, wanted: Sequence[tuple[str, pa.DataType]], units: Sequence[str]) -> bool:
    """Whether columns are there by name, once each, and of a type or one that becomes it without a loss.

    `units`: those of timestamps that a host hands over as microseconds.
    """
    names = {name for name, _ in wanted}
    return 0 < len(names) == len(wanted) and all(_has(schema, name, kind, units) for name, kind in wanted)


def _has(schema: pa.Schema, name: str, kind: pa.DataType, units: Sequence[str]) -> bool:
    """Whether there is such a column, and no other one for those who do not tell capitals apart."""
    alike = [other for other in schema.names if other.casefold() == name.casefold()]
    return alike == [name] and _is_same(schema.field(name).type, kind, units)


def _is_same(stored: pa.DataType, kind: pa.DataType, units: Sequence[str]) -> bool:
    """Whether values of a file become those of a type by a cast that loses nothing."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(kind):
        return stored.unit in units and (stored.tz is None) == (kind.tz is None)
    return bool(stored == kind) or (kind == pa.string() and stored in TEXTS)
