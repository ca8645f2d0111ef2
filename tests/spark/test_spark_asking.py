"""Conditions over values of different rows that only Spark can decide: asked in rounds, or of what is found."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest
from event_frames import in_place, in_some_order, numbered, numbers, readable, together
from test_random_spark import check
from test_random_spark_events import STREAM, STREAMS, reference
from test_spark import jobs_of

import motif
from motif import limits
from motif.errors import LimitExceeded, QueryBindError, QueryDataError, UnsupportedQuery
from motif.hosts.spark import asking
from motif.ir.event import EventQuery
from motif.ir.expr import At, Call, Column, Expr, Literal
from motif.testing import random_expr
from motif.testing.event_bindings import TooLong
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS: list[dict[str, Any]] = [
    {"id": 0, "v": 9, "c": "ann", "l": [1], "d": 1},
    {"id": 1, "v": 8, "c": "anne", "l": [1], "d": 2},
    {"id": 2, "v": 7, "c": "bob", "l": [3], "d": 3},
    {"id": 3, "v": 7, "c": None, "l": [2], "d": 4},
    {"id": 4, "v": 3, "c": "x", "l": [], "d": 5},
    {"id": 5, "v": 4, "c": "y", "l": [1], "d": 6},
    {"id": 6, "v": 5, "c": "xy", "l": [0], "d": 7},
    {"id": 7, "v": 6, "c": "z", "l": None, "d": 8},
]
CASES: dict[str, Callable[[Any, Any], object]] = {
    "levenshtein({a}c, {b}c) < 2": lambda a, b: {a["c"], b["c"]} in ({"ann", "anne"}, {"x", "y"}, {"y", "xy"}),
    "{a}c || {b}c = 'xy'": lambda a, b: (a["c"] or "") + (b["c"] or "") == "xy",
    "{b}c LIKE {a}c || '%'": lambda a, b: a["c"] and b["c"] and b["c"].startswith(a["c"]),
    "NOT ({b}c LIKE {a}c || '%')": lambda a, b: a["c"] and b["c"] and not b["c"].startswith(a["c"]),
    "({a}c || {b}c) IS NULL": lambda a, b: a["c"] is None or b["c"] is None,
    "round(({a}v + {b}v) / 10) = 1": lambda a, b: 5 <= a["v"] + b["v"] < 15,
    "mod({a}v, {b}v) = 1": lambda a, b: a["v"] % b["v"] == 1,
    "{b}l > {a}l": lambda a, b: a["l"] is not None and b["l"] is not None and b["l"] > a["l"],
    "{a}d + {b}d > 7": lambda a, b: a["d"] + b["d"] > 7,
    "{b}v < {a}v AND levenshtein({a}c, {b}c) < 2": lambda a, b: a["id"] == 0,
}
OF_ROWS: dict[str, Callable[[Any, Any], object]] = {
    "sqrt(SUM({b}v)) > 2": lambda a, b: b["v"] > 4,
    "floor(AVG({b}v)) <> 8": lambda a, b: b["v"] != 8,
    "lower(CLASSIFIER(A) || {b}c) = 'abob'": lambda a, b: b["c"] == "bob",
    "round({b}v / MATCH_NUMBER()) > {a}v": lambda a, b: b["v"] > a["v"],
}


def rows_of(cases: int) -> pa.Table:
    """All rows for each case."""
    rows = [{"n": n, **row} for n in range(cases) for row in ROWS]
    schema = pa.schema(
        [
            ("n", pa.int64()),
            ("id", pa.int64()),
            ("v", pa.int64()),
            ("c", pa.string()),
            ("l", pa.list_(pa.int64())),
            ("d", pa.decimal128(38, 2)),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many combinations of values each condition was asked about in each round."""
    asked: list[int] = []
    compute = asking._computed

    def counted(session: Any, condition: Any, values: Any) -> Any:
        asked.append(len(values[0]))
        return compute(session, condition, values)

    monkeypatch.setattr(asking, "_computed", counted)
    return asked


def clause(define: str, pattern: str = "A B", keys: str = "") -> str:
    return (
        f"MATCH_RECOGNIZE ({keys} ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l "
        f"AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) DEFINE {define})"
    )


