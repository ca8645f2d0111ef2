"""The state of a bucket in Spark's state store: a log that gives the session back, whatever a worker remembers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from motif.engine.order import crossing, layout
from motif.engine.stream import container
from motif.engine.stream.session import Planned, StreamSession
from motif.errors import MotifError
from motif.hosts.duckdb_events import input_sql
from motif.hosts.spark import stream_state as s
from motif.hosts.spark.stream_worker import Operator, buckets_of
from motif.ir.expr import Column
from motif.lang.snoop import parse_events
from motif.plan.events.planner import plan_events
from motif.plan.events.program import Stream
from motif.testing.fuzz import memory_source

SECOND = 1_000_000
QUERY = "SELECT a.y AS y, a.x AS a, b.x AS b FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 10 s"
KEY = ("query", "motif:run:1", 0)


def events(count: int, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    start = datetime(2026, 1, 1)
    return pa.table(
        {
            "ts": [start + timedelta(seconds=i) for i in range(count)],
            "type": [rng.choice("ABBC") for _ in range(count)],
            "k": [rng.randrange(3) for _ in range(count)],
            "x": list(range(count)),
            "y": [f"event {i}" for i in range(count)],
            "z": [0.5] * count,
        }
    )


def planned(query: str = QUERY, count: int = 200) -> tuple[Planned, pa.Table]:
    source = memory_source(events(count))
    program = plan_events(parse_events(query), source, Stream())
    rows = source.database.table(input_sql(program, source)).combine_chunks()
    return Planned(program, layout(program, source.types_of(crossing(program)))), rows


class Memory:
    """A state store of one bucket that can be rolled back, as Spark does with a batch that failed."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def get(self) -> Any:
        return self.values.get("head")

    def update(self, value: Any) -> None:
        self.values["head"] = value

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.values.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.values[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.values[key]

    def keys(self) -> Iterator[Any]:
        return (key for key in self.values if key != "head")


def store(memory: Memory, plan: Planned, buckets: int = 4, *, timeouts: bool = False) -> s.Store:
    return s.Store(memory, memory, plan, s.Head(buckets, s.digest(plan)), timeouts=timeouts)


def steps(rows: pa.Table, size: int = 4) -> list[s.Step]:
    """Rows in order, a watermark right behind them, and calls without rows in between."""
    found = []
    for low in range(0, rows.num_rows, size):
        part = rows.slice(low, size)
        found.append(s.Step(part, None if low < 3 * size else _latest(rows, low) - 1))
        if low % 3 == 0:
            found.append(s.Step(None, _latest(rows, low + size - 1)))
    return [*found, s.Step(None, _latest(rows, rows.num_rows - 1) + 60 * SECOND)]


def _latest(rows: pa.Table, position: int) -> int:
    time = rows.column("c0") if pa.types.is_timestamp(rows.schema.field("c0").type) else rows.column(TIME)
    return int(time.cast(pa.int64())[min(position, rows.num_rows - 1)].as_py())


TIME = next(i for i, kind in enumerate(planned()[1].schema.types) if pa.types.is_timestamp(kind))


def take(where: s.Store, step: s.Step, key: Any = KEY) -> list[Any]:
    bucket = where.open(key)
    found = step.on(bucket.session)
    where.save(key, bucket, step, None)
    return [row for table in found.matches for row in table.to_pylist()]


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s, "CACHE", s.Cache())


