"""Matches of a stream are written exactly once: batches that come again, crashes, new checkpoints, every type."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as f

import motif
from motif.errors import MotifError
from motif.hosts.spark.sink import Sink, sink
from motif.hosts.spark.sink_connection import Link
from motif.hosts.spark.sink_folder import Folder, HadoopFiles
from motif.hosts.spark.sink_identity import Home
from motif.hosts.spark.sink_table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MATCHES = "match_id BIGINT, user STRING"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "alerts"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "alerts.db"


def matches(spark: SparkSession, *rows: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(rows), MATCHES)


def in_folder(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(str(folder)).collect())


def in_table(database: Path, text: str = "SELECT * FROM alerts ORDER BY 1, 2") -> list[tuple[Any, ...]]:
    with sqlite3.connect(database) as connection:
        return connection.execute(text).fetchall()


def to_table(database: Path, **more: Any) -> Sink:
    return sink(connect=lambda: sqlite3.connect(database), table="alerts", create=True, **more)


def refused(work: Callable[[], object]) -> MotifError:
    with pytest.raises(MotifError) as caught:
        work()
    assert caught.value.hint, "every refusal says what to do"
    return caught.value


# --- a folder ---


def test_a_batch_that_comes_again_is_left_out(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    write(matches(spark, (1, "ann"), (2, "bob")), 0)
    write(matches(spark, (3, "cid")), 1)
    write(matches(spark, (3, "cid"), (4, "dan")), 1)
    assert in_folder(spark, folder) == [(1, "ann", 0), (2, "bob", 0), (3, "cid", 1)]


def test_other_readers_see_the_same(spark: SparkSession, folder: Path) -> None:
    sink(folder)(matches(spark, (1, "ann")), 7)
    assert pq.read_table(folder, columns=["match_id", "user"]).to_pylist() == [{"match_id": 1, "user": "ann"}]
    assert duckdb.sql(f"SELECT match_id, batch::INT FROM '{folder}/*/*.parquet'").fetchall() == [(1, 7)]


@pytest.mark.parametrize("moment", ["before the renaming", "after it"])
def test_a_crash_leaves_nothing_half(
    moment: str, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = sink(folder)
    write(matches(spark, (1, "ann")), 0)
    name, step = ("rename", HadoopFiles.rename) if moment == "before the renaming" else ("create", HadoopFiles.create)

    def crash(self: HadoopFiles, *arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HadoopFiles, name, crash)
    with pytest.raises(KeyboardInterrupt):
        write(matches(spark, (2, "bob"), (3, "cid")), 1)
    monkeypatch.setattr(HadoopFiles, name, step)
    assert in_folder(spark, folder) in ([(1, "ann", 0)], [(1, "ann", 0), (2, "bob", 1), (3, "cid", 1)])
    write(matches(spark, (2, "bob"), (3, "cid")), 1)
    assert in_folder(spark, folder) == [(1, "ann", 0), (2, "bob", 1), (3, "cid", 1)]
    assert not (folder / "_tmp").exists()


def test_what_a_killed_process_left_is_replaced(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    write(matches(spark, (1, "ann")), 0)
    half = folder / "batch=000000000001"
    shutil.copytree(folder / "batch=000000000000", half, ignore=shutil.ignore_patterns("_committed"))
    shutil.copytree(half, folder / "_tmp" / "batch")
    write(matches(spark, (2, "bob")), 1)
    assert in_folder(spark, folder) == [(1, "ann", 0), (2, "bob", 1)]


def test_empty_batches_leave_no_files_but_the_first(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    write(matches(spark), 0)
    assert in_folder(spark, folder) == []
    assert spark.read.parquet(str(folder)).columns == ["match_id", "user", "batch"]
    write(matches(spark), 0)
    write(matches(spark), 1)
    write(matches(spark), 1)
    write(matches(spark, (1, "ann")), 2)
    assert in_folder(spark, folder) == [(1, "ann", 2)]
    assert sorted(path.name for path in folder.glob("batch=*")) == ["batch=000000000000", "batch=000000000002"]


def test_a_checkpoint_that_was_set_back_is_noticed(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    for batch in (0, 1):
        write(matches(spark, (batch, "ann")), batch)
    error = refused(lambda: write(matches(spark, (0, "ann")), 0))
    assert error.message == f"batch 0 of {folder} comes again after batch=000000000001: its checkpoint was set back"
    shutil.rmtree(folder / "batch=000000000000")
    refused(lambda: sink(folder)(matches(spark, (0, "ann")), 0))
    shutil.rmtree(folder / "batch=000000000001")
    write(matches(spark, (5, "eve")), 0)
    assert in_folder(spark, folder) == [(5, "eve", 0)]


def test_a_folder_with_something_else_is_left_alone(spark: SparkSession, folder: Path) -> None:
    folder.mkdir()
    (folder / "precious.parquet").touch()
    error = refused(lambda: sink(folder)(matches(spark), 0))
    assert error.message == f"{folder} holds something that motif.sink did not write: precious.parquet"
    assert [path.name for path in folder.iterdir()] == ["precious.parquet"]


def test_other_columns_are_refused(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    write(matches(spark, (1, "ann")), 0)
    assert "has other columns" in str(refused(lambda: write(spark.range(1), 1)))
    assert "has a column batch" in str(refused(lambda: write(spark.range(1).toDF("Batch"), 1)))
    twice = spark.sql("SELECT 1 AS a, 2 AS A")
    assert refused(lambda: write(twice, 1)).message == "two columns are called a"
    no_parquet = spark.sql("SELECT TIME '12:00:00' AS at")
    error = refused(lambda: sink(folder.with_name("times"))(no_parquet, 0))
    assert error.message == "these matches cannot be written as Parquet: The data type TIME is not supported"
    sink(folder.with_name("times"))(no_parquet.select(no_parquet["at"].cast("STRING")), 0)
    assert in_folder(spark, folder.with_name("times")) == [("12:00:00", 0)], "a folder without a batch is still free"


def test_a_damaged_identity_is_noticed(spark: SparkSession, folder: Path) -> None:
    write = sink(folder)
    write(matches(spark, (1, "ann")), 0)
    (folder / "_motif.json").write_text("{}")
    (folder / "._motif.json.crc").unlink()
    assert "damaged" in str(refused(lambda: write(matches(spark), 1)))


def test_a_path_that_spark_does_not_know(spark: SparkSession) -> None:
    error = refused(lambda: sink("mysql://host/alerts")(matches(spark), 0))
    assert error.message == 'mysql://host/alerts cannot be written: No FileSystem for scheme "mysql"'


def test_the_session_keeps_its_settings(spark: SparkSession, folder: Path) -> None:
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    sink(folder)(matches(spark), 0)
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before


def test_one_sink_in_several_threads(spark: SparkSession, folder: Path, database: Path) -> None:
    frame = matches(spark, (1, "ann"), (2, "bob"))
    for write in (sink(folder), to_table(database)):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda batch, write=write: write(frame, batch), [0] * 4))
    assert in_folder(spark, folder) == [(1, "ann", 0), (2, "bob", 0)]
    assert in_table(database) == [(1, "ann"), (2, "bob")]


# --- types ---

TYPES = """SELECT CAST(1 AS BIGINT) AS match_id, TIMESTAMP '2026-03-29 01:30:00.123456 UTC' AS at,
    TIMESTAMP_NTZ '2026-03-29 02:30:00.123456' AS local, DATE '2026-03-29' AS day,
    CAST(1.50 AS DECIMAL(30, 2)) AS price, true AS yes, X'00FF' AS bytes,
    INTERVAL '1 00:00:01.5' DAY TO SECOND AS took, CAST(0.1 AS DOUBLE) AS ratio,
    named_struct('at', TIMESTAMP '2026-03-29 01:30:00.123456 UTC', 'none', CAST(NULL AS INT)) AS event,
    array(1, NULL) AS list, map('a', 1) AS map, CAST(NULL AS STRING) AS nothing, TIME '12:00:01' AS clock"""
INSTANT = dt.datetime(2026, 3, 29, 1, 30, 0, 123456, dt.UTC)


def test_values_survive_in_files(spark: SparkSession, folder: Path) -> None:
    sink(folder)(spark.sql(TYPES).drop("clock", "took"), 0)
    [row] = pq.read_table(folder).to_pylist()
    assert row["at"] == INSTANT
    assert row["local"] == dt.datetime(2026, 3, 29, 2, 30, 0, 123456)
    assert (row["price"], row["nothing"]) == (Decimal("1.50"), None)
    assert row["event"] == {"at": INSTANT, "none": None}
    assert in_folder(spark, folder) == [(*spark.sql(TYPES).drop("clock", "took").collect()[0], 0)]


def test_values_survive_in_sqlite(spark: SparkSession, database: Path) -> None:
    to_table(database)(spark.sql(TYPES), 0)
    [row] = in_table(database)
    assert row == (
        *(1, "2026-03-29 01:30:00.123456+00:00", "2026-03-29 02:30:00.123456", "2026-03-29", "1.50"),
        *(1, b"\x00\xff", 86401.5, 0.1, '{"at":"2026-03-29T01:30:00.123456Z","none":null}'),
        *("[1,null]", '{"a":1}', None, "12:00:01"),
    )


def test_values_survive_in_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "alerts.duckdb"
    write = sink(connect=lambda: duckdb.connect(path), table="main.alerts", key="match_id", create=True)
    for _ in range(2):
        write(spark.sql(TYPES), 0)
    with duckdb.connect(path) as connection:
        [row] = connection.sql("SELECT * FROM alerts").fetchall()
        columns = connection.sql("SELECT * FROM alerts").columns
    found = dict(zip(columns, row, strict=True))
    assert found["at"] == INSTANT
    assert found["local"] == dt.datetime(2026, 3, 29, 2, 30, 0, 123456)
    assert (found["price"], found["bytes"]) == (Decimal("1.50"), b"\x00\xff")
    assert (found["took"], found["nothing"]) == (dt.timedelta(days=1, seconds=1.5), None)


# --- a table ---


@pytest.mark.parametrize("key", ["match_id", ()])
def test_a_table_gets_each_batch_once(key: Any, spark: SparkSession, database: Path) -> None:
    write = to_table(database, key=key)
    write(matches(spark, (1, "ann"), (2, "bob")), 0)
    write(matches(spark, (1, "ann"), (2, "bob")), 0)
    write(matches(spark), 1)
    write(matches(spark, (3, "cid")), 2)
    write(matches(spark, (3, "cid")), 2)
    assert in_table(database) == [(1, "ann"), (2, "bob"), (3, "cid")]
    assert in_table(database, "SELECT sink, batch_id FROM motif_batches") == [("alerts", 2)]


def test_with_a_key_the_ledger_may_be_lost(spark: SparkSession, database: Path) -> None:
    write = to_table(database, key=("MATCH_ID",))
    write(matches(spark, (1, "ann"), (2, "bob")), 0)
    in_table(database, "DROP TABLE motif_batches")
    write(matches(spark, (1, "ann"), (2, "bert")), 0)
    assert in_table(database) == [(1, "ann"), (2, "bert")]
    write(matches(spark, (3, "cid")), 1)
    write(matches(spark, (2, "bob")), 0)
    assert in_table(database) == [(1, "ann"), (2, "bob"), (3, "cid")], "a checkpoint that was set back loses nothing"


def test_a_key_of_all_columns(spark: SparkSession, database: Path) -> None:
    write = to_table(database, key=["match_id", "user"])
    write(matches(spark, (1, "ann"), (1, "ann")), 0)
    assert in_table(database) == [(1, "ann")]


def test_a_failure_in_the_middle_writes_nothing(spark: SparkSession, database: Path) -> None:
    in_table(database, "CREATE TABLE alerts (match_id INTEGER, user TEXT NOT NULL)")
    write = to_table(database)
    write(matches(spark, (1, "ann")), 0)
    error = refused(lambda: write(spark.sql("SELECT 2L AS match_id, 'bob' AS user UNION ALL SELECT 3L, NULL"), 1))
    assert error.message == (
        'batch 1 was not written to alerts: row {"match_id": 3} is refused: NOT NULL constraint failed: alerts.user'
    )
    assert in_table(database) == [(1, "ann")]
    write(matches(spark, (2, "bob"), (3, "cid")), 1)
    assert in_table(database) == [(1, "ann"), (2, "bob"), (3, "cid")]


NULL_AFTER_BOB = "SELECT 2L AS match_id, 'bob' AS user UNION ALL SELECT 3L, NULL"
SQLITE_MODES: list[dict[str, Any]] = [
    {"isolation_level": None},
    {"isolation_level": "EXCLUSIVE"},
    *([{"autocommit": True}, {"autocommit": False}] if sys.version_info >= (3, 12) else []),
]


@pytest.mark.parametrize("options", SQLITE_MODES)
def test_a_connection_that_commits_by_itself(options: Any, spark: SparkSession, database: Path) -> None:
    in_table(database, "CREATE TABLE alerts (match_id INTEGER, user TEXT NOT NULL)")
    write = sink(connect=lambda: sqlite3.connect(database, **options), table="alerts")
    refused(lambda: write(spark.sql(NULL_AFTER_BOB), 0))
    assert in_table(database) == []
    write(matches(spark, (2, "bob"), (3, "cid")), 0)
    assert in_table(database) == [(2, "bob"), (3, "cid")]


def test_a_database_whose_cursors_are_connections(spark: SparkSession, tmp_path: Path) -> None:
    """DuckDB: what one of its cursors does is no part of the transaction of another."""
    path = tmp_path / "alerts.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA kept")
        connection.execute("CREATE TABLE kept.alerts (match_id BIGINT, user TEXT, CHECK (match_id <> 4))")

    def found() -> tuple[list[Any], list[Any]]:
        with connect() as connection:
            rows = connection.execute("FROM alerts ORDER BY ALL").fetchall()
            return rows, connection.execute("SELECT batch_id FROM motif_batches").fetchall()

    def connect() -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(path)
        connection.execute("USE kept")
        return connection

    write = sink(connect=connect, table="alerts")
    write(matches(spark, (1, "ann")), 0)
    error = refused(lambda: write(matches(spark, (2, "bob"), (3, "cid"), (4, "dan"), (5, "eve")), 1))
    assert error.message.startswith(
        'batch 1 was not written to alerts: row {"match_id": 4} is refused: Constraint Error: CHECK constraint failed'
    )
    assert found() == ([(1, "ann")], [(0,)])
    write(matches(spark, (2, "bob"), (3, "cid")), 1)
    assert found() == ([(1, "ann"), (2, "bob"), (3, "cid")], [(1,)])


BAD_ROWS = """SELECT 1L AS match_id, 'ann' AS user, TIMESTAMP '2026-01-01 00:00:00' AS at, 1L AS small
    UNION ALL SELECT 2L, CAST(X'636166E9' AS STRING), TIMESTAMP '2026-01-01 00:00:00', 2L
    UNION ALL SELECT 3L, 'bob', timestamp_micros(300000000000000000), 3L
    UNION ALL SELECT 4L, NULL, TIMESTAMP '2026-01-01 00:00:00', 4L
    UNION ALL SELECT 5L, 'cid', TIMESTAMP '2026-01-01 00:00:00', 5000000000L
    UNION ALL SELECT 6L, 'dan', TIMESTAMP '2026-01-01 00:00:00', 6L
    UNION ALL SELECT 7L, 'ann', TIMESTAMP '2026-01-01 00:00:00', 7L
    UNION ALL SELECT 8L, 'eve', TIMESTAMP '2026-01-01 00:00:00', 8L"""
REASONS = {2: "user has text that is not UTF-8", 3: "at has a time outside of the years 1 to 9999"}
CONTENTS = {
    2: {"match_id": 2, "user": {"bytes": "636166e9"}, "at": "2026-01-01 00:00:00+00:00", "small": 2},
    3: {"match_id": 3, "user": "bob", "at": "11476-08-15 05:20:00.000000Z", "small": 3},
    4: {"match_id": 4, "user": None, "at": "2026-01-01 00:00:00+00:00", "small": 4},
}


@pytest.fixture(params=["sqlite3", "duckdb"])
def picky(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Opens a database with a table that does not take all rows."""
    driver = sys.modules[request.param]

    def connect() -> Any:
        return driver.connect(tmp_path / "alerts.db")

    columns = 'user TEXT NOT NULL UNIQUE, "at" TEXT, small INTEGER CHECK (small < 100)'
    done(connect, f"CREATE TABLE alerts (match_id BIGINT PRIMARY KEY, {columns})")
    return connect


