"""What runs inside Spark's Python workers for event queries: events of whole partitions in, leaves of matches out.

A worker holds the events that one task was sent: those that can play a role, with the columns the query reads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.matches import NEVER, EventMatches
from motif.engine.events.measures import leaves
from motif.engine.events.rows import EventRows
from motif.engine.events.run import find_matches
from motif.engine.execution import Execution
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Layout, arrange
from motif.engine.told import Told
from motif.errors import MotifError
from motif.hosts.spark.questions import questions_of
from motif.hosts.spark.tell import Tell, arriving, counting
from motif.hosts.spark.worker import FACTS, OUTPUT_ROWS, Batches, told_of
from motif.plan.events.program import EventProgram, Slice
from motif.plan.physical.costs import Costs
from motif.plan.physical.exact import picked
from motif.plan.physical.ran import Work


def event_matcher(
    program: EventProgram,
    layout: Layout,
    functions: Functions,
    costs: Costs,
    cut: Slice | None = None,
    tell: Tell | None = None,
) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow`: sort what this task was sent, then match it; `tell` what was counted."""

    def match(batches: Batches) -> Batches:
        expect_large_arrays()
        execution = Execution(program, FACTS, costs)
        with counting(execution, tell):
            ledger = execution.ledger
            held = [batch for batch in arriving(batches, ledger) if batch.num_rows]
            events = with_time(program, pa.Table.from_batches(held)) if held else None
            held.clear()
            if events is not None and events.num_rows:
                with ledger.step(Work.ARRANGE):
                    table = arrange(events.combine_chunks(), layout)
                ledger.gave(Work.ARRANGE, table)
                del events
                found = matches_of(table, functions, execution, cut)
                yield from found.combine_chunks().to_batches(max_chunksize=OUTPUT_ROWS)

    return match


def event_asker(
    program: EventProgram, layout: Layout, functions: Functions, costs: Costs, cut: Slice | None, schema: pa.Schema
) -> Callable[[Batches], Batches]:
    """The same, of which only the questions to Spark are kept; on what else it fails, the last search says."""
    match = event_matcher(program, layout, functions, costs, cut)

    def ask(batches: Batches) -> Batches:
        with suppress(MotifError):
            for _ in match(batches):
                pass
        asked = [told_of(condition.asked) for condition in program.conditions if condition.asked is not None]
        yield from questions_of(asked, schema).to_batches()

    return ask


def told_events(program: EventProgram, told: Sequence[Told]) -> EventProgram:
    """The same for workers, which are told what Spark has said."""
    answers = iter(told)
    return replace(
        program,
        conditions=tuple(
            condition if condition.asked is None else condition.with_answers(next(answers))
            for condition in program.conditions
        ),
    )


def with_time(program: EventProgram, events: pa.Table) -> pa.Table:
    """Events without a time are set aside, and counted in the log of the worker."""
    times = events.column(program.time)
    if not times.null_count:
        return events
    name = program.stream.time
    logging.getLogger("motif").warning("%d events have no %s and were left out", times.null_count, name)
    return events.filter(pc.is_valid(times))


def matches_of(table: pa.Table, functions: Functions, execution: Execution, cut: Slice | None) -> pa.Table:
    """Leaves of the matches that belong to this task."""
    program, ledger = execution.program, execution.ledger
    assert isinstance(program, EventProgram)
    ledger.took(Work.MATCH, table)
    with ledger.step(Work.MATCH):
        rows = EventRows(program, table, execution)
        found = find_matches(rows, functions, in_order=False)  # Spark keeps no order
        found = found if cut is None else found.take(_owned(rows, found, cut))
    ledger.gave(Work.MATCH, found)
    ledger.took(Work.GATHER, found)
    with ledger.step(Work.GATHER):
        result = leaves(rows, found)
    ledger.gave(Work.GATHER, result)
    return result


def _owned(rows: EventRows, matches: EventMatches, cut: Slice) -> Array:
    """Matches whose anchor lies in the slice in which they were found: every other slice that sees them leaves them."""
    if not len(matches):
        return np.zeros(0, np.int64)
    anchor = _anchors(rows.program, matches)
    own = rows.time[anchor] // cut.microseconds
    return np.flatnonzero(own == rows.rows.lanes(cut.column).values[anchor])


def _anchors(program: EventProgram, matches: EventMatches) -> Array:
    """The first event that is not up for choice: all rivals of a match have the same one."""
    columns = [column for var, column in matches.singles.items() if var not in picked(program)]
    anchors: Array = np.minimum.reduce([np.where(column < 0, NEVER, column) for column in columns])
    return anchors
