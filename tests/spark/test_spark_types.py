"""Values of all types of Spark come out as they went in, or are refused by name."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

import motif
from motif.errors import QueryBindError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES: dict[str, tuple[str, str]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("1", "2"),
    "SMALLINT": ("1", "2"),
    "INT": ("1", "2"),
    "BIGINT": ("1", "9223372036854775807"),
    "FLOAT": ("double('NaN')", "-0.0"),
    "DOUBLE": ("double('-Infinity')", "1"),
    "DECIMAL(10,2)": ("1.5", "2.25"),
    "DECIMAL(38,2)": ("1.5", "2.25"),
    "STRING": ("'a'", "'b'"),
    "STRING COLLATE UTF8_LCASE": ("'a'", "'B'"),
    "BINARY": ("X'01'", "X'02'"),
    "DATE": ("DATE'2020-01-01'", "DATE'2021-01-01'"),
    "TIMESTAMP": ("TIMESTAMP'2020-01-01'", "TIMESTAMP'2021-01-01'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'2020-01-01'", "TIMESTAMP_NTZ'2021-01-01'"),
    "TIME(6)": ("TIME'01:02:03.5'", "TIME'02:02:03'"),
    "INTERVAL DAY": ("INTERVAL '1' DAY", "INTERVAL '2' DAY"),
    "INTERVAL DAY TO SECOND": ("INTERVAL '1 00:00:01.5' DAY TO SECOND", "INTERVAL '2 00:00:01' DAY TO SECOND"),
    "ARRAY<INT>": ("array(1, 2)", "array(2)"),
    "ARRAY<TIMESTAMP>": ("array(TIMESTAMP'2020-01-01')", "array(NULL)"),
    "MAP<STRING, INT>": ("map('a', 1)", "map('b', 2)"),
    "STRUCT<x: INT, y: STRING>": ("named_struct('x', 1, 'y', 'a')", "named_struct('x', 2, 'y', 'b')"),
    "ARRAY<STRUCT<x: INTERVAL DAY, y: DATE>>": (
        "array(named_struct('x', INTERVAL '1' DAY, 'y', DATE'2020-01-01'))",
        "array()",
    ),
}
MONTHS = {
    "INTERVAL YEAR TO MONTH": "INTERVAL '1-1' YEAR TO MONTH",
    "INTERVAL": "make_interval(0, 1)",
    "ARRAY<INTERVAL YEAR>": "array(INTERVAL '1' YEAR)",
}


def frame(spark: SparkSession, kinds: dict[str, tuple[str, str]]) -> DataFrame:
    """A column of each type: the first value, the second, NULL, the first again."""
    columns = [f"v{n}" for n in range(len(kinds))]
    rows = []
    for place, of in enumerate((0, 1, None, 0)):
        values = [
            f"CAST({'NULL' if of is None else pair[of]} AS {kind}) AS {name}"
            for name, (kind, pair) in zip(columns, kinds.items(), strict=True)
        ]
        moment = f"TIMESTAMP'2024-01-01 0{place}:00:00' AS t"
        rows.append(f"SELECT {place} AS id, {moment}, 'E' AS type, {', '.join(values)}")
    return spark.sql(" UNION ALL ".join(rows))


@pytest.fixture
def all_types(spark: SparkSession) -> DataFrame:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    return frame(spark, TYPES)


def test_values_of_rows_come_out_as_they_went_in(all_types: DataFrame) -> None:
    found = motif.match(all_types, "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A+))")
    assert {field.name: field.dataType for field in found.schema} == {
        field.name: field.dataType for field in all_types.schema
    }
    assert sorted(map(repr, found.select(all_types.columns).collect())) == sorted(map(repr, all_types.collect()))


def test_values_of_events_come_out_as_they_went_in(all_types: DataFrame) -> None:
    found = motif.match(all_types, "SELECT * FROM SEQ(E a; E b) WHERE a.id = 0 AND b.id = 3", time="t", type="type")
    kinds = {field.name: field.dataType for field in found.schema["a"].dataType.fields}  # type: ignore[attr-defined]
    assert kinds == {field.name: field.dataType for field in all_types.schema}
    (row,) = found.collect()
    assert repr(row["a"]) == repr(all_types.where("id = 0").collect()[0])


@pytest.mark.parametrize("number", range(len(TYPES)), ids=list(TYPES))
def test_partitions_and_order(all_types: DataFrame, number: int) -> None:
    name = f"v{number}"
    rows = all_types.select("id", name)
    by_value = motif.match(
        rows, f"MATCH_RECOGNIZE (PARTITION BY {name} ORDER BY id MEASURES COUNT(*) AS n PATTERN (A+))"
    )
    assert sorted(row["n"] for row in by_value.collect()) == [1, 1, 2]
    assert by_value.schema[name].dataType == rows.schema[name].dataType
    ordered = f"MATCH_RECOGNIZE (ORDER BY {name} MEASURES ARRAY_AGG(A.id) AS ids PATTERN (A+))"
    (row,) = motif.match(rows, ordered).collect()
    assert row["ids"] in ([0, 3, 1, 2], [1, 0, 3, 2])
    assert row["ids"][-1] == 2


@pytest.mark.parametrize("kind", MONTHS)
def test_intervals_of_months_are_refused_by_name(spark: SparkSession, kind: str) -> None:
    rows = spark.sql(f"SELECT 1 AS id, {MONTHS[kind]} AS v")
    for clause in (
        "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS x PATTERN (A))",
        "MATCH_RECOGNIZE (ORDER BY v MEASURES A.id AS x PATTERN (A))",
        "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A))",
    ):
        with pytest.raises(QueryBindError, match="Spark does not hand interval"):
            motif.match(rows, clause)
    texts = rows.selectExpr("id", "CAST(v AS STRING) AS v")
    assert motif.match(texts, "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS x PATTERN (A))").count() == 1


def test_a_day_of_the_calendar(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (DATE'2024-03-30'), (DATE'2024-03-31'), (DATE'2024-04-02') AS t(d)")
    clause = """MATCH_RECOGNIZE (ORDER BY d MEASURES A.d + INTERVAL '1' DAY AS next, B.d - A.d AS took
        PATTERN (A B) DEFINE B AS d = PREV(d) + INTERVAL '1' DAY)"""
    found = motif.match(rows, clause)
    assert [kind for _, kind in found.dtypes] == ["date", "interval day"]
    expected: list[Any] = [(dt.date(2024, 3, 31), dt.timedelta(days=1))]
    assert [tuple(row) for row in found.collect()] == expected


def test_a_day_where_clocks_change(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        rows = spark.sql(
            "SELECT * FROM VALUES (TIMESTAMP'2024-03-30 12:00:00'), (TIMESTAMP'2024-03-31 12:00:00') AS t(ts)"
        )
        clause = """MATCH_RECOGNIZE (ORDER BY ts MEASURES B.ts - A.ts AS took, A.ts + INTERVAL '1 day 1 hour' AS later
            PATTERN (A B) DEFINE B AS ts = PREV(ts) + INTERVAL '1' DAY AND ts - PREV(ts) = INTERVAL '23' HOUR)"""
        (row,) = motif.match(rows, clause).selectExpr("took", "CAST(later AS STRING) AS later").collect()
        assert (row["took"], row["later"]) == (dt.timedelta(hours=23), "2024-03-31 13:00:00")
        pairs = rows.selectExpr("ts", "lag(ts) OVER (ORDER BY ts) AS before").where("before IS NOT NULL")
        one_row = """MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts - A.before AS took, MAX(A.ts) - MIN(A.before) AS most
            PATTERN (A) DEFINE A AS ts - before = INTERVAL '23' HOUR)"""
        found = motif.match(pairs, one_row)
        assert [kind for _, kind in found.dtypes] == ["interval day to second"] * 2
        assert [tuple(row) for row in found.collect()] == [(dt.timedelta(hours=23),) * 2]
        events = rows.selectExpr("ts", "'E' AS type")
        pair = "SELECT b.ts - a.ts AS took FROM SEQ(E a; E b) WHERE b.ts - a.ts = INTERVAL '23' HOUR"
        [row] = motif.match(events, pair).collect()
        assert row["took"] == dt.timedelta(hours=23)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
