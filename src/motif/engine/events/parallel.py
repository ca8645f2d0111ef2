"""Events in memory -> matches on all cores.

With a key, partitions are dealt out to threads. Without one the stream is cut into time slices that reach into
each other by the window: a slice owns the matches that begin in it, so together they have every match once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.joins import Mode, WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.measures import leaves
from motif.engine.events.merge import in_time_order
from motif.engine.events.picks import apply_picks
from motif.engine.events.promising import promising
from motif.engine.events.rows import EventRows, no_matches
from motif.engine.events.run import compile_from, find_matches, match_sorted
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Arrangement, Layout, arrange
from motif.engine.parallel import SHARD_ROWS, SHARDS_PER_CORE
from motif.engine.partitions import groups, with_coded_keys
from motif.engine.threads import cores, on_threads
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.events.ways import coincide

SAMPLE = 30_000
"""Events by which the order of steps is chosen."""
JOINED_EVENTS = 50_000
"""From here on threads share a join where there are too few events for each to do everything with its own."""


def match_events(
    program: EventProgram, events: pa.Table, plan: Layout, *, functions: Functions, compiled: bool | None
) -> pa.Table:
    """Leaves of all matches in events that are in no order."""
    expect_large_arrays()
    if not program.keys:
        return _unkeyed(program, arrange(events, plan), functions, compiled)
    events = with_coded_keys(events, plan.keys)
    group = groups(events, plan.keys)
    is_large = events.num_rows >= compile_from(program)
    events, group = promising(program, events, group, compiled=compiled)
    if compiled is None and is_large:
        compiled = True
    shards = _parts(events.num_rows)
    threads = cores() if shards == 1 and events.num_rows >= JOINED_EVENTS else 1
    # One order of steps for all: each would have to be compiled.
    estimates = _estimates(program, events, plan, group) if shards > 1 else None
    arrangement = Arrangement(events, plan, group=group)
    del events  # the caller keeps none either: they are held once

    shard = arrangement.shards(shards)

    def work(number: int) -> pa.Table:
        return match_sorted(
            program, shard(number), functions=functions, compiled=compiled, estimates=estimates, threads=threads
        )

    parts = on_threads(work, shards)
    return parts[0] if shards == 1 else in_time_order(parts)


def _estimates(program: EventProgram, events: pa.Table, plan: Layout, group: Array) -> Estimates:
    """Of a sample, as if it were all."""
    sample = Arrangement(events.slice(0, SAMPLE), plan, group=group[:SAMPLE]).in_order()
    return EventRows(program, sample).estimates


def _parts(rows: int) -> int:
    return min(cores() * SHARDS_PER_CORE, max(rows // SHARD_ROWS, 1)) if cores() > 1 else 1


def _unkeyed(program: EventProgram, table: pa.Table, functions: Functions, compiled: bool | None) -> pa.Table:
    rows = EventRows(program, table)
    parts = 1 if why_in_sequence(program) else _parts(rows.count)
    if parts == 1:
        matches = find_matches(rows, functions, compiled=compiled)
    else:
        matches = find_in_slices(rows, functions, parts, compiled=compiled is not False)
    return leaves(rows, matches, compiled=compiled)


def why_in_sequence(program: EventProgram) -> str | None:
    """Why a query without a key cannot be cut into time slices; None if it can."""
    if program.query.consuming:
        return "CONSUMING makes every match depend on the ones before it"
    if program.query.within is None:
        return "without WITHIN a match may reach over the whole input"
    if program.start is not None:
        return "composite events begin before their place in the order"
    return None


def find_in_slices(rows: EventRows, functions: Functions, parts: int, *, compiled: bool) -> EventMatches:
    """The sequential answer, slice by slice on threads; picks are made once all matches are together."""
    program = rows.program
    if not rows.count or not program.ways:
        return no_matches(rows)
    rows.let_pass(functions.masks(rows))
    joins = [WayJoin(rows, number, Mode(compiled), choose=False) for number in range(len(program.ways))]
    cuts = np.linspace(0, rows.count, parts + 1).astype(np.int64)

    def work(number: int) -> EventMatches:
        low, high = int(cuts[number]), int(cuts[number + 1])
        until = int(np.searchsorted(rows.clock, rows.clock[high - 1] + rows.within, side="right"))
        found = []
        for join in joins:
            for matches in join.another().chunks(since=low, until=until, own=high):
                first = matches.first()
                own = matches.take(np.flatnonzero((first >= low) & (first < high)))
                found.append(functions.filtered(rows, own))
        return joined(found)

    matches = joined(on_threads(work, parts))
    if coincide(program.ways):
        matches = matches.distinct()
    return apply_picks(matches, program.query.picks, rows.segment).in_order(program.variables)
