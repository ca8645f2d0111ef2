"""Random queries in process: the plan that is shown before is the plan that runs, but for what it says is open."""

from __future__ import annotations

import os
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import motif
from motif.engine.analysis import Analysis
from motif.engine.execution import Execution
from motif.errors import QueryBindError, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb, duckdb_events
from motif.ir.event import EventQuery
from motif.ir.render_event import render_events
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause, parse_statement
from motif.plan.events.program import Stream
from motif.plan.physical.choose import CODE_LATER, COUNTED_LATER, ORDERED_LATER
from motif.plan.physical.costs import COSTS, PLAIN, Costs
from motif.plan.physical.plan import PhysicalPlan, Strategy, changes
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

pytestmark = pytest.mark.random

QUERIES = int(os.environ.get("MOTIF_PLANS", "100"))
"""Random queries per mode; MOTIF_PLANS=500 asks more of them."""
SHARING = replace(
    PLAIN, cores=3, shard_rows=4, rows_per_call=1, events_per_call=1, piece_rows=1, share_steps=1, sampled_leads=1
)
"""As if few rows were many: cores share them."""
BY_DISK = replace(COSTS, sort_bytes=0)
"""As if no row fitted into memory."""
EVERY_COST = (COSTS, SHARING, BY_DISK)
OPEN = {
    COUNTED_LATER: ("match.strategy", "match.parts", "match.loops", "gather.threads"),
    CODE_LATER: ("match.strategy", "match.parts", "match.loops", "gather.threads"),
    ORDERED_LATER: ("match.orders",),
}
"""What may be decided again, by what a plan says of it."""


SPILLED = {"read.reader", "read.sql", "arrange.place", "arrange.most_bytes"}
"""What is decided again where rows do not fit into the memory that the plan names."""