def found(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


# -- row patterns


@pytest.mark.parametrize("tasks", [1, 3])
def test_functions_over_rows_of_different_variables(tasks: int, spark: SparkSession, rounds: list[int]) -> None:
    """Each case has rows and a variable of its own, and all are asked about together."""
    spark.conf.set("spark.sql.shuffle.partitions", str(tasks))
    cases = CASES | OF_ROWS
    names = [f"B{n}" for n in range(len(cases))]
    defines = [
        f"{name} AS n = {n} AND ({text.format(a='A.', b=name + '.')})"
        for n, (name, text) in enumerate(zip(names, cases, strict=True))
    ]
    every = clause(", ".join(defines), f"A ({' | '.join(names)})", "PARTITION BY n")
    got = found(motif.match(spark.createDataFrame(rows_of(len(cases))), every))
    for n, (text, holds) in enumerate(cases.items()):
        pairs = [(n, a["id"], b["id"]) for a, b in pairwise(ROWS) if holds(a, b)]
        if "MATCH_NUMBER" in text:
            pairs = pairs[:1]  # the second match is asked about with another number
        assert [row for row in got if row[0] == n] == pairs, text
    assert sum(rounds[: len(cases)]) > 50


def test_what_repeats_is_asked_in_few_rounds(spark: SparkSession, rounds: list[int]) -> None:
    rows = pa.table({"id": list(range(300)), "c": ["a" * (i % 7) for i in range(300)]})
    text = (
        "MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS length(SUM(B.id) || A.c) < 9)"
    )
    assert motif.match(spark.createDataFrame(rows), text).toArrow().to_pylist() == [{"n": 300}]
    assert len(rounds) < 9
    assert sum(rounds) < 1_500


def test_values_are_asked_about_once(spark: SparkSession, rounds: list[int]) -> None:
    """However many rows and tasks have them."""
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    rows = pa.table(
        {"k": [i % 5 for i in range(500)], "id": list(range(500)), "c": ["ab"[i // 5 % 2] for i in range(500)]}
    )
    text = clause("B AS levenshtein(A.c, B.c) = 1", keys="PARTITION BY k")
    assert len(found(motif.match(spark.createDataFrame(rows), text))) == 495
    assert rounds == [2, 0]


def test_nothing_is_asked_where_all_else_fails(spark: SparkSession, rounds: list[int]) -> None:
    frame = spark.createDataFrame(rows_of(1))
    fails = "CAST(A.c || B.c AS INT) > 0"
    assert found(motif.match(frame, clause(f"B AS A.id > 100 AND {fails}"))) == []
    assert found(motif.match(frame.filter("id < 0"), clause(f"B AS {fails}"))) == []
    assert rounds == [0, 0]
    with pytest.raises(QueryDataError, match=r"'annanne'.*cannot be cast") as caught:
        motif.match(frame, clause(f"B AS {fails}"))
    assert caught.value.span is not None


def test_a_failure_counts_only_where_the_last_search_asks(spark: SparkSession, rounds: list[int]) -> None:
    """For '3' it is asked of '1' and 'z' as long as it may be true of '1' and '0'."""
    rows = pa.table({"id": list(range(4)), "c": ["1", "2", "0", "z"]})
    text = clause("A AS id = 0, B AS CAST(concat(A.c, B.c) AS INT) > 11", "A B+ C")
    assert found(motif.match(spark.createDataFrame(rows), text)) == [(0, 2)]
    assert sum(rounds) == 3, "also of 'z', in vain"
    reached = pa.table({"id": list(range(4)), "c": ["1", "2", "3", "z"]})
    with pytest.raises(QueryDataError, match="'1z'"):
        motif.match(spark.createDataFrame(reached), text)


def test_many_failures_are_found_at_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    ask = asking._asked
    monkeypatch.setattr(asking, "_asked", lambda *args: calls.append(args) or ask(*args))
    rows = pa.table({"id": list(range(200)), "c": [f"x{i}" for i in range(200)]})
    with pytest.raises(QueryDataError, match="cannot be cast"):
        motif.match(spark.createDataFrame(rows), clause("B AS CAST(A.c || B.c AS INT) > 0"))
    assert len(calls) == 2


def test_functions_of_the_user_that_fail_are_found_by_halves(spark: SparkSession) -> None:
    def digits(one: str, other: str) -> int:
        return int(one + other)

    spark.udf.register("digits", digits, "int")
    rows = pa.table({"id": list(range(4)), "c": ["1", "2", "0", "z"]})
    text = clause("A AS id = 0, B AS digits(A.c, B.c) > 11", "A B+ C")
    assert found(motif.match(spark.createDataFrame(rows), text)) == [(0, 2)]


def test_what_changes_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows_of(1))
    for condition in (
        "A.v + rand() < length(A.c || B.c)",
        "length(A.c || B.c || uuid()) > 1",
        "length(A.c || B.c) + unix_timestamp() > 1",
    ):
        with pytest.raises(UnsupportedQuery, match="on values of different rows"):
            motif.match(frame, clause(f"B AS {condition}"))


def test_limits(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.createDataFrame(rows_of(1))
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, host_questions=5))
    with pytest.raises(LimitExceeded, match="more than 5 combinations of values"):
        motif.match(frame, clause("B AS A.c || B.c = 'xy'"))
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, host_questions=10, host_rounds=1))
    with pytest.raises(LimitExceeded, match="in 1 rounds"):
        motif.match(frame, clause("B AS A.c || B.c = 'xy'"))


