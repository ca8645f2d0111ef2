"""Expressions that read no row, beside values of several rows or events: worked out once, when a query is planned."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import motif
from motif.errors import MotifError

_START = dt.datetime(2026, 1, 1)
EVENTS = pa.table(
    {
        "ts": [_START + dt.timedelta(seconds=i) for i in range(6)],
        "type": list("ABABAB"),
        "x": [1.0, 5.0, 2.0, 9.0, 3.0, 4.0],
        "s": list("abPdef"),
        "n": [1, 2, 3, 4, 5, 6],
    }
)
CONSTANTS = [
    ("b.x - a.x > 2 * 1.5", "b.x - a.x > 3.0"),
    ("b.x - a.x > (24 * 3600) / 28800", "b.x - a.x > 3"),
    ("b.x - a.x > -(-1.5)", "b.x - a.x > 1.5"),
    ("b.x - a.x > sqrt(4)", "b.x - a.x > 2"),
    ("b.x - a.x > pi()", "b.x - a.x > 3.141592653589793e0"),
    ("b.x - a.x > CAST(1.5 AS DOUBLE)", "b.x - a.x > 1.5e0"),
    ("b.n - a.n > CAST(1 AS HUGEINT)", "b.n - a.n > 1"),
    ("b.n - a.n > CAST(1.5 AS DECIMAL(30, 2))", "b.n - a.n > 1.5"),
    ("a.s > upper('p') AND b.s > a.s", "a.s > 'P' AND b.s > a.s"),
    ("b.x > coalesce(NULL, 1) + a.x", "b.x > 1 + a.x"),
    ("b.ts - a.ts > INTERVAL '1' SECOND * 2", "b.ts - a.ts > INTERVAL '2' SECOND"),
    ("b.ts > a.ts + to_seconds(1)", "b.ts > a.ts + INTERVAL '1' SECOND"),
    ("(a.n + b.n) IN (1 + 2, 3 + 8)", "(a.n + b.n) IN (3, 11)"),
    ("CASE WHEN 1 + 1 = 2 THEN b.x > a.x ELSE b.x < a.x END", "b.x > a.x"),
]


def _matches(condition: str) -> list[tuple[int, int]]:
    found = motif.match(EVENTS, f"SELECT a.n AS a, b.n AS b FROM SEQ(A a; B b) WHERE {condition} WITHIN 1 h")
    return sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True))


def _rows(condition: str) -> list[dict[str, int]]:
    clause = f"ORDER BY ts MEASURES a.n AS x, b.n AS y PATTERN (a c* b) DEFINE b AS {condition}"
    return motif.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", tables={"t": EVENTS}).to_pylist()


@pytest.mark.parametrize(("computed", "plain"), CONSTANTS)
def test_an_expression_of_constants_is_its_value(computed: str, plain: str) -> None:
    assert _matches(computed) == _matches(plain)
    assert _rows(computed) == _rows(plain)
    query = f"SELECT a.n AS a FROM SEQ(A a; B b) WHERE {computed} WITHIN 1 h"
    assert motif.check(query, data=EVENTS) == []
    stream = motif.Stream(query, EVENTS.schema)
    assert stream.push(EVENTS).num_rows + stream.close().num_rows == len(_matches(plain))


@pytest.mark.parametrize("changing", ["b.x - a.x > random()", "b.ts > a.ts + (now() - now())", "b.n - a.n > [2]"])
def test_what_is_no_constant_is_refused_beside_events(changing: str) -> None:
    with pytest.raises(MotifError, match="line 1, column"):
        _matches(changing)
    query = f"SELECT a.n AS a FROM SEQ(A a; B b) WHERE {changing} WITHIN 1 h"
    assert len(motif.check(query, data=EVENTS)) == 1


def test_a_constant_that_can_not_be_computed_is_told_when_the_query_is_planned() -> None:
    query = "SELECT a.n AS a FROM SEQ(A a; B b) WHERE b.x - a.x > CAST('x' AS INTEGER) WITHIN 1 h"
    [problem] = motif.check(query, data=EVENTS)
    assert (problem.line, problem.column) == (1, query.index("CAST") + 1)


def test_functions_take_constants_that_have_to_be_worked_out() -> None:
    query = "SELECT a.n AS a, b.n AS b FROM SEQ(A a; B b) WHERE near(a.x, b.x, 1 + 1) WITHIN 1 h"
    found = motif.match(EVENTS, query, functions={"near": lambda x, y, most: abs(x - y) <= most})
    assert found.num_rows == len(_matches("abs(b.x - a.x) <= 2"))
