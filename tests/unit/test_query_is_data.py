"""Query text in process runs nothing, opens nothing, sets nothing and leaves nothing behind."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import motif
from motif.errors import MotifError, QueryBindError, UnsupportedQuery
from motif.hosts import duckdb_safety
from motif.hosts.duckdb_database import Database
from motif.hosts.duckdb_safety import Unsafe, judged

TABLE = pa.table({"v": [1, 2], "s": ["a", "b"]})
CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES {item} AS x PATTERN (A) DEFINE A AS {condition})"
EVENTS = "SELECT {item} AS x FROM SEQ(A a; B b) WHERE {condition}"
SECRET = "nobody may read this"


def judge(sql: str) -> duckdb_safety.Judged:
    return judged(sql, duckdb.connect())


def test_a_message_with_half_a_letter_is_one_of_ours() -> None:
    bits = "lower((B'\u017f FROM t \u0131').s) <> 'z'"
    with pytest.raises(MotifError):
        motif.sql(CLAUSE.format(item="v", condition=bits), tables={"t": TABLE})
    broken = "((lower(((B'\u017f FROM enable_logging() \u0131').s)) <> 'z'))"
    with pytest.raises(Unsafe):
        judge(f"WITH c AS (SELECT v FROM t) SELECT 1 FROM t WHERE {broken}")


NOT_A_QUERY = [
    "SELECT 1; SELECT 2",
    "SELECT 1; CREATE MACRO lower(a) AS 'x'",
    "CREATE OR REPLACE MACRO memory.main.lower(a) AS 'x'",
    "SET threads = 1",
    "PRAGMA version",
    "CALL pragma_version()",
    "COPY t TO 'x.csv'",
    "EXPLAIN ANALYZE SELECT 1",
    "ATTACH 'x.db'",
    "PIVOT t ON v USING sum(v)",
    "FROM (PIVOT t ON v USING sum(v))",
    "WITH x AS (COPY t TO 'x.csv') FROM x",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING *) FROM x",
    "WITH x AS (UPDATE t SET v = 1 RETURNING *) FROM x",
    "WITH x AS (DELETE FROM t RETURNING *) FROM x",
    "FROM (SHOW ALL TABLES)",
    "FROM (SHOW DATABASES)",
    'WITH "x.csv" AS (SELECT 1) FROM "x.csv"',
    "WITH duckdb_views AS (SELECT 1) FROM duckdb_views",
]


@pytest.mark.parametrize("sql", NOT_A_QUERY)
def test_only_one_query_is_run_whatever_the_text_looked_like_to_us(sql: str) -> None:
    with pytest.raises(Unsafe):
        judge(sql)


@pytest.mark.parametrize(
    "call",
    """write_log('x') setseed(0.5) nextval('s') setval('s',1) sleep_ms(1) pg_sleep(1) current_setting('threads')
    getvariable('x') current_query() json_serialize_plan('SELECT1') pg_get_viewdef(1) get_block_size('memory')
    finalize(x) __internal_decompress_string(x) system.main.write_log('x') 'x'.write_log()
    """.split(),
)
def test_functions_that_do_more_than_compute_are_refused(call: str) -> None:
    with pytest.raises(Unsafe, match="does more than compute") as caught:
        judge(f"SELECT {call} FROM t")
    assert caught.value.message.endswith("leave it out, or write its value in its place")
    for query in (f"SELECT {call} FROM t", CLAUSE.format(item="1", condition=f"{call} IS NULL")):
        with pytest.raises(MotifError):
            motif.sql(query, tables={"t": TABLE})


def test_no_function_for_from_reads_more_than_its_arguments() -> None:
    connection = duckdb.connect()
    found = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')"
    allowed = set()
    for (name,) in connection.execute(found).fetchall():
        try:
            judge(f'FROM "{name}"(1)')
            allowed.add(name)
        except Unsafe:
            continue
    assert allowed == {
        *("generate_series", "range", "repeat", "repeat_row", "unnest"),
        *("json_each", "json_tree", "icu_calendar_names", "pg_timezone_names"),
    }


def test_every_function_with_effects_is_refused_but_those_that_only_give_another_value() -> None:
    connection = duckdb.connect()
    found = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE has_side_effects"
    allowed = {name for (name,) in connection.execute(found).fetchall() if _is_allowed(name)}
    assert allowed == {"error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"}


def _is_allowed(name: str) -> bool:
    try:
        judge(f'SELECT "{name}"(1)')
    except Unsafe:
        return False
    return True


def test_views_of_the_database_itself_are_no_tables() -> None:
    views = duckdb.connect().execute("SELECT schema_name, view_name FROM duckdb_views() WHERE internal").fetchall()
    database = Database({"t": TABLE})
    for schema, view in views:
        for name in (f"{schema}.{view}", f"system.{schema}.{view}", view):
            with pytest.raises(MotifError):
                motif.sql(f"SELECT count(*) FROM {name}", tables={"t": TABLE})
        if schema in ("main", "pg_catalog"):  # what DuckDB sees without the name of a schema
            assert view.startswith(("duckdb_", "pg_", "pragma_", "sqlite_"))
    assert database.table("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 2}]


def test_a_table_may_have_the_name_of_such_a_view() -> None:
    named = {"duckdb_views": TABLE}
    assert motif.sql("SELECT count(*) AS n FROM duckdb_views", tables=named).to_pylist() == [{"n": 2}]
    with pytest.raises(QueryBindError):
        motif.sql("SELECT count(*) AS n FROM main.duckdb_views", tables=named)


ENDS = ["\r", "\r\n", "\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\x1e", "\x00"]


@pytest.mark.parametrize("end", ENDS)
def test_what_a_comment_hides_is_not_run(end: str) -> None:
    hidden = f" -- {end}; CREATE OR REPLACE MACRO memory.main.lower(a) AS 'x'; SELECT 1 {end}"
    queries = [
        f"SELECT lower('A') FROM t{hidden}",
        f"SELECT lower(s){hidden} FROM t",
        CLAUSE.format(item=f"lower(s){hidden}", condition="TRUE"),
        CLAUSE.format(item="1", condition=f"lower(s) = 'a'{hidden}"),
    ]
    for query in queries:
        with suppress(MotifError):
            motif.sql(query, tables={"t": TABLE})
        assert motif.sql("SELECT lower('A') AS x FROM t LIMIT 1", tables={"t": TABLE}).to_pylist() == [{"x": "a"}]


def test_files_beside_the_given_ones_stay_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("secret.csv", ".tmp/secret.csv", "given.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"v\n{SECRET}\n", encoding="utf-8")
    tables = {"given": "given.csv"}
    for source in ("'secret.csv'", "'.tmp/secret.csv'", '".tmp/secret.csv"', "'.tmp/*.csv'", "read_csv('given.csv')"):
        for query in (f"SELECT * FROM {source}", f"SELECT * FROM {source} MATCH_RECOGNIZE (PATTERN (A))"):
            with pytest.raises(UnsupportedQuery, match="query text can not open files or sockets"):
                motif.sql(query, tables=tables)
    with pytest.raises(MotifError):
        motif.sql("SELECT * FROM glob('.tmp/*')", tables=tables)
    assert not (tmp_path / "x.csv").exists()


def test_a_function_that_looks_around_gets_a_hint() -> None:
    with pytest.raises(UnsupportedQuery, match="looks at more than its arguments") as caught:
        motif.sql("SELECT * FROM duckdb_settings()", tables={"t": TABLE})
    assert "hint: give what it needs as a table" in str(caught.value)


def test_event_queries_are_judged_as_well() -> None:
    events = pa.table({"type": ["A", "B"], "ts": [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)], "s": ["a", "b"]})
    fine = EVENTS.format(item="lower(a.s)", condition="upper(a.s) = 'A'")
    assert motif.match(events, fine).to_pylist()[0]["x"] == "a"
    for item, condition in (("write_log('x')", "a.s = 'a'"), ("a.s", "write_log(a.s) IS NULL")):
        with pytest.raises(MotifError, match="does more than compute"):
            motif.match(events, EVENTS.format(item=item, condition=condition))


def test_a_text_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT 41 + 1 AS x FROM t LIMIT 1"
    motif.sql(query, tables={"t": TABLE})
    monkeypatch.setattr(duckdb_safety, "_judge", None)
    assert motif.sql(query, tables={"t": TABLE}).to_pylist() == [{"x": 42}]