def test_a_table_that_changes_is_told(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "later"
    spark.udf.register("now_and_later", lambda: "b" if marker.exists() else "a", "string")
    frame = spark.range(4).selectExpr("id", "concat(now_and_later(), id) AS c")
    text = clause("B AS A.c || B.c = 'a1a2'")
    matches = motif.match(frame, text)
    assert found(matches) == [(1, 2)]
    marker.touch()
    with pytest.raises(Exception, match="Spark was asked about other rows than there are now"):
        matches.limit(9).collect()  # what has been exchanged once is not read again
    spark.udf.register("fresh", lambda: uuid4().hex, "string")
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, host_rounds=3))
    with pytest.raises(LimitExceeded, match="other rows each time"):
        motif.match(frame.selectExpr("id", "fresh() AS c"), text)


def test_only_a_match_runs_jobs(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows_of(1))
    frame.createOrReplaceTempView("asked")
    inner = "SELECT * FROM asked " + clause("B AS levenshtein(A.c, B.c) < 2")
    query = f"SELECT f FROM ({inner}) " + clause("B AS concat(A.f, B.l) > ''").replace("id", "f").replace(
        "AS l ", "AS m "
    )
    assert jobs_of(spark, lambda: motif.check(query, spark=spark)) == 0
    assert jobs_of(spark, lambda: motif.explain(query, spark=spark)) == 0
    shown = str(motif.explain(query, spark=spark))
    assert "Spark is asked about conditions" in shown
    assert "host_questions=1,000,000" in shown
    assert motif.check(query, spark=spark, rows=True) == []
    assert motif.sql(query, spark=spark).columns == ["f"]


