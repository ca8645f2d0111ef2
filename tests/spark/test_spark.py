"""Motif on Spark: lazy, few columns over the exchange, statements of every form, and the same answer on any layout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import motif
from motif.errors import MotifError, QueryBindError, QuerySyntaxError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

UP = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
    MEASURES FIRST(t) AS first, LAST(t) AS last, SUM(UP.v) AS total PATTERN (A UP+) DEFINE UP AS v > PREV(v))"""
RISES = "SELECT * FROM trades " + UP


def trades(count: int = 300, keys: int = 7) -> pa.Table:
    return pa.table(
        {
            "k": [i % keys for i in range(count)],
            "t": list(range(count)),
            "v": [i * 37 % 101 for i in range(count)],
            "unused": [f"text {i}" for i in range(count)],
        }
    )


@pytest.fixture
def view(spark: SparkSession) -> DataFrame:
    frame = spark.createDataFrame(trades())
    frame.createOrReplaceTempView("trades")
    return frame


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def in_process(query: str, **tables: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in motif.sql(query, tables=tables).to_pylist()), key=repr)


# --- lazy, and little ---


def jobs_of(spark: SparkSession, work: Callable[[], object]) -> int:
    """How many Spark jobs this starts."""
    context = spark.sparkContext
    context.setJobGroup("counted", "counted")
    before = set(context.statusTracker().getJobIdsForGroup("counted"))
    work()
    return len(set(context.statusTracker().getJobIdsForGroup("counted")) - before)


def test_nothing_runs_before_it_is_asked_for(spark: SparkSession, view: DataFrame) -> None:
    assert jobs_of(spark, lambda: motif.sql(RISES, spark=spark)) == 0
    assert jobs_of(spark, lambda: motif.match(view, UP)) == 0
    assert jobs_of(spark, lambda: motif.match(view, UP).collect()) >= 1


def test_only_needed_columns_are_read_and_cross(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "trades")
    spark.createDataFrame(trades()).write.parquet(folder)
    result = motif.match(spark.read.parquet(folder), UP)
    capsys.readouterr()
    result.explain(mode="formatted")
    plan = capsys.readouterr().out
    assert "MapInArrow" in plan
    read = next(line for line in plan.splitlines() if line.startswith("ReadSchema"))
    assert sorted(column.split(":")[0] for column in read.split("struct<")[1].rstrip(">").split(",")) == ["k", "t", "v"]
    assert plan.count("Exchange") == 2, "one exchange in the tree, and its own paragraph"