def done(connect: Callable[[], Any], text: str) -> list[tuple[Any, ...]]:
    connection = connect()
    try:
        found: list[tuple[Any, ...]] = connection.execute(text).fetchall()
        connection.commit()
    except duckdb.TransactionException:
        pass  # it commits by itself
    finally:
        connection.close()
    return found


@pytest.mark.parametrize("key", ["match_id", ()])
def test_rows_that_are_refused_have_a_table_of_their_own(key: Any, picky: Any, spark: SparkSession) -> None:
    """One that takes no value of Python, one that the table does not take, one that it takes by itself only."""
    write = sink(connect=picky, table="alerts", key=key, dead_letters="refused")
    for _ in range(2):
        write(spark.sql(BAD_ROWS), 0)
    assert done(picky, "SELECT match_id FROM alerts ORDER BY 1") == [(1,), (6,), (8,)]
    letters = done(picky, "SELECT content, reason, sink, query_id, batch_id FROM refused")
    found = {json.loads(row[0])["match_id"]: row for row in letters}
    assert len(letters) == len(found)
    assert found.keys() == {2, 3, 4, 5, 7}
    assert {number: json.loads(found[number][0]) for number in CONTENTS} == CONTENTS
    assert {number: found[number][1] for number in REASONS} == REASONS
    assert all("onstraint" in found[number][1] for number in (4, 7))
    assert {row[2:] for row in letters} == {("alerts", "", 0)}
    write(spark.sql(BAD_ROWS).filter("match_id IN (3, 8)").withColumn("match_id", f.col("match_id") + 10), 1)
    assert len(done(picky, "SELECT * FROM refused")) == len(found) + 2
    if key:
        done(picky, "DELETE FROM motif_batches")
        write(spark.sql(BAD_ROWS), 7)
        assert len(done(picky, "SELECT * FROM refused")) == len(found) + 2, (
            "with a key, a row that comes again stays one"
        )


