"""Streams on Spark: the matches of a streaming DataFrame are those of the table of all its events, each once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from stream_frames import START, Folder, Run, in_some_order, rows_of

import motif
from motif.cli.on_spark import worker_message
from motif.errors import MotifError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "ts TIMESTAMP, type STRING, k BIGINT, v DOUBLE"
ARROW = pa.schema([("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("v", pa.float64())])
LATENESS = 5
Event = dict[str, Any]


def event(second: float, kind: str, k: int | None, v: float | None = 0.0) -> Event:
    return {"ts": START + timedelta(seconds=second), "type": kind, "k": k, "v": v}


def arriving(count: int = 150, files: int = 4) -> list[list[Event]]:
    """Events on a grid of half seconds, so that many tie or lie exactly at a bound, up to LATENESS out of order."""
    rng = random.Random(4)
    events = [
        event(rng.randrange(120) / 2, rng.choice("AABBCX"), rng.randrange(6), rng.choice((0.0, 1.0, 2.0, 3.0, None)))
        for _ in range(count)
    ]
    events.sort(key=lambda e: (e["ts"] + timedelta(seconds=rng.randrange(2 * LATENESS + 1) / 2), rng.random()))
    size = -(-count // files)
    cut = [events[low : low + size] for low in range(0, count, size)]
    latest = max(e["ts"] for part in cut[:2] for e in part)
    cut[2].append({**event(0, "B", 1, 3.0), "ts": latest - timedelta(seconds=LATENESS)})  # as late as it may be
    cut[1].append({**event(0, "A", 2), "ts": None})
    return [*cut, [event(3600, "Z", None)]]  # a class that no query names moves time on


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "events", SCHEMA, ARROW)


# --- stream = table ---

UP = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, type, v
    MEASURES FIRST(ts) AS first, LAST(ts) AS last, COUNT(UP.v) AS n
    PATTERN (A UP+) WITHIN INTERVAL '10' SECOND DEFINE UP AS v >= PREV(v))"""
PAIRS = """MATCH_RECOGNIZE (ORDER BY ts, type, k, v MEASURES A.ts AS a, LAST(B.ts) AS b, C.type || '!' AS c
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) WITHIN INTERVAL '3' SECOND
    DEFINE A AS type = 'A', B AS type = 'B', C AS type = 'C')"""
NOT_B = "SELECT a.k, a.ts AS at FROM SEQ(A a; NOT B b) WHERE [k] WITHIN 7 s"
STACK = [
    "DEFINE Pair SELECT a.k AS k, b.v AS v FROM SEQ(A a; B b) WHERE [k] PICK FIRST b WITHIN 4 s",
    "SELECT p.k, p.v, c.ts AS at FROM SEQ(Pair p; C c) WHERE [k] WITHIN 6 s",
]
FAR = "SELECT a.k, a.v AS a, b.v AS b FROM SEQ(A a; B b) WHERE [k] AND far(a.v, b.v) WITHIN 5 s"
Case = Callable[["DataFrame", dict[str, Any]], "DataFrame"]


def matching(query: Any, *columns: str, **options: Any) -> Case:
    def case(frame: DataFrame, live: dict[str, Any]) -> DataFrame:
        return motif.match(frame.selectExpr(*columns) if columns else frame, query, **options, **live)

    return case


def named(frame: DataFrame, live: dict[str, Any]) -> DataFrame:
    """Two inputs, one of which has its class by its name."""
    inputs = {"A": frame.filter("type IN ('A', 'Z')").drop("type"), "rest": frame.filter("type <> 'A'")}
    return motif.match(inputs, "SELECT a.k, b.v FROM SEQ(A a; B b) WHERE [k] WITHIN 3 s", **live)


def statement(frame: DataFrame, live: dict[str, Any]) -> DataFrame:
    """Two clauses, a table at their side, and arithmetic around them."""
    spark = frame.sparkSession
    frame.createOrReplaceTempView("live_events")
    spark.range(4).selectExpr("id AS k", "id * 10 AS weight").createOrReplaceTempView("weights")
    query = f"""WITH ups AS (SELECT * FROM live_events {UP}), few AS (
            SELECT k, a, b FROM live_events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, type, v
            MEASURES A.ts AS a, B.ts AS b PATTERN (A B) WITHIN INTERVAL '2' SECOND
            DEFINE A AS type = 'A', B AS type = 'B'))
        SELECT u.k, u.n * w.weight AS score, NULL AS a FROM ups u JOIN weights w ON u.k = w.k WHERE u.n > 1
        UNION ALL SELECT k, 0, a FROM few"""
    return motif.sql(query, spark=spark, **live)


