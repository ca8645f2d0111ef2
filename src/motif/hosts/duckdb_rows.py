"""What crosses to the matching, held in memory: read by Arrow where that gives the same, else handed over by DuckDB."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from motif import limits
from motif.engine.budget import Budget, size_of
from motif.engine.memory import half_of
from motif.hosts.duckdb_database import Progress, counted
from motif.hosts.duckdb_files import Unreadable
from motif.plan.events.program import EventProgram
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource

MEMORY_BYTES = 1 << 30
"""Rows of a clause up to this size are sorted in memory."""


class TooMuch(Exception):
    """There are too many rows to sort them here."""


def rows_in_memory(
    program: Program | EventProgram,
    source: DuckSource,
    sql: Callable[[], str],
    progress: Progress | None,
    budget: Budget | None = None,
) -> pa.Table:
    """All rows in any order. `sql`: what DuckDB is asked for; `budget`: where they are counted, else they are few.

    Raises `TooMuch` where there is no budget for more than `MEMORY_BYTES`.
    """
    own = source.own_rows(program)
    try:
        if own is not None:
            return _held(own.pieces(), own.schema, progress, budget, is_new=not own.are_of_memory)
    except Unreadable as error:
        logging.getLogger("motif").info("DuckDB reads what Arrow cannot: %s", error)
    reader = source.database.reader(sql())
    return _held(source.database.batches(reader), reader.schema, progress, budget)


def _held(
    found: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    progress: Progress | None,
    budget: Budget | None,
    *,
    is_new: bool = True,
) -> pa.Table:
    """`schema`: of nothing; `is_new`: takes memory that the caller has not given to it already."""
    held: list[pa.RecordBatch] = []
    size, most = 0, min(MEMORY_BYTES, half_of(limits.LIMITS) // 2)
    try:
        for batch in counted(found, progress):
            held.append(batch)
            if budget is None:
                size += batch.nbytes
            elif is_new:
                budget.hold(size_of(batch))
            if size > most:
                raise TooMuch
    except (TooMuch, Unreadable):
        if progress is not None:
            progress(-sum(batch.num_rows for batch in held))  # they will come again
        raise
    return pa.Table.from_batches(held, None if held else schema)
