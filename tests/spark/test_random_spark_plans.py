"""Random queries on Spark: the plan that explain shows is the one they are matched by, and every strategy agrees."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from event_frames import in_some_order, together

import motif
from motif.errors import LimitExceeded, QueryBindError, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb
from motif.hosts.spark import batch, events, stream
from motif.ir.render_event import render_events
from motif.lang.statement import parse_clause
from motif.options import LiveOptions, parsed_queries
from motif.plan.events.program import Stream
from motif.plan.physical.plan import PhysicalPlan, Strategy
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.random]

QUERIES = 20
FORCED = 14
LIVE = LiveOptions("1 second")
NOT_ASKED = (UnsupportedQuery, QueryBindError)
SLICES = '{"one_task_bytes": 0, "slice_windows": 1, "shortest_slice": 1}'


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def drawn(language: str, seed: int) -> tuple[str, pa.Table]:
    """A query and what it is asked of; no condition over several rows is one for Spark."""
    rng = random.Random(seed)
    if language == "rows":
        text, rows = random_example(rng, 5)
        return text, to_arrow(rows)
    query = random_event_query(rng)
    return render_events(query), to_arrow(random_stream(rng, query), COLUMNS)


def streaming(session: SparkSession, table: pa.Table) -> DataFrame:
    """A stream of rows with these columns, which nobody starts."""
    kinds = {field.name: field.dataType.simpleString() for field in session.createDataFrame(table).schema.fields}
    nulls = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in kinds.items()]
    return session.readStream.format("rate").load().selectExpr(*nulls)


def used(data: DataFrame, text: str, *, of_rows: bool) -> PhysicalPlan:
    """The plan by which a query is matched."""
    plans: list[PhysicalPlan] = []
    given: dict[str, Any] = {"follow": lambda _program, plan, *_: plans.append(plan)}
    if data.isStreaming:
        given = {"live": LIVE, "watch": plans}
    if of_rows:
        host: Any = stream if data.isStreaming else batch
        host.match_frame(data, parse_clause(text, "spark"), **given)
    else:
        host = stream if data.isStreaming else events
        host.match_stack(data, parsed_queries(text, "spark"), Stream(), {}, **given)
    return plans[-1]


@pytest.mark.parametrize("costs", ["{}", '{"one_task_bytes": 0}', "stream"])
@pytest.mark.parametrize("language", ["rows", "events"])
def test_what_is_shown_is_what_runs(language: str, costs: str, spark: SparkSession) -> None:
    if costs != "stream":
        spark.conf.set("spark.motif.costs", costs)
    seen = Counter[Strategy]()
    for seed in count(100):
        text, table = drawn(language, seed)
        data = streaming(spark, table) if costs == "stream" else spark.createDataFrame(table)
        try:
            shown = motif.explain(text, data=data).plan
        except NOT_ASKED:
            continue
        assert shown is not None
        if shown.ask is None:
            assert used(data, text, of_rows=language == "rows") == shown, f"seed {seed}\n{text}"
            seen[shown.match.strategy] += 1
        if seen.total() == QUERIES:
            break
    assert len(seen) > 1 or costs == "{}", seen


@pytest.mark.parametrize("language", ["rows", "events"])
def test_every_strategy_gives_the_same_answer(language: str, spark: SparkSession) -> None:
    spark.conf.set("spark.motif.costs", SLICES)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    frames: dict[tuple[int, Strategy | None], DataFrame] = {}
    refused = Counter[Strategy]()
    for seed in count(300):
        text, table = drawn(language, seed)
        data = spark.createDataFrame(table)
        try:
            if language == "rows":
                duckdb.match_table(table, parse_clause(text))
            frames[seed, None] = motif.match(data, text)
        except (*NOT_ASKED, QueryDataError, LimitExceeded):
            continue
        for strategy in Strategy:
            try:
                frames[seed, strategy] = motif.match(data, text, strategy=strategy)
            except UnsupportedQuery as error:
                refused[strategy] += 1
                said = str(error)
                assert said.startswith(f'strategy="{strategy}" cannot answer this query exactly: '), text
        if len({seed for seed, _ in frames}) == FORCED:
            break
    taken = Counter(strategy for _, strategy in frames if strategy is not None)
    known = {"rows": {Strategy.SEQUENTIAL, Strategy.PARTITIONS}, "events": set(Strategy) - set(NOWHERE)}[language]
    assert set(taken) == known, taken
    found = together(frames)
    for (seed, strategy), rows in found.items():
        assert in_some_order(rows) == in_some_order(found[seed, None]), f"seed {seed}, {strategy}"
    assert sum(map(len, found.values())) > 50


NOWHERE = (Strategy.PIECES, Strategy.SHARED, Strategy.BUCKETS)
"""Strategies that a table on Spark is not matched by."""


def test_a_stream_that_is_to_be_matched_in_sequence_has_one_bucket(spark: SparkSession) -> None:
    text, table = "SELECT a.x FROM SEQ(A a; B b) WHERE [k] WITHIN 9 s", drawn("events", 1)[1]
    data = streaming(spark, table)
    for strategy, buckets in ((None, 16), (Strategy.SEQUENTIAL, 1)):
        watch: list[PhysicalPlan] = []
        queries = parsed_queries(text, "spark")
        assert isinstance(queries, list)
        found = stream.match_stack(data, queries, Stream(), {}, LIVE, strategy, watch)
        assert watch[-1].move is not None
        assert watch[-1].move.buckets == buckets
        observed = found._jdf.queryExecution().logical().toString()
        assert "AS b0#" in observed
        assert ("AS b1#" in observed) == (buckets > 1)


def test_what_a_stream_cannot_answer_is_not_explained_either(spark: SparkSession) -> None:
    table = to_arrow([])
    text = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(v) AS last PATTERN (A B) DEFINE B AS v > PREV(v))"
    data = streaming(spark, table)
    for ask in (
        lambda *given: motif.match(*given, lateness="1 second"),
        lambda data, text: motif.explain(text, data=data),
    ):
        with pytest.raises(QueryBindError, match="the rows of a stream come by time"):
            ask(data, text)  # type: ignore[operator]
    data.createOrReplaceTempView("endless_rows")
    statement = f"SELECT * FROM endless_rows {text}"
    assert [said.message for said in motif.check(text, data=data)] == [
        said.message for said in motif.check(statement, spark=spark)
    ]
    assert len(motif.check(text, data=data)) == 1