@pytest.mark.parametrize("forgets", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("fails", [0.0, 0.4])
def test_the_log_gives_the_session_back(forgets: float, fails: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the worker is the same, one that has seen some steps, or new; and if batches fail and come again."""
    monkeypatch.setattr(s, "MOST_STEPS", 5)
    plan, rows = planned()
    expected = StreamSession(plan)
    wanted = [row for step in steps(rows) for t in step.on(expected).matches for row in t.to_pylist()]
    rng, memory, found = random.Random(3), Memory(), []
    workers = [s.Cache() for _ in range(3)]
    for step in steps(rows):
        while True:
            before = dict(memory.values)
            monkeypatch.setattr(s, "CACHE", s.Cache() if rng.random() < forgets else rng.choice(workers))
            out = take(store(memory, plan), step)
            if rng.random() >= fails:
                break
            memory.values = before
        found += out
    assert len(wanted) > 10
    assert found == wanted
    assert store(memory, plan).open(KEY).session.counts == expected.counts


def test_a_step_costs_what_it_brings() -> None:
    plan, rows = planned(count=4000)
    memory = Memory()
    take(store(memory, plan), s.Step(rows, None))
    snapshot = dict(memory.values)
    take(store(memory, plan), s.Step(rows.slice(0, 1), None))
    written = {key: value for key, value in memory.values.items() if snapshot.get(key) != value}
    assert sum(len(value[0]) for value in written.values()) < 5000


def test_large_values_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s, "PIECE_BYTES", 1000)
    plan, rows = planned(count=400)
    memory = Memory()
    for step in (s.Step(rows, None), s.Step(rows, None)):
        take(store(memory, plan), step)
    assert all(len(value[0]) <= 1000 for key, value in memory.values.items() if key != "head")
    s.CACHE.kept.clear()
    assert store(memory, plan).open(KEY).session.counts.events == 800


def test_a_bucket_that_holds_nothing_keeps_little() -> None:
    plan, rows = planned()
    memory = Memory()
    for step in steps(rows):
        take(store(memory, plan), step)
    assert len(memory.values) == 2
    assert sum(len(value[0]) for value in memory.values.values()) < 3000


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s, "CACHE_SESSIONS", 3)
    plan, rows = planned(count=20)
    for number in range(10):
        where, key = store(Memory(), plan), ("query", "motif:run:1", number)
        where.save(key, where.open(key), s.Step(rows, None), None)
    assert [key[2] for key in s.CACHE.kept] == [7, 8, 9]
    monkeypatch.setattr(s, "CACHE_BYTES", 10)
    where = store(Memory(), plan)
    bucket = where.open(KEY)
    bucket.session.push(rows)
    where.save(KEY, bucket, s.Step(rows, None), None)
    assert not s.CACHE.kept


# --- what a checkpoint is refused for ---


def saved(*parts: s.Step, plan: Planned) -> Memory:
    memory = Memory()
    for step in parts:
        take(store(memory, plan), step)
    s.CACHE.kept.clear()
    return memory


def test_another_number_of_buckets() -> None:
    plan, rows = planned()
    memory = saved(s.Step(rows, None), plan=plan)
    with pytest.raises(MotifError, match="4 buckets, and buckets=8") as caught:
        store(memory, plan, buckets=8).open(KEY)
    assert "checkpointLocation" in str(caught.value)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (QUERY.replace("[k]", "[x]"), "partition key changed"),
        (QUERY.replace("10 s", "20 s"), "window is longer"),
        (QUERY.replace("NOT C c; ", ""), "conditions that decide which events are kept"),
        (QUERY.replace("a.x AS a", "a.z AS a"), "it reads what was not kept"),
        (QUERY.replace("a.x AS a", "a.ts AS a, b.k AS k"), None),
        (QUERY.replace("a.y AS y, ", ""), None),
        (QUERY.replace("10 s", "5 s"), None),
    ],
)
def test_another_query(query: str, reason: str | None) -> None:
    """Refused with what changed, or accepted where what was kept is enough; the log is read with its old columns."""
    plan, rows = planned()
    first, second = s.Step(rows.slice(0, 100), None), s.Step(rows.slice(100, 5), None)
    memory = saved(first, second, plan=plan)
    changed, changed_rows = planned(query)
    if reason is not None:
        with pytest.raises(MotifError, match=reason):
            store(memory, changed).open(KEY)
        return
    session = StreamSession(changed)
    session.push(changed_rows.slice(0, 105))
    wanted = session.push(changed_rows.slice(105)).and_then(session.close())
    found = store(memory, changed).open(KEY).session
    got = found.push(changed_rows.slice(105)).and_then(found.close())
    assert [t.to_pylist() for t in got.matches] == [t.to_pylist() for t in wanted.matches]
    if s.digest(changed) != s.digest(plan):
        take(store(memory, changed), s.Step(None, None))
        assert len(s.Head(**_header(memory)).stamps) == 1, "what follows is written by the new query alone"


def _header(memory: Memory) -> dict[str, Any]:
    return container.unpack("head", memory.values["head"][0], lambda header, _: header)


@pytest.mark.parametrize("consuming", ["", " CONSUMING a"])
@pytest.mark.parametrize("timeouts", itertools.product((False, True), repeat=2), ids=str)
def test_other_kinds_are_asked_for(timeouts: tuple[bool, bool], consuming: str) -> None:
    """Matches go on whatever came out before; what has begun a match is known only where timed-out ones came out."""
    plan, rows = planned(QUERY + consuming)
    before, after = timeouts
    memory, cut = Memory(), 60
    for step in (s.Step(rows.slice(0, cut), None), s.Step(None, _latest(rows, cut - 1))):
        where = store(memory, plan, timeouts=before)
        bucket = where.open(KEY)
        step.on(bucket.session)
        where.save(KEY, bucket, step, None)
    s.CACHE.kept.clear()
    again = store(memory, plan, timeouts=after)
    if after and not before:
        with pytest.raises(MotifError, match="timed-out matches are asked for now, and it was not noted"):
            again.open(KEY)
        return
    always = StreamSession(plan, timeouts=after)
    always.push(rows.slice(0, cut))
    always.advance(_latest(rows, cut - 1))
    sessions = (always, again.open(KEY).session)
    expected, found = (session.push(rows.slice(cut)).and_then(session.close()) for session in sessions)
    assert expected.matches
    assert bool(expected.timeouts) == after
    for wanted, got in ((expected.matches, found.matches), (expected.timeouts, found.timeouts)):
        assert [table.to_pylist() for table in got] == [table.to_pylist() for table in wanted]


def test_a_changed_query_that_gives_out_timed_out_matches() -> None:
    plan, rows = planned()
    where = store(memory := Memory(), plan, timeouts=True)
    take(where, s.Step(rows.slice(0, 60), None))
    s.CACHE.kept.clear()
    for text, reason in (("10 s", "cannot change but for SELECT"), ("a.y AS y, ", None)):
        changed, _ = planned(QUERY.replace(text, "5 s" if reason else ""))
        if reason is None:
            assert store(memory, changed, timeouts=True).open(KEY).session.counts.events == 60
        else:
            with pytest.raises(MotifError, match=reason):
                store(memory, changed, timeouts=True).open(KEY)


def test_damaged_state() -> None:
    plan, rows = planned(count=60)
    whole = saved(s.Step(rows, None), s.Step(rows, None), plan=plan)
    for place, (data,) in whole.values.items():
        for damaged in (data[:-1], data[:40], b"", b"PK" + data[2:], bytes([*data[:60], data[60] ^ 1, *data[61:]])):
            memory = Memory()
            memory.values = {**whole.values, place: (damaged,)}
            with pytest.raises(MotifError, match="cannot go on from its checkpoint"):
                store(memory, plan).open(KEY)
    for place in whole.values:
        if place != "head":
            memory = Memory()
            memory.values = {key: value for key, value in whole.values.items() if key != place}
            with pytest.raises(MotifError, match="is not there"):
                store(memory, plan).open(KEY)


Changes = dict[Any, Any]


def written_by_each_batch(plan: Planned, rows: pa.Table, key: Any, batches: int) -> list[Changes]:
    """What every batch changes in the state store, as the files of a checkpoint keep it; None: taken out."""
    memory, found = Memory(), []
    for batch in range(batches):
        before = dict(memory.values)
        take(store(memory, plan), s.Step(rows.slice(batch * 4, 4), None), key)
        changes = {place: value for place, value in memory.values.items() if before.get(place) != value}
        found.append(changes | dict.fromkeys(before.keys() - memory.values.keys()))
    s.CACHE.kept.clear()
    return found


def restored(files: list[Changes]) -> Memory:
    memory = Memory()
    for changes in files:
        memory.values |= changes
    memory.values = {place: value for place, value in memory.values.items() if value is not None}
    return memory


def test_files_of_a_checkpoint_that_are_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file in the place of any other, of the same bucket or of anything else."""
    monkeypatch.setattr(s, "MOST_STEPS", 3)
    plan, rows = planned()
    changed, changed_rows = planned(QUERY.replace("a.y AS y, ", ""))
    batches = 9
    own = written_by_each_batch(plan, rows, KEY, batches)
    wanted = store(restored(own), plan).open(KEY).session.dump()
    others = {
        "its own": own,
        "another checkpoint": written_by_each_batch(plan, rows.slice(1), ("other", "motif:run:1", 0), batches),
        "another bucket": written_by_each_batch(plan, rows.slice(60), ("query", "motif:run:1", 1), batches),
        "another operator": written_by_each_batch(plan, rows.slice(60), ("query", "motif:run:2", 0), batches),
        "another query": written_by_each_batch(changed, changed_rows, ("query", "motif:run:2", 0), batches),
    }
    refused = 0
    for name, other in others.items():
        for here, there in itertools.product(range(batches), repeat=2):
            files = list(own)
            files[here] = other[there]
            if other is own:
                files[there] = own[here]
            s.CACHE.kept.clear()
            try:
                found = store(restored(files), plan).open(KEY).session.dump()
            except MotifError as error:
                found, refused = wanted, refused + ("cannot go on from its checkpoint: " in error.message)
            assert found == wanted, (name, here, there)
    assert refused > 100
    for other in list(others.values())[1:]:
        with pytest.raises(MotifError, match=r"files are mixed up: the state of \w+/\d/\d lies where query/1/0 has"):
            store(restored(other), plan).open(KEY)


# --- buckets ---


def operator(rows: pa.Table, keys: int) -> Operator:
    plan, _ = planned()
    source = memory_source(rows)
    types = source.types_of([Column(name) for name in rows.column_names])
    program = replace(plan.program, keys=tuple(range(keys)), types=tuple(types))
    return Operator("o", replace(plan, program=program), "", rows.schema, (), (), 1, 0, 1000)


def test_the_bucket_of_a_key_never_changes() -> None:
    """State lies by these numbers; if this test fails, old checkpoints are lost."""
    table = pa.table(
        {
            "s": ["a", "ü", "", None],
            "i": pa.array([0, -1, 2**62, None], pa.int64()),
            "f": [0.0, -0.0, float("nan"), None],
            "d": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal("0.00")], pa.decimal128(10, 2)),
            "t": pa.array([0, 1, -1, None], pa.timestamp("us", "UTC")),
            "b": [True, False, None, True],
        }
    )
    columns = {name: table.select([name]) for name in table.column_names}
    assert {name: buckets_of(column, operator(column, 1)).tolist() for name, column in columns.items()} == {
        "s": [857, 605, 957, 0],
        "i": [957, 0, 435, 0],
        "f": [957, 957, 75, 0],
        "d": [708, 435, 0, 957],
        "t": [957, 752, 0, 0],
        "b": [752, 957, 0, 752],
    }
    assert buckets_of(table, operator(table, 6)).tolist() == [85, 155, 48, 789]
    assert buckets_of(table, operator(table, 0)).tolist() == [0, 0, 0, 0]