def test_streams_refuse_and_say_where_it_works(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    text = "MATCH_RECOGNIZE (ORDER BY timestamp MEASURES A.value AS v PATTERN (A B) DEFINE B AS {})"
    with pytest.raises(UnsupportedQuery, match="LEVENSHTEIN") as caught:
        motif.match(stream, text.format("levenshtein(CAST(A.value AS STRING), CAST(B.value AS STRING)) < 2"))
    assert "of a table, not a stream, Spark is asked" in (caught.value.hint or "")
    query = "SELECT a.value FROM SEQ(a; b) WHERE levenshtein(CAST(a.value AS STRING), CAST(b.value AS STRING)) < 2"
    with pytest.raises(UnsupportedQuery, match="LEVENSHTEIN") as caught:
        motif.match(stream, query, time="timestamp", type=None, lateness="1 s")
    assert "of a table, not a stream, Spark is asked" in (caught.value.hint or "")


# -- event queries


def events_of(rows: pa.Table) -> pa.Table:
    count = rows.num_rows
    times = [dt.datetime(2026, 1, 1) + dt.timedelta(minutes=i) for i in range(count)]
    return rows.append_column("ts", pa.array(times)).append_column(
        "type", pa.array(["AB"[i % 2] for i in range(count)])
    )


def pairs_of(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(((row["x"], row["y"]) for row in rows), key=repr)


def test_functions_over_several_events(spark: SparkSession, rounds: list[int]) -> None:
    """Nothing depends on whether another match is one, so Spark tests what is found."""
    frame = spark.createDataFrame(events_of(rows_of(1)))
    query = "SELECT a.id AS x, b.id AS y FROM SEQ(A a; B b) WHERE {} WITHIN 1 h"
    cases = {text: query.format(text.format(a="a.", b="b.")) for text in CASES}
    frames: dict[str, DataFrame] = {}
    assert jobs_of(spark, lambda: frames.update({t: motif.match(frame, q) for t, q in cases.items()})) == 0
    assert all(motif.check(q, data=frame) == [] for q in cases.values())
    for text, rows in together(frames).items():
        pairs = [
            (a["id"], b["id"]) for a in ROWS[::2] for b in ROWS[a["id"] + 1 :: 2] if EVENTS.get(text, CASES[text])(a, b)
        ]
        assert pairs_of(rows) == pairs, text
    assert not rounds
    shown = str(motif.explain(cases["{a}c || {b}c = 'xy'"], data=frame))
    assert "1 condition over several rows, of what is found" in shown


EVENTS: dict[str, Callable[[Any, Any], object]] = {
    "levenshtein({a}c, {b}c) < 2": lambda a, b: (
        {a["c"], b["c"]} in ({"ann", "anne"}, {"x", "y"}, {"x", "z"}, {"xy", "x"})
    ),
    "{b}v < {a}v AND levenshtein({a}c, {b}c) < 2": lambda a, b: a["id"] == 0 and b["id"] == 1,
}
"""What holds of other pairs than of neighbours."""
DECIDING = (
    "FROM SEQ(A a; B b) WHERE levenshtein(a.c, b.c) < 3 PICK FIRST b WITHIN 1 h",
    "FROM SEQ(A a; B b) WHERE levenshtein(a.c, b.c) < 3 AND a.c || b.c <> 'xy' AND length(a.c || b.c) > 2 PICK LAST a",
    "FROM SEQ(A a; B b) WHERE levenshtein(a.c, b.c) < 4 AND b.l > a.l WITHIN 1 h CONSUMING ALL",
    "FROM SEQ(A a; B b) WHERE near(a.v, b.v) AND a.c || b.c <> 'xy' WITHIN 1 h",
    "FROM SEQ(A a; B b) WHERE a.c || b.c <> 'annanne' AND near(a.v, b.v) PICK LAST b",
    "FROM SEQ(A a; NOT B n; B b) WHERE a.c || b.c <> 'annz' AND n.v > 7 PICK FIRST b WITHIN 1 h",
    "FROM SEQ(A a; B n*; B b) WHERE a.c || b.c <> 'annz' AND COUNT(n) < 2 PICK FIRST b WITHIN 1 h",
)
FOUND = (
    "FROM SEQ(A a; B n*; B b) WHERE a.c || b.c <> 'annz' AND COUNT(n) < 2 WITHIN 1 h",
    "FROM SEQ(A a; NOT B n; B b) WHERE a.c || b.c <> 'annz' AND n.v > 7 WITHIN 1 h",
    "FROM SEQ(OR(A a, B z); B b) WHERE coalesce(length(a.c || b.c), 2) = 2 WITHIN 1 h",
    "FROM SEQ(A a; B b) WHERE a.c || b.c <> 'annz' AND levenshtein(a.c, b.c) < 4 AND length(a.c || b.c) > 1",
)


@pytest.mark.parametrize("queries", [DECIDING, FOUND])
def test_the_same_events_as_in_process(queries: tuple[str, ...], spark: SparkSession) -> None:
    events = events_of(rows_of(1))
    frames, expected = {}, {}
    for text in queries:
        query = "SELECT a.id AS x, b.id AS y " + text
        functions = {"near": lambda one, other: abs(one - other) < 3} if "near" in text else None
        frames[text] = motif.match(spark.createDataFrame(events), query, functions=functions)
        expected[text] = motif.match(events, query, functions=functions).to_pylist()
    for text, rows in together(frames).items():
        assert pairs_of(rows) == sorted(((row["x"], row["y"]) for row in expected[text]), key=repr) != [], text


def test_what_decides_about_others_is_asked_before(spark: SparkSession, rounds: list[int]) -> None:
    frame = spark.createDataFrame(events_of(rows_of(1)))
    query = f"SELECT a.id AS x, b.id AS y {DECIDING[1]}"
    assert jobs_of(spark, lambda: motif.check(query, data=frame)) == 0
    shown = " ".join(str(motif.explain(query, data=frame)).split())
    assert "3 conditions over several rows, before matches are searched, once for each condition" in shown
    assert not rounds
    motif.match(frame, query)
    assert rounds == [10, 0, 0, 0, 4, 0, 0, 0, 3]
    with pytest.raises(QueryDataError, match="cannot be cast"):
        motif.match(frame, "SELECT a.id FROM SEQ(A a; B b) WHERE CAST(a.c || b.c AS INT) > 1 PICK FIRST b WITHIN 1 h")


def test_matches_that_are_events(spark: SparkSession) -> None:
    events = events_of(rows_of(1))
    stack = [
        "DEFINE P SELECT a.id AS x, b.c FROM SEQ(A a; B b) WHERE levenshtein(a.c, b.c) < 4 PICK FIRST b WITHIN 1 h",
        "SELECT p.x AS x, b.id AS y FROM SEQ(P p; B b) WHERE length(p.c || b.c) < 6 WITHIN 1 h",
    ]
    expected = sorted((row["x"], row["y"]) for row in motif.match(events, stack).to_pylist())
    assert pairs_of(motif.match(spark.createDataFrame(events), stack).collect()) == expected != []


# -- at random


QUERIES, EVENT_QUERIES = 10, 24


@pytest.mark.random
def test_random_queries_agree_with_the_reference(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, rounds: list[int]
) -> None:
    monkeypatch.setattr(random_expr, "HOST_FUNCTIONS", 0.5)
    asked = 0
    for seed in count(4000):
        before = len(rounds)
        try:
            check(seed, spark)
        except QueryBindError as error:
            if "interval" not in str(error):  # Spark's difference of two dates is no number
                raise
        asked += len(rounds) > before
        if asked == QUERIES:
            break
    assert sum(rounds) > 1_000


@pytest.mark.random
def test_random_event_queries_agree_with_the_reference(spark: SparkSession, rounds: list[int]) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    frames, expected, shown = {}, {}, {}
    for seed in count(9000):
        rng = random.Random(seed)
        query = with_questions(random_event_query(rng), rng)
        if query is None:
            continue
        events = [{**event, STREAM: number} for number in range(STREAMS) for event in random_stream(rng, query)]
        try:
            expected[seed] = reference(query, events)
            shown[seed] = readable(query, events)
            frames[seed] = numbered(spark, query, events, {**COLUMNS, STREAM: "BIGINT"}, hidden_key=STREAM)
        except (TooLong, UnsupportedQuery):
            continue
        if len(frames) == EVENT_QUERIES:
            break
    matches = together(frames)
    assert sum(map(len, matches.values())) > 200
    assert sum(rounds) > 100, "some are asked about before"
    for seed, rows in matches.items():
        wanted = in_some_order(in_place(match, shown[seed]) for match in expected[seed])
        assert in_some_order(in_place(numbers(match), shown[seed]) for match in rows) == wanted, f"seed {seed}"


def with_questions(query: EventQuery, rng: random.Random) -> EventQuery | None:
    """The same with conditions over two events that only the host can decide."""
    single = [event.var for event in query.events() if event.repeat is None]
    if len(single) < 2:
        return None
    conditions = tuple(question(rng, *rng.sample(single, 2)) for _ in range(rng.randint(1, 2)))
    return replace(query, conditions=(*query.conditions, *conditions))


def question(rng: random.Random, one: str, other: str) -> Expr:
    left, right = At(Column("s"), one), At(Column("s"), other)
    both = Call("||", (left, right))
    return rng.choice(
        (
            Call("<>", (both, Literal("ab"))),
            Call("=", (Call("length", (both,)), Literal(2))),
            Call("is not null", (Call("upper", (both,)),)),
            Call("like", (right, Call("||", (left, Literal("%"))))),
        )
    )
