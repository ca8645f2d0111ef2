"""Tokens, brackets and the limits on text."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from motif.errors import LimitExceeded, MotifError, QuerySyntaxError
from motif.ir.expr import Column, Literal, Verbatim
from motif.ir.render import render_row_sql
from motif.lang.lexer import Dialect, Kind, tokenize
from motif.lang.statement import parse_statement
from motif.limits import LIMITS


def words(text: str, dialect: Dialect = "duckdb") -> list[tuple[str, str]]:
    return [(token.kind.name, token.value) for token in tokenize(text, dialect).items[:-1]]


def message(text: str, dialect: Dialect = "duckdb") -> str:
    with pytest.raises(MotifError) as caught:
        tokenize(text, dialect)
    return str(caught.value)


def test_names_numbers_and_operators() -> None:
    assert words("a_1.b>=-1.5e-3||.5 -- note\n/* more */ ü") == [
        ("NAME", "a_1"),
        ("OP", "."),
        ("NAME", "b"),
        ("OP", ">"),
        ("OP", "="),
        ("OP", "-"),
        ("NUMBER", "1.5e-3"),
        ("OP", "|"),
        ("OP", "|"),
        ("NUMBER", ".5"),
        ("NAME", "ü"),
    ]


def test_spans_point_into_the_text() -> None:
    text = "  ab 'c d'"
    first, second, end = tokenize(text).items
    assert [text[t.span.start : t.span.end] for t in (first, second)] == ["ab", "'c d'"]
    assert end.kind is Kind.END
    assert end.span.start == len(text)


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ('"a ""b"""', "duckdb", [("NAME", 'a "b"')]),
        ('"a ""b"', "spark", [("STRING", 'a "b')]),
        ("`a ``b`", "spark", [("NAME", "a `b")]),
        ("'it''s'", "duckdb", [("STRING", "it's")]),
        (r"'a\'", "duckdb", [("STRING", "a\\")]),
        (r"'a\'b\n\u0041\%'", "spark", [("STRING", "a'b\nA\\%")]),
        (r"r'a\n'", "spark", [("STRING", "a\\n")]),
        (r"E'a\'b'", "duckdb", [("STRING", r"a\'b")]),
        ("$$it's$$ $q$ $$ $q$", "duckdb", [("STRING", "it's"), ("STRING", " $$ ")]),
        ("1_000", "duckdb", [("NUMBER", "1000")]),
        ("1L 1.5BD 2024_sales", "spark", [("NUMBER", "1L"), ("NUMBER", "1.5BD"), ("NAME", "2024_sales")]),
        ("$1", "duckdb", [("OP", "$"), ("NUMBER", "1")]),
    ],
)
def test_quoting_follows_the_dialect(text: str, dialect: Dialect, expected: list[tuple[str, str]]) -> None:
    assert words(text, dialect) == expected


def test_dollar_is_an_anchor_inside_of_pattern() -> None:
    inside = words("MATCH_RECOGNIZE (PATTERN ((A$B$) $$ C))")
    assert [value for _, value in inside[4:-2]] == ["(", "A", "$", "B", "$", ")", "$", "$", "C"]
    assert words("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS $$x$$)")[-2] == ("STRING", "x")


