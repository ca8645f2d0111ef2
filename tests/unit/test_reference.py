"""The reference matcher on patterns built by hand, so that no parser stands between definition and check."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import assert_never

import pytest

from motif.errors import LimitExceeded, QueryBindError, QueryDataError
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Interval, Label, Literal, MatchNumber, Mode
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var, variables
from motif.ir.query import Define, Key, MatchMode, Measure, Order, RowQuery, Rows, Skip, SkipTo, Subset, Within
from motif.testing.random_pattern import random_pattern
from motif.testing.reference import match_rows

A, B, C, X, Y = (Var(name) for name in "ABCXY")


def seq(*items: Pattern) -> Pattern:
    return Seq(items)


def either(*items: Pattern) -> Pattern:
    return Choice(items)


def star(body: Pattern, greedy: bool = True) -> Pattern:
    return Repeat(body, 0, None, greedy)


def plus(body: Pattern, greedy: bool = True) -> Pattern:
    return Repeat(body, 1, None, greedy)


def maybe(body: Pattern, greedy: bool = True) -> Pattern:
    return Repeat(body, 0, 1, greedy)


def value(name: str, var: str | None = None) -> At:
    return At(Column(name), var)


def call(name: str, *args: Expr) -> Call:
    return Call(name, args)


def by_letter(*names: str) -> tuple[Define, ...]:
    """A matches a row whose `c` is 'a', and so on."""
    return tuple(Define(name, call("=", value("c"), Literal(name.lower()))) for name in names)


NUMBER = Measure(MatchNumber(), "number")
LABELS = Measure(Aggregate("array_agg", Label()), "labels")
FIRST_ROW = Measure(At(Column("t"), end=End.FIRST), "first")


def labels(pattern: Pattern, letters: str, **query: object) -> list[str]:
    """One string per match: the labels of its rows ('' is an empty match); variables are defined by letter."""
    query.setdefault("defines", by_letter(*(name for name in variables(pattern) if name in "ABC")))
    rows = [{"t": i, "c": letter} for i, letter in enumerate(letters)]
    asked = RowQuery(pattern, measures=(LABELS,), order=(Order(Column("t")),), **query)  # type: ignore[arg-type]
    return [_joined(row["labels"]) for row in match_rows(asked, rows, ["t", "c"])]


def _joined(found: object) -> str:
    return "".join(found) if isinstance(found, list) else ""


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        pytest.param(seq(plus(A), B), "aab", ["AAB"], id="default skip is past the last row"),
        pytest.param(either(A, seq(A, B)), "ab", ["A"], id="preferred is not longest"),
        pytest.param(seq(either(A, seq(A, B)), either(C, seq(B, C))), "abc", ["ABC"], id="second choice after failure"),
        pytest.param(seq(plus(A), A), "aaa", ["AAA"], id="greedy gives back"),
        pytest.param(seq(star(A, greedy=False), B), "aab", ["AAB"], id="reluctant keeps the start"),
        pytest.param(star(A, greedy=False), "aa", ["", ""], id="reluctant star alone is empty"),
        pytest.param(plus(A, greedy=False), "aa", ["A", "A"], id="reluctant plus takes one"),
        pytest.param(Repeat(A, 2, 3), "aaaaa", ["AAA", "AA"], id="bounded greedy"),
        pytest.param(Repeat(A, 2, 3, greedy=False), "aaaaa", ["AA", "AA"], id="bounded reluctant"),
        pytest.param(star(star(A)), "aaa", ["AAA"], id="star of star"),
        pytest.param(seq(Anchor(at_start=True), A), "aaa", ["A"], id="start anchor is the partition's"),
        pytest.param(seq(A, Anchor(at_start=False)), "aab", [], id="end anchor is the partition's"),
        pytest.param(Permute((A, B, C)), "cabbca", ["CAB", "BCA"], id="permute"),
        pytest.param(Empty(), "ab", ["", ""], id="empty pattern"),
        pytest.param(either(B, Empty()), "ab", ["", "B"], id="empty alternative"),
        pytest.param(seq(A, B), "axb", [], id="concatenation is adjacency"),
        pytest.param(seq(A, star(X, greedy=False), B), "axb", ["AXB"], id="filler variable"),
    ],
)
def test_labels_of_matches(pattern: Pattern, letters: str, expected: list[str]) -> None:
    assert labels(pattern, letters) == expected


def test_minimum_may_be_filled_by_empty_iterations() -> None:
    assert labels(seq(Repeat(maybe(A), 2, None), Y), "yy") == ["Y", "Y"]


def test_extra_empty_iteration_ends_the_loop_with_success() -> None:
    # (A?? | B)*: the first iteration prefers to take nothing, which leaves the loop and completes the match;
    # an engine that counts the empty iteration as a failure answers A B. With C behind it, C fails, and A is tried.
    loop = star(either(maybe(A, greedy=False), B))
    assert labels(loop, "ab") == ["", ""]
    assert labels(seq(loop, C), "abc") == ["ABC"]


def test_empty_iteration_leaves_the_loop_even_if_greedy_could_go_on() -> None:
    # After the empty first choice the rest of the pattern is tried at once: X takes the row, not A.
    loop = star(either(Empty(), A))
    assert labels(seq(loop, X), "ab") == ["X", "X"]


def test_back_reference_decides_the_labels() -> None:
    rows = [{"t": 1, "v": 1}, {"t": 2, "v": 1}]
    query = RowQuery(
        seq(star(either(A, B)), X),
        defines=(Define("X", call("=", value("v"), value("v", "B"))),),
        measures=(LABELS,),
        order=(Order(Column("t")),),
    )
    assert match_rows(query, rows, ["t", "v"]) == [{"labels": ["B", "X"]}]


LETTERS = {"A": "ab", "B": "b", "C": "bc", "D": "abcd"}


def _as_regex(pattern: Pattern) -> str:
    match pattern:
        case Var(name=name):
            return f"[{LETTERS[name]}]"
        case Seq(items=items):
            return "".join(map(_as_regex, items))
        case Choice(items=items):
            return f"(?:{'|'.join(map(_as_regex, items))})"
        case Repeat(body=body, low=low, high=high, greedy=greedy):
            return f"(?:{_as_regex(body)}){{{low},{'' if high is None else high}}}{'' if greedy else '?'}"
        case Permute(items=items):
            return f"(?:{'|'.join(_as_regex(Seq(order)) for order in itertools.permutations(items))})"
        case Exclude(body=body):
            return f"(?:{_as_regex(body)})"
        case Anchor(at_start=at_start):
            return r"\A" if at_start else r"\Z"
        case Empty():
            return "(?:)"
        case _:
            assert_never(pattern)


def test_row_only_patterns_match_as_pythons_regular_expressions_do() -> None:
    """A judge from outside: backtracking with the same preferences, empty iterations included."""
    for seed in range(400):
        rng = random.Random(seed)
        pattern = random_pattern(rng, "ABCD", exclusion=True)
        text = "".join(rng.choices("abcd", k=rng.randint(1, 7)))
        defines = tuple(
            Define(name, call("in", value("c"), *map(Literal, LETTERS[name]))) for name in variables(pattern)
        )
        found = labels(pattern, text, defines=defines, skip=Skip(SkipTo.NEXT))
        regex = re.compile(_as_regex(pattern))
        expected = [hit.end() - start for start in range(len(text)) if (hit := regex.match(text, start))]
        assert list(map(len, found)) == expected, (seed, pattern, text)


def _numbers(pattern: Pattern, values: list[object], within: float | None = None, **query: object) -> list[object]:
    asked = RowQuery(
        pattern,
        measures=(NUMBER, FIRST_ROW, LABELS),
        order=(Order(Column("t")),),
        within=None if within is None else Within(within),
        **query,  # type: ignore[arg-type]
    )
    found = match_rows(asked, [{"t": item} for item in values], ["t"])
    return [(row["number"], row["first"], _joined(row["labels"])) for row in found]


def test_within_is_inclusive_and_cuts_the_loop() -> None:
    assert _numbers(plus(A), [10, 12, 13, 14], within=3) == [(1, 10, "AAA"), (2, 14, "A")]


def test_within_finds_the_preferred_match_inside_the_bound() -> None:
    # Without the bound A A B would win; inside it only the shorter A B ends early enough.
    assert _numbers(seq(plus(A), B), [0, 1, 9], within=2) == [(1, 0, "AB")]


def test_null_order_value_is_never_within_but_an_empty_match_is() -> None:
    assert _numbers(plus(A), [1, None], within=5) == [(1, 1, "A")]
    assert _numbers(star(A), [None], within=5) == [(1, None, "")]


def test_within_counts_dates_in_days() -> None:
    rows = [{"day": date(2024, 1, 31)}, {"day": date(2024, 2, 2)}, {"day": date(2024, 2, 3)}]
    query = RowQuery(
        plus(A),
        measures=(Measure(Aggregate("count", None), "n"),),
        order=(Order(Column("day")),),
        within=Within(Interval(2 * 86_400_000_000)),
    )
    assert [row["n"] for row in match_rows(query, rows, ["day"])] == [2, 1]


def test_incremental_reports_each_earlier_end_with_its_preferred_labels() -> None:
    pattern = seq(A, plus(either(B, X)))
    found = labels(pattern, "abbc", match_mode=MatchMode.INCREMENTAL, defines=by_letter("A", "B"))
    assert found == ["AB", "ABB", "ABBX"]


def test_incremental_numbers_each_reported_match_and_skips_by_the_preferred() -> None:
    found = _numbers(Repeat(A, 1, 2), [1, 2, 3], match_mode=MatchMode.INCREMENTAL)
    assert found == [(1, 1, "A"), (2, 1, "AA"), (3, 3, "A")]


def test_incremental_does_not_report_ends_after_the_preferred_match() -> None:
    found = _numbers(plus(A, greedy=False), [1, 2], match_mode=MatchMode.INCREMENTAL)
    assert found == [(1, 1, "A"), (2, 2, "A")]


def test_skip_to_a_subset_and_its_errors() -> None:
    subset = (Subset("U", ("B", "C")),)
    to_last = Skip(SkipTo.LAST, "U")
    assert labels(seq(A, B, C), "abc", subsets=subset, skip=to_last) == ["ABC"]
    with pytest.raises(QueryDataError, match="no row of the match is a U"):
        labels(seq(A, maybe(B), maybe(C)), "aba", subsets=subset, skip=to_last)
    with pytest.raises(QueryDataError, match="first row of the match"):
        labels(seq(plus(A), B), "aab", skip=Skip(SkipTo.FIRST, "A"))


def test_all_rows_hides_excluded_rows_and_orders_columns() -> None:
    rows = [{"v": v, "t": t, "k": "p"} for t, v in enumerate([10, 20, -5, 15])]
    query = RowQuery(
        seq(Exclude(A), A),
        defines=(Define("A", call(">", value("v"), Literal(0))),),
        measures=(Measure(Aggregate("count", None), "n"),),
        partition=(Key(Column("K"), "k"),),
        order=(Order(Column("T")),),
        rows=Rows.ALL_SHOW_EMPTY,
    )
    found = match_rows(query, rows, ["v", "t", "k"])
    assert found == [{"k": "p", "t": 1, "n": 2, "v": 20}]
    assert list(found[0]) == ["k", "t", "n", "v"]


def test_unmatched_rows_have_null_measures() -> None:
    query = RowQuery(
        plus(B),
        defines=by_letter("B"),
        measures=(NUMBER, Measure(Aggregate("count", None, mode=Mode.FINAL), "n")),
        order=(Order(Column("t")),),
        rows=Rows.ALL_WITH_UNMATCHED,
    )
    rows = [{"t": 1, "c": "a"}, {"t": 2, "c": "b"}]
    assert match_rows(query, rows, ["t", "c"]) == [
        {"t": 1, "number": None, "n": None, "c": "a"},
        {"t": 2, "number": 1, "n": 1, "c": "b"},
    ]


def test_order_puts_nulls_last_and_nan_after_numbers() -> None:
    nan = float("nan")
    rows = [{"w": w} for w in (None, nan, 1.0, 2.0)]

    def ordered(descending: bool = False, nulls_first: bool = False) -> str:
        order = Order(Column("w"), descending, nulls_first)
        query = RowQuery(A, measures=(Measure(value("w"), "w"),), order=(order,))
        return str([row["w"] for row in match_rows(query, rows, ["w"])])

    assert ordered() == "[1.0, 2.0, nan, None]"
    assert ordered(descending=True) == "[nan, 2.0, 1.0, None]"
    assert ordered(nulls_first=True) == "[None, 1.0, 2.0, nan]"
    assert ordered(descending=True, nulls_first=True) == "[None, nan, 2.0, 1.0]"


def test_ties_follow_the_conditions_columns_before_the_outputs() -> None:
    rows = [{"t": 1, "out": 1, "x": 2}, {"t": 1, "out": 2, "x": 1}]
    condition = (Define("A", call("is not null", value("x"))),)
    query = RowQuery(A, defines=condition, measures=(Measure(value("out"), "out"),), order=(Order(Column("t")),))
    assert [row["out"] for row in match_rows(query, rows, ["t", "out", "x"])] == [2, 1]


def _evaluated(expr: Expr, row: Mapping[str, object] | None = None) -> object:
    query = RowQuery(A, measures=(Measure(expr, "x"),))
    row = {"a": 1} if row is None else row
    return match_rows(query, [row], list(row))[0]["x"]


NULL = Literal(None)
TRUE = Literal(True)
FALSE = Literal(False)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (call("and", FALSE, NULL), False),
        (call("and", TRUE, NULL), None),
        (call("or", TRUE, NULL), True),
        (call("or", FALSE, NULL), None),
        (call("not", NULL), None),
        (call("in", Literal(1), Literal(2), NULL), None),
        (call("in", Literal(1), Literal(1), NULL), True),
        (call("between", Literal(5), NULL, Literal(4)), False),
        (call("between", Literal(5), NULL, Literal(6)), None),
        (call("case", NULL, Literal("x"), TRUE, Literal("y"), NULL), "y"),
        (call("coalesce", NULL, Literal(3)), 3),
        (call("nullif", Literal(3), Literal(3)), None),
        (call("like", Literal("abc"), Literal("a_%")), True),
        (call("||", Literal("a"), NULL), None),
        (call("is not distinct from", NULL, NULL), True),
        (call("/", Literal(7), Literal(2)), 3.5),
        (call("/", Literal(7), Literal(0)), None),
        (call("%", Literal(-7), Literal(2)), -1),
        (call("+", Literal(Decimal("0.10")), Literal(2)), Decimal("2.10")),
        (call("*", Literal(Decimal("0.5")), Literal(2.0)), 1.0),
        (call("=", Literal(float("nan")), Literal(float("nan"))), True),
        (call(">", Literal(float("nan")), Literal(1e308)), True),
        (call("greatest", Literal(1), NULL, Literal(3)), 3),
        (call("least", Literal(1), NULL, Literal(3)), 1),
        (call("round", Literal(-2.5)), -3.0),
        (call("sign", Literal(-4)), -1),
    ],
)
def test_scalars(expr: Expr, expected: object) -> None:
    answer = _evaluated(expr)
    assert answer == expected
    assert type(answer) is type(expected)


def test_moments_and_intervals() -> None:
    row = {"x": datetime(2024, 1, 2, 0, 0, 1), "y": datetime(2024, 1, 2), "d": date(2024, 3, 1), "e": date(2024, 2, 28)}
    assert _evaluated(call("-", value("x"), value("y")), row) == Interval(1_000_000)
    assert _evaluated(call("-", value("d"), value("e")), row) == 2
    assert _evaluated(call("+", value("y"), Literal(Interval(1_000_000))), row) == row["x"]
    assert _evaluated(call("<", value("d"), value("x")), row) is False


def test_unknown_column_and_step_limit() -> None:
    query = RowQuery(A, measures=(Measure(value("prise"), "x"),))
    with pytest.raises(QueryBindError, match="did you mean price"):
        match_rows(query, [], ["price"])
    exponential = RowQuery(seq(star(star(A)), B), defines=(Define("B", FALSE),))
    with pytest.raises(LimitExceeded):
        match_rows(exponential, [{"v": 1}] * 20, ["v"], steps=1000)
