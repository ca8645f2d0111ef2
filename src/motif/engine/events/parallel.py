"""Events in memory -> matches on all cores.

With a key, partitions are dealt out to threads, which do everything with their own. Without one, with few events, or
where most are of one partition, the threads share the events that are bound first, and stretches of the matches.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.budget import Budget
from motif.engine.events.functions import Functions
from motif.engine.events.merge import in_time_order
from motif.engine.events.promising import promising
from motif.engine.events.rows import EventRows
from motif.engine.events.run import compile_from, match_part
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Arrangement, Layout
from motif.engine.parallel import SHARD_ROWS, SHARDS_PER_CORE
from motif.engine.partitions import groups, with_coded_keys
from motif.engine.threads import cores, on_threads
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates

SAMPLE = 30_000
"""Events by which the order of steps is chosen."""
EVENTS_PER_CALL = 15_000
"""Events that are matched in the time which a shard takes whatever its size, in Python, while all others wait."""
LOOKED_AT = 4_000
"""Events by which partitions are compared."""
SKEWED = 0.5
"""A partition with such a share of the events is as much work as all others together."""


def match_events(
    program: EventProgram,
    events: pa.Table,
    plan: Layout,
    *,
    functions: Functions,
    compiled: bool | None,
    budget: Budget,
) -> pa.Table:
    """Leaves of all matches in events that are in no order."""
    expect_large_arrays()
    events = with_coded_keys(events, plan.keys)
    group = groups(events, plan.keys)
    if program.keys:
        is_large = events.num_rows >= compile_from(program)
        events, group = promising(program, events, group, compiled=compiled)
        compiled = True if compiled is None and is_large else compiled
    shards = _shards(group) if program.keys else 1
    # One order of steps for all: each would have to be compiled.
    estimates = _estimates(program, events, plan, group) if shards > 1 else None
    arrangement = Arrangement(events, plan, group=group)
    del events  # the caller keeps none either: they are held once

    shard, threads = arrangement.shards(shards), cores() if shards == 1 else 1

    def work(number: int) -> pa.Table:
        return match_part(
            program,
            shard(number),
            functions=functions,
            compiled=compiled,
            estimates=estimates,
            threads=threads,
            budget=budget,
        )

    parts = on_threads(work, shards)
    return in_time_order(parts) if program.keys else parts[0]


def _estimates(program: EventProgram, events: pa.Table, plan: Layout, group: Array) -> Estimates:
    """Of a sample, as if it were all."""
    sample = Arrangement(events.slice(0, SAMPLE), plan, group=group[:SAMPLE]).in_order()
    return EventRows(program, sample).estimates


def _shards(group: Array) -> int:
    """Shards of whole partitions; one where a partition has most of the events."""
    best = math.isqrt(len(group) // EVENTS_PER_CALL)  # as for rows, see `shards_of` there
    shards = min(cores() * SHARDS_PER_CORE, len(group) // SHARD_ROWS, best)
    if shards < 2 or cores() == 1:
        return 1
    _, counts = np.unique(group[:: len(group) // LOOKED_AT + 1], return_counts=True)
    return 1 if counts.max() > SKEWED * counts.sum() else shards
