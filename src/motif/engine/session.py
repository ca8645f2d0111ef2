"""The matcher of row patterns over rows that come sorted: feed them, take decided matches.

Rows come partition after partition, each in its final order. A match is given out as soon as no row that may still
come can change it. What is kept are the rows that can still be part of a match, and where the search stands in them;
everything else is worked out again from these. (`engine.stream` is for rows that come in any order and never end.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from motif.engine.execution import Execution
from motif.engine.matcher import Rows, Run, Standing, loops_of
from motif.engine.output import Writer
from motif.plan.physical.ran import Work
from motif.plan.program import Program


class Session:
    """Matches of one program over rows fed in order."""

    def __init__(self, program: Program, execution: Execution) -> None:
        self.program = program
        self.execution = execution
        run_rows = execution.costs.run_rows
        self.run_rows = run_rows
        self.waiting: list[pa.Table] = []
        self.waiting_rows = 0
        self.next_run = run_rows
        self.fed = 0
        self.start = 0
        """Where the search goes on in the first partition that is kept; `number`: its matches so far."""
        self.number = 0
        self.has_dropped = False
        self.covered = 0
        """Rows of the open partition before this one are in a match (relative to the kept rows)."""

    def feed(self, rows: pa.Table | pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows; give out what is decided."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        self.execution.ledger.took(Work.MATCH, table)
        self.waiting.append(table)
        self.waiting_rows += table.num_rows
        self.fed += table.num_rows
        if self.waiting_rows >= self.next_run:
            yield from self._run(is_open=True)

    def finish(self) -> Iterator[pa.Table]:
        """No more rows: decide the rest."""
        yield from self._run(is_open=False)

    def _run(self, *, is_open: bool) -> Iterator[pa.Table]:
        if not self.waiting:
            return
        table = self.waiting[0] if len(self.waiting) == 1 else pa.concat_tables(self.waiting)
        ledger = self.execution.ledger
        running = self.execution.matching(self.fed, partial(loops_of, self.program))
        rows = Rows(self.program, table, self.execution)
        standing = self._standing(rows, is_open=is_open)
        writer = Writer(rows, self.start, self.covered)
        any_output = False
        for matches in ledger.each(Work.MATCH, Run(rows, standing, running).matches()):
            any_output = True
            ledger.gave(Work.MATCH, matches)
            ledger.took(Work.GATHER, matches)
            with ledger.step(Work.GATHER):
                found = writer.write(matches)
            ledger.gave(Work.GATHER, found)
            yield found
        decided = int(standing.start[-1]) if is_open and rows.count else rows.count
        if writer.unmatched or not any_output:
            with ledger.step(Work.GATHER):
                found = writer.rest(decided)
            ledger.gave(Work.GATHER, found)
            yield found
        self._keep(table, rows, standing, writer, is_open=is_open)

    def _standing(self, rows: Rows, *, is_open: bool) -> Standing:
        """The search goes on in the first partition; only the last one may have more rows."""
        standing = Standing.of(rows.bounds, more=False)
        if rows.count:
            standing.start[0], standing.number[0], standing.dropped[0] = self.start, self.number, self.has_dropped
            standing.more[-1] = is_open
        return standing

    def _keep(self, table: pa.Table, rows: Rows, standing: Standing, writer: Writer, *, is_open: bool) -> None:
        """Drop every row that no later match can read; one stays, to know the partition again."""
        if is_open and not rows.count:
            return
        if is_open:
            low = int(rows.bounds[-2])
            start = max(int(standing.start[-1]), low)
            keep = max(low, min(start - self.program.lookback, rows.count - 1))
            self.has_dropped = keep > low or (low == 0 and self.has_dropped)
            self.start, self.number = start - keep, int(standing.number[-1])
            self.covered = max(writer.covered - keep, 0)
            kept = table.slice(keep)
        else:
            self.start, self.number, self.has_dropped, self.covered = 0, 0, False, 0
            kept = table.slice(table.num_rows)
        self.waiting = [kept]
        self.waiting_rows = kept.num_rows
        self.next_run = self._threshold()

    def _threshold(self) -> int:
        """Rows to wait for; as many again as are kept, so that looking at those again costs little altogether."""
        return self.waiting_rows + (1 if self.run_rows == 1 else max(self.run_rows, self.waiting_rows))
