"""The one matcher that every host drives: feed sorted rows, take decided matches.

Rows come partition after partition, each in its final order. A match is given out as soon as no row that may still
come can change it. What is kept are the rows that can still be part of a match, and where the search stands in them;
everything else is worked out again from these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from motif.engine import state
from motif.engine.arrays import Array
from motif.engine.matcher import COMPILE_FROM_ROWS, Matches, Resume, Rows, Run
from motif.engine.measures import Measures, OutputRows
from motif.ir import query as q
from motif.plan.outputs import leaf_name
from motif.plan.program import Program

RUN_ROWS = 1 << 19
"""Rows gathered before the loop is run: enough to make the work per row small, few enough to fit caches."""


class Session:
    """Matches of one program over rows fed in order."""

    def __init__(self, program: Program, *, compiled: bool | None = None, run_rows: int = RUN_ROWS) -> None:
        """`run_rows`: rows gathered before they are looked at; 1 gives out every match as soon as it is decided."""
        self.program = program
        self.compiled = compiled
        self.run_rows = run_rows
        self.waiting: list[pa.Table] = []
        self.waiting_rows = 0
        self.next_run = run_rows
        self.fed = 0
        self.resume = Resume()
        self.covered = 0
        """Rows of the open partition before this one are in a match (relative to the kept rows)."""

    def feed(self, rows: pa.Table | pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows; give out what is decided."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        self.waiting.append(table)
        self.waiting_rows += table.num_rows
        self.fed += table.num_rows
        if self.waiting_rows >= self.next_run:
            yield from self._run(is_open=True)

    def finish(self) -> Iterator[pa.Table]:
        """No more rows: decide the rest."""
        yield from self._run(is_open=False)

    def dump(self) -> bytes:
        """All that is needed to go on elsewhere: kept rows and where the search stands in them."""
        facts = state.Facts(self.resume.start, self.resume.number, self.resume.dropped, self.covered, self.fed)
        return state.dump(self.program.fingerprint, facts, self._table())

    @classmethod
    def load(cls, program: Program, saved: bytes, *, compiled: bool | None = None, run_rows: int = RUN_ROWS) -> Session:
        """A session that goes on where `dump` was called."""
        facts, table = state.load(program.fingerprint, saved)
        session = cls(program, compiled=compiled, run_rows=run_rows)
        session.waiting = [] if table is None else [table]
        session.waiting_rows = 0 if table is None else table.num_rows
        session.next_run = session._threshold()
        session.fed = facts.fed
        session.resume = Resume(facts.start, facts.number, facts.dropped)
        session.covered = facts.covered
        return session

    def _table(self) -> pa.Table | None:
        if not self.waiting:
            return None
        return self.waiting[0] if len(self.waiting) == 1 else pa.concat_tables(self.waiting)

    def _run(self, *, is_open: bool) -> Iterator[pa.Table]:
        table = self._table()
        if table is None:
            return
        compiled = self.fed >= COMPILE_FROM_ROWS if self.compiled is None else self.compiled
        rows = Rows(self.program, table)
        run = Run(rows, self.resume, is_open=is_open, compiled=compiled)
        writer = _Writer(rows, self.resume.start, self.covered, compiled=compiled)
        any_output = False
        for matches in run.matches():
            any_output = True
            yield writer.write(matches)
        decided = run.resume.start if is_open else rows.count
        if writer.unmatched or not any_output:
            yield writer.rest(decided)
        self._keep(table, rows, run, writer, is_open=is_open)

    def _keep(self, table: pa.Table, rows: Rows, run: Run, writer: _Writer, *, is_open: bool) -> None:
        """Drop every row that no later match can read; one stays, to know the partition again."""
        if is_open and not rows.count:
            return
        if is_open:
            low = int(rows.bounds[-2])
            start = max(run.resume.start, low)
            keep = max(low, min(start - self.program.lookback, rows.count - 1))
            dropped = keep - low + (self.resume.dropped if low == 0 else 0)
            self.resume = Resume(start - keep, run.resume.number, dropped)
            self.covered = max(writer.covered - keep, 0)
            kept = table.slice(keep)
        else:
            self.resume, self.covered, kept = Resume(), 0, table.slice(table.num_rows)
        self.waiting = [kept]
        self.waiting_rows = kept.num_rows
        self.next_run = self._threshold()

    def _threshold(self) -> int:
        """Rows to wait for; as many again as are kept, so that looking at those again costs little altogether."""
        return self.waiting_rows + (1 if self.run_rows == 1 else max(self.run_rows, self.waiting_rows))


class _Writer:
    """Turns matches into output rows, and knows which rows were in none."""

    def __init__(self, rows: Rows, position: int, covered: int, *, compiled: bool) -> None:
        self.rows = rows
        self.mode = rows.program.query.rows
        self.compiled = compiled
        self.unmatched = self.mode is q.Rows.ALL_WITH_UNMATCHED
        self.position = position
        """Rows before this one are settled: written as unmatched, or in a match."""
        self.covered = covered

    def write(self, matches: Matches) -> pa.Table:
        output = self._one_row(matches) if self.mode is q.Rows.ONE else self._all_rows(matches)
        return self._leaves(matches, output)

    def rest(self, decided: int) -> pa.Table:
        """Rows from the last match to where the search stands; an empty table in other modes."""
        nothing = np.zeros(0, np.int64)
        matches = Matches(nothing, nothing, nothing, nothing, np.zeros(0, np.int32), np.zeros(1, np.int64))
        rows = self._uncovered(decided, nothing, nothing) if self.unmatched else nothing
        minus = np.full(len(rows), -1)
        return self._leaves(matches, OutputRows(rows, minus, minus))

    def _leaves(self, matches: Matches, output: OutputRows) -> pa.Table:
        measures = Measures(self.rows, matches, output, compiled=self.compiled)
        leaves = self.rows.program.outputs.leaves
        names = [leaf_name(i) for i in range(len(leaves))]
        return pa.Table.from_arrays([measures.leaf(leaf) for leaf in leaves], names=names)

    def _one_row(self, matches: Matches) -> OutputRows:
        number = np.arange(len(matches))
        empty = matches.end == matches.start
        return OutputRows(matches.start, number, np.where(empty, -1, matches.offsets[1:] - 1))

    def _all_rows(self, matches: Matches) -> OutputRows:
        """Rows of matches but the excluded ones, empty matches as their start row, and rows in no match."""
        lengths = matches.end - matches.start
        match = np.repeat(np.arange(len(matches)), lengths)
        entry = np.arange(len(match))
        row = entry + np.repeat(matches.start - matches.offsets[:-1], lengths)
        shown = ~np.array(self.rows.program.automaton.excluded, bool)[matches.labels]
        parts = [(row[shown], match[shown], entry[shown])]
        if self.mode is not q.Rows.ALL_OMIT_EMPTY:
            empty = np.flatnonzero(lengths == 0)
            parts.append((matches.start[empty], empty, np.full(len(empty), -1)))
        if self.unmatched:
            missed = self._uncovered(int(matches.start[-1]), matches.start, matches.end)
            parts.append((missed, np.full(len(missed), -1), np.full(len(missed), -1)))
        if not any(len(part[0]) for part in parts[1:]):
            return OutputRows(*parts[0])
        row, match, entry = (np.concatenate(column) for column in zip(*parts, strict=True))
        # Each part is in order already, so a stable sort by where a match starts merges them.
        order = np.argsort(np.where(match < 0, row, matches.start[match]), kind="stable")
        return OutputRows(row[order], match[order], entry[order])

    def _uncovered(self, until: int, starts: Array, ends: Array) -> Array:
        """Rows from `position` up to `until` that are in no match; an empty match covers its start row."""
        candidates = np.arange(self.position, max(until, self.position))
        reached = np.full(len(candidates), self.covered)
        if len(starts):
            furthest = np.maximum.accumulate(np.maximum(ends, starts + 1))
            last = np.searchsorted(starts, candidates, side="right") - 1
            reached = np.maximum(reached, np.where(last >= 0, furthest[last], 0))
            self.covered = max(self.covered, int(furthest[-1]))
        self.position = max(until, self.position)
        return candidates[reached <= candidates]