@pytest.mark.parametrize(
    ("condition", "row", "reason"),
    [
        ("match_id IN (1, 2)", '{"match_id": 2}', REASONS[2]),
        ("match_id IN (1, 3, 4)", '{"match_id": 3}', REASONS[3]),
        ("match_id IN (1, 7, 8)", '{"match_id": 7}', "onstraint"),
    ],
)
def test_a_row_that_is_refused_is_named(condition: str, row: str, reason: str, picky: Any, spark: SparkSession) -> None:
    write = sink(connect=picky, table="alerts")
    error = refused(lambda: write(spark.sql(BAD_ROWS).filter(condition), 0))
    assert error.message.startswith(f"batch 0 was not written to alerts: row {row} is refused: ")
    assert reason in error.message
    assert "dead_letters='alerts_refused'" in str(error)
    assert done(picky, "SELECT * FROM alerts") == done(picky, "SELECT * FROM motif_batches") == []


def test_a_kill_between_rows_and_dead_letters_leaves_neither(picky: Any, spark: SparkSession) -> None:
    write = sink(connect=picky, table="alerts", dead_letters="refused")
    write(spark.sql(BAD_ROWS).filter("match_id = 1"), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Link, "run", crash_at("refused", Link.run))
        with pytest.raises(KeyboardInterrupt):
            write(spark.sql(BAD_ROWS).filter("match_id > 2"), 1)
    assert [len(done(picky, f"SELECT * FROM {name}")) for name in ("alerts", "refused")] == [1, 0]
    assert done(picky, "SELECT batch_id FROM motif_batches") == [(0,)]
    write(spark.sql(BAD_ROWS).filter("match_id > 2"), 1)
    assert [len(done(picky, f"SELECT * FROM {name}")) for name in ("alerts", "refused")] == [3, 4]


