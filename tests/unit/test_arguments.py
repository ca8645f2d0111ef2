"""Calls with the wrong things in the wrong places: each is told as a mistake of the caller's, with a hint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import motif

MATCH: Any = motif.match
SQL: Any = motif.sql
CHECK: Any = motif.check
EXPLAIN: Any = motif.explain
SHOW: Any = motif.show
SESSIONIZE: Any = motif.sessionize
FUNNEL: Any = motif.funnel
STREAM: Any = motif.Stream

NOON = dt.datetime(2026, 1, 1, 12)
TRADES = pa.table({"t": [1, 2, 3], "price": [3.0, 2.0, 4.0]})
EVENTS = pa.table(
    {
        "ts": [NOON + dt.timedelta(minutes=minute) for minute in range(3)],
        "type": ["A", "B", "A"],
        "user": ["ann", "ann", "ann"],
        "v": [1, 2, 3],
    }
)
CLAUSE = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(UP.price) AS top PATTERN (UP+) DEFINE UP AS price > PREV(price))"
STATEMENT = f"SELECT * FROM trades {CLAUSE}"
QUERY = "SELECT a.user FROM SEQ(A a; B b) WHERE [user] WITHIN 1 h"
CALLED = QUERY.replace("[user]", "f(a.v)")
PATTERN = motif.rows(motif.row("A")).order_by("t")
TWICE = pd.DataFrame([[1, 2, 3]], columns=["t", "price", "price"])


def generated() -> Iterator[dict[str, Any]]:
    yield {"t": 1, "price": 1.0}


def push(**changes: Any) -> pa.Table:
    return motif.Stream(QUERY, EVENTS.schema).push({"ts": NOON, "type": "A", "user": "ann", "v": 1} | changes)


def stream() -> Any:
    return motif.Stream(QUERY, EVENTS.schema)


def report() -> Any:
    return motif.show(QUERY, EVENTS)


Call = Callable[[], Any]
WRONG: list[tuple[Call, str, str]] = [
    (lambda: SQL(None), "a query cannot be None", "give the text of a query"),
    (lambda: SQL(5, tables={"trades": TRADES}), "a query cannot be of type int", "give the text of a query"),
    (lambda: SQL(b"SELECT 1", tables={"trades": TRADES}), "a query cannot be of type bytes", "give the text"),
    (lambda: SQL(TRADES, tables={"q": STATEMENT}), "a query cannot be of type Table", "motif.sql(query, tables=...)"),
    (lambda: SQL(Path("query.sql"), tables={}), "a query cannot be of type", "path.read_text()"),
    (lambda: SQL(PATTERN, tables={"trades": TRADES}), "this is a clause", "motif.match(table, clause)"),
    (lambda: SQL(STATEMENT, tables=TRADES), "tables= cannot be of type Table", '{"trades": trades}'),
    (lambda: SQL(STATEMENT, tables="trades.csv"), "tables= cannot be of type str", '{"trades": trades}'),
    (lambda: SQL(STATEMENT, tables={5: TRADES}), "5 cannot be the name of a table", '{"trades": trades}'),
    (lambda: SQL(STATEMENT, tables={"": TRADES}), "'' cannot be the name of a table", '{"trades": trades}'),
    (lambda: SQL(STATEMENT, tables={"trades": TRADES, "Trades": TRADES}), "differ in capitals only", "rename one"),
    (lambda: SQL(STATEMENT, tables={"trades": TWICE}), "the table has two columns price", "rename one of them"),
    (lambda: SQL(STATEMENT, tables={"trades": pd.Series([1])}), "a table cannot be of type Series", "give a path"),
    (lambda: SQL(STATEMENT, tables={"trades": pl.Series([1])}), "a table cannot be of type Series", "give a path"),
    (lambda: SQL(STATEMENT, tables={"trades": TRADES["t"]}), "a table cannot be of type ChunkedArray", "give a path"),
    (lambda: SQL(STATEMENT, tables={"trades": ""}), "the path is empty", "name a file"),
    (lambda: SQL(STATEMENT, spark=5), "spark= cannot be of type int", "give a session"),
    (lambda: SQL(STATEMENT, tables={"trades": TRADES}, emit=5), "emit= cannot be of type int", 'emit=("match"'),
    (lambda: MATCH(CLAUSE, TRADES), "a query cannot be of type Table", "motif.match(data, query)"),
    (lambda: MATCH(TRADES, []), "the list of queries is empty", "give one query"),
    (lambda: MATCH([{"t": 1, "price": 1.0}], CLAUSE), "a table cannot be of type list", "Table.from_pylist(rows)"),
    (lambda: MATCH({"t": [1], "price": [1.0]}, CLAUSE), "a table cannot be of type dict", "pyarrow.table(columns)"),
    (lambda: MATCH(generated(), CLAUSE), "a table cannot be of type generator", "give a path"),
    (lambda: MATCH(TRADES.to_pandas().groupby("t"), CLAUSE), "of type DataFrameGroupBy", "give a path"),
    (lambda: MATCH({}, QUERY), "there are no events", "give an input"),
    (lambda: MATCH({5: EVENTS}, QUERY), "5 cannot be the name of a table", '{"trades": trades}'),
    (lambda: MATCH({"e": EVENTS, "E": EVENTS}, QUERY), "tables e and E differ in capitals only", "rename one"),
    (lambda: MATCH(EVENTS, QUERY, time=5), "time= cannot be of type int", 'time="ts"'),
    (lambda: MATCH(EVENTS, QUERY, time=""), "time= is empty", 'time="ts"'),
    (lambda: MATCH(EVENTS, QUERY, type=["type"]), "type= cannot be of type list", 'type="type"'),
    (lambda: MATCH(EVENTS, QUERY, order_by=5), "order_by= cannot be 5", "name a column"),
    (lambda: MATCH(EVENTS, QUERY, order_by={"v"}), "order_by= cannot be {'v'}", "name a column"),
    (lambda: MATCH(EVENTS, QUERY, functions=len), "functions= cannot be of type", "give functions by name"),
    (lambda: MATCH(EVENTS, QUERY, functions=[len]), "functions= cannot be of type list", "give functions by name"),
    (lambda: MATCH(EVENTS, QUERY, functions={5: len}), "5 cannot be the name of a function", '{"near": near}'),
    (lambda: MATCH(EVENTS, QUERY, emit=[5]), "emit= does not know 5", "match, timeout, late"),
    (lambda: MATCH(EVENTS, CALLED, functions={"f": lambda v: [v]}), "function f returned [1]", "return True or False"),
    (lambda: MATCH(EVENTS, CALLED, functions={"f": lambda v: "yes"}), "f gave no truth value", "return True or False"),
    (lambda: MATCH(EVENTS, CALLED, functions={"f": lambda v: v / 0}), "ZeroDivisionError", "return None"),
    (lambda: CHECK(STATEMENT, tables=TRADES), "tables= cannot be of type Table", '{"trades": trades}'),
    (lambda: CHECK(CLAUSE, data=TRADES, tables={}), "data= and tables= do not go together", "data= is for a clause"),
    (lambda: CHECK(CLAUSE, tables={"t": TRADES}), "this is a clause, which names no table", "give its table as data="),
    (lambda: EXPLAIN(PATTERN, tables={"t": TRADES}), "this is a clause, which names no table", "as data="),
    (lambda: EXPLAIN(STATEMENT, data=TRADES), "this is an SQL statement", "motif.sql(query, tables="),
    (lambda: MATCH(TRADES, STATEMENT), "this is an SQL statement", "motif.sql(query, tables="),
    (lambda: MATCH(TRADES, "SELECT 1"), "this is an SQL statement", "motif.sql(query, tables="),
    (lambda: EXPLAIN(STATEMENT, spark=5), "spark= cannot be of type int", "give a session"),
    (lambda: SHOW(None, EVENTS), "a query cannot be None", "give the text of a query"),
    (lambda: SHOW("", EVENTS), "the query is empty", "SELECT"),
    (lambda: SHOW(QUERY, EVENTS, title=5), "title= cannot be of type int", "give a text"),
    (lambda: report().save(5), "a file cannot be 5", "report.html"),
    (lambda: report().save(""), "a file cannot be ''", "report.html"),
    (lambda: report().save("/nowhere/at/all.html"), "cannot write", "a folder that you can write to"),
    (lambda: SESSIONIZE(EVENTS, by="", gap="1 h"), "by= cannot be ''", "name a column"),
    (lambda: SESSIONIZE(EVENTS, by=EVENTS, gap="1 h"), "by= cannot be of type Table", "name a column"),
    (lambda: SESSIONIZE(EVENTS, by="user", gap=-1), "gap= cannot be -1", "not negative"),
    (lambda: SESSIONIZE(EVENTS, by="user", gap=float("nan")), "gap= cannot be nan", "not negative"),
    (lambda: SESSIONIZE(EVENTS, by="user", gap="1 h", per=5), "per= does not know 5", "session, row"),
    (lambda: SESSIONIZE(EVENTS, by="user", gap="1 h", time=None), "time= cannot be None", 'time="ts"'),
    (lambda: FUNNEL(EVENTS, by="user", steps=["A", "B"], type=5), "type= cannot be of type int", 'type="type"'),
    (lambda: FUNNEL(EVENTS, by="user", steps={5: "A", "y": "B"}), "5 needs a name", "by name"),
    (lambda: FUNNEL(EVENTS, by="user", steps={"": "A", "y": "B"}), "'' needs a name", "by name"),
    (lambda: STREAM(None, {"ts": "timestamp"}), "a query cannot be None", "give the text of a query"),
    (lambda: stream().push(generated()), "rows cannot be of type generator", "list(rows)"),
    (lambda: push(ts="2026"), "column ts is timestamp[us], and cannot be '2026'", "types that the schema"),
    (lambda: push(v="1"), "column v is int64, and cannot be '1'", "types that the schema"),
    (lambda: push(v=1 << 70), "column v is int64, and cannot be 1180591620717411303424", "types that the schema"),
    (lambda: push(v=1.5), "column v is int64, and cannot be 1.5", "types that the schema"),
    (lambda: push(v=float("nan")), "column v is int64, and cannot be nan", "types that the schema"),
    (lambda: push(v=Decimal("1.5")), "column v is int64, and cannot be Decimal('1.5')", "types that the schema"),
    (lambda: stream().save(None), "a file cannot be None", "logins.stream"),
    (lambda: motif.Stream.load("nowhere.stream"), "cannot read nowhere.stream", "stream.save(path)"),
    (lambda: motif.ship(5), "the session cannot be of type int", "give a session"),
]


@pytest.mark.parametrize(("call", "message", "hint"), WRONG, ids=[message for _, message, _ in WRONG])
def test_a_wrong_argument_is_told_with_a_hint(call: Call, message: str, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        call()
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_whole_numbers_of_other_types_are_taken() -> None:
    assert push(v=2.0).num_rows == 0
    assert push(v=Decimal(2)).num_rows == 0


@pytest.mark.parametrize("call", [lambda: SQL(STATEMENT, table={}), lambda: MATCH(EVENTS, QUERY, within="1 h")])
def test_a_wrong_keyword_is_pythons_own_error(call: Call) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        call()