def test_spark_does_not_sort(view: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    motif.match(view, UP).explain()
    assert "Sort" not in capsys.readouterr().out


# --- forms of statements ---

COUNT_ALL = (
    "MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n, MIN(v) AS low PATTERN (A UP+) DEFINE UP AS v > PREV(v))"
)
STATEMENTS = {
    "as it stands": RISES,
    "no PARTITION BY": f"SELECT * FROM trades {COUNT_ALL}",
    "WHERE around": f"SELECT k, last - first AS d FROM trades {UP} WHERE total > 50 AND k < 5",
    "GROUP BY around": f"SELECT k, COUNT(*) AS n, MAX(total) AS m FROM trades {UP} GROUP BY k HAVING COUNT(*) > 1",
    "alias": f"SELECT r.k, r.total FROM trades {UP} AS r WHERE r.first > 10",
    "over a sub-query": f"SELECT * FROM (SELECT k, t, v + 1 AS v FROM trades WHERE t % 3 <> 0) {UP}",
    "over a CTE": f"WITH few AS (SELECT * FROM trades WHERE k < 3) SELECT * FROM few {UP}",
    "inside a CTE": f"WITH m AS (SELECT * FROM trades {UP}) SELECT k, SUM(total) AS s FROM m GROUP BY k",
    "over another's result": f"""SELECT * FROM (SELECT k, first AS t, total AS v FROM trades {UP})
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n, LAST(v) AS v PATTERN (A+ B)
        DEFINE B AS v > A.v)""",
    "joined with a table": f"""SELECT m.k, m.total, t.v FROM trades {UP} AS m
        JOIN trades t ON m.k = t.k AND m.first = t.t""",
    "two clauses joined": f"""SELECT a.k, a.first, b.first AS other FROM trades {UP} AS a JOIN trades
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES FIRST(t) AS first, COUNT(*) AS n PATTERN (A DOWN+)
        DEFINE DOWN AS v < PREV(v)) AS b ON a.k = b.k AND a.first < b.first AND b.n > 1""",
    "two clauses in a UNION": f"SELECT k, first FROM trades {UP} UNION ALL SELECT k, last FROM trades {UP}",
    "in a sub-query of WHERE": f"SELECT t FROM trades WHERE t IN (SELECT first FROM trades {UP})",
    "braces in a string": f"SELECT k, '{{x}} {{0}} {{}}' AS b, total FROM trades {UP}",
}


@pytest.mark.parametrize("query", STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_gives_what_it_gives_in_process(query: str, spark: SparkSession, view: DataFrame) -> None:
    found = rows(motif.sql(query, spark=spark))
    assert found == in_process(query, trades=trades())
    assert found


def test_the_result_is_a_dataframe_like_others(view: DataFrame) -> None:
    result = motif.match(view, UP)
    assert result.columns == ["k", "first", "last", "total"]
    assert dict(result.dtypes) == dict.fromkeys(result.columns, "bigint")
    expected = in_process(RISES, trades=trades())
    assert rows(result.where("total > 100")) == [row for row in expected if row[3] > 100]
    counted = {row["k"]: row["count"] for row in result.groupBy("k").count().collect()}
    assert counted == {k: sum(row[0] == k for row in expected) for k in counted}
    assert result.join(view, "k").count() > len(expected)
    assert result.select(result["total"] + 1).count() == len(expected)


# --- the same on any layout ---


@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("name", ["as it stands", "no PARTITION BY", "over another's result"])
def test_any_number_of_partitions(name: str, partitions: int, spark: SparkSession, view: DataFrame) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    view.repartition(partitions, "unused").createOrReplaceTempView("trades")
    assert rows(motif.sql(STATEMENTS[name], spark=spark)) == in_process(STATEMENTS[name], trades=trades())


def test_one_key_with_most_of_the_rows(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    count = 20_000
    table = pa.table({"k": [i % 50 if i % 10 == 0 else -1 for i in range(count)], "t": range(count), "v": range(count)})
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n, FIRST(t) AS f
        PATTERN (A{3} B*) DEFINE B AS v % 1000 > 1)"""
    expected = in_process(f"SELECT * FROM data {clause}", data=table)
    assert rows(motif.match(spark.createDataFrame(table), clause)) == expected


def test_two_hundred_thousand_keys(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    frame = spark.range(400_000).selectExpr("id % 200000 AS k", "id AS t", "id % 3 AS v")
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(t) AS last PATTERN (A B) DEFINE B AS v <> A.v)"
    found = motif.match(frame, clause).selectExpr("COUNT(*)", "COUNT(DISTINCT k)", "SUM(last - k)").first()
    assert tuple(found) == (200_000, 200_000, 200_000 * 200_000)


@pytest.mark.parametrize("mode", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_an_empty_dataframe(mode: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame(trades()).where("false")
    clause = (
        f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES SUM(v) AS s {mode} PATTERN (A B) DEFINE B AS v > A.v)"
    )
    result = motif.match(frame, clause)
    assert result.collect() == []
    assert result.columns[0] == "k"


def test_null_is_a_key_like_others(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    table = pa.table({"k": [None, "a", None, "a", None], "j": [None, 1, 1, 1, None], "t": [1, 2, 3, 4, 5]})
    clause = "MATCH_RECOGNIZE (PARTITION BY k, j ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+))"
    expected = {("a", 1, 2), (None, 1, 1), (None, None, 2)}
    assert set(rows(motif.match(spark.createDataFrame(table), clause))) == expected


def test_ties_come_out_the_same_whatever_the_order_of_arrival(spark: SparkSession) -> None:
    table = pa.table({"t": [1, 1, 1, 2, 2], "c": list("bacba"), "extra": range(5)})
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES ARRAY_AGG(c) AS cs PATTERN (A+))"
    backwards = table.take(list(range(4, -1, -1)))
    for given in (table, backwards):
        assert rows(motif.match(spark.createDataFrame(given), clause)) == [(["a", "b", "c", "a", "b"],)]


def test_a_query_that_reads_no_column(spark: SparkSession) -> None:
    clause = "MATCH_RECOGNIZE (MEASURES MATCH_NUMBER() AS n, COUNT(*) AS c PATTERN (A A))"
    assert rows(motif.match(spark.createDataFrame(trades(5)), clause)) == [(1, 2), (2, 2)]


# --- types ---

TYPES: dict[str, tuple[str, list[Any]]] = {
    "byte": ("TINYINT", [1, None, -128]),
    "short": ("SMALLINT", [1, None, -32768]),
    "integer": ("INT", [1, None, 2**31 - 1]),
    "long": ("BIGINT", [1, None, 2**63 - 1]),
    "single": ("FLOAT", [1.5, None, -2.5]),
    "double": ("DOUBLE", [1.5, None, float("inf")]),
    "narrow": ("DECIMAL(10,2)", [Decimal("1.25"), None, Decimal("-99999999.99")]),
    "wide": ("DECIMAL(38,4)", [Decimal("1.2500"), None, Decimal(10) ** 33]),
    "flag": ("BOOLEAN", [True, None, False]),
    "text": ("STRING", ["a", None, "😀"]),
    "bytes": ("BINARY", [bytearray(b"a"), None, bytearray(b"\xff")]),
    "day": ("DATE", [date(2024, 2, 29), None, date(1970, 1, 1)]),
    "local": ("TIMESTAMP_NTZ", [datetime(2024, 2, 29, 12), None, datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    "list": ("ARRAY<INT>", [[1, None], None, []]),
    "record": ("STRUCT<a: INT, b: STRING>", [(1, "x"), None, (None, None)]),
    "map": ("MAP<STRING, INT>", [{"a": 1}, None, {}]),
}


def typed(spark: SparkSession, kind: str, values: list[Any]) -> DataFrame:
    return spark.createDataFrame(list(enumerate(values)), f"t INT, v {kind}")


@pytest.mark.parametrize(("kind", "values"), TYPES.values(), ids=TYPES)
def test_values_of_every_type_pass_through(kind: str, values: list[Any], spark: SparkSession) -> None:
    frame = typed(spark, kind, values)
    every = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A+))")
    assert sorted(every.columns) == ["n", "t", "v"]
    assert every.schema["v"].dataType == frame.schema["v"].dataType
    given = [row["v"] for row in frame.collect()]
    assert {row["t"]: row["v"] for row in every.collect()} == dict(enumerate(given))
    one = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(v) AS f, LAST(v) AS l PATTERN (A+))")
    assert one.schema["f"].dataType == frame.schema["v"].dataType
    assert [tuple(row) for row in one.collect()] == [(given[0], given[2])]


COMPARABLE = [name for name in TYPES if name not in ("list", "record", "map")]


@pytest.mark.parametrize("name", COMPARABLE)
def test_values_of_every_type_as_key_order_and_condition(name: str, spark: SparkSession) -> None:
    kind, values = TYPES[name]
    frame = typed(spark, kind, [values[0], values[0], values[2], None, None])
    keys = motif.match(frame, "MATCH_RECOGNIZE (PARTITION BY v MEASURES COUNT(*) AS n PATTERN (A+))").collect()
    assert sorted(row["n"] for row in keys) == [1, 2, 2]
    order = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY v, t MEASURES ARRAY_AGG(t) AS ts PATTERN (A+))").first()
    smaller_first = [2, 0, 1, 3, 4] if values[2] < values[0] else [0, 1, 2, 3, 4]
    assert order["ts"] == smaller_first
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES ARRAY_AGG(t) AS ts AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B) DEFINE B AS v = A.v AND v = PREV(v))"""
    assert [row["ts"] for row in motif.match(frame, clause).collect()] == [[0, 1]]


def test_timestamps_with_zone_stay_the_same_moment(spark: SparkSession) -> None:
    moment = datetime(2024, 2, 29, 12, tzinfo=UTC)
    frame = spark.createDataFrame([(1, moment), (2, moment)], "t INT, at TIMESTAMP")
    clause = """MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(at) AS at, COUNT(*) AS n PATTERN (A B)
        WITHIN INTERVAL '0' SECOND DEFINE B AS at = A.at)"""
    found = motif.match(frame, clause)
    assert found.schema["at"].dataType == frame.schema["at"].dataType
    assert found.where("at = TIMESTAMP '2024-02-29 12:00:00 UTC' AND n = 2").count() == 1


def test_aggregates_have_sparks_types(spark: SparkSession) -> None:
    values = [(1, Decimal("1.50"), 1.5, "a"), (2, Decimal("2.25"), None, "b")]
    frame = spark.createDataFrame(values, "i INT, d DECIMAL(10,2), f DOUBLE, s STRING")
    clause = """MATCH_RECOGNIZE (ORDER BY i MEASURES SUM(i) AS i, SUM(d) AS d, SUM(f) AS f, AVG(i) AS ai, AVG(d) AS ad,
        MIN(s) AS s, COUNT(f) AS n, ARRAY_AGG(s) AS l PATTERN (A+))"""
    row = motif.match(frame, clause).first()
    assert (row["i"], row["d"], row["f"], row["ai"], row["s"], row["n"]) == (3, Decimal("3.75"), 1.5, 1.5, "a", 1)
    assert float(row["ad"]) == 1.875
    assert row["l"] == ["a", "b"]


# --- names and mistakes ---

NAMES = [
    "a b",
    "a;drop",
    "__leaf_0",
    "c0",
    "ünïcødé",
    "new\nline",
    "{}",
    "{0}",
    "`tick`",
    "it's",
    '"',
    "%s",
    "$1",
    "--",
]
NAMES += ["select", "a.b", "😀"]
PATH_LIKE = ["</script>", "\\", "*/", "price/share", "a:b"]


@pytest.mark.parametrize("name", [*NAMES, *PATH_LIKE])
def test_hostile_names_are_just_names(name: str, spark: SparkSession) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    frame = spark.createDataFrame([(1, 1), (2, 2), (3, 3)], ["t", "v"]).withColumnRenamed("v", name)
    frame.createOrReplaceTempView("hostile")
    query = f"""SELECT {quoted} AS x, y FROM hostile MATCH_RECOGNIZE (ORDER BY t
        MEASURES FIRST({quoted}) AS {quoted}, LAST(B.{quoted}) + 1 AS y
        PATTERN (A B) DEFINE B AS {quoted} > A.{quoted})"""
    assert rows(motif.sql(query, spark=spark)) == [(1, 3)]
    every = f"MATCH_RECOGNIZE (PARTITION BY {quoted} ORDER BY t MEASURES t + 1 AS y ALL ROWS PER MATCH PATTERN (A))"
    assert rows(motif.match(frame, every)) == [(1, 1, 2), (2, 2, 3), (3, 3, 4)]


def test_a_string_that_looks_like_a_placeholder(spark: SparkSession, view: DataFrame) -> None:
    query = RISES.replace("SELECT *", "SELECT DISTINCT '__motif_0' AS x")
    assert rows(motif.sql(query, spark=spark)) == [("__motif_0",)]


@pytest.mark.parametrize(
    ("query", "kind", "text"),
    [
        ("SELECT * FROM trade " + UP, QueryBindError, "trade"),
        (RISES.replace("SUM(UP.v)", "SUM(UP.w)"), QueryBindError, "unknown column w"),
        (RISES.replace("SELECT *", "SELECT nope"), QueryBindError, "nope"),
        (RISES.replace("v > PREV(v)", "v > "), QuerySyntaxError, "expected"),
        (RISES.replace("v > PREV(v)", "v + 1"), QueryBindError, "must be a condition"),
        (RISES + " WHERE k >", QuerySyntaxError, "Syntax error"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    query: str, kind: type[MotifError], text: str, spark: SparkSession, view: DataFrame
) -> None:
    with pytest.raises(kind) as caught:
        motif.sql(query, spark=spark)
    assert text in caught.value.message
    assert "org.apache" not in str(caught.value)


def test_an_error_of_the_rows_comes_when_they_are_read(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"t": [1, 2], "c": ["a", "a"]}))
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES t AS t AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS c = 'b')"
    result = motif.match(frame, clause)
    with pytest.raises(Exception, match="QueryDataError: AFTER MATCH SKIP"):
        result.collect()


def test_tables_and_spark_do_not_go_together(spark: SparkSession) -> None:
    with pytest.raises(MotifError, match="do not go together"):
        motif.sql("SELECT 1", tables={}, spark=spark)


# --- Spark Connect ---

CONNECT = """
import sys
from pyspark.sql import SparkSession
import motif
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
try:
    assert "connect" in type(spark).__module__, type(spark)
    frame = spark.createDataFrame([(1, 1, 5), (1, 2, 7), (2, 1, 5), (2, 2, 3)], "k INT, t INT, v INT")
    frame.createOrReplaceTempView("trades")
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(v) + 1 AS h PATTERN (A B) DEFINE B AS v > A.v)"
    print("sql", [tuple(row) for row in motif.sql(f"SELECT * FROM trades {clause}", spark=spark).collect()])
    print("match", [tuple(row) for row in motif.match(frame, clause).collect()])
    asking = clause.replace("v > A.v", "CAST(A.v || B.v AS INT) = 57")
    print("asked", [tuple(row) for row in motif.match(frame, asking).collect()])
    try:
        motif.match(frame, asking.replace("A.v ||", "A.v || 'x' ||"))
    except motif.QueryDataError as error:
        print("failed", "5x7" in str(error) or "5x3" in str(error))
    try:
        motif.match(frame, asking.replace("A.v ||", "uuid() || A.v ||"))
    except motif.UnsupportedQuery as error:
        print("unsteady", "different rows" in str(error))
    try:
        motif.sql(f"SELECT nope FROM trades {clause}", spark=spark)
    except motif.QueryBindError as error:
        print("error", "nope" in str(error))
    open("secret.txt", "w").write("secret")
    refused = 0
    for attack in (
        "SELECT * FROM LATERAL text.`secret.txt`",
        "SELECT * FROM STREAM text.`.`",
        "SELECT * FROM trades, libsvm.`secret.txt`",
        "SELECT * FROM (trades JOIN other.secret)",
        "SELECT * FROM trades WITH (`path` = 'secret.txt')",
        "SELECT from_xml('<a/>', 'a int', map('rowValidationXSDPath', 'secret.txt'))",
        "SELECT from_protobuf(CAST('a' AS BINARY), 'A', 'secret.txt')",
        f"SELECT k FROM trades -- {chr(13)} UNION ALL SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        f"SELECT * FROM trades {clause.replace('v > A.v', 'lower(from_protobuf(v, v)) IS NULL')}",
    ):
        try:
            motif.sql(attack, spark=spark).collect()
        except motif.MotifError as error:
            refused += "file" in str(error) or "options" in str(error) or "reflect" in str(error)
            refused += "no table" in str(error)
    print("refused", refused)
    print("from_xml", motif.sql("SELECT from_xml('<r><a>1</a></r>', 'a int') AS x", spark=spark).collect()[0].x.a)
finally:
    spark.stop()
"""


def test_spark_connect(tmp_path: Path) -> None:
    """A server of its own on this machine, in a process of its own: classic and Connect do not share one."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", CONNECT]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=180, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-8:] == [
        *("sql [(1, 8)]", "match [(1, 8)]", "asked [(1, 8)]", "failed True", "unsteady True", "error True"),
        *("refused 9", "from_xml 1"),
    ]