def crash_at(name: str, work: Callable[..., None]) -> Callable[..., None]:
    def run(link: Link, text: str, *values: object) -> None:
        work(link, text, *values)
        if text.startswith(f'INSERT INTO "{name}"'):
            raise KeyboardInterrupt

    return run


class Careless:
    """SQLite behind a driver that does not begin transactions; `mends`: until it is told to."""

    def __init__(self, connection: sqlite3.Connection, mends: str) -> None:
        self.connection, self.mends = connection, mends
        self.commit, self.close, self.cursor = connection.commit, connection.close, connection.cursor
        if mends == "by a method":
            self.autocommit = self.switch
        connection.isolation_level = None

    def rollback(self) -> None:
        if self.mends == "no rollback":
            raise sqlite3.NotSupportedError("no transactions here")
        self.connection.rollback()

    def switch(self, on: bool) -> None:
        self.connection.isolation_level = None if on else ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "autocommit" and not callable(value):
            self.switch(value)
        super().__setattr__(name, value)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], Careless]:
    driver = ModuleType("careless")
    driver.paramstyle, driver.Error = "qmark", sqlite3.Error  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "careless", driver)
    monkeypatch.setattr(Careless, "__module__", "careless")

    def connect(database: Path, mends: str) -> Careless:
        connection = Careless(sqlite3.connect(database), mends)
        if mends == "by an attribute":
            connection.autocommit = True  # type: ignore[assignment, method-assign]
        return connection

    return connect


