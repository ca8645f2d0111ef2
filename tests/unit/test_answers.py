"""Conditions over values of different rows that only the host can decide: slow, but right."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.errors import QueryBindError, QueryDataError
from motif.hosts import duckdb_answers

TABLE = pa.table(
    {
        "id": list(range(8)),
        "g": [1, 1, 1, 1, 2, 2, 2, 2],
        "ts": [dt.datetime(2026, 1, 1) + dt.timedelta(minutes=i) for i in range(8)],
        "v": [9, 8, 7, 7, 3, 4, 5, 6],
        "c": ["ann", "anne", "bob", None, "x", "y", "xy", "z"],
        "l": [[1], [1], [3], [2], [], [1], [0], None],
        "s": [{"a": 1, "b": "p"}] * 4 + [{"a": i, "b": "q"} for i in range(4)],
        "d": pa.array([1, 2, 3, 4, 5, 6, 7, 8], pa.decimal128(38, 2)),
    }
)


def found(define: str, pattern: str = "A B", more: str = "", **options: Any) -> list[tuple[Any, ...]]:
    clause = (
        f"PARTITION BY g ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l AFTER MATCH SKIP TO NEXT ROW "
        f"PATTERN ({pattern}) DEFINE B AS {define}{more}"
    )
    answer = motif.sql(f"SELECT f, l FROM t MATCH_RECOGNIZE ({clause}) ORDER BY f", tables={"t": TABLE}, **options)
    return list(zip(*answer.to_pydict().values(), strict=True))


PAIRS = [(i, i + 1) for i in (0, 1, 2, 4, 5, 6)]
ROWS = TABLE.to_pylist()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("levenshtein(A.c, B.c) < 2", lambda a, b: {a["c"], b["c"]} in ({"ann", "anne"}, {"x", "y"}, {"y", "xy"})),
        ("A.c || B.c = 'xy'", lambda a, b: (a["c"] or "") + (b["c"] or "") == "xy"),
        ("B.c LIKE A.c || '%'", lambda a, b: bool(a["c"] and b["c"]) and b["c"].startswith(a["c"])),
        ("CAST(B.v - A.v AS VARCHAR) = '1'", lambda a, b: b["v"] - a["v"] == 1),
        ("round((A.v + B.v) / 10) = 1", lambda a, b: 5 <= a["v"] + b["v"] < 15),
        ("mod(A.v, B.v) = 1", lambda a, b: a["v"] % b["v"] == 1),
        ("B.l > A.l", lambda a, b: a["l"] is not None and b["l"] is not None and b["l"] > a["l"]),
        ("B.s = A.s", lambda a, b: b["s"] == a["s"]),
        ("A.d + B.d > 7", lambda a, b: a["d"] + b["d"] > 7),
        ("sqrt(SUM(B.v)) > 2", lambda a, b: b["v"] > 4),
        ("B.v < A.v AND levenshtein(A.c, B.c) < 2", lambda a, b: a["id"] == 0),
        ("NOT (B.c LIKE A.c || '%')", lambda a, b: bool(a["c"] and b["c"]) and not b["c"].startswith(a["c"])),
        ("(A.c || B.c) IS NULL", lambda a, b: a["c"] is None or b["c"] is None),
        ("lower(CLASSIFIER(A) || B.c) = 'abob'", lambda a, b: b["c"] == "bob"),
        ("round(B.v / MATCH_NUMBER()) > A.v", lambda a, b: (a["id"], b["id"]) == (4, 5)),
    ],
)
def test_functions_over_rows_of_different_variables(condition: str, holds: Any) -> None:
    assert found(condition) == [pair for pair in PAIRS if holds(ROWS[pair[0]], ROWS[pair[1]])]


def test_what_repeats_is_asked_in_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []
    asked = duckdb_answers._answers

    def counted(*args: Any) -> Any:
        rounds.append(args)
        return asked(*args)

    monkeypatch.setattr(duckdb_answers, "_answers", counted)
    rows = pa.table({"id": list(range(200)), "c": ["a" * (i % 7) for i in range(200)]})
    clause = "ORDER BY id MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS length(A.c || B.c) < 100"
    assert motif.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", tables={"t": rows}).to_pylist() == [{"n": 200}]
    assert len(rounds) < 12


def test_the_host_decides_only_where_all_else_holds() -> None:
    guarded = "A.c = 'x' AND CAST(A.id || B.c AS INTEGER) IS NULL"
    with pytest.raises(QueryDataError, match="Could not convert"):
        found(guarded)
    assert found("A.id > 100 AND CAST(A.id || B.c AS INTEGER) IS NULL") == []
    # Asked of rows that the search looks at before it knows better, and then does not.
    assert found("B.v < A.v - 100 AND CAST(A.c || B.c AS INTEGER) > 0", "A B*") == [(i, i) for i in range(8)]


def test_neighbours_whose_values_have_no_lane_are_the_hosts() -> None:
    assert found("B.l = PREV(B.l)") == [(0, 1)]
    assert found("B.s = PREV(B.s)") == [(0, 1), (1, 2), (2, 3)]


def test_a_function_over_rows_must_fit_them() -> None:
    with pytest.raises(QueryBindError, match="levenshtein") as caught:
        found("levenshtein(A.c, B.v) < 2")
    assert caught.value.span is not None
    with pytest.raises(QueryBindError, match="DEFINE B must be a condition"):
        found("levenshtein(A.c, B.c)")


def test_it_is_explained() -> None:
    clause = "ORDER BY id MEASURES A.id AS x PATTERN (A B) DEFINE B AS levenshtein(A.c, B.c) < 2"
    shown = str(motif.explain(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", tables={"t": TABLE}))
    assert "the host, asked while matches are searched" in shown


def test_aggregates_of_the_variables_themselves() -> None:
    assert found("MAX(CLASSIFIER()) = 'B'") == PAIRS
    assert found("MIN(CLASSIFIER()) = 'B'") == []
    assert found("lower(MAX(CLASSIFIER()) || A.c) = 'bx'") == [(4, 5)]
    assert found("MAX(CLASSIFIER()) >= 'B' AND (A.l = B.l OR COUNT(CLASSIFIER()) > 5)") == [(0, 1)]
    assert found("COUNT(CLASSIFIER()) = 2") == PAIRS
    assert found("MAX(CLASSIFIER(A)) = 'A' AND COUNT(CLASSIFIER(B)) = 1") == PAIRS


def test_streams_ask_too() -> None:
    clause = "ORDER BY ts MEASURES A.id AS x, B.id AS y PATTERN (A B) DEFINE B AS levenshtein(A.c, B.c) < 2"
    stream = motif.Stream(f"MATCH_RECOGNIZE ({clause})", TABLE.schema)
    parts = [stream.push(TABLE.slice(i, 1)) for i in range(8)] + [stream.close()]
    batch = motif.match(TABLE, f"MATCH_RECOGNIZE ({clause})")
    assert pa.concat_tables(parts).to_pylist() == batch.to_pylist() != []


# -- event queries


EVENTS = TABLE.append_column("type", pa.array(list("ABABABAB")))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (
            "levenshtein(a.c, b.c) < 2",
            lambda a, b: {a["c"], b["c"]} in ({"ann", "anne"}, {"x", "y"}, {"x", "z"}, {"xy", "x"}),
        ),
        ("a.c || b.c = 'xy'", lambda a, b: (a["c"] or "") + (b["c"] or "") == "xy"),
        ("round((a.v + b.v) / 10) = 1 AND b.v > a.v", lambda a, b: 5 <= a["v"] + b["v"] < 15 and b["v"] > a["v"]),
        ("b.l > a.l", lambda a, b: a["l"] is not None and b["l"] is not None and b["l"] > a["l"]),
        ("b.s = a.s", lambda a, b: b["s"] == a["s"]),
        ("a.d + b.d > 7", lambda a, b: a["d"] + b["d"] > 7),
        ("(a.c || b.c) IS NULL", lambda a, b: a["c"] is None or b["c"] is None),
        ("CAST(upper(a.c) || b.c AS VARCHAR) LIKE 'A%' || 'e'", lambda a, b: a["id"] == 0 and b["id"] == 1),
    ],
)
def test_functions_over_several_events(condition: str, holds: Any) -> None:
    query = f"SELECT a.id AS x, b.id AS y FROM SEQ(A a; B b) WHERE {condition} WITHIN 1 h"
    pairs = [(a, b) for a in range(0, 8, 2) for b in range(a + 1, 8, 2) if holds(ROWS[a], ROWS[b])]
    assert motif.check(query, data=EVENTS) == []
    found = motif.match(EVENTS, query)
    assert sorted(zip(found["x"].to_pylist(), found["y"].to_pylist(), strict=True)) == pairs
    stream = motif.Stream(query, EVENTS.schema)
    pushed = [stream.push(EVENTS.slice(0, 3)), stream.push(EVENTS.slice(3)), stream.close()]
    assert sum(part.num_rows for part in pushed) == len(pairs)


def test_an_event_that_is_not_there_is_null_for_the_host_too() -> None:
    query = "SELECT a.id AS x, c.id AS y FROM SEQ(OR(A a, B z); B b; A c) WHERE {} WITHIN 1 h"
    asked = motif.match(EVENTS, query.format("coalesce(length(CAST(z.v + c.v AS VARCHAR)), 0) = 0"))
    native = motif.match(EVENTS, query.format("coalesce(z.v + c.v, 0) = 0"))
    assert asked.num_rows == native.num_rows > 0


def test_functions_over_several_events_that_stay_refused() -> None:
    for query in (
        "SELECT a.id AS x FROM SEQ(A a; B b+; A c) WHERE levenshtein(a.c, FIRST(b.c)) < 2 WITHIN 1 h",
        "SELECT a.id AS x FROM SEQ(A a; NOT B b; A c) WHERE levenshtein(a.c, b.c) < 2 WITHIN 1 h",
    ):
        with pytest.raises(motif.UnsupportedQuery) as caught:
            motif.match(EVENTS, query)
        assert caught.value.span is not None
    with pytest.raises(QueryBindError, match="WHERE needs conditions"):
        motif.match(EVENTS, "SELECT a.id AS x FROM SEQ(A a; B b) WHERE a.c || b.c WITHIN 1 h")
    with pytest.raises(QueryDataError, match="Could not convert"):
        motif.match(EVENTS, "SELECT a.id AS x FROM SEQ(A a; B b) WHERE CAST(a.c || b.c AS INTEGER) > 1 WITHIN 1 h")


def test_events_that_the_host_is_asked_about_are_explained() -> None:
    query = "SELECT a.id AS x FROM SEQ(A a; B b) WHERE levenshtein(a.c, b.c) < 2 WITHIN 1 h"
    assert "ask the host, of many at once" in str(motif.explain(query, data=EVENTS))
