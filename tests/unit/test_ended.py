"""Matches in the order in which they end: whoever sorts them, and however many threads gather what they show."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from motif.engine.events import ended
from motif.engine.events.run import match_sorted
from motif.engine.execution import Execution
from motif.kernels import sort
from motif.kernels.build import sort_loop
from motif.lang.snoop import parse_events
from motif.plan.physical.costs import COMPILED, PLAIN
from motif.testing.event_engines import Engine

COLUMNS = {"k": "VARCHAR", "ts": "TIMESTAMP", "type": "VARCHAR", "x": "BIGINT"}
QUERIES = {
    "in any order": "SELECT * FROM ALL(A a, B b, C c) WHERE [k] WITHIN 9 s",
    "sequence": "SELECT a.x, b.ts, c.x AS y FROM SEQ(A a; B b; C c) WHERE [k] WITHIN 9 s",
    "lists": "SELECT a.x, LAST(b.ts) AS ts, SUM(b.x) AS s FROM SEQ(A a; B b+; C c) WHERE [k] WITHIN 9 s",
    "chosen lists": "SELECT * FROM SEQ(A a; B b+; C c) WHERE [k] PICK EACH b WITHIN 5 s",
    "optional": "SELECT * FROM SEQ(A a; B b?; C c) WHERE [k] WITHIN 9 s",
    "consuming": "SELECT * FROM ALL(A a, B b) WHERE [k] WITHIN 9 s CONSUMING a, b",
    "none": "SELECT * FROM SEQ(A a; B b) WHERE [k] AND a.x > 99 WITHIN 9 s",
}


def some_events(rng: random.Random, *, seconds: int) -> list[dict[str, object]]:
    def event() -> dict[str, object]:
        ts = datetime(2026, 1, 1) + timedelta(seconds=rng.randrange(seconds))
        return {"k": rng.choice("pqr"), "ts": ts, "type": rng.choice("ABC"), "x": rng.randrange(9)}

    return [event() for _ in range(80)]


def test_matches_that_fire_late_come_by_when_they_end() -> None:
    """With CONSUMING the first match fires when its time is over, after the other, which ends later."""
    times = {"A": 0, "C": 1, "D": 2}
    events = [{"k": "p", "ts": datetime(2026, 1, 1, 0, 0, s), "type": kind, "x": s} for kind, s in times.items()]
    for key in ("", "WHERE [k] "):
        query = f"SELECT * FROM OR(SEQ(A a; NOT B n), SEQ(C c; D d)) {key}WITHIN 9 s CONSUMING ALL"
        found = Engine(parse_events(query), events, COLUMNS).result()
        assert [one.shown["a"] for one in found] == [0, None]


@pytest.mark.parametrize("seconds", [10, 60, 600])  # many, some or few at the same time
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_leaves_are_the_same_however_they_are_made(monkeypatch: pytest.MonkeyPatch, query: str, seconds: int) -> None:
    sorted_by_loop = []

    def noted(keys: list[np.ndarray]) -> np.ndarray | None:
        sorted_by_loop.append(len(keys[0]))
        return by_loop(keys)

    by_loop = ended._sorted_by
    monkeypatch.setattr(ended, "_sorted_by", noted)
    engine = Engine(parse_events(query), some_events(random.Random(seconds), seconds=seconds), COLUMNS)
    plain = match_sorted(engine.program, engine.table, Execution.of(engine.program, PLAIN))
    assert not sorted_by_loop
    for threads in (1, 2, 3):
        execution = Execution.of(engine.program, replace(COMPILED, stretch_matches=5), None, cores=threads)
        assert execution.learn(rows=engine.table.num_rows).gather.threads == threads
        found = match_sorted(engine.program, engine.table, execution)
        assert found.combine_chunks().equals(plain)
    assert plain.num_rows < 2 or sum(sorted_by_loop) == 3 * plain.num_rows


def sorted_by(keys: list[np.ndarray], buckets: int) -> tuple[int, np.ndarray]:
    order = np.empty(len(keys[0]), np.int64)
    return sort_loop()(np.concatenate(keys), np.zeros(buckets + 1, np.int32), order), order


@pytest.mark.parametrize("seed", range(60))
def test_the_loop_sorts_by_one_column_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, columns = int(rng.choice((1, 2, 50, 3_000))), int(rng.integers(1, 5))
    extremes = np.iinfo(np.int64)
    reaches = [
        (extremes.min, extremes.max),
        (-count, count),
        (0, 1 + count // 4),
        (extremes.max - 5 * count, extremes.max),
    ]
    low, high = reaches[int(rng.integers(len(reaches)))]
    keys = [rng.integers(low, high, count), *(rng.integers(-2, 2, count) for _ in range(columns - 1))]
    status, order = sorted_by(keys, buckets=1 << count.bit_length())
    assert status == sort.DONE
    assert order.tolist() == np.lexsort(keys[::-1]).tolist()  # also where they are alike: in the order they came


def test_the_loop_gives_up_where_too_many_are_alike() -> None:
    keys = [np.zeros(5_000, np.int64), np.arange(5_000)[::-1].copy()]
    assert sorted_by(keys, buckets=1 << 13)[0] == sort.TOO_MANY_ALIKE
    assert ended._sorted_by(keys) is None
    status, order = sorted_by([np.zeros(5_000, np.int64), np.arange(5_000)], buckets=1 << 13)
    assert status == sort.DONE  # they are alike, but in order
    assert order.tolist() == list(range(5_000))
