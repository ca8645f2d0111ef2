"""Columns computed without the host are what the host gives."""

from __future__ import annotations

import random

import pytest

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
from motif.testing.cases import same_rows
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.fuzz import memory_source
from motif.testing.generate import random_clause, random_rows
from motif.testing.tables import to_arrow

QUERIES = 150


def test_of_event_queries() -> None:
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
        if local is not None:
            computed += any(not isinstance(expr, Column) for expr in exprs)
            table = source.database.table("SELECT * FROM data")
            assert local.table(table).schema == given.schema
            assert same_rows(local.table(table).to_pylist(), given.to_pylist()), seed
    assert computed > QUERIES // 3


def test_of_clauses() -> None:
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
        if local is not None:
            computed += any(not isinstance(expr, Column) for expr in exprs)
            found = local.table(source.database.table("SELECT * FROM data"))
            assert found.schema == given.schema
            assert same_rows(found.to_pylist(), given.to_pylist()), seed
    assert computed > QUERIES // 20


@pytest.mark.parametrize("expression", ["upper(c) = 'X'", "v::VARCHAR = '1'", "random() < 2"])
def test_what_only_the_host_can(expression: str) -> None:
    source = memory_source(to_arrow(random_rows(random.Random(1), 1)))
    clause = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS {expression})"
    program = plan(parse_clause(clause), source)
    exprs = crossing(program)
    given = source.database.table(source.select(duckdb.columns_sql(exprs)))
    assert LocalColumns.of(exprs, None, source.schema, "duckdb", given.schema) is None
