"""What runs inside Spark's Python workers: rows of whole partitions in, leaves of matches out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from motif.engine.answers import Enough
from motif.engine.execution import Execution
from motif.engine.ledger import SILENT, Silent
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Layout, arrange
from motif.engine.session import Session
from motif.engine.told import Told
from motif.errors import MotifError
from motif.hosts.spark.questions import questions_of
from motif.hosts.spark.tell import Tell, arriving, counting
from motif.plan.physical.costs import Costs
from motif.plan.physical.facts import Facts, Host
from motif.plan.physical.plan import PhysicalPlan
from motif.plan.physical.ran import Work
from motif.plan.program import Program
from motif.plan.source import Asked

OUTPUT_ROWS = 1 << 16
FACTS = Facts(host=Host.SPARK)
"""What a task knows before it is sent rows: that it has one core."""
Batches = Iterator[pa.RecordBatch]


def matcher(
    program: Program, layout: Layout, plan: PhysicalPlan, costs: Costs, tell: Tell | None = None
) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow`: sort what this task was sent, then match it; `tell` what was counted."""

    def match(batches: Batches) -> Batches:
        expect_large_arrays()
        execution = Execution(program, FACTS, costs)
        with counting(execution, tell):
            session, sent = Session(program, execution), arriving(batches, execution.ledger)
            for rows in _sorted(sent, layout, plan.arrange.most_bytes or costs.task_sort_bytes, execution.ledger):
                for leaves in session.feed(rows):
                    yield from _batches(leaves)
            for leaves in session.finish():
                yield from _batches(leaves)

    return match


def asker(
    program: Program, layout: Layout, plan: PhysicalPlan, costs: Costs, schema: pa.Schema
) -> Callable[[Batches], Batches]:
    """The same, of which only the questions are kept; where a search fails on what is known, the last one says so."""

    def ask(batches: Batches) -> Batches:
        session = Session(program, Execution(program, FACTS, costs))
        with suppress(MotifError, Enough):
            for rows in _sorted(batches, layout, plan.arrange.most_bytes or costs.task_sort_bytes):
                for _ in session.feed(rows):
                    pass
            for _ in session.finish():
                pass
        yield from questions_of([told_of(asked) for asked in program.asks], schema).to_batches()

    return ask


def told_program(program: Program, told: Sequence[Told]) -> Program:
    """The same for workers, which are told what Spark has said."""
    asks = zip(program.asks, told, strict=True)
    return replace(program, asks=tuple(replace(asked, answers=answers) for asked, answers in asks))


def told_of(asked: Asked) -> Told:
    """What a worker is told of a condition."""
    assert isinstance(asked.answers, Told), "Spark is out of reach"
    return asked.answers


def _batches(leaves: pa.Table) -> Batches:
    if leaves.num_rows:
        yield from leaves.combine_chunks().to_batches(max_chunksize=OUTPUT_ROWS)


def _sorted(batches: Batches, layout: Layout, memory_bytes: int, ledger: Silent = SILENT) -> Iterator[pa.Table]:
    """Sort in memory; what does not fit goes through DuckDB's sort, which spills to disk."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > memory_bytes:
            for table in ledger.each(Work.ARRANGE, _spilled(held, batches, layout, memory_bytes)):
                ledger.gave(Work.ARRANGE, table)
                yield table
            return
    if held:
        with ledger.step(Work.ARRANGE):
            table = arrange(pa.Table.from_batches(held).combine_chunks(), layout)
        ledger.gave(Work.ARRANGE, table)
        yield table


def _spilled(held: list[pa.RecordBatch], rest: Batches, layout: Layout, memory_bytes: int) -> Iterator[pa.Table]:
    import duckdb

    schema = held[0].schema

    def every() -> Batches:
        while held:
            yield held.pop(0)
        yield from rest

    with tempfile.TemporaryDirectory(prefix="motif-") as folder:
        database = duckdb.connect(str(Path(folder) / "rows.db"))
        try:
            database.execute(f"SET memory_limit = '{max(memory_bytes >> 20, 64)}MiB'")
            database.execute("SET threads = 1")
            database.register("arriving", pa.RecordBatchReader.from_batches(schema, every()))
            database.execute("CREATE TABLE held AS SELECT * FROM arriving")
            columns = ", ".join(f'"{name}"' for name in schema.names[: layout.width])
            result = database.sql(f"SELECT {columns} FROM held ORDER BY {_order(schema, layout)}")
            for batch in result.to_arrow_reader(1 << 17):
                yield pa.Table.from_batches([batch]).cast(pa.schema([schema.field(i) for i in range(layout.width)]))
        finally:
            database.close()


def _order(schema: pa.Schema, layout: Layout) -> str:
    keys = [f'"{schema.names[key]}" ASC NULLS LAST' for key in layout.keys]
    sorts = [
        f'"{schema.names[item.column]}" {"DESC" if item.descending else "ASC"} '
        f"NULLS {'FIRST' if item.nulls_first else 'LAST'}"
        for item in (*layout.order, *layout.ties)
    ]
    return ", ".join([*keys, *sorts]) or "1"
