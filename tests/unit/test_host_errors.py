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
