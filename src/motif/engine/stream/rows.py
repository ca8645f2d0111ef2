"""Row patterns over a stream: rows whose order is known now are searched, partition by partition.

A partition keeps the rows from where its search stands, and as many before as conditions look back. A search that
would read a row that has not come is undecided; more rows decide it, or the watermark once it has passed WITHIN.
"""

from __future__ import annotations

import logging
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, numpy_of, taken
from motif.engine.execution import Execution
from motif.engine.matcher import Rows, Run, Standing, loops_of
from motif.engine.matches import Matches
from motif.engine.order import Arrangement, Layout
from motif.engine.output import furthest, leaves, one_row, put_out
from motif.engine.partitions import by_partition
from motif.engine.stream.kept import Kept, Touched, constant, with_columns
from motif.engine.stream.partial import stopping_anywhere, timed_out
from motif.engine.stream.valid import ANY, FLAG, Range, check_partitions
from motif.engine.watermark import BEGINNING, FOREVER, is_past
from motif.errors import LimitExceeded
from motif.ir import query as q
from motif.ir.expr import MatchNumber, walk
from motif.ir.pattern import Anchor
from motif.ir.pattern import walk as walk_pattern
from motif.ir.types import Kind
from motif.kernels.aside import NotLoaded, compile_aside
from motif.plan.physical.plan import Running
from motif.plan.program import Program
from motif.plan.scalar import DAY

AHEAD, NUMBER, DROPPED, COVERED, DUE = "__ahead", "__number", "__dropped", "__covered", "__due"
"""Per row whether the search has yet to start there; and, the same for all rows of a partition, matches so far,
whether rows before are gone, how many rows are in a match already, and when WITHIN decides the search."""


class RowPatterns:
    """The rows of a stream that a row pattern still needs, and its matches."""

    is_eager = False
    """A row that comes later could be the next one, so nothing is decided before its order is known."""

    hold = None
    """How long after its end a match may be decided: no one knows."""

    def __init__(self, program: Program, execution: Execution, *, timeouts: bool = False) -> None:
        self.program = program
        self.execution = execution
        self.beginnings = stopping_anywhere(program) if timeouts and program.within is not None else None
        """The same pattern ending anywhere, if partial matches are asked for."""
        self.timeouts: tuple[pa.Table, ...] = ()
        """Partial matches of the last step whose time was over."""
        self.limited = 0
        """Rows let go because of a limit, since that was last asked."""
        self.kept = Kept(program.keys, DUE)
        self.seen = 0
        self.remembers = remembers(program)

    @property
    def live(self) -> int:
        """Rows at which a match may still begin."""
        return int(self.kept.column(AHEAD).sum()) if self.kept.count else 0

    def deadline(self) -> int:
        """When time alone decides something, or forever."""
        return self.kept.next_due(BEGINNING)

    def prepared(self, rows: pa.Table, times: Array) -> pa.Table:  # noqa: ARG002 - rows have theirs in a column
        """New rows with the columns that kept ones have."""
        facts = {AHEAD: 1, NUMBER: 0, DROPPED: 0, COVERED: 0, DUE: FOREVER}
        return with_columns(rows, {name: constant(value, rows.num_rows) for name, value in facts.items()})

    @property
    def ranges(self) -> dict[str, Range]:
        """What the columns of its own may hold."""
        return {AHEAD: FLAG, NUMBER: (0, ANY[1]), DROPPED: FLAG, COVERED: (0, ANY[1]), DUE: ANY}

    def valid(self, table: pa.Table, times: Array, layout: Layout) -> pa.Table:  # noqa: ARG002 - read where they are
        """Saved rows, partition after partition, each in order."""
        table = taken(table, Arrangement(table, layout, np.arange(table.num_rows)).sequence())
        facts = {name: numpy_of(flat(table.column(name))) for name in self.ranges}
        alike = [facts[name] for name in (NUMBER, DROPPED, DUE)]
        bounds = Rows(self.program, table, self.execution).bounds
        check_partitions(bounds, facts[AHEAD], facts[COVERED], alike)
        return table

    def fitted(self, table: pa.Table | None) -> pa.Table | None:
        """Rows that were kept for a query that put out something else: they are the same."""
        return table

    def prune(self, watermark: int) -> None:
        """Nothing: each step lets go of what it can."""

    def take(self, new: pa.Table | None, before: int, watermark: int) -> pa.Table | None:
        """Rows that follow all kept ones, in order; what is decided now that `watermark` has come."""
        self.seen += 0 if new is None else new.num_rows
        touched = self.kept.touched(new, before, watermark)
        if touched is None:
            return None
        found = self._by_partition(self._within_limits(touched, watermark))
        timeouts = self._by_partition(list(self.timeouts))
        self.timeouts = () if timeouts is None else (timeouts,)
        return found

    def _by_partition(self, parts: list[pa.Table]) -> pa.Table | None:
        """What a step gives does not tell where partitions lie, nor how rows arrived."""
        return by_partition(pa.concat_tables(parts), self.program.key_leaves) if parts else None

    def running(self, rows: int) -> Running:
        """How the loop of a step over so many rows runs: compiled once all rows so far would have been worth it."""
        if rows <= self.execution.costs.small_step_rows and self.execution.costs.compile_rows:
            return Running.PLAIN
        return self.execution.matching(self.seen, partial(loops_of, self.program))

    def _within_limits(self, touched: Touched, watermark: int) -> list[pa.Table]:
        """Matches of all partitions but those that ask for too much: these are let go, the others go on."""
        try:
            found = self._stepped(touched, watermark)
            return [] if found is None else [found]
        except LimitExceeded as error:
            halves = touched.in_halves()
            if not halves:
                count = touched.table.num_rows
                self.limited += count
                logging.getLogger("motif").warning("a partition of %d rows let go: %s", count, error)
                return []
            return [m for half in halves for m in self._within_limits(half, watermark)]

    def _stepped(self, touched: Touched, watermark: int) -> pa.Table | None:
        """One step, in plain Python until its loop is there."""
        count, most = touched.table.num_rows, self.execution.costs.compile_rows
        try:
            with compile_aside(wanted=bool(most) and count < most):
                return _Step(self, touched, watermark, self.running(count)).run()
        except NotLoaded:
            return _Step(self, touched, watermark, Running.PLAIN).run()


