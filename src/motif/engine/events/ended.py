"""Matches of one run in the order in which they end, and their leaves, on all cores.

Of one partition that is their canonical order: events have one order, in which time rises.

Time is cut into stretches. The matches that end in one are brought into order by one thread, before their columns are
gathered, which are more: no other thread has to wait for that, and no array is as long as all matches together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.events.identity import event_hashes, hashed_by_loops
from motif.engine.events.matches import EventMatches
from motif.engine.events.measures import leaves
from motif.engine.events.merge import marked
from motif.engine.events.rows import EventRows
from motif.kernels import sort
from motif.kernels.build import sort_loop
from motif.plan.events.outputs import MatchId
from motif.plan.physical.ran import Work

SAMPLES = 256
"""Per stretch, to cut time where matches are."""
MOST_BUCKETS = 1 << 18


def leaves_by_end(rows: EventRows, matches: EventMatches, *, threads: int = 1) -> pa.Table:
    """Leaves of matches by end; of one partition those that end together are in canonical order.

    With CONSUMING they stay as they fire, which may be after others that end later. With a key they are `marked`.
    """
    if len(matches) < 2:
        return _leaves(rows, matches)
    by_loop = rows.execution.compiles(len(matches), lambda: [sort_loop()])
    stretches = _stretches(rows, matches, min(threads, 1 + len(matches) // rows.execution.costs.stretch_matches))

    hashes = None
    if len(stretches) > 1 and any(isinstance(leaf, MatchId) for leaf in rows.program.outputs.leaves):
        hashes = event_hashes(rows, matches, by_loops=hashed_by_loops(rows, matches))

    def work(number: int) -> pa.Table:
        own = matches if len(stretches) == 1 else matches.take(stretches[number])
        return _leaves(rows, in_order_of_end(rows, own, by_loop=by_loop), hashes=hashes)

    return pa.concat_tables(rows.execution.ledger.on_threads(Work.GATHER, work, len(stretches)))


def _leaves(rows: EventRows, matches: EventMatches, *, hashes: Array | None = None) -> pa.Table:
    found = leaves(rows, matches, hashes=hashes)
    return marked(found, rows.segment[matches.last()]) if rows.program.keys else found


def _stretches(rows: EventRows, matches: EventMatches, count: int) -> list[Array]:
    """Numbers of the matches that end in each stretch of time: about as many in each."""
    if count == 1:
        return [np.arange(len(matches))]
    ends = rows.time[matches.last()]
    samples = np.sort(ends[:: max(len(ends) // (SAMPLES * count), 1)])
    cuts = samples[len(samples) * np.arange(1, count) // count]
    stretch = np.zeros(len(ends), np.uint8)
    for cut in cuts:  # few: faster than to search them
        stretch += ends >= cut
    return [np.flatnonzero(stretch == number) for number in range(count)]


def in_order_of_end(rows: EventRows, matches: EventMatches, *, by_loop: bool) -> EventMatches:
    """Matches in that order; `by_loop`: brought into it by one that is compiled, if few end at the same time."""
    variables, are_fired = rows.program.variables, bool(rows.program.query.consuming)
    if not len(matches):
        return matches
    if by_loop:
        keys = [] if are_fired else matches.keys(variables)
        order = _sorted_by([*_ends(rows, matches), *keys])
        if order is not None:
            return matches.take(order if are_fired else matches.settled(order, keys, variables))
    if not are_fired:
        matches = matches.in_order(variables)
    for ends in _ends(rows, matches):
        if (ends[1:] < ends[:-1]).any():
            return matches.take(np.argsort(ends, kind="stable"))
    return matches


def _ends(rows: EventRows, matches: EventMatches) -> list[Array]:
    """When matches end, where their canonical order does not tell: of several partitions, or if they are fired."""
    return [rows.time[matches.last()]] if rows.program.keys or rows.program.query.consuming else []


def _sorted_by(keys: list[Array]) -> Array | None:
    """Numbers of the matches by one key after the other; None where the first one tells too few apart."""
    count = len(keys[0])
    order = np.empty(count, np.int64)
    buckets = min(1 << count.bit_length(), MOST_BUCKETS)
    status = sort_loop()(np.concatenate(keys), np.zeros(buckets + 1, np.int32), order)
    return order if status == sort.DONE else None
