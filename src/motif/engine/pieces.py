"""One sequence of rows on all cores: searched in pieces, each as if the search came to its first row.

Where the search really comes to, only the search of all rows before can tell. But two searches that try the same row go
on alike, as nothing is remembered of what came before. So what a piece found is true from the first row on that both it
and the search before it try: usually a few rows behind its first. Those few are searched again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.execution import Execution
from motif.engine.matcher import Rows, Run, Standing, members
from motif.engine.matches import Matches
from motif.engine.output import Writer
from motif.errors import MotifError
from motif.ir.query import SkipTo
from motif.plan.physical.ran import Work
from motif.plan.program import Program


def leaves_by_piece(
    program: Program, table: pa.Table, execution: Execution, *, size: int, at_once: int
) -> Iterator[pa.Table]:
    """Leaves of all matches in rows that are in order: in pieces of `size` rows, `at_once` of them at a time."""
    sequence, ledger = Sequence(program, table, execution), execution.ledger
    ledger.took(Work.MATCH, table)
    low, done = 0, Done()
    while low < table.num_rows:
        # As many rows as are not decided at least: to search those again costs little altogether then.
        high = min(low + max(size * at_once, low - done.position), table.num_rows)
        count = min(at_once, -(-(high - low) // size))
        with ledger.step(Work.MATCH):
            parts = sequence.parts(done.position, [low + (high - low) * cut // count for cut in range(count + 1)])
        ends = [done]
        for part in parts:
            ledger.gave(Work.MATCH, part.matches)
            ledger.took(Work.GATHER, part.matches)
            ends.append(part.after(ends[-1]))
        found = ledger.on_threads(Work.GATHER, lambda number: parts[number].leaves(ends[number]), len(parts))  # noqa: B023
        for leaves in found:
            ledger.gave(Work.GATHER, leaves)
        yield from found
        low, done = high, ends[-1]


@dataclass(frozen=True, slots=True)
class Done:
    """What is known of the sequence before a row."""

    position: int = 0
    """The row, which is the next that the search tries."""
    number: int = 0
    """Matches that start before it."""
    covered: int = 0
    """The row behind the last one that is in any of them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the sequence that a search went over, and the matches that start there."""

    rows: Rows
    base: int
    """Where in the sequence they begin; matches are counted from there."""
    begin: int
    """The first row that the search tried."""
    end: int
    """The row that it tries next: what starts there depends on rows that it did not see."""
    matches: Matches

    def after(self, done: Done) -> Done:
        """What is known behind it."""
        found = self.matches
        covered = int(np.maximum(found.end, found.start + 1).max(initial=0))
        return Done(self.end, done.number + len(found), max(done.covered, self.base + covered))

    def leaves(self, done: Done) -> pa.Table:
        """What its matches put out; `done`: what is known before it."""
        numbers = np.arange(done.number + 1, done.number + len(self.matches) + 1)
        writer = Writer(self.rows, self.begin - self.base, done.covered - self.base)
        return writer.all(replace(self.matches, number=numbers), self.end - self.base)

    def within(self, begin: int, end: int) -> Part:
        """Only from one row to before another; the search tried both."""
        return replace(self, begin=begin, end=end, matches=self._starting(begin, end))

    def tried(self, until: int) -> tuple[Array, Array]:
        """The first and the last rows of stretches of which the search tried every row, as far as some row."""
        found = self._starting(self.begin, until + 1)
        last = np.flatnonzero(np.diff(found.start, append=-1))  # of several matches from one row
        firsts = np.concatenate(([self.begin], self.base + next_starts(self.rows.program, found)[last]))
        return firsts, np.append(self.base + found.start[last], self.end)

    def _starting(self, begin: int, end: int) -> Matches:
        first, last = np.searchsorted(self.matches.start, [begin - self.base, end - self.base])
        return self.matches.part(int(first), int(last))


@dataclass(frozen=True, slots=True)
class Sequence:
    """Rows in order, all of one partition."""

    program: Program
    table: pa.Table
    execution: Execution

    def parts(self, position: int, cuts: list[int]) -> list[Part]:
        """The search from where it stands to the last of the cuts; threads share what lies between them."""
        ledger = self.execution.ledger
        first, *others = ledger.on_threads(Work.MATCH, self._piece(position, cuts), len(cuts) - 1)
        assert first is not None
        costs = self.execution.costs
        parts, number, reach = [first], 0, cuts[1] + costs.overlap_rows
        while number < len(others):
            position, end = parts[-1].end, min(reach, cuts[-1])
            while cuts[number + 2] < end:  # nothing that this one found is known to be true
                number += 1
            again, piece = self._searched(position, end), others[number]
            met = None if piece is None else first_in_both(again, piece)
            if piece is not None and met is not None:
                parts += [again.within(position, met), piece.within(met, piece.end)]
                number += 1
                reach = cuts[number + 1] + costs.overlap_rows
            elif end < cuts[-1]:
                reach += max(costs.overlap_growth * (reach - cuts[number + 1]), reach - position)
            else:
                return [*parts, again]
        return parts

    def _piece(self, position: int, cuts: list[int]) -> Callable[[int], Part | None]:
        """The search of a piece by its number, of the first from where the search stands; None where it failed."""

        def search(number: int) -> Part | None:
            if number == 0:
                return self._searched(position, cuts[1])
            try:
                return self._searched(cuts[number], cuts[number + 1])
            except MotifError:  # from a row that may never be tried
                return None

        return search

    def _searched(self, begin: int, end: int) -> Part:
        """The search from one row as far as the rows before another one tell."""
        base, is_open = max(begin - self.program.lookback, 0), end < self.table.num_rows
        rows = Rows(self.program, self.table.slice(base, end - base), self.execution, np.array([0, end - base]))
        standing = Standing.of(rows.bounds, more=is_open)
        standing.start[0], standing.dropped[0] = begin - base, base > 0
        found = Matches.joined(list(Run(rows, standing, self.execution.plan.match.loops).matches()))
        return Part(rows, base, begin, base + int(standing.start[0]) if is_open else end, found)


def first_in_both(one: Part, other: Part) -> int | None:
    """The first row that both searches tried, as far as the first one came."""
    (firsts, lasts), (other_firsts, other_lasts) = one.tried(one.end), other.tried(one.end)
    rows = np.union1d(firsts, other_firsts)  # whatever both tried begins with one of these
    both = rows[_are_in(rows, firsts, lasts) & _are_in(rows, other_firsts, other_lasts)]
    return int(both[0]) if len(both) else None


def _are_in(rows: Array, firsts: Array, lasts: Array) -> Array:
    """Flags of rows that are in one of the stretches, which are in order."""
    stretch = np.searchsorted(firsts, rows, side="right") - 1
    flags: Array = (stretch >= 0) & (rows <= lasts[np.maximum(stretch, 0)])
    return flags


def next_starts(program: Program, found: Matches) -> Array:
    """Per match, the row that the search tries next: it says AFTER MATCH SKIP in columns, as the loop does in steps."""
    skip = program.query.skip
    next_row: Array = found.start + 1
    match skip.to:
        case SkipTo.NEXT:
            return next_row
        case SkipTo.PAST_LAST:
            behind: Array = np.maximum(found.end, next_row)
            return behind
    entries = np.flatnonzero(members(program, skip.var)[found.labels])
    if not len(entries):  # only empty matches have no row of the variable
        return next_row
    is_first = skip.to is SkipTo.FIRST
    which = np.searchsorted(entries, found.offsets[:-1] if is_first else found.offsets[1:]) - (not is_first)
    entry = entries[np.clip(which, 0, len(entries) - 1)]
    following: Array = np.where(found.end > found.start, found.start + entry - found.offsets[:-1], next_row)
    return following
