"""When loops are compiled: large inputs, queries that have taken long, and loops that are compiled already."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import motif
from motif.engine import matcher, pace
from motif.engine.events import joins
from motif.engine.events.joins import CONSUMING_PATIENCE
from motif.kernels import build, native

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
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Code that is loaded from here on, compiled before or now."""
    codes: list[object] = []
    load = native._loaded
    monkeypatch.setattr(native, "_loaded", lambda code: codes.append(code) or load(code))
    monkeypatch.setattr(pace, "_SPENT", defaultdict(float))
    for name in ("LOADING_SECONDS", "LOADING_NEXT_SECONDS"):
        monkeypatch.setattr(pace, name, 1e9)
    monkeypatch.setattr(pace, "is_loader_there", lambda: False)
    forget_loops()
    return codes


@pytest.fixture
def empty_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path))


def forget_loops() -> None:
    loops = (build.native_fold, build.native_reach, build.sort_loop, build.identity_loops)
    for cached in (build._compiled, build._compiled_consume, *loops):
        cached.cache_clear()


def kept_on_disk(query: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """Its answer; afterwards its loops are on disk and nowhere else."""
    first = motif.match(EVENTS, query)
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    motif.match(EVENTS, query)
    assert loaded
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 1e9)
    forget_loops()
    loaded.clear()
    return first


@pytest.mark.parametrize("query", [SEQ, ONCE, ROWS], ids=["SEQ", "CONSUMING", "rows"])
def test_a_query_that_has_taken_long(query: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    first = motif.match(EVENTS, query)
    assert first.num_rows > 10
    assert not loaded
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    assert motif.match(EVENTS, query).equals(first)
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 1e9)
    before = len(loaded)
    assert before > 0
    assert motif.match(EVENTS, query).equals(first)  # by the loops that are there
    assert len(loaded) == before


