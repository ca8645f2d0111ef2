"""What is wrong gets the right class of error, a place, and a hint, at once; hostile text does nothing at all."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pytest

import motif
from motif.errors import LimitExceeded, MotifError, QueryBindError, QueryDataError, QuerySyntaxError, UnsupportedQuery
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database
from motif.lang.statement import parse_statement
from motif.plan.program import Program

TRADES = pa.table(
    {
        "t": [1, 2, 3],
        "k": ["a", "a", "b"],
        "price": [1, None, 3],
        "name": ["x", "y", "z"],
        "at": [datetime(2024, 1, day) for day in (1, 2, 3)],
        "nothing": pa.nulls(3),
        "order": [3, 2, 1],
    }
)
HANG = 10.0
"""Seconds after which an answer counts as none; each of them takes milliseconds."""


@contextmanager
def at_once() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < HANG


def statement(body: str) -> str:
    return f"SELECT * FROM trades MATCH_RECOGNIZE ({body})"


def ask(query: str) -> pa.Table:
    return motif.sql(query, tables={"trades": TRADES})


def refusal(query: str) -> MotifError:
    with at_once(), pytest.raises(MotifError) as caught:
        ask(query)
    return caught.value


# --- messages, whole ---

MESSAGES = {
    "unknown table": (
        "SELECT * FROM trade MATCH_RECOGNIZE (ORDER BY t MEASURES t AS x PATTERN (A))",
        QueryBindError,
        """
        there is no table trade (line 1, column 15)
            |
          1 | SELECT * FROM trade MATCH_RECOGNIZE (ORDER BY t MEASURES t AS x PATTERN (A))
            |               ^^^^^
          hint: did you mean trades?""",
    ),
    "unknown column": (
        statement("ORDER BY t MEASURES FIRST(prise) AS x PATTERN (A)"),
        QueryBindError,
        """
        unknown column prise (line 1, column 65)
            |
          1 | SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(prise) AS x PATTERN (A))
            |                                                                 ^^^^^
          hint: did you mean price?""",
    ),
    "unknown variable": (
        statement("ORDER BY t MEASURES LAST(DWN.price) AS x\nPATTERN (DOWN UP)"),
        QueryBindError,
        """
        unknown column or variable DWN (line 1, column 64)
            |
          1 | SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(DWN.price) AS x
            |                                                                ^^^
          hint: did you mean DOWN?""",
    ),
    "a variable defined twice": (
        statement("ORDER BY t MEASURES t AS x PATTERN (A)\nDEFINE A AS t > 1, A AS t > 2"),
        QueryBindError,
        """
        A is defined twice (line 2, column 20)
            |
          2 | DEFINE A AS t > 1, A AS t > 2)
            |                    ^^^^^^^^^^
          hint: join both conditions with AND or OR""",
    ),
    "a variable not in the pattern": (
        statement("ORDER BY t MEASURES t AS x PATTERN (DOWN)\nDEFINE DWN AS t > 1"),
        QueryBindError,
        """
        DWN is defined but not used in PATTERN (line 2, column 8)
            |
          2 | DEFINE DWN AS t > 1)
            |        ^^^^^^^^^^^^
          hint: did you mean DOWN?""",
    ),
    "an aggregate in an aggregate": (
        statement("ORDER BY t\nMEASURES SUM(AVG(price)) AS x PATTERN (A)"),
        QueryBindError,
        """
        AVG inside of SUM (line 2, column 14)
            |
          2 | MEASURES SUM(AVG(price)) AS x PATTERN (A))
            |              ^^^
          hint: SUM takes columns of one row; combine the results outside""",
    ),
    "SKIP TO a variable that is not there": (
        statement("ORDER BY t MEASURES t AS x\nAFTER MATCH SKIP TO C PATTERN (A B)"),
        QueryBindError,
        """
        AFTER MATCH SKIP goes to C, which is not a variable of the pattern (line 2, column 1)
            |
          2 | AFTER MATCH SKIP TO C PATTERN (A B))
            | ^^^^^^^^^^^^^^^^^^^^^
          hint: known here: A, B""",
    ),
    "a bracket that is never closed": (
        "SELECT * FROM trades\nMATCH_RECOGNIZE (ORDER BY t PATTERN (A)",
        QuerySyntaxError,
        """
        this ( is never closed (line 2, column 17)
            |
          2 | MATCH_RECOGNIZE (ORDER BY t PATTERN (A)
            |                 ^
          hint: add the missing )""",
    ),
    "a bracket that closes nothing": (
        statement("ORDER BY t MEASURES t AS x\nPATTERN (A))"),
        QuerySyntaxError,
        """
        this ) closes nothing (line 2, column 13)
            |
          2 | PATTERN (A)))
            |             ^
          hint: remove it, or add the missing (""",
    ),
    "a billion repetitions": (
        statement("ORDER BY t MEASURES t AS x\nPATTERN (A{1,1000000000})"),
        LimitExceeded,
        """
        the repetition 1000000000 is more than the limit quantifier_bound = 1,000 (line 2, column 14)
            |
          2 | PATTERN (A{1,1000000000}))
            |              ^^^^^^^^^^
          hint: use * or + where any number will do""",
    ),
    "DEFINE that is no condition": (
        statement("ORDER BY t MEASURES t AS x PATTERN (A)\nDEFINE A AS price + 1"),
        QueryBindError,
        """
        DEFINE A must be a condition, but is of type integer(64) (line 2, column 13)
            |
          2 | DEFINE A AS price + 1)
            |             ^^^^^^^^^
          hint: compare it with something, for example <> 0 or IS NOT NULL""",
    ),
    "DEFINE that is a text": (
        statement("ORDER BY t MEASURES t AS x PATTERN (A)\nDEFINE A AS name"),
        QueryBindError,
        """
        DEFINE A must be a condition, but is of type string (line 2, column 13)
            |
          2 | DEFINE A AS name)
            |             ^^^^
          hint: compare it with something, for example = 'x' or IS NOT NULL""",
    ),
    "a string against a number of another row": (
        statement("ORDER BY t MEASURES t AS x PATTERN (A B)\nDEFINE B AS name > A.price"),
        QueryBindError,
        """
        cannot compare or combine string with integer(64) (line 2, column 13)
            |
          2 | DEFINE B AS name > A.price)
            |             ^^^^^^^^^^^^^^
          hint: CAST one side to the type of the other""",
    ),
    "two measures of one name": (
        statement("ORDER BY t\nMEASURES t AS x, price AS X PATTERN (A)"),
        QueryBindError,
        """
        two measures are called X (line 2, column 18)
            |
          2 | MEASURES t AS x, price AS X PATTERN (A))
            |                  ^^^^^^^^^^
          hint: rename one of them""",
    ),
    "no columns": (
        statement("ORDER BY t\nPATTERN (A)"),
        QueryBindError,
        """
        the result would have no columns (line 2, column 10)
            |
          2 | PATTERN (A))
            |          ^
          hint: add MEASURES, PARTITION BY, or ALL ROWS PER MATCH""",
    ),
    "two statements": (
        "SELECT 1;\nSELECT 2",
        UnsupportedQuery,
        """
        a second statement after ; (line 2, column 1)
            |
          2 | SELECT 2
            | ^^^^^^
          hint: run one query at a time""",
    ),
    "the other spelling": (
        "SELECT * FROM trades MATCH_RECOGNISE (PATTERN (A))",
        QuerySyntaxError,
        """
        unknown clause MATCH_RECOGNISE (line 1, column 22)
            |
          1 | SELECT * FROM trades MATCH_RECOGNISE (PATTERN (A))
            |                      ^^^^^^^^^^^^^^^
          hint: did you mean MATCH_RECOGNIZE?""",
    ),
}


@pytest.mark.parametrize(("query", "kind", "message"), MESSAGES.values(), ids=MESSAGES)
def test_message(query: str, kind: type[MotifError], message: str) -> None:
    error = refusal(query)
    assert type(error) is kind
    assert str(error) == dedent(message).strip("\n")


# --- class, place and hint ---

VARIABLES = ", ".join(f"V{i}" for i in range(20))
PLACED = {
    "navigation in an aggregate": ("MEASURES SUM(FIRST(t)) AS x PATTERN (A)", QueryBindError, "FIRST inside of SUM"),
    "an aggregate in a navigation": ("MEASURES LAST(SUM(t)) AS x PATTERN (A)", QueryBindError, "SUM inside of LAST"),
    "sub-clauses in the wrong order": ("PATTERN (A) MEASURES t AS x", QuerySyntaxError, "must come before PATTERN"),
    "nothing in it": ("", QuerySyntaxError, "expected PARTITION BY, ORDER BY, MEASURES or PATTERN"),
    "no pattern": ("MEASURES t AS x", QuerySyntaxError, "PATTERN"),
    "an empty pattern": ("MEASURES t AS x PATTERN ()", QuerySyntaxError, "PATTERN ( ) is empty"),
    "a range that is none": ("MEASURES t AS x PATTERN (A{5,2})", QuerySyntaxError, "{5,2} allows no repetition"),
    "two quantifiers": ("MEASURES t AS x PATTERN (A{9}{9})", QuerySyntaxError, "a second quantifier"),
    "repetitions that multiply": ("MEASURES t AS x PATTERN ((A{999}){999})", LimitExceeded, "pattern_states"),
    "PERMUTE of 20": (f"MEASURES t AS x PATTERN (PERMUTE({VARIABLES}))", LimitExceeded, "permute_items = 10"),
    "PERMUTE of loops": (
        "MEASURES t AS x PATTERN (PERMUTE(A+, B+, C+, D+, E+, F+, G+, H+))",
        LimitExceeded,
        "pattern_states",
    ),
    "300 variables": (
        f"MEASURES t AS x PATTERN ({' '.join(f'V{i}' for i in range(300))})",
        LimitExceeded,
        "pattern_variables = 256",
    ),
    "a row far away": ("MEASURES PREV(t, 1000000) AS x PATTERN (A)", LimitExceeded, "navigation_offset = 1,000"),
    "a negative offset": ("MEASURES PREV(t, -1) AS x PATTERN (A)", QuerySyntaxError, "can not be negative"),
    "an offset that is no number": ("MEASURES PREV(t, price) AS x PATTERN (A)", QuerySyntaxError, "a whole number"),
    "a match as DEFINE": ("MEASURES t AS x PATTERN (A B) DEFINE B AS t + A.t", QueryBindError, "must be a condition"),
    "a string against a number": (
        "MEASURES t AS x PATTERN (A) DEFINE A AS name > price",
        QueryBindError,
        "cannot compare VARCHAR with BIGINT",
    ),
    "a string against the number before": (
        "MEASURES t AS x PATTERN (A) DEFINE A AS name > PREV(price)",
        QueryBindError,
        "cannot compare or combine string with integer",
    ),
    "SUM of strings in DEFINE": (
        "MEASURES t AS x PATTERN (A B) DEFINE B AS SUM(A.name) > 1",
        QueryBindError,
        "SUM needs numbers, not string",
    ),
    "WITHIN without ORDER BY": ("MEASURES t AS x PATTERN (A) WITHIN 5", QueryBindError, "WITHIN needs an ORDER BY"),
    "WITHIN on strings": ("ORDER BY name MEASURES t AS x PATTERN (A) WITHIN 5", QueryBindError, "does not fit"),
    "a span of time on strings": (
        "ORDER BY name MEASURES t AS x PATTERN (A) WITHIN INTERVAL '5' MINUTE",
        QueryBindError,
        "does not fit the first ORDER BY column (string)",
    ),
    "a number on times": ("ORDER BY at MEASURES t AS x PATTERN (A) WITHIN 5", QueryBindError, "does not fit"),
    "a span of months": (
        "ORDER BY at MEASURES t AS x PATTERN (A) WITHIN INTERVAL '1' MONTH",
        UnsupportedQuery,
        "a fixed length of time",
    ),
    "a negative span": ("ORDER BY t MEASURES t AS x PATTERN (A) WITHIN -1", QuerySyntaxError, "can not be negative"),
    "a measure named as a partition": (
        "PARTITION BY k MEASURES t AS k PATTERN (A)",
        QueryBindError,
        "the measure k has the name of a partition column",
    ),
    "a window function": (
        "MEASURES ROW_NUMBER() OVER (ORDER BY t) AS x PATTERN (A)",
        UnsupportedQuery,
        "OVER is not offered inside of MATCH_RECOGNIZE",
    ),
    "a sub-query in ORDER BY": (
        "ORDER BY (SELECT 1) MEASURES t AS x PATTERN (A)",
        UnsupportedQuery,
        "a sub-query is not offered in ORDER BY",
    ),
    "a sub-query in PARTITION BY": (
        "PARTITION BY (SELECT 1) AS k MEASURES t AS x PATTERN (A)",
        UnsupportedQuery,
        "a sub-query is not offered in PARTITION BY",
    ),
    "FINAL in DEFINE": ("MEASURES t AS x PATTERN (A) DEFINE A AS FINAL LAST(t) > 1", QueryBindError, "DEFINE sees"),
    "exclusion with unmatched rows": (
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({- A -})",
        QueryBindError,
        "can not be combined with WITH UNMATCHED ROWS",
    ),
    "a function that is not there": ("MEASURES frobnicate(t) AS x PATTERN (A)", QueryBindError, "frobnicate"),
    "a number of 5,000 digits": (f"MEASURES {'1' * 5000} AS x PATTERN (A)", LimitExceeded, "literal_digits = 4,300"),
    "a name of 600 characters": (f"MEASURES t AS {'x' * 600} PATTERN (A)", LimitExceeded, "identifier_chars = 512"),
    "an empty name": ('MEASURES t AS "" PATTERN (A)', QuerySyntaxError, "an empty name"),
    "a reserved name": ("MEASURES t AS __motif_0 PATTERN (A)", UnsupportedQuery, "__motif_ are reserved"),
    "a string that never ends": ("MEASURES 'x AS x PATTERN (A)", QuerySyntaxError, "never closed"),
    "30,000 nested brackets": (f"MEASURES {'(' * 30000}t{')' * 30000} AS x PATTERN (A)", LimitExceeded, "200 deep"),
    "10,000 NOTs": (f"MEASURES t AS x PATTERN (A) DEFINE A AS {'NOT ' * 10000} t > 1", LimitExceeded, "200 deep"),
    "10,000 sums": (f"MEASURES t{' + t' * 10000} AS x PATTERN (A)", LimitExceeded, "200 deep"),
    "20,000 symbols": (f"MEASURES t AS x PATTERN ({'A ' * 20001})", LimitExceeded, "pattern_states"),
}


@pytest.mark.parametrize(("body", "kind", "text"), PLACED.values(), ids=PLACED)
def test_refused_with_a_place(body: str, kind: type[MotifError], text: str) -> None:
    error = refusal(statement(body))
    assert type(error) is kind
    assert text in error.message
    assert error.line is not None
    assert error.column is not None
    assert error.column > len("SELECT * FROM trades MATCH_RECOGNIZE")
    assert "^" in str(error).splitlines()[3]


@pytest.mark.parametrize("measure", ["SUM(name)", "AVG(name)", "SUM(at)"])
def test_sums_are_of_numbers(measure: str) -> None:
    error = refusal(statement(f"MEASURES {measure} AS x PATTERN (A)"))
    assert type(error) is QueryBindError
    assert measure[:3].lower() in error.message.lower()


def test_a_measure_named_as_an_input_column() -> None:
    error = refusal(statement("ORDER BY t MEASURES price + 1 AS price ALL ROWS PER MATCH PATTERN (A)"))
    assert type(error) is QueryBindError
    assert "price" in error.message


def test_a_long_conjunction_is_no_deep_one() -> None:
    ask(statement("MEASURES t AS x PATTERN (A) DEFINE A AS t > 0" + " AND t > 0" * 6000))


@pytest.mark.parametrize(
    "function",
    ["GREATEST", "COALESCE", "NULLIF"],
)
def test_nested_functions_across_rows_stay_small(function: str) -> None:
    body = f"ORDER BY t MEASURES t AS x PATTERN (A B) DEFINE B AS {f'{function}(' * 8}t - A.t{', 1)' * 8} > 0"
    program = planned(statement(body))
    assert len("".join(text for _, text in program.markers)) < 20_000


def planned(query: str) -> Program:
    parsed = parse_statement(query)
    return duckdb.plan_clause(Database({"trades": TRADES}), parsed, parsed.clauses[0])[0]


# --- size ---


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(statement(f"PATTERN ({'(' * 100_000}A{')' * 100_000})"), id="100,000 nested brackets"),
        pytest.param(f"SELECT {'x' * 10_000_000}", id="10 MB"),
        pytest.param("(" * 10_000_000, id="10 MB of brackets"),
        pytest.param("\n" * 10_000_000, id="10 MB of lines"),
    ],
)
def test_long_texts_are_not_even_read(query: str) -> None:
    error = refusal(query)
    assert type(error) is LimitExceeded
    assert "query_chars = 65,536" in error.message
    assert error.hint is not None


# --- reading only ---


@pytest.mark.parametrize(
    "query",
    [
        *("CREATE TABLE x AS SELECT 1", "DROP TABLE trades", "INSERT INTO trades VALUES (1)", "DELETE FROM trades"),
        *(
            "UPDATE trades SET t = 1",
            "COPY trades TO '/tmp/x'",
            "COPY (SELECT 1) TO '/tmp/x.csv'",
            "ATTACH '/tmp/x.db'",
        ),
        *("SET threads = 1", "PRAGMA version", "CALL pragma_version()", "INSTALL httpfs", "LOAD httpfs"),
        *("EXPORT DATABASE '/tmp/x'", "WITH x AS (SELECT 1) INSERT INTO trades SELECT * FROM x", "USE memory"),
        *("BEGIN", "CHECKPOINT", "VACUUM", "RESET threads", "PREPARE p AS SELECT 1", "EXECUTE p"),
    ],
)
def test_only_queries_are_run(query: str) -> None:
    error = refusal(query)
    assert type(error) is UnsupportedQuery
    assert "is not a query" in error.message
    assert error.hint == "Motif runs queries only: SELECT, WITH, FROM, VALUES"
    assert error.line == 1


FILES = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM '/etc/passwd' MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A+))",
    "SELECT * FROM read_text('/etc/passwd') MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A+))",
    "SELECT * FROM (SELECT * FROM read_text('/etc/passwd')) MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A+))",
    "WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM x",
    "SELECT getenv('HOME')",
    statement("MEASURES getenv('HOME') AS x PATTERN (A)"),
    statement("MEASURES t AS x PATTERN (A) DEFINE A AS getenv('HOME') IS NOT NULL"),
    "SELECT * FROM TRADES_OF_THIS_MODULE",
    "SELECT * FROM sys",
]
TRADES_OF_THIS_MODULE = TRADES


@pytest.mark.parametrize("query", FILES)
def test_text_opens_nothing(query: str) -> None:
    """No file, no socket, no variable of this process; the tables given are all there is."""
    assert type(refusal(query)) in (UnsupportedQuery, QueryBindError)


def test_sniffing_opens_nothing() -> None:
    refusal("SELECT * FROM sniff_csv('/etc/passwd')")


def test_a_table_given_as_a_file_opens_that_file_only(tmp_path: Path) -> None:
    given, other = tmp_path / "given.csv", tmp_path / "other.csv"
    for path in (given, other):
        path.write_text("t\n1\n", encoding="utf-8")
    tables = {"given": str(given)}
    assert motif.sql("SELECT * FROM given", tables=tables).to_pylist() == [{"t": 1}]
    with pytest.raises(MotifError):
        motif.sql(f"SELECT * FROM read_csv('{other}')", tables=tables)


SPARK_TEXTS = [
    "SELECT * FROM parquet.`/etc/passwd`",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM text.`file:///etc/passwd`",
    "SELECT * FROM `text`.`/etc/passwd` MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A))",
    "SELECT * FROM trades, binaryFile.`/etc`",
    "SELECT * FROM trades JOIN json.`/etc/passwd` USING (t)",
    "SELECT * FROM `org.apache.spark.sql.parquet`.`/etc/passwd`",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT java_method('java.lang.System', 'exit', 1)",
    "SELECT try_reflect('java.lang.System', 'exit', 1)",
    "SELECT `reflect`('java.lang.System', 'exit', 1)",
    "SELECT /* */ REFLECT /* */ ('java.lang.System', 'exit', 1)",
    "SELECT TRANSFORM(t) USING 'cat' FROM trades",
    "SELECT * FROM IDENTIFIER('parquet.`/etc/passwd`')",
    "SELECT * FROM trades MATCH_RECOGNIZE (MEASURES reflect('java.lang.System', 'getenv', 'HOME') AS x PATTERN (A))",
    "SELECT * FROM trades MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS java_method('java.lang.System', 'exit', 1) = 1)",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1",
    "FROM trades INSERT OVERWRITE TABLE x SELECT *",
    "ADD JAR '/tmp/x.jar'",
    "CREATE FUNCTION f AS 'x'",
    "CACHE TABLE trades",
    "SET spark.sql.shuffle.partitions = 1",
]


@pytest.mark.parametrize("query", SPARK_TEXTS)
def test_text_for_spark_opens_and_runs_nothing(query: str) -> None:
    """Spark has no setting that forbids these, so the text is refused before Spark sees it."""
    with at_once(), pytest.raises(UnsupportedQuery) as caught:
        parse_statement(query, "spark")
    assert caught.value.line == 1
    assert caught.value.hint


# --- rows for which there is no answer ---


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CAST(name AS INTEGER) AS x FROM trades",
        statement("ORDER BY CAST(name AS INTEGER) MEASURES t AS x PATTERN (A)"),
        statement("ORDER BY t MEASURES CAST(name AS INTEGER) AS x PATTERN (A)"),
        statement("ORDER BY t MEASURES t AS x PATTERN (A) DEFINE A AS CAST(name AS INTEGER) > 0"),
    ],
    ids=["around the clause", "ORDER BY", "MEASURES", "DEFINE"],
)
def test_a_cast_that_fails_on_a_row(query: str) -> None:
    error = refusal(query)
    assert type(error) is QueryDataError
    assert "Could not convert string 'x' to INT32" in error.message


@pytest.mark.parametrize(("condition", "text"), [("price = 'x'", "'x'"), ("t > 0 AND ('' < A.price OR t = 9)", "''")])
def test_a_number_compared_with_a_text_that_is_none(condition: str, text: str) -> None:
    query = statement(f"ORDER BY t MEASURES t AS x PATTERN (A) DEFINE A AS {condition}")
    error = refusal(query)
    assert type(error) is QueryBindError
    assert error.message.startswith("price is a number")
    assert error.span is not None
    assert query[error.span.start : error.span.end] == text


@pytest.mark.parametrize(
    "condition", ["price = '1'", "name = 'x'", "CAST(price AS DOUBLE) < 'inf'", "CAST(price AS VARCHAR) = 'x'"]
)
def test_texts_that_may_be_compared(condition: str) -> None:
    ask(statement(f"ORDER BY t MEASURES t AS x PATTERN (A) DEFINE A AS {condition}"))


def test_overflow_across_rows() -> None:
    table = pa.table({"t": [1, 2, 3], "v": [2**62, 2**62, 2**62]})
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES t AS t PATTERN (A+ B) DEFINE B AS SUM(A.v) > 0)"
    with pytest.raises(QueryDataError, match="integer overflow in a condition across rows"):
        motif.match(table, clause)


# --- unusual tables ---

WIDE = "PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS n, SUM(price) AS s, CLASSIFIER() AS c"


@pytest.mark.parametrize("rows", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
@pytest.mark.parametrize("condition", ["price > 1", "price > PREV(price)", "price > A.price AND SUM(A.price) > 1"])
def test_an_empty_table_has_no_matches_but_columns(rows: str, condition: str) -> None:
    query = statement(f"{WIDE} {rows} PATTERN (A B*) DEFINE B AS {condition}")
    empty = motif.sql(query, tables={"trades": TRADES.slice(0, 0)})
    assert empty.num_rows == 0
    assert empty.schema == ask(query).schema


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ORDER BY nothing MEASURES COUNT(*) AS n PATTERN (A+)", [{"n": 3}]),
        (
            "ORDER BY t MEASURES SUM(nothing) AS s, MIN(nothing) AS m, COUNT(nothing) AS n PATTERN (A+)",
            [{"s": None, "m": None, "n": 0}],
        ),
        ("ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS nothing > 0", []),
        ("ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS nothing > PREV(nothing)", []),
        (
            "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS nothing IS NULL AND A.nothing IS NULL",
            [{"n": 3}],
        ),
        ("ORDER BY t MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS SUM(A.nothing) IS NULL", [{"n": 3}]),
        pytest.param(
            "PARTITION BY nothing ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+)",
            [{"nothing": None, "n": 3}],
        ),
    ],
)
def test_a_column_of_nulls(body: str, expected: list[dict[str, object]]) -> None:
    assert ask(statement(body)).to_pylist() == expected


def test_reserved_words_are_columns_like_others() -> None:
    table = pa.table(
        {"order": [1, 2], "select": [3, 4], "pattern": [5, 6], "define": [7, 8], "match_recognize": [9, 0]}
    )
    clause = """MATCH_RECOGNIZE (ORDER BY "order" MEASURES "select" AS "from", pattern AS measures,
        "define" AS "within", LAST(match_recognize) AS "subset" PATTERN (A) DEFINE A AS "order" > 1 AND pattern > 5)"""
    assert motif.match(table, clause).to_pylist() == [{"from": 4, "measures": 6, "within": 8, "subset": 0}]


# --- hostile names ---

NAMES = ['a"b', "a;drop", "__leaf_0", "c0", "ünïcødé", "new\nline", "</script>", "{}", "{0}", "`tick`", "a b", "select"]
NAMES += [
    "it's",
    "%s",
    "$1",
    "\\",
    " ",
    "*/",
    "--",
    '"""',
    "\u202e",
    "Row",
    "self",
    "A",
    "A.v",
    "__class__",
    "\t",
    "😀",
]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_just_names(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    table = pa.table({name: [1, 2, 3], "t": [1, 2, 3]})
    one = f"""MATCH_RECOGNIZE (ORDER BY {quoted} MEASURES FIRST({quoted}) AS {quoted}, LAST(B.{quoted}) + 1 AS y
        PATTERN (A B) DEFINE B AS {quoted} > A.{quoted})"""
    assert motif.match(table, one).to_pylist() == [{name: 1, "y": 3}]
    every = f"MATCH_RECOGNIZE (PARTITION BY {quoted} ORDER BY t MEASURES t + 1 AS y ALL ROWS PER MATCH PATTERN (A))"
    found = motif.sql(f"SELECT * FROM {quoted} {every}", tables={name: table})
    assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [(1, 1, 2), (2, 2, 3), (3, 3, 4)]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_variables_and_strings(name: str) -> None:
    quoted, literal = '"' + name.replace('"', '""') + '"', "'" + name.replace("'", "''") + "'"
    table = pa.table({"t": [1, 2], "c": [name, name]})
    clause = f"""MATCH_RECOGNIZE (ORDER BY t MEASURES CLASSIFIER() AS label, {literal} AS text, LAST({quoted}.c) AS c
        PATTERN (X {quoted}) DEFINE {quoted} AS c = X.c AND LAST(X.c) = {literal} AND PREV(c) = {literal})"""
    assert motif.match(table, clause).to_pylist() == [{"label": name, "text": name, "c": name}]


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "SELECT \x00", "\ud800", "SELECT '\ud800'", "\ufeffSELECT", "SELECT \x1b[31m"]
)
def test_odd_characters(text: str) -> None:
    """NUL, lone surrogates, a byte order mark, an escape sequence: an error or an answer, never a crash."""
    with at_once():
        found = outcome(text)
    assert "\x1b" not in found
    assert "\x00" not in found


def outcome(text: str) -> str:
    try:
        return str(ask(text).column_names)
    except MotifError as error:
        return str(error)


# --- the command line ---


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from motif.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_query_file_that_is_not_utf_8(tmp_path: Path) -> None:
    query, data = tmp_path / "query.sql", tmp_path / "trades.csv"
    query.write_bytes(b"SELECT '\xff\xfe' FROM trades")
    data.write_text("t\n1\n", encoding="utf-8")
    done = run_cli("run", str(query), "--table", f"trades={data}")
    assert done.returncode == 2
    assert "UTF-8" in done.stderr
    assert "Traceback" not in done.stderr
