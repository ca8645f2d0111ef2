"""What people of Spark meet besides matches: a session as it was, their own errors, names, workers without Motif."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import motif

pytestmark = pytest.mark.spark

CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS x > PREV(x))"
EVENTS = "SELECT a.x FROM SEQ(A a; B b) WHERE [k] WITHIN 1 h"
SETTINGS = (
    "spark.sql.execution.arrow.maxBytesPerBatch",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
)


@pytest.fixture
def rows(spark: Any) -> Any:
    frame = spark.sql("SELECT timestamp'2026-01-01' AS ts, 'A' AS type, 1 AS k, id AS x FROM range(3)")
    frame.createOrReplaceTempView("usable")
    yield frame
    spark.catalog.dropTempView("usable")


def stream_of(spark: Any) -> Any:
    return (
        spark.readStream.format("rate")
        .load()
        .selectExpr("timestamp AS ts", "'A' AS type", "value % 3 AS k", "value AS x")
    )


def test_check_and_explain_leave_a_session_as_it_was(spark: Any, rows: Any) -> None:
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    listeners = spark._jsparkSession.streams().listListeners()
    try:
        for name in SETTINGS:
            spark.conf.unset(name)
        usual = {name: spark.conf.get(name, None) for name in SETTINGS}
        jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
        live = stream_of(spark)
        assert motif.check(f"SELECT * FROM usable {CLAUSE}", spark=spark) == []
        motif.explain(f"SELECT * FROM usable {CLAUSE}", spark=spark)
        for data in (rows, live):
            motif.check(EVENTS, data=data)
            motif.explain(EVENTS, data=data)
        assert {name: spark.conf.get(name, None) for name in SETTINGS} == usual
        assert len(spark._jsparkSession.streams().listListeners()) == len(listeners)
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) == jobs
    finally:
        for name, value in before.items():
            if value is not None:
                spark.conf.set(name, value)


def test_the_plan_of_a_stream_is_that_of_a_stream(spark: Any) -> None:
    live = stream_of(spark)
    live.createOrReplaceTempView("usable_live")
    try:
        for plan in (
            motif.explain(EVENTS, data=live),
            motif.explain(f"SELECT * FROM usable_live {CLAUSE}", spark=spark),
        ):
            assert "inside transformWithState" in str(plan)
            assert "by buckets of keys" in str(plan)
            assert "sorted in the worker" not in str(plan)
    finally:
        spark.catalog.dropTempView("usable_live")


def test_errors_of_the_session_stay_its_own(spark: Any, rows: Any) -> None:
    """PySpark logs them; it could not after we had told one."""
    with pytest.raises(motif.MotifError):
        motif.sql(f"SELECT nope FROM usable {CLAUSE}", spark=spark)
    with pytest.raises(AnalysisException, match="nope"):
        spark.sql("SELECT nope FROM usable")


def test_a_mistake_found_by_a_worker_is_told_in_a_few_lines(spark: Any, rows: Any) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY x AFTER MATCH SKIP TO B MEASURES 1 AS one PATTERN (A B?) DEFINE B AS x > 100)"
    clause = clause.replace("AFTER MATCH SKIP TO B MEASURES 1 AS one", "MEASURES 1 AS one AFTER MATCH SKIP TO B")
    with pytest.raises(Exception, match="found no row of that variable") as caught:
        motif.match(rows, clause).collect()
    assert str(caught.value).count('File "') <= 2


def test_steps_have_names(rows: Any) -> None:
    shown = motif.match(rows, CLAUSE)._jdf.queryExecution().toString()
    assert "motif_match_rows" in shown
    assert "motif_match_events" in motif.match(rows, EVENTS)._jdf.queryExecution().toString()


def test_a_table_that_is_not_there_gets_a_hint(spark: Any, rows: Any) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS usable_db")
    spark.sql("CREATE TABLE IF NOT EXISTS usable_db.events USING parquet AS SELECT 1 AS x")
    try:
        for name, hint in (("usabel", "did you mean usable"), ("usable_db.evnts", "did you mean usable_db.events")):
            with pytest.raises(motif.MotifError) as caught:
                motif.sql(f"SELECT * FROM {name} MATCH_RECOGNIZE (PATTERN (A))", spark=spark)
            assert (caught.value.hint or "").startswith(hint)
    finally:
        spark.sql("DROP DATABASE usable_db CASCADE")


SCRIPT = """
import sys
import motif
import pyarrow as pa
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF").getOrCreate()
frame = spark.range(300_000).selectExpr("id % 3 AS k", "id AS t", "id % 7 AS x")
clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS x > FIRST(x))"
found = motif.match(frame, clause)
try:
    found.count()
except Exception as error:
    print("FIRST", " ".join(str(error).split()))
motif.ship(spark)
print("THEN", motif.match(frame, clause).count())
spark.stop()
"""


def test_workers_without_motif_say_so_and_can_be_given_it(tmp_path: Path) -> None:
    worker = tmp_path / "worker"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", worker], check=True)
    [packages] = (worker / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(f"{Path(pa.__file__).parents[1]}\n")  # everything else, but not Motif
    root = str(Path(motif.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r})\n{SCRIPT}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": str(worker / "bin" / "python"), "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    first = next(line for line in done.stdout.splitlines() if line.startswith("FIRST"))
    assert "the Python of Spark's workers cannot run Motif" in first
    assert "motif.ship(spark)" in first
    table = pa.table({"k": [i % 3 for i in range(300_000)], "t": range(300_000), "x": [i % 7 for i in range(300_000)]})
    clause = SCRIPT.split('clause = "')[1].split('"')[0]
    assert f"THEN {motif.match(table, clause).num_rows}" in done.stdout, done.stderr