def test_brackets_are_paired() -> None:
    tokens = tokenize("f(a[1], (b))")
    assert tokens.closer == {1: 10, 3: 5, 7: 9}
    assert tokens.opener(10) == 1
    assert [tokens.parent[i] for i in (0, 2, 4, 8, 11)] == [-1, 1, 3, 7, -1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT (a]",
            """] does not close ( (line 1, column 10)
    |
  1 | SELECT (a]
    |          ^
  hint: close the ( from character 8 with ) first""",
        ),
        (
            "SELECT\n  (a",
            """this ( is never closed (line 2, column 3)
    |
  2 |   (a
    |   ^
  hint: add the missing )""",
        ),
        (
            "a)",
            """this ) closes nothing (line 1, column 2)
    |
  1 | a)
    |  ^
  hint: remove it, or add the missing (""",
        ),
        (
            "x = 'abc",
            """this string is never closed (line 1, column 5)
    |
  1 | x = 'abc
    |     ^
  hint: add the missing '""",
        ),
        (
            "a /* /* b */",
            """a comment inside a comment (line 1, column 6)
    |
  1 | a /* /* b */
    |      ^^
  hint: close the first comment with */ before""",
        ),
        (
            "12abc",
            """malformed number 12abc (line 1, column 1)
    |
  1 | 12abc
    | ^^^^^
  hint: a name that begins with a digit needs quotes""",
        ),
        (
            "a\u00a0b",
            """U+00A0 is not an ordinary blank (line 1, column 2)
    |
  1 | a b
    |  ^
  hint: replace it by a space""",
        ),
    ],
)
def test_errors_point_at_the_character(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(
    "text", ["a \x00", "'\x00'", '"\x01"', "\ud800", "/* never", '"never', "$$never", '""', "E'a\\'"]
)
def test_text_nobody_could_read_is_refused(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        tokenize(text)


def test_spark_would_substitute_settings_even_in_strings() -> None:
    assert "${ is not allowed" in message("SELECT '${env:HOME}'", "spark")
    assert words("'${x}'", "duckdb") == [("STRING", "${x}")]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("x" * 70_000, "query_chars"),
        ("x" * 600, "identifier_chars"),
        ('"' + "x" * 600 + '"', "identifier_chars"),
        ("9" * 5_000, "literal_digits"),
        ("(" * 201 + ")" * 201, "nesting_depth"),
        ("[{(" * 67 + ")}]" * 67, "nesting_depth"),
    ],
)
def test_limits_are_named(text: str, limit: str) -> None:
    with pytest.raises(LimitExceeded, match=f"{limit} = "):
        tokenize(text)


def test_limits_can_be_raised() -> None:
    tokenize("(" * 300 + ")" * 300, limits=replace(LIMITS, nesting_depth=300))


@pytest.mark.parametrize("text", ["x" * 10_000_000, "\n" * 10_000_000, "(" * 100_000, "(" * 65_000, "'" * 65_001])
def test_hostile_text_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(MotifError):
        tokenize(text)
    assert time.process_time() - begin < 0.5


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_comment_ends_where_both_hosts_end_it(end: str, dialect: Dialect) -> None:
    tokens = tokenize(f"a -- x{end}b /* y{end}z */ c --", dialect)
    assert [token.value for token in tokens.items[:-1]] == ["a", "b", "c"]
    assert tokens.for_host == f"a     {end}b     {end}     c   "


def test_strings_and_names_keep_what_looks_like_a_comment() -> None:
    text = "'-- a' \"/* b */\" $$ -- c $$ d"
    assert tokenize(text).for_host == text


def test_hosts_see_no_comment_of_a_condition_or_a_statement() -> None:
    text = "SELECT * /* one */ FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS f(x -- two\r, y := 1)) -- three"
    statement = parse_statement(text)
    assert statement.outer_sql.split() == ["SELECT", "*", "FROM", "__motif_0"]
    [define] = statement.clauses[0].query.defines
    assert "two" not in render_row_sql(Verbatim(define.condition.parts, (Column("x"), Literal(1))))  # type: ignore[union-attr]


def test_hints_of_spark_stay_if_nothing_can_hide_in_them() -> None:
    text = "SELECT /*+ BROADCAST(t), REPARTITION(3, a.b) */ v"
    assert tokenize(text, "spark").for_host == text
    assert tokenize(text, "duckdb").for_host.split() == ["SELECT", "v"]
    for hidden in ("/*+ BROADCAST('*/', t) */", "/*+ `*/` */", '/*+ "*/" */', "/*+ a -- */", "/*+ /* */ */", "/*+ a"):
        assert "this hint is not understood" in message(f"SELECT {hidden} v", "spark")
