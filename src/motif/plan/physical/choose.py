"""The one place where it is decided how a query runs: a program, facts and costs in, a `PhysicalPlan` out.

`choose` is a pure function: the same facts give the same plan. What is learned while a query runs goes through it
again as better facts (`engine.execution`). Each rule below decides one step, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from motif.errors import MotifError, UnsupportedQuery
from motif.ir.event import Duration
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates, choose_steps
from motif.plan.events.ways import Role, Way
from motif.plan.physical.costs import COSTS, NEVER, Costs
from motif.plan.physical.exact import is_tested_after, known, why_not, why_not_slices
from motif.plan.physical.facts import Code, Facts, Host, Mode, Reader
from motif.plan.physical.plan import (
    Arrange,
    Ask,
    Asking,
    Finish,
    Gather,
    Match,
    Move,
    Order,
    PhysicalPlan,
    Place,
    Read,
    Route,
    Running,
    Strategy,
)
from motif.plan.program import Program

ASKED_FOR = "asked for"
COUNTED_LATER = "rows are counted when they are read: then strategy, parts and loops are chosen again"
COUNTED_BY_TASKS = "each task counts its rows when it has read them: then it chooses its loops again"
CODE_LATER = "whether its loops were compiled before is asked when rows are there: then loops are chosen again"
ORDERED_LATER = "candidates are counted when events are read: then the join is ordered again, the rarest first"


class Chosen(NamedTuple):
    """A strategy, and why it is taken."""

    strategy: Strategy
    why: str


def choose(
    program: Program | EventProgram, facts: Facts, costs: Costs = COSTS, wanted: Strategy | None = None
) -> PhysicalPlan:
    """The plan for a query; `wanted`: the strategy that the caller asks for."""
    chosen = _strategy(program, facts, costs, wanted)
    return PhysicalPlan(
        host=facts.host,
        mode=facts.mode,
        read=_read(facts, costs),
        move=_move(program, facts, costs, chosen),
        arrange=_arrange(facts, costs),
        ask=_ask(program, facts),
        match=_match(program, facts, costs, chosen),
        gather=_gather(program, facts, chosen),
        finish=Finish(facts.asked.result) if facts.asked.result else None,
        open=tuple(_open(program, facts, costs)),
    )


def strategy_named(name: str | Strategy | None) -> Strategy | None:
    """The strategy that a caller names; raises for a name that there is not."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise MotifError(f"strategy= cannot be {type(name).__name__}", hint=_names())
    try:
        return Strategy(name)
    except ValueError:
        raise MotifError(f"there is no strategy {name!r}", hint=_names()) from None


def _names() -> str:
    return "the strategies are " + ", ".join(f'"{strategy}"' for strategy in Strategy)


# -- the strategy


def _strategy(program: Program | EventProgram, facts: Facts, costs: Costs, wanted: Strategy | None) -> Chosen:
    """What the caller asks for, if it is exact; else the first of those that are exact and pay."""
    if _is_sorted_by_host(facts, costs):
        return Chosen(Strategy.SEQUENTIAL, "DuckDB sorts the rows, and they are matched as it gives them out")
    if wanted is not None:
        if reason := why_not(wanted, program, facts):
            raise _refused(wanted, program, facts, reason)
        return Chosen(wanted, ASKED_FOR)
    impossible, dear = [], []
    for strategy in known(program, facts):
        if reason := why_not(strategy, program, facts):
            impossible.append(reason)
        elif reason := _why_not_worth_it(strategy, program, facts, costs):
            dear.append(reason)
        else:
            # Of a better one that is exact it matters why it does not pay; if there is none, why none is exact.
            return Chosen(strategy, "; ".join([_praise(strategy, facts), *(dear[:1] or impossible[-1:])]))
    raise AssertionError("sequential is always exact and never too dear")


def _refused(wanted: Strategy, program: Program | EventProgram, facts: Facts, reason: str) -> UnsupportedQuery:
    others = [f'"{other}"' for other in known(program, facts) if why_not(other, program, facts) is None]
    pattern = program.query.pattern
    return UnsupportedQuery(
        f'strategy="{wanted}" cannot answer this query exactly: {reason}',
        source=program.query.source,
        span=pattern.span,
        hint=f"leave strategy= out, or take {' or '.join(others)}",
    )


