"""The event language: text to queries, and back."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from pathlib import Path

import pytest
from random_events import random_event_query

from motif.errors import MotifError
from motif.ir.event import (
    AnyOf,
    Attribute,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    EventCount,
    EventQuery,
    Item,
    Not,
    Pattern,
    Pick,
    PickMode,
    Quantifier,
    Sequence,
    TimedSequence,
)
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Literal, Verbatim
from motif.ir.render_event import render_duration, render_events
from motif.lang.snoop import diagnose_events, is_event_query, parse_events

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
EXAMPLES = {
    "card fraud": """
-- paper 000, application 3: card fraud
DEFINE Fraud
SELECT * FROM SEQ(E1; E2; E3)
WHERE FILTER
    [accountID, receiver]
    E1.amount < 100 AND E2.amount < 100
    E3.amount > 250
WITHIN 72 hours
RETURN Fraud(E1.accountID AS account, E3.amount AS amount)
CONSUMING E1, E2, E3""",
    "overtaking": """
SELECT * FROM SEQ(SEQ(E1; E2); SEQ(E3; E4))
WHERE E1.carID = E4.carID AND E2.carID = E3.carID
  AND E1.source = 'camera1' AND E2.source = 'camera1' AND E3.source = 'camera2' AND E4.source = 'camera2'
WITHIN 10 min""",
    "red light": """
SELECT * FROM ALL(SEQ(E1; E2), E3)
WHERE matches(E1.photo, E2.photo) AND E3.kind = 'TrafficLight' AND E3.light = 'Red' AND speed(E1.pos, E2.pos) > 5
PICK LAST E1 WITHIN 5 seconds FROM E2
WITHIN 5 seconds
CONSUMING E1""",
    "paper 002": """
PATTERN Sequence WITH CNMA_A, RSTR_B, BAR_C
WHERE [symbol] AND CNMA_A.payment BETWEEN 20 AND 50 AND RSTR_B.payment BETWEEN 80 AND 120 AND BAR_C.payment < 50
WITHIN 5 hours""",
    "paper 003": "SELECT * FROM SEQ(TSEQ(A a, B b; 1, 3); C c) WHERE [rid] WITHIN 1 h",
    "not paid": "SELECT o.id FROM SEQ(Order o; NOT Payment p) WHERE p.order_id = o.id WITHIN 10 min",
    "brute force": """
