"""The plan that follows from a program, facts and costs: one table of what is chosen, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from planned_queries import (
    ALL_EVENTS,
    ALL_ROWS,
    ASKING,
    BY_KEY,
    CHOSEN,
    CONSUMING,
    CONSUMING_BY_KEY,
    COUNTED,
    ENDLESS,
    LONG,
    NUMBERED,
    ROWS_BY_KEY,
    TABLE,
    program_of,
)

import motif
from motif.errors import MotifError, UnsupportedQuery
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.physical.choose import choose, slice_length, strategy_named
from motif.plan.physical.costs import COMPILED, COSTS, HASTY, PLAIN, Costs
from motif.plan.physical.exact import known, why_not
from motif.plan.physical.facts import Asked, Code, Facts, Host, Mode, Reader
from motif.plan.physical.plan import Place, Route, Running, Strategy

S, L = Strategy, Running
MILLION = 1_000_000
EVERY_QUERY = {
    "rows by key": ROWS_BY_KEY,
    "all rows": ALL_ROWS,
    "rows that are numbered": NUMBERED,
    "rows of which the host is asked": ASKING,
    "events by key": BY_KEY,
    "all events": ALL_EVENTS,
    "events without WITHIN": ENDLESS,
    "events within a number": COUNTED,
    "events within ages": LONG,
    "events that are consumed": CONSUMING,
    "events that are consumed, by key": CONSUMING_BY_KEY,
    "events of which one is chosen": CHOSEN,
}
PLACES = {
    "in process": Facts(cores=4),
    "on Spark": Facts(host=Host.SPARK, cores=4),
    "a stream": Facts(mode=Mode.STREAM, reader=Reader.PUSH),
    "a stream on Spark": Facts(host=Host.SPARK, mode=Mode.STREAM, buckets=16),
    "a stream with an archive on Spark": Facts(host=Host.SPARK, mode=Mode.ARCHIVE, buckets=16),
}


def in_process(rows: int | None = None, cores: int = 4, **facts: Any) -> Facts:
    return Facts(cores=cores, rows=rows, **facts)


def on_spark(size: int | None = None, cores: int = 2, **facts: Any) -> Facts:
    return Facts(host=Host.SPARK, cores=cores, bytes=size, **facts)


# -- strategy, parts and loops


class Case(NamedTuple):
    """What is to be chosen."""

    query: str
    facts: Facts
    strategy: Strategy
    parts: int | None
    loops: Running
    why: str
    """The end of the reason."""


IN_PROCESS = {
    "rows by key": Case(
        ROWS_BY_KEY, in_process(MILLION), S.PARTITIONS, 6, L.COMPILED, "each core has whole partitions"
    ),
    "rows that are not counted": Case(
        ROWS_BY_KEY, in_process(), S.PARTITIONS, None, L.OPEN, "each core has whole partitions"
    ),
    "many rows by key on many cores": Case(
        ROWS_BY_KEY, in_process(100 * MILLION, 8), S.PARTITIONS, 24, L.COMPILED, "each core has whole partitions"
    ),
    "few rows by key": Case(
        ROWS_BY_KEY, in_process(150_000), S.SEQUENTIAL, 1, L.PLAIN_FIRST, "; 150,000 rows are too few to deal out"
    ),
    "rows by key on one core": Case(
        ROWS_BY_KEY, in_process(MILLION, 1), S.SEQUENTIAL, 1, L.COMPILED, "; there is one core"
    ),
    "all rows": Case(
        ALL_ROWS, in_process(MILLION), S.PIECES, 4, L.COMPILED, "each core searches a piece of the one sequence"
    ),
    "all rows in plain Python": Case(
        ALL_ROWS, in_process(150_000), S.SEQUENTIAL, 1, L.PLAIN_FIRST, "; plain Python runs on one core at a time"
    ),
    "all rows by code that is there": Case(
        ALL_ROWS,
        in_process(199_999, code=Code.LOADED),
        S.SEQUENTIAL,
        1,
        L.COMPILED,
        "; 199,999 rows are too few to deal out",
    ),
    "all rows on one core": Case(
        ALL_ROWS, in_process(MILLION, 1), S.SEQUENTIAL, 1, L.COMPILED, "one core does all the work; there is one core"
    ),
    "rows that are numbered": Case(
        NUMBERED,
        in_process(MILLION),
        S.SEQUENTIAL,
        1,
        L.COMPILED,
        "; conditions read the number of the match, so each depends on all before it",
    ),
    "rows of which the host is asked": Case(
        ASKING, in_process(MILLION), S.SEQUENTIAL, 1, L.PLAIN, "; the host is asked while matches are searched"
    ),
    "events by key": Case(BY_KEY, in_process(MILLION), S.PARTITIONS, 8, L.COMPILED, "each core has whole partitions"),
    "events mostly of one key": Case(
        BY_KEY,
        in_process(MILLION, largest_share=0.6),
        S.SHARED,
        None,
        L.COMPILED,
        "cores share the events that are bound first; one partition has 60% of the events",
    ),
    "few events by key": Case(
        BY_KEY,
        in_process(10_000, largest_share=0.1),
        S.SHARED,
        None,
        L.PLAIN_FIRST,
        "; 10,000 rows are too few to deal out",
    ),
    "events by key on one core": Case(
        BY_KEY, in_process(MILLION, 1), S.SEQUENTIAL, 1, L.COMPILED, "one core does all the work; there is one core"
    ),
    "all events": Case(
        ALL_EVENTS,
        in_process(MILLION),
        S.SHARED,
        None,
        L.COMPILED,
        "; there is no key, for no attribute is equal in all events of a match",
    ),
    "events of which a sample was joined": Case(
        ALL_EVENTS, in_process(MILLION, lead_steps=500_000), S.SHARED, 5, L.COMPILED, ""
    ),
    "events of which a long sample was joined": Case(
        ALL_EVENTS, in_process(MILLION, lead_steps=10**9), S.SHARED, 8, L.COMPILED, ""
    ),
    "events that are consumed": Case(
        CONSUMING,
        in_process(300_000),
        S.SEQUENTIAL,
        1,
        L.PLAIN_FIRST,
        "one core does all the work; CONSUMING makes every match depend on the ones before it",
    ),
    "many events that are consumed": Case(CONSUMING, in_process(600_000), S.SEQUENTIAL, 1, L.COMPILED, ""),
    "events that are consumed, by key": Case(
        CONSUMING_BY_KEY, in_process(MILLION), S.PARTITIONS, 8, L.COMPILED, "each core has whole partitions"
    ),
    "rows that are pushed": Case(
        ROWS_BY_KEY,
        Facts(mode=Mode.STREAM, reader=Reader.PUSH),
        S.SEQUENTIAL,
        1,
        L.OPEN,
        "each push is matched as it comes",
    ),
}


@pytest.mark.parametrize("case", IN_PROCESS.values(), ids=IN_PROCESS)
def test_in_process(case: Case) -> None:
    plan = choose(program_of(case.query), case.facts)
    assert (plan.match.strategy, plan.match.parts, plan.match.loops) == (case.strategy, case.parts, case.loops)
    assert case.why in plan.match.why
    assert plan.move is None
    assert plan.host is Host.DUCKDB


MIB = 1 << 20
ON_SPARK: dict[str, tuple[str, Facts, Strategy, Route, str]] = {
    "rows by key": (ROWS_BY_KEY, on_spark(), S.PARTITIONS, Route.BY_KEY, "each key in one task, whole"),
    "all rows": (ALL_ROWS, on_spark(), S.SEQUENTIAL, Route.TO_ONE, "there is no PARTITION BY"),
    "a small table": (
        ROWS_BY_KEY,
        on_spark(MIB),
        S.SEQUENTIAL,
        Route.STAY,
        "the table is small (1 MiB; up to 50 MiB), so one task reads it and does all the work",
    ),
    "a table that is just small": (ROWS_BY_KEY, on_spark(50 * MIB - 1), S.SEQUENTIAL, Route.STAY, "table is small"),
    "a table that is not": (ROWS_BY_KEY, on_spark(51 * MIB), S.PARTITIONS, Route.BY_KEY, "each key"),
    "a table on many cores": (ROWS_BY_KEY, on_spark(MIB, 16), S.SEQUENTIAL, Route.STAY, "(1 MiB; up to 11 MiB)"),
    "all rows of a small table": (ALL_ROWS, on_spark(MIB), S.SEQUENTIAL, Route.STAY, ""),
    "files that a task reads by itself": (
        ROWS_BY_KEY,
        on_spark(100 * MIB, reader=Reader.ARROW, files=1),
        S.SEQUENTIAL,
        Route.STAY,
        "the table is small (100 MiB; up to 128 MiB)",
    ),
    "events by key": (BY_KEY, on_spark(), S.PARTITIONS, Route.BY_KEY, "each key in one task, whole"),
    "a few events": (BY_KEY, on_spark(MIB), S.SEQUENTIAL, Route.STAY, "the table is small (1 MiB; up to 10 MiB)"),
    "more events": (BY_KEY, on_spark(11 * MIB), S.PARTITIONS, Route.BY_KEY, "each key"),
    "a few events, and functions": (
        BY_KEY,
        on_spark(MIB, functions=frozenset({"near"})),
        S.PARTITIONS,
        Route.BY_KEY,
        "each key",
    ),
    "all events": (ALL_EVENTS, on_spark(), S.SLICES, Route.BY_SLICE, "a slice is 8 times WITHIN long"),
    "a few of all events": (ALL_EVENTS, on_spark(MIB), S.SEQUENTIAL, Route.STAY, "the table is small"),
    "events without WITHIN": (
        ENDLESS,
        on_spark(),
        S.SEQUENTIAL,
        Route.TO_ONE,
        "there is no key, and without WITHIN a match may reach over the whole input",
    ),
    "events that are consumed": (
        CONSUMING,
        on_spark(),
        S.SEQUENTIAL,
        Route.TO_ONE,
        "there is no key, and CONSUMING makes every match depend on the ones before it",
    ),
    "a stream by key": (
        ROWS_BY_KEY,
        PLACES["a stream on Spark"],
        S.BUCKETS,
        Route.BY_BUCKET,
        "each bucket has state of its own",
    ),
    "a stream without a key": (
        ALL_EVENTS,
        PLACES["a stream on Spark"],
        S.SEQUENTIAL,
        Route.BY_BUCKET,
        "there is no key, so there is one bucket",
    ),
}


@pytest.mark.parametrize("name", ON_SPARK)
def test_on_spark(name: str) -> None:
    query, facts, strategy, route, why = ON_SPARK[name]
    plan = choose(program_of(query), facts)
    assert plan.match.strategy is strategy
    assert plan.move is not None
    assert plan.move.route is route
    assert why in plan.move.why
    assert plan.match.parts in (1, None)


def test_moves_say_where_rows_go() -> None:
    def move(query: str, facts: Facts) -> Any:
        return choose(program_of(query), facts).move

    program = program_of(BY_KEY)
    assert move(BY_KEY, on_spark()).keys == tuple(f"c{key}" for key in program.keys) != ()
    assert move(ALL_EVENTS, on_spark()).slice_microseconds == 8 * 9 * MILLION
    assert move(ALL_EVENTS, PLACES["a stream on Spark"]).buckets == 1
    assert move(BY_KEY, PLACES["a stream on Spark"]).buckets == 16


def test_slices_are_not_too_short() -> None:
    program = program_of(ALL_EVENTS.replace("9 s", "9 ms"))
    assert isinstance(program, EventProgram)
    assert slice_length(program, COSTS) == MILLION
    assert slice_length(program, replace(COSTS, shortest_slice=1)) == 72_000
    assert slice_length(program, replace(COSTS, shortest_slice=1, slice_windows=1)) == 9_000


def test_no_table_is_small_if_the_session_says_so() -> None:
    for query in (ROWS_BY_KEY, BY_KEY):
        plan = choose(program_of(query), on_spark(0), replace(COSTS, one_task_bytes=0))
        assert plan.match.strategy is S.PARTITIONS


@pytest.mark.parametrize(
    ("costs", "running", "why"),
    [
        (COSTS, L.OPEN, "compiled from 200,000 rows on, from 1,000 on if that was done before"),
        (COMPILED, L.COMPILED, "asked for"),
    ],
)
def test_loops_before_rows_are_counted(costs: Costs, running: Running, why: str) -> None:
    for query in (ROWS_BY_KEY, BY_KEY):
        match = choose(program_of(query), in_process(), costs).match
        assert match.loops is running
        assert match.loops_why.startswith(why)
    assert choose(program_of(ASKING), in_process(), costs).match.loops is L.PLAIN


@pytest.mark.parametrize(
    ("costs", "running"),
    [(COSTS, L.COMPILED), (PLAIN, L.PLAIN), (HASTY, L.PLAIN_FIRST), (COMPILED, L.COMPILED)],
    ids=["ordinary", "plain", "hasty", "compiled"],
)
def test_costs_choose_loops(costs: Costs, running: Running) -> None:
    assert choose(program_of(ROWS_BY_KEY), in_process(MILLION), costs).match.loops is running


# -- the other steps


def test_rows_are_sorted_where_there_is_room() -> None:
    asked = Asked(rows="SELECT 1", sorted_rows="SELECT 1 ORDER BY 1")
    program = program_of(ROWS_BY_KEY)
    roomy = choose(program, in_process(asked=asked, memory=5_000))
    assert (roomy.arrange.place, roomy.arrange.most_bytes, roomy.read.sql) == (Place.MEMORY, 5_000, asked.rows)
    full = choose(program, in_process(asked=asked, memory=5_000, bytes=5_001))
    assert (full.arrange.place, full.arrange.most_bytes, full.read.sql) == (Place.HOST, None, asked.sorted_rows)
    small = choose(program, in_process(asked=asked, bytes=5_001), replace(COSTS, sort_bytes=5_000))
    assert small.arrange.place is Place.HOST
    assert choose(program, on_spark(asked=asked)).arrange.place is Place.WORKER
    assert choose(program, PLACES["a stream"]).arrange.place is Place.ARRIVAL


def test_what_is_left_out_before_sorting() -> None:
    assert choose(program_of(BY_KEY), in_process()).match.leaves_out
    for query, facts in ((ALL_EVENTS, in_process()), (ROWS_BY_KEY, in_process()), (BY_KEY, on_spark())):
        assert not choose(program_of(query), facts).match.leaves_out


def test_events_are_bound_in_an_order_that_is_chosen_again_once_they_are_counted() -> None:
    program = program_of(ENDLESS)
    equal = choose(program, in_process())
    assert any(note.startswith("candidates are counted when events are read") for note in equal.open)
    for rarest in ("a", "b"):
        counts = {"a": 1_000, "b": 1_000, rarest: 2}
        counted = choose(program, in_process(100, estimates=Estimates(counts)))
        [order] = counted.match.orders
        assert order.variables[0] == rarest
        assert sorted(order.variables) == ["a", "b"]
        assert counted.open == ()
        assert counted.match.orders_why == "candidates are counted: the rarest are bound first"
    assert equal.match.orders == choose(program_of(ALL_ROWS), in_process()).match.orders == ()


def test_the_same_gives_the_same_plan() -> None:
    for query in EVERY_QUERY.values():
        for facts in PLACES.values():
            assert choose(program_of(query), facts) == choose(program_of(query), replace(facts))


# -- strategies by name


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("query", EVERY_QUERY.values(), ids=EVERY_QUERY)
def test_whoever_asks_gets_what_is_exact_and_nothing_else(query: str, place: str) -> None:
    program, facts = program_of(query), PLACES[place]
    exact = [strategy for strategy in Strategy if why_not(strategy, program, facts) is None]
    assert S.SEQUENTIAL in exact
    assert choose(program, facts).match.strategy in exact
    for strategy in Strategy:
        if strategy in exact:
            for costs in (COSTS, PLAIN, COMPILED):
                match = choose(program, facts, costs, strategy).match
                assert (match.strategy, match.why) == (strategy, "asked for")
            continue
        with pytest.raises(UnsupportedQuery) as told:
            choose(program, facts, wanted=strategy)
        error = told.value
        assert error.message.startswith(f'strategy="{strategy}" cannot answer this query exactly: ')
        assert error.message.endswith(str(why_not(strategy, program, facts)))
        others = [f'"{one}"' for one in known(program, facts) if one in exact]
        assert error.hint == f"leave strategy= out, or take {' or '.join(others)}"
        assert error.line == 2
        assert "^" in str(error)


NOT_EXACT: list[tuple[str, str, Strategy, str]] = [
    ("all rows", "in process", S.PARTITIONS, "there is no PARTITION BY"),
    ("rows by key", "in process", S.PIECES, "there is a PARTITION BY, and partitions are not cut"),
    (
        "rows that are numbered",
        "in process",
        S.PIECES,
        "conditions read the number of the match, so each depends on all before it",
    ),
    ("rows of which the host is asked", "in process", S.PIECES, "the host is asked while matches are searched"),
    ("rows by key", "in process", S.SHARED, "there is no such way for MATCH_RECOGNIZE in process"),
    ("rows by key", "in process", S.SLICES, "there is no such way for MATCH_RECOGNIZE in process"),
    ("rows by key", "on Spark", S.PIECES, "there is no such way for MATCH_RECOGNIZE on Spark"),
    ("rows by key", "a stream", S.PARTITIONS, "there is no such way for MATCH_RECOGNIZE in process in a stream"),
    ("all events", "in process", S.PARTITIONS, "there is no key, for no attribute is equal in all events of a match"),
    ("all events", "in process", S.PIECES, "there is no such way for event queries in process"),
    (
        "events that are consumed",
        "in process",
        S.SHARED,
        "CONSUMING makes every match depend on the ones before it",
    ),
    ("events by key", "on Spark", S.SLICES, "there is a key, which needs no slices"),
    ("events without WITHIN", "on Spark", S.SLICES, "without WITHIN a match may reach over the whole input"),
    ("events within a number", "on Spark", S.SLICES, "WITHIN n EVENTS counts all events before"),
    ("events within ages", "on Spark", S.SLICES, "WITHIN is longer than any input"),
    (
        "events of which one is chosen",
        "on Spark",
        S.SLICES,
        "PICK chooses every single event of a match, so its rivals may lie anywhere",
    ),
    ("events that are consumed", "on Spark", S.SLICES, "CONSUMING makes every match depend on the ones before it"),
    (
        "all events",
        "a stream on Spark",
        S.BUCKETS,
        "there is no key, for no attribute is equal in all events of a match",
    ),
    ("all rows", "a stream on Spark", S.BUCKETS, "there is no PARTITION BY"),
    ("events by key", "a stream on Spark", S.SHARED, "there is no such way for event queries on Spark in a stream"),
]


@pytest.mark.parametrize(("query", "place", "strategy", "reason"), NOT_EXACT)
def test_refusals_say_why(query: str, place: str, strategy: Strategy, reason: str) -> None:
    program, facts = program_of(EVERY_QUERY[query]), PLACES[place]
    assert why_not(strategy, program, facts) == reason
    with pytest.raises(UnsupportedQuery) as told:
        choose(program, facts, wanted=strategy)
    assert told.value.message == f'strategy="{strategy}" cannot answer this query exactly: {reason}'


def test_events_with_a_length_are_not_cut_into_slices() -> None:
    reason = why_not(S.SLICES, program_of(ALL_EVENTS, start="start"), on_spark())
    assert reason == "composite events begin before their place in the order"


def test_a_refusal_shows_the_pattern() -> None:
    with pytest.raises(UnsupportedQuery) as told:
        motif.match(TABLE, ALL_EVENTS, strategy="partitions")
    assert str(told.value) == (
        'strategy="partitions" cannot answer this query exactly: there is no key, for no attribute is equal in all '
        "events of a match (line 2, column 6)\n"
        "    |\n"
        "  2 | FROM SEQ(A a; B b) WITHIN 9 s\n"
        "    |      ^^^^^^^^^^^^^\n"
        '  hint: leave strategy= out, or take "shared" or "sequential"'
    )


def test_a_statement_is_refused_at_its_own_pattern() -> None:
    with pytest.raises(UnsupportedQuery) as told:
        motif.sql(f"SELECT *\nFROM data\n{ROWS_BY_KEY}", tables={"data": TABLE}, strategy="pieces")
    assert (told.value.line, told.value.hint) == (4, 'leave strategy= out, or take "partitions" or "sequential"')


@pytest.mark.parametrize("name", list(Strategy))
def test_names_of_strategies(name: str) -> None:
    assert strategy_named(str(name)) is Strategy(name)
    assert strategy_named(None) is None


NAMES = 'the strategies are "sequential", "partitions", "pieces", "shared", "slices", "buckets"'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("quick", "there is no strategy 'quick'"),
        ("", "there is no strategy ''"),
        ("SHARED", "there is no strategy 'SHARED'"),
        (5, "strategy= cannot be int"),
        (["shared"], "strategy= cannot be list"),
    ],
)
def test_names_that_no_strategy_has(given: Any, message: str) -> None:
    for ask in (
        lambda: motif.match(TABLE, ALL_EVENTS, strategy=given),
        lambda: motif.match(TABLE, ALL_ROWS, strategy=given),
        lambda: motif.sql(f"SELECT * FROM data {ALL_ROWS}", tables={"data": TABLE}, strategy=given),
        lambda: motif.explain(ALL_EVENTS, data=TABLE, strategy=given),
    ):
        with pytest.raises(MotifError) as told:
            ask()
        assert (told.value.message, told.value.hint) == (message, NAMES)
