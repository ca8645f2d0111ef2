"""Sorted events in, leaves of matches out."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from motif.engine.events.consume import Consumer, drivers_of
from motif.engine.events.ended import leaves_by_end
from motif.engine.events.functions import Functions
from motif.engine.events.join_plan import planned
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.merge import in_time_order
from motif.engine.events.picks import apply_picks
from motif.engine.events.rows import EventRows, no_matches
from motif.engine.events.simulate import Simulation
from motif.engine.execution import Execution
from motif.kernels.build import native_joins
from motif.kernels.native import Native
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import coincide
from motif.plan.physical.plan import Running, Strategy
from motif.plan.physical.ran import Work

NO_FUNCTIONS = Functions({})


def match_sorted(
    program: EventProgram, table: pa.Table, execution: Execution, functions: Functions = NO_FUNCTIONS
) -> pa.Table:
    """Leaves of all matches over events that are partitioned and in order; by when they end."""
    found = match_part(EventRows(program, table, execution), functions)
    return in_time_order([found]) if program.keys else found


def match_part(rows: EventRows, functions: Functions = NO_FUNCTIONS) -> pa.Table:
    """Leaves of all matches over some partitions; with a key, `in_time_order` brings parts together."""
    ledger = rows.execution.ledger
    with ledger.step(Work.MATCH):
        matches = find_matches(rows, functions, in_order=False)
    ledger.gave(Work.MATCH, matches)
    ledger.took(Work.GATHER, matches)
    rows.execution.budget.check(len(matches))
    with ledger.step(Work.GATHER):
        return leaves_by_end(rows, matches, threads=rows.execution.plan.gather.threads)


def find_matches(rows: EventRows, functions: Functions = NO_FUNCTIONS, *, in_order: bool = True) -> EventMatches:
    """All matches: partition after partition, each in canonical order (with CONSUMING, the order of firing)."""
    if not rows.count or not rows.program.ways:
        return no_matches(rows)
    rows.let_pass(functions.masks(rows))
    rows.execution.ledger.candidates(lambda: {var: len(rows.candidates(var)) for var, _ in rows.program.masks})
    running = rows.execution.matching(rows.count, partial(loops_of, rows, functions))
    return _find(rows, functions, running, in_order)


def loops_of(rows: EventRows, functions: Functions) -> list[Native]:
    """The compiled loops that the matching takes."""
    tested_later = functions.on_several(rows.program)
    consuming = bool(rows.program.query.consuming) and not tested_later
    if consuming:
        plans = [planned(rows, number, driver, choose=False) for number, driver in drivers_of(rows)]
    else:
        plans = [planned(rows, number, choose=not tested_later) for number in range(len(rows.program.ways))]
    return native_joins(tuple(plan.join for plan in plans), consuming=consuming)


def _find(rows: EventRows, functions: Functions, running: Running, in_order: bool) -> EventMatches:
    program, plan = rows.program, rows.execution.plan
    tested_later = functions.on_several(program)
    if program.query.consuming and not tested_later:
        return Consumer(rows, running).fired()
    threads = rows.execution.facts.cores if plan.match.strategy is Strategy.SHARED else 1
    test = partial(functions.filtered, rows)
    counts = rows.execution.ledger.is_asked
    numbers = range(len(program.ways))
    ways = [WayJoin(rows, number, running, choose=not tested_later, counts=counts) for number in numbers]
    matches = joined([part for way in ways for part in way.shared(threads, test)])
    if coincide(program.ways):
        matches = matches.distinct()
    if program.query.consuming:
        return Simulation(rows, matches).fired()
    picked = apply_picks(matches, program.query.picks, rows.segment)
    return picked.in_order(program.variables) if in_order else picked
