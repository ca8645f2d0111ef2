"""DISTINCT in DEFINE: over the match and over variables, plain and compiled, of all kinds of values."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import motif
from motif.engine.arrays import Lanes, same_before
from motif.errors import UnsupportedQuery
from motif.hosts import duckdb
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import COMPILED, PLAIN
from motif.testing.cases import same_in_order
from motif.testing.reference import match_rows

KINDS: dict[str, list[Any]] = {
    "integers": [1, 2, 3, None],
    "floats": [0.0, -0.0, float("nan"), -float("nan"), 1.5, None],
    "texts": ["a", "b", "", None],
    "decimals": [Decimal("1.50"), Decimal("-2.25"), None],
    "wide decimals": [Decimal("1" * 30), Decimal("2" * 30), None],
    "dates": [dt.date(2026, 1, 1), dt.date(2026, 1, 2), None],
    "booleans": [True, False, None],
}
CONDITIONS = [
    ("A+", "A AS COUNT(DISTINCT v) <= 2"),
    ("(A | B)+ C", "A AS COUNT(DISTINCT A.v) <= 1, B AS COUNT(DISTINCT B.v) <= 2, C AS COUNT(DISTINCT U.v) > 1"),
    ("A (B | A)+?  C", "B AS COUNT(DISTINCT U.v) <> 2, C AS COUNT(DISTINCT v) >= 3 OR COUNT(DISTINCT B.v) = 1"),
]


FROM_THE_FIRST = "ORDER BY t MEASURES LAST(t) AS l PATTERN (^ A+) DEFINE"


def clause(pattern: str, define: str) -> str:
    subset = "SUBSET U = (A, B)" if "B" in pattern else ""
    return (
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS f, LAST(t) AS l, COUNT(A.*) AS a "
        f"AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) {subset} DEFINE {define})"
    )


@pytest.mark.parametrize(("pattern", "define"), CONDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_reference(kind: str, pattern: str, define: str) -> None:
    rng = random.Random(kind + define)
    values = [rng.choice(KINDS[kind]) for _ in range(14)]
    rows = [{"t": t, "v": value} for t, value in enumerate(values)]
    query = parse_clause(clause(pattern, define))
    expected = match_rows(query, rows, ["t", "v"])
    assert expected
    table = pa.table({"t": [row["t"] for row in rows], "v": values})
    assert same_in_order(duckdb.match_table(table, query, costs=PLAIN).to_pylist(), expected)


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize(("pattern", "define"), CONDITIONS[:2])
def test_compiled_as_plain(pattern: str, define: str) -> None:
    rng = random.Random(7)
    table = pa.table({"t": range(300), "v": [rng.choice((1, 2, 3, None)) for _ in range(300)]})
    query = parse_clause(clause(pattern, define))
    found = duckdb.match_table(table, query, costs=PLAIN)
    assert found.num_rows
    assert duckdb.match_table(table, query, costs=COMPILED).equals(found)


def test_sums_and_averages() -> None:
    table = pa.table({"t": range(6), "v": [1, 1, 2, 2, 1, 4]})
    for define, last in (("SUM(DISTINCT A.v) <= 3", 4), ("AVG(DISTINCT A.v) <= 1.5", 4), ("MAX(DISTINCT A.v) < 2", 1)):
        found = motif.match(
            table, f"MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(t) AS l PATTERN (^ A+) DEFINE A AS {define})"
        )
        assert found.to_pylist() == [{"l": last}], define


def test_the_host_takes_them_as_values() -> None:
    table = pa.table({"t": range(5), "v": [1, 1, 2, 3, 1]})
    text = f"MATCH_RECOGNIZE ({FROM_THE_FIRST} A AS even(COUNT(DISTINCT A.v) + 0.5) <= 4)"
    assert motif.match(table, text).to_pylist() == [{"l": 4}]
    assert motif.match(table, text.replace("<= 4", "<= 3")).to_pylist() == [{"l": 1}]


def test_lists_are_refused_by_name() -> None:
    table = pa.table({"t": [1], "v": [[1]]})
    text = "MATCH_RECOGNIZE (ORDER BY t MEASURES t AS l PATTERN (A) DEFINE A AS COUNT(DISTINCT A.v) < 2)"
    with pytest.raises(UnsupportedQuery, match="DISTINCT of values of type") as caught:
        motif.match(table, text)
    assert caught.value.span is not None


def test_links_lead_to_the_same_value_before() -> None:
    floats = Lanes(np.array([0.0, np.nan, -0.0, 1.0, np.nan, 0.0]), np.array([0, 0, 0, 1, 0, 0], np.uint8))
    assert same_before(floats).tolist() == [-1, -1, 0, -1, 1, 2]
    whole = Lanes(np.array([5, 5, 0, 5]), np.array([0, 1, 0, 0], np.uint8))
    assert same_before(whole).tolist() == [-1, -1, -1, 0]
    nothing = Lanes(np.array([], np.int64), np.array([], np.uint8))
    assert same_before(nothing).tolist() == []
