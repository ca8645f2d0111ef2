"""Every refusal of the event language that needs no data: where, what, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from motif.errors import MotifError
from motif.lang.snoop import diagnose_events, is_event_query, parse_events
from motif.limits import Limits

BLOCKS = (Path(__file__).parent / "snoop_refusals.txt").read_text(encoding="utf-8").split("\n\n")[1:]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_refusal(block: str) -> None:
    text, *expected = block.rstrip("\n").split("\n")
    text = text.replace("~", "\n")
    errors = diagnose_events(text)
    found = []
    for error in errors:
        found.append(f"  {error.line}:{error.column} {type(error).__name__}: {error.message}")
        found += [f"    hint: {error.hint}"] if error.hint else []
    assert found == expected
    with pytest.raises(MotifError) as raised:
        parse_events(text)
    assert str(raised.value) == str(errors[0])


def test_message_with_caret() -> None:
    text = "SELECT *\nFROM SEQ(Order o; NOT Payment p)\nWHERE p.order_id = o.id"
    message = """NOT at the end needs WITHIN: nothing says until when to wait (line 2, column 19)
    |
  2 | FROM SEQ(Order o; NOT Payment p)
    |                   ^^^^^^^^^^^^^
  hint: add WITHIN 10 min, or an event behind it"""
    assert str(diagnose_events(text)[0]) == message


def test_every_clause_reports_its_own_mistake() -> None:
    text = "SELECT q.x FROM SEQ(A a; B b) WHERE z.x > 1 PICK LAST y WITHIN 5 RETURN 3 CONSUMING w"
    columns = [error.column for error in diagnose_events(text)]
    assert columns == [8, 37, 55, 64, 73, 85]


@pytest.mark.parametrize(
    ("rest", "hint"),
    [
        ("WITHN 5 s", "did you mean WITHIN?"),
        ("WHER a.x > 1", "did you mean WHERE?"),
        ("WITHIN 5 s CONSUMNG a", "did you mean CONSUMING?"),
        ("WHERE a.x > 1\nWITHN 5 s", "did you mean WITHIN?"),
        ("WHERE a.x > 1 PICKS LAST b", "did you mean PICK?"),
        ("WHERE a.x > 1\nwith > 3", "join conditions with AND, or write WHERE FILTER to have one on each line"),
        ("WITHIN 5 minuts", "did you mean minutes?"),
        ("WITHIN 5 parsecs", "write 5 min, or 5 EVENTS"),
        ("foo", "the clauses are WHERE, PICK, WITHIN, RETURN, CONSUMING"),
    ],
)
def test_a_misspelt_clause(rest: str, hint: str) -> None:
    (error,) = diagnose_events(f"SELECT * FROM SEQ(A a; B b) {rest}")
    assert error.hint == hint


@pytest.mark.parametrize("rest", ["SEQ(A a; B b)", "events SEQ(A a; B b) PICK LAST b WITHIN 5 s FROM a"])
def test_a_misspelt_from(rest: str) -> None:
    text = f"SELECT * FORM {rest}"
    assert is_event_query(text)
    (error,) = diagnose_events(text)
    assert (error.column, error.hint) == (10, "did you mean FROM?")


@pytest.mark.parametrize("item", ["a.x AS room", "a.room", "a.x AS form", "a.x AS one, a.y AS from_"])
@pytest.mark.parametrize("source", ["", "events ", "room "])
def test_names_like_from_are_names(item: str, source: str) -> None:
    text = f"SELECT {item} FROM {source}SEQ(A a; B b)"
    assert is_event_query(text)
    assert diagnose_events(text) == []


def test_too_many_variables() -> None:
    events = "; ".join(f"A a{number}" for number in range(5))
    with pytest.raises(MotifError, match="the pattern has 5 variables, more than the limit pattern_variables = 4"):
        parse_events(f"SELECT * FROM SEQ({events})", limits=Limits(pattern_variables=4))


@pytest.mark.parametrize("depth", [100, 5_000])
def test_deep_nesting_is_read_or_refused(depth: int) -> None:
    text = f"SELECT * FROM {'SEQ(' * depth}A a{')' * depth}"
    errors = diagnose_events(text)
    assert (not errors) if depth == 100 else "nested more than nesting_depth" in errors[0].message


@pytest.mark.parametrize("cut", range(0, 230, 3))
def test_a_text_cut_anywhere_is_read_or_refused(cut: int) -> None:
    text = (
        "DEFINE Fraud SELECT a.x, COUNT(b) AS n FROM t SEQ(A a; TSEQ('c d' c, B b{2,}; 1 s, 3); NOT X x; C z) "
        "WHERE FILTER [k, l] a.x > 5 AND LAST(b.x, 1) IN (1, 2) PICK LAST a WITHIN 5 s FROM c "
        "WITHIN 1 h RETURN F(a.y AS w)"
    )
    for error in diagnose_events(text[:cut]):
        assert isinstance(error, MotifError)
        assert error.line is not None
