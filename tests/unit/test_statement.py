"""Whole statements: which text is ours, which is the host's, and the way back."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from motif.errors import MotifError, QueryBindError, QuerySyntaxError, Span, UnsupportedQuery
from motif.ir.expr import Column, HostAggregate
from motif.ir.pattern import Var
from motif.lang.lexer import Dialect, tokenize
from motif.lang.statement import Statement, diagnose, parse_clause, parse_statement

M = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"


def parse(text: str, dialect: Dialect = "duckdb") -> Statement:
    return parse_statement(text, dialect)


def test_nothing_of_ours() -> None:
    statement = parse("-- hello\nSELECT 'MATCH_RECOGNIZE (' AS a, match_recognize FROM \"MATCH_RECOGNIZE\" ; -- bye")
    assert statement.clauses == ()
    assert statement.outer_sql == "SELECT 'MATCH_RECOGNIZE (' AS a, match_recognize FROM \"MATCH_RECOGNIZE\""


@pytest.mark.parametrize(
    ("table", "after"),
    [
        ("trades", ""),
        ("trades t", ""),
        ("trades AS t", " AS m"),
        ("db.main.trades", " m"),
        ('db."my trades"', ""),
        ("(SELECT * FROM trades)", ""),
        ("(SELECT * FROM trades) AS t", " m"),
        ("(SELECT * FROM trades) t", ""),
        ("(VALUES (1, 2)) AS t(a, b)", ""),
        ("(VALUES (1, 2)) t (a, b)", ""),
        ("range(10)", ""),
        ("range(10) AS r(x)", ""),
        ("db.f(1, (2))", ""),
        ("'trades.parquet'", ""),
        ("'trades.parquet' t", ""),
    ],
)
def test_the_table_in_front(table: str, after: str) -> None:
    statement = parse(f"SELECT x FROM {table} {M}{after} WHERE x > 1")
    (clause,) = statement.clauses
    assert clause.input_sql == table
    assert clause.ctes_sql == ""
    assert statement.outer_sql == f"SELECT x FROM __motif_0{after} WHERE x > 1"
    assert clause.name == "__motif_0"


def test_several_clauses_from_left_to_right() -> None:
    statement = parse(f"SELECT * FROM a {M} x JOIN b {M} y ON x.i = y.i, (c {M})")
    assert [clause.input_sql for clause in statement.clauses] == ["a", "b", "c"]
    assert statement.outer_sql == "SELECT * FROM __motif_0 x JOIN __motif_1 y ON x.i = y.i, (__motif_2)"


def test_inner_before_outer() -> None:
    statement = parse(f"SELECT * FROM (SELECT * FROM a {M} WHERE q) AS t {M}")
    inner, outer = statement.clauses
    assert inner.input_sql == "a"
    assert outer.input_sql == "(SELECT * FROM __motif_0 WHERE q) AS t"
    assert statement.outer_sql == "SELECT * FROM __motif_1"


def test_ctes_that_are_complete_are_visible() -> None:
    text = f"""WITH RECURSIVE a AS (SELECT 1), b(x, y) AS MATERIALIZED (SELECT * FROM a {M}), c AS (SELECT 2)
