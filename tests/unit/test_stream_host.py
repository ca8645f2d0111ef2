"""A push asks DuckDB nothing that Motif computes itself, and what it computes is what DuckDB gives."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.hosts import duckdb_link
from motif.hosts.duckdb_database import Database

SCHEMA = {"ts": "timestamp", "type": "string", "k": "int", "v": "double", "small": "integer"}
STACK = [
    "DEFINE P SELECT b.k AS k, b.v - a.v AS rise, b.ts - a.ts AS took FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s",
    (
        "DEFINE Q SELECT p.k AS k, CASE WHEN c.v > p.rise THEN 'up' ELSE 'down' END AS way FROM SEQ(P p; C c) "
        "WHERE [k] WITHIN 30 s"
    ),
    "SELECT q.way AS way, q.k + d.k AS sum FROM SEQ(Q q; D d) WHERE [k] WITHIN 40 s",
]


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "ts": dt.datetime(2026, 1, 1) + dt.timedelta(milliseconds=700 * number),
            "type": "ABCD"[number % 4],
            "k": number % 3,
            "v": None if number % 7 == 0 else number * 1.5 % 11,
            "small": number,
        }
        for number in range(count)
    ]


def test_a_stack_is_answered_without_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = motif.Stream(STACK, SCHEMA)

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("DuckDB was asked")

    for name in ("add", "describe", "execute", "lent", "reader"):
        monkeypatch.setattr(Database, name, asked)
    found = pa.concat_tables([*map(stream.push, rows(120)), stream.close()])
    monkeypatch.undo()
    table = pa.Table.from_pylist(rows(120), pa.schema([*duckdb_schema()]))
    whole = motif.match(table, STACK)
    assert whole.num_rows > 10
    assert found.schema == whole.schema
    assert found.to_pylist() == whole.to_pylist()


def duckdb_schema() -> list[tuple[str, pa.DataType]]:
    types = [pa.timestamp("us"), pa.string(), pa.int64(), pa.float64(), pa.int32()]
    return list(zip(SCHEMA, types, strict=True))


ITEMS = [
    *("'x'", "'it''s'", "1", "1.5", "NULL", "true", "DATE '2026-01-01'", "INTERVAL '1' HOUR", "upper('x')"),
    *("b.v - a.v", "b.v / a.v", "a.k % 2", "-a.k", "a.small + b.small", "abs(a.small)", "b.ts - a.ts"),
    *("b.ts - a.ts - INTERVAL '1' SECOND", "b.ts + INTERVAL '1' DAY", "a.v > b.v", "a.v IS NULL", "a.type = 'A'"),
    *("a.type", "coalesce(a.v, 0)", "coalesce(a.type, 'x')", "nullif(a.type, 'A')", "greatest(a.k, b.k)"),
    *("CASE WHEN a.v > 3 THEN 'x' ELSE a.type END", "CASE WHEN a.v > 3 THEN b.ts - a.ts END", "sqrt(a.v)"),
    *("CASE WHEN a.v > 3 THEN 1 ELSE 2.5 END", "CAST(a.k AS VARCHAR)", "a.v::DECIMAL(9, 2) * 2", "COUNT(b) + 1"),
    *("least(a.v, b.v)", "a.k * b.k", "a.k IN (1, 2)", "a.k BETWEEN 0 AND 1", "a.type || 'x'", "MAX(b.v) - MIN(b.v)"),
]


@pytest.mark.parametrize("item", ITEMS)
def test_what_comes_out_is_what_the_host_gives(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = f"SELECT {item} AS x, a.k AS k FROM SEQ(A a; B b) WHERE [k] WITHIN 9 s"

    def answer() -> pa.Table | str:
        try:
            stream = motif.Stream(query, SCHEMA)
            return pa.concat_tables([*map(stream.push, rows(60)), stream.close()])
        except motif.MotifError as error:
            return str(error)

    found = answer()
    monkeypatch.setattr(duckdb_link, "computed_here", lambda *_: None)
    expected = answer()
    if isinstance(found, pa.Table):
        assert isinstance(expected, pa.Table)
        assert found.schema == expected.schema
        assert found.num_rows > 3
        assert found.to_pylist() == expected.to_pylist()
    else:
        assert found == expected


def test_a_stack_is_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    begin = Database.__init__

    def counted(self: Database, *args: Any) -> None:
        nonlocal made
        made += 1
        begin(self, *args)

    monkeypatch.setattr(Database, "__init__", counted)
    motif.Stream(STACK, SCHEMA)
    assert made == 1
