"""Columns computed without the host are what the host gives."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

import motif
from motif.engine import local as local_columns
from motif.engine.local import LocalColumns
from motif.engine.order import crossing
from motif.errors import MotifError
from motif.hosts import duckdb, duckdb_events
from motif.ir.expr import Column
from motif.lang.statement import parse_clause
from motif.plan.events.planner import plan_events
from motif.plan.events.program import Stream
from motif.plan.planner import plan
from motif.plan.source import HostRefusal
from motif.testing.cases import same_in_order
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.fuzz import memory_source
from motif.testing.generate import random_clause, random_rows
from motif.testing.tables import to_arrow

QUERIES = 150
WAYS = {"row by row": 10**6, "column by column": 0}
"""How many rows are few."""


def coded(table: pa.Table) -> pa.Table:
    """Texts as codes, as they are read from some files."""
    columns = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in table.columns]
    return pa.table(columns, table.column_names)


@pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
def test_of_event_queries(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_columns, "FEW_ROWS", few)
    computed = 0
    for seed in range(QUERIES):
        rng = random.Random(seed)
        query = random_event_query(rng)
        events = [event for _ in range(5) for event in random_stream(rng, query)]
        source = memory_source(to_arrow(events, COLUMNS))
        program = plan_events(query, source, Stream())
        given = source.database.table(duckdb_events.input_sql(program, source))
        exprs = crossing(program)
        local = LocalColumns.of(exprs, program.admitted, source.schema, "duckdb", given.schema)
        table = source.database.table("SELECT * FROM data")
        if local is not None and local.takes(table.num_rows):
            computed += any(not isinstance(expr, Column) for expr in exprs)
            assert local.table(table).schema == given.schema
            assert same_in_order(local.table(table).to_pylist(), given.to_pylist()), seed
            assert same_in_order(local.table(coded(table)).to_pylist(), given.to_pylist()), seed
    assert computed > QUERIES // 3


@pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
def test_of_clauses(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_columns, "FEW_ROWS", few)
    computed = 0
    for seed in range(QUERIES):
        rng = random.Random(seed)
        source = memory_source(to_arrow(random_rows(rng, 5)))
        try:
            program = plan(parse_clause(random_clause(rng)), source)
            exprs = crossing(program)
            given = source.database.table(source.select(duckdb.columns_sql(exprs)))
        except (MotifError, HostRefusal):
            continue
        local = LocalColumns.of(exprs, None, source.schema, "duckdb", given.schema)
        table = source.database.table("SELECT * FROM data")
        if local is not None and local.takes(table.num_rows):
            computed += any(not isinstance(expr, Column) for expr in exprs)
            found = local.table(table)
            assert found.schema == given.schema
            assert same_in_order(local.table(coded(table)).to_pylist(), given.to_pylist()), seed
            assert same_in_order(found.to_pylist(), given.to_pylist()), seed
    assert computed > QUERIES // 20


@pytest.mark.parametrize("expression", ["upper(c) = 'X'", "v::VARCHAR = '1'", "random() < 2"])
def test_what_only_the_host_can(expression: str) -> None:
    source = memory_source(to_arrow(random_rows(random.Random(1), 1)))
    clause = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS {expression})"
    program = plan(parse_clause(clause), source)
    exprs = crossing(program)
    given = source.database.table(source.select(duckdb.columns_sql(exprs)))
    assert LocalColumns.of(exprs, None, source.schema, "duckdb", given.schema) is None


ROW = pa.table(
    {
        "ts": pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("us")),
        "day": pa.array([dt.date(2026, 1, 1)]),
        "float": pa.array([0.1], pa.float32()),
        "double": pa.array([0.1]),
        "decimal": pa.array([Decimal("0.12")], pa.decimal128(10, 2)),
        "tiny": pa.array([100], pa.int8()),
        "small": pa.array([30_000], pa.int16()),
        "wide": pa.array([2**62]),
        "text": pa.array(["a"]),
        "zero": pa.array([0]),
        "nought": pa.array([0.0]),
    }
)
CONDITIONS = [
    *(f"a.{name} {operator} 0.1" for name in ("float", "double", "decimal") for operator in ("=", ">", "<=")),
    *("a.tiny + a.tiny > 5", "a.tiny * 2 > 5", "-a.tiny < 0", "abs(a.tiny) > 0", "a.tiny + a.small > 5"),
    *("a.small * 2 > 5", "a.tiny + a.wide > 5", "a.wide + a.wide > 5", "a.wide * 4 > 0", "a.tiny / 3 > 33"),
    *("a.tiny % 7 = 2", "a.float * 2 > 0.2", "a.double * 3 = 0.3", "a.double = 0.10000000000000000001"),
    *("a.decimal * 2 = 0.24", "a.decimal + a.double = 0.22", "a.wide > 4611686018427387903.5", "a.text > 'A'"),
    *("a.double / a.nought > 3", "a.wide / a.zero > 3", "a.double % a.nought IS NOT NULL", "a.wide % a.zero IS NULL"),
    *("'A' < a.text", "a.text BETWEEN 'a' AND 'b'", "a.text IN ('x', 'a')", "a.day = '2026-01-01'", "a.day < a.ts"),
    *("a.ts >= '2026-01-01'", "a.ts + INTERVAL '1' HOUR > '2026-01-01'", "a.ts IS NOT NULL AND NOT a.text = 'b'"),
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
def test_every_type_is_compared_as_the_host_does(few: int, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table, a stream of its rows, and DuckDB alone give one answer, or one error."""
    monkeypatch.setattr(local_columns, "FEW_ROWS", few)
    query = f"SELECT a.ts FROM SEQ(a) WHERE {condition} WITHIN 1 s"

    def pushed() -> int:
        stream = motif.Stream(query, ROW.schema, type=None)
        return int(stream.push(ROW).num_rows + stream.close().num_rows)

    def matched() -> int:
        return int(motif.match(ROW, query, type=None).num_rows)

    answers = [_answer(pushed), _answer(matched)]
    monkeypatch.setattr(duckdb.DuckSource, "own_rows", lambda *_: None)
    assert [*answers, _answer(matched)] == [answers[0]] * 3


def _answer(ask: Callable[[], int]) -> int | str:
    try:
        return ask()
    except MotifError as error:
        return str(error)