def remembers(program: Program) -> bool:
    """Whether a partition must be known again even if none of its rows matters any more."""
    query = program.query
    exprs = [measure.expr for measure in query.measures] + [define.condition for define in query.defines]
    numbered = any(isinstance(node, MatchNumber) for expr in exprs for node in walk(expr))
    return numbered or any(isinstance(node, Anchor) for node in walk_pattern(query.pattern))


class _Step:
    """Some partitions at one moment."""

    def __init__(self, owner: RowPatterns, touched: Touched, watermark: int, running: Running) -> None:
        self.owner = owner
        self.program = owner.program
        self.table = touched.table
        self.rows = Rows(owner.program, self.table, owner.execution, touched.bounds)
        self.low, self.high = self.rows.bounds[:-1], self.rows.bounds[1:]
        self.watermark = watermark
        self.is_over = watermark >= FOREVER
        self.running = running
        self.standing = self._standing()

    def _fact(self, name: str) -> Array:
        """A fact about each partition."""
        return numpy_of(flat(self.table.column(name)))[self.low]

    def _standing(self) -> Standing:
        passed = 1 - numpy_of(flat(self.table.column(AHEAD)))
        start, number = self.low + np.add.reduceat(passed, self.low), self._fact(NUMBER)
        more = np.full(len(self.low), not self.is_over, np.uint8)
        return Standing(start, number, self._fact(DROPPED).astype(np.uint8), more, self._open_from())

    @cached_property
    def _deadlines(self) -> Array | None:
        """Per row, the last moment of a match that starts there."""
        within = self.program.within
        if within is None:
            return None
        unit = DAY if self.program.types[within.column].kind is Kind.DATE else 1
        return (self.rows.lanes(within.column).values + int(within.bound)) * unit

    def _open_from(self) -> Array:
        """The first row of each partition whose WITHIN is not past."""
        if self._deadlines is None:
            return self.low.copy()
        passed = is_past(self._deadlines, self.watermark).astype(np.int64)
        opens: Array = self.low + np.add.reduceat(passed, self.low)
        return opens

    def run(self) -> pa.Table | None:
        began = self.standing.start.copy()
        parts, found = [], []
        between = self.program.query.rows is q.Rows.ALL_WITH_UNMATCHED
        for matches in Run(self.rows, self.standing, self.running).matches():
            found.append(matches)
            if not between:
                parts.append(leaves(self.rows, matches, put_out(self.rows, matches)))
        covered = self.low + self._fact(COVERED)
        if between:
            whole = Matches.joined(found)
            np.maximum.at(covered, whole.segment, np.maximum(whole.end, whole.start + 1))
            output = put_out(self.rows, whole, self._unmatched(began, whole))
            parts.append(leaves(self.rows, whole, output))
        if self.owner.beginnings is not None:
            self._time_out(self.owner.beginnings, began, found)
        self._keep(covered)
        return pa.concat_tables(parts) if parts else None

    def _time_out(self, beginnings: Program, began: Array, found: list[Matches]) -> None:
        """Partial matches of starts that the search has passed by because their time is over."""
        position = np.arange(self.rows.count)
        segment = np.repeat(np.arange(len(self.low)), self.high - self.low)
        until = self.high if self.is_over else np.minimum(self.standing.start, self._open_from())
        starts = (position >= began[segment]) & (position < until[segment])
        reached = np.zeros(self.rows.count, np.int64)
        for matches in found:
            starts[matches.start] = False
            reached = np.maximum(reached, furthest(matches, position))
        if self.program.query.skip.to is q.SkipTo.PAST_LAST:
            starts &= reached <= position  # never a start: the search skipped it
        if not starts.any():
            return
        rows = Rows(beginnings, self.table, self.owner.execution)
        limits = np.asarray(Run(rows, self.standing, Running.PLAIN).limits())
        found_out = timed_out(rows, starts, limits, self.running)
        if len(found_out):
            self.owner.timeouts += (leaves(rows, found_out, one_row(found_out)),)

    def _unmatched(self, began: Array, matches: Matches) -> Array:
        """Rows the search has passed by that are in no match."""
        until = self.high if self.is_over else self.standing.start
        position = np.arange(self.rows.count)
        segment = np.repeat(np.arange(len(self.low)), self.high - self.low)
        candidates = np.flatnonzero((position >= began[segment]) & (position < until[segment]))
        reached = np.maximum(furthest(matches, candidates), (self.low + self._fact(COVERED))[segment][candidates])
        missed: Array = candidates[reached <= candidates]
        return missed

    def _keep(self, covered: Array) -> None:
        """Drop every row that no later match can read."""
        if self.is_over:
            return
        start = self.standing.start
        keep = np.maximum(self.low, start - self.program.lookback)
        if self.owner.remembers:
            keep = np.minimum(keep, self.high - 1)
        excess = np.maximum(self.high - keep - self.program.limits.stream_events, 0)
        if excess.any():
            self.owner.limited += int(excess.sum())
            logging.getLogger("motif").warning("%d oldest rows let go (limit stream_events)", int(excess.sum()))
            keep, start = keep + excess, np.maximum(start, keep + excess)
        sizes = self.high - keep
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        kept = np.repeat(keep - bounds[:-1], sizes) + np.arange(int(bounds[-1]))
        facts = {
            NUMBER: self.standing.number,
            DROPPED: ((keep > self.low) | (self._fact(DROPPED) != 0)).astype(np.int64),
            COVERED: np.maximum(covered - keep, 0),
            DUE: self._due(start),
        }
        columns = {name: np.repeat(values, sizes) for name, values in facts.items()}
        columns[AHEAD] = (kept >= np.repeat(start, sizes)).astype(np.int64)
        self.owner.kept.put(with_columns(self._rows(kept), columns), bounds, self.watermark)

    def _rows(self, kept: Array) -> pa.Table:
        if len(kept) == self.rows.count:
            return self.table
        few = self.owner.execution.costs.small_step_rows
        if len(self.low) == 1 and self.rows.count <= few:  # a slice holds on to all of them
            return self.table.slice(int(self.low[0]) + self.rows.count - len(kept), len(kept))
        return taken(self.table, kept)

    def _due(self, start: Array) -> Array:
        """When time decides the search of each partition; a search that waits for a row is not decided by time."""
        if self._deadlines is None:
            return np.full(len(start), FOREVER)
        pending = np.append(self._deadlines, FOREVER)[np.where(start < self.high, start, self.rows.count)]
        return np.where(is_past(pending, self.watermark), FOREVER, pending)
