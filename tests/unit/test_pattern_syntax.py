"""PATTERN ( ... ): text to nodes, and what is refused."""

from __future__ import annotations

import pytest

from motif.errors import LimitExceeded, MotifError, QuerySyntaxError, Span
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var
from motif.ir.render import render_pattern
from motif.lang.statement import parse_clause

A, B, C, D = Var("A"), Var("B"), Var("C"), Var("D")


def pattern(text: str) -> Pattern:
    return parse_clause(f"MATCH_RECOGNIZE (PATTERN ({text}))").pattern


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", A),
        ("((A))", A),
        ("A B C", Seq((A, B, C))),
        ('a "b" b', Seq((A, Var("b"), B))),
        ("A | B C | D", Choice((A, Seq((B, C)), D))),
        ("A (B | C) D", Seq((A, Choice((B, C)), D))),
        ("(A B) C", Seq((Seq((A, B)), C))),
        ("A*", Repeat(A, 0, None)),
        ("A+", Repeat(A, 1, None)),
        ("A?", Repeat(A, 0, 1)),
        ("A{2}", Repeat(A, 2, 2)),
        ("A{2,}", Repeat(A, 2, None)),
        ("A{,}", Repeat(A, 0, None)),
        ("A{2,3}", Repeat(A, 2, 3)),
        ("A{,3}", Repeat(A, 0, 3)),
        ("A*?", Repeat(A, 0, None, greedy=False)),
        ("A??", Repeat(A, 0, 1, greedy=False)),
        ("A{2,3}?", Repeat(A, 2, 3, greedy=False)),
        ("(A B)+", Repeat(Seq((A, B)), 1, None)),
        ("(A*)*", Repeat(Repeat(A, 0, None), 0, None)),
        ("PERMUTE(A, B C, D+)", Permute((A, Seq((B, C)), Repeat(D, 1, None)))),
        ("PERMUTE (A | B, C)", Permute((Choice((A, B)), C))),
        ("PERMUTE A", Seq((Var("PERMUTE"), A))),
        ('"PERMUTE"', Var("PERMUTE")),
        ("{- A B -} C", Seq((Exclude(Seq((A, B))), C))),
        ("A{-B-}", Seq((A, Exclude(B)))),
        ("{- A -}+", Repeat(Exclude(A), 1, None)),
        ("^ A $", Seq((Anchor(True), A, Anchor(False)))),
        ("A B$", Seq((A, B, Anchor(False)))),
        ("A$B$", Seq((A, Anchor(False), B, Anchor(False)))),
        ("A ()", Seq((A, Empty()))),
        ("(A | )", Choice((A, Empty()))),
        ("A || B", Choice((A, Empty(), B))),
        ("(())", Empty()),
    ],
)
def test_parse(text: str, expected: Pattern) -> None:
    assert pattern(text) == expected
    assert pattern(render_pattern(expected)) == expected


def test_spans_of_parts() -> None:
    text = "MATCH_RECOGNIZE (PATTERN (A (B | C)+?))"
    found = parse_clause(text).pattern
    assert isinstance(found, Seq)
    loop = found.items[1]
    assert loop.span == Span(text.index("(B"), text.index("?") + 1)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("A**", "a second quantifier *", "use one quantifier, or parentheses: (A*)*"),
        ("A???", "a second quantifier ?", "use one quantifier, or parentheses: (A*)*"),
        ("A{3,2}", "{3,2} allows no repetition", "write {2,3}"),
        ("A{0}", "{0} allows no repetition", "at least one repetition must be allowed"),
        ("A{x}", "expected a number after {, found x", "write {2}, {2,}, {2,3} or {,3}; {- A -} excludes"),
        ("A{1.5}", "1.5 is not a whole number", None),
        ("A{1 2}", "expected } after the quantifier's bounds, found 2", "write {2}, {2,}, {2,3} or {,3}"),
        ("*A", "the quantifier * follows nothing", "write it after a variable: A+"),
        ("A, B", ", has no meaning in PATTERN", "variables follow each other without commas: PATTERN (A B C)"),
        ("A & B", "& has no meaning in PATTERN", "put both conditions into one DEFINE, with AND"),
        ("A 'x'", "'x' has no meaning in PATTERN", "a pattern variable is a name, not a string"),
        ("{- A }", "an exclusion {- ends with -}", "write {- A -}"),
        ("PERMUTE(A,,B)", "PERMUTE with nothing between two commas", "write PERMUTE(A, B, C)"),
        ("", "PATTERN ( ) is empty", "name at least one variable: PATTERN (A)"),
    ],
)
def test_refused(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        pattern(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("A{1,1000000000}", "quantifier_bound = 1,000"),
        ("A{" + "9" * 4000 + "}", "quantifier_bound = 1,000"),
        ("PERMUTE(A,B,C,D,E,F,G,H,I,J,K)", "permute_items = 10"),
        (" ".join(f"V{i}" for i in range(257)), "pattern_variables = 256"),
    ],
)
def test_limits(text: str, limit: str) -> None:
    with pytest.raises(LimitExceeded, match=limit):
        pattern(text)


def test_deep_groups_do_not_recurse() -> None:
    assert isinstance(pattern("(" * 190 + "A" + ")*" * 190), Repeat)


def test_caret() -> None:
    with pytest.raises(MotifError) as caught:
        pattern("A{1,1000000000}")
    assert (
        str(caught.value)
        == """the repetition 1000000000 is more than the limit quantifier_bound = 1,000 (line 1, column 31)
    |
  1 | MATCH_RECOGNIZE (PATTERN (A{1,1000000000}))
    |                               ^^^^^^^^^^
  hint: use * or + where any number will do"""
    )
