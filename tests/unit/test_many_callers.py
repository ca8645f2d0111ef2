"""Many threads ask at once, over the same tables and files: each gets the answer that one alone gets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import motif

COUNT = 1_500
ROWS = pa.table(
    {
        "id": range(COUNT),
        "ts": pa.array(range(COUNT), pa.timestamp("us")),
        "type": ["A", "B", "C"] * (COUNT // 3),
        "v": [(n * 37) % 101 for n in range(COUNT)],
        "k": [n % 7 for n in range(COUNT)],
    }
)
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY id
    MEASURES LAST(B.v) + {0} AS a, lower(CAST(A.v AS VARCHAR)) AS s
    PATTERN (A B+) DEFINE B AS v > FIRST(A.v) + {0})"""
EVENTS = (
    "SELECT a.v AS x, b.v + {0} AS y FROM SEQ(A a; B b) WHERE [k] AND a.v < b.v - {0} WITHIN 60 us",
    "SELECT a.v AS x FROM SEQ(A a; NOT C c; B b) WHERE [k] AND b.v > {0} WITHIN 60 us CONSUMING a",
)


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def by_sql(clause: str, data: Any) -> pa.Table:
    return motif.sql(f"SELECT * FROM t {clause}", tables={"t": data})


@pytest.mark.usefixtures("switching")
def test_answers_are_those_of_one_caller(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    parquet.write_table(ROWS, path)
    asks: list[Callable[[Any], pa.Table]] = [partial(by_sql, CLAUSE.format(number)) for number in range(3)]
    for text in EVENTS:
        asks += [partial(lambda query, data: motif.match(data, query), text.format(number)) for number in range(3)]
    calls = [partial(ask, data) for ask in asks for data in (ROWS, path)]
    orders = [[(first + number) % len(calls) for number in range(len(calls))] for first in range(0, 16, 2)]

    def work(order: list[int]) -> dict[int, pa.Table]:
        return {number: calls[number]() for number in order}

    with ThreadPoolExecutor(len(orders)) as pool:
        found = list(pool.map(work, orders))
    for number, call in enumerate(calls):
        alone = call()
        assert alone.num_rows
        assert all(one[number].equals(alone) for one in found)
