"""How loops run: plain, compiled, loaded, or plain until they have taken many steps. Counted in rows and steps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif import api
from motif.engine.execution import Execution, code_of
from motif.engine.order import crossing, layout
from motif.engine.stream.session import Planned, StreamSession
from motif.hosts import duckdb, duckdb_events
from motif.kernels import aside, build, native
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.options import EventOptions
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.physical.choose import is_due, loops
from motif.plan.physical.costs import COMPILED, COSTS, HASTY, PLAIN, Costs
from motif.plan.physical.facts import Code
from motif.plan.physical.plan import Running
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.fuzz import memory_source

COUNT = 2_000
EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1) + dt.timedelta(seconds=n) for n in range(COUNT)],
        "type": ["A" if n % 3 else "B" for n in range(COUNT)],
        "k": [n % 7 for n in range(COUNT)],
        "v": [(n * 37) % 101 for n in range(COUNT)],
    }
)
SEQ = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v * 2 + 1 WITHIN 40 s"
ONCE = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v * 3 + 1 WITHIN 40 s CONSUMING a"
ROWS = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(A.v) AS v, LAST(B.v) AS w "
    "PATTERN (A B+) DEFINE B AS v > FIRST(v) * 2 + SUM(B.v) / 100)"
)
ALL_LOOPS = pytest.mark.parametrize("query", [SEQ, ONCE, ROWS], ids=["SEQ", "CONSUMING", "rows"])

LOADING = replace(PLAIN, ready_rows=COUNT)
"""What is loaded already, or kept on disk, is used for so many rows; nothing is compiled."""
LOADING_LATE = replace(PLAIN, plain_steps=1 << 50, kept_plain_steps=50, plain_point_pause=20)
"""What is kept on disk is loaded after a few steps; nothing is compiled."""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Code that is loaded from here on, compiled before or now."""
    codes: list[object] = []
    load = native._loaded
    monkeypatch.setattr(native, "_loaded", lambda code: codes.append(code) or load(code))
    forget_loops()
    return codes


@pytest.fixture
def empty_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path))


def forget_loops() -> None:
    made = (build.native_fold, build.native_reach, build.sort_loop, build.identity_loops)
    for cached in (build._compiled, build._compiled_consume, *made):
        cached.cache_clear()


def answer(query: str, costs: Costs, **options: Any) -> pa.Table:
    return api.match(EVENTS, query, EventOptions(**options), costs=costs)


# -- what is chosen


def at(code: Code) -> Callable[[], Code]:
    """What one finds who looks for a loop that is there."""
    return lambda: code


@pytest.mark.parametrize(
    ("rows", "code", "running"),
    [
        (COSTS.ready_rows - 1, Code.LOADED, Running.PLAIN_FIRST),
        (COSTS.ready_rows, Code.LOADED, Running.COMPILED),
        (COSTS.ready_rows - 1, Code.KEPT, Running.PLAIN_FIRST),
        (COSTS.ready_rows, Code.KEPT, Running.COMPILED),
        (COSTS.compile_rows - 1, Code.ABSENT, Running.PLAIN_FIRST),
        (COSTS.compile_rows, Code.ABSENT, Running.COMPILED),
    ],
)
def test_a_loop_is_compiled_for_many_rows_and_used_for_fewer_if_it_is_there(
    rows: int, code: Code, running: Running
) -> None:
    assert loops(rows, at(code), COSTS)[0] is running
    assert loops(rows, at(code), PLAIN)[0] is Running.PLAIN
    assert loops(rows, at(code), COMPILED)[0] is Running.COMPILED
    assert loops(rows, at(code), HASTY)[0] is Running.PLAIN_FIRST


def test_where_code_is_nobody_asks_if_it_does_not_matter() -> None:
    asked: list[int] = []

    def where() -> Code:
        asked.append(len(asked))
        return Code.ABSENT

    for rows in (0, COSTS.ready_rows - 1, COSTS.compile_rows):
        loops(rows, where, COSTS)
        assert not COSTS.asks_for_code(rows)
    is_due(COSTS.kept_plain_steps - 1, where, COSTS)
    is_due(COSTS.plain_steps, where, COSTS)
    assert not asked
    for rows in (COSTS.ready_rows, COSTS.compile_rows - 1):
        loops(rows, where, COSTS)
        assert COSTS.asks_for_code(rows)
    is_due(COSTS.kept_plain_steps, where, COSTS)
    assert len(asked) == 3


def test_loops_tell_why() -> None:
    def why(rows: int, code: Code) -> str:
        return loops(rows, at(code), COSTS)[1]

    assert why(300_000, Code.ABSENT) == "300,000 rows; from 200,000 on it is compiled"
    assert why(30_000, Code.KEPT) == "30,000 rows, and its code is kept on disk"
    assert why(30_000, Code.ABSENT) == (
        "30,000 rows; compiled once it has taken 2,000,000 steps, "
        f"{COSTS.kept_plain_steps:,} if its code is kept on disk"
    )


