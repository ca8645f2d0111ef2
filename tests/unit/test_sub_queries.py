"""Sub-queries in DEFINE and MEASURES: they read tables that were given, and nothing of the match."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.errors import MotifError, QueryBindError, QueryDataError, UnsupportedQuery
from motif.ir.nested import sub_queries
from motif.lang.statement import parse_statement
from motif.testing.cases import same_in_order
from motif.testing.reference import match_rows

ROWS = [(1, "a", 1), (2, "b", 5), (3, "a", 2), (4, "c", 8), (5, "b", 3), (6, "a", 9), (7, None, None)]
NAMES = ("t", "k", "v")
TICKS = pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)))
VIP = pa.table({"k": ["b", "c", None], "x": [4, 6, 7]})
GOLD = pa.table({"k": ["b", "c"], "x": [4, 6]})
TABLES = {"ticks": TICKS, "vip": VIP, "gold": GOLD}

GIVES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT avg(v) FROM ticks": [(28 / 6,)],
    "SELECT k FROM vip": [("b",), ("c",), (None,)],
    "SELECT k FROM gold": [("b",), ("c",)],
    "SELECT k FROM gold WHERE FALSE": [],
    "SELECT max(x) FROM vip": [(7,)],
    "SELECT x FROM gold": [(4,), (6,)],
    "SELECT x FROM vip WHERE x > 9": [],
    "SELECT k, x + 2 FROM gold": [("b", 6), ("c", 8)],
    "WITH r AS (SELECT x FROM gold) SELECT min(x) FROM r": [(4,)],
}
"""What each sub-query gives, worked out by hand."""


def statement(define: str, pattern: str = "A B", measures: str = "FIRST(t) AS f, LAST(t) AS l", ctes: str = "") -> str:
    return (
        f"{ctes}SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY t MEASURES {measures} AFTER MATCH SKIP TO NEXT ROW "
        f"PATTERN ({pattern}) DEFINE {define})"
    )


CONDITIONS = [
    ("B AS B.v > (SELECT avg(v) FROM ticks)", "A B"),
    ("B AS A.v < (SELECT avg(v) FROM ticks)", "A B"),
    ("B AS SUM(A.v) + B.v > (SELECT max(x) FROM vip)", "A+ B"),
    ("B AS B.k IN (SELECT k FROM vip)", "A B"),
    ("B AS B.k NOT IN (SELECT k FROM vip)", "A B"),
    ("B AS B.k NOT IN (SELECT k FROM gold)", "A B"),
    ("B AS A.k NOT IN (SELECT k FROM gold)", "A B"),
    ("B AS X.k NOT IN (SELECT k FROM gold)", "X? B"),
    ("B AS X.k NOT IN (SELECT k FROM gold WHERE FALSE)", "X?? B"),
    ("B AS (X.k IN (SELECT k FROM gold)) IS NULL", "X?? B"),
    ("B AS PREV(B.k, 2) IN (SELECT k FROM gold)", "A B"),
    ("B AS PREV(B.k, 2) NOT IN (SELECT k FROM gold WHERE FALSE)", "A B"),
    ("B AS CLASSIFIER() IN (SELECT k FROM gold)", "A B"),
    ("B AS EXISTS (SELECT x FROM vip WHERE x > 9)", "A B"),
    ("B AS NOT EXISTS (SELECT x FROM vip WHERE x > 9) AND B.v > A.v", "A B"),
    ("B AS (B.k, B.v) IN (SELECT k, x + 2 FROM gold)", "A B"),
    ("B AS B.v >= ALL (SELECT x FROM gold)", "A B"),
    ("B AS B.v < ANY (SELECT x FROM gold)", "A B"),
    ("B AS B.v < ANY (SELECT x FROM vip WHERE x > 9)", "A B"),
    ("B AS B.v BETWEEN (WITH r AS (SELECT x FROM gold) SELECT min(x) FROM r) AND 8", "A B"),
    ("B AS CASE WHEN A.v > 1 THEN B.k IN (SELECT k FROM gold) ELSE A.k = B.k END", "A B"),
    ("B AS abs(A.v - B.v) + 0 > (SELECT max(x) FROM vip) - 2 OR A.k IN (SELECT k FROM vip)", "A B"),
    ("B AS COUNT(*) FILTER (WHERE k IN (SELECT k FROM gold)) = 2", "A+ B"),
]


@pytest.mark.parametrize(("define", "pattern"), CONDITIONS, ids=[condition for condition, _ in CONDITIONS])
def test_conditions_agree_with_the_reference(define: str, pattern: str) -> None:
    text = statement(define, pattern)
    query = parse_statement(text).clauses[0].query
    assert sub_queries(query)
    expected = match_rows(query, [dict(zip(NAMES, row, strict=True)) for row in ROWS], NAMES, queries=GIVES)
    assert same_in_order(motif.sql(text, tables=TABLES).to_pylist(), expected)


def test_measures() -> None:
    measures = (
        "A.v - (SELECT max(x) FROM vip) AS d, A.k IN (SELECT k FROM vip) AS i, SUM(B.v * (SELECT max(x) FROM vip)) AS s"
        ", EXISTS (SELECT x FROM vip WHERE x > 9) AS e, median(B.v + (SELECT max(x) FROM vip)) AS m"
    )
    found = motif.sql(statement("B AS B.t <= 3", measures=measures), tables=TABLES).to_pylist()
    assert found == [
        {"d": -6, "i": None, "s": 35, "e": False, "m": 12.0},
        {"d": -2, "i": True, "s": 14, "e": False, "m": 9.0},
    ]


def test_what_the_host_alone_decides_takes_values_of_sub_queries() -> None:
    found = motif.sql(statement("B AS levenshtein(A.k, B.k) < (SELECT count(*) - 2 FROM vip)"), tables=TABLES)
    assert found.num_rows == 0
    found = motif.sql(statement("B AS levenshtein(A.k, B.k) < (SELECT count(*) - 1 FROM vip)"), tables=TABLES)
    assert found.num_rows == 5


def test_common_tables_are_seen() -> None:
    ctes = "WITH low AS (SELECT * FROM gold WHERE x < 5), m AS (SELECT min(x) AS x FROM low) "
    found = motif.sql(statement("B AS B.v > (SELECT x FROM m)", ctes=ctes), tables=TABLES)
    assert found.column("l").to_pylist() == [2, 4, 6]


def test_matches_of_another_clause_are_seen() -> None:
    ctes = "WITH m AS (SELECT * FROM vip MATCH_RECOGNIZE (ORDER BY x MEASURES A.k AS k PATTERN (A))) "
    found = motif.sql(statement("B AS X.k IN (SELECT k FROM m)", "X? B", ctes=ctes), tables=TABLES)
    assert found.column("l").to_pylist() == [3, 5, 6]


def test_other_rows_in_the_tables_give_other_matches() -> None:
    """The plan of a query is kept for tables that are alike; what sub-queries give is not."""
    text = statement("B AS A.k NOT IN (SELECT k FROM gold) AND B.v > (SELECT avg(x) FROM gold)")
    first = motif.sql(text, tables=TABLES)
    second = motif.sql(text, tables={**TABLES, "gold": pa.table({"k": ["a"], "x": [2]})})
    assert (first.column("l").to_pylist(), second.column("l").to_pylist()) == ([4], [5, 6])


def test_what_may_fail_is_computed_where_conditions_hold() -> None:
    found = motif.sql(statement("B AS B.k = 'zz' AND CAST(B.k AS INTEGER) IN (SELECT x FROM gold)"), tables=TABLES)
    assert found.num_rows == 0


CORRELATED = [
    ("B.v > (SELECT avg(x) FROM vip WHERE k = B.k)", "B.k"),
    ("B.v > (SELECT avg(x) FROM vip WHERE k = a.k)", "a.k"),
    ("B.v > (SELECT avg(x) FROM vip WHERE x = v)", "v"),
    ("EXISTS (SELECT 1 FROM vip WHERE x > v)", "v"),
    ("B.k IN (SELECT k FROM vip WHERE x > t)", "t"),
]


@pytest.mark.parametrize(("condition", "marked"), CORRELATED)
@pytest.mark.parametrize("ctes", ["", "WITH r AS (SELECT 1 AS one) "])
def test_columns_of_the_match_are_refused_where_they_stand(condition: str, marked: str, ctes: str) -> None:
    text = statement(f"B AS {condition}", ctes=ctes)
    with pytest.raises(UnsupportedQuery, match=f"a sub-query can not read {re.escape(marked)} of the match") as caught:
        motif.sql(text, tables=TABLES)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == marked
    assert span.start > text.index("DEFINE")
    assert caught.value.hint is not None


def test_a_column_of_its_own_table_comes_first() -> None:
    found = motif.sql(statement("B AS B.v > (SELECT avg(x) FROM vip WHERE k = 'b')"), tables=TABLES)
    assert found.column("l").to_pylist() == [2, 4, 6]


REFUSED: list[tuple[str, type[MotifError], str]] = [
    ("B.v > (SELECT avg(x) FROM vipp)", QueryBindError, "there is no table vipp"),
    ("B.v > (SELECT avg(y) FROM vip)", QueryBindError, "unknown column y"),
    ("B.v > (SELECT count(*) FROM 'secret.csv')", UnsupportedQuery, "can not open files"),
    ("B.v > (SELECT count(*) FROM read_csv('secret.csv'))", UnsupportedQuery, "can not open files"),
    ("EXISTS (SELECT * FROM duckdb_settings())", UnsupportedQuery, "looks at more than its arguments"),
    ("B.v > (SELECT current_setting('threads')::INT)", UnsupportedQuery, "does more than compute"),
    ("B.k IN (SELECT k FROM information_schema.tables)", MotifError, "no table information_schema.tables"),
    ("A.k || B.k IN (SELECT k FROM vip)", UnsupportedQuery, "a sub-query beside values of different rows"),
    ("COUNT(*) IN (SELECT x FROM vip)", UnsupportedQuery, "a sub-query beside values of different rows"),
    ("B.k IN (SELECT k FROM __motif_leaves)", UnsupportedQuery, "__motif_ are reserved"),
]


@pytest.mark.parametrize(("condition", "kind", "text"), REFUSED)
@pytest.mark.parametrize("place", ["DEFINE", "MEASURES"])
def test_refused_with_a_place(condition: str, kind: type[MotifError], text: str, place: str) -> None:
    if "different rows" in text and place == "MEASURES":
        return
    query = (
        statement(f"B AS {condition}") if place == "DEFINE" else statement("B AS TRUE", measures=f"{condition} AS q")
    )
    with pytest.raises(kind, match=re.escape(text)) as caught:
        motif.sql(query, tables=TABLES)
    assert caught.value.span is not None
    assert [one.message for one in motif.check(query, tables=TABLES)] == [caught.value.message]


def test_measures_compare_any_values_with_sub_queries() -> None:
    found = motif.sql(statement("B AS B.t <= 2", measures="A.k || B.k IN (SELECT 'ab') AS q"), tables=TABLES)
    assert found.to_pylist() == [{"q": True}]


def test_a_value_of_more_than_one_row_is_an_error_of_the_data() -> None:
    with pytest.raises(QueryDataError, match="a sub-query gives more than one row") as caught:
        motif.sql(statement("B AS B.v > (SELECT x FROM vip)"), tables=TABLES)
    assert "SET" not in str(caught.value)


CLAUSE = "MATCH_RECOGNIZE (ORDER BY t MEASURES A.t AS a PATTERN (A) DEFINE A AS v > (SELECT avg(v) FROM data))"


def test_a_clause_alone_names_no_tables(tmp_path: Path) -> None:
    message = "a sub-query names tables, and a clause alone has none"
    with pytest.raises(UnsupportedQuery, match=message):
        motif.match(TICKS, CLAUSE)
    with pytest.raises(UnsupportedQuery, match=message):
        motif.Stream(CLAUSE, TICKS.schema)
    assert [one.message for one in motif.check(CLAUSE)] == [message]


def test_files_are_asked_as_tables_are(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for name, table in TABLES.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in TABLES}
    text = statement("B AS B.k IN (SELECT k FROM gold) AND B.v > (SELECT min(v) FROM ticks)")
    assert motif.sql(text, tables=files).to_pylist() == motif.sql(text, tables=TABLES).to_pylist() != []


def test_explain_shows_them() -> None:
    text = str(motif.explain(statement("B AS B.k IN (SELECT k FROM gold)"), tables=TABLES))
    assert "B.k IN (SELECT k FROM gold)" in text
