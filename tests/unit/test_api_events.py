"""The public functions with event queries: lazy names, forms of queries, checks, notes."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import motif
from motif.lang import builder
from motif.options import split_text

EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1, 12, minute) for minute in range(4)],
        "type": ["A", "B", "A", "B"],
        "user": ["ann", "ann", "bob", "bob"],
        "x": [1, 2, 3, 5],
    }
)
QUERY = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [user]"


def pairs(found: Any) -> list[tuple[int, int]]:
    return [(row["a"], row["b"]) for row in found.to_pylist()]


# -- names


@pytest.mark.parametrize("name", [name for name in builder.__all__ if name[0].islower() or name == "ALL"])
def test_the_builder_is_at_the_door(name: str) -> None:
    assert getattr(motif, name) is getattr(builder, name)
    assert name in motif.__all__
    assert name in dir(motif)


def test_all_names_are_there() -> None:
    names: dict[str, Any] = {}
    exec("from motif import *", names)
    assert set(motif.__all__) <= set(names)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'motif' has no attribute 'sequence'"):
        _ = motif.sequence  # type: ignore[attr-defined]


def test_the_builder_is_loaded_when_it_is_asked_for() -> None:
    loaded = "'motif.lang.builder' in sys.modules"
    code = f"import sys, motif; assert not {loaded}; motif.seq; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


# -- functions


def test_vectorized() -> None:
    seen: list[Any] = []

    @motif.vectorized
    def rising(a: Any, b: Any) -> Any:
        seen.append(a)
        return a + 1 == b

    @motif.vectorized("arrow")
    def as_arrow(a: Any) -> Any:
        seen.append(a)
        return pa.array([True] * len(a))

    query = f"{QUERY} AND rising(a.x, b.x) AND as_arrow(a.x)"
    assert pairs(motif.match(EVENTS, query, functions={"rising": rising, "AS_ARROW": as_arrow})) == [(1, 2)]
    assert {type(given) for given in seen} == {np.ndarray, pa.Int64Array}
    with pytest.raises(motif.MotifError, match="vectorized does not know 'pandas'"):
        motif.vectorized("pandas")  # type: ignore[call-overload]


# -- forms of queries


def test_forms() -> None:
    a, b = motif.ev("A", "a"), motif.ev("B", "b")
    built = motif.seq(a, b).by("user").select(a=a.x, b=b.x)
    expected = [(1, 2), (3, 5)]
    for query in (QUERY, built, built.query, [QUERY], (built,), f"{QUERY};", f"{QUERY} ;;"):
        assert pairs(motif.match(EVENTS, query)) == expected
        assert motif.check(query, data=EVENTS) == []
        assert "Event query" in str(motif.explain(query, data=EVENTS))


STACK = [
    "DEFINE P SELECT a.x FROM SEQ(A a; B b) WHERE [user]",
    "SELECT p.x AS a, q.x AS b FROM SEQ(P p; P q)",
]


def test_a_text_with_several_queries_is_a_stack() -> None:
    assert pairs(motif.match(EVENTS, STACK)) == [(1, 3)]
    assert pairs(motif.match(EVENTS, "; ".join(STACK))) == [(1, 3)]


def test_splitting_keeps_places() -> None:
    text = "SELECT * FROM SEQ(a; b);\n\n-- ; not here\nSELECT ';' AS x FROM SEQ(c;\n d)"
    first, second = split_text(text, "duckdb")
    assert first == "SELECT * FROM SEQ(a; b);"
    assert second.index("';'") == text.index("';'")
    assert second.splitlines()[3:] == text.splitlines()[3:]
    assert split_text("SELECT * FROM SEQ(a; b", "duckdb") == ["SELECT * FROM SEQ(a; b"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([], "the list of queries is empty"),
        ([[QUERY]], "a list of queries in a list of queries"),
        ([QUERY, QUERY], "a query that is followed by another one needs a name"),
        (42, "a query cannot be of type int"),
        ([42], "a query cannot be of type int"),
        ([motif.rows(motif.row("A")).order_by("ts")], "a list holds event queries only"),
    ],
)
def test_what_is_no_query(query: Any, message: str) -> None:
    with pytest.raises(motif.MotifError, match=message):
        motif.match(EVENTS, query)
    with pytest.raises(motif.MotifError, match=message):
        motif.explain(query)


def test_a_missing_name_has_a_place() -> None:
    (mistake,) = motif.check(f"{QUERY}; {QUERY}")
    assert mistake.line == 1
    assert "DEFINE" in (mistake.hint or "")


# -- check


def test_check_of_the_text() -> None:
    assert motif.check(QUERY) == []
    mistakes = motif.check("SELECT a.x FROM SEQ(A a; NOT B b) PICK LAST c")
    assert [mistake.message for mistake in mistakes] == ["c is not a variable of the pattern"]
    assert [m.line for m in motif.check(f"DEFINE P {QUERY};\nSELECT c.x FROM SEQ(P p)")] == [2]


def test_check_against_events() -> None:
    mistakes = motif.check(QUERY.replace(".x", ".y"), data=EVENTS)
    assert {mistake.message for mistake in mistakes} == {"unknown column y"}
    assert [m.message for m in motif.check(QUERY, data=EVENTS, time="x")] == [
        "time='x' is of type integer(64), not a time"
    ]
    assert motif.check(QUERY, tables={"events": EVENTS}) == []
    assert motif.check(f"{QUERY} AND f(a.x, b.x)", data=EVENTS, functions={"f": max}) == []
    assert motif.check(f"{QUERY} AND f(a.x, b.x)", data=EVENTS) != []


def test_check_of_what_was_built() -> None:
    a, b = motif.ev("A", "a"), motif.ev("B", "b")
    (mistake,) = motif.check(motif.seq(a, motif.no(b)))
    assert mistake.message.startswith("NOT at the end needs WITHIN")
    assert motif.check(motif.rows(motif.row("A", motif.col.x > 1)).order_by("ts")) == []


def test_check_and_explain_take_a_clause_with_its_table() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS x\nPATTERN (A B) DEFINE B AS x > PREV({}))"
    built = motif.rows(motif.row("A", motif.col.x > 99)).order_by("ts").measures(x=motif.col.x)
    assert motif.check(clause.format("x"), data=EVENTS) == motif.check(built, data=EVENTS) == []
    [mistake] = motif.check(clause.format("y"), data=EVENTS)
    assert (mistake.message, mistake.line, mistake.column) == ("unknown column y", 2, 36)
    [mistake] = motif.check(clause.format("x").replace("PATTERN", "PATERN"), data=EVENTS)
    assert mistake.hint == "did you mean PATTERN?"
    [mistake] = motif.check("SELECT * FROM events", data=EVENTS)
    assert mistake.message.startswith("this is an SQL statement")
    [slip] = motif.check(built, data=EVENTS, rows=True)
    assert slip.message == "no row meets this condition of A"
    for query in (clause.format("x"), built):
        assert "MATCH_RECOGNIZE on DuckDB" in str(motif.explain(query, data=EVENTS))
    with pytest.raises(motif.QueryBindError, match="unknown column y"):
        motif.explain(clause.format("y"), data=EVENTS)


def test_options_for_the_other_language() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"
    for wrong, message in (
        ({"time": "ts"}, "time= is for event queries"),
        ({"order_by": "x"}, "order_by= is for event queries"),
    ):
        with pytest.raises(motif.MotifError, match=message):
            motif.check(clause, **wrong)  # type: ignore[arg-type]
    with pytest.raises(motif.MotifError, match="tables= and data= do not go together"):
        motif.check(QUERY, data=EVENTS, tables={"events": EVENTS})
    with pytest.raises(motif.MotifError, match="spark= is for SQL statements"):
        motif.check(QUERY, spark=object())


# -- notes


def test_each_of_an_unbounded_repetition_is_a_warning() -> None:
    query = "SELECT COUNT(b) AS n FROM SEQ(A a; B b+; A c) PICK EACH b"
    with pytest.warns(motif.MotifWarning, match="PICK EACH b forms every list") as caught:
        motif.match(EVENTS, query)
    assert caught[0].filename == __file__
    [found] = motif.check(query)
    assert (found.severity, found.line, found.column) == ("warning", 1, 52)
    assert "PICK EACH b" in str(found)


@pytest.mark.parametrize("pattern", ["B b{1,3}", "B b+"])
def test_other_repetitions_are_not(pattern: str, recwarn: pytest.WarningsRecorder) -> None:
    pick = "PICK EACH b" if "{" in pattern else ""
    motif.match(EVENTS, f"SELECT COUNT(b) AS n FROM SEQ(A a; {pattern}; A c) {pick}")
    assert not recwarn.list