@pytest.mark.parametrize(
    ("steps", "code", "effort", "due"),
    [
        (COSTS.kept_plain_steps - 1, Code.KEPT, 1, False),
        (COSTS.kept_plain_steps, Code.KEPT, 1, True),
        (COSTS.kept_plain_steps, Code.LOADED, 3, True),
        (COSTS.plain_steps - 1, Code.ABSENT, 1, False),
        (COSTS.plain_steps, Code.ABSENT, 1, True),
        (3 * COSTS.plain_steps - 1, Code.ABSENT, 3, False),
        (3 * COSTS.plain_steps, Code.ABSENT, 3, True),
    ],
)
def test_a_plain_loop_is_given_up_once_compiling_or_loading_would_have_been_faster(
    steps: int, code: Code, effort: int, *, due: bool
) -> None:
    assert is_due(steps, at(code), COSTS, effort) == due


@pytest.mark.parametrize(
    ("is_loaded", "is_kept", "code"),
    [
        ([True, True], [False, False], Code.LOADED),
        ([True, False], [True, True], Code.KEPT),
        ([True, False], [True, False], Code.ABSENT),
    ],
)
def test_code_is_where_all_of_it_is(is_loaded: list[bool], is_kept: list[bool], code: Code) -> None:
    pairs = zip(is_loaded, is_kept, strict=True)
    natives: Any = [SimpleNamespace(is_loaded=one, is_kept=other) for one, other in pairs]
    assert code_of(natives) is code


def test_consuming_is_plain_for_longer() -> None:
    """Its loop takes longest to compile."""
    assert "compiled from 200,000 rows on" in " ".join(str(motif.explain(SEQ, data=EVENTS)).split())
    assert "compiled from 600,000 rows on" in " ".join(str(motif.explain(ONCE, data=EVENTS)).split())
    nothing: Callable[[], list[Any]] = lambda: [SimpleNamespace(is_loaded=False, is_kept=False)]  # noqa: E731
    efforts = {}
    for query in (SEQ, ONCE):
        execution = Execution.of(planned_for(query)[0].program)
        efforts[query] = execution.effort
        assert execution.matching(300_000 * execution.effort, nothing) is Running.COMPILED
        assert execution.matching(199_999 * execution.effort, nothing) is Running.PLAIN_FIRST
        assert execution.is_due(2_000_000 * execution.effort, nothing)
        assert not execution.is_due(2_000_000 * execution.effort - 1, nothing)
    assert efforts == {SEQ: 1, ONCE: 3}


def test_a_loop_beside_the_matching_has_no_time_to_find_out() -> None:
    nothing: Callable[[], list[Any]] = lambda: [SimpleNamespace(is_loaded=False, is_kept=False)]  # noqa: E731
    program = planned_for(SEQ)[0].program
    assert not Execution.of(program, HASTY).compiles(100_000, nothing)
    assert Execution.of(program, COMPILED).compiles(0, nothing)
    assert not Execution.of(program).compiles(199_999, nothing)
    assert Execution.of(program).compiles(200_000, nothing)
    assert not Execution.of(program).compiles(200_000, nothing, effort=5)


# -- runs


@ALL_LOOPS
@pytest.mark.usefixtures("kernel_cache")
def test_a_query_that_takes_many_steps(query: str, loaded: list[object]) -> None:
    first = answer(query, PLAIN)
    assert first.num_rows > 10
    assert not loaded
    assert answer(query, HASTY).equals(first)
    before = len(loaded)
    assert before > 0
    assert answer(query, LOADING).equals(first)  # by the loops that are there
    assert len(loaded) == before
    assert answer(query, COMPILED).equals(first)


@pytest.mark.usefixtures("empty_disk")
@ALL_LOOPS
def test_steps_that_are_too_few(query: str, loaded: list[object]) -> None:
    patient = replace(PLAIN, plain_steps=10_000_000, kept_plain_steps=1_000, plain_join_pause=5_000)
    assert answer(query, patient).equals(answer(query, PLAIN))
    assert not loaded


def planned_for(query: str) -> tuple[Planned, pa.Table]:
    """A query for a stream, and its rows."""
    source = memory_source(EVENTS)
    program: Program | EventProgram
    if query == ROWS:
        program = plan(parse_clause(query), source)
        sql = source.select(duckdb.columns_sql(crossing(program)))
    else:
        program = plan_events(parse_events(query), source, Stream())
        sql = duckdb_events.input_sql(program, source)
    planned = Planned(program, layout(program, source.types_of(crossing(program))))
    return planned, source.database.table(sql)


def pushed(session: StreamSession, rows: pa.Table, size: int) -> int:
    """Matches that come out, with so many rows at a time."""
    found = 0
    for begin in range(0, rows.num_rows, size):
        emitted = session.push(rows.slice(begin, size)).and_then(session.advance(session.latest))
        found += sum(table.num_rows for table in emitted.matches)
    return found


def rest(session: StreamSession) -> int:
    return sum(table.num_rows for table in session.close().matches)


