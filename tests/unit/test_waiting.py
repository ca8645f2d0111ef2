"""Rows that wait: each comes out once, as soon as the watermark has passed it, in the order of arrival."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from motif.engine.stream.waiting import MOST_PARTS, Waiting
from motif.engine.watermark import FOREVER


def test_against_a_list() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        waiting, expected, number, watermark = Waiting(), list[tuple[int, int]](), 0, 0
        largest = rng.choice((1, 2, 5))
        for _ in range(rng.choice((5, 3 * MOST_PARTS))):
            times = [watermark + 1 + rng.randrange(rng.choice((1, 3, 200))) for _ in range(rng.randint(1, largest))]
            rows = [(number + place, time) for place, time in enumerate(times)]
            number += len(rows)
            expected += rows
            waiting = waiting.add(pa.table({"n": [row[0] for row in rows]}), np.array(times, np.int64))
            watermark += rng.choice((0, 0, 1, 5))
            came, waiting = waiting.until(watermark)
            ripe = [row for row in expected if row[1] <= watermark]
            expected = [row for row in expected if row[1] > watermark]
            assert (came is None) == (not ripe)
            if came is not None:
                assert list(zip(came.rows["n"].to_pylist(), came.times.tolist(), strict=True)) == ripe
                assert (came.first, came.last) == (min(t for _, t in ripe), max(t for _, t in ripe))
            assert sum(table.num_rows for table in waiting.tables) == len(expected)
            assert waiting.first == min((time for _, time in expected), default=FOREVER)
            assert len(waiting.parts) <= MOST_PARTS
        came, waiting = waiting.until(FOREVER)
        assert ([] if came is None else came.rows["n"].to_pylist()) == [row[0] for row in expected]
        assert waiting == Waiting()
