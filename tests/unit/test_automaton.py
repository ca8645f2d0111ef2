"""Patterns as automata: labels on letters, no cycle without a row, and sizes."""

from __future__ import annotations

import itertools
import random
import re

import pyarrow as pa
import pytest

import motif
from motif.errors import LimitExceeded
from motif.ir.pattern import Pattern
from motif.lang.statement import parse_clause
from motif.limits import LIMITS
from motif.plan import automaton as a
from motif.testing.random_pattern import pattern_text, random_pattern


def matches(pattern: str, *texts: str, defined: str = "ABCD") -> list[list[str]]:
    """The labels of each match, text by text; a `defined` variable A takes an `a`, and so on, others any row."""
    names = [name for name in defined if re.search(rf"\b{name}\b", pattern)]
    define = "DEFINE " + ", ".join(f"{name} AS c = '{name.lower()}'" for name in names) if names else ""
    clause = f"""MATCH_RECOGNIZE (PARTITION BY p ORDER BY t MEASURES FIRST(t) AS t, ARRAY_AGG(CLASSIFIER()) AS labels
        PATTERN ({pattern}) {define})"""
    letters = [(number, place, letter) for number, text in enumerate(texts) for place, letter in enumerate(text)]
    p, t, c = zip(*letters, strict=True)
    found: list[list[str]] = [[] for _ in texts]
    for row in motif.match(pa.table({"p": p, "t": t, "c": c}), clause).to_pylist():
        found[row["p"]].append("".join(row["labels"] or ()))
    return found


def assert_labels(pattern: str, letters: str, *expected: str, defined: str = "ABCD") -> None:
    assert matches(pattern, letters, defined=defined) == [list(expected)]


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        ("A B", "abab", ["AB", "AB"]),
        ("A B+", "abbc", ["ABB"]),
        ("A B+?", "abbc", ["AB"]),
        ("A | A B", "ab", ["A"]),
        ("(A | A B) (C | B C D)", "abcd", ["ABCD"]),
        ("A* B", "aabab", ["AAB", "AB"]),
        ("A*? B", "aab", ["AAB"]),
        ("A{2}", "aaaaa", ["AA", "AA"]),
        ("A{2,3}", "aaaaa", ["AAA", "AA"]),
        ("A{2,3}?", "aaaaa", ["AA", "AA"]),
        ("A{,2}", "aaa", ["AA", "A"]),
        ("A{2,}", "aaaaa", ["AAAAA"]),
        ("(A B)+", "ababa", ["ABAB"]),
        ("(A B?)+ C", "aababc", ["AABABC"]),
        ("^ A", "aa", ["A"]),
        ("A $", "aa", ["A"]),
        ("^ A+ $", "aaa", ["AAA"]),
        ("^ A+ $", "aab", []),
        ("(A*)*", "aaa", ["AAA"]),
        ("(A?){2,} B", "bab", ["B", "AB"]),
        ("(() | A) B", "ab", ["AB"]),
        ("PERMUTE(A, B)", "ba", ["BA"]),
        ("PERMUTE(A, B, C)", "cabbca", ["CAB", "BCA"]),
        ("PERMUTE(A+, B)", "aab", ["AAB"]),
        ("{- A -} B", "ab", ["AB"]),
        ("A B | A", "aab", ["A", "AB"]),
    ],
)
def test_labels(pattern: str, letters: str, expected: list[str]) -> None:
    assert_labels(pattern, letters, *expected)


def test_labels_of_variables_that_take_any_row() -> None:
    assert_labels("A X* B", "abxb", "AXXB", defined="AB")
    assert_labels("A X*? B", "abxb", "AB", defined="AB")
    assert_labels("PERMUTE(X, Y)", "..", "XY", defined="")
    assert_labels("X | Y", "..", "X", "X", defined="")


# --- shape ---


def compiled(pattern: str) -> a.Automaton:
    return a.compile_pattern(parse_clause(f"MATCH_RECOGNIZE (MEASURES MATCH_NUMBER() AS n PATTERN ({pattern}))"))