class Watch(Analysis):
    """Keeps the runs, and counts nothing: they go as they go where nobody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Execution] = []

    def follow(self, execution: Execution, functions: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.runs.append(execution)


class Asked(NamedTuple):
    """A random query over some rows, in one of the ways to ask it."""

    text: str
    planned: Callable[[Costs, Strategy | None], PhysicalPlan]
    run: Callable[[Costs, Strategy | None, Watch], pa.Table]
    explained: Callable[[], PhysicalPlan | None]


def of_rows(seed: int, folder: Path) -> Asked:
    rng = random.Random(seed)
    given = rng.choice(("table", "file", "statement", "statement over a table"))
    text, rows = random_example(rng, rng.choice((1, 5, 30)), with_queries=given.startswith("statement"))
    table = to_arrow(rows)
    if given.startswith("statement"):
        read = "data" if given.endswith("table") else "(SELECT * FROM data WHERE t IS NOT NULL)"
        return of_statement(f"SELECT * FROM {read} {text}", table)
    data: Any = table
    if given == "file":
        data = str(folder / f"{seed}.parquet")
        pq.write_table(table, data)
    query = parse_clause(text)
    return Asked(
        text,
        lambda costs, wanted: duckdb.clause_plan(data, query, costs=costs, wanted=wanted).plan,
        lambda costs, wanted, watch: duckdb.match_table(data, query, costs=costs, wanted=wanted, analysis=watch),
        lambda: motif.explain(text, data=data).plan,
    )


def of_statement(text: str, table: pa.Table) -> Asked:
    statement, tables = parse_statement(text, "duckdb"), {"data": table}
    return Asked(
        text,
        lambda costs, wanted: duckdb.statement_plans(statement, tables, costs=costs, wanted=wanted)[-1].plan,
        lambda costs, wanted, watch: duckdb.run_statement(
            statement, tables, costs=costs, wanted=wanted, analysis=watch
        ),
        lambda: motif.explain(text, tables=tables).plan,
    )


def of_events(seed: int, folder: Path) -> Asked:
    rng = random.Random(seed)
    query = random_event_query(rng)
    text = render_events(query)
    events = random_stream(rng, query)
    table = to_arrow(events, COLUMNS)
    data: Any = table
    if seed % 2:
        data = str(folder / f"{seed}.parquet")
        pq.write_table(table, data)
    queries: list[EventQuery] = [parse_events(text)]
    return Asked(
        text,
        lambda costs, wanted: (
            duckdb_events.stack_plans(data, queries, Stream(), {}, costs=costs, wanted=wanted)[-1].plan
        ),
        lambda costs, wanted, watch: duckdb_events.match_stack(
            data, queries, Stream(), {}, costs=costs, wanted=wanted, analysis=watch
        ),
        lambda: motif.explain(text, data=data).plan,
    )


LANGUAGES = {"rows": of_rows, "events": of_events}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def unannounced(planned: PhysicalPlan, ran: PhysicalPlan) -> list[str]:
    """What was decided again although the plan did not say so."""
    announced = {what for said, some in OPEN.items() if said in planned.open for what in some}
    if planned.arrange.most_bytes is not None:
        announced |= SPILLED
    return [str(change) for change in changes(planned, ran) if change.what not in announced]


def ran(asked: Asked, costs: Costs, wanted: Strategy | None = None) -> tuple[Execution, str]:
    """The run of a query, and its answer or the name of its error, as text: a NaN is none of itself."""
    watch = Watch()
    try:
        answer = asked.run(costs, wanted, watch)
    except QueryDataError as error:
        return watch.runs[-1], type(error).__name__
    return watch.runs[-1], f"{answer.schema}\n{answer.to_pydict()}"


def refusal(ask: Callable[..., object], *given: object) -> str | None:
    """What is said of a strategy that is refused."""
    try:
        ask(*given)
    except UnsupportedQuery as error:
        return str(error)
    return None


EXACT = {
    "rows": {Strategy.SEQUENTIAL, Strategy.PARTITIONS, Strategy.PIECES},
    "events": {Strategy.SEQUENTIAL, Strategy.PARTITIONS, Strategy.SHARED},
}
"""Strategies that there are in process."""
NOT_ASKED = (UnsupportedQuery, QueryBindError)
"""As of a variable without a class that is called like one."""
CHANGED = {
    "rows": {"match.strategy", "match.parts", "match.loops", "arrange.place"},
    "events": {"match.strategy", "match.parts", "match.loops", "match.orders"},
}
"""What must have been decided again by some of the queries, or nothing was tested."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_shown_is_what_runs(language: str, tmp_path: Path) -> None:
    asked_for, again = 0, Counter[str]()
    for seed in range(QUERIES):
        asked = LANGUAGES[language](seed, tmp_path)
        costs = EVERY_COST[seed % len(EVERY_COST)]
        try:
            shown = asked.planned(costs, None)
            execution, answer = ran(asked, costs)
        except NOT_ASKED:
            continue
        where = f"seed {seed}\n{asked.text}"
        if costs is COSTS:
            assert asked.explained() == shown, where
        assert execution.planned == shown, f"{where}\n{changes(shown, execution.planned)}"
        assert unannounced(shown, execution.ran) == [], where
        twice, same = ran(asked, costs)
        assert twice.planned == execution.planned, where
        assert changes(execution.ran, twice.ran) == (), where
        assert answer == same, where
        asked_for += 1
        again.update(change.what for change in execution.changes)
    assert asked_for > QUERIES // 2
    assert CHANGED[language] <= again.keys(), again


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_strategy_gives_the_same_answer(language: str, tmp_path: Path) -> None:
    taken, refused = Counter[str](), Counter[str]()
    for seed in range(QUERIES, QUERIES + max(QUERIES // 2, 50)):
        asked = LANGUAGES[language](seed, tmp_path)
        try:
            _, expected = ran(asked, COSTS)
        except NOT_ASKED:
            continue
        for strategy in Strategy:
            where = f"seed {seed}, {strategy}\n{asked.text}"
            said = refusal(asked.planned, SHARING, strategy)
            if said is not None:
                assert refusal(ran, asked, SHARING, strategy) == said, where
                assert f'strategy="{strategy}" cannot answer this query exactly: ' in said, where
                refused[strategy] += 1
                continue
            execution, answer = ran(asked, SHARING, strategy)
            assert execution.ran.match.strategy is strategy, where
            assert asked.planned(SHARING, strategy) == execution.planned, where
            assert unannounced(execution.planned, execution.ran) == [], where
            assert answer == expected, where
            taken[strategy] += 1
    assert set(taken) == EXACT[language], taken
    assert min(taken.values()) >= 3, taken
    assert set(Strategy) - {Strategy.SEQUENTIAL} <= set(refused), refused
