"""Small tables on Spark: read and matched by one task, without an exchange; all others exchanged as ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import motif

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("small_tables")]

RISES = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(x) AS first, LAST(x) AS last
    PATTERN (A UP+) DEFINE UP AS x > PREV(x))"""
ALL_RISES = RISES.replace("PARTITION BY k ", "")
KEYED = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] WITHIN 9 s"
UNKEYED = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE a.x < b.x WITHIN 9 s"
QUERIES = {"rows by key": RISES, "all rows": ALL_RISES, "events by key": KEYED, "all events": UNKEYED}
ROWS = 300


@pytest.fixture
def stored(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Events in five files."""
    folder = str(tmp_path / "events")
    columns = ("timestamp_seconds(id) AS ts", "substr('AB', id % 2 + 1, 1) AS type", "id % 3 AS k", "id * 7 % 11 AS x")
    spark.range(ROWS).selectExpr(*columns).repartition(5).write.parquet(folder)
    return spark.read.parquet(folder)


def has_exchange(frame: DataFrame) -> bool:
    return "Exchange" in frame._jdf.queryExecution().executedPlan().toString()


def steps_below_matching(frame: DataFrame) -> list[str]:
    """The names of Spark's steps before the matching, the last one first."""
    plan = frame._jdf.queryExecution().executedPlan().toString().splitlines()
    at = next(number for number, line in enumerate(plan) if "MapInArrow" in line)
    return [line.lstrip(" +-:*()0123456789").split("(")[0].split()[0] for line in plan[at + 1 :]]


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_small_table_is_read_by_the_task_that_matches_it(query: str, stored: DataFrame) -> None:
    found = motif.match(stored, query)
    assert not has_exchange(found)
    assert found.rdd.getNumPartitions() == 1
    table = stored.toArrow()
    answers = rows(found.drop("match_id", "match_start", "match_end"))
    own = [name for name in found.columns if name not in ("match_id", "match_start", "match_end")]
    expected = motif.match(table, query).select(own).to_pylist()
    assert answers == sorted(tuple(row.values()) for row in expected)
    assert len(answers) > 10


def test_no_rows(stored: DataFrame) -> None:
    for query in QUERIES.values():
        for none in (stored.where("x > 99"), stored.where("false")):
            assert motif.match(none, query).collect() == []


CHANGED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "joined": lambda frame: frame.join(frame.selectExpr("k AS j").distinct(), frame["k"] == 1),
    "distinct": lambda frame: frame.distinct(),
    "by a Python function": lambda frame: frame.mapInPandas(lambda parts: parts, frame.schema),
    "to be cached": lambda frame: frame.mapInPandas(lambda parts: parts, frame.schema).cache(),
    "from rows of Python": lambda frame: frame.sparkSession.createDataFrame(frame.collect(), frame.schema),
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("query", [RISES, UNKEYED], ids=["rows", "events"])
def test_what_is_more_than_read_is_exchanged(
    query: str, changed: Callable[[DataFrame], DataFrame], stored: DataFrame
) -> None:
    """What it costs to make it is not known, so it is left to all tasks."""
    made = changed(stored)
    assert steps_below_matching(motif.match(made, query))[0] == "Exchange"


def test_functions_of_the_user_are_shared_by_all_tasks(stored: DataFrame) -> None:
    query = "SELECT a.x AS a FROM SEQ(A a; B b) WHERE [k] AND near(a.x, b.x) WITHIN 9 s"
    assert has_exchange(motif.match(stored, query, functions={"near": lambda one, other: abs(one - other) < 3}))
    assert not has_exchange(motif.match(stored, KEYED))


def test_a_larger_table_is_exchanged(stored: DataFrame, spark: SparkSession) -> None:
    spark.conf.set("spark.motif.costs", '{"one_task_bytes": 100}')
    for query in (RISES, ALL_RISES, KEYED, UNKEYED):
        assert has_exchange(motif.match(stored, query))


def test_many_small_files_are_opened_by_many_tasks(stored: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    """To open a file takes as long as to read a MiB; there are five."""
    together = str(tmp_path / "one file")
    stored.coalesce(1).write.parquet(together)
    spark.conf.set("spark.motif.costs", json.dumps({"one_task_bytes": 6 << 20}))
    assert not has_exchange(motif.match(stored, KEYED))
    spark.conf.set("spark.motif.costs", json.dumps({"one_task_bytes": 4 << 20}))
    assert has_exchange(motif.match(stored, KEYED))
    assert not has_exchange(motif.match(spark.read.parquet(together), KEYED))


def test_explain_tells(stored: DataFrame, spark: SparkSession) -> None:
    stored.createOrReplaceTempView("events_in_files")
    text = str(motif.explain(f"SELECT * FROM events_in_files {RISES}", spark=spark))
    assert "strategy sequential: one task does all the work; the table is small" in " ".join(text.split())
    assert "repartition" not in text
    for query in (KEYED, UNKEYED):
        text = " ".join(str(motif.explain(query, data=stored)).split())
        assert "sequential: one task does all the work; the table is small" in text
