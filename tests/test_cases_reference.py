"""Every shared case on the reference matcher."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import motif.errors
from motif.lang.statement import parse_clause
from motif.testing.cases import Case, load_cases, same_in_order, same_rows, same_value
from motif.testing.generate import COLUMNS, features, random_clause, random_example
from motif.testing.reference import match_rows
from motif.testing.tables import to_arrow

CASES = load_cases(Path(__file__).parent / "cases")
TRAPS = range(1, 37)


def answer(case: Case) -> list[dict[str, object]]:
    return match_rows(parse_clause(case.clause), case.rows, list(case.columns))


@pytest.mark.parametrize("case", [case for case in CASES if case.error is None], ids=str)
def test_rows(case: Case) -> None:
    found = answer(case)
    assert same_in_order(found, case.expected), found
    for row in found:
        assert tuple(row) == case.expected_columns


@pytest.mark.parametrize("case", [case for case in CASES if case.error is not None], ids=str)
def test_errors(case: Case) -> None:
    assert case.error is not None
    with pytest.raises(getattr(motif.errors, case.error.kind)) as caught:
        answer(case)
    assert case.error.text in str(caught.value)


def test_every_trap_has_a_case() -> None:
    assert {case.trap for case in CASES} >= set(TRAPS)


def test_names_are_unique() -> None:
    names = [str(case) for case in CASES]
    assert len(set(names)) == len(names)


def test_same_rows_is_a_multiset_comparison() -> None:
    nan = float("nan")
    assert same_rows([(1, None), (nan, "a")], [{"x": nan, "y": "a"}, {"x": 1.0, "y": None}])
    assert not same_rows([(1,), (1,)], [(1,)])
    assert not same_rows([(1,)], [(1,), (1,)])
    assert not same_rows([(None,)], [("None",)])
    assert same_rows([([1, None],)], [((1.0, None),)])


def test_same_value_by_type() -> None:
    assert not same_value(True, 1)
    assert same_value(0.1 + 0.2, 0.3)
    assert not same_value(9007199254740993, 9007199254740992)


def test_random_queries_are_valid_and_reproducible() -> None:
    for seed in range(100):
        clause, rows = random_example(random.Random(seed), partitions=5)
        assert str((clause, rows)) == str(random_example(random.Random(seed), partitions=5))
        assert features(parse_clause(clause))
        assert to_arrow(rows).column_names == list(COLUMNS)
        try:
            match_rows(parse_clause(clause), rows, list(COLUMNS), steps=5_000)
        except (motif.errors.LimitExceeded, motif.errors.QueryDataError):
            continue


def test_random_queries_cover_the_language() -> None:
    rng = random.Random(0)
    found = set().union(*(features(parse_clause(random_clause(rng))) for _ in range(600)))
    missing = {
        *("PARTITION BY none", "PARTITION BY several", "PARTITION BY expression", "ORDER BY several"),
        *("ORDER BY DESC NULLS FIRST", "SKIP TO FIRST", "SKIP TO LAST", "SKIP TO LAST subset", "SKIP TO NEXT ROW"),
        *("ONE ROW PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES", "ALL ROWS PER MATCH OMIT EMPTY MATCHES"),
        *("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "INCREMENTAL MATCH", "WITHIN number", "WITHIN interval", "SUBSET"),
        *("PERMUTE", "exclusion", "anchor ^", "anchor $", "empty pattern ()", "alternation with empty"),
        *("nullable body under quantifier", "undefined variable", "define on another variable"),
        *(f"quantifier {sign}{lazy}" for sign in ("*", "+", "?", "{n}", "{n,}", "{n,m}") for lazy in ("", "?")),
        *(f"define {name}" for name in ("CLASSIFIER", "MATCH_NUMBER", "PREV of FIRST/LAST", "NEXT", "sum over subset")),
        *(f"measure {name}" for name in ("array_agg DISTINCT", "FINAL aggregate", "PREV/NEXT of FINAL", "case")),
    } - found
    assert not missing
