"""Rows in memory -> matches on all cores: partitions are dealt out to threads, each with its own session.

The loops release the GIL, and no partition is split, so threads share nothing but the rows. Only rows without
partitions are cut, see `pieces`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from motif.engine.budget import Budget
from motif.engine.matcher import is_worth_compiling, loops_of
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Arrangement, Layout
from motif.engine.pace import is_slow, timed
from motif.engine.partitions import with_coded_keys
from motif.engine.pieces import is_for_pieces, leaves_by_piece
from motif.engine.session import RUN_ROWS, Session
from motif.engine.threads import cores, on_threads
from motif.plan.program import Program

SHARD_ROWS = 100_000
"""Fewer rows than this are not worth a thread."""
SHARDS_PER_CORE = 3
"""Several, so that a core that drew a large partition does not finish last by far."""
ROWS_PER_CALL = 25_000
"""Rows that are matched in the time which a shard takes whatever its size, in Python, while all others wait."""

ROWS_PER_PIECE = 2 * ROWS_PER_CALL
"""The same of a piece, for which there is twice as much to do in Python: to search it, and to write what was found."""


def match_rows(
    program: Program, rows: pa.Table, plan: Layout, *, compiled: bool | None, budget: Budget
) -> list[pa.Table]:
    """Leaves of all matches in rows that are in no order."""
    expect_large_arrays()
    query, count = program.fingerprint, rows.num_rows
    is_compiled = False if program.asks else compiled
    if is_compiled is None:
        is_compiled = is_worth_compiling(program, count) or is_slow(query, count, partial(loops_of, program))
    arrangement = Arrangement(with_coded_keys(rows, plan.keys), plan)
    del rows  # the caller keeps none either: they are held once
    shards = shards_of(count) if plan.keys else 1
    shard = arrangement.shards(shards)

    def work(number: int) -> list[pa.Table]:
        return list(budget.counted(_matches(Session(program, compiled=is_compiled or compiled), shard(number))))

    with timed(query, count, compiled=is_compiled):
        if is_compiled and (pieces := pieces_of(count)) > 1 and is_for_pieces(program):
            size = min(-(-count // pieces), RUN_ROWS)
            found = leaves_by_piece(program, shard(0), compiled=True, size=size, at_once=pieces)
            return list(budget.counted(iter(found)))
        return [leaves for part in on_threads(work, shards) for leaves in part]


def shards_of(rows: int) -> int:
    """Shards for which it takes least: with each there is less to match on a core, and more that only one can do."""
    best = math.isqrt(rows // ROWS_PER_CALL)
    return max(min(cores() * SHARDS_PER_CORE, rows // SHARD_ROWS, best), 1)


def pieces_of(rows: int) -> int:
    """The same for pieces of one sequence, which are of one size: no core needs several."""
    return max(min(cores(), math.isqrt(rows // ROWS_PER_PIECE)), 1)


def _matches(session: Session, rows: pa.Table) -> Iterator[pa.Table]:
    yield from session.feed(rows.slice(0, 0))
    for start in range(0, rows.num_rows, RUN_ROWS):
        yield from session.feed(rows.slice(start, RUN_ROWS))
    yield from session.finish()
