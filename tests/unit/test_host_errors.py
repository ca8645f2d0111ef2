"""Whatever a host says of a query comes as one of our own errors, out of every door."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import motif
from motif.errors import HostError, MotifError, only_ours

_START = dt.datetime(2026, 1, 1)
TABLE = pa.table(
    {
        "ts": [_START + dt.timedelta(seconds=i) for i in range(4)],
        "type": list("ABAB"),
        "v": [9, 8, 7, 7],
        "c": list("abcd"),
        "l": [[1], [2], [3], [4]],
        "s": [{"a": 1}] * 4,
    }
)


def _clause(
    order: str = "ORDER BY ts", partition: str = "", measures: str = "B.v AS x", define: str = "B.v < A.v"
) -> str:
    body = f"{partition} {order} MEASURES {measures} PATTERN (A B) DEFINE B AS {define}"
    return f"SELECT * FROM t MATCH_RECOGNIZE ({body})"


@pytest.mark.parametrize(
    "query",
    [
        _clause(partition="PARTITION BY mean(v)"),
        _clause(partition="PARTITION BY nosuch(v)"),
        _clause(order="ORDER BY nosuch(ts)"),
        _clause(order="ORDER BY mean(v)"),
        _clause(measures="nosuch(B.v) AS x"),
        _clause(define="nosuch(B.v) > A.v"),
    ],
)
def test_mistakes_of_a_clause(query: str) -> None:
    with pytest.raises(MotifError) as caught:
        motif.sql(query, tables={"t": TABLE})
    [found] = motif.check(query, tables={"t": TABLE})
    assert found.message == caught.value.message
    assert "__" not in found.text


@pytest.mark.parametrize("item", ["nosuch(a.v)", "a.c + b.l", "lower(a.v) || b.c", "a.l < b.v", "a.v + b.c"])
def test_mistakes_in_items_of_event_queries_are_found_before_events_are_read(item: str) -> None:
    query = f"SELECT a.v AS v, {item} AS y FROM SEQ(A a; B b) WITHIN 1 h"
    [found] = motif.check(query, data=TABLE)
    assert (found.line, found.column) == (1, query.index(item) + 1)
    for call in (lambda: motif.match(TABLE, query), lambda: motif.Stream(query, TABLE.schema)):
        with pytest.raises(MotifError) as caught:
            call()
        assert caught.value.message == found.message


def test_names_of_ours_are_not_told() -> None:
    query = "SELECT CAST(a.c AS INTEGER) AS y FROM SEQ(A a; B b) WITHIN 1 h"
    with pytest.raises(MotifError, match="Could not convert string 'a' to INT32 \\(line 1"):
        motif.match(TABLE, query)


@pytest.mark.parametrize("name", ["ts", "type", "TS"])
def test_an_item_may_have_the_name_of_the_time_or_the_class(name: str) -> None:
    first = f'DEFINE P SELECT a.v AS v, b.{name} AS "{name}" FROM SEQ(A a; B b) WITHIN 1 min'
    second = "SELECT p.v AS v, c.v AS w FROM SEQ(P p; A c) WITHIN 1 min"
    assert motif.check([first, second], data=TABLE) == []
    assert motif.match(TABLE, [first, second]).select(["v", "w"]).to_pylist() == [{"v": 9, "w": 7}]


def test_tables_without_columns() -> None:
    nothing = pa.table({})
    for call in (
        lambda: motif.sql(_clause(), tables={"t": nothing}),
        lambda: motif.match(nothing, "SELECT * FROM SEQ(A a; B b)"),
        lambda: motif.match(nothing, "MATCH_RECOGNIZE (PATTERN (A))"),
    ):
        with pytest.raises(MotifError, match="a table without columns"):
            call()
    assert len(motif.check(_clause(), tables={"t": nothing})) == 1


@pytest.mark.parametrize("branches", [15, 40, 200, 1_000])
@pytest.mark.parametrize("value", ["{}", "{}e0", "'{}'"])
def test_a_case_of_many_branches(branches: int, value: str) -> None:
    shown = [value.format(i) for i in range(branches)]
    arms = " ".join(f"WHEN B.v - A.v = {i - 2} THEN {text}" for i, text in enumerate(shown))
    long = _clause(define=f"CASE {arms} END = {shown[1]}")
    assert motif.sql(long, tables={"t": TABLE}).to_pylist() == [{"x": 8}]
    guarded = _clause(define=f"CASE {arms} WHEN 9223372036854775807 + B.v > 0 THEN {shown[0]} END = {shown[1]}")
    assert motif.sql(guarded, tables={"t": TABLE}).to_pylist() == [{"x": 8}]


def test_the_other_door_is_named() -> None:
    events, clause = "SELECT * FROM SEQ(A a; B b)", "MATCH_RECOGNIZE (PATTERN (A))"
    for query, hint in [(events, "motif.match(events"), (clause, "motif.match(table")]:
        with pytest.raises(MotifError) as caught:
            motif.sql(query, tables={"t": TABLE})
        assert hint in str(caught.value.hint)
    with pytest.raises(MotifError) as caught:
        motif.match(TABLE, _clause())
    assert "motif.sql" in str(caught.value.hint)


def test_an_error_of_a_host_that_nobody_placed_is_told_as_ours() -> None:
    @only_ours
    def door() -> None:
        raise HostError("no such thing\nor another one")

    with pytest.raises(MotifError) as caught:
        door()
    assert (caught.value.message, caught.value.hint) == ("no such thing", "or another one")


TRADES = pa.table({"symbol": ["ABC", "ABC"], "t": [1, 2], "price": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("measure", "message", "hint"),
    [
        ("MEDAIN(A.price)", "there is no function medain", "did you mean median?"),
        ("CLASIFIER()", "there is no function clasifier", "did you mean CLASSIFIER?"),
        ("PREVIOUS(A.price)", "there is no function previous", "did you mean PREV?"),
        ("round(A.symbol)", "round does not take VARCHAR", "CAST the arguments"),
        ("A.price - A.symbol", "- does not take DOUBLE and VARCHAR", "CAST one side"),
        ("LAG(A.price)", "functions with OVER do not fit here", "PREV(x)"),
        ("A.symbol > 5", "cannot compare VARCHAR with INTEGER", "CAST one side"),
        ("FIRST(A)", "unknown column A", "it is a variable: name a column of it, such as A.symbol"),
        ("A.t =< 3", "expected an expression, found <", "write <="),
        ("A.t IS 3", "after IS, found 3", "a value is compared with ="),
        ("A.t - 3€", "unexpected character '€'", "in quotes"),
    ],
)
def test_what_duckdb_says_comes_in_our_words(measure: str, message: str, hint: str) -> None:
    query = f"SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY t MEASURES {measure} AS x PATTERN (A))"
    with pytest.raises(MotifError) as caught:
        motif.sql(query, tables={"trades": TRADES})
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("around", "message", "hint"),
    [
        ("SELECT {} ORDER BY symbl", "unknown column symbl", "did you mean symbol?"),
        ("SELECT {} AS m WHERE n.x > 3", "unknown table n", "m"),
        ("SELECT {} WHERE x > 'b'", "Could not convert string 'b'", "give a value of that type"),
    ],
)
def test_so_does_what_it_says_of_the_text_around(around: str, message: str, hint: str) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY t MEASURES A.t AS x PATTERN (A))"
    with pytest.raises(MotifError) as caught:
        motif.sql(around.format(f"* FROM trades {clause}"), tables={"trades": TRADES})
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_a_time_that_is_none_gets_the_form_of_one() -> None:
    query = "SELECT a.v FROM SEQ(A a; B b) WHERE b.ts > '01.03.2026'"
    with pytest.raises(MotifError) as caught:
        motif.match(TABLE, query)
    assert caught.value.hint == "write it like '2026-03-01 09:00:00' or '2026-03-01'"
