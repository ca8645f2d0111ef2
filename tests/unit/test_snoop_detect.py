"""Which language a text is written in."""

from __future__ import annotations

import pytest

from motif.lang.snoop import is_event_query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DEFINE X SELECT * FROM A a", True),
        ("-- hello\nselect * from seq(A a; B b)", True),
        ("SELECT * FROM trades SEQ(A a; B b)", True),
        ("SELECT * FROM db.trades OR(A a, B b)", True),
        ("SELECT * FROM Login a", True),
        ("SELECT * FROM Login a WHERE a.x > 5", True),
        ("SELECT * FROM Login a+ WITHIN 5 s", True),
        ("SELECT * FROM t Login a", True),
        ("SELECT * FROM e WITHIN 5 s", True),
        ("PATTERN SEQUENCE WITH A, B", True),
        ("SELECT * FROM SEQ(A a; B 'b)", True),
        ("MATCH_RECOGNIZE (PATTERN (A))", False),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS TRUE)", False),
        ("SELECT * FROM t", False),
        ("SELECT * FROM t x ORDER BY 1", False),
        ("SELECT * FROM t AS x", False),
        ("SELECT * FROM t x JOIN u y ON x.a = y.a", False),
        ("SELECT * FROM (SELECT 1)", False),
        ("SELECT a AS form, any(b) FROM t", False),
        ("WITH x AS (SELECT 1) SELECT * FROM x", False),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN ('", False),
        ("", False),
        ("SELECT", False),
        ("SELECT * FROM", False),
    ],
)
def test_is_event_query(text: str, expected: bool) -> None:
    assert is_event_query(text) is expected