def cycle_without_a_row(machine: a.Automaton) -> bool:
    """Whether a state leads back to itself through states that take no row."""
    state_of: dict[int, int] = {}  # 1: on the path, 2: done
    for entry in range(len(machine)):
        path = [(entry, iter(()))] if state_of.get(entry) else [(entry, _free(machine, entry))]
        state_of.setdefault(entry, 1)
        while path:
            state, rest = path[-1]
            for successor in rest:
                if state_of.get(successor) == 1:
                    return True
                if successor not in state_of:
                    state_of[successor] = 1
                    path.append((successor, _free(machine, successor)))
                    break
            else:
                state_of[state] = 2
                path.pop()
    return False


def _free(machine: a.Automaton, state: int) -> itertools.chain[int]:
    """Successors without taking a row."""
    return itertools.chain(() if machine.op[state] == a.SYMBOL else machine.successors(state))


def random_text(seed: int) -> str:
    rng = random.Random(seed)
    pattern: Pattern = random_pattern(rng, "ABCD", exclusion=True)
    return pattern_text(pattern, rng)


@pytest.mark.parametrize("chunk", range(4))
def test_every_cycle_takes_a_row(chunk: int) -> None:
    for seed in range(chunk * 500, (chunk + 1) * 500):
        assert not cycle_without_a_row(compiled(random_text(seed))), random_text(seed)


@pytest.mark.parametrize(
    "pattern", ["((A*)*)*", "((A?)+)+", "(() | A*)*", "((A | ())* B?)*", "(^ A* $)*", "((A*?)+?)*?"]
)
def test_nested_empty_loops_take_a_row_too(pattern: str) -> None:
    assert not cycle_without_a_row(compiled(pattern))


def test_the_check_finds_a_cycle() -> None:
    looping = a.Automaton(
        op=(a.SPLIT, a.SPLIT, a.MATCH), var=(0,) * 3, preferred=(1, 0, 0), other=(2, 2, 0), excluded=(False,) * 3
    )
    assert cycle_without_a_row(looping)


def test_all_states_can_be_reached() -> None:
    for seed in range(300):
        machine = compiled(random_text(seed))
        seen, pending = {0}, [0]
        while pending:
            for successor in machine.successors(pending.pop()):
                if successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        assert len(seen) == len(machine)


# --- sizes ---


def test_the_limit_on_states_is_exact_about_what_is_needed() -> None:
    assert len(compiled("(A{100}){100}")) == 10_001
    with pytest.raises(LimitExceeded, match="pattern_states"):
        compiled("(A{150}){150}")
    with pytest.raises(LimitExceeded, match="pattern_states"):
        compiled("(((A{1000}){1000}){1000}){1000}")
    assert LIMITS.pattern_states == 20_000


def test_permute_of_ten_variables_is_made_of_subsets() -> None:
    names = ", ".join("ABCDEFGHIJ")
    assert len(compiled(f"PERMUTE({names})")) < 2 * 10 * 2**10


# --- PERMUTE ---


@pytest.mark.parametrize("items", [("A", "B"), ("A", "B", "C"), ("A", "B C", "D"), ("A{2}", "B", "C"), ("A", "X", "Y")])
def test_permute_prefers_as_its_orders_written_out(items: tuple[str, ...]) -> None:
    """Orders that share their rest (subset states) give the labels of the plain alternation of all orders."""
    short = f"PERMUTE({', '.join(items)})"
    long = " | ".join(" ".join(f"({item})" for item in order) for order in itertools.permutations(items))
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcd", k=8)) for _ in range(300)]
    assert matches(short, *texts) == matches(long, *texts)
    assert any(matches(short, *texts))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("A", "A"),
        ("A B A", "ABA"),
        ("^ A (B C) $", "ABC"),
        ("A{3} B{2}", "AAABB"),
        ("A {- B -} C", "ABC"),
        ("()", ""),
        ("A?", None),
        ("A B*", None),
        ("A | B", None),
        ("A{1,2}", None),
        ("PERMUTE(A, B)", None),
    ],
)
def test_a_line_is_a_pattern_of_which_all_matches_look_alike(pattern: str, line: str | None) -> None:
    query = parse_clause(f"MATCH_RECOGNIZE (ORDER BY t MEASURES 1 AS x PATTERN ({pattern}))", "duckdb")
    machine = a.compile_pattern(query)
    names = query.variables()
    found = None if machine.line is None else "".join(names[machine.var[state]] for state in machine.line)
    assert found == line
