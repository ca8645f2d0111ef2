"""Scalar expressions: text to nodes, in both dialects, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from motif.errors import LimitExceeded, MotifError, QueryBindError, QuerySyntaxError, UnsupportedQuery
from motif.ir.expr import (
    Aggregate,
    At,
    Call,
    Column,
    End,
    Expr,
    Interval,
    Label,
    Literal,
    MatchNumber,
    Mode,
    Verbatim,
    children,
)
from motif.lang.lexer import Dialect
from motif.lang.statement import parse_clause

CLAUSE = "MATCH_RECOGNIZE (MEASURES {} AS m PATTERN (A B) SUBSET U = (A, B))"


def expr(text: str, dialect: Dialect = "duckdb") -> Expr:
    return parse_clause(CLAUSE.format(text), dialect).measures[0].expr


def define(text: str) -> Expr:
    return parse_clause(f"MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS {text})").defines[0].condition


def col(name: str, var: str | None = None) -> At:
    return At(Column(name), var)


def lit(value: float | Decimal | str | bool | Interval | None) -> Literal:
    return Literal(value)


def call(name: str, *args: Expr) -> Call:
    return Call(name, args)


x, y, z = col("x"), col("y"), col("z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", x),
        ("A.x", col("x", "A")),
        ("a.x", col("x", "A")),
        ("U.x", col("x", "U")),
        ('"a".x', Verbatim(("", ".x"), (col("a"),))),
        ('A."my col"', col("my col", "A")),
        ("s.f.g", Verbatim(("", ".f.g"), (col("s"),))),
        ("A.s.f", Verbatim(("", ".f"), (col("s", "A"),))),
        ("1", lit(1)),
        ("1.50", lit(Decimal("1.50"))),
        ("15e2", lit(1500.0)),
        ("-1", lit(-1)),
        ("-1.5", lit(Decimal("-1.5"))),
        ("- x", call("neg", x)),
        ("-(1)", call("neg", lit(1))),
        ("+x", x),
        ("'it''s'", lit("it's")),
        ("TRUE", lit(True)),
        ("null", lit(None)),
        ("x + y * z", call("+", x, call("*", y, z))),
        ("(x + y) * z", call("*", call("+", x, y), z)),
        ("x - y - z", call("-", call("-", x, y), z)),
        ("x || y || z", call("||", call("||", x, y), z)),
        ("x % 2 = 0", call("=", call("%", x, lit(2)), lit(0))),
        ("x != y", call("<>", x, y)),
        ("x == y", call("=", x, y)),
        ("x <= -1", call("<=", x, lit(-1))),
        (
            "x = 1 OR y = 2 AND NOT z",
            call("or", call("=", x, lit(1)), call("and", call("=", y, lit(2)), call("not", z))),
        ),
        ("NOT x = y", call("not", call("=", x, y))),
        ("x IS NULL", call("is null", x)),
        ("x + 1 IS NOT NULL", call("is not null", call("+", x, lit(1)))),
        ("x IS TRUE", call("is true", x)),
        ("x IS NOT FALSE", call("not", call("is false", x))),
        ("x IS DISTINCT FROM y", call("is distinct from", x, y)),
        ("x IS NOT DISTINCT FROM y", call("is not distinct from", x, y)),
        ("x BETWEEN 1 AND 2 AND y", call("and", call("between", x, lit(1), lit(2)), y)),
        ("x NOT BETWEEN 1 AND 2", call("not", call("between", x, lit(1), lit(2)))),
        ("x IN (1, 2)", call("in", x, lit(1), lit(2))),
        ("x NOT IN ('a')", call("not", call("in", x, lit("a")))),
        ("x LIKE 'a%'", call("like", x, lit("a%"))),
        ("x NOT LIKE 'a%'", call("not", call("like", x, lit("a%")))),
        ("x LIKE ANY ('a%', y)", call("or", call("like", x, lit("a%")), call("like", x, y))),
        (
            "x NOT LIKE ALL ('a', 'b')",
            call("and", call("not", call("like", x, lit("a"))), call("not", call("like", x, lit("b")))),
        ),
        ("x = ANY (1, 2)", call("or", call("=", x, lit(1)), call("=", x, lit(2)))),
        ("x > ALL ([1, y])", call("and", call(">", x, lit(1)), call(">", x, y))),
        ("x = ANY ([y])", call("=", x, y)),
        ("x BETWEEN ASYMMETRIC 2 AND 1", call("between", x, lit(2), lit(1))),
        (
            "x BETWEEN SYMMETRIC 2 AND 1",
            call("or", call("between", x, lit(2), lit(1)), call("between", x, lit(1), lit(2))),
        ),
        ("(x, y) = (1, 2)", call("and", call("=", x, lit(1)), call("=", y, lit(2)))),
        ("(x, y) <> (1, 2)", call("or", call("<>", x, lit(1)), call("<>", y, lit(2)))),
        (
            "(x, y) <= (1, 2)",
            call("or", call("<", x, lit(1)), call("and", call("=", x, lit(1)), call("<=", y, lit(2)))),
        ),
        (
            "(x, y) IN ((1, 2), (3, 4))",
            call(
                "or",
                call("and", call("=", x, lit(1)), call("=", y, lit(2))),
                call("and", call("=", x, lit(3)), call("=", y, lit(4))),
            ),
        ),
        ("CASE WHEN x THEN 1 END", call("case", x, lit(1), lit(None))),
        ("CASE x WHEN 1 THEN 'a' ELSE 'b' END", call("case", call("=", x, lit(1)), lit("a"), lit("b"))),
        ("COALESCE(x, 1)", call("coalesce", x, lit(1))),
        ("NULLIF(x, 1)", call("nullif", x, lit(1))),
        ("Round(x, 2)", call("round", x, lit(2))),
        ("now()", call("now")),
        ("INTERVAL '5' MINUTE", lit(Interval(300_000_000))),
        ("INTERVAL 5 MINUTES", lit(Interval(300_000_000))),
        ("INTERVAL '1 day 02:00:00.5'", lit(Interval(93_600_500_000, days=1))),
        ("INTERVAL '-1.5' SECOND", lit(Interval(-1_500_000))),
        ("MATCH_NUMBER()", MatchNumber()),
        ("match_number", col("match_number")),
        ("first + last", call("+", col("first"), col("last"))),
        ("interval + within", call("+", col("interval"), col("within"))),
    ],
)
def test_scalars(text: str, expected: Expr) -> None:
    assert expr(text) == expected


@pytest.mark.parametrize(
    ("text", "parts", "args"),
    [
        ("CAST(x AS DECIMAL(10, 2))", ("CAST(", " AS DECIMAL(10, 2))"), (x,)),
        ("TRY_CAST(x+y AS INT[])", ("TRY_CAST(", " AS INT[])"), (call("+", x, y),)),
        ("x::TIMESTAMP WITH TIME ZONE", ("", "::TIMESTAMP WITH TIME ZONE"), (x,)),
        ("(x + y)::INT", ("", "::INT"), (call("+", x, y),)),
        ("EXTRACT(HOUR FROM x)", ("EXTRACT(HOUR FROM ", ")"), (x,)),
        ("DATE '2020-01-01'", ("DATE '2020-01-01'",), ()),
        ("INTERVAL '1' MONTH", ("INTERVAL '1' MONTH",), ()),
        ("INTERVAL (x) DAY", ("INTERVAL (", ") DAY"), (x,)),
        ("x AT TIME ZONE 'UTC'", ("", " AT TIME ZONE ", ""), (x, lit("UTC"))),
        ("SUBSTRING(x FROM 1 FOR 2)", ("SUBSTRING(", " FROM ", " FOR ", ")"), (x, lit(1), lit(2))),
        ("TRIM(BOTH 'a' FROM x)", ("TRIM(BOTH ", " FROM ", ")"), (lit("a"), x)),
        ("POSITION('a' IN x)", ("POSITION(", " IN ", ")"), (lit("a"), x)),
        ("x COLLATE nocase", ("", " COLLATE nocase"), (x,)),
        ("x[1]", ("", "[", "]"), (x, lit(1))),
        ("x[1:y]", ("", "[", ":", "]"), (x, lit(1), y)),
        ("[x, 1]", ("[", ", ", "]"), (x, lit(1))),
        ("{'a': x, b: 1}", ("{'a': ", ", b: ", "}"), (x, lit(1))),
        ("ROW(x, 1)", ("ROW(", ", ", ")"), (x, lit(1))),
        ("(x, 1)", ("(", ", ", ")"), (x, lit(1))),
        ("x & y", ("", " & ", ""), (x, y)),
        ("x // 2", ("", " // ", ""), (x, lit(2))),
        ("x -> '$.a'", ("", " -> ", ""), (x, lit("$.a"))),
        ("f(x -> 'a')", None, None),
        ("~x", ("~", ""), (x,)),
        ("x ILIKE 'a'", ("", " ILIKE ", ""), (x, lit("a"))),
        ("x NOT SIMILAR TO 'a'", ("", " NOT SIMILAR TO ", ""), (x, lit("a"))),
        ("x LIKE 'a' ESCAPE '!'", ("", " LIKE ", " ESCAPE ", ""), (x, lit("a"), lit("!"))),
        ("f(a := x)", ("f(a := ", ")"), (x,)),
        ("list_transform(x, e -> e + y)", ("list_transform(", ", e -> e + ", ")"), (x, y)),
        ("list_filter(x, lambda e, i: e > A.z)", ("list_filter(", ", lambda e, i: e > ", ")"), (x, col("z", "A"))),
        ("current_date", ("current_date",), ()),
        (r"E'a\n'", (r"E'a\n'",), ()),
    ],
)
def test_host_syntax_is_carried(text: str, parts: tuple[str, ...] | None, args: tuple[Expr, ...]) -> None:
    found = expr(text)
    if parts is None:
        assert found == call("f", Verbatim(("", " -> ", ""), (x, lit("a"))))
    else:
        assert found == Verbatim(parts, args)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x <=> y", call("is not distinct from", x, y)),
        ("x || y + z", call("+", call("||", x, y), z)),
        ("x = y IN (1)", call("in", call("=", x, y), lit(1))),
        ("`a b`", col("a b")),
        ('"text"', lit("text")),
        ("1L", Verbatim(("1L",), ())),
        ("x div y", Verbatim(("", " div ", ""), (x, y))),
        ("x RLIKE 'a'", Verbatim(("", " RLIKE ", ""), (x, lit("a")))),
        ("transform(x, (e, i) -> e + y)", Verbatim(("transform(", ", (e, i) -> e + ", ")"), (x, y))),
        ("db.f(x)", Verbatim(("db.f(", ")"), (x,))),
        ("CAST(x AS MAP<INT, ARRAY<STRING>>)", Verbatim(("CAST(", " AS MAP<INT, ARRAY<STRING>>)"), (x,))),
        ("INTERVAL 1 DAY 2 HOURS", lit(Interval(93_600_000_000, days=1))),
    ],
)
def test_spark(text: str, expected: Expr) -> None:
    assert expr(text, "spark") == expected


def test_precedence_is_the_hosts() -> None:
    assert expr("x || y + z") == call("||", x, call("+", y, z))
    assert expr("x = y IN (1)") == call("=", x, call("in", y, lit(1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PREV(x)", At(Column("x"), shift=-1)),
        ("PREV(A.x, 3)", At(Column("x"), "A", shift=-3)),
        ("NEXT(x, 0)", At(Column("x"))),
        ("NEXT(x)", At(Column("x"), shift=1)),
        ("FIRST(A.x)", At(Column("x"), "A", End.FIRST)),
        ("LAST(A.x, 2)", At(Column("x"), "A", index=2)),
        ("LAST(A.x + A.y)", At(call("+", Column("x"), Column("y")), "A")),
        ("PREV(FIRST(A.x, 2), 3)", At(Column("x"), "A", End.FIRST, 2, -3)),
        ("PREV(RUNNING LAST(A.x))", At(Column("x"), "A", shift=-1, mode=Mode.RUNNING)),
        ("FINAL LAST(x)", At(Column("x"), mode=Mode.FINAL)),
        ("CLASSIFIER()", At(Label())),
        ("CLASSIFIER(U)", At(Label(), "U")),
        ("PREV(CLASSIFIER())", At(Label(), shift=-1)),
        ("LAST(CLASSIFIER(), 1)", At(Label(), index=1)),
        ("FIRST(CLASSIFIER(A))", At(Label(), "A", End.FIRST)),
        ("COUNT(*)", Aggregate("count", None)),
        ("COUNT(A.*)", Aggregate("count", None, "A")),
        ("FINAL SUM(A.x * A.y)", Aggregate("sum", call("*", Column("x"), Column("y")), "A", mode=Mode.FINAL)),
        ("ARRAY_AGG(DISTINCT CLASSIFIER(A))", Aggregate("array_agg", Label(), "A", distinct=True)),
        ("SUM(1)", Aggregate("sum", lit(1))),
        ("LAST(CAST(A.x AS INT))", At(Verbatim(("CAST(", " AS INT)"), (Column("x"),)), "A")),
        (
            "LAST(list_transform(A.x, e -> e + A.y))",
            At(Verbatim(("list_transform(", ", e -> e + ", ")"), (Column("x"), Column("y"))), "A"),
        ),
    ],
)
def test_navigation_and_aggregates(text: str, expected: Expr) -> None:
    assert expr(text) == expected


@pytest.mark.parametrize(
    ("text", "error", "message", "hint"),
    [
        ("LAST(A.x + B.x)", QueryBindError, "LAST reads one variable, but A and B are named in it", None),
        ("LAST(A.x + y)", QueryBindError, "LAST mixes columns of A with columns of any row", None),
        (
            "FIRST(PREV(x))",
            QueryBindError,
            "PREV inside of FIRST",
            "write PREV(FIRST(x)): first the row, then the step",
        ),
        ("PREV(PREV(x))", QueryBindError, "PREV inside of PREV", "write PREV(x, 2)"),
        (
            "PREV(LAST(x) + 1)",
            QueryBindError,
            "LAST inside of PREV",
            "PREV takes one FIRST(x) or LAST(x) as a whole, or columns of one row; combine the results outside",
        ),
        (
            "LAST(FIRST(x))",
            QueryBindError,
            "FIRST inside of LAST",
            "LAST takes columns of one row; combine the results outside",
        ),
        ("SUM(LAST(x))", QueryBindError, "LAST inside of SUM", None),
        ("PREV(SUM(x))", QueryBindError, "SUM inside of PREV", None),
        ("RUNNING PREV(x)", QueryBindError, "RUNNING can not stand before PREV", "write PREV(RUNNING LAST(x))"),
        ("FINAL A.x", QueryBindError, "FINAL stands before FIRST, LAST or an aggregate", "write FINAL LAST(A.x)"),
        ("PREV(x, -1)", QuerySyntaxError, "an offset can not be negative", "use NEXT"),
        ("PREV(x, y)", QuerySyntaxError, "expected a whole number as the offset of PREV, found y", None),
        (
            "LAST(x, NULL)",
            QuerySyntaxError,
            "expected a whole number as the offset of LAST, found NULL",
            "the offset is a literal: LAST(x, 2)",
        ),
        ("PREV(x, 1001)", LimitExceeded, "the offset 1001 is more than the limit navigation_offset = 1,000", None),
        ("CLASSIFIER(Q)", QueryBindError, "Q is not a variable of the pattern", "known here: A, B, U"),
        ("A.*", QuerySyntaxError, "A.* can only be counted", "COUNT(A.*) counts its rows"),
        ("f(SELECT 1)", UnsupportedQuery, "a sub-query needs brackets of its own", None),
        ("x LIKE ANY (SELECT 'a')", UnsupportedQuery, "a sub-query behind LIKE ANY", "use EXISTS"),
        ("list_filter(x, lambda y: y > (SELECT 1))", UnsupportedQuery, "a sub-query is not offered in a lambda", None),
        (
            "x > (SELECT 1 FROM t MATCH_RECOGNIZE (PATTERN (A)))",
            UnsupportedQuery,
            "MATCH_RECOGNIZE inside of MATCH_RECOGNIZE",
            None,
        ),
        ("SUM(x) OVER (ORDER BY y)", UnsupportedQuery, "OVER is not offered inside of MATCH_RECOGNIZE", None),
        ("f(x) OVER w", UnsupportedQuery, "OVER is not offered inside of MATCH_RECOGNIZE", None),
        (
            "COUNT(*) FILTER (WHERE A.x)",
            QueryBindError,
            "FILTER names columns of A, but COUNT reads all rows",
            "write COUNT(A.*)",
        ),
        (
            "SUM(x) FILTER (WHERE A.x)",
            QueryBindError,
            "FILTER names columns of A, but SUM reads all rows",
            "qualify both alike: A. in SUM( )",
        ),
        (
            "SUM(A.x) FILTER (WHERE x)",
            QueryBindError,
            "FILTER names columns of any row, but SUM reads rows of A",
            "qualify both alike: A. in FILTER",
        ),
        ("LAST(x) FILTER (WHERE x)", UnsupportedQuery, "FILTER is not offered inside of MATCH_RECOGNIZE", None),
        ("SUM(stddev(DISTINCT x))", QueryBindError, "STDDEV inside of SUM", None),
        ("x.upper()", UnsupportedQuery, "upper is called with a point before it", None),
        (
            "x = ANY(y)",
            UnsupportedQuery,
            "ANY ( ) of one value",
            "write the values one by one: ANY(a, b); of a column that is a list, use list_contains",
        ),
        ("(x, y) < (1, 2, 3)", QuerySyntaxError, "a row of 2 values is compared with one of 3", None),
        ("PREV(1)", QueryBindError, "PREV( ) reads a row, but names no column of it", "name a column: PREV(A.x)"),
        ("LAST('x')", QueryBindError, "LAST( ) reads a row, but names no column of it", "name a column: LAST(A.x)"),
        ("LAST(NULL)", QueryBindError, "LAST( ) reads a row, but names no column of it", None),
        ("FIRST(1) = 1", QueryBindError, "FIRST( ) reads a row, but names no column of it", None),
        ("PREV(x, 1, 2)", QuerySyntaxError, "there are too many arguments in PREV( )", None),
        ("CLASSIFIER(A, B)", QuerySyntaxError, "there are too many arguments in CLASSIFIER( )", None),
        ("1 < x < 3", QuerySyntaxError, "a second comparison < after the first", None),
        ("x + ", QuerySyntaxError, "expected an expression, found AS", None),
        ("f(x y)", QuerySyntaxError, "expected , or ) in f( ), found y", "is a comma missing?"),
        ("x BETWEEN 1", QuerySyntaxError, "expected AND in BETWEEN, found AS", "write x BETWEEN low AND high"),
        ("end + 1", QuerySyntaxError, "expected an expression, found end", 'to use it as a column, quote it: "end"'),
        ("x = ?", QuerySyntaxError, "expected an expression, found ?", "parameters are not offered: write the value"),
        ("1e999", QuerySyntaxError, "1e999 is too large for a floating-point number", None),
        ("NULLIF(x)", QuerySyntaxError, "NULLIF takes 2 arguments, found 1", None),
    ],
)
def test_refused(text: str, error: type[MotifError], message: str, hint: str | None) -> None:
    with pytest.raises(error) as caught:
        expr(text)
    assert caught.value.message == message
    assert caught.value.span is not None
    if hint is not None:
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("FINAL LAST(x) > 1", QueryBindError, "DEFINE sees the match only up to the current row"),
        ("PREV(FINAL LAST(x)) > 1", QueryBindError, "DEFINE sees the match only up to the current row"),
        ("ARRAY_AGG(x) IS NULL", UnsupportedQuery, "ARRAY_AGG is not offered in DEFINE"),
        ("ARRAY_AGG(DISTINCT x) IS NULL", UnsupportedQuery, "ARRAY_AGG is not offered in DEFINE"),
    ],
)
def test_refused_in_define(text: str, error: type[MotifError], message: str) -> None:
    with pytest.raises(error) as caught:
        define(text)
    assert caught.value.message == message


@pytest.mark.parametrize("name", ["reflect", "`java_method`", "TRY_REFLECT", "builtin.reflect"])
def test_spark_functions_that_run_code(name: str) -> None:
    with pytest.raises(UnsupportedQuery, match="runs code"):
        expr(f"{name}('java.lang.System', 'exit')", "spark")


def test_caret_of_a_mixed_argument() -> None:
    with pytest.raises(QueryBindError) as caught:
        define("LAST(A.x + B.y) > 1")
    assert (
        str(caught.value)
        == """LAST reads one variable, but A and B are named in it (line 1, column 55)
    |
  1 | MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS LAST(A.x + B.y) > 1)
    |                                                       ^^^
  hint: write LAST once for each variable, or name both in a SUBSET"""
    )


def depth(node: Expr) -> int:
    below = children(node)
    return 1 + max(map(depth, below), default=0)


def test_a_long_list_of_conditions_is_not_deep() -> None:
    assert depth(define(" OR ".join(["x = 1"] * 5_000))) < 20


@pytest.mark.parametrize(
    "text",
    [
        "NOT " * 300 + "x",
        "- " * 300 + "x",
        "x" + " + x" * 300,
        "x" + "::INT" * 300,
        "CASE WHEN " * 300 + "x" + " THEN 1 END" * 300,
    ],
)
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(LimitExceeded, match="nesting_depth"):
        expr(text)


def test_nested_simple_cases_stay_small() -> None:
    nested = expr("CASE " * 50 + "x" + " WHEN 1 THEN 1 WHEN 2 THEN 2 END" * 50)
    assert depth(nested) < 120