def _why_not_worth_it(strategy: Strategy, program: Program | EventProgram, facts: Facts, costs: Costs) -> str | None:
    """Why a strategy that is exact does not pay; None if it does, or if that is not known yet."""
    if strategy is Strategy.SEQUENTIAL or facts.mode is not Mode.BATCH:
        return None
    if facts.host is Host.SPARK:
        return _small_table(program, facts, costs)
    if facts.cores == 1:
        return "there is one core"
    if facts.rows is None:
        return None
    match strategy:
        case Strategy.PARTITIONS:
            if (facts.largest_share or 0.0) > costs.skewed_share:
                return f"one partition has {facts.largest_share:.0%} of the events"
            if shards(program, facts, costs) > 1:
                return None
        case Strategy.PIECES:
            if _loops(program, facts, costs)[0] is not Running.COMPILED:
                return "plain Python runs on one core at a time"
            if pieces(facts, costs) > 1:
                return None
        case _:
            return None
    return f"{facts.rows:,} rows are too few to deal out"


def _small_table(program: Program | EventProgram, facts: Facts, costs: Costs) -> str | None:
    limit = one_task_limit(program, facts, costs)
    if facts.bytes is None or facts.bytes > limit or not costs.one_task_bytes:
        return None
    return (
        f"the table is small ({_bytes(facts.bytes)}; up to {_bytes(limit)}), so one task reads it and does all the work"
    )


def _praise(strategy: Strategy, facts: Facts) -> str:
    match strategy:
        case Strategy.PARTITIONS if facts.host is Host.SPARK:
            return "each task has whole partitions"
        case Strategy.PARTITIONS:
            return "each core has whole partitions"
        case Strategy.PIECES:
            return "each core searches a piece of the one sequence"
        case Strategy.SHARED:
            return "cores share the events that are bound first"
        case Strategy.SLICES:
            return "each task has slices of time"
        case Strategy.BUCKETS:
            return "each task has buckets of keys"
        case Strategy.SEQUENTIAL if facts.host is Host.SPARK:
            return "one task does all the work"
        case Strategy.SEQUENTIAL if facts.mode is not Mode.BATCH:
            return "each push is matched as it comes"
        case Strategy.SEQUENTIAL:
            return "one core does all the work"


