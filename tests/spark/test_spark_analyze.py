"""`motif.explain(..., analyze=True)` on Spark: counters come back from the tasks beside their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import motif
from motif.hosts.spark.analysis import Analysis
from motif.hosts.spark.tell import together
from motif.plan.physical.plan import Strategy
from motif.plan.physical.ran import Counted, Level, Tasks, Work

pytestmark = pytest.mark.spark

COUNT = 400
EVENTS = pa.table(
    {
        "k": [0 if row % 4 else row % 5 for row in range(COUNT)],
        "ts": pa.array([row * 1_000_000 for row in range(COUNT)], pa.timestamp("us", "UTC")),
        "p": [row * 7 % 11 for row in range(COUNT)],
        "type": ["ab"[row % 2] for row in range(COUNT)],
    }
)
ROWS = """
SELECT begun FROM trades MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.ts AS begun PATTERN (A B) DEFINE B AS p < PREV(p))
"""
PAIRS = "DEFINE pair AS SELECT x.k AS k FROM SEQ(a x; b y) WHERE [k] AND x.p > 8 AND y.p < x.p WITHIN 9 seconds"


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    found = spark.createDataFrame(EVENTS)
    found.createOrReplaceTempView("trades")
    return found


def steps_of(found: Any, query: int = 1) -> dict[str, dict[str, Any]]:
    return {row["step"]: row for row in found.steps.to_pylist() if row["query"] == query}


def test_tasks_tell_what_they_counted(spark: SparkSession, frame: DataFrame) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    found = motif.explain(ROWS, spark=spark, analyze=True)
    here = steps_of(motif.explain(ROWS, tables={"trades": EVENTS}, analyze=True))
    steps = steps_of(found)
    for step, name in (("match", "rows_in"), ("match", "rows_out"), ("arrange", "rows_out"), ("gather", "rows_out")):
        assert steps[step][name] == here[step][name], (step, name)
    assert steps["match"]["tried"] == here["match"]["tried"]
    read = steps["read"]
    assert (read["rows_out"], read["tasks"]) == (COUNT, 3)
    assert read["least_rows"] <= read["median_rows"] <= read["most_rows"]
    assert read["most_rows"] >= sum(key == 0 for key in EVENTS["k"].to_pylist())  # one key has most rows
    assert f"to {read['most_rows']:,}, median" in str(found)
    assert found.plan == motif.explain(ROWS, spark=spark).plan == found.ran


def test_a_stack_of_events_is_counted_query_by_query(frame: DataFrame) -> None:
    queries = [PAIRS, "SELECT * FROM SEQ(pair u; pair v) WHERE u.k = v.k WITHIN 20 seconds"]
    found = motif.explain(queries, data=frame, analyze=True)
    here = motif.explain(queries, data=EVENTS, analyze=True)
    for query in (1, 2):
        mine, other = steps_of(found, query)["match"], steps_of(here, query)["match"]
        assert mine["rows_out"] == other["rows_out"] > 0
    assert dict(steps_of(found)["match"]["candidates"]) == dict(steps_of(here)["match"]["candidates"])
    levels = found.levels.to_pylist()
    assert {(one["query"], one["variable"]) for one in levels} == {(1, "x"), (1, "y"), (2, "u"), (2, "v")}


@pytest.mark.parametrize("strategy", ["sequential", Strategy.SLICES.value])
def test_each_strategy_tells_the_same_matches(frame: DataFrame, strategy: str) -> None:
    query = PAIRS.replace("[k] AND ", "")
    found = motif.explain(query, data=frame, strategy=strategy, analyze=True)
    assert found.plan is not None
    assert found.plan.match.strategy == strategy
    assert steps_of(found)["match"]["rows_out"] == motif.match(EVENTS, query).num_rows > 0


def test_a_task_that_reads_files_by_itself_tells_too(spark: SparkSession, small_tables: None, tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    clause = ROWS[ROWS.index("MATCH_RECOGNIZE") :]
    found = motif.explain(clause, data=spark.read.parquet(str(tmp_path)), analyze=True)
    assert (steps_of(found)["read"]["rows_out"], steps_of(found)["read"]["tasks"]) == (COUNT, 1)


def test_streams_and_connect_are_refused_by_name(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(motif.MotifError, match="a stream has none"):
        motif.explain(
            "MATCH_RECOGNIZE (ORDER BY timestamp MEASURES A.value AS v PATTERN (A))", data=stream, analyze=True
        )

    class Session:
        __module__ = "pyspark.sql.connect.session"

    with pytest.raises(motif.MotifError, match="Spark Connect"):
        Analysis(Session())  # type: ignore[arg-type]


def test_counters_of_tasks_are_summed() -> None:
    one = (Counted(Work.READ, rows_out=5, seconds=1.0, wall_seconds=1.0),)
    other = (
        Counted(Work.READ, rows_out=1, seconds=2.0, wall_seconds=2.0),
        Counted(Work.MATCH, rows_in=1, rows_out=0, tried=4, candidates={"a": 1}),
    )
    none = (Counted(Work.READ, seconds=0.5, wall_seconds=0.5),)
    pair, more = Level(0, 0, "a", 3, 2, 1), Level(0, 0, "a", 1, 1, 1)
    (read, match), levels = together([(one, ()), (other, (pair,)), (none, (more,))])
    assert levels == (Level(0, 0, "a", 4, 3, 2),)
    assert (read.rows_out, read.seconds, read.wall_seconds) == (6, 3.5, 2.0)
    assert read.tasks == Tasks(count=3, least=0, median=1, most=5)
    assert (match.tried, match.candidates) == (4, {"a": 1})
