"""What a stream keeps, against a list of rows: the same partitions are touched, by few rows or by many."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from motif.engine.stream import kept
from motif.engine.stream.kept import Kept, Touched, with_columns
from motif.engine.watermark import FOREVER

KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "texts": (pa.string(), ["a", "b", None, ""]),
    "numbers": (pa.float64(), [0.0, -0.0, float("nan"), None, 1.5]),
    "times": (pa.timestamp("ns"), [0, 1, 1_000_000_001, None]),
    "lists": (pa.list_(pa.int64()), [[1], [1, 2], [], None]),
}
DELAYS = (0, 7)
Row = tuple[Any, int, int]
"""Key, number, deadline."""


def same(value: Any) -> str:
    """What two keys of one partition have in common."""
    return "0.0" if value == 0 and isinstance(value, float) else repr(value)


def table_of(rows: list[Row], kind: pa.DataType) -> pa.Table:
    arrays = [pa.array([row[0] for row in rows], kind), pa.array([row[1] for row in rows], pa.int64())]
    table = pa.Table.from_arrays(arrays, ["c0", "c1"])
    return with_columns(table, {"__due": np.array([row[2] for row in rows], np.int64)})


class Model:
    """The same by a list."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int]] = []

    def touched(self, new: list[tuple[str, int, int]], before: int, now: int) -> set[str]:
        due = {
            key
            for key, _, due in self.rows
            if before < now and (now >= FOREVER or any(before < due + delay <= now for delay in DELAYS))
        }
        return due | {key for key, _, _ in new}


def numbers_by_partition(touched: Touched) -> list[list[int]]:
    numbers = touched.table.column("c1").to_pylist()
    return [numbers[low:high] for low, high in zip(touched.bounds[:-1], touched.bounds[1:], strict=True)]


@pytest.mark.parametrize("few", [0, 2, 8])
@pytest.mark.parametrize("name", KEYS)
def test_touched_partitions(name: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FEW", few)
    monkeypatch.setattr(kept, "MOST_RECENT", 2)
    kind, values = KEYS[name]
    for seed in range(60):
        rng, keep, model = random.Random(seed), Kept([0], "__due", DELAYS), Model()
        before, number = 0, 0
        for _ in range(12):
            rows = []
            for _ in range(rng.choice((0, 1, 1, 2, 5, 12))):
                rows.append((rng.choice(values), number, rng.choice((before + rng.randrange(1, 20), FOREVER))))
                number += 1
            now = before + rng.choice((0, 1, 5)) if rng.random() < 0.95 else FOREVER
            check_step(keep, model, rows, kind, before, now)
            before = now
            if now >= FOREVER:
                break
        assert keep.count == len(model.rows)
        left = [] if keep.table is None else sorted(keep.table.column("c1").to_pylist())
        assert left == sorted(row[1] for row in model.rows)


def check_step(keep: Kept, model: Model, rows: list[Row], kind: pa.DataType, before: int, now: int) -> None:
    """Touch, go back and touch again; put back all but some rows."""
    listed = [(same(table_of([row], kind).column(0).to_pylist()[0]), row[1], row[2]) for row in rows]
    new = table_of(rows, kind) if rows else None
    contents = keep.copy()
    keep.touched(new, before, now)
    keep.contents = contents
    touched = keep.touched(new, before, now)
    wanted = model.touched(listed, before, now)
    everything = [*model.rows, *listed]
    expected = sorted([n for key, n, _ in everything if key == one] for one in wanted)
    if touched is None:
        assert not expected
        return
    assert sorted(numbers_by_partition(touched)) == expected
    fresh = {row[1] for row in rows}
    assert touched.is_new.tolist() == [n in fresh for n in touched.table.column("c1").to_pylist()]
    stays = np.array([n % 5 != 0 for n in touched.table.column("c1").to_pylist()])
    counted = np.concatenate(([0], np.cumsum(stays)))[touched.bounds]
    keep.put(touched.table.filter(pa.array(stays)), counted, now)
    gone = {n for key, n, _ in everything if key in wanted and n % 5 == 0}
    model.rows = [row for row in everything if row[1] not in gone]
