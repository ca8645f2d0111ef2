"""Sorted events in, leaves of matches out."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from motif.engine.budget import Budget
from motif.engine.events.consume import Consumer, drivers_of
from motif.engine.events.ended import leaves_by_end
from motif.engine.events.functions import Functions
from motif.engine.events.join_plan import planned
from motif.engine.events.joins import Mode, TooSlow, WayJoin, hurried, patience
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.merge import in_time_order
from motif.engine.events.picks import apply_picks
from motif.engine.events.rows import EventRows, no_matches
from motif.engine.events.simulate import Simulation
from motif.engine.pace import COMPILE_FROM_ROWS, SMALL_STEP, is_slow, pays, timed
from motif.ir.event import EventQuery
from motif.kernels.build import native_joins
from motif.kernels.native import Native, are_kept
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.events.ways import coincide

NO_FUNCTIONS = Functions({})
CONSUMING_EFFORT = 3
"""How many times as long as others the loop for CONSUMING takes to compile."""


def match_sorted(
    program: EventProgram,
    table: pa.Table,
    *,
    functions: Functions = NO_FUNCTIONS,
    compiled: bool | None = None,
    threads: int = 1,
) -> pa.Table:
    """Leaves of all matches over events that are partitioned and in order; by when they end.

    `threads`: that share a join, unless it is plain Python, of which one thread runs at a time.
    """
    found = match_part(program, table, functions=functions, compiled=compiled, threads=threads)
    return in_time_order([found]) if program.keys else found


def match_part(
    program: EventProgram,
    table: pa.Table,
    *,
    functions: Functions = NO_FUNCTIONS,
    compiled: bool | None = None,
    estimates: Estimates | None = None,
    threads: int = 1,
    budget: Budget | None = None,
) -> pa.Table:
    """The same of a part of all events; with a key, `in_time_order` brings the parts together."""
    rows = EventRows(program, table, estimates, budget=budget)
    matches = find_matches(rows, functions, compiled=compiled, in_order=False, threads=threads)
    rows.budget.check(len(matches))
    return leaves_by_end(rows, matches, compiled=compiled, threads=threads)


def why_in_sequence(query: EventQuery) -> str | None:
    """Why a query without a key cannot be shared by all cores; None if it can."""
    return "CONSUMING makes every match depend on the ones before it" if query.consuming else None


def effort(program: EventProgram) -> int:
    """How many times as long as others its loop takes to compile."""
    return CONSUMING_EFFORT if program.query.consuming else 1


def compile_from(program: EventProgram) -> int:
    """Events from which on compiling pays however little there is to join."""
    return COMPILE_FROM_ROWS * effort(program)


def find_matches(
    rows: EventRows,
    functions: Functions = NO_FUNCTIONS,
    *,
    compiled: bool | None,
    in_order: bool = True,
    threads: int = 1,
) -> EventMatches:
    """All matches: partition after partition, each in canonical order (with CONSUMING, the order of firing).

    Where it is left open, a few events are joined as plain Python, unless that takes long or the loop is compiled.
    """
    if not rows.count or not rows.program.ways:
        return no_matches(rows)
    rows.let_pass(functions.masks(rows))
    if compiled is not None:
        return _find(rows, functions, Mode(compiled), in_order, threads)
    program, query = rows.program, rows.program.fingerprint
    loops = partial(_loops, rows, functions)
    if pays(rows.count, loops, effort(program)) or is_slow(query, rows.count, loops, patience(program)):
        return _find(rows, functions, Mode(True), in_order, threads)
    try:
        with timed(query, rows.count, compiled=False):
            mode = hurried(program, is_kept=rows.count > SMALL_STEP and are_kept(loops()))
            return _find(rows, functions, mode, in_order)
    except TooSlow:
        return _find(rows, functions, Mode(True), in_order, threads)


def _loops(rows: EventRows, functions: Functions) -> list[Native]:
    """The compiled loops that this takes."""
    tested_later = functions.on_several(rows.program)
    consuming = bool(rows.program.query.consuming) and not tested_later
    if consuming:
        plans = [planned(rows, number, driver, choose=False) for number, driver in drivers_of(rows)]
    else:
        plans = [planned(rows, number, choose=not tested_later) for number in range(len(rows.program.ways))]
    return native_joins(tuple(plan.join for plan in plans), consuming=consuming)


def _find(rows: EventRows, functions: Functions, mode: Mode, in_order: bool, threads: int = 1) -> EventMatches:
    program = rows.program
    tested_later = functions.on_several(program)
    if program.query.consuming and not tested_later:
        return Consumer(rows, mode).fired()
    ways = [WayJoin(rows, number, mode, choose=not tested_later) for number in range(len(program.ways))]
    test = partial(functions.filtered, rows)
    if mode.compiled:
        parts = [part for way in ways for part in way.shared(threads, test)]
    else:  # it may be given up: functions are asked for nothing until it is certain that they are not asked twice
        found = [chunk for way in ways for chunk in way.chunks()]
        parts = [ways[0].held(test(chunk)) for chunk in found]
    matches = joined(parts)
    if coincide(program.ways):
        matches = matches.distinct()
    if program.query.consuming:
        return Simulation(rows, matches).fired()
    picked = apply_picks(matches, program.query.picks, rows.segment)
    return picked.in_order(program.variables) if in_order else picked
