"""A word of the languages with a letter dropped, doubled or swapped is told by the word that was meant."""

from __future__ import annotations

import datetime as dt
import random
import re

import pyarrow as pa
import pytest

import motif
from motif.errors import is_slip_of
from motif.lang.misspelt import _OF_EVENTS, _OF_STATEMENTS

START = dt.datetime(2026, 1, 1)
ROWS = pa.table(
    {
        "symbol": ["s"] * 4,
        "ts": [START + dt.timedelta(minutes=n) for n in range(4)],
        "price": [1.0, 2.0, 1.0, 3.0],
        "type": ["Login", "Pay"] * 2,
        "account": ["x"] * 4,
        "amount": range(4),
    }
)
CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts ASC NULLS LAST
  MEASURES FINAL LAST(UP.price) AS top, RUNNING COUNT(*) AS many, AVG(DOWN.price) AS mean
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (STRT DOWN+ UP+)
  WITHIN INTERVAL '5' MINUTE
  SUBSET MOVE = (DOWN, UP)
  DEFINE DOWN AS price < PREV(price) AND price IS NOT NULL, UP AS price BETWEEN 2 AND 100 OR symbol LIKE 'x'
)"""
OTHER_CLAUSE = """MATCH_RECOGNIZE (
  ORDER BY ts DESC MEASURES FIRST(A.price) AS low
  ONE ROW PER MATCH MAXIMAL MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (PERMUTE(A, B)) DEFINE A AS CASE WHEN price > 1 THEN TRUE ELSE FALSE END, B AS price IN (1, 2))"""
QUERIES = {
    "statement": f"""WITH daily AS (SELECT * FROM trades WHERE price > 0)
SELECT symbol, COUNT(*) AS n FROM daily {CLAUSE} GROUP BY symbol ORDER BY n DESC LIMIT 5""",
    "other statement": f"SELECT * FROM trades {OTHER_CLAUSE}",
    "clause": CLAUSE,
    "other clause": OTHER_CLAUSE,
    "events": """DEFINE Fraud
SELECT a.amount AS first_amount, COUNT(b) AS many
FROM SEQ(Login a; NOT Logout n; Pay b+; Pay c)
WHERE [account] AND a.amount < c.amount AND b.amount BETWEEN 1 AND 5
PICK FIRST c, ALL b
WITHIN 72 hours
CONSUMING ALL""",
    "other events": """SELECT * FROM ANY(2, Login a, Pay b, Pay c)
WHERE a.amount IS NOT NULL AND NOT c.amount = 3
WITHIN INTERVAL '5' HOUR
RETURN Fraud(a.amount AS x)
CONSUMING a, b""",
    "short form": "PATTERN SEQUENCE WITH Login, Pay\nWITHIN 10 min",
}
KEYWORDS = {*_OF_STATEMENTS, *_OF_EVENTS, "COUNT", "AVG", "PREV"}


def checked(kind: str, query: str) -> list[motif.Diagnostic]:
    if "statement" in kind:
        return motif.check(query, tables={"trades": ROWS})
    return motif.check(query, data=ROWS)


def slips(word: str) -> set[str]:
    """What comes out when someone types fast."""
    places = range(len(word))
    found = {word[:i] + word[i + 1 :] for i in places} | {word[: i + 1] + word[i:] for i in places}
    found |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places[:-1]}
    return {slip for slip in found - {word} if len(slip) > 1 and slip.upper() not in KEYWORDS}


@pytest.mark.parametrize("kind", QUERIES)
def test_a_misspelt_word_is_told(kind: str) -> None:
    query = QUERIES[kind]
    assert checked(kind, query) == []
    words = [found for found in re.finditer("[A-Za-z_]+", query) if found[0].upper() in KEYWORDS]
    words = [found for found in words if query[found.start() - 1] != "."]
    drawn = [(found, slip) for found in words for slip in sorted(slips(found[0]))]
    rng = random.Random(kind)
    for found, slip in rng.sample(drawn, min(150, len(drawn))):
        wrong = query[: found.start()] + slip + query[found.end() :]
        mistakes = checked(kind, wrong)
        if not mistakes:
            assert (found[0], slip) in {("hours", "hour"), ("LIKE", "ILIKE")}, wrong
            continue
        first = mistakes[0]
        assert found[0].upper() in f"{first.message} {first.hint}".upper(), (slip, str(first))
        assert first.line is not None, (slip, str(first))
        assert abs(first.line - 1 - wrong[: found.start()].count("\n")) <= 1, (slip, str(first))


@pytest.mark.parametrize(
    ("query", "column", "hint"),
    [
        ("DEFIN Fraud SELECT * FROM SEQ(A a; B b)", 1, "did you mean DEFINE?"),
        ("PATERN SEQUENCE WITH Login, Pay", 1, "did you mean PATTERN?"),
        ("SELECT * FROM SEQ(Login a; Pay b) WITHIN INTERVAL '5' HUOR", 55, "did you mean HOUR?"),
        ("SELECT * FROM SEQ(Login a; Pay b) LIMT 3", 35, "an event query has no LIMIT: do that with its result"),
        ("SELECT * FROM SEQ(Login a; Pay b) WHERE a.amount BETWEN 1 AND 2", 50, "did you mean BETWEEN?"),
        ("SELECT COUTN(a) AS n FROM SEQ(Login a; Pay b)", 14, "did you mean COUNT(a)?"),
        ("SELECT * FROM SEQ(Login a; Pay b) CONSUMING AL", 45, "did you mean ALL?"),
        ("SELECT * FROM SEQ(Login a; Pay b) WITHIN 5 ady", 44, "did you mean day?"),
        ("SELECT * FROM SEQ(Login a; Pay b) WITHIN 30 mim", 45, "did you mean min?"),
    ],
)
def test_the_mark_is_under_the_word(query: str, column: int, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(ROWS, query)
    assert (caught.value.column, caught.value.hint) == (column, hint)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT * FROM SEQ(Login ad; Pay ot) WHERE ad.amount > 1 ot.amount > 2", "AND"),
        ("SELECT * FROM SEQ(Login a; Pay b) WHERE a.amount > 1, b.amount > 2", "join conditions with AND"),
    ],
)
def test_names_are_not_taken_for_slips(query: str, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(ROWS, query)
    assert hint in f"{caught.value.message} {caught.value.hint}"
    assert "did you mean" not in str(caught.value)


def test_what_is_a_slip() -> None:
    assert all(is_slip_of(slip, "BETWEEN") for slip in slips("BETWEEN"))
    assert is_slip_of("betwean", "between")
    assert not any(is_slip_of(*pair) for pair in [("or", "or"), ("ox", "or"), ("list", "last"), ("a", "as"), ("", "a")])