def fatal_once(marker: str) -> Callable[[float | None, float | None], bool]:
    """A condition that kills its worker when it is first asked, if there is a file that tells it to."""

    def far(one: float | None, other: float | None) -> bool:
        if os.path.exists(marker):  # noqa: PTH110 - runs in the worker
            os.remove(marker)  # noqa: PTH107
            os.kill(os.getpid(), signal.SIGKILL)
        return one is not None and other is not None and abs(one - other) > 1

    return far


CASES: dict[str, Case] = {
    "rows": matching(UP),
    "rows without a key or a zone": matching(PAIRS, "CAST(ts AS TIMESTAMP_NTZ) AS ts", "type", "k", "v"),
    "events without a key, by other names": matching(
        "SELECT * FROM SEQ(A a; OR(B b, C c)) WHERE a.k <> b.k OR a.v < c.v WITHIN 500 ms",
        *("CAST(ts AS TIMESTAMP_NTZ) AS `the time`", "type AS class", "k", "v"),
        time="the time",
        type="class",
        order_by="v",
    ),
    "not": matching(NOT_B),
    "lists, consumed": matching(
        "SELECT a.k, COUNT(b) AS n, c.v FROM SEQ(A a; B b+; C c) WHERE [k] WITHIN 8 s CONSUMING ALL"
    ),
    "lists that are computed with": matching(
        "SELECT a.k, SUM(CAST(b.v AS INT)) AS s, EVERY(b.v > 0) AS e, ARRAY_AGG(b.v ORDER BY b.v DESC, b.ts) AS l,"
        " LAST(CAST(b.v AS STRING)) AS z FROM SEQ(A a; B b+; C c) WHERE [k] WITHIN 8 s"
    ),
    "stack": matching(STACK),
    "inputs": named,
    "statement": statement,
}


@dataclass
class Answers:
    run: Run
    table: dict[str, list[dict[str, Any]]]
    marker: Path


