"""What is asked of a session of Spark Connect: the same answers as in process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

CONNECT = """
import datetime as dt
import pyarrow as pa
from pyspark.sql import SparkSession
import motif

spark = SparkSession.builder.remote("local[1]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
start = dt.datetime(2026, 1, 1, 12)
table = pa.table({
    "ts": [start + dt.timedelta(minutes=n) for n in range(12)],
    "type": ["view", "cart", "view", "pay"] * 3,
    "user": ["ann"] * 4 + ["bob"] * 4 + ["ann"] * 4,
    "x": list(range(12)),
})
frame = spark.createDataFrame(table)
clause = "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES {} PATTERN (A B+) DEFINE B AS x > PREV(x))"
events = "SELECT a.x AS x, b.x AS y FROM SEQ(view a; cart b) WHERE [user] WITHIN 1 h"

def values(found):
    rows = found.to_pylist() if isinstance(found, pa.Table) else [row.asDict() for row in found.collect()]
    return sorted(str(list(row.values())) for row in rows)

def same(name, ask):
    found, due = values(ask(frame)), values(ask(table))
    print(name, "same" if found == due and due else (found, due), flush=True)

try:
    frame.schema  # the columns of what is known already are not asked for again
    same("clause", lambda data: motif.match(data, clause.format("COUNT(*) AS n, SUM(B.x) AS total")))
    same("aggregate", lambda data: motif.match(data, clause.format("max_by(x, ts) AS y, stddev_pop(B.x) AS s")))
    same("events", lambda data: motif.match(data, events))
    same("funnel", lambda data: motif.funnel(data, by="user", steps=["view", "cart", "pay"], within="1 h"))
    same("sessions", lambda data: motif.sessionize(data, by="user", gap="30 min"))
    same("functions", lambda data: motif.match(data, events.replace("WITHIN", "AND near(a.x, b.x) WITHIN"),
                                               functions={"near": lambda a, b: b - a < 2}))
    wrong = "SELECT * FROM SEQ(view v; Cart c) WITHIN 1 h"
    print("check", motif.check(wrong, data=frame, rows=True) == motif.check(wrong, data=table, rows=True))
    motif.ship(spark)
    same("shipped", lambda data: motif.match(data, clause.format("COUNT(*) AS n")))
finally:
    spark.stop()
"""


def test_spark_connect(tmp_path: Path) -> None:
    """A server of its own on this machine, in a process of its own: classic and Connect do not share one."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", CONNECT]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    names = ["clause", "aggregate", "events", "funnel", "sessions", "functions"]
    assert done.stdout.split("\n") == [*(f"{name} same" for name in names), "check True", "shipped same", ""]
