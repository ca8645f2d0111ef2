"""Rows in memory -> matches on all cores: partitions are dealt out to threads, each with its own session.

The loops release the GIL, and no partition is split, so threads share nothing but the rows. Only rows without
partitions are cut, see `pieces`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from motif.engine.execution import Execution, code_of
from motif.engine.matcher import loops_of
from motif.engine.memory import expect_large_arrays
from motif.engine.order import Arrangement, Layout
from motif.engine.partitions import with_coded_keys
from motif.engine.pieces import leaves_by_piece
from motif.engine.session import Session
from motif.engine.threads import on_threads
from motif.plan.physical.plan import Strategy
from motif.plan.physical.ran import Work
from motif.plan.program import Program


def match_rows(program: Program, rows: pa.Table, layout: Layout, execution: Execution) -> list[pa.Table]:
    """Leaves of all matches in rows that are in no order."""
    expect_large_arrays()
    count, budget, ledger = rows.num_rows, execution.budget, execution.ledger
    costs = execution.costs
    code = None
    if costs.asks_for_code(count) and not program.asks:
        code = code_of(loops_of(program))
    plan = execution.learn(rows=count, code=code)
    ledger.took(Work.ARRANGE, rows)
    with ledger.step(Work.ARRANGE):
        arrangement = Arrangement(with_coded_keys(rows, layout.keys), layout)
    del rows  # the caller keeps none either: they are held once
    parts = plan.match.parts or 1
    if plan.match.strategy is Strategy.PIECES:
        size = min(-(-count // parts), execution.costs.run_rows)
        with ledger.step(Work.ARRANGE):
            arranged = arrangement.in_order()
        ledger.gave(Work.ARRANGE, arranged)
        found = leaves_by_piece(program, arranged, execution, size=size, at_once=parts)
        return list(budget.counted(found))
    with ledger.step(Work.ARRANGE):
        shard = arrangement.shards(parts)

    def work(number: int) -> list[pa.Table]:
        with ledger.step(Work.ARRANGE):
            rows = shard(number)
        ledger.gave(Work.ARRANGE, rows)
        return list(budget.counted(_matches(Session(program, execution), rows)))

    return [leaves for part in on_threads(work, parts) for leaves in part]


def _matches(session: Session, rows: pa.Table) -> Iterator[pa.Table]:
    yield from session.feed(rows.slice(0, 0))
    step = session.execution.costs.run_rows
    for start in range(0, rows.num_rows, step):
        yield from session.feed(rows.slice(start, step))
    yield from session.finish()
