"""Event queries on Spark: the same matches as in process, lazily, by key, by time slice or in one task."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from event_frames import in_some_order, numbered, numbers, plain, together

import motif
from motif.errors import MotifError, QueryBindError
from motif.lang.snoop import parse_events
from motif.plan.events.program import Stream
from motif.testing.event_cases import FUNCTIONS, load_event_cases
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = load_event_cases(Path(__file__).parent.parent / "event_cases")
EPOCH = datetime(2024, 1, 1)


# --- the shared cases, the examples of the language, random queries ---


def test_every_shared_case(spark: SparkSession) -> None:
    cases = {str(case): case for case in CASES if case.refused is None}
    frames = {
        name: numbered(
            spark,
            parse_events(case.query, "spark"),
            case.events,
            case.columns,
            stream=Stream(order_by=case.order_by, start=case.start),
            functions={name: FUNCTIONS[name] for name in case.functions},
        )
        for name, case in cases.items()
    }
    for name, found in together(frames).items():
        labelled = cases[name].labelled(map(numbers, found))
        assert in_some_order(labelled) == in_some_order(cases[name].expected), name


@pytest.mark.parametrize("case", [case for case in CASES if case.refused is not None], ids=str)
def test_what_is_refused_in_process_is_refused_here(case: Any, spark: SparkSession) -> None:
    with pytest.raises(MotifError):
        numbered(spark, parse_events(case.query, "spark"), case.events, case.columns)


def test_every_example_of_the_language(spark: SparkSession) -> None:
    """Names, values and match ids of the public function, for times with and without zone."""
    frames, expected = {}, {}
    for case in (case for case in CASES if case.file == "examples"):
        table = to_arrow(case.events, case.columns)
        functions = {name: FUNCTIONS[name] for name in case.functions}
        result = motif.match(table, case.query, functions=functions)
        frame = spark.createDataFrame(table)
        assert frame.schema["ts"].dataType.simpleString() == "timestamp"
        local = frame.withColumn("ts", frame["ts"].cast("timestamp_ntz"))
        for zone, given in (("zone", frame), ("local", local)):
            name = f"{case} {zone}"
            frames[name] = motif.match(given, case.query, functions=functions)
            assert frames[name].columns == result.column_names
            assert frames[name].schema["match_end"].dataType == given.schema["ts"].dataType
            expected[name] = [plain(row) for row in result.to_pylist()]
    found = together(frames)
    assert sum(map(len, found.values())) > 20
    for name, rows in expected.items():
        assert in_some_order(found[name]) == in_some_order(rows), name


# --- without a key: time slices ---


def stream_of(length: int, seed: int = 1, classes: str = "ABCD") -> pa.Table:
    rng = random.Random(seed)
    start = datetime(1969, 12, 31, 23, 30)  # some events are before 1970
    return pa.table(
        {
            "ts": pa.array([start + timedelta(seconds=n * 0.7) for n in range(length)], pa.timestamp("us")),
            "type": [rng.choice(classes) for _ in range(length)],
            "k": [rng.randint(0, 5) for _ in range(length)],
            "x": [rng.randint(0, 9) for _ in range(length)],
        }
    )


UNKEYED = {
    "sequence": "SELECT * FROM SEQ(A a; B b; C c) WHERE a.x < b.x AND b.x < c.x WITHIN 6 s",
    "leading list": "SELECT b.x, COUNT(a) AS n FROM SEQ(A a+; B b) WITHIN 4 s",
    "open end": "SELECT a.x FROM SEQ(A a; NOT B b) WITHIN 2 s",
    "rivals in other slices": "SELECT * FROM SEQ(A a; B b) PICK LAST a WITHIN 5 s",
    "all is chosen": "SELECT * FROM SEQ(A a; B b) PICK FIRST a, LAST b WITHIN 2 s",
    "so many events": "SELECT a.x FROM SEQ(A a; B b) WITHIN 3 EVENTS",
    "consuming": "SELECT * FROM SEQ(A a; B b) WHERE a.x = b.x WITHIN 5 s CONSUMING ALL",
    "no window": "SELECT a.x FROM SEQ(A a; B b; C c) WHERE a.x = 1 AND b.x = 2 AND c.x = 3",
    "no key column": "SELECT a.k AS k FROM SEQ(A a; B b) WHERE a.x + 1 = b.x WITHIN 3 s",
}
IN_ONE_TASK = {"all is chosen", "so many events", "consuming", "no window"}


def test_without_a_key_the_answer_is_that_in_process(spark: SparkSession) -> None:
    from motif.hosts.spark.events import Stack
    from motif.plan.physical.exact import why_not_slices

    spark.conf.set("spark.sql.shuffle.partitions", "3")
    table = stream_of(2500)
    frame = spark.createDataFrame(table)
    local = frame.withColumn("ts", frame["ts"].cast("timestamp_ntz"))
    frames = {}
    for name, query in UNKEYED.items():
        stack = Stack(frame, Stream(), [parse_events(query, "spark")])
        program, _ = stack.plan(stack.dag.last, {})
        assert (why_not_slices(program) is not None) == (name in IN_ONE_TASK), name
        frames[name] = motif.match(frame, query)
    frames["sequence, no zone"] = motif.match(local, UNKEYED["sequence"])
    found = together(frames)
    for name, rows in found.items():
        expected = motif.match(table, UNKEYED[name.removesuffix(", no zone")]).to_pylist()
        assert len(expected) > 5, name
        assert in_some_order(rows) == in_some_order(map(plain, expected)), name


def test_days_are_times_too(spark: SparkSession) -> None:
    days = [date(1969, 12, 1) + timedelta(days=n) for n in range(60)]
    table = pa.table({"ts": days, "type": ["AB"[n % 2] for n in range(60)], "x": [n % 7 for n in range(60)]})
    query = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE a.x <= b.x WITHIN 3 days"
    found = together({"days": motif.match(spark.createDataFrame(table), query)})["days"]
    assert in_some_order(found) == in_some_order(plain(row) for row in motif.match(table, query).to_pylist())


# --- inputs ---


def answers_agree(spark: SparkSession, tables: Any, query: Any, **options: Any) -> list[Any]:
    """The rows on Spark, which must be those in process."""
    if isinstance(tables, dict):
        frames: Any = {name: spark.createDataFrame(table) for name, table in tables.items()}
    else:
        frames = spark.createDataFrame(tables)
    expected = motif.match(tables, query, **options)
    result = motif.match(frames, query, **options)
    assert result.columns == expected.column_names
    found = together({"": result})[""]
    assert in_some_order(found) == in_some_order(plain(row) for row in expected.to_pylist())
    return found


def test_several_inputs(spark: SparkSession) -> None:
    table = stream_of(400)
    inputs = {
        "A": table.take(list(range(0, 400, 3))).drop_columns(["type"]),
        "Rest": table.take(list(range(1, 400, 3))).rename_columns(["ts", "type", "k", "y"]),
    }
    assert answers_agree(spark, inputs, "SELECT * FROM SEQ(A a; B b) WHERE [k] AND a.x < b.y WITHIN 1 min")
    assert answers_agree(spark, inputs, "SELECT a.x FROM A SEQ(A a; A b) WHERE [k] WITHIN 10 s")
    frames = {name: spark.createDataFrame(part) for name, part in inputs.items()}
    with pytest.raises(QueryBindError, match="there is no input Bee"):
        motif.match(frames, "SELECT a.x FROM Bee SEQ(A a; A b) WITHIN 10 s")
    frames["Rest"] = frames["Rest"].withColumn("k", frames["Rest"]["k"].cast("string"))
    with pytest.raises(QueryBindError, match="column k is string in Rest and integer in A"):
        motif.match(frames, "SELECT a.x FROM SEQ(A a; B b) WITHIN 10 s")
    with pytest.raises(MotifError, match="Rest is a Table"):
        motif.match({**frames, "Rest": inputs["Rest"]}, "SELECT a.x FROM SEQ(A a; B b) WITHIN 10 s")


COMPOSITES = [
    "DEFINE Rise SELECT a.k AS k, b.x - a.x AS x FROM SEQ(A a; B b) WHERE [k] AND a.x < b.x WITHIN 20 s CONSUMING ALL",
    "SELECT r.x AS rise, c.x AS x FROM SEQ(Rise r; C c) WHERE [k] WITHIN 30 s RETURN Top(r.k AS k)",
    "SELECT * FROM SEQ(Top t; NOT D d; Rise r) WITHIN 25 s",
]


def test_matches_that_are_events(spark: SparkSession) -> None:
    table = stream_of(400)
    assert answers_agree(spark, table, COMPOSITES[:2])
    assert answers_agree(spark, table, COMPOSITES)
    with pytest.raises(QueryBindError, match="needs a name"):
        motif.match(spark.createDataFrame(table), ["SELECT a.x FROM SEQ(A a; B b) WITHIN 1 s", COMPOSITES[0]])


def test_names_zones_and_no_events(spark: SparkSession) -> None:
    table = stream_of(60).rename_columns(["When it was", "Kind", "it's `k`", "x"])
    query = "SELECT * FROM SEQ(A a; B b) WHERE [`it's ``k```] WITHIN 30 s RETURN `o'clock`(a.`it's ``k``` AS `a b`)"
    frame = spark.createDataFrame(table)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        frames = {"": motif.match(frame, query, time="when it was", type="KIND")}
        frames["none"] = motif.match(frame.where("x > 99"), query, time="When it was", type="Kind")
        found = together(frames)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    duck = query.replace("`it's ``k```", '"it\'s `k`"').replace("`o'clock`", '"o\'clock"').replace("`a b`", '"a b"')
    expected = motif.match(table, duck, time="When it was", type="Kind").to_pylist()
    assert {row["match_id"] for row in found[""]} == {row["match_id"] for row in expected}
    assert {(row["event"], row["a b"]) for row in found[""]} == {(row["event"], row["a b"]) for row in expected}
    assert found["none"] == []


def test_events_without_a_time_are_left_out_and_counted(spark: SparkSession) -> None:
    times = [None if n % 5 == 0 else EPOCH + timedelta(seconds=n) for n in range(40)]
    table = pa.table({"ts": pa.array(times, pa.timestamp("us")), "type": list("AB") * 20, "k": [1] * 40})
    frame = spark.createDataFrame(table)
    spark.conf.set("spark.sql.pyspark.worker.logging.enabled", "true")
    try:
        for condition in ("WHERE [k]", ""):
            query = f"SELECT * FROM SEQ(A a; B b) {condition} WITHIN 3 s"
            with pytest.warns(motif.MotifWarning, match="8 events have no ts"):
                expected = motif.match(table, query).to_pylist()
            found = together({"": motif.match(frame, query)})[""]
            assert in_some_order(found) == in_some_order(map(plain, expected))
        logged = [row["msg"] for row in spark.tvf.python_worker_logs().collect()]
        assert logged.count("8 events have no ts and were left out") == 2
    finally:
        spark.conf.set("spark.sql.pyspark.worker.logging.enabled", "false")


def test_lazy_and_little(spark: SparkSession) -> None:
    """No job before one is asked for; only the columns that are read cross, of events that can play a role."""
    frame = spark.range(50).selectExpr(
        "timestamp_seconds(id) AS ts", "substr('ABCD', id % 4 + 1, 1) AS type", "id % 3 AS k", "id AS x"
    )
    context = spark.sparkContext
    context.setJobGroup("lazy", "lazy")
    query = "SELECT a.x FROM SEQ(A a; OR(B b, C c)) WHERE [k] AND (b.x > 1 OR b.x IS NULL) WITHIN 9 s"
    motif.match(frame, [query + " RETURN Early", "SELECT e.x FROM SEQ(Early e; C c) WITHIN 5 s"])
    assert not context.statusTracker().getJobIdsForGroup("lazy")
    result = motif.match(frame, "SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 9 s")
    plan = result._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 1
    assert "isnotnull(" in plan
    arrow = next(line for line in plan.splitlines() if "MapInArrow" in line)
    assert "c5" not in arrow, arrow  # k, ts, type and two flags


# --- functions ---


def test_functions_of_the_user_and_their_mistakes(spark: SparkSession) -> None:
    limit = 4
    table = stream_of(200)
    query = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE Far(a.x, b.x) AND odd(a.x) WITHIN 10 s"
    functions = {"far": lambda one, other: abs(one - other) > limit, "Odd": lambda x: x % 2 == 1}
    assert answers_agree(spark, table, query, functions=functions)
    broken = motif.match(spark.createDataFrame(table), query, functions={**functions, "far": lambda a, b: a // 0})
    with pytest.raises(Exception, match=r"QueryDataError: function far failed on the events with \(\d, \d\)"):
        broken.collect()


# --- mistakes ---


@pytest.mark.parametrize(
    ("query", "options", "text", "mark"),
    [
        ("SELECT a.x FROM SEQ(A a; B b) WHERE a.y > b.x WITHIN 1 s", {}, "unknown column y", "^"),
        ("SELECT a.x FROM SEQ(A a; B b) WHERE a.x + 1 WITHIN 1 s", {}, "", "^^^^^^^"),
        ("SELECT nope(a.x) AS n FROM SEQ(A a; B b) WITHIN 1 s", {}, "nope", "^"),
        ("SELECT a.x FROM SEQ(A a; B b) WHERE nope(a.x) = 1 WITHIN 1 s", {}, "nope", "^"),
        ("SELECT a.x FROM SEQ(A a; B b) WITHIN 1 s", {"time": "at"}, "time='at' is not a column", ""),
        ("SELECT a.x FROM SEQ(A a; B b) WITHIN 1 s", {"time": "x"}, "not a time", ""),
        ("SELECT a.x FROM SEQ(A a; B b) WITHIN 1 s", {"type": "clas"}, "have no column clas", "^"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    query: str, options: dict[str, str], text: str, mark: str, spark: SparkSession
) -> None:
    from motif.hosts.spark.events import stack_errors

    frame = spark.createDataFrame(stream_of(5))
    with pytest.raises(QueryBindError) as caught:
        motif.match(frame, query, **options)
    assert text in caught.value.message
    assert mark in str(caught.value)
    assert "org.apache" not in str(caught.value)
    stream = Stream(time=options.get("time", "ts"), type=options.get("type", "type"))
    assert [error.message for error in stack_errors(frame, [parse_events(query, "spark")], stream, {})] == [
        caught.value.message
    ]


def test_a_stream_is_refused(spark: SparkSession) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'A' AS type")
    with pytest.raises(MotifError, match="streaming"):
        motif.match(frame, "SELECT a.ts FROM SEQ(A a; A b) WITHIN 1 s")


# --- Spark Connect ---

CONNECT = """
from pyspark.sql import SparkSession
import motif
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
try:
    assert "connect" in type(spark).__module__, type(spark)
    frame = spark.sql(
        "SELECT timestamp_seconds(id) AS ts, substr('ABC', id % 3 + 1, 1) AS type, id % 2 AS k, id AS x FROM range(30)")
    def show(name, query, **options):
        rows = motif.match(frame, query, **options)
        print(name, sorted((row["a"], row["b"]) for row in rows.collect() if row["a"] < 4))
    show("key", "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] WITHIN 5 s")
    show("slices", "SELECT a.x AS a, b.x AS b FROM SEQ(A a; OR(B b, C c)) WHERE b.x > 3 WITHIN 2 s")
    show("function", "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE near(a.x, b.x) WITHIN 9 s",
         functions={"near": lambda one, other: other - one < 2})
    show("events", ["DEFINE P SELECT a.x AS x FROM SEQ(A a; B b) WITHIN 1 s",
                    "SELECT p.x AS a, c.x AS b FROM SEQ(P p; C c) WITHIN 2 s"])
    try:
        motif.match(frame, "SELECT a.y FROM SEQ(A a; B b) WITHIN 1 s")
    except motif.QueryBindError as error:
        print("error", "^" in str(error))