@pytest.mark.parametrize("mends", ["by a method", "by an attribute"])
def test_a_driver_that_is_told_not_to_commit(mends: str, careless: Any, spark: SparkSession, database: Path) -> None:
    in_table(database, "CREATE TABLE alerts (match_id INTEGER, user TEXT NOT NULL)")
    write = sink(connect=lambda: careless(database, mends), table="alerts")
    write(matches(spark, (1, "ann")), 0)
    refused(lambda: write(spark.sql(NULL_AFTER_BOB), 1))
    assert in_table(database) == [(1, "ann")]
    assert in_table(database, "SELECT batch_id FROM motif_batches") == [(0,)]


@pytest.mark.parametrize(
    ("mends", "message"),
    [
        ("never", "the database does not take back what is rolled back; a batch that fails half-way would stay there"),
        ("no rollback", "the database takes nothing back: no transactions here; a batch that fails half-way would"),
    ],
)
def test_what_is_no_transaction_is_refused(
    mends: str, message: str, careless: Any, spark: SparkSession, database: Path
) -> None:
    write = sink(connect=lambda: careless(database, mends), table="alerts", create=True)
    for _ in range(2):
        assert refused(lambda: write(matches(spark, (1, "ann")), 0)).message.startswith(message)
    assert in_table(database) == []
    assert in_table(database, "SELECT * FROM motif_batches WHERE query_id = ''") == []


