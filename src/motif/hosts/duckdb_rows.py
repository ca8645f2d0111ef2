"""What crosses to the matching, held in memory: read by Arrow where that gives the same, else handed over by DuckDB."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from motif.engine.budget import size_of
from motif.engine.execution import Execution
from motif.hosts.duckdb_database import Progress, counted
from motif.hosts.duckdb_files import Unreadable
from motif.plan.events.program import EventProgram
from motif.plan.physical.facts import Reader
from motif.plan.physical.ran import Work
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource


def rows_in_memory(
    program: Program | EventProgram, source: DuckSource, execution: Execution, progress: Progress | None
) -> list[pa.Table]:
    """One table with all rows in any order; none where they are too many to be sorted here.

    A list, so that the caller can hand the table over without holding on to it.
    """
    with execution.ledger.step(Work.READ):
        found = _read(program, source, execution, progress)
    for table in found:
        execution.ledger.gave(Work.READ, table)
    return found


def _read(
    program: Program | EventProgram, source: DuckSource, execution: Execution, progress: Progress | None
) -> list[pa.Table]:
    own = None if execution.plan.read.reader is Reader.HOST else source.own_rows(program)
    try:
        if own is not None:
            return _held(own.pieces(), own.schema, execution, progress, is_new=not own.are_of_memory)
    except Unreadable as error:
        logging.getLogger("motif").info("DuckDB reads what Arrow cannot: %s", error)
        execution.learn(reader=Reader.HOST)
    reader = source.database.reader(execution.plan.read.sql)
    return _held(source.database.batches(reader), reader.schema, execution, progress)


def _held(
    found: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    execution: Execution,
    progress: Progress | None,
    *,
    is_new: bool = True,
) -> list[pa.Table]:
    """`schema`: of nothing; `is_new`: takes memory that the caller has not given to it already."""
    held: list[pa.RecordBatch] = []
    size, most = 0, execution.plan.arrange.most_bytes
    try:
        for batch in counted(found, progress):
            held.append(batch)
            if most is None:
                execution.budget.hold(size_of(batch) if is_new else 0)
                continue
            size += batch.nbytes
            if size > most:
                execution.learn(bytes=size)
                _come_again(held, progress)
                return []
    except Unreadable:
        _come_again(held, progress)
        raise
    return [pa.Table.from_batches(held, None if held else schema)]


def _come_again(held: list[pa.RecordBatch], progress: Progress | None) -> None:
    """Rows that were counted, and will be read by others."""
    if progress is not None:
        progress(-sum(batch.num_rows for batch in held))
