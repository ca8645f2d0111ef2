"""The algebra as text: what is written parses back, and what hosts get means the same to them."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

from motif.ir.expr import At, Call, Column, Expr, Interval, Literal, Verbatim
from motif.ir.pattern import Choice, Permute, Repeat, Seq, Var
from motif.ir.render import backticks, double_quotes, render_expr, render_pattern, render_query, render_row_sql
from motif.lang.lexer import Dialect
from motif.lang.statement import parse_clause

x, y, z = (At(Column(name)) for name in "xyz")

QUERY = """MATCH_RECOGNIZE (
  PARTITION BY symbol,
    lower(m) AS "low m"
  ORDER BY ts DESC NULLS FIRST
  MEASURES A.price - LAST(B.price, 1) AS change,
    FINAL COUNT(U.*) AS n
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  INCREMENTAL MATCH
  AFTER MATCH SKIP TO FIRST B
  PATTERN (^ A B{2,3}? (C | D) $)
  WITHIN INTERVAL '300000000' MICROSECOND
  SUBSET U = (A, B)
  DEFINE A AS price > 10 AND NOT (x = 1 OR y IS NULL),
    B AS price < PREV(price, 2)
)"""


def test_a_query_is_written_as_it_would_be_by_hand() -> None:
    assert render_query(parse_clause(QUERY)) == QUERY


EXPRESSIONS = r"""
x + y * z
(x + y) * z
x - (y - z)
-x - -1
-(-x)
-(1)
NOT (x = 1 AND (y = 2 OR z <> 3))
(x = y) = z
(x || y) + 1
x || (y + 1) || z
(x IS NULL) IS TRUE
x BETWEEN 1 AND 2 AND y
(x BETWEEN 1 AND 2) BETWEEN y AND z
x NOT IN (1, y + 2, 'it''s')
CASE x WHEN 1 THEN 'a' WHEN 2 THEN 'b' END
CASE WHEN x IS NOT NULL THEN NOT TRUE ELSE y IS DISTINCT FROM 3 END
CAST(x + y AS DECIMAL(10, 2))
x::INT::TEXT
(x + 1)::INT
(-1)::INT
s.f.g
S.f
(A.s).f
A.s.f[1]
EXTRACT(HOUR FROM(x))
TRIM(BOTH 'x' FROM s)
list_transform(arr, e -> e + A.price + s.f)
{'a': x, 'b': [1, 2, -y]}
DATE '2020-01-01' + INTERVAL '3' DAY
x AT TIME ZONE 'UTC' = y
(x & y) = 3
~x
x ILIKE 'a' AND y
1.50 + 1e-7 + 0.1e0 + 123456789012345678901234567890
TRUE OR NULL
PREV(FINAL LAST(A.x + A.y, 2), 3)
RUNNING FIRST(CLASSIFIER(A))
NEXT(CLASSIFIER())
ARRAY_AGG(DISTINCT upper(A.s))
LAST(x) + SUM(1)
MATCH_NUMBER() % 2 = 0
"case" + "my col" + "ünï" + "a""b"
A."order"
coalesce(x, nullif(y, z))
"My Func"(x)
INTERVAL (x) DAY
INTERVAL '1' MONTH
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_parse_back(text: str) -> None:
    clause = "MATCH_RECOGNIZE (MEASURES {} AS m PATTERN (A B))"
    query = parse_clause(clause.format(text))
    rendered = render_query(query)
    assert parse_clause(rendered) == query, rendered


