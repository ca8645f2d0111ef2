"""Small tables of Parquet files: the task that matches reads them by itself, but only what Spark would read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import motif
from column_values import COLUMNS, UTC
from motif.hosts.spark.files import SETTING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("small_tables")]

RISES = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(x) AS first, LAST(x) AS last
    PATTERN (A UP+) DEFINE A AS name <> 'c', UP AS x > PREV(x))"""
ROWS = pa.table(
    {
        "ts": pa.array(range(300)),
        "k": pa.array(["ab"[i % 2] for i in range(300)]),
        "x": pa.array([i * 7 % 11 for i in range(300)]),
        "name": pa.array(["abc"[i % 3] for i in range(300)]),
    }
)


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Sets a setting of the session for one test."""
    before: dict[str, str | None] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def stored(folder: Path, table: pa.Table = ROWS, **options: Any) -> str:
    """In three files."""
    folder.mkdir(exist_ok=True)
    cuts = [0, table.num_rows // 3, table.num_rows // 2, table.num_rows]
    for number, (low, high) in enumerate(pairwise(cuts)):
        pq.write_table(table.slice(low, high - low), folder / f"{number}.parquet", row_group_size=40, **options)
    return str(folder)


def is_read_by_itself(found: DataFrame) -> bool:
    return "Scan" not in found._jdf.queryExecution().executedPlan().toString()


def rows(found: DataFrame) -> list[str]:
    return sorted(str(row) for row in found.toArrow().to_pylist())


def by_spark(settings: Callable[[str, str], None], ask: Callable[[], DataFrame]) -> list[str]:
    """The same question with every row read by Spark."""
    settings(SETTING, "false")
    found = ask()
    assert not is_read_by_itself(found)
    return rows(found)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_type_is_what_spark_reads(
    zone: str, spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]
) -> None:
    settings("spark.sql.session.timeZone", zone)
    table = pa.table(
        {"i": pa.array(range(3))} | {name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()}
    )
    folder = stored(tmp_path / "types", table)
    clause = "MATCH_RECOGNIZE (ORDER BY i ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS i >= 0)"
    found = motif.match(spark.read.parquet(folder), clause)
    assert is_read_by_itself(found)
    answer = rows(found)
    assert len(answer) == 3
    assert answer == by_spark(settings, lambda: motif.match(spark.read.parquet(folder), clause))


def test_measures_and_keys_of_every_type(
    spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]
) -> None:
    table = pa.table({name: pa.array(values * 4, kind) for name, (kind, values) in COLUMNS.items()})
    table = table.append_column("i", pa.array(range(12)))
    frame = spark.read.parquet(stored(tmp_path / "keys", table))
    for name in COLUMNS:
        clause = f"""MATCH_RECOGNIZE (PARTITION BY {name} ORDER BY i MEASURES LAST({name}) AS last, COUNT(*) AS n
            PATTERN (A B) DEFINE B AS {name} IS NOT DISTINCT FROM PREV({name}))"""
        settings(SETTING, "true")
        found = motif.match(frame, clause)
        assert is_read_by_itself(found), name
        answer = rows(found)
        assert len(answer) == 6, name
        assert answer == by_spark(settings, lambda clause=clause: motif.match(frame, clause)), name  # type: ignore[misc]


@pytest.mark.parametrize(
    "condition", ["name = 'a'", "name <> 'a'", "'b' <= name", "name < 'ab'", "name = ''", "name = 'é'"]
)
def test_texts_are_compared_as_spark_does(condition: str, spark: SparkSession, tmp_path: Path) -> None:
    names = ["a", "b", "", None, "A", "é", "ab", "a\u0000"]
    table = pa.table({"i": pa.array(range(len(names))), "name": pa.array(names)})
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES A.i AS i PATTERN (A) DEFINE A AS {condition})"
    frame = spark.read.parquet(stored(tmp_path / "texts", table))
    found = motif.match(frame, clause)
    assert is_read_by_itself(found)
    assert rows(found) == rows(frame.where(condition).select("i"))
    made = motif.match(spark.createDataFrame(table), clause)
    assert rows(made) == rows(found)


def test_texts_of_another_collation_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(ROWS).selectExpr("ts", "k", "x", "name COLLATE UTF8_LCASE AS name")
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS ts PATTERN (A) DEFINE A AS name = 'C')"
    assert len(rows(motif.match(frame, clause))) == 100
    with pytest.raises(motif.MotifError, match="have no order here"):
        motif.match(frame, clause.replace("name = 'C'", "name > PREV(name)"))


NAMES = ("plain", "with space", "100%", "50%20", "a+b", "übel", "a#b", "a?b", "k=v&w")


@pytest.mark.parametrize("name", NAMES)
def test_any_path(name: str, spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]) -> None:
    folder = stored(tmp_path / name).replace("?", "\\?")
    frame = spark.read.parquet(folder + "/*.parquet" if "=" in name else folder)
    found = motif.match(frame, RISES)
    assert is_read_by_itself(found)
    assert rows(found) == by_spark(settings, lambda: motif.match(frame, RISES))


def test_tables_and_views(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.parquet(stored(tmp_path / "view"))
    frame.createOrReplaceTempView("file_rows")
    expected = rows(motif.match(spark.createDataFrame(ROWS), RISES))
    assert len(expected) > 10
    spark.sql(f"CREATE TABLE file_table USING parquet LOCATION '{tmp_path / 'view'}'")
    try:
        for text in ("file_rows", "file_table", "(SELECT x, ts, k, NAME, ts AS t FROM file_rows)"):
            found = motif.sql(f"SELECT * FROM {text} {RISES}", spark=spark)
            assert is_read_by_itself(found) == (not text.startswith("(")), text
            assert rows(found) == expected, text
        assert is_read_by_itself(motif.match(frame.select("x", "name", "k", "ts"), RISES))
        assert rows(motif.sql(f"SELECT * FROM file_rows {RISES.replace('x', 'X')}", spark=spark)) == expected
    finally:
        spark.sql("DROP TABLE file_table")


LEFT_TO_SPARK: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filtered": lambda frame: frame.where("x >= 0"),
    "renamed": lambda frame: frame.selectExpr("ts", "name AS k", "x", "k AS name"),
    "computed": lambda frame: frame.withColumn("x", frame["x"] + 1),
    "one column twice": lambda frame: frame.selectExpr("ts", "k", "ts AS x", "name"),
    "united": lambda frame: frame.where("x < 5").unionByName(frame.where("x > 5")),
    "cached": lambda frame: frame.cache(),
    "sampled": lambda frame: frame.sample(1.0, seed=1),
}


@pytest.mark.parametrize("changed", LEFT_TO_SPARK.values(), ids=LEFT_TO_SPARK)
def test_what_is_more_than_files_is_read_by_spark(
    changed: Callable[[DataFrame], DataFrame], spark: SparkSession, tmp_path: Path
) -> None:
    made = changed(spark.read.parquet(stored(tmp_path / "rows")))
    found = motif.match(made, RISES)
    assert not is_read_by_itself(found)
    assert rows(found) == sorted(str(row) for row in motif.match(made.toArrow(), RISES).to_pylist())


def with_column(kind: pa.DataType, values: Sequence[Any]) -> pa.Table:
    return ROWS.append_column("other", pa.array(list(values) * 100, kind))


def noted(name: str, value: str) -> pa.Table:
    """Dates in a file with a note of Spark."""
    table = with_column(pa.date32(), [dt.date(2026, 1, 1), None, dt.date(1990, 1, 1)])
    return table.replace_schema_metadata({name: value})


MADE: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "timestamps of old": (
        with_column(pa.timestamp("us", "UTC"), [dt.datetime(2026, 1, 1, tzinfo=UTC), None, None]),
        {"use_deprecated_int96_timestamps": True},
    ),
    "a calendar of old": (noted("org.apache.spark.legacyDateTime", ""), {}),
    "a version of old": (noted("org.apache.spark.version", "2.4.8"), {}),
    "unsigned numbers": (with_column(pa.uint32(), [1, 2**32 - 1, None]), {}),
    "a type of Arrow's own": (with_column(pa.duration("us"), [1, 2, None]), {}),
    "two of a name": (with_column(pa.int64(), [1, 2, 3]).append_column("OTHER", ROWS["x"]), {}),
}


@pytest.mark.parametrize(("table", "options"), MADE.values(), ids=MADE)
def test_files_that_spark_may_read_otherwise_are_read_by_spark(
    table: pa.Table, options: dict[str, Any], spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]
) -> None:
    settings("spark.sql.caseSensitive", str("OTHER" in table.column_names).lower())
    frame = spark.read.parquet(stored(tmp_path / "rows", table, **options))
    clause = RISES.replace("LAST(x) AS last", "LAST(other) AS last")
    assert not is_read_by_itself(motif.match(frame, clause))
    assert len(rows(motif.match(frame, clause))) > 10


def test_a_schema_of_the_user(spark: SparkSession, tmp_path: Path) -> None:
    narrow = ROWS.set_column(2, "x", ROWS["x"].cast(pa.int32()))
    reader = spark.read.schema("ts BIGINT, k STRING, x BIGINT, name STRING, more INT")
    expected = rows(motif.match(spark.createDataFrame(ROWS), RISES))
    for table, by_itself in ((ROWS, True), (narrow, False)):
        frame = reader.parquet(stored(tmp_path / str(by_itself), table))
        found = motif.match(frame, RISES)
        assert is_read_by_itself(found) == by_itself
        assert rows(found) == expected
        more = motif.match(frame, RISES.replace("LAST(x) AS last", "LAST(more) AS last"))
        assert not is_read_by_itself(more), "no file has the column"
        assert len(rows(more)) == len(expected)


def test_options_and_folders_that_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    folder = stored(tmp_path / "rows")
    expected = rows(motif.match(spark.createDataFrame(ROWS), RISES))
    spark.read.parquet(folder).write.partitionBy("k").parquet(str(tmp_path / "parted"))
    spark.read.parquet(folder).write.orc(str(tmp_path / "orc"))
    frames = {
        "merged": spark.read.option("mergeSchema", "true").parquet(folder),
        "parted": spark.read.parquet(str(tmp_path / "parted")),
        "orc": spark.read.orc(str(tmp_path / "orc")),
    }
    for name, frame in frames.items():
        found = motif.match(frame, RISES)
        assert not is_read_by_itself(found), name
        assert rows(found) == expected, name


def test_files_of_spark_itself(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(ROWS)
    frame.repartition(3).write.parquet(str(tmp_path / "written"))
    found = motif.match(spark.read.parquet(str(tmp_path / "written")), RISES)
    assert is_read_by_itself(found)
    assert rows(found) == rows(motif.match(frame, RISES))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (SETTING, "false"),
        ("spark.sql.files.ignoreCorruptFiles", "true"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"),
        ("spark.sql.parquet.fieldId.read.enabled", "true"),
    ],
)
def test_settings(
    name: str, value: str, spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]
) -> None:
    frame = spark.read.parquet(stored(tmp_path / "rows"))
    assert is_read_by_itself(motif.match(frame, RISES))
    settings(name, value)
    assert not is_read_by_itself(motif.match(frame, RISES))


def test_conditions_that_spark_computes_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.parquet(stored(tmp_path / "rows"))
    found = motif.match(frame, RISES.replace("name <> 'c'", "upper(name) <> 'C'"))
    assert not is_read_by_itself(found)
    assert rows(found) == rows(motif.match(frame, RISES))


def test_a_large_table_is_exchanged(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.parquet(stored(tmp_path / "rows"))
    spark.conf.set("spark.motif.costs", '{"one_task_bytes": 100}')
    assert not is_read_by_itself(motif.match(frame, RISES))


def test_what_does_not_fit_into_memory_is_sorted_on_disk(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.motif.costs", '{"task_sort_bytes": 1000}')
    found = motif.match(spark.read.parquet(stored(tmp_path / "rows")), RISES)
    assert is_read_by_itself(found)
    assert rows(found) == rows(motif.match(spark.createDataFrame(ROWS), RISES))


def test_a_table_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    found = motif.match(spark.read.parquet(stored(tmp_path / "none", ROWS.slice(0, 0))), RISES)
    assert is_read_by_itself(found)
    assert rows(found) == []


def test_a_file_that_is_gone_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    folder = Path(stored(tmp_path / "rows"))
    found = motif.match(spark.read.parquet(str(folder)), RISES)
    (folder / "1.parquet").unlink()
    with pytest.raises(Exception, match=r"(?s)1\.parquet.*read the table again"):
        found.collect()


def test_explain_tells(spark: SparkSession, tmp_path: Path, settings: Callable[[str, str], None]) -> None:
    spark.read.parquet(stored(tmp_path / "rows")).createOrReplaceTempView("explained_rows")
    text = str(motif.explain(f"SELECT * FROM explained_rows {RISES}", spark=spark))
    assert "One task reads" in text
    assert "3 Parquet files, by itself" in text
    assert "its values:" in text
    settings(SETTING, "false")
    text = str(motif.explain(f"SELECT * FROM explained_rows {RISES}", spark=spark))
    assert "One task reads" not in text
    assert "Spark selects" in text
