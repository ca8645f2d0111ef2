"""Matches of parts brought into one order: by end, by start, then as they came."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest

from motif.engine.events import merge
from motif.plan.outputs import leaf_name

NAMES = [leaf_name(number) for number in range(4)]


def a_part(rng: random.Random, number: int, count: int, reach: int, kind: pa.DataType) -> pa.Table:
    rows = []
    for place in range(count):
        end = rng.randrange(reach)
        rows.append((place, end - rng.randrange(3), end, number))
    if rng.random() < 0.5:
        rows.sort(key=lambda row: (row[2], row[1]))  # as of one partition
    places, starts, ends, numbers = zip(*rows, strict=True) if rows else ((), (), (), ())

    def moments(values: tuple[int, ...]) -> pa.Array:
        if pa.types.is_date(kind):
            return pa.array([date(2026, 1, 1) + timedelta(days=value) for value in values], kind)
        return pa.array([datetime(2026, 1, 1) + timedelta(hours=value) for value in values], kind)

    return pa.table(
        [pa.array(places, pa.int64()), moments(starts), moments(ends), pa.array(numbers, pa.int64())], names=NAMES
    )


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.date32()])
@pytest.mark.parametrize("seed", range(20))
def test_parts_are_merged_in_time(monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, seed: int) -> None:
    monkeypatch.setattr(merge, "STRETCH", 50)
    rng = random.Random(seed)
    reach = rng.choice((1, 5, 60, 2_000))
    parts = [a_part(rng, number, rng.choice((0, 1, 40, 300)), reach, kind) for number in range(rng.randint(1, 5))]
    rows = [tuple(row.values()) for part in parts for row in part.to_pylist()]
    found = merge.in_time_order(parts)
    assert found.schema.names == NAMES
    assert [tuple(row.values()) for row in found.to_pylist()] == sorted(rows, key=lambda row: (row[2], row[1]))
