"""Random queries of which the host is asked between searches, as on Spark: rounds end where asking at once does."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pytest

from motif.engine.answers import Enough
from motif.engine.execution import Execution
from motif.engine.session import Session
from motif.engine.told import FAILED, FALSE, NULL, TRUE, Told
from motif.errors import MotifError, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb
from motif.ir.types import Kind
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import PLAIN
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.scalar import LabelAt, Read, Scalar
from motif.testing import random_expr
from motif.testing.fuzz import Rows, by_engine, memory_source
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

pytestmark = pytest.mark.random

QUERIES = 60
MOST_ROUNDS = 100


def test_rounds_find_what_a_host_within_reach_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_expr, "HOST_FUNCTIONS", 0.5)
    queries = matched = rounds = failed = seed = 0
    while queries < QUERIES:
        seed += 1
        rng = random.Random(seed)
        clause, rows = random_example(rng, 6)
        source = memory_source(to_arrow(rows))
        try:
            program = plan(parse_clause(clause), source)
        except UnsupportedQuery:
            continue
        if not program.asks:
            continue
        expected = by_engine(program, source, PLAIN)
        found, used = by_rounds(program, source, rng)
        assert repr(found) == repr(expected), (seed, clause)  # NaN is not NaN
        queries, rounds = queries + 1, rounds + used
        matched += bool(expected)
        failed += expected == "QueryDataError"
    assert matched > QUERIES / 3
    assert rounds > 2 * QUERIES


def by_rounds(program: Program, source: duckdb.DuckSource, rng: random.Random) -> tuple[Rows | str, int]:
    """What the last search finds, and how many there were."""
    rows = source.database.table(duckdb.input_sql(program, source))
    known = [nothing(tuple(kind_of(arg, rows) for arg in ask.args)) for ask in program.questions]
    size = rng.choice((3, 50, rows.num_rows + 1))
    for number in range(1, MOST_ROUNDS):
        told = [Told(table, rng.choice((0, 1, 4, 100))) for table in known]
        with suppress(MotifError, Enough):
            searched(program, told, rows, size)
        asked = [each.questions() for each in told]
        if not any(asked):
            try:
                leaves = searched(program, [Told(table, None) for table in known], rows, size)
            except QueryDataError as error:
                return type(error).__name__, number
            return list(duckdb.final_columns(program, source, leaves).to_pylist()), number
        for place, questions in enumerate(asked):
            if questions is not None:
                if FAILED in Told(known[place], 0).said([column.combine_chunks() for column in questions.columns]):
                    return "QueryDataError", number
                known[place] = pa.concat_tables([known[place], answered(program, place, questions)])
    raise AssertionError("it never ends")


def searched(program: Program, told: list[Told], rows: pa.Table, size: int) -> pa.Table:
    asks = tuple(replace(asked, answers=each) for asked, each in zip(program.asks, told, strict=True))
    asking = replace(program, asks=asks)
    session = Session(asking, Execution.of(asking, replace(PLAIN, run_rows=size)))
    parts = list(session.feed(rows.slice(0, 0)))
    for start in range(0, rows.num_rows, size):
        parts += session.feed(rows.slice(start, size))
    return pa.concat_tables([*parts, *session.finish()])


def answered(program: Program, place: int, questions: pa.Table) -> pa.Table:
    asked = program.asks[place]
    assert asked.answers is not None
    truth = {True: TRUE, False: FALSE, None: NULL}
    values = [column.combine_chunks() for column in questions.columns]
    found = [FAILED if isinstance(each, MotifError) else truth[each] for each in asked.answers(asked.expr, values)]
    return questions.append_column("truth", pa.array(found, pa.int8()))


def nothing(kinds: tuple[pa.DataType, ...]) -> pa.Table:
    names = [f"a{number}" for number in range(len(kinds))]
    return pa.schema([*zip(names, kinds, strict=True), ("truth", pa.int8())]).empty_table()


def kind_of(arg: Scalar, rows: pa.Table) -> pa.DataType:
    match arg:
        case Read(column=column):
            return rows.column(column).type
        case LabelAt():
            return pa.string()
        case _ if arg.type.kind is Kind.DECIMAL:
            return pa.decimal128(38, arg.type.scale)
        case _:
            return {Kind.FLOAT: pa.float64(), Kind.BOOLEAN: pa.bool_()}.get(arg.type.kind, pa.int64())
