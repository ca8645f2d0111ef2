"""Queries with their physical plans as explanations: shows what hosts have planned, and plans nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from motif.explanation.events import Sketch, event_facts
from motif.explanation.facts import ClauseFacts, program_facts
from motif.explanation.measured import with_counters, with_levels
from motif.ir.event import EventQuery
from motif.ir.expr import Call, Column, Expr, Literal
from motif.ir.render import Dialect, row_sql
from motif.options import EventOptions
from motif.plan.conditions import HostColumns
from motif.plan.events.conditions import EventLifter, split_conditions
from motif.plan.events.keys import is_implied, key_parts
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.events.ways import ways_of
from motif.plan.physical.exact import why_in_sequence
from motif.plan.physical.facts import Host
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.text import work

NOT_COUNTED = (
    "candidates are counted when the query runs, and the rarest are bound first; the steps below are for equal counts"
)
COUNTED = "candidates were counted, and the rarest are bound first"


def planned_facts(queries: Sequence[PlannedQuery]) -> Iterator[ClauseFacts]:
    """What is to be said of each query and its plan."""
    for number, query in enumerate(queries, 1):
        program, ran = query.program, query.ran
        steps = with_counters(work(query.plan), ran)
        if isinstance(program, EventProgram):
            cost = NOT_COUNTED if ran is None or ran.estimates is None else COUNTED
            facts = event_facts(number, _planned_sketch(query), steps, cost)
        else:
            facts = program_facts(number, program, steps)
        yield replace(facts, ran=ran, ways=with_levels(facts.ways, ran))


def _planned_sketch(query: PlannedQuery) -> Sketch:
    program = query.program
    assert isinstance(program, EventProgram)
    dialect: Dialect = "spark" if query.plan.host is Host.SPARK else "duckdb"
    return Sketch(
        program.query,
        program.stream,
        dialect,
        program.key_parts,
        program.conditions,
        program.ways,
        (None if query.ran is None else query.ran.estimates) or equal_counts(program.query),
        query.functions,
        f"{query.plan.match.strategy}: {query.plan.match.why}",
        _masks(program, dialect),
    )


def _masks(program: EventProgram, dialect: Dialect) -> dict[str, str]:
    """What the host computes for each variable."""
    classes = {event.var: event.type for event in (*program.query.events(), *program.query.negated())}
    tests: dict[str, Expr] = {}
    for var, mask in program.masks:
        if mask is not None and mask.number is not None:
            tests[var] = Call("=", (Column(program.stream.type or ""), Literal(classes[var])))
        elif mask is not None:
            tests[var] = program.columns[mask.column]
    return {var: row_sql(test, dialect) for var, test in tests.items()}


# -- without data


def text_facts_of_events(queries: Sequence[EventQuery], options: EventOptions) -> Iterator[ClauseFacts]:
    """What the text alone tells of event queries; types are taken to fit."""
    for number, query in enumerate(queries, 1):
        yield event_facts(number, _text_sketch(query, options))


def _text_sketch(query: EventQuery, options: EventOptions) -> Sketch:
    lifter = EventLifter(query, HostColumns(), "duckdb")
    ways = ways_of(query)
    parts = key_parts(query, options.stream, lifter, ways)
    kept = tuple(c for c in query.conditions if not is_implied(c, parts, lifter, ways))
    conditions = split_conditions(replace(query, conditions=kept), lifter.columns, "duckdb", options.functions)
    parallel = _parallel(query, keyed=bool(parts))
    estimates = equal_counts(query)
    return Sketch(query, options.stream, "duckdb", parts, conditions, ways, estimates, options.functions, parallel)


def equal_counts(query: EventQuery) -> Estimates:
    """As if there were as many candidates for each variable."""
    return Estimates({event.var: 1 for event in (*query.events(), *query.negated())})


def _parallel(query: EventQuery, *, keyed: bool) -> str:
    if keyed:
        return "partitions: each core has whole partitions"
    if reason := why_in_sequence(query):
        return f"sequential: one core does all the work; {reason}"
    return "shared: cores share the events that are bound first"