@ALL_LOOPS
@pytest.mark.usefixtures("kernel_cache")
def test_a_stream_that_takes_many_steps(query: str, loaded: list[object]) -> None:
    expected = motif.match(EVENTS, query).num_rows
    loaded.clear()
    forget_loops()
    planned, rows = planned_for(query)
    session = StreamSession(planned, costs=replace(HASTY, plain_join_pause=5_000, plain_search_pause=5_000))
    found = pushed(session, rows.slice(0, 200), 100)
    assert not loaded  # steps too small to gain anything
    found += pushed(session, rows.slice(200), 600)
    assert found + rest(session) == expected
    assert loaded or aside._STARTED  # compiled by another process, where it was never compiled before


@pytest.mark.usefixtures("kernel_cache")
def test_a_stream_that_has_had_many_rows(loaded: list[object]) -> None:
    expected = answer(ROWS, PLAIN).num_rows
    planned, rows = planned_for(ROWS)
    session = StreamSession(planned, costs=replace(PLAIN, compile_rows=900))
    found = pushed(session, rows.slice(0, 600), 600)
    assert not loaded
    found += pushed(session, rows.slice(600), 600)
    assert loaded
    assert found + rest(session) == expected


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("sooner", [LOADING, LOADING_LATE], ids=["by rows", "by steps"])
@ALL_LOOPS
def test_code_that_is_on_disk_is_loaded_sooner(
    query: str, sooner: Costs, loaded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        first = answer(query, sooner)
    assert not loaded  # nothing is on disk
    answer(query, HASTY)
    assert loaded
    loaded.clear()
    forget_loops()
    monkeypatch.setattr(native.Native, "_compiled", None)
    assert answer(query, sooner).equals(first)
    assert loaded


@pytest.mark.usefixtures("empty_disk")
def test_loops_that_were_never_compiled_keep_a_query_plain(loaded: list[object]) -> None:
    """The search of row-only patterns is one for all of them; aggregates and WITHIN have their own."""
    pattern = "PATTERN (A B+) {} DEFINE B AS v > PREV(v)"
    plain = f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n {pattern.format('')})"
    answer(plain, COMPILED)
    forget_loops()
    loaded.clear()
    summed = plain.replace("COUNT(*)", "SUM(B.v)")
    limited = plain.replace(pattern.format(""), pattern.format("WITHIN INTERVAL '1' MINUTE"))
    for query in (summed, limited):
        assert answer(query, LOADING).num_rows > 10
        assert not loaded
    assert answer(plain, LOADING).num_rows > 10
    assert len(loaded) == 1


@pytest.mark.usefixtures("empty_disk")
def test_aggregates_of_lists_are_compiled_by_their_own_number(loaded: list[object]) -> None:
    query = "SELECT SUM(b.v) AS total FROM SEQ(A a; B b+; A c) WHERE [k] AND c.v > 50 WITHIN 400 s"
    many = COUNT // 2
    first = answer(query, replace(PLAIN, compile_rows=many))
    assert len(loaded) == 5  # the join, the sum, the order of matches, the hashes of events and of matches
    for rows, expected in ((10_000 * COUNT, 0), (many, 5)):
        forget_loops()
        loaded.clear()
        assert answer(query, replace(PLAIN, ready_rows=rows)).equals(first)
        assert len(loaded) == expected


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("pause", [50, 500])
@pytest.mark.parametrize("mode", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_a_search_goes_on_compiled_after_many_steps(loaded: list[object], mode: str, pause: int) -> None:
    query = ROWS.replace(" AS v,", " AS first_v,").replace("PATTERN", f"{mode} AFTER MATCH SKIP TO NEXT ROW PATTERN")
    plain = answer(query, PLAIN)
    paused = replace(PLAIN, plain_search_pause=pause, kept_plain_steps=pause)
    assert answer(query, paused).equals(plain)
    assert not loaded
    assert answer(query, replace(paused, plain_steps=2 * pause)).equals(plain)
    assert loaded


@pytest.mark.usefixtures("empty_disk")
@pytest.mark.parametrize("cores", [1, 4])
def test_functions_are_asked_once_for_the_same_events(loaded: list[object], cores: int) -> None:
    asked: list[tuple[str, int, int]] = []

    def noting(name: str, bound: int) -> Callable[[int, int], bool]:
        def near(one: int, other: int) -> bool:
            asked.append((name, one, other))
            return abs(one - other) < bound

        return near

    functions = {"near": noting("near", 9), "far": noting("far", 30)}
    numbered = EVENTS.append_column("n", pa.array(range(COUNT)))
    going_over = replace(
        HASTY, plain_steps=1_000, kept_plain_steps=300, plain_join_pause=300, cores=cores, share_steps=100
    )
    for shape in (
        "SEQ(A a; B b) WHERE [k] AND near(a.n, b.n)",
        "OR(SEQ(A a; B b), SEQ(B c; A d)) WHERE [k] AND near(a.n, b.n) AND far(c.n, d.n)",
    ):
        query = f"SELECT a.n AS x FROM {shape} WITHIN 40 s"
        options = EventOptions(functions=functions)
        plain = api.match(numbered, query, options, costs=PLAIN)
        asked.clear()
        loaded.clear()
        forget_loops()
        found = api.match(numbered, query, options, costs=going_over)
        assert found.equals(plain)
        assert loaded
        assert len(asked) > 100
        assert len(asked) == len(set(asked))