def test_what_does_not_fit_the_table(spark: SparkSession, database: Path) -> None:
    def error(**more: Any) -> str:
        write = sink(connect=lambda: sqlite3.connect(database), table="alerts", **more)
        return str(refused(lambda: write(matches(spark, (1, "ann")), 0)))

    assert error().startswith("table alerts cannot be read: no such table: alerts\n  hint: create it")
    assert error(key="match") == ("the matches have no column match, which key= names\n  hint: did you mean match_id?")
    in_table(database, "CREATE TABLE alerts (match_id INTEGER, usr TEXT)")
    assert error().startswith(
        "table alerts has no column user\n  hint: add it, or leave it out of the matches; did you"
    )
    in_table(database, "ALTER TABLE alerts ADD COLUMN User TEXT")
    assert "hint: key= needs a primary key or a unique index of the table on (match_id)" in error(key="match_id")


def test_names_are_quoted(spark: SparkSession, database: Path) -> None:
    name = 'al"erts %s; --'
    frame = matches(spark, (1, "ann")).toDF("match id", 'us"er?:p1%s`')
    write = sink(connect=lambda: sqlite3.connect(database), table=name, key="match id", create=True)
    write(frame, 0)
    write(frame, 0)
    assert in_table(database, 'SELECT * FROM "al""erts %s; --"') == [(1, "ann")]


