"""What crosses to the matching, held in memory: read by Arrow where that gives the same, else handed over by DuckDB."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from motif.engine.arrays import flat
from motif.engine.order import Layout
from motif.engine.partitions import are_short, groups, own_numbers
from motif.hosts.duckdb_database import BATCH_ROWS, Progress, batches, counted
from motif.hosts.duckdb_files import Unreadable, own_columns, pieces
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource

MEMORY_BYTES = 1 << 30
"""Rows of a clause up to this size are sorted in memory."""
MANY_KEYS = 0.6
"""Partitions per row in the first batch from which on DuckDB sorts them all."""
MANY_BATCHES = 32
"""Keys that are whole numbers may spread over so many times the rows of the first batch: there is more to come."""


class TooMuch(Exception):
    """There are too many rows, or too many keys among them, to sort them here."""


def rows_in_memory(program: Program, source: DuckSource, sql: str, plan: Layout, progress: Progress | None) -> pa.Table:
    """All rows in any order; raises `TooMuch`. `sql`: what DuckDB is asked for."""
    if columns := own_columns(program, source):
        try:
            return _held(pieces(columns), columns.schema, plan, progress)
        except Unreadable as error:
            logging.getLogger("motif").info("DuckDB reads what Arrow cannot: %s", error)
    reader = source.database.reader(sql)
    return _held(batches(reader), reader.schema, plan, progress)


def _held(found: Iterator[pa.RecordBatch], schema: pa.Schema, plan: Layout, progress: Progress | None) -> pa.Table:
    held: list[pa.RecordBatch] = []
    size, count = 0, 0
    try:
        for batch in counted(found, progress):
            held.append(batch)
            size, before, count = size + batch.nbytes, count, count + batch.num_rows
            if size > MEMORY_BYTES or (before <= BATCH_ROWS < count and _has_many_keys(held[0], plan)):
                raise TooMuch
    except (TooMuch, Unreadable):
        if progress is not None:
            progress(-sum(batch.num_rows for batch in held))  # they will come again
        raise
    return pa.Table.from_batches(held, schema)


def _has_many_keys(first: pa.RecordBatch, plan: Layout) -> bool:
    """Whether most rows begin a partition: to number a million keys takes longer than to sort them."""
    keys, rows = plan.keys, pa.Table.from_batches([first.slice(0, BATCH_ROWS)])
    if not keys or not rows.num_rows:
        return False
    if len(keys) == 1:
        column = rows.column(keys[0])
        is_known = pa.types.is_dictionary(column.type) or are_short(column)  # codes are of few
        if is_known or own_numbers(flat(column), spread=MANY_BATCHES) is not None:
            return False
    return bool(groups(rows, keys).max() + 1 > MANY_KEYS * rows.num_rows)
