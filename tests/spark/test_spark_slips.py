"""Likely slips on Spark: the same words as in process, and no job for a query that is only written."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import motif

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = dt.datetime(2026, 1, 1, 12)
SHOP = pa.table(
    {
        "ts": [START + dt.timedelta(minutes=n) for n in range(12)],
        "action": ["view", "cart", "view", "purchase"] * 3,
        "user": ["ann"] * 4 + ["bob"] * 4 + ["ann"] * 4,
        "x": list(range(12)),
    }
)
EVENTS = [
    "SELECT * FROM SEQ(view v; Cart c) WITHIN 1 h",
    "SELECT * FROM SEQ(view v; NOT carts n; cart c) WITHIN 1 h",
    "SELECT * FROM SEQ(view v; cart c) WHERE c.x > 99 AND v.user = 'Ann'",
    "SELECT * FROM SEQ(view v; cart c) WHERE c.x > 5 AND c.user = 'bob'",
    "SELECT * FROM SEQ(view; cart c) WITHIN 1 h",
    "SELECT * FROM SEQ(one; other) WITHIN 1 h",
    "SELECT * FROM SEQ(view v; cart c) WHERE c.x > 5",
]
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B?) DEFINE A AS x > 99, B AS action = 'View')"


def test_check_says_the_same_as_in_process(spark: SparkSession) -> None:
    frame = spark.createDataFrame(SHOP)
    for rows in (False, True):
        for query in EVENTS:
            here = motif.check(query, data=SHOP, type="action", rows=rows)
            assert motif.check(query, data=frame, type="action", rows=rows) == here, query
    frame.createOrReplaceTempView("shop")
    statement = f"SELECT * FROM shop {CLAUSE}"
    found = motif.check(statement, spark=spark, rows=True)
    assert found == motif.check(statement, tables={"shop": SHOP}, rows=True)
    assert [one.hint for one in found] == ["x is between 0 and 11", "did you mean view?"]
    spark.catalog.dropTempView("shop")
    [error] = motif.check(CLAUSE.replace("x > 99", "y > 99"), data=frame)
    assert error == motif.check(CLAUSE.replace("x > 99", "y > 99"), data=SHOP)[0]
    assert motif.check(CLAUSE, data=frame, rows=True) == motif.check(CLAUSE, data=SHOP, rows=True) != []
    assert "MATCH_RECOGNIZE on Spark" in str(motif.explain(CLAUSE, data=frame))


def test_a_join_of_many_events_with_many_is_told(spark: SparkSession) -> None:
    """Before any is read: Spark says how large the input is."""
    many = spark.range(2_000_000).selectExpr("timestamp_micros(id) AS ts", "'A' AS type", "id % 9 AS k", "id AS x")
    query = "SELECT a.x FROM SEQ(A a; A b)"
    told = "without WITHIN or a common attribute each of many events a is joined with each of many events b"
    assert [one.message for one in motif.check(query, data=many)] == [told]
    with pytest.warns(motif.MotifWarning, match="each of many events a"):
        motif.match(many, query)
    with pytest.raises(motif.MotifError, match="each of many events a"):
        motif.match(many, query, strict=True)
    assert motif.check(query, data=many.limit(10)) == []
    for fine in (f"{query} WITHIN 1 s", f"{query} WHERE [k]", f"{query} PICK LAST a", f"{query} WHERE a.x = b.x"):
        assert motif.check(fine, data=many) == []
    clause = "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*))"
    [slip] = motif.check(clause, data=many)
    assert slip.message.startswith("from every row this takes all rows")


def test_texts_that_stand_for_times_are_told_when_rows_are_read(spark: SparkSession) -> None:
    table = pa.table({"ts": ["03/01/2026 09:00", "01/02/2026 10:00"]})
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS at_ts PATTERN (A))"
    frame = spark.createDataFrame(table)
    assert motif.check(clause, data=frame) == []
    [found] = motif.check(clause, data=frame, rows=True)
    assert found.message == motif.check(clause, data=table, rows=True)[0].message
    way = str(found.hint).removeprefix("write ORDER BY ").partition(";")[0]
    ordered = motif.match(frame, clause.replace("ORDER BY ts", f"ORDER BY {way}"))
    assert [row.at_ts for row in ordered.collect()] == ["03/01/2026 09:00", "01/02/2026 10:00"]


def test_a_query_that_is_written_is_told_of_what_its_text_shows(spark: SparkSession) -> None:
    frame = spark.createDataFrame(SHOP)
    with pytest.warns(motif.MotifWarning, match="one and other can be any event") as caught:
        motif.match(frame, EVENTS[5], type="action")
    assert caught[0].filename == __file__
    with pytest.raises(motif.MotifError, match="one and other can be any event"):
        motif.match(frame, EVENTS[5], type="action", strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert motif.match(frame, EVENTS[0], type="action").count() == 0