SELECT s.user, COUNT(f) AS failures, FIRST(f.ip) AS ip
FROM SEQ(Login f{5,}; Login s) WHERE [user] AND f.ok = false AND s.ok = true WITHIN 10 min CONSUMING ALL""",
}


def of(text: str) -> EventQuery:
    return parse_events(text)


def pattern(text: str) -> Pattern:
    return of(f"SELECT * FROM {text}").pattern


def condition(text: str) -> Expr:
    (found,) = of(f"SELECT * FROM SEQ(A a; B b+; C c) WHERE {text}").conditions
    return found


# -- the examples of the page ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_examples_of_the_page_and_back(text: str) -> None:
    query = of(text)
    assert is_event_query(text)
    assert of(render_events(query)) == query
    assert parse_events(render_events(query, "spark"), "spark") == query


def test_examples_are_those_of_the_page() -> None:
    page = Path(__file__).parents[3] / "shared" / "EVENT-LANGUAGE.md"
    if not page.exists():
        return
    block = page.read_text(encoding="utf-8").split("## Examples")[1].split("```")[1]
    texts = [re.sub(r"(?m)^--.*\n", "", text).strip() for text in re.split(r"\n\s*\n", block) if text.strip()]
    assert [re.sub(r"(?m)^--.*\n", "", text.strip() + "\n").strip() for text in EXAMPLES.values()] == texts


def test_card_fraud_as_data() -> None:
    amount = Column("amount")
    assert of(EXAMPLES["card fraud"]) == EventQuery(
        Sequence((Event("E1"), Event("E2"), Event("E3"))),
        conditions=(
            Call("<", (At(amount, "E1"), Literal(100))),
            Call("<", (At(amount, "E2"), Literal(100))),
            Call(">", (At(amount, "E3"), Literal(250))),
        ),
        same=(Attribute("accountID"), Attribute("receiver")),
        within=Duration(72 * HOUR),
        name="Fraud",
        returned=(Item(At(Column("accountID"), "E1"), "account"), Item(At(amount, "E3"), "amount")),
        consuming=("E1", "E2", "E3"),
    )


def test_brute_force_as_data() -> None:
    query = of(EXAMPLES["brute force"])
    assert query.pattern == Sequence((Event("f", "Login", Quantifier(5, None)), Event("s", "Login")))
    assert query.items == (
        Item(At(Column("user"), "s"), "user"),
        Item(Aggregate("count", None, "f"), "failures"),
        Item(At(Column("ip"), "f", End.FIRST), "ip"),
    )
    assert query.consuming == ("f", "s")


def test_short_form_as_data() -> None:
    query = of("define D as pattern conjunction with A, 'credit card' where A.x > 1 within 5 s;")
    assert query.pattern == Conjunction((Event("A", "A"), Event("credit card", "credit card")))
    assert (query.name, query.within) == ("D", Duration(5 * SECOND))
    assert isinstance(of("PATTERN DISJUNCTION WITH A, B").pattern, Disjunction)


# -- patterns ----------------------------------------------------------------------------------------------


def test_operators() -> None:
    a, b, c = Event("a", "A"), Event("b", "B"), Event("c", "C")
    assert pattern("SEQ(A a; B b, C c)") == Sequence((a, b, c))
    assert pattern("ALL(A a, B b)") == Conjunction((a, b))
    assert pattern("ANY(2, A a, B b, C c)") == AnyOf(2, (a, b, c))
    assert pattern("OR(A a, SEQ(B b; C c))") == Disjunction((a, Sequence((b, c))))
    assert pattern("SEQ(A a; NOT B b; C c)") == Sequence((a, Not(b), c))
    assert pattern("seq(A a)") == Sequence((a,))
    assert pattern("A a") == a
    assert pattern("e") == Event("e")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("1, 3", SECOND, 3 * SECOND), ("0.5, 1 min", SECOND // 2, MINUTE), ("1 h 30 min, 2h", 90 * MINUTE, 2 * HOUR)],
)
def test_times_of_tseq(text: str, low: int, high: int) -> None:
    assert pattern(f"TSEQ(A a, B b; {text})") == TimedSequence(Event("a", "A"), Event("b", "B"), low, high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("+", 1, None), ("*", 0, None), ("?", 0, 1), ("{2}", 2, 2), ("{2,}", 2, None), ("{2,3}", 2, 3), ("{,3}", 0, 3)],
)
def test_quantifiers(text: str, low: int, high: int | None) -> None:
    expected = Sequence((Event("b", "B", Quantifier(low, high)), Event("c")))
    assert pattern(f"SEQ(B b{text}; c)") == pattern(f"SEQ(B b {text}; c)") == expected


def test_names() -> None:
    assert pattern('SEQ(\'credit card\' c; "my class" "my var"; Order where; Return r)') == Sequence(
        (Event("c", "credit card"), Event("my var", "my class"), Event("where", "Order"), Event("r", "Return"))
    )
    assert pattern('"Return" r') == Event("r", "Return")
    assert pattern("e WHERE e.x > 1") == Event("e")


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("trades SEQ(A a; B b)", "trades", Sequence((Event("a", "A"), Event("b", "B")))),
        ("db.trades A a", "db.trades", Event("a", "A")),
        ("db.trades a", "db.trades", Event("a")),
        ("trades A a", "trades", Event("a", "A")),
        ("'trades.parquet' A a", "trades.parquet", Event("a", "A")),
        ("A a", None, Event("a", "A")),
        ("seq A a", "seq", Event("a", "A")),
    ],
)
def test_source(text: str, source: str | None, expected: Pattern) -> None:
    query = of(f"SELECT * FROM {text}")
    assert (query.input, query.pattern) == (source, expected)


def test_spark_quotes() -> None:
    query = parse_events('SELECT `my a`.`x y` FROM SEQ("A b" `my a`; B b) WITHIN 10min', "spark")
    assert query.pattern == Sequence((Event("my a", "A b"), Event("b", "B")))
    assert query.items == (Item(At(Column("x y"), "my a"), "x y"),)
    assert query.within == Duration(10 * MINUTE)


# -- conditions --------------------------------------------------------------------------------------------

X = Column("x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x", At(X, "a")),
        ("A.x", At(X, "a")),
        ('"B".x', At(X, "b")),
        ("LAST(b.x)", At(X, "b")),
        ("LAST(b.x, 1)", At(X, "b", index=1)),
        ("FIRST(b.x)", At(X, "b", End.FIRST)),
        ("first(b.x, 2)", At(X, "b", End.FIRST, 2)),
        ("PREV(b.x)", At(X, "b", index=1)),
        ("PREV(b.x, 3)", At(X, "b", index=3)),
        ("PREV(LAST(b.x, 1))", At(X, "b", index=2)),
        ("PREV(LAST(b.x, 1), 2)", At(X, "b", index=3)),
        ("LAST(b.x + 1)", At(Call("+", (X, Literal(1))), "b")),
        ("SUM(b.x)", Aggregate("sum", X, "b")),
        ("COUNT(b)", Aggregate("count", None, "b")),
        ("COUNT(b.*)", Aggregate("count", None, "b")),
        ("COUNT(b.x)", Aggregate("count", X, "b")),
        ("Speed(a.x, 2)", Call("speed", (At(X, "a"), Literal(2)))),
        ("a.pos.lat", Verbatim(("", ".lat"), (At(Column("pos"), "a"),))),
        ("a.list[1]", Verbatim(("", "[", "]"), (At(Column("list"), "a"), Literal(1)))),
        (
            "a.x IN [1, 2]",
            Verbatim(("", " IN ", ""), (At(X, "a"), Verbatim(("[", ", ", "]"), (Literal(1), Literal(2))))),
        ),
        ("1.5", Literal(Decimal("1.5"))),
    ],
)
def test_references(text: str, expected: Expr) -> None:
    assert condition(f"a.y = 1 OR {text} = 5") == Call(
        "or", (Call("=", (At(Column("y"), "a"), Literal(1))), Call("=", (expected, Literal(5))))
    )


def test_conditions_are_split_at_the_outermost_ands() -> None:
    query = of(
        "SELECT * FROM A a WHERE (a.x = 1 AND a.y = 2) AND (a.z = 3 OR a.x = 1 AND a.y = 2) AND [k] AND ([l, K])"
    )
    assert [isinstance(each, Call) and each.name for each in query.conditions] == ["=", "=", "or"]
    assert query.same == (Attribute("k"), Attribute("l"))
    chain = " AND ".join(f"a.x > {number}" for number in range(100))
    assert len(of(f"SELECT * FROM A a WHERE {chain}").conditions) == 100


def test_a_line_break_in_filter_is_and() -> None:
    query = of("""SELECT * FROM SEQ(A a; B b) WHERE FILTER
        a.x > 5 -- first
        OR b.x > 5
        f(a.x,
          b.x)
        [l] AND b.list[1] = 3
        NOT a.ok
        (a.y = 1 OR a.y
          = 2)
        WITHIN 5 s""")
    assert [each.name for each in query.conditions if isinstance(each, Call)] == ["or", "f", "=", "not", "or"]
    assert query.same == (Attribute("l"),)
    assert query.within == Duration(5 * SECOND)


def test_a_bracket_at_the_start_of_a_line_in_filter_is_no_subscript() -> None:
    query = of("SELECT * FROM SEQ(A a; B b) WHERE FILTER\n a.ok\n [k]\n b.list[1]")
    assert query.same == (Attribute("k"),)
    assert len(query.conditions) == 2


def test_variables_that_look_like_clauses() -> None:
    query = of("SELECT pick.x FROM SEQ(A pick; B within) WHERE pick.x = within.x AND within.from > 1 PICK LAST pick")
    assert len(query.conditions) == 2
    assert query.picks == (Pick(PickMode.LAST, "pick"),)


def test_distinct_from_is_not_the_pattern() -> None:
    query = of("SELECT a.x IS DISTINCT FROM a.y AS d FROM A a")
    assert query.items is not None
    assert query.items[0].name == "d"


# -- PICK, WITHIN, CONSUMING -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "picks", "within"),
    [
        ("PICK LAST a", [("LAST", "a", None, None)], None),
        ("PICK LAST a WITHIN 5 s", [("LAST", "a", None, None)], 5 * SECOND),
        ("PICK (LAST a WITHIN 5 s)", [("LAST", "a", 5 * SECOND, None)], None),
        ("PICK LAST a WITHIN 5 s WITHIN 9 s", [("LAST", "a", 5 * SECOND, None)], 9 * SECOND),
        ("PICK LAST a WITHIN 5 s FROM B", [("LAST", "a", 5 * SECOND, "b")], None),
        (
            "PICK EACH a WITHIN 1 s, ALL b WITHIN 2 s",
            [("EACH", "a", SECOND, None), ("ALL", "b", None, None)],
            2 * SECOND,
        ),
        ("pick first A, last b within 3 events", [("FIRST", "a", None, None), ("LAST", "b", None, None)], 3),
    ],
)
def test_picks(text: str, picks: list[tuple[str, str, int | None, str | None]], within: int | None) -> None:
    query = of(f"SELECT * FROM SEQ(A a; B b) {text}")
    assert [(str(pick.mode), pick.var, pick.within, pick.origin) for pick in query.picks] == picks
    found = query.within
    assert within == (found.count if isinstance(found, EventCount) else found and found.microseconds)
    assert of(render_events(query)) == query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 min", 10 * MINUTE),
        ("10min", 10 * MINUTE),
        ("1 h 30 min", 90 * MINUTE),
        ("1h30min", None),
        ("1.5 h", 90 * MINUTE),
        (".5 s", SECOND // 2),
        ("500 ms", SECOND // 2),
        ("7 us", 7),
        ("7 microseconds", 7),
        ("2 sec", 2 * SECOND),
        ("1 second", SECOND),
        ("3 Minutes", 3 * MINUTE),
        ("1 hour", HOUR),
        ("1 day 1 hour", 25 * HOUR),
        ("2 weeks", 14 * 24 * HOUR),
        ("0 s", 0),
        ("INTERVAL '5' MINUTE", 5 * MINUTE),
    ],
)
def test_durations(text: str, expected: int | None) -> None:
    query = f"SELECT * FROM SEQ(A a; B b) WITHIN {text}"
    if expected is None:
        assert diagnose_events(query)[0].message == "malformed number 1h30min"
    else:
        assert of(query).within == Duration(expected)


@pytest.mark.parametrize("microseconds", [0, 1, 1_001, 90_061_001_001, 259_200_000_000, 86_400_000_000])
def test_durations_are_written_exactly(microseconds: int) -> None:
    text = render_duration(microseconds)
    assert of(f"SELECT * FROM A a WITHIN {text}").within == Duration(microseconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ALL", ("a", "b")), ("NONE", ()), ("B, a, b", ("b", "a")), ("a", ("a",))],
)
def test_consuming(text: str, expected: tuple[str, ...]) -> None:
    assert of(f"SELECT * FROM SEQ(A a; NOT X x; B b) CONSUMING {text}").consuming == expected


def test_names_of_items_and_of_the_query() -> None:
    query = of('SELECT a.x, a.y AS "the y" FROM A a RETURN Big(a.x AS z)')
    assert [item.name for item in query.items or ()] == ["x", "the y"]
    assert query.name == "Big"
    assert of("DEFINE Big AS SELECT * FROM A a").name == "Big"
    assert of("SELECT * FROM A a RETURN Big").name == of("SELECT * FROM A a RETURN Big()").name == "Big"


def test_spans_point_into_the_text() -> None:
    text = "SELECT * FROM SEQ(Login a; Login b) WHERE a.x > b.x WITHIN 1 h 30 min"
    query = of(text)
    shown = [query.pattern.span, query.conditions[0].span, query.within and query.within.span]
    assert [text[span.start : span.end] for span in shown if span] == [
        "SEQ(Login a; Login b)",
        "a.x > b.x",
        "1 h 30 min",
    ]
    assert query.source == text


# -- there and back at random -------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(10))
def test_random_queries_come_back_from_text(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        query = random_event_query(random.Random(seed))
        for dialect in ("duckdb", "spark"):
            text = render_events(query, dialect)
            try:
                found = parse_events(text, dialect)
            except MotifError as error:
                pytest.fail(f"seed {seed}, {dialect}: {error}\n{text}")
            assert found == query, f"seed {seed}, {dialect}\n{text}"