@pytest.fixture(scope="module")
def answers(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """All cases in one streaming query."""
    spark_session.conf.set("spark.sql.shuffle.partitions", "1")
    home = tmp_path_factory.mktemp("streams")
    folder = Folder(home / "events", SCHEMA, ARROW)
    for part in arriving():
        folder.put(part)
    marker = home / "kill"
    cases = CASES | {"functions": matching(FAR, functions={"far": fatal_once(str(marker))})}
    marker.touch()
    live = {"lateness": f"{LATENESS} seconds", "buckets": 4}
    streams = {name: case(folder.stream(spark_session), live) for name, case in cases.items()}
    assert all(frame.isStreaming for frame in streams.values())
    run = Run().of(streams, home / "checkpoint")
    return Answers(run, rows_of({n: case(folder.table(spark_session), {}) for n, case in cases.items()}), marker)


@pytest.mark.parametrize("name", [*CASES, "functions"])
def test_a_stream_gives_what_the_table_gives(name: str, answers: Answers) -> None:
    assert in_some_order(answers.run.rows(name)) == in_some_order(answers.table[name])
    assert len(answers.table[name]) > 2, "a case that finds nothing shows nothing"


def test_a_worker_that_is_killed_changes_nothing(answers: Answers) -> None:
    assert not answers.marker.exists()
    assert answers.table["functions"]


def test_matches_come_when_they_are_decided(answers: Answers) -> None:
    """Nothing is held until the end; what waits for time comes with the batch that has no data."""
    last = max(answers.run.batches)
    assert [p.numInputRows > 0 for p in answers.run.progress] == [True] * last + [False]
    for name in ("rows", "functions", "not", "stack"):
        assert answers.run.first(name) <= 2
    assert len(answers.run.rows("not", until=last - 1)) < len(answers.run.rows("not"))


def test_status_of_many(answers: Answers) -> None:
    """Events of a class that no query names have moved time; nothing was late."""
    status = motif.status(answers.run.query)
    assert (status.late, status.failed) == (0, 0)
    assert status.without_time >= len(CASES)
    assert status.watermark == START + timedelta(seconds=3600 - LATENESS, milliseconds=-1)
    assert status.state_bytes < 3000, "what is left of 150 events an hour later"
    with pytest.raises(MotifError, match="not a running query"):
        motif.status(answers.run)


# --- kinds and counters ---

LONG = "SELECT a.v AS a, b.v AS b, c.v AS c FROM SEQ(A a; B b; C c) WHERE [k] AND odd(a.v) WITHIN 5 s"


def test_kinds_and_counters(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    """As in process: matches, timeouts and late events; NULL times and failures are counted."""
    files = [
        [event(0, "A", 1, 1), event(1, "B", 1, 2), event(1, "A", 1, 13), event(2, "A", 2, 4), event(2, "C", 1, 3)],
        [event(3, "A", 2, 5), event(4, "B", 2, 6), {**event(0, "A", 1), "ts": None}, event(20, "A", 3, 7)],
        [event(21, "A", 4, 2)],
        [event(2.5, "C", 1, 8), event(22, "A", 3, 9)],
        [event(100, "A", None, 0)],
    ]
    for part in files:
        folder.put(part)

    def odd(value: float) -> bool:
        if value == 13:
            raise ValueError("unlucky")
        return value % 2 == 1

    given = {"emit": ("match", "timeout", "late"), "lateness": "2 s", "functions": {"odd": odd}, "on_error": "skip"}
    frame = motif.match(folder.stream(spark), LONG, **given)
    run = Run().of({"": frame}, tmp_path / "checkpoint")
    stream = motif.Stream(LONG, ARROW, **given)
    expected = [row for part in files for row in stream.push(pa.Table.from_pylist(part, ARROW)).to_pylist()]
    expected += stream.advance(START + timedelta(seconds=98)).to_pylist()
    assert sorted(map(kind_of, run.rows("")), key=repr) == sorted(map(kind_of, expected), key=repr)
    assert {row["kind"] for row in expected} == {"match", "timeout", "late"}
    assert frame.columns == stream.push([]).column_names
    status, wanted = motif.status(run.query), stream.status
    for name in ("events", "matches", "timed_out", "late", "failed", "without_time", "live", "waiting"):
        assert getattr(status, name) == getattr(wanted, name), name
    assert (status.late, status.failed, status.without_time) == (1, 1, 1)
    assert 'motif_late_total{query="q"} 1' in status.prometheus(query="q")
    assert status.plan is not None
    assert "strategy buckets" in str(motif.explain(LONG, data=folder.stream(spark), functions={"odd": odd}))
    assert status.plan == motif.explain(LONG, data=folder.stream(spark), functions={"odd": odd}).plan
    assert "plan" not in str(status)
    assert "plan" not in status.prometheus()


def kind_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["kind"], row["a"], row["b"], row["c"], (row["late"] or {}).get("v")


# --- restarts ---


def test_a_restart_changes_nothing(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    """Stopped in the middle, and a new query over the same checkpoint: nothing is lost, nothing comes twice."""
    parts, run, checkpoint = arriving(), Run(), tmp_path / "checkpoint"

    def frames(spark: SparkSession, query: str = NOT_B) -> dict[str, DataFrame]:
        own = folder.stream(spark).withWatermark("ts", f"{LATENESS} seconds 1 millisecond")
        return {"rows": motif.match(own, UP, buckets=3), "events": motif.match(own, query, buckets=3)}

    for low, high in ((0, 1), (1, 3), (3, 5)):
        for part in parts[low:high]:
            folder.put(part)
        run.of(frames(spark), checkpoint)
    wanted = rows_of({"rows": motif.match(folder.table(spark), UP), "events": motif.match(folder.table(spark), NOT_B)})
    for name, rows in wanted.items():
        assert in_some_order(run.rows(name)) == in_some_order(rows)
    assert motif.status(run.query).late == 0
    folder.put([event(3601, "A", 1)])
    changed = {"[k]": "partition key changed", "7 s": "window is longer"}
    for (old, reason), new in zip(changed.items(), ("[k, v]", "8 s"), strict=True):
        with pytest.raises(Exception, match="cannot go on from its checkpoint") as caught:
            Run().of(frames(spark, NOT_B.replace(old, new)), checkpoint)
        text = worker_message(str(caught.value))
        assert text is not None
        assert reason in text
        assert "hint: start it with a new checkpointLocation" in text


# --- archive and live ---


def test_archive_and_live(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    """Patterns begin in the archive and end in the stream; what both have is there once."""
    parts = arriving()
    seam = START + timedelta(seconds=25)
    events = [e for part in parts[:-1] for e in part if e["ts"] is not None]
    past = [e for e in events if e["ts"] <= seam]
    assert any(e["ts"] == seam for e in past)
    overlap = [e for e in past if e["ts"] > seam - timedelta(seconds=2)]
    live = [e for e in events if e["ts"] > seam]
    for part in ([*overlap, *live[:30]], live[30:], parts[-1]):
        folder.put(part)
    archive = Folder(tmp_path / "archive", SCHEMA, ARROW)
    archive.put(past[: len(past) // 2])
    archive.put(past[len(past) // 2 :])
    whole = Folder(tmp_path / "whole", SCHEMA, ARROW)
    whole.put([*events, *parts[-1]])
    given = {"archive": archive.table(spark), "lateness": f"{LATENESS} s", "buckets": 8}
    queries = {"rows": UP, "not": NOT_B, "events": "SELECT a.v AS x FROM SEQ(A a; B b) WHERE [k] WITHIN 5 s"}
    frames = {name: motif.match(folder.stream(spark), query, **given) for name, query in queries.items()}
    run = Run().of(frames, tmp_path / "checkpoint")
    wanted = rows_of({name: motif.match(whole.table(spark), query) for name, query in queries.items()})
    for name, rows in wanted.items():
        assert in_some_order(run.rows(name)) == in_some_order(rows)
        assert run.rows(name, until=0), "what the archive alone decides comes at once"
    over = [r for r in wanted["events"] if r["match_start"] <= text_of(seam) < r["match_end"]]
    assert over
    assert motif.status(run.query).late == sum(count_late(overlap, kinds) for kinds in ("ABCX", "AB", "AB"))


def text_of(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")


def count_late(events: list[Event], kinds: str) -> int:
    return sum(e["type"] in kinds for e in events)


# --- mistakes ---


def mistakes(stream: DataFrame, table: DataFrame) -> dict[str, tuple[Callable[[], object], str]]:
    seq = "SELECT a.v FROM SEQ(A a; B b) WITHIN 5 s"
    late = {"lateness": "5 s"}
    other = stream.selectExpr("*", "ts AS at").withWatermark("at", "5 seconds")
    by_value = "MATCH_RECOGNIZE (ORDER BY v, ts MEASURES v AS v PATTERN (A))"
    nested = f"SELECT * FROM (SELECT k, last AS ts, n FROM live {UP}) {UP.replace('v', 'n').replace('type', 'k')}"
    counted = [
        "DEFINE P SELECT a.k FROM SEQ(A a; B b) PICK LAST b WITHIN 5 EVENTS",
        "SELECT p.k FROM SEQ(P p; A a) WITHIN 1 s",
    ]
    stream.createOrReplaceTempView("live")
    table.createOrReplaceTempView("past")
    return {
        "no watermark": (lambda: motif.match(stream, seq), "needs a watermark"),
        "no watermark, rows": (lambda: motif.match(stream, UP), 'lateness="10 seconds"'),
        "two": (lambda: motif.match(stream.withWatermark("ts", "1 second"), seq, **late), "has a watermark already"),
        "elsewhere": (lambda: motif.match(other, seq), "is on at, but its events are ordered by ts"),
        "mixed": (lambda: motif.match({"A": stream, "B": table}, seq, **late), "B is a table, and other inputs"),
        "a table": (lambda: motif.match(table, seq, **late), "lateness= is for streams"),
        "a table's archive": (lambda: motif.match(table, UP, archive=table), "archive= is for streams"),
        "in process": (lambda: motif.match(pa.table({"ts": []}), seq, emit="late"), "emit= is for streams"),
        "a statement": (lambda: motif.sql(f"SELECT * FROM past {UP}", spark=table.sparkSession, **late), "lateness="),
        "tables": (lambda: motif.sql("SELECT 1", tables={}, buckets=3), "buckets= is for streams"),
        "buckets": (lambda: motif.match(stream, seq, buckets=0, **late), "buckets= cannot be 0"),
        "lateness": (lambda: motif.match(stream, seq, lateness="soon"), "lateness"),
        "kind": (lambda: motif.match(stream, seq, emit="matches", **late), "did you mean match"),
        "names": (lambda: motif.match(stream, seq.replace("a.v", "a.v AS Kind"), emit="late", **late), "column kind"),
        "time": (lambda: motif.match(stream, seq, time="v", **late), "not a time"),
        "column": (lambda: motif.match(stream, seq.replace("a.v", "a.w"), **late), "unknown column w"),
        "order": (lambda: motif.match(stream, by_value, **late), "ORDER BY does not begin with"),
        "nested": (lambda: motif.sql(nested, spark=stream.sparkSession, **late), "over the matches of another one"),
        "endless": (lambda: motif.match(stream, counted, **late), "may be decided at any time"),
        "stream as archive": (lambda: motif.match(stream, seq, archive=stream, **late), "is a stream itself"),
        "no frame": (lambda: motif.match(stream, seq, archive=[1], **late), "is a list, not a Spark DataFrame"),
        "shape": (lambda: motif.match(stream, seq, archive={"a": table}, **late), "are not alike"),
        "missing": (lambda: motif.match(stream, seq, archive=table.drop("v"), **late), "archive="),
        "types": (
            lambda: motif.match(stream, seq, archive=table.selectExpr("ts", "type", "k", "1 AS v"), **late),
            "`v` is double in the stream and int in the archive",
        ),
        "stack": (lambda: motif.match(stream, STACK, archive=table, **late), "several queries"),
        "aggregate": (
            lambda: motif.match(stream, "SELECT std(b.v) AS s FROM SEQ(A a; B b+; C c) WITHIN 8 s", **late),
            "not supported in a stream on Spark: an aggregate of Spark over the rows of a match",
        ),
    }


def test_mistakes_are_told_before_anything_runs(spark: SparkSession, folder: Folder) -> None:
    folder.put([event(0, "A", 1)])
    for name, (call, text) in mistakes(folder.stream(spark), folder.table(spark)).items():
        shown = message(call)
        assert text in shown, name
        assert "hint: " in shown, name
        assert "org.apache" not in shown


def message(call: Callable[[], object]) -> str:
    try:
        call()
    except MotifError as error:
        return str(error)
    return "no error"


def test_a_stream_is_explained_and_checked(spark: SparkSession, folder: Folder) -> None:
    folder.put([event(0, "A", 1)])
    stream = folder.stream(spark)
    assert motif.check(NOT_B, data=stream) == []
    assert [d.message for d in motif.check(NOT_B.replace("a.k", "a.w"), data=stream)] == ["unknown column w"]
    assert "Spark" in str(motif.explain(NOT_B, data=stream))


# --- Spark Connect ---

CONNECT = """
import sys
from pyspark.sql import SparkSession
import motif
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
folder = sys.argv[1]
try:
    assert "connect" in type(spark).__module__, type(spark)
    live = spark.readStream.schema("ts TIMESTAMP, type STRING, k BIGINT, v DOUBLE").option("maxFilesPerTrigger", 1)
    live = live.parquet(folder + "/events").selectExpr("CAST(ts AS DATE) AS day", "type", "k", "v")
    query = "SELECT a.v AS a, b.v AS b FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 1 day"
    found = motif.match(live, query, time="day", lateness="0 s", buckets=3)
    writer = found.writeStream.option("checkpointLocation", folder + "/checkpoint").option("path", folder + "/out")
    run = writer.format("parquet").trigger(availableNow=True).start()
    run.awaitTermination()
    print("rows", sorted((row["a"], row["b"]) for row in spark.read.parquet(folder + "/out").collect()))
    status = motif.status(run)
    print("status", status.events, status.matches, status.late)
    try:
        motif.match(live, query, time="day")
    except motif.MotifError as error:
        print("error", "needs a watermark" in str(error))
    own = live.selectExpr("CAST(day AS TIMESTAMP) AS ts", "type", "k", "v").withWatermark("ts", "1 day")
    print("own", motif.match(own, query).isStreaming)
finally:
    spark.stop()
"""


def test_spark_connect(tmp_path: Path, folder: Folder) -> None:
    """A server of its own on this machine, in a process of its own; and days as time."""
    day = 86400
    folder.put([event(0, "A", 1, 1), event(0, "A", 2, 2), event(day, "B", 1, 3)])
    folder.put([event(day, "C", 2, 0), event(2 * day, "B", 1, 4), event(2 * day, "B", 2, 5)])
    folder.put([event(2 * day, "A", 3, 6), event(3 * day, "B", 3, 7), event(9 * day, "Z", 0)])
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", CONNECT, str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-4:] == [
        "rows [(1.0, 3.0), (6.0, 7.0)]",
        "status 8 2 0",
        "error True",
        "own True",
    ]
