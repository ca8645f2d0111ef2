"""DuckDB as the host: rows sorted in memory and rows sorted by DuckDB are matched alike."""

from __future__ import annotations

import pyarrow as pa
import pytest

import motif
from motif.hosts import duckdb

CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t DESC NULLS FIRST
    MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS label, SUM(v) AS total ALL ROWS PER MATCH WITH UNMATCHED ROWS
    PATTERN (A B+) DEFINE B AS v > PREV(v) OR v = A.v)"""


def table(rows: int) -> pa.Table:
    return pa.table(
        {
            "k": [None if i % 13 == 0 else f"k{i % 7}" for i in range(rows)],
            "t": [None if i % 11 == 0 else i // 3 for i in range(rows)],
            "v": [None if i % 17 == 0 else i * 31 % 10 for i in range(rows)],
        }
    )


def sorted_rows(result: pa.Table) -> list[str]:
    return sorted(map(repr, result.to_pylist()))


@pytest.mark.parametrize("memory_bytes", [0, 4_000])
def test_rows_that_do_not_fit_into_memory(memory_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(1_000)
    in_memory = motif.match(rows, CLAUSE)
    monkeypatch.setattr(duckdb, "MEMORY_BYTES", memory_bytes)
    streamed = motif.match(rows, CLAUSE)
    assert in_memory.num_rows == 1_000
    assert sorted_rows(streamed) == sorted_rows(in_memory)


def test_many_threads_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    from motif.engine import parallel

    rows = table(2_000)
    alone = motif.match(rows, CLAUSE)
    monkeypatch.setattr(parallel, "SHARD_ROWS", 100)
    monkeypatch.setattr(parallel, "SHARDS_PER_CORE", 5)
    assert sorted_rows(motif.match(rows, CLAUSE)) == sorted_rows(alone)
