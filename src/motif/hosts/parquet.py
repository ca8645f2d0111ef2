"""Columns of Parquet files, read by Arrow: without a host between, as columns, and texts as codes.

A host decides where that gives what the host itself would give. No row is read to find out, only the footers of files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from motif.engine.threads import on_threads
from motif.hosts.columns import has_columns

CODED_BYTES = 4.0
"""A text that takes less in a file is a code there: few are different, and to read codes costs next to nothing."""
UNITS = ("ms", "us")
"""Of timestamps that hosts read as microseconds; those of old are nanoseconds."""
SLAB_ROWS = 1 << 22
"""Rows that are read at once."""


@dataclass(frozen=True, slots=True)
class ParquetColumns:
    """Columns of files that are one table."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    schema: pa.Schema
    """What they are to be: c0, c1, ..., in the types of the host, but for texts that are codes."""
    coded: tuple[str, ...]
    """Names of these."""

    def tables(self, threads: int = 1, then: Callable[[pa.Table], pa.Table] = lambda rows: rows) -> Iterator[pa.Table]:
        """All rows, some millions at a time; raises `OSError` or `pa.ArrowException`, or `KeyError` for a column.

        `then`: what the thread that read some rows makes of them.
        """
        for path in self.paths:
            footer = pq.read_metadata(path)
            for slab in _slabs(footer):
                parts = min(threads, len(slab))
                cuts = [len(slab) * part // parts for part in range(parts + 1)]
                pieces = [slab[low:high] for low, high in pairwise(cuts)]
                by_column = parts < threads  # Arrow's own threads: one column may take as long as all others
                yield from on_threads(
                    lambda part: then(self._read(path, footer, pieces[part], by_column)),  # noqa: B023
                    parts,
                )

    def _read(self, path: str, footer: pq.FileMetaData, row_groups: range, by_column: bool) -> pa.Table:
        with pq.ParquetFile(path, metadata=footer, read_dictionary=self.coded) as file:
            rows = file.read_row_groups(row_groups, columns=self.names, use_threads=by_column)
        return rows.select(self.names).rename_columns(self.schema.names).cast(self.schema)


def _slabs(footer: pq.FileMetaData) -> Iterator[range]:
    """Numbers of row groups that are read at once."""
    first, rows = 0, 0
    for number in range(footer.num_row_groups):
        rows += footer.row_group(number).num_rows
        if rows >= SLAB_ROWS or number + 1 == footer.num_row_groups:
            yield range(first, number + 1)
            first, rows = number + 1, 0


def footer_of(path: str) -> pq.FileMetaData | None:
    """What a file says of itself; None where Arrow cannot read it: encrypted, not there, not Parquet."""
    try:
        return pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        logging.getLogger("motif").info("Arrow does not read %s: %s", path, error)
        return None


def columns_of(
    footers: Mapping[str, pq.FileMetaData], wanted: Sequence[tuple[str, pa.DataType]], compared: Collection[int]
) -> ParquetColumns | None:
    """Columns of files by name and type; None unless each file has them, and in a form that loses nothing.

    `compared`: numbers of those that are compared with each other or with constants, whose texts had better be codes.
    """
    names = tuple(name for name, _ in wanted)
    schemas = [footer.schema.to_arrow_schema() for footer in footers.values()]
    if not all(has_columns(schema, wanted, UNITS) for schema in schemas):
        return None
    texts = [number for number in compared if wanted[number][1] == pa.string()]
    coded = [number for number in texts if all(is_coded(footer, names[number]) for footer in footers.values())]
    fields = [
        pa.field(f"c{number}", pa.dictionary(pa.int32(), kind) if number in coded else kind)
        for number, (_, kind) in enumerate(wanted)
    ]
    return ParquetColumns(tuple(footers), names, pa.schema(fields), tuple(names[number] for number in coded))


def is_coded(footer: pq.FileMetaData, name: str) -> bool:
    """Whether few of the texts of a column are different, as far as the size of its first rows tells."""
    if not footer.num_row_groups:
        return False
    columns = map(footer.row_group(0).column, range(footer.num_columns))
    column = next((column for column in columns if column.path_in_schema == name), None)
    return column is not None and column.total_uncompressed_size < CODED_BYTES * column.num_values
