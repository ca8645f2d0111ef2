"""Patterns built in Python: the same queries as in text, and messages for what can not be meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from motif.errors import MotifError
from motif.ir.query import Rows, SkipTo
from motif.lang.builder import (
    ALL,
    EventPattern,
    EventVar,
    Value,
    all_of,
    any_of,
    at_end,
    at_start,
    case,
    classifier,
    col,
    each,
    ev,
    exclude,
    first,
    fn,
    last,
    lit,
    match_number,
    no,
    one_of,
    permute,
    row,
    rows,
    seq,
    subset,
    tseq,
    whole,
)
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause


def login() -> tuple[EventVar, EventVar]:
    return ev("Login", "f", ok=False).times(5, None), ev("Login", "s", ok=True)


# -- events: the same as the text ----------------------------------------------------------------------------


def test_a_whole_query() -> None:
    f, s = login()
    query = (
        seq(f, s)
        .where(f.ip == s.ip, s.amount > 2 * f.amount.sum())
        .by("user")
        .within("10 min")
        .pick(last(s))
        .consuming(f, s)
        .select(s.user, failures=f.count(), ip=f.ip.first())
    )
    text = """SELECT s.user, COUNT(f) AS failures, FIRST(f.ip) AS ip
FROM SEQ(Login f{5,}; Login s)
WHERE [user] AND f.ok = FALSE AND s.ok = TRUE AND f.ip = s.ip AND s.amount > 2 * SUM(f.amount)
PICK LAST s
WITHIN 10 min
CONSUMING ALL"""
    assert str(query) == text
    assert query.query == parse_events(text)
    assert query.query.source == text
    assert repr(query) == f"<{' '.join(text.split())}>"


def test_names_by_place() -> None:
    query = (
        seq(a := ev("Login", ok=False).times(5, None), s := ev("Login", ok=True), ev("credit card"), ev())
        .where(a.ip == s.ip)
        .by("user")
        .within(timedelta(minutes=10))
        .consuming(all)
    )
    assert [event.var for event in query.query.events()] == ["login1", "login2", "credit_card1", "e1"]
    assert query.query.consuming == ("login1", "login2", "credit_card1", "e1")
    assert "login1.ip = login2.ip" in str(query)


def test_names_by_place_leave_out_given_ones() -> None:
    query = seq(ev("A"), ev("B", "a1"), ev("A")).query
    assert [event.var for event in query.events()] == ["a2", "a1", "a3"]


def same(built: EventPattern, text: str) -> None:
    assert built.query == parse_events(text)
    assert parse_events(str(built)) == built.query


def test_operators() -> None:
    a, b, c, d = (ev(name.upper(), name) for name in "abcd")
    same(all_of(seq(a, b), c), "SELECT * FROM ALL(SEQ(A a; B b), C c)")
    same(any_of(2, a, b, c), "SELECT * FROM ANY(2, A a, B b, C c)")
    same(one_of(a, seq(b, no(c), d)), "SELECT * FROM OR(A a, SEQ(B b; NOT C c; D d))")
    same(tseq(a, b, 1, "3 min"), "SELECT * FROM TSEQ(A a, B b; 1, 3 min)")
    same(tseq(a, b, 0.5, timedelta(seconds=2)), "SELECT * FROM TSEQ(A a, B b; 500 ms, 2 s)")
    same(
        seq(a, b.plus(), c.star(), d.opt()).within(events=7),
        "SELECT * FROM SEQ(A a; B b+; C c*; D d?) WITHIN 7 EVENTS",
    )
    same(
        seq(a, b.times(2), c.times(1, 3)).within("7 events"), "SELECT * FROM SEQ(A a; B b{2}; C c{1,3}) WITHIN 7 EVENTS"
    )


def test_clauses() -> None:
    a, b = ev("A", "a"), ev("B", "b").plus()
    query = seq(a, b)
    same(
        query.pick(first(b, within="5 s", from_=a), each(a)).within("1 h").consuming(ALL).source("db.events"),
        "SELECT * FROM db.events SEQ(A a; B b+) PICK FIRST b WITHIN 5 s FROM a, EACH a WITHIN 1 h CONSUMING ALL",
    )
    same(query.within("1 h").pick(whole(b)).named("X"), "DEFINE X SELECT * FROM SEQ(A a; B b+) PICK ALL b WITHIN 1 h")
    same(
        query.within("1 h").returning("X", a.x, n=b.count()).consuming(),
        "SELECT * FROM SEQ(A a; B b+) WITHIN 1 h RETURN X(a.x, COUNT(b) AS n)",
    )
    same(
        seq(query.where(a.x > 1).by("k"), ev("C", "c")), "SELECT * FROM SEQ(SEQ(A a; B b+); C c) WHERE a.x > 1 AND [k]"
    )


A = ev("A", "a")
B = ev("B", "b").star()


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (A.x == 1, "a.x = 1"),
        (A.x != "it's", "a.x <> 'it''s'"),
        ((A.x < 1) & (A.y >= 2) | ~(A.z <= 3), "a.x < 1 AND a.y >= 2 OR NOT a.z <= 3"),
        (1 + A.x - 2 > 3 * A.y / 4 % 5, "1 + a.x - 2 > 3 * a.y / 4 % 5"),
        (1 - A.x == 2 / A.y, "1 - a.x = 2 / a.y"),
        (7 % A.x == -A.y, "7 % a.x = -a.y"),
        (A.x < 1, "a.x < 1"),
        (A.x.is_in([1, 2]), "a.x IN (1, 2)"),
        (A.x.is_in("abc"), "a.x IN ('abc')"),
        (A.x.between(1, B.x), "a.x BETWEEN 1 AND b.x"),
        (A.x.like("a%"), "a.x LIKE 'a%'"),
        (A.x.is_null() | A.x.is_not_null(), "a.x IS NULL OR a.x IS NOT NULL"),
        (A["count"] == A["x y"], 'a.count = a."x y"'),
        (A.x.concat("b") == "ab", "a.x || 'b' = 'ab'"),
        (A.x.cast("DECIMAL(10, 2)") > Decimal("1.5"), "CAST(a.x AS DECIMAL(10, 2)) > 1.5"),
        (A.pos.field("lat") > 1.5, "a.pos.lat > 1.5e0"),
        (fn.speed(A.x, 2) > lit(3), "speed(a.x, 2) > 3"),
        (fn["my func"](A.x), '"my func"(a.x)'),
        (case((A.x > 1, "big"), otherwise="small") == "big", "CASE WHEN a.x > 1 THEN 'big' ELSE 'small' END = 'big'"),
        (case((A.x > 1, 1)) == 1, "CASE WHEN a.x > 1 THEN 1 END = 1"),
        (B.x.prev() < B.x, "PREV(b.x) < b.x"),
        (B.x.prev(2) < B.x.last(1).prev(), "PREV(b.x, 2) < PREV(LAST(b.x, 1))"),
        (B.x.first() < B.x.first(1), "FIRST(b.x) < FIRST(b.x, 1)"),
        (first(B.x) < last(B.x), "FIRST(b.x) < LAST(b.x)"),
        ((B.x + B.y).sum() > B.x.avg(), "SUM(b.x + b.y) > AVG(b.x)"),
        (B.x.min() < B.x.max(), "MIN(b.x) < MAX(b.x)"),
        (B.count() > B.x.count(), "COUNT(b) > COUNT(b.x)"),
        (fn.sum(B.x) > 3, "SUM(b.x) > 3"),
        (A.ts - B.ts > timedelta(seconds=90), "a.ts - b.ts > INTERVAL '90' SECOND"),
        (A.ts > datetime(2024, 1, 2, 3, 4, 5), "a.ts > TIMESTAMP '2024-01-02 03:04:05'"),
        (A.ts > datetime(2024, 1, 2, tzinfo=UTC), "a.ts > TIMESTAMPTZ '2024-01-02 00:00:00+00:00'"),
        (A.day == date(2024, 1, 2), "a.day = DATE '2024-01-02'"),
        (A.x == np.int64(3), "a.x = 3"),
        (A.x == np.float64(0.5), "a.x = 0.5e0"),
        ((A.x == 1) & True, "a.x = 1 AND TRUE OR a.x = 1"),
    ],
)
def test_conditions(built: Value, text: str) -> None:
    if "AND TRUE" in text:
        built = built | (A.x == 1)
    same(seq(A, B).within("1 h").where(built), f"SELECT * FROM SEQ(A a; B b*) WHERE {text} WITHIN 1 h")


def test_attributes_of_ev() -> None:
    same(
        seq(ev("A", "a", x=None, y=[1, 2], z="s"), B).within("1 s"),
        "SELECT * FROM SEQ(A a; B b*) WHERE a.x IS NULL AND a.y IN (1, 2) AND a.z = 's' WITHIN 1 s",
    )
    a = ev("A", "a")
    same(
        seq(a.where(a.x > 1), no(ev("X", "x", k=1)), ev()),
        "SELECT * FROM SEQ(A a; NOT X x; e1) WHERE a.x > 1 AND x.k = 1",
    )


def test_reprs() -> None:
    f, s = login()
    assert repr(f) == "<Login f{5,}>"
    assert repr(ev("Login")) == "<Login login>"
    assert repr(f.ip.prev() == s.ip) == "<PREV(f.ip) = s.ip>"
    assert repr(no(s)) == "<NOT Login s>"
    assert repr(last(f, within="5 s", from_=s)) == "<LAST f WITHIN 5 s FROM s>"
    assert repr(seq(ev("A")).where(ev("B").x == 1)) == "<SELECT * FROM SEQ(A a1) WHERE b.x = 1>"
    assert repr(col.x.desc()) == "<x DESC>"
    assert repr(row("A")) == "<row A>"
    assert repr(ALL) == "ALL"


def test_nothing_is_changed_in_place() -> None:
    f, s = login()
    query = seq(f, s)
    text = str(query)
    query.where(f.x == 1).within("5 s").by("k").consuming(all)
    assert str(query) == text
    assert repr(s.plus()) != repr(s)


# -- rows ----------------------------------------------------------------------------------------------------


def test_row_pattern() -> None:
    down = row("DOWN", col.price < col.price.prev())
    up = row("UP").plus().reluctant()
    either = subset("U", down, up)
    query = (
        rows(at_start, down.plus(), up | row(), permute(row("P"), row("Q").opt()), exclude(row("X")), at_end)
        .define({up: up.price > up.price.next(2)}, X=col.x.is_null())
        .partition_by("k", h=fn.hash(col.k))
        .order_by("ts", col.x.desc(nulls_first=True), col.y.asc())
        .measures(down.price, low=down.price.min().final(), c=classifier(), u=classifier(either), n=fn.count())
        .measures(m=match_number(), d=down.count(), r=up.price.last(1).prev(2), s=either.price.sum().running())
        .subsets(either)
        .skip_to_last(up)
        .all_rows(empty=False)
        .within("5 min")
        .incremental()
    )
    text = """MATCH_RECOGNIZE (
      PARTITION BY k, hash(k) AS h ORDER BY ts, x DESC NULLS FIRST, y
      MEASURES DOWN.price, FINAL MIN(DOWN.price) AS low, CLASSIFIER() AS c, CLASSIFIER(U) AS u, COUNT(*) AS n,
        MATCH_NUMBER() AS m, COUNT(DOWN.*) AS d, PREV(LAST(UP.price, 1), 2) AS r, RUNNING SUM(U.price) AS s
      ALL ROWS PER MATCH OMIT EMPTY MATCHES INCREMENTAL MATCH AFTER MATCH SKIP TO LAST UP
      PATTERN (^ DOWN+ (UP+? | A) PERMUTE(P, Q?) {- X -} $) WITHIN INTERVAL '5' MINUTE SUBSET U = (DOWN, UP)
      DEFINE DOWN AS price < PREV(price), UP AS UP.price > NEXT(UP.price, 2), X AS x IS NULL)"""
    assert query.query == parse_clause(text)
    assert parse_clause(str(query)) == query.query
    assert repr(query).startswith("<MATCH_RECOGNIZE ( PARTITION BY k, hash(k) AS h")


def test_row_groups_and_letters() -> None:
    a, b = row(), row()
    query = rows(rows(a, b.times(2, 3)).star(), row("A"), a | b).one_row().skip_past_last().within(5)
    assert query.query == parse_clause("MATCH_RECOGNIZE (PATTERN ((B C{2,3})* A (B | C)) WITHIN 5)")
    assert rows(a).skip_to_next().query.skip.to is SkipTo.NEXT
    assert rows(a).all_rows(unmatched=True).query.rows is Rows.ALL_WITH_UNMATCHED
    assert rows(a).skip_to_first(a).all_rows().query.rows is Rows.ALL_SHOW_EMPTY


# -- refusals ------------------------------------------------------------------------------------------------

F, S = login()

REFUSED: list[tuple[Callable[[], object], str, str]] = [
    (
        lambda: seq(F, S).where((F.x == 1) and (S.x == 1)),
        "<f.x = 1> has no truth before there are events",
        "write & | ~",
    ),
    (lambda: 1 < F.x < 3, "<f.x > 1> has no truth before there are events", "write & | ~"),
    (lambda: bool(F), "<Login f{5,}> has no truth before there are events", "write & | ~"),
    (lambda: 3 in F.x, "`in` can not build a condition", "write x.is_in([1, 2])"),
    (lambda: list(F.x), "<f.x> can not be looped over", "it is one expression"),
    (lambda: list(F), "an attribute is named by a string", 'write a["amount"]'),
    (lambda: F.x.foo(), "a value has no method foo", "a field of a struct"),
    (lambda: F.x == None, "a comparison with None is never true", "use .is_null()"),  # noqa: E711
    (lambda: F.x == {}, "dict {} can not stand in a condition", "use numbers, strings"),
    (lambda: F.x == float("nan"), "nan has no literal", 'write value("NaN")'),
    (lambda: F.x.is_in([]), "is_in of no values is never true", "give at least one value"),
    (lambda: F.x.cast("INT); DROP"), "'INT); DROP' is not the name of a type", 'write cast("DOUBLE")'),
    (lambda: F.x.last(-1), "an offset is a whole number from 0 on, not -1", "write x.last(1)"),
    (lambda: F.x.sum().sum(), "sum() of something that is first, last or an aggregate already", "combine the results"),
    (lambda: (F.x + S.x).sum(), "sum() reads one variable, not f and s", "use it once for each"),
    (lambda: lit(1).sum(), "sum() of a constant", "use it on an attribute"),
    (lambda: case(), "case takes pairs", "write case("),
    (lambda: (F.x + 1).final(), "FINAL is for first, last and aggregates", "write x.last().final()"),
    (lambda: setattr(F, "x", 1), "a variable can not be changed", "its methods return new ones"),
    (lambda: setattr(F.x, "y", 1), "a value can not be changed", "operators and methods"),
    (lambda: setattr(seq(F, S), "y", 1), "a pattern can not be changed", "its methods return new ones"),
    (lambda: F.plus(), "<Login f{5,}> has a quantifier already", "use one of times, plus"),
    (lambda: S.times(0), "times(0, 0) allows no repetition", "the smaller number comes first"),
    (lambda: S.times(3, 2), "times(3, 2) allows no repetition", "the smaller number comes first"),
    (lambda: S.times("3"), "'3' is not a number of repetitions", "write times(5)"),
    (lambda: ev(3), "the class of an event is a string, not 3", "write ev("),
    (lambda: no(seq(F, S)), "no() takes one event", "write no("),
    (lambda: seq(), "seq() of nothing", "write seq("),
    (lambda: seq("A a"), "'A a' is not a part of a pattern", "write ev("),
    (lambda: any_of(F, S), "any_of begins with a number", "write any_of(2, a, b, c)"),
    (lambda: tseq(F, S, "3", 5), "3 has no unit of time", "write 3 s"),
    (lambda: tseq(F, S, -1, 5), "tseq can not be negative", 'write "10 min"'),
    (lambda: seq(seq(F).within("1 s"), S), "a part of seq() has clauses of a whole query", "inside of another pattern"),
    (lambda: seq(F, S).where(True), "True is not a condition", "compare an attribute"),
    (lambda: seq(F, S).where("f.x > 1"), "'f.x > 1' is not a condition", "build it from attributes"),
    (lambda: seq(F, S).by(F.x), "by() takes names of attributes, not <f.x>", 'write by("user")'),
    (lambda: seq(F, S).pick(F), "<Login f{5,}> is not a pick", "write pick(last(a))"),
    (lambda: last("f"), "last() picks a variable", "write last(a)"),
    (lambda: last(F, from_=S), "from_ needs within", "write last(a, within="),
    (lambda: seq(F, S).within(10), "within takes a length of time, not 10", 'write "10 min"'),
    (lambda: seq(F, S).within(), "within() takes a length of time or events=", 'write within("10 min")'),
    (lambda: seq(F, S).within(events=0), "0 is not a number of events from 1 on", "write within(events=5)"),
    (lambda: seq(F, S).within("10 parsecs"), "10 has no unit of time", "write 10 s"),
    (
        lambda: seq(F, S).within("10 min x"),
        "expected another number with its unit, or the end, found x",
        "write a number",
    ),
    (lambda: seq(F, S).consuming("f"), "consuming() takes variables, not 'f'", "write consuming(a, b)"),
    (lambda: seq(F, S).select(), "select() of nothing", "write select("),
    (lambda: seq(F, S).select(F.x + 1), "<f.x + 1> needs a name", "write select(total=...)"),
    (lambda: seq(F, S).select(F), "<Login f{5,}> is a whole event", "name its attributes"),
    (lambda: seq(F, S).named(""), "a name is a string, not ''", 'write named("Fraud")'),
    (
        lambda: seq(F, S).where(ev("Q").x == 1).query,
        "a variable over q is named that is not part of the pattern",
        "use the",
    ),
    (lambda: seq(F, S).where(col.x == 1).query, "a column that is of no event", "write a.x"),
    (lambda: seq(F, S).where(F.x.next() == 1).query, "only prev() of an attribute steps along events", "use first(n)"),
    (lambda: seq(F, S).where(F.x.last().final() == 1).query, "FINAL belongs to row patterns", "leave .final()"),
    (lambda: seq(F, S).where(ev("Q", "q").x == 1).query, "q is not a variable of the pattern", "known here: f, s"),
    (lambda: seq(S, no(ev("X"))).query, "NOT at the end needs WITHIN: nothing says until when to wait", "add WITHIN"),
    (lambda: seq(S, S).query, "the variable s is used twice", "every event of the pattern"),
    (lambda: seq(F, S).where(lit(True)).query, "this condition names no variable", "a condition is about events"),
    (lambda: rows(), "a pattern of nothing", "write rows("),
    (lambda: rows(F), "<Login f{5,}> is not a part of a row pattern", "write rows("),
    (lambda: permute(), "permute() of nothing", "write permute(a, b, c)"),
    (lambda: row(""), "the name of a variable is a string, not ''", 'write row("A")'),
    (lambda: row("A", True), "True is not a condition", "write row("),
    (lambda: row("A").reluctant(), "reluctant() follows a quantifier", "write b.plus().reluctant()"),
    (lambda: row("A")[0], "a column is named by a string", 'write b["price"]'),
    (lambda: rows(subset("U", row("A"))), "<subset U> can not stand in the pattern", "use the variables"),
    (lambda: subset("U"), "a subset has a name and variables", "write u = subset("),
    (lambda: rows(row("A")).subsets(row("B")), "<row B> is not a subset", "write u = subset("),
    (lambda: rows(row("A")).define(A=True), "True is not a condition", "write define("),
    (lambda: rows(row("A")).measures(col.x + 1), "<x + 1> needs a name", "write name=value"),
    (
        lambda: rows(row("A")).all_rows(empty=False, unmatched=True),
        "unmatched rows go with empty matches",
        "leave empty",
    ),
    (
        lambda: rows(rows(row("A")).order_by("t"), row("B")),
        "a part of a row pattern has clauses of a whole query",
        "inside",
    ),
    (lambda: rows(row("A")).define(B=col.x > 1).query, "B is defined but not used in PATTERN", "known here: A"),
    (lambda: bool(row("A")), "a pattern has no truth", "write a | b"),
]


@pytest.mark.parametrize(("make", "message", "hint"), REFUSED, ids=[message for _, message, _ in REFUSED])
def test_refusals(make: Callable[[], object], message: str, hint: str) -> None:
    with pytest.raises(MotifError) as raised:
        make()
    assert raised.value.message == message
    assert (raised.value.hint or "").startswith(hint)


def test_a_refusal_of_the_language_shows_the_text() -> None:
    with pytest.raises(MotifError) as raised:
        _ = seq(S, S).query
    assert "  2 | FROM SEQ(Login s; Login s)\n    |                   ^^^^^^^" in str(raised.value)
