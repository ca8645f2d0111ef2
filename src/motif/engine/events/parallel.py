"""Events in memory -> matches on all cores.

With a key, partitions are dealt out to threads, which do everything with their own. Without one, with few events, or
where most are of one partition, the threads share the events that are bound first, and stretches of the matches.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.merge import in_time_order
from motif.engine.events.promising import promising
from motif.engine.events.rows import EventRows
from motif.engine.events.run import match_part
from motif.engine.execution import Execution
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Arrangement, Layout
from motif.engine.partitions import groups, with_coded_keys
from motif.engine.threads import on_threads
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.physical.plan import Strategy
from motif.plan.physical.ran import Work

SAMPLE = 30_000
"""Events by which the order of steps is chosen where threads have partitions of their own."""
LOOKED_AT = 4_000
"""Events by which partitions are compared."""


def match_events(
    program: EventProgram, events: pa.Table, layout: Layout, *, functions: Functions, execution: Execution
) -> pa.Table:
    """Leaves of all matches in events that are in no order."""
    expect_large_arrays()
    ledger = execution.ledger
    ledger.took(Work.LEAVE_OUT if execution.plan.match.leaves_out else Work.ARRANGE, events)
    with ledger.step(Work.ARRANGE):
        events = with_coded_keys(events, layout.keys)
        group = groups(events, layout.keys)
    if execution.plan.match.leaves_out:
        with ledger.step(Work.LEAVE_OUT):
            events, group = promising(program, events, group, execution)
        ledger.gave(Work.LEAVE_OUT, events)
        ledger.took(Work.ARRANGE, events)
    plan = execution.learn(rows=events.num_rows, largest_share=_largest_share(group) if program.keys else None)
    parts = (plan.match.parts or 1) if plan.match.strategy is Strategy.PARTITIONS else 1
    # One order of steps for all parts: each would have to be compiled.
    with ledger.step(Work.ARRANGE):
        estimates = _estimates(program, events, layout, group, execution) if parts > 1 else None
    if estimates is not None:
        execution.count(estimates)
    with ledger.step(Work.ARRANGE):
        shard = Arrangement(events, layout, group=group).shards(parts)
    del events  # the caller keeps none either: they are held once

    def work(number: int) -> pa.Table:
        with ledger.step(Work.ARRANGE):
            table = shard(number)
        ledger.gave(Work.ARRANGE, table)
        ledger.took(Work.MATCH, table)
        with ledger.step(Work.MATCH):
            rows = EventRows(program, table, execution, estimates)
            if parts == 1 and rows.count:
                execution.count(rows.estimates)
        return match_part(rows, functions)

    found = on_threads(work, parts)
    with ledger.step(Work.GATHER):
        leaves = in_time_order(found) if program.keys else found[0]
    ledger.gave(Work.GATHER, leaves)
    return leaves


def _estimates(
    program: EventProgram, events: pa.Table, layout: Layout, group: Array, execution: Execution
) -> Estimates:
    """Of a sample, as if it were all."""
    sample = Arrangement(events.slice(0, SAMPLE), layout, group=group[:SAMPLE]).in_order()
    return EventRows(program, sample, execution).estimates


def _largest_share(group: Array) -> float | None:
    """Of the events, the share of the partition that has most, as far as a sample tells."""
    if not len(group):
        return None
    _, counts = np.unique(group[:: len(group) // LOOKED_AT + 1], return_counts=True)
    return float(counts.max() / counts.sum())
