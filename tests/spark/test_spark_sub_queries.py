"""Sub-queries on Spark give what they give in process, NULLs of IN included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import motif
from motif.errors import UnsupportedQuery
from motif.testing.cases import same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = {
    "sub_ticks": pa.table(
        {"t": [1, 2, 3, 4, 5, 6], "k": ["a", "b", "a", "c", "b", None], "v": [1, 5, 2, 8, 3, 9]},
    ),
    "sub_vip": pa.table({"k": ["b", "c", None], "x": [4, 6, 7]}),
    "sub_gold": pa.table({"k": ["b", "c"], "x": [4, 6]}),
}
CONDITIONS = [
    "B AS B.v > (SELECT avg(v) FROM sub_ticks) OR A.k NOT IN (SELECT k FROM sub_vip)",
    "B AS (A.k NOT IN (SELECT k FROM sub_gold)) AND SUM(B.v) >= (SELECT min(x) FROM low)",
    "B AS (B.k IN (SELECT k FROM sub_vip)) IS NULL AND NOT EXISTS (SELECT 1 FROM low WHERE x > 5)",
    "A AS A.k = 'zz' AND CAST(A.k AS INTEGER) IN (SELECT x FROM low), B AS B.v NOT IN (SELECT x FROM low WHERE x < 0)",
]
MEASURES = (
    "B.t AS t, A.k IN (SELECT k FROM sub_vip) AS i, A.k NOT IN (SELECT k FROM sub_gold) AS n"
    ", (SELECT max(x) FROM low) AS m"
)
CLAUSE = "MATCH_RECOGNIZE (ORDER BY t MEASURES {} AFTER MATCH SKIP TO NEXT ROW PATTERN (A? B) DEFINE {})"


def statement(define: str, measures: str = MEASURES) -> str:
    return f"WITH low AS (SELECT * FROM sub_gold WHERE x < 5) SELECT * FROM sub_ticks {CLAUSE.format(measures, define)}"


@pytest.fixture(autouse=True)
def _views(spark: SparkSession) -> None:
    for name, table in TABLES.items():
        spark.createDataFrame(table).createOrReplaceTempView(name)


@pytest.mark.parametrize("define", CONDITIONS)
def test_the_same_as_in_process(define: str, spark: SparkSession) -> None:
    expected = motif.sql(statement(define), tables=TABLES).to_pylist()
    assert expected
    found = [row.asDict() for row in motif.sql(statement(define), spark=spark).collect()]
    assert same_rows(found, expected)


@pytest.mark.parametrize(
    ("define", "text"),
    [
        ("B AS B.v > (SELECT max(x) FROM sub_vip WHERE k = B.k)", "a sub-query can not read B.k of the match"),
        ("B AS B.v > (SELECT max(x) FROM sub_vip WHERE x = v)", "a sub-query can not read v of the match"),
        ("B AS B.v >= ALL (SELECT x FROM sub_vip)", "not supported on Spark: ALL with a sub-query"),
        ("B AS (B.k, B.v) IN (SELECT k, x FROM sub_vip)", "not supported on Spark: IN of a row of values"),
        ("B AS B.v > (SELECT count(*) FROM parquet.`/etc/passwd`)", "a query can not open files"),
        ("B AS B.k = (SELECT reflect('java.lang.System', 'lineSeparator'))", "reflect runs code"),
    ],
)
def test_refused_with_a_place(define: str, text: str, spark: SparkSession) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        motif.sql(f"SELECT * FROM sub_ticks {CLAUSE.format('B.t AS t', define)}", spark=spark)
    assert text in caught.value.message
    assert caught.value.span is not None


def test_refused_beside_clauses_and_in_streams(spark: SparkSession) -> None:
    inner = "WITH m AS (SELECT * FROM sub_vip MATCH_RECOGNIZE (ORDER BY x MEASURES A.x AS x PATTERN (A))) "
    outer = f"SELECT * FROM sub_ticks {CLAUSE.format('B.t AS t', 'B AS v > (SELECT max(x) FROM m)')}"
    with pytest.raises(UnsupportedQuery, match="a sub-query beside WITH items that hold MATCH_RECOGNIZE"):
        motif.sql(inner + outer, spark=spark)
    spark.readStream.format("rate").load().createOrReplaceTempView("sub_stream")
    clause = "MATCH_RECOGNIZE (PARTITION BY value % 2 AS p ORDER BY timestamp MEASURES A.value AS v PATTERN (A) {})"
    define = "DEFINE A AS value > (SELECT max(x) FROM sub_gold)"
    with pytest.raises(UnsupportedQuery, match="not supported in a stream: a sub-query") as caught:
        motif.sql(f"SELECT * FROM sub_stream {clause.format(define)}", spark=spark)
    assert caught.value.span is not None
