"""When loops are compiled: large inputs, queries that have taken long, and loops that are compiled already."""

from __future__ import annotations

import datetime as dt
import sys
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

import motif
from motif.engine import pace
from motif.kernels import build

COUNT = 2_000
EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1) + dt.timedelta(seconds=n) for n in range(COUNT)],
        "type": ["A" if n % 3 else "B" for n in range(COUNT)],
        "k": [n % 7 for n in range(COUNT)],
        "v": [(n * 37) % 101 for n in range(COUNT)],
    }
)
SCHEMA = EVENTS.schema
SEQ = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v * 2 + 1 WITHIN 40 s"
ONCE = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v * 3 + 1 WITHIN 40 s CONSUMING a"
ROWS = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(A.v) AS v, LAST(B.v) AS w "
    "PATTERN (A B+) DEFINE B AS v > FIRST(v) * 2 + SUM(B.v) / 100)"
)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> set[tuple[object, ...]]:
    """Loops compiled from here on."""
    known: set[tuple[object, ...]] = set()
    monkeypatch.setattr(build, "_COMPILED", known)
    build._compiled.cache_clear()
    build._compiled_consume.cache_clear()
    monkeypatch.setattr(pace, "_SPENT", defaultdict(float))
    return known


@pytest.mark.parametrize("query", [SEQ, ONCE, ROWS], ids=["SEQ", "CONSUMING", "rows"])
def test_a_query_that_has_taken_long(
    query: str, compiled: set[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = motif.match(EVENTS, query)
    assert first.num_rows > 10
    assert not compiled
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    assert motif.match(EVENTS, query).equals(first)
    assert len(compiled) == 1
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 1e9)
    again = build._COMPILED.copy()
    assert motif.match(EVENTS, query).equals(first)  # by the loop that is there
    assert again == compiled


@pytest.mark.parametrize("query", [SEQ, ROWS], ids=["SEQ", "rows"])
def test_a_stream_that_has_taken_long(
    query: str, compiled: set[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = motif.match(EVENTS, query).num_rows
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr("motif.engine.matcher.COMPILE_FROM_ROWS", 900)
    stream = motif.Stream(query, SCHEMA)
    found = stream.push(EVENTS.slice(0, 100)).num_rows + stream.push(EVENTS.slice(100, 100)).num_rows
    assert not compiled  # steps too small to gain anything
    found += sum(stream.push(EVENTS.slice(begin, 600)).num_rows for begin in range(200, COUNT, 600))
    assert found + stream.close().num_rows == expected
    assert len(compiled) >= 1


@pytest.mark.parametrize("query", [SEQ, ROWS], ids=["SEQ", "rows"])
def test_code_that_is_on_disk_is_loaded_sooner(
    query: str, compiled: set[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("motif_kernel_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(pace, "LOADING_SECONDS", 0.0)
    for _ in range(2):
        motif.match(EVENTS, query)
    assert not compiled  # nothing is on disk
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    motif.match(EVENTS, query)
    assert len(compiled) == 1
    compiled.clear()
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 1e9)
    build._compiled.cache_clear()
    motif.match(EVENTS, query)
    assert len(compiled) == 1
