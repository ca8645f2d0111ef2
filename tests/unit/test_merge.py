"""Matches of parts brought into one order: by end, then by partition, whatever the parts are."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from motif.engine.events import merge
from motif.plan.outputs import leaf_name

NAMES = [leaf_name(number) for number in range(4)]
Match = tuple[int, int, int, int]
"""`match_id`, start and end in hours, and partition."""


def matches(rng: random.Random, count: int, reach: int) -> list[Match]:
    """Partition after partition, and of each by end or not (as they fire)."""
    ids = rng.sample(range(10 * count + 1), count)
    ends = [rng.randrange(reach) for _ in ids]
    ends = sorted(ends) if rng.random() < 0.5 else ends
    found = [(own, end - rng.randrange(3), end, rng.randrange(7)) for own, end in zip(ids, ends, strict=True)]
    return sorted(found, key=lambda row: row[3])


def table(rows: list[Match], kind: pa.DataType) -> pa.Table:
    def moments(values: list[int]) -> pa.Array:
        if pa.types.is_date(kind):
            return pa.array([date(2026, 1, 1) + timedelta(days=value) for value in values], kind)
        return pa.array([datetime(2026, 1, 1) + timedelta(hours=value) for value in values], kind)

    ids, starts, ends, numbers = ([row[at] for row in rows] for at in range(4))
    columns = [pa.array(ids, pa.int64()), moments(starts), moments(ends), pa.array(numbers, pa.int64())]
    return merge.marked(pa.table(columns, names=NAMES), np.array(numbers, np.int64))


def expected(rows: list[Match]) -> list[int]:
    """By end; then the partition with the least first id; then as they come."""
    together: dict[int, dict[int, list[int]]] = {}
    for own, _, end, partition in rows:
        together.setdefault(end, {}).setdefault(partition, []).append(own)
    return [own for end in sorted(together) for ids in sorted(together[end].values()) for own in ids]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.date32()])
@pytest.mark.parametrize("seed", range(20))
def test_matches_are_in_one_order_however_they_are_dealt_out(
    monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, seed: int
) -> None:
    monkeypatch.setattr(merge, "STRETCH", 50)
    rng = random.Random(seed)
    rows = matches(rng, rng.choice((0, 1, 40, 300, 900)), rng.choice((1, 5, 60, 2_000)))
    for count in (1, 2, 3, 5):
        found = merge.in_time_order([table([row for row in rows if row[3] % count == n], kind) for n in range(count)])
        assert found.schema.names == NAMES
        assert found.column(0).to_pylist() == expected(rows)