@pytest.mark.parametrize(
    "text",
    [
        r"'a\\b \' \n ${'".replace("${", r"\u0024{"),
        "`a ``b` + `select`",
        "x || y + z",
        "x = y IN (1, 2)",
        "x <=> y",
        "transform(arr, (e, i) -> e + i + A.p)",
        "1L + 1.5BD",
        "x div y * 2",
        "x | y ^ z & 1",
        "db.f(x)",
    ],
)
def test_expressions_parse_back_in_spark(text: str) -> None:
    query = parse_clause(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A B))", "spark")
    rendered = render_query(query, "spark")
    assert parse_clause(rendered, "spark") == query, rendered


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Call("+", (x, Call("*", (y, z)))), "x + y * z"),
        (Call("*", (Call("+", (x, y)), z)), "(x + y) * z"),
        (Call("-", (x, Call("-", (y, z)))), "x - (y - z)"),
        (Call("neg", (Literal(1),)), "-(1)"),
        (Literal(Decimal(100)), "100."),
        (Literal(0.1), "0.1e0"),
        (Verbatim(("", "::INT"), (Call("+", (x, y)),)), "(x + y)::INT"),
        (At(Column("Order"), "a"), '"a"."Order"'),
        (At(Column("x"), "CASE"), '"CASE".x'),
    ],
)
def test_few_brackets(expr: Expr, text: str) -> None:
    assert render_expr(expr) == text


def test_patterns() -> None:
    a, b = Var("A"), Var("b")
    assert render_pattern(Seq((a, Choice((b, Seq((a, b))))))) == 'A ("b" | A "b")'
    assert render_pattern(Repeat(Repeat(a, 0, 1), 3, None, greedy=False)) == "(A?){3,}?"
    assert render_pattern(Permute((a, Var("PERMUTE")))) == 'PERMUTE(A, "PERMUTE")'


def one(sql: str) -> object:
    ((value,),) = duckdb.execute(f"SELECT {sql} FROM (SELECT 7 AS x, 'a' AS s, {{'f': 3}} AS st)").fetchall()
    return value


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (Call("-", (Column("x"), Literal(-2))), 9),
        (Call("neg", (Call("neg", (Column("x"),)),)), 7),
        (Call("||", (Column("s"), Literal("'; DROP TABLE t; --"))), "a'; DROP TABLE t; --"),
        (Call("between", (Column("x"), Literal(1), Literal(9))), True),
        (Call("in", (Column("x"), Literal(1), Literal(None))), None),
        (Call("case", (Call("is null", (Column("x"),)), Literal(1), Literal(Decimal("2.5")))), Decimal("2.5")),
        (Call("is not distinct from", (Literal(None), Literal(None))), True),
        (Call("not", (Call("like", (Column("s"), Literal("b%"))),)), True),
        (Call("and", (Literal(True), Literal(False))), False),
        (Call("upper", (Column("s"),)), "A"),
        (Verbatim(("", ".f"), (Column("st"),)), 3),
        (Verbatim(("CAST(", " AS VARCHAR)"), (Call("+", (Column("x"), Literal(1))),)), "8"),
        (Verbatim(("list_transform([1, 2], lambda e: e + ", ")"), (Column("x"),)), [8, 9]),
        (Literal(1.5), 1.5),
        (Literal(float("inf")), float("inf")),
    ],
)
def test_duckdb_reads_row_sql(expr: Expr, value: object) -> None:
    assert one(render_row_sql(expr, double_quotes, "duckdb")) == value


def test_intervals_keep_their_microseconds() -> None:
    century = 100 * 365 * 86_400_000_000 + 1
    sql = render_row_sql(Literal(Interval(century)))
    assert sql == f"INTERVAL '{century}' MICROSECOND"
    assert one(f"epoch_us(TIMESTAMP '1970-01-01' + {sql})") == century


@pytest.mark.parametrize(
    ("value", "dialect", "text"),
    [
        ("it's \\n", "duckdb", r"'it''s \n'"),
        ("it's \\n", "spark", r"'it\'s \\n'"),
        ("${env:HOME}\n", "spark", r"'\u0024{env:HOME}\u000a'"),
    ],
)
def test_strings_can_not_escape(value: str, dialect: Dialect, text: str) -> None:
    assert render_row_sql(Literal(value), backticks, dialect) == text


def test_row_sql_of_a_match_expression_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="At is not part of a row expression"):
        render_row_sql(x)