@pytest.mark.parametrize("query", [SEQ, ROWS], ids=["SEQ", "rows"])
def test_a_stream_that_has_taken_long(query: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = motif.match(EVENTS, query).num_rows
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(pace, "COMPILE_FROM_ROWS", 900)
    stream = motif.Stream(query, SCHEMA)
    found = stream.push(EVENTS.slice(0, 100)).num_rows + stream.push(EVENTS.slice(100, 100)).num_rows
    assert not loaded  # steps too small to gain anything
    found += sum(stream.push(EVENTS.slice(begin, 600)).num_rows for begin in range(200, COUNT, 600))
    assert found + stream.close().num_rows == expected
    assert loaded


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize(
    ("query", "by"), [(SEQ, "rows"), (ONCE, "seconds"), (ROWS, "rows")], ids=["SEQ", "CONSUMING", "rows"]
)
def test_code_that_is_on_disk_is_loaded_sooner(
    query: str, by: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "seconds":
        monkeypatch.setattr(pace, "LOADING_SECONDS", 0.0)
    else:
        monkeypatch.setattr(pace, "LOAD_FROM_ROWS", COUNT)
    for _ in range(2):
        first = motif.match(EVENTS, query)
    assert not loaded  # nothing is on disk
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 0.0)
    motif.match(EVENTS, query)
    assert loaded
    loaded.clear()
    monkeypatch.setattr(pace, "PLAIN_SECONDS", 1e9)
    forget_loops()
    monkeypatch.setattr(native.Native, "_compiled", None)
    assert motif.match(EVENTS, query).equals(first)
    assert loaded


@pytest.mark.usefixtures("empty_disk")
def test_loops_that_were_never_compiled_keep_a_query_plain(
    loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search of row-only patterns is one for all of them; aggregates and WITHIN have their own."""
    monkeypatch.setattr(pace, "LOAD_FROM_ROWS", COUNT)
    pattern = "PATTERN (A B+) {} DEFINE B AS v > PREV(v)"
    plain = f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n {pattern.format('')})"
    monkeypatch.setattr(pace, "COMPILE_FROM_ROWS", COUNT)
    motif.match(EVENTS, plain)
    monkeypatch.setattr(pace, "COMPILE_FROM_ROWS", 10 * COUNT)
    forget_loops()
    loaded.clear()
    summed = plain.replace("COUNT(*)", "SUM(B.v)")
    limited = plain.replace(pattern.format(""), pattern.format("WITHIN INTERVAL '1' MINUTE"))
    for query in (summed, limited):
        assert motif.match(EVENTS, query).num_rows > 10
        assert not loaded
    assert motif.match(EVENTS, plain).num_rows > 10
    assert len(loaded) == 1


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("query", [SEQ, ONCE, ROWS], ids=["SEQ", "CONSUMING", "rows"])
def test_a_process_that_has_loaded_something_loads_more_sooner(
    query: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "LOAD_NEXT_FROM_ROWS", COUNT)
    first = kept_on_disk(query, loaded, monkeypatch)
    motif.match(EVENTS, query)
    assert not loaded
    monkeypatch.setattr(pace, "is_loader_there", lambda: True)
    assert motif.match(EVENTS, query).equals(first)
    assert loaded


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("query", [SEQ, ONCE], ids=["SEQ", "CONSUMING"])
def test_a_plain_join_is_given_up_once_loading_would_have_been_faster(
    query: str, loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept_on_disk(query, loaded, monkeypatch)
    monkeypatch.setattr(pace, "_SPENT", defaultdict(float))
    monkeypatch.setattr(pace, "LOADING_SECONDS", 0.0)
    assert motif.match(EVENTS, query).equals(first)
    assert loaded


@pytest.mark.usefixtures("empty_disk")
def test_aggregates_of_lists_are_compiled_by_their_own_number(
    loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT SUM(b.v) AS total FROM SEQ(A a; B b+; A c) WHERE [k] AND c.v > 50 WITHIN 400 s"
    monkeypatch.setattr(pace, "COMPILE_FROM_ROWS", COUNT // 2)
    first = motif.match(EVENTS, query)
    assert len(loaded) == 5  # the join, the sum, the order of matches, the hashes of events and of matches
    monkeypatch.setattr(pace, "COMPILE_FROM_ROWS", 10_000 * COUNT)
    monkeypatch.setattr(pace, "is_loader_there", lambda: True)
    for rows, loops in ((10_000 * COUNT, 0), (COUNT // 2, 5)):
        forget_loops()
        loaded.clear()
        monkeypatch.setattr(pace, "LOAD_NEXT_FROM_ROWS", rows)
        assert motif.match(EVENTS, query).equals(first)
        assert len(loaded) == loops


def test_consuming_is_plain_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loop takes longest to compile."""
    assert "compiled from 200,000 events on" in " ".join(str(motif.explain(SEQ, data=EVENTS)).split())
    assert "compiled from 600,000 events on" in " ".join(str(motif.explain(ONCE, data=EVENTS)).split())
    monkeypatch.setitem(pace._SPENT, "a query", 2 * pace.PLAIN_SECONDS)
    assert pace.is_slow("a query", COUNT)
    assert not pace.is_slow("a query", COUNT, patience=CONSUMING_PATIENCE)
    monkeypatch.setitem(pace._SPENT, "a query", 2 * CONSUMING_PATIENCE * pace.PLAIN_SECONDS)
    assert pace.is_slow("a query", COUNT, patience=CONSUMING_PATIENCE)


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("pause", [50, 500])
@pytest.mark.parametrize("mode", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_a_search_goes_on_compiled_after_many_steps(
    loaded: list[object], monkeypatch: pytest.MonkeyPatch, mode: str, pause: int
) -> None:
    query = ROWS.replace(" AS v,", " AS first_v,").replace("PATTERN", f"{mode} AFTER MATCH SKIP TO NEXT ROW PATTERN")
    plain = motif.match(EVENTS, query)
    assert not loaded
    monkeypatch.setattr(matcher, "PAUSE_STEPS_PLAIN", pause)
    assert motif.match(EVENTS, query).equals(plain)
    assert not loaded
    monkeypatch.setattr(matcher, "PLAIN_STEPS", 2 * pause)
    assert motif.match(EVENTS, query).equals(plain)
    assert loaded


def slow_after(times: int) -> Callable[[joins.Mode, float], None]:
    """Plain Python is given up after so many pauses."""
    heard: list[float] = []

    def check(mode: joins.Mode, began: float) -> None:
        heard.append(began)
        if not mode.compiled and len(heard) > times:
            raise joins.TooSlow

    return check


@pytest.mark.usefixtures("empty_disk")
def test_functions_are_asked_once_for_the_same_events(loaded: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, int]] = []

    def noting(name: str, bound: int) -> Callable[[int, int], bool]:
        def near(one: int, other: int) -> bool:
            asked.append((name, one, other))
            return abs(one - other) < bound

        return near

    functions = {"near": noting("near", 9), "far": noting("far", 30)}
    numbered = EVENTS.append_column("n", pa.array(range(COUNT)))
    for shape in (
        "SEQ(A a; B b) WHERE [k] AND near(a.n, b.n)",
        "OR(SEQ(A a; B b), SEQ(B c; A d)) WHERE [k] AND near(a.n, b.n) AND far(c.n, d.n)",
    ):
        query = f"SELECT a.n AS x FROM {shape} WITHIN 40 s"
        plain = motif.match(numbered, query, functions=functions)
        asked.clear()
        with monkeypatch.context() as patch:
            patch.setattr(joins.Mode, "check", slow_after(3))
            found = motif.match(numbered, query, functions=functions)
        assert found.equals(plain)
        assert loaded
        assert len(asked) > 100
        assert len(asked) == len(set(asked))