SELECT * FROM (WITH d AS (SELECT * FROM b) SELECT * FROM d {M} m) UNION (SELECT * FROM c)"""
    first, second = parse(text).clauses
    assert first.ctes_sql == "WITH RECURSIVE a AS (SELECT 1)"
    assert second.ctes_sql == (
        "WITH RECURSIVE a AS (SELECT 1), b(x, y) AS MATERIALIZED (SELECT * FROM __motif_0), "
        "c AS (SELECT 2), d AS (SELECT * FROM b)"
    )
    assert parse(text).outer_sql.count("__motif_") == 2


def test_ctes_of_spark_need_no_as() -> None:
    (clause,) = parse(f"WITH a (SELECT 1), b (x) AS (SELECT 2) (SELECT * FROM b {M})", "spark").clauses
    assert clause.ctes_sql == "WITH a (SELECT 1), b (x) AS (SELECT 2)"


def test_offsets_lead_back_to_the_text() -> None:
    text = f"WITH a AS (SELECT p FROM t) SELECT wrong FROM (SELECT bad FROM a {M}) AS s {M} m WHERE later > 1"
    statement = parse(text)
    inner, outer = statement.clauses
    for spliced, word in [
        (statement.outer, "wrong"),
        (statement.outer, "later"),
        (outer.input, "bad"),
        (inner.ctes, "p FROM"),
    ]:
        assert spliced.source_offset(spliced.text.index(word)) == text.index(word)
    assert statement.outer.source_offset(statement.outer_sql.index("__motif_1")) == text.index("(SELECT bad")
    assert outer.input.source_offset(outer.input_sql.index("__motif_0")) == text.index("a MATCH")
    assert statement.outer.source_offset(10**6) == len(text)


def test_spans_point_into_the_whole_text() -> None:
    text = f"SELECT *\nFROM trades t {M}"
    (clause,) = parse(text).clauses
    assert text[clause.span.start : clause.span.end] == M
    assert text[clause.input_span.start : clause.input_span.end] == "trades t"
    assert clause.query.source == text
    assert isinstance(clause.query.pattern, Var)
    assert clause.query.pattern.span == Span(text.rindex("A"), text.rindex("A") + 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        (" ; ", "the query is empty"),
        ("42", "expected a query, found 42"),
        (M, "MATCH_RECOGNIZE stands after a table"),
        (f"SELECT a, b {M}", "MATCH_RECOGNIZE belongs to a table in FROM"),
        (f"SELECT * FROM {M}", "MATCH_RECOGNIZE stands after a table, found FROM before it"),
        (f"SELECT * FROM t WHERE x {M}", "MATCH_RECOGNIZE belongs to a table in FROM"),
        (f"SELECT * FROM t {M} {M}", "MATCH_RECOGNIZE directly after another one"),
        (f"SELECT * FROM t {M} m {M}", "MATCH_RECOGNIZE directly after another one"),
        ("SELECT * FROM t MATCH_RECOGNISE (PATTERN (A))", "unknown clause MATCH_RECOGNISE"),
    ],
)
def test_syntax_errors(text: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1; SELECT 2",
        "INSERT INTO t SELECT 1",
        "UPDATE t SET x = 1",
        "DELETE FROM t",
        "COPY t TO 'x'",
        "ATTACH 'x'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET x = 1",
        "PRAGMA x",
        "CALL x()",
        "CREATE TABLE t AS SELECT 1",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN x INT",
        "EXPORT DATABASE 'x'",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
        "WITH a AS (SELECT 1) UPDATE t SET x = 1",
        "SELECT * FROM __motif_0",
        f"SELECT * FROM t, LATERAL (SELECT t.x) AS l {M}",
        f"WITH a AS (SELECT 1) SELECT * FROM (WITH A AS (SELECT 2) SELECT * FROM a {M})",
    ],
)
def test_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        parse(text)
    assert caught.value.span is not None
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT reflect('java.lang.System', 'exit')",
        "SELECT `java_method`('a', 'b')",
        "SELECT system.builtin.try_reflect('a', 'b')",
        "SELECT * FROM parquet.`/etc/x`",
        "SELECT * FROM t JOIN csv.x",
        "SELECT * FROM delta.`/x`",
        "SELECT * FROM `org.apache.Fmt`.`/x`",
        f"SELECT * FROM json.`x` {M}",
        "SELECT TRANSFORM(a) USING 'cat' FROM t",
        "SELECT IDENTIFIER('reflect')('a')",
        "FROM t INSERT INTO u SELECT *",
    ],
)
def test_spark_queries_run_no_code_and_open_no_files(text: str) -> None:
    with pytest.raises(UnsupportedQuery):
        parse(text, "spark")


@pytest.mark.parametrize(
    "text", ["SELECT transform(a, x -> x) FROM delta.trades", "SELECT load, `set` FROM t JOIN u USING (a)"]
)
def test_spark_queries_that_only_look_like_it(text: str) -> None:
    assert parse(text, "spark").outer_sql == text


def test_error_text() -> None:
    with pytest.raises(MotifError) as caught:
        parse("SELECT *\nFROM trades MATCH_RECOGNIZE (\n  ORDER BY ts\n  PATTERN (UP DOWN)\n  DEFINE UPP AS x > 1\n)")
    assert (
        str(caught.value)
        == """UPP is defined but not used in PATTERN (line 5, column 10)
    |
  5 |   DEFINE UPP AS x > 1
    |          ^^^^^^^^^^^^
  hint: did you mean UP?"""
    )


def test_a_lone_clause() -> None:
    assert parse_clause(M).pattern == Var("A")
    for text in (f"t {M}", f"{M} x", "MATCH_RECOGNIZE", f"SELECT * FROM t {M}", ""):
        with pytest.raises(QuerySyntaxError):
            parse_clause(text)


def test_diagnose_shows_all_mistakes() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES x + AS a, LAST(A.x + B.y) AS b PATTERN (A B) DEFINE A AS 1 < x < 3)"
    assert [error.message for error in diagnose(f"SELECT * FROM t {clause}")] == [
        "expected an expression, found AS",
        "LAST reads one variable, but A and B are named in it",
        "a second comparison < after the first",
    ]
    names = "MATCH_RECOGNIZE (MEASURES x AS a, y AS a PATTERN (A) DEFINE B AS x > 1)"
    assert [error.message for error in diagnose(names)] == [
        "B is defined but not used in PATTERN",
        "two measures are called a",
    ]
    assert diagnose(f"SELECT * FROM t {M}") == []
    assert len(diagnose("SELECT (")) == 1


def test_many_clauses_are_read_in_good_time() -> None:
    begin = time.process_time()
    statement = parse("SELECT * FROM t" + " JOIN t MATCH_RECOGNIZE (PATTERN (A)) x ON TRUE" * 1_000)
    assert len(statement.clauses) == 1_000
    assert time.process_time() - begin < 3


SEED = """WITH a AS (SELECT * FROM trades), z(q) AS (SELECT * FROM (SELECT * FROM a MATCH_RECOGNIZE (PATTERN (X))) k)
SELECT m.x FROM (SELECT * FROM z) AS t(a, b) MATCH_RECOGNIZE (
 PARTITION BY sym, a + b ORDER BY ts DESC NULLS FIRST
 MEASURES A.price AS p, LAST(B.price, 1) - FIRST(price) q, COUNT(A.*) c, FINAL SUM(B.x + B.y) AS s, CLASSIFIER() cl,
   list_transform(arr, x -> x + A.price) AS l, CASE sym WHEN 'a' THEN 1 END k, EXTRACT(HOUR FROM ts) h, s.f[1]::INT f
 ALL ROWS PER MATCH WITH UNMATCHED ROWS INCREMENTAL MATCH AFTER MATCH SKIP TO FIRST b
 PATTERN (A b+? (C|D){2,3} PERMUTE(E, F G) ^ $ ()) WITHIN INTERVAL '1 hour 30 minutes' SUBSET U = (A, B)
 DEFINE A AS price > PREV(price, 2) AND sym IN ('x', 'y'), B AS x BETWEEN 1 AND 2 OR CAST(p AS DECIMAL(10, 2)) > -1.5e3
) m JOIN u ON u.x = m.x"""
SPLINTERS = """( ) [ ] { } {- -} ? * + | ^ $ 'x' "q" ` , . :: -> - = < AND NOT CASE END IN AS INTERVAL PATTERN DEFINE
MEASURES WITHIN SUBSET A A. PREV( COUNT( FINAL CLASSIFIER 1 1.5 9999 SELECT FROM MATCH_RECOGNIZE WITH ; -- /* */ NULL
DISTINCT ALL COLLATE : \x00 $$ ${ OVER FILTER ORDER BY NEXT IS CAST( A.*""".split()


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_no_text_makes_the_parser_crash(dialect: Dialect) -> None:
    """Seeded mutations: each gives a statement, or an error with a position."""
    draw = random.Random(20)
    tokens = tokenize(SEED).items
    pieces = [SEED[left.span.end : right.span.end] for left, right in pairwise(tokens)]
    for _ in range(1_000):
        mutant = [tokens[0].text, *pieces]
        for _ in range(draw.choice([1, 1, 2, 3])):
            at = draw.randrange(len(mutant))
            choice = draw.randrange(4)
            if choice == 0:
                del mutant[at]
            elif choice == 1:
                mutant.insert(at, f" {draw.choice(SPLINTERS)} ")
            elif choice == 2:
                mutant[at] = draw.choice(SPLINTERS)
            else:
                other = draw.randrange(len(mutant))
                mutant[at], mutant[other] = mutant[other], mutant[at]
        assert all(error.line is not None for error in diagnose("".join(mutant), dialect))


@pytest.mark.parametrize("table", ["k", "t AS k", "t k", "s.k", "(SELECT * FROM t) AS k", "t AS k(g, v)"])
def test_columns_may_be_qualified_with_the_table_where_there_is_no_match_yet(table: str) -> None:
    clause = "PARTITION BY k.g ORDER BY K.v DESC PATTERN (A) DEFINE A AS v > 0"
    [found] = parse_statement(f"SELECT * FROM {table} MATCH_RECOGNIZE ({clause})").clauses
    assert found.query.partition[0].expr == Column("g")
    assert found.query.partition[0].name == "g"
    assert found.query.order[0].expr == Column("v")


def test_the_group_of_an_aggregate_begins_no_sub_clause() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES f(x) WITHIN GROUP (ORDER BY x) AS m PATTERN (A))"
    [clause] = parse_statement(text).clauses
    assert [type(measure.expr) for measure in clause.query.measures] == [HostAggregate]


def test_what_names_no_column_orders_nothing() -> None:
    with pytest.raises(QueryBindError, match="ORDER BY 1 names no column"):
        parse_statement("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY 1 PATTERN (A))")
