"""Event queries, planned against their events: what the host reads, and what is known of the candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from motif.engine.events.run import compile_from, why_in_sequence
from motif.engine.order import crossing
from motif.engine.pace import LOAD_FROM_ROWS
from motif.engine.parallel import SHARD_ROWS
from motif.explanation.events import Sketch, event_facts
from motif.explanation.facts import ClauseFacts, Step
from motif.explanation.hosts import NO_EXCHANGE, buckets_of, crossing_notes, raise_first, reader, stream_steps
from motif.ir.event import EventQuery
from motif.ir.expr import Call, Column, Expr, Literal
from motif.ir.render import Dialect
from motif.options import EventOptions
from motif.plan.conditions import HostColumns
from motif.plan.events.conditions import EventLifter, split_conditions
from motif.plan.events.keys import is_implied, key_parts
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.events.ways import ways_of

NOT_COUNTED = (
    "candidates are counted when the query runs, and the rarest are bound first; the steps below are for equal counts"
)


def text_facts(queries: Sequence[EventQuery], options: EventOptions) -> Iterator[ClauseFacts]:
    """What the text alone tells; types are taken to fit."""
    for number, query in enumerate(queries, 1):
        yield event_facts(number, _text_sketch(query, options))


def _text_sketch(query: EventQuery, options: EventOptions) -> Sketch:
    lifter = EventLifter(query, HostColumns(), "duckdb")
    ways = ways_of(query)
    parts = key_parts(query, options.stream, lifter, ways)
    kept = tuple(c for c in query.conditions if not is_implied(c, parts, lifter, ways))
    conditions = split_conditions(replace(query, conditions=kept), lifter.columns, "duckdb", options.functions)
    parallel = _parallel(query, keyed=bool(parts))
    estimates = _equal_counts(query)
    return Sketch(query, options.stream, "duckdb", parts, conditions, ways, estimates, options.functions, parallel)


def _equal_counts(query: EventQuery) -> Estimates:
    return Estimates({event.var: 1 for event in (*query.events(), *query.negated())})


def _parallel(query: EventQuery, *, keyed: bool) -> str:
    if keyed:
        return f"by key: all cores share the join, or have partitions of their own (from {2 * SHARD_ROWS:,} events on)"
    why = why_in_sequence(query)
    if why is not None:
        return f"in sequence, on one core: there is no key, and {why}"
    return "by the events that are bound first: all cores share them where the join takes more than a millisecond"


def _sketch(program: EventProgram, options: EventOptions, parallel: str, masks: Mapping[str, str]) -> Sketch:
    dialect: Dialect = "spark" if program.dialect == "spark" else "duckdb"
    return Sketch(
        program.query,
        program.stream,
        dialect,
        program.key_parts,
        program.conditions,
        program.ways,
        _equal_counts(program.query),
        options.functions,
        parallel,
        masks,
    )


def _masks(program: EventProgram, sql: Callable[[Expr], str]) -> dict[str, str]:
    """What the host computes for each variable."""
    classes = {event.var: event.type for event in (*program.query.events(), *program.query.negated())}
    tests: dict[str, Expr] = {}
    for var, mask in program.masks:
        if mask is not None and mask.number is not None:
            tests[var] = Call("=", (Column(program.stream.type or ""), Literal(classes[var])))
        elif mask is not None:
            tests[var] = program.columns[mask.column]
    return {var: sql(test) for var, test in tests.items()}


# -- DuckDB


def duckdb_facts(queries: Sequence[EventQuery], data: Any, options: EventOptions) -> Iterator[ClauseFacts]:
    """Every query, planned against events in process; no event is read."""
    from motif.hosts import duckdb, duckdb_events

    raise_first(duckdb_events.stack_errors(data, queries, options.stream, options.functions))
    stack = duckdb_events.Stack(data, options.stream, queries)
    for number, query in enumerate(queries, 1):
        program, source = stack.plan(query, options.functions)
        masks = _masks(program, duckdb.row_sql)
        parallel = _parallel(program.query, keyed=bool(program.keys))
        exprs = crossing(program)
        columns = crossing_notes([duckdb.row_sql(expr) for expr in exprs], source.types_of(exprs))
        steps = [
            Step(_reads(program, source), duckdb_events.input_sql(program, source), columns),
            Step("Motif sorts and joins them", "", (_compiled(program),)),
        ]
        if not program.outputs.is_plain:
            steps.append(Step("DuckDB computes the items", duckdb.output_sql(program, "matches")))
        yield event_facts(number, _sketch(program, options, parallel, masks), steps, NOT_COUNTED)
        if number < len(queries):
            empty = duckdb_events.run_program(program, source.empty(), options.functions)
            stack.add(query, empty)


def _reads(program: EventProgram, source: Any) -> str:
    own = source.own_rows(program)
    if own is None:
        return "DuckDB reads the events that can play a role"
    return f"{reader(own)}, and Motif chooses the events that can play a role"


def _compiled(program: EventProgram) -> str:
    when = f"compiled from {compile_from(program):,} events on, from {LOAD_FROM_ROWS:,} on if that was done before"
    return f"{when}; below that, plain Python unless it takes long"


# -- Spark


def spark_facts(queries: Sequence[EventQuery], data: Any, options: EventOptions) -> Iterator[ClauseFacts]:
    """Every query, planned against Spark DataFrames; no job is run."""
    from motif.hosts.spark import batch, events

    stack = events.Stack(data, options.stream, queries)
    if any(frame.isStreaming for frame in stack.inputs.values()):
        yield from _stream_facts(queries, data, options)
        return
    raise_first(events.stack_errors(data, queries, options.stream, options.functions))
    for number, query in enumerate(queries, 1):
        program, source = stack.plan(query, options.functions)
        masks = _masks(program, batch.row_sql)
        is_small = events.is_read_by_one_task(program, source, options.functions)
        parallel = "in sequence, by one task: there are few events" if is_small else _on_cluster(program)
        steps = _spark_steps(program, source, NO_EXCHANGE if is_small else _exchanged(program, parallel))
        yield event_facts(number, _sketch(program, options, parallel, masks), steps, NOT_COUNTED)
        if number < len(queries):
            stack.add(query, events.run_program(program, source, options.functions))


def _stream_facts(queries: Sequence[EventQuery], data: Any, options: EventOptions) -> Iterator[ClauseFacts]:
    """Every query, planned against streaming DataFrames; nothing is started."""
    from motif.engine.events.functions import Functions
    from motif.hosts.spark import batch, events, stream

    raise_first(stream.stack_errors(data, queries, options.stream, options.functions))
    stack, chain = events.Stack(data, options.stream, queries), stream.Chain(stream.LIVE)
    for number, query in enumerate(queries, 1):
        program, source = stack.plan(query, options.functions)
        masks = _masks(program, batch.row_sql)
        chosen = [] if program.admitted is None else [Step("Spark filters", batch.row_sql(program.admitted))]
        steps = [*chosen, *stream_steps(program, source, "Motif keeps events and joins them")]
        yield event_facts(number, _sketch(program, options, buckets_of(program), masks), steps, NOT_COUNTED)
        if number < len(queries):
            stack.add(query, chain.events(program, source, Functions(dict(options.functions))))


def _on_cluster(program: EventProgram) -> str:
    from motif.hosts.spark import events

    if program.keys:
        return "by key: each task has whole partitions"
    why = events.why_one_task(program)
    if why is not None:
        return f"in sequence, by one task: there is no key, and {why}"
    return "by time slices: each task has some, and what WITHIN reaches of their neighbours"


def _exchanged(program: EventProgram, parallel: str) -> str:
    from motif.hosts.spark import batch

    return f"repartition by {', '.join(batch.key_columns(program))}" if program.keys else parallel


def _spark_steps(program: EventProgram, source: Any, exchange: str) -> list[Step]:
    from motif.hosts.spark import batch

    exprs = crossing(program)
    items = [batch.row_sql(expr) for expr in exprs]
    select = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
    chosen = [] if program.admitted is None else [Step("Spark filters", batch.row_sql(program.admitted))]
    final = ", ".join(f"{batch.row_sql(expr)} AS {batch.quoted(name)}" for name, expr in program.outputs.columns)
    before, after = _asked_by_spark(program)
    return [
        *chosen,
        Step("Spark selects", select, crossing_notes(items, source.types_of(exprs))),
        Step("Spark exchanges", "", (exchange,)),
        *before,
        Step("Motif sorts and joins, inside mapInArrow"),
        *after,
        Step("Spark selects the result", final),
    ]


def _asked_by_spark(program: EventProgram) -> tuple[list[Step], list[Step]]:
    """What Spark has to say of several events: of candidates before the last search, or of what that has found."""
    from motif.hosts.spark import batch, events

    asked = sum(condition.asked is not None for condition in program.conditions)
    if not asked:
        return [], []
    if events.is_tested_after(program):
        _, test = events.tested_after(program)
        assert test is not None, "something is asked"
        return [], [Step("Spark tests what is found", batch.row_sql(test))]
    rounds = "a job over all events" if asked == 1 else f"{asked} jobs over all events, one for each condition"
    notes = (
        f"when the query is made, not when its rows are asked for: {rounds}, for it decides about other matches",
        f"the driver holds the values, up to host_questions={program.limits.host_questions:,} for each condition",
    )
    return [Step("Spark is asked about candidates", "", notes)], []


__all__ = ["duckdb_facts", "spark_facts", "text_facts"]
