"""What people write by habit from elsewhere gets the one hint that says what to write here."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import motif

ROWS = pa.table({"id": [1], "v": [1], "s": ["a"], "ts": [dt.datetime(2026, 1, 1)]})
EVENTS = pa.table({"ts": [dt.datetime(2026, 1, 1)], "type": ["A"], "x": [1], "s": ["a"]})
A_LENGTH = "write a length of time as INTERVAL '5' MINUTE"
WITHOUT_SIGNS = "variables follow each other without signs: PATTERN (A B C); rows between them are PATTERN (A X*? B)"


@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        ("ORDER BY id MEASURES MATCH_NUMBER(1) AS x PATTERN (A)", "MATCH_NUMBER takes nothing: MATCH_NUMBER()"),
        ("ORDER BY id MEASURES v AS x PATTERN (A -> B)", WITHOUT_SIGNS),
        ("ORDER BY id MEASURES v AS x PATTERN (A ; B)", WITHOUT_SIGNS),
        ("ORDER BY id MEASURES v AS x PATTERN ({- A B)", "close the {- from character 55 with -} first"),
        (
            "ORDER BY id MEASURES v AS x PATTERN (A) DEFINE A AS CASE WHEN v > 1 THEN true",
            "write CASE WHEN condition THEN result ELSE result END",
        ),
        (
            "ORDER BY id MEASURES v AS x PATTERN (A) DEFINE A AS v > 1 AND",
            "write a condition behind AND, or leave it out",
        ),
        (
            'ORDER BY id MEASURES v AS x PATTERN (A) DEFINE A AS s = "shop"',
            "a text stands in single quotes: 'shop'",
        ),
        ('ORDER BY id MEASURES v AS x PATTERN (A) DEFINE A AS "vv" = 1', "did you mean v?"),
        ("ORDER BY id MEASURES v AS x PATTERN (A B) DEFINE B AS ts > A.ts + 5", A_LENGTH),
        ("ORDER BY id MEASURES v AS x PATTERN (A B) DEFINE B AS ts - A.ts < 5", A_LENGTH),
        ("ORDER BY id MEASURES v + s AS x PATTERN (A)", "CAST one side to the type of the other"),
    ],
)
def test_of_a_clause(clause: str, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(ROWS, f"MATCH_RECOGNIZE ({clause})")
    assert caught.value.hint == hint
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT * FROM SEQ(A|B a; B b)", "one of several classes: OR(A a, B b)"),
        ("SELECT * FROM SEQ(A+ a; B b)", "the quantifier stands behind the variable: A a+"),
        ("SELECT * FROM SEQ(A a+ UNTIL B b; A c)", "is a ; missing before UNTIL?"),
        (
            "SELECT * FROM SEQ(A a; B b WITHIN 5 s)",
            "WITHIN stands behind the pattern; a time between two parts: TSEQ(A a, B b; 0 s, 5 s)",
        ),
        ("SELECT * FROM SEQ(A a; B b) WHERE a.x = b.x AND", "write a condition behind AND, or leave it out"),
        ("SELECT * FROM SEQ(A a; B b) WHERE b.ts - a.ts > 5", A_LENGTH),
    ],
)
def test_of_an_event_query(query: str, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(EVENTS, query)
    assert caught.value.hint == hint
    assert "^" in str(caught.value)