class Styled:
    """SQLite behind a driver with another style of marks."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.commit, self.rollback, self.close = connection.commit, connection.rollback, connection.close

    def cursor(self) -> StyledCursor:
        return StyledCursor(self.connection.cursor())


class StyledCursor:
    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.cursor = cursor

    def execute(self, text: str, *values: Any) -> None:
        self.cursor.execute(styled(text) if values else text, *values)

    def executemany(self, text: str, rows: list[Any]) -> None:
        self.cursor.executemany(styled(text), rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)


def styled(text: str) -> str:
    """A statement in a style that SQLite takes."""
    match sys.modules["styled"].paramstyle:
        case "format":
            return text.replace("%s", "?").replace("%%", "%")
        case "pyformat":
            return re.sub(r"%\((p\d+)\)s", r":\1", text).replace("%%", "%")
        case "numeric":
            return re.sub(r":(\d+)", r"?\1", text)
        case _:
            return text


@pytest.mark.parametrize("style", ["format", "pyformat", "numeric", "named"])
def test_every_style_of_marks(style: str, spark: SparkSession, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ModuleType("styled")
    driver.paramstyle, driver.Error = style, sqlite3.Error  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "styled", driver)
    monkeypatch.setattr(Styled, "__module__", "styled")
    write = sink(connect=lambda: Styled(sqlite3.connect(database)), table="alerts", key="match_id", create=True)
    frame = matches(spark, (1, "ann"), (2, "bob")).toDF("match_id", "100%")
    write(frame, 0)
    write(frame, 0)
    write(frame, 1)
    assert in_table(database) == [(1, "ann"), (2, "bob")]
    assert in_table(database, 'SELECT "100%" FROM alerts WHERE match_id = 1') == [("ann",)]


def test_a_database_that_cannot_be_used(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = sink(connect=lambda: sqlite3.connect(tmp_path / "no" / "alerts.db"), table="alerts")
    with pytest.raises(MotifError, match=r"^the database cannot be reached: unable to open database file$"):
        nowhere(matches(spark), 0)
    nothing = sink(connect=lambda: object(), table="alerts")
    assert "gave object, which is not a connection" in str(refused(lambda: nothing(matches(spark), 0)))


# --- mistakes ---

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "nowhere": (lambda: sink(), "motif.sink is not told where to write"),
    "both": (lambda: sink("a", connect=sqlite3.connect), "a path and connect= do not go together"),
    "no path": (lambda: sink(3), "3 is not a path"),  # type: ignore[arg-type]
    "empty path": (lambda: sink(""), "'' is not a path"),
    "no table": (lambda: sink(connect=sqlite3.connect), "the table to write to is not named"),
    "no table at an address": (lambda: sink("postgresql://h/d"), "the table to write to is not named"),
    "a table of nothing": (lambda: sink("a", table="alerts"), "table= is for databases"),
    "a key of a folder": (lambda: sink("a", key="match_id"), "key=, create= and dead_letters= are for tables"),
    "dead letters of a folder": (lambda: sink("a", dead_letters="b"), "key=, create= and dead_letters= are for tables"),
    "dead letters at home": (
        lambda: sink(connect=sqlite3.connect, table="a", dead_letters="a"),
        "dead_letters= takes the name of another table, not 'a'",
    ),
    "dead letters nowhere": (
        lambda: sink(connect=sqlite3.connect, table="a", dead_letters="b."),
        "dead_letters= takes the name of another table, not 'b.'",
    ),
    "JDBC": (lambda: sink("jdbc:oracle:x", table="a"), "this database is not written through JDBC"),
    "a connection": (
        lambda: sink(connect=3, table="a"),  # type: ignore[arg-type]
        "connect= takes a function that opens a connection, not int",
    ),
    "a key twice": (
        lambda: sink(connect=sqlite3.connect, table="a", key=("k", "k")),
        "key= takes different names of columns, not ('k', 'k')",
    ),
    "a key of no columns": (
        lambda: sink(connect=sqlite3.connect, table="a", key=3),  # type: ignore[arg-type]
        "key= takes different names of columns, not 3",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    work, message = MISTAKES[name]
    assert refused(work).message == message


def test_postgres_needs_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused(lambda: sink("postgresql://user:secret@host/db", table="alerts"))
    assert error.message == "a postgresql:// address needs the package psycopg, which is not installed"


def test_no_password_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ModuleType("psycopg")
    opened: list[str] = []
    driver.connect = opened.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "psycopg", driver)
    write = sink("jdbc:postgresql://user:secret@host/db", table="alerts", key="match_id")
    assert "secret" not in repr(write)
    assert isinstance(write.place, Table)
    write.place.connect()
    assert opened == ["postgresql://user:secret@host/db"]


def test_what_is_not_a_batch(spark: SparkSession, folder: Path) -> None:
    write: Any = sink(folder)
    assert refused(lambda: write("rows", 0)).message == "a batch is a DataFrame, not str"
    assert refused(lambda: write(spark.range(1), -1)).message == "the number of a batch is 0 or more, not -1"
    stream = spark.readStream.format("rate").load()
    assert refused(lambda: write(stream, 0)).message == "this is the stream itself, not a batch of it"
    assert write.place == Folder(str(folder))
    assert not folder.exists()


# --- streams ---


class Stream:
    """A stream of files; each file is a batch."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home
        (home / "in").mkdir()

    def add(self, *rows: tuple[int, str]) -> None:
        number = len(list((self.home / "in").iterdir()))
        text = "".join(json.dumps({"match_id": k, "user": v}) + "\n" for k, v in rows)
        (self.home / "in" / f"{number}.json").write_text(text)

    def run(self, write: Callable[[DataFrame, int], None], checkpoint: str = "checkpoint") -> None:
        """All there is now, and stop."""
        events = self.spark.readStream.schema(MATCHES).option("maxFilesPerTrigger", 1).json(str(self.home / "in"))
        writer = events.writeStream.foreachBatch(write).option("checkpointLocation", str(self.home / checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def crashing(write: Sink) -> Callable[[DataFrame, int], None]:
    """Writes, and dies before Spark hears of it."""

    def work(frame: DataFrame, batch: int) -> None:
        write(frame, batch)
        raise RuntimeError("the plug was pulled")

    return work


def test_a_stream_into_a_folder(stream: Stream, folder: Path) -> None:
    stream.add((1, "ann"), (2, "bob"))
    with pytest.raises(StreamingQueryException, match="the plug was pulled"):
        stream.run(crashing(sink(folder)))
    stream.add((3, "cid"))
    stream.run(sink(folder))
    expected = [(1, "ann", 0), (2, "bob", 0), (3, "cid", 1)]
    assert in_folder(stream.spark, folder) == expected
    with pytest.raises(StreamingQueryException, match="holds the matches of another stream"):
        stream.run(sink(folder), "another")
    assert in_folder(stream.spark, folder) == expected
    assert re.fullmatch(r"[0-9a-f-]{36}", json.loads((folder / "_motif.json").read_text())["query"])


def test_a_stream_into_a_table(stream: Stream, database: Path) -> None:
    stream.add((1, "ann"))
    with pytest.raises(StreamingQueryException, match="the plug was pulled"):
        stream.run(crashing(to_table(database)))
    stream.add((3, "cid"))
    stream.run(to_table(database))
    assert in_table(database) == [(1, "ann"), (3, "cid")]
    with pytest.raises(StreamingQueryException, match="holds the matches of another stream"):
        stream.run(to_table(database), "another")
    in_table(database, "CREATE UNIQUE INDEX ids ON alerts (match_id)")
    stream.run(to_table(database, key="match_id"), "another")
    assert in_table(database) == [(1, "ann"), (3, "cid")]


@pytest.mark.parametrize("place", ["folder", "table", "a folder without a match"])
def test_a_stream_with_state_starts_again_at_once(place: str, stream: Stream, folder: Path, database: Path) -> None:
    """Spark refuses a batch of which the state was not worked out, also one that was written before the crash."""
    query = "SELECT a.n AS first, b.user FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s"
    schema = "ts TIMESTAMP, type STRING, k INT, n BIGINT, user STRING"

    def add(name: str, *rows: tuple[int, str, int, str]) -> None:
        lines = [
            json.dumps({"ts": f"2026-01-01T00:00:{at:02}Z", "type": kind, "k": at % 2, "n": n, "user": user})
            for at, kind, n, user in rows
        ]
        (stream.home / "in" / name).write_text("\n".join(lines))

    def run(write: Callable[[DataFrame, int], None]) -> None:
        events = stream.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(stream.home / "in"))
        found = motif.match(events, query, lateness="1 second", buckets=2).select("first", "user")
        writer = found.writeStream.foreachBatch(write).option("checkpointLocation", str(stream.home / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    write = to_table(database) if place == "table" else sink(folder)
    add("0.json", (0, "A", 1, "ann"), (2, "B" if place != "a folder without a match" else "A", 2, "bob"))
    with pytest.raises(StreamingQueryException, match="the plug was pulled"):
        run(crashing(write))
    add("1.json", (4, "B", 3, "cid"), (40, "B", 4, "dan"))
    run(write)
    found = in_table(database) if place == "table" else [row[:2] for row in in_folder(stream.spark, folder)]
    assert found == ([(1, "cid"), (2, "cid")] if "without" in place else [(1, "bob"), (1, "cid")])


CONNECT = """
import json, os, sqlite3
from pathlib import Path
from pyspark.sql import SparkSession
import motif
from motif.hosts.spark.sink import sink
from motif.hosts.spark.sink_folder import files_of

spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
here = Path.cwd()
Path("in").mkdir()
Path("in/0.json").write_text(json.dumps({"match_id": 1}))

def run(write, checkpoint="checkpoint", name="alerts"):
    events = spark.readStream.schema("match_id BIGINT").json(f"{here}/in")
    writer = events.writeStream.foreachBatch(write).option("checkpointLocation", f"{here}/{checkpoint}")
    for _ in range(6):
        try:
            writer.queryName(name).trigger(availableNow=True).start().awaitTermination()
        except Exception as error:
            if "worker failed to connect back" in str(error):
                continue  # The server gives a Python process 10 s to start, which is too few when the machine is busy.
            lines = [line for line in str(error).splitlines() if line.startswith("motif.errors")]
            return lines[0].split(": ", 1)[1] if lines else str(error)
        return "done"

try:
    write = sink(f"{here}/alerts")
    print(run(write))
    Path("in/1.json").write_text(json.dumps({"match_id": 2}))
    print(run(write))
    print(sorted(tuple(row) for row in spark.read.parquet(f"{here}/alerts").collect()))
    print(run(write, "another"))
    for work in (lambda: files_of(spark, "s3a://bucket/alerts"), lambda: write(spark.range(1), 0)):
        try:
            work()
        except motif.MotifError as error:
            print(error.message)
    database = f"{here}/alerts.db"
    to_table = sink(connect=lambda: sqlite3.connect(database), table="alerts", create=True, query_name="alerts")
    print(run(to_table, "third"))
    print(sorted(sqlite3.connect(database).execute("SELECT * FROM alerts")))
finally:
    spark.stop()
"""


def test_spark_connect(tmp_path: Path) -> None:
    """A server of its own on this machine, in a process of its own: classic and Connect do not share one."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    done = subprocess.run(
        [sys.executable, "-c", CONNECT],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if not line.startswith("Streaming ForeachBatch")]
    assert said[:3] == ["done", "done", "[(1, 0), (2, 1)]"], said
    assert said[3].startswith(f"{tmp_path}/alerts holds the matches of another stream: of query ")
    assert said[4] == "on Spark Connect a sink writes to local folders only, not to s3a://bucket/alerts"
    assert said[5] == "on Spark Connect this sink does not know its stream"
    assert said[6:] == ["done", "[(1,), (2,)]"]


def test_which_stream_of_a_connect_session() -> None:
    def query(*active: tuple[str, str], name: str | None = None) -> str:
        streams = SimpleNamespace(active=[SimpleNamespace(name=name, id=number) for name, number in active])
        return Home(SimpleNamespace(streams=streams), name).query  # type: ignore[arg-type]

    assert query(("alerts", "1")) == "1"
    assert query(("alerts", "1"), ("other", "2"), name="other") == "2"
    error = refused(lambda: query(("alerts", "1"), ("other", "2")))
    assert error.message == "Spark Connect does not tell which stream a batch belongs to, and this session runs 2"
    assert "no stream of this session is called few" in str(refused(lambda: query(("alerts", "1"), name="few")))