def shards(program: Program | EventProgram, facts: Facts, costs: Costs) -> int:
    """Parts of whole partitions for which it takes least: with each there is more that only one core can do."""
    rows = facts.rows or 0
    per_call = costs.events_per_call if isinstance(program, EventProgram) else costs.rows_per_call
    return max(min(facts.cores * costs.shards_per_core, rows // costs.shard_rows, math.isqrt(rows // per_call)), 1)


def pieces(facts: Facts, costs: Costs) -> int:
    """Pieces of one sequence: they are of one size, so no core needs several."""
    return max(min(facts.cores, math.isqrt((facts.rows or 0) // costs.piece_rows)), 1)


def shares(steps: int, threads: int, costs: Costs) -> int:
    """Parts of the events that are bound first, where all of them take so many steps."""
    return max(min(threads * costs.shares_per_thread, steps // costs.share_steps), 1)


def one_task_limit(program: Program | EventProgram, facts: Facts, costs: Costs) -> int:
    """Bytes that are not worth an exchange on a cluster.

    Joining events and handing their matches back costs more than reading them: beyond what an exchange costs anyway,
    tasks had better share it. What functions of the user take, no one knows.
    """
    if isinstance(program, EventProgram):
        return 0 if facts.functions else min(costs.exchange_bytes, costs.one_task_bytes)
    return bytes_for_one(facts.cores, costs, by_itself=facts.reader is Reader.ARROW)


def bytes_for_one(cores: int, costs: Costs, *, by_itself: bool) -> int:
    """The n for which one task takes as long as all of them: n = saved * (set-up + exchanged * n / cores).

    `by_itself`: the task reads files, and Spark hands no row over. There is no such n where an exchange never pays.
    """
    saved = costs.handed_over if by_itself else 1.0
    left = 1 - saved * costs.exchanged / cores
    return min(costs.one_task_bytes, int(saved * costs.exchange_bytes / left)) if left > 0 else costs.one_task_bytes


# -- the steps


def _read(facts: Facts, costs: Costs) -> Read:
    facts = replace(facts, reader=_reader(facts, costs))
    asked = facts.asked
    sql = asked.sorted_rows if _is_sorted_by_host(facts, costs) else asked.rows
    return Read(facts.reader, sql, asked.crossing, asked.filter, facts.files, _why_read(facts))


def _reader(facts: Facts, costs: Costs) -> Reader:
    """Who reads: DuckDB is as fast where something is computed of many rows, and leaves out what it need not read."""
    if _is_sorted_by_host(facts, costs):
        return Reader.HOST
    is_large = (facts.file_rows or 0) > costs.small_file_rows
    return Reader.HOST if facts.reader is Reader.ARROW and facts.computes and is_large else facts.reader


def _why_read(facts: Facts) -> str:
    match facts.reader:
        case Reader.MEMORY:
            return "columns in memory are taken as they are"
        case Reader.ARROW if facts.host is Host.SPARK:
            return "the task that matches reads the files by itself: Spark hands no row over"
        case Reader.ARROW:
            return "Arrow reads only the columns that the query needs"
        case Reader.PUSH:
            return "rows come as they are pushed"
        case Reader.HOST:
            return f"{facts.host} computes what the matching needs of each row"


def _is_sorted_by_host(facts: Facts, costs: Costs) -> bool:
    in_process = facts.host is Host.DUCKDB and facts.mode is Mode.BATCH
    return in_process and bool(facts.asked.sorted_rows) and (facts.bytes or 0) > sort_limit(facts, costs)


def sort_limit(facts: Facts, costs: Costs) -> int:
    """Bytes of rows up to which they are sorted in memory in process."""
    return costs.sort_bytes if facts.memory is None else min(costs.sort_bytes, facts.memory)


def _move(program: Program | EventProgram, facts: Facts, costs: Costs, chosen: Chosen) -> Move | None:
    if facts.host is not Host.SPARK:
        return None
    keys = tuple(f"c{key}" for key in program.keys)
    match chosen.strategy:
        case Strategy.PARTITIONS:
            return Move(Route.BY_KEY, keys, why="each key in one task, whole")
        case Strategy.BUCKETS:
            return Move(Route.BY_BUCKET, keys, buckets=facts.buckets, why="each bucket has state of its own")
        case Strategy.SLICES:
            assert isinstance(program, EventProgram)
            return Move(Route.BY_SLICE, slice_microseconds=slice_length(program, costs), why=_slices_why(costs))
        case _ if facts.mode is not Mode.BATCH:
            reason = ASKED_FOR if program.keys else "there is no key"
            return Move(Route.BY_BUCKET, buckets=1, why=f"{reason}, so there is one bucket")
        case _ if facts.reader is Reader.ARROW or _small_table(program, facts, costs):
            return Move(Route.STAY, why=chosen.why)
        case _:
            return Move(Route.TO_ONE, why=_why_one_task(program, chosen))


def _why_one_task(program: Program | EventProgram, chosen: Chosen) -> str:
    if chosen.why == ASKED_FOR:
        return chosen.why
    if isinstance(program, EventProgram):
        return f"there is no key, and {why_not_slices(program)}"
    return "there is no PARTITION BY"


def _slices_why(costs: Costs) -> str:
    return f"a slice is {costs.slice_windows} times WITHIN long, and an event goes to all slices it may matter to"


def slice_length(program: EventProgram, costs: Costs) -> int:
    """Microseconds of a slice of time."""
    assert isinstance(program.query.within, Duration)
    return max(costs.slice_windows * program.query.within.microseconds, costs.shortest_slice)


def _arrange(facts: Facts, costs: Costs) -> Arrange:
    if facts.mode is not Mode.BATCH:
        return Arrange(Place.ARRIVAL, why="rows wait until the watermark tells their order")
    if facts.host is Host.SPARK:
        return Arrange(Place.WORKER, costs.task_sort_bytes, "numbers sort faster than rows of Spark")
    if _is_sorted_by_host(facts, costs):
        return Arrange(
            Place.HOST, why=f"more than {_bytes(sort_limit(facts, costs))} are sorted with the help of the disk"
        )
    limit = sort_limit(facts, costs) if facts.asked.sorted_rows else None
    return Arrange(Place.MEMORY, limit, "numbers sort faster here, on all cores, than rows do in DuckDB")


def _ask(program: Program | EventProgram, facts: Facts) -> Ask | None:
    """When the host is asked about conditions of several rows."""
    if isinstance(program, Program):
        count = len(program.asks)
    else:
        count = sum(condition.asked is not None for condition in program.conditions)
    if not count:
        return None
    if facts.host is Host.DUCKDB:
        return Ask(Asking.SEARCHING, count, why="searches collect questions, and DuckDB answers many at once")
    most = program.limits.host_questions
    if isinstance(program, Program):
        return Ask(Asking.ROUNDS, count, most, "in a round, workers search by what is known and ask about new values")
    if is_tested_after(program):
        return Ask(Asking.FOUND, count, why="no match decides about another one, so Spark filters what is found")
    return Ask(Asking.JOBS, count, most, "candidates that are left out decide about other matches")


def _match(program: Program | EventProgram, facts: Facts, costs: Costs, chosen: Chosen) -> Match:
    running, loops_why = _loops(program, facts, costs)
    estimates = facts.estimates
    return Match(
        chosen.strategy,
        running,
        _parts(program, facts, costs, chosen.strategy),
        leaves_out=_leaves_out(program, facts),
        of_events=isinstance(program, EventProgram),
        orders=_orders(program, estimates),
        why=chosen.why,
        loops_why=loops_why,
        orders_why="" if estimates is None else "candidates are counted: the rarest are bound first",
    )


def _parts(program: Program | EventProgram, facts: Facts, costs: Costs, strategy: Strategy) -> int | None:
    """Parts that are worked at side by side; None: as many as pay."""
    if strategy is Strategy.SEQUENTIAL:
        return 1
    if facts.host is Host.SPARK or facts.rows is None:
        return None
    match strategy:
        case Strategy.PARTITIONS:
            return shards(program, facts, costs)
        case Strategy.PIECES:
            return pieces(facts, costs)
        case _:
            return None if facts.lead_steps is None else shares(facts.lead_steps, facts.cores, costs)


def _leaves_out(program: Program | EventProgram, facts: Facts) -> bool:
    """In process with a key: events of partitions that lack what every match must have."""
    return (
        isinstance(program, EventProgram)
        and bool(program.keys)
        and (facts.host, facts.mode)
        == (
            Host.DUCKDB,
            Mode.BATCH,
        )
    )


def _loops(program: Program | EventProgram, facts: Facts, costs: Costs) -> tuple[Running, str]:
    if isinstance(program, Program) and program.asks:
        return Running.PLAIN, "the host is asked while matches are searched"
    effort = costs.consuming_effort if isinstance(program, EventProgram) and program.query.consuming else 1
    if costs.compile_rows == 0:
        return Running.COMPILED, ASKED_FOR
    if facts.rows is None:
        return Running.OPEN, _loops_by_rows(costs, effort)
    return loops(facts.rows, lambda: facts.code or Code.ABSENT, costs, effort)


def loops(rows: int, code: Callable[[], Code], costs: Costs, effort: int = 1) -> tuple[Running, str]:
    """How a loop over so many rows runs; `effort`: how many times as long as others it takes to compile."""
    if rows >= costs.compile_rows * effort:
        return Running.COMPILED, f"{rows:,} rows; from {costs.compile_rows * effort:,} on it is compiled"
    if rows >= costs.ready_rows:
        where = code()
        if where is not Code.ABSENT:
            return Running.COMPILED, f"{rows:,} rows, and its code is {where}"
    if min(costs.plain_steps, costs.kept_plain_steps, costs.ready_rows) >= NEVER:
        return Running.PLAIN, ASKED_FOR
    return Running.PLAIN_FIRST, (
        f"{rows:,} rows; compiled once it has taken {costs.plain_steps * effort:,} steps, "
        f"{costs.kept_plain_steps:,} if its code is kept on disk"
    )


def is_due(steps: int, code: Callable[[], Code], costs: Costs, effort: int = 1) -> bool:
    """Whether a loop that has taken so many steps as plain Python is to be compiled, or loaded, now."""
    if steps >= costs.plain_steps * effort:
        return True
    return steps >= costs.kept_plain_steps and code() is not Code.ABSENT


def of_push(rows: int, steps: int, costs: Costs, effort: int = 1) -> Running:
    """How the join of one push over so many kept events runs; `steps`: that were plain Python in all pushes before."""
    if rows <= costs.small_step_rows:
        return Running.PLAIN
    return Running.COMPILED if steps >= costs.plain_steps * effort else Running.PLAIN_FIRST


def _loops_by_rows(costs: Costs, effort: int) -> str:
    return (
        f"compiled from {costs.compile_rows * effort:,} rows on, from {costs.ready_rows:,} on if that was done before; "
        "below, plain Python until it has taken many steps"
    )


def _orders(program: Program | EventProgram, estimates: Estimates | None) -> tuple[Order, ...]:
    """The order in which each way binds its events; none before candidates are counted."""
    if estimates is None or not isinstance(program, EventProgram):
        return ()
    return tuple(
        _order(program, number, driver, estimates)
        for number, way in enumerate(program.ways)
        for driver in drivers(program, way)
    )


def _order(program: EventProgram, number: int, driver: int | None, estimates: Estimates) -> Order:
    way = program.ways[number]
    steps = choose_steps(program.query, way, program.conditions, estimates, driver)
    names = tuple(way.elements[element].var for element in steps.elements)
    return Order(number, None if driver is None else way.elements[driver].var, names)


def drivers(program: EventProgram, way: Way) -> list[int | None]:
    """Elements at which a match of a way is decided, where it is searched from there; None: it cannot be said.

    With CONSUMING matches are searched at each event that may decide one, and it is bound first.
    """
    if not program.query.consuming:
        return [None]
    if not way.waits:
        return [e for e in way.singles() if way.can_be_last(e)]
    leading = any(e.role is Role.LIST and way.can_be_first(n) for n, e in enumerate(way.elements))
    if leading or program.start is not None:
        return [None]
    return [e for e in way.singles() if way.can_be_first(e)]


def _gather(program: Program | EventProgram, facts: Facts, chosen: Chosen) -> Gather:
    columns = len(program.outputs.leaves)
    if facts.host is Host.SPARK and facts.mode is Mode.BATCH:
        return Gather("none", columns, why="Spark keeps no order of rows")
    if facts.mode is not Mode.BATCH:
        return Gather("canonical within each step", columns, why="a match comes out once nothing can change it")
    if isinstance(program, Program) and not program.keys:
        return Gather("by where a match starts", columns, why="the rows are one sequence")
    if isinstance(program, Program):
        why = "partitions come in the order of their keys"
        return Gather("by key, then by where a match starts", columns, why=why)
    fired = "in the order in which they fire" if program.query.consuming else "canonical"
    is_shared = chosen.strategy is not Strategy.PARTITIONS and chosen.why != ASKED_FOR
    return Gather(fired, columns, facts.cores if is_shared else 1, "by the event at which a match is decided")


def _open(program: Program | EventProgram, facts: Facts, costs: Costs) -> Iterator[str]:
    """What is not known yet, and what depends on it."""
    if facts.mode is not Mode.BATCH:
        return
    if facts.rows is None:
        yield COUNTED_BY_TASKS if facts.host is Host.SPARK else COUNTED_LATER
    elif isinstance(program, Program) and not program.asks and facts.code is None and costs.asks_for_code(facts.rows):
        yield CODE_LATER
    if isinstance(program, EventProgram) and facts.estimates is None:
        yield ORDERED_LATER


def _bytes(count: int) -> str:
    return f"{count >> 20:,} MiB" if count >= 1 << 20 else f"{count:,} bytes"