finally:
    spark.stop()
"""


def test_spark_connect(tmp_path: Path) -> None:
    """A server of its own on this machine, in a process of its own: classic and Connect do not share one."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    done = subprocess.run(
        [sys.executable, "-c", CONNECT],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-5:] == [
        "key [(0, 4), (3, 7)]",
        "slices [(3, 4)]",
        "function [(0, 1), (3, 4)]",
        "events [(0, 2), (3, 5)]",
        "error True",
    ]


def test_expressions_of_constants_are_worked_out_when_a_query_is_planned(spark: SparkSession) -> None:
    rows = [(datetime(2024, 1, 1, 0, 0, i), "AB"[i % 2], float(i * i), "p") for i in range(4)]
    frame = spark.createDataFrame(rows, "ts timestamp, type string, x double, s string")

    def found(condition: str) -> list[tuple[float, float]]:
        query = f"SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE {condition} WITHIN 1 h"
        assert motif.check(query, data=frame) == []
        return sorted((row.a, row.b) for row in motif.match(frame, query).collect())

    for computed, plain_one in [
        ("b.x - a.x > 2 * 2.5", "b.x - a.x > 5"),
        ("b.x - a.x > sqrt(4)", "b.x - a.x > 2"),
        ("b.x - a.x > CAST(1.5 AS DOUBLE)", "b.x - a.x > 1.5"),
        ("a.s > upper('p') AND b.x > a.x + 5", "b.x > a.x + 5"),
        ("b.ts - a.ts > INTERVAL '1' SECOND * 2", "b.ts - a.ts > INTERVAL '2' SECOND"),
    ]:
        assert found(computed) == found(plain_one), computed
    for changing in ("b.x - a.x > rand()", "b.ts > a.ts + (current_timestamp() - current_timestamp())"):
        [problem] = motif.check(f"SELECT * FROM SEQ(A a; B b) WHERE {changing} WITHIN 1 h", data=frame)
        assert "no plain constant" in problem.message
