"""Event queries over Parquet files and tables in memory: Arrow reads them where that gives what DuckDB would give."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import motif
from column_values import COLUMNS as TYPES
from motif import api
from motif.engine import local as local_columns
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database
from motif.ir.render_event import render_events
from motif.plan.physical.costs import COSTS
from motif.testing.cases import same_rows
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.tables import to_arrow

START = dt.datetime(2026, 3, 1)
COUNT = 3_000
EVENTS = pa.table(
    {
        "ts": pa.array([START + dt.timedelta(seconds=i) for i in range(COUNT)], pa.timestamp("us")),
        "type": pa.array(["ABCD"[i * 7 % 4] if i % 60 else None for i in range(COUNT)]),
        "k": pa.array([f"key {i % 5}" if i % 70 else None for i in range(COUNT)]),
        "x": pa.array([i * 7 % 11 for i in range(COUNT)]),
    }
)
PAIRS = """SELECT a.ts AS since, b.x AS x, a.type AS kind FROM SEQ(A a; B b)
    WHERE [k] AND a.x < 5 AND b.x <> a.x WITHIN 20 s"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that DuckDB hands rows over."""
    seen: list[str] = []
    batches = Database.batches
    monkeypatch.setattr(Database, "batches", lambda self, reader: seen.append("rows") or batches(self, reader))
    return seen


def stored(folder: Path, table: pa.Table = EVENTS, **options: Any) -> Path:
    path = folder / "events.parquet"
    pq.write_table(table, path, **({"row_group_size": 400} | options))
    return path


def by_duckdb(data: Any, query: str, **options: Any) -> pa.Table:
    """The answer with DuckDB as the only one who reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb.DuckSource, "own_rows", lambda *_: None)
        return motif.match(data, query, **options)


@pytest.mark.parametrize("place", ["file", "memory"])
def test_duckdb_hands_nothing_over(place: str, tmp_path: Path, asked: list[str]) -> None:
    data = stored(tmp_path) if place == "file" else EVENTS
    found = motif.match(data, PAIRS)
    assert not asked
    assert found.num_rows
    expected = by_duckdb(data, PAIRS)
    assert asked
    assert found.schema == expected.schema
    assert found.equals(expected)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_what_duckdb_hands_over(name: str, tmp_path: Path, asked: list[str]) -> None:
    kind, values = TYPES[name]
    values = values * 3
    times, classes = EVENTS["ts"][: len(values)], ["AB"[i // 3 % 2] for i in range(len(values))]
    table = pa.table({"ts": times, "type": classes, name: pa.array(values, kind)})
    path = stored(tmp_path, table, row_group_size=2)
    for query in ("SELECT * FROM SEQ(A a; B b)", f"SELECT a.ts, b.{name} FROM SEQ(A a; B b) WHERE [{name}]"):
        for data in (path, table):
            found = motif.match(data, query)
            assert not asked or data is table, query  # milliseconds in memory are DuckDB's affair
            expected = by_duckdb(data, query)
            assert found.schema == expected.schema
            assert same_rows(found.to_pylist(), expected.to_pylist()), query
            asked.clear()


def test_events_without_a_time_are_counted(tmp_path: Path, asked: list[str]) -> None:
    times = pa.array([None if i in (3, 900) else t for i, t in enumerate(EVENTS["ts"].to_pylist())], pa.timestamp("us"))
    table = EVENTS.set_column(0, "ts", times)
    for data in (stored(tmp_path, table), table):
        with pytest.warns(motif.MotifWarning, match="2 events have no ts"):
            found = motif.match(data, PAIRS)
        assert not asked
        with pytest.warns(motif.MotifWarning, match="2 events have no ts"):
            assert found.equals(by_duckdb(data, PAIRS))
        asked.clear()


def test_no_events(tmp_path: Path, asked: list[str]) -> None:
    nothing = EVENTS.slice(0, 0)
    for data in (stored(tmp_path, nothing), nothing):
        found = motif.match(data, PAIRS)
        assert not asked
        assert found.equals(by_duckdb(data, PAIRS))
        asked.clear()


def test_large_files_are_read_by_duckdb(tmp_path: Path, asked: list[str]) -> None:
    path = stored(tmp_path)
    expected = api.match(path, PAIRS, costs=replace(COSTS, small_file_rows=COUNT))
    assert not asked
    few = replace(COSTS, small_file_rows=COUNT - 1)
    assert api.match(path, PAIRS, costs=few).equals(expected)
    assert asked
    asked.clear()


@pytest.mark.parametrize(
    "condition", ["upper(a.type) = 'A'", "a.x::VARCHAR = '1'", "a.k LIKE 'key%'", "a.x + 1 > 2 AND length(a.k) > 1"]
)
def test_what_only_duckdb_can_compute(condition: str, tmp_path: Path, asked: list[str]) -> None:
    query = f"SELECT a.ts FROM SEQ(A a; B b) WHERE [k] AND {condition} WITHIN 60 s"
    assert motif.match(stored(tmp_path), query).num_rows
    assert asked


def test_numbers_that_grow_too_large_are_duckdbs_affair(tmp_path: Path) -> None:
    table = EVENTS.set_column(3, "x", pa.array([2**62] * COUNT))
    query = "SELECT a.ts FROM SEQ(A a; B b) WHERE [k] AND a.x + a.x > 5 WITHIN 60 s"
    with pytest.raises(motif.MotifError, match="Overflow in addition of INT64"):
        motif.match(stored(tmp_path, table), query)


def test_several_inputs_are_merged_by_duckdb(tmp_path: Path, asked: list[str]) -> None:
    found = motif.match({"one": stored(tmp_path), "two": EVENTS.slice(0, 500)}, PAIRS)
    assert asked
    assert found.num_rows


def test_explain_tells(tmp_path: Path) -> None:
    assert "Arrow reads the file" in str(motif.explain(PAIRS, data=stored(tmp_path)))
    assert "Columns are taken as they are" in str(motif.explain(PAIRS, data=EVENTS))
    computed = PAIRS.replace("a.x < 5", "upper(a.k) <> 'X'")
    assert "DuckDB reads" in str(motif.explain(computed, data=EVENTS))


@pytest.mark.random
@pytest.mark.filterwarnings("ignore:.*have no ts", "ignore:PICK EACH")
def test_random_queries(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a table and DuckDB alone give the same."""
    own = 0
    monkeypatch.setattr(local_columns, "FEW_ROWS", 1)
    for seed in range(5_000, 5_250):
        rng = random.Random(seed)
        query = random_event_query(rng)
        text = render_events(query)
        table = to_arrow([event for _ in range(4) for event in random_stream(rng, query)], COLUMNS)
        path = stored(tmp_path, table, row_group_size=rng.choice([5, 20, 10_000]))
        asked.clear()
        try:
            found = [motif.match(data, text) for data in (path, table)]
        except motif.MotifError:
            continue
        own += not asked
        expected = by_duckdb(path, text)
        assert all(answer.schema == expected.schema for answer in found), seed
        assert all(same_rows(answer.to_pylist(), expected.to_pylist()) for answer in found), seed
    assert own > 100
