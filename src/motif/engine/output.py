"""Matches of row patterns -> the rows they put out, and the values the host computes its measures from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array
from motif.engine.matcher import Rows
from motif.engine.matches import Matches, no_matches
from motif.engine.measures import Measures, OutputRows
from motif.ir import query as q
from motif.plan.outputs import leaf_name

NOTHING = np.zeros(0, np.int64)


def leaves(rows: Rows, matches: Matches, output: OutputRows) -> pa.Table:
    """One row for each row put out."""
    measures = Measures(rows, matches, output)
    wanted = rows.program.outputs.leaves
    names = [leaf_name(i) for i in range(len(wanted))]
    return pa.Table.from_arrays([measures.leaf(leaf) for leaf in wanted], names=names)


def put_out(rows: Rows, matches: Matches, unmatched: Array = NOTHING) -> OutputRows:
    """One row per match, or all its rows; `unmatched`: rows in no match that are put out between them."""
    mode = rows.program.query.rows
    return one_row(matches) if mode is q.Rows.ONE else _all_rows(rows, matches, unmatched)


def furthest(matches: Matches, candidates: Array) -> Array:
    """Per row, the end of the furthest match that starts at it or before; an empty match covers its start row."""
    if not len(matches):
        return np.zeros(len(candidates), np.int64)
    ends = np.maximum.accumulate(np.maximum(matches.end, matches.start + 1))
    last = np.searchsorted(matches.start, candidates, side="right") - 1
    return np.where(last >= 0, ends[last], 0)


def one_row(matches: Matches) -> OutputRows:
    """The last row of each match, or its start if it is empty."""
    empty = matches.end == matches.start
    return OutputRows(
        matches.start, np.arange(len(matches)), np.where(empty, -1, matches.offsets[1:] - 1), are_matches=True
    )


def _all_rows(rows: Rows, matches: Matches, unmatched: Array) -> OutputRows:
    """Rows of matches but the excluded ones, empty matches as their start row, and rows in no match."""
    lengths = matches.end - matches.start
    match = np.repeat(np.arange(len(matches)), lengths)
    entry = np.arange(len(match))
    row = entry + (matches.start - matches.offsets[:-1])[match]
    parts = [(row, match, entry)]
    excluded = np.array(rows.program.automaton.excluded, bool)
    if excluded.any():
        shown = ~excluded[matches.labels]
        parts = [(row[shown], match[shown], entry[shown])]
    if rows.program.query.rows is not q.Rows.ALL_OMIT_EMPTY:
        empty = np.flatnonzero(lengths == 0)
        parts.append((matches.start[empty], empty, np.full(len(empty), -1)))
    minus = np.full(len(unmatched), -1)
    parts.append((unmatched, minus, minus))
    if not any(len(part[0]) for part in parts[1:]):
        return OutputRows(*parts[0])
    row, match, entry = (np.concatenate(column) for column in zip(*parts, strict=True))
    # Each part is in order already, so a stable sort by where a match starts merges them.
    starts = matches.start[match] if len(matches) else row
    order = np.argsort(np.where(match < 0, row, starts), kind="stable")
    return OutputRows(row[order], match[order], entry[order])


class Writer:
    """Turns matches into output rows, and knows which rows were in none."""

    def __init__(self, rows: Rows, position: int, covered: int) -> None:
        self.rows = rows
        self.unmatched = rows.program.query.rows is q.Rows.ALL_WITH_UNMATCHED
        self.position = position
        """Rows before this one are settled: written as unmatched, or in a match."""
        self.covered = covered

    def all(self, matches: Matches, decided: int) -> pa.Table:
        """All that is to be put out of the rows up to where the search stands."""
        tables = [self.write(matches)] if len(matches) else []
        return pa.concat_tables(tables if tables and not self.unmatched else [*tables, self.rest(decided)])

    def write(self, matches: Matches) -> pa.Table:
        """What some matches put out, with rows in none before the last of them."""
        missed = self._uncovered(int(matches.start[-1]), matches)
        return leaves(self.rows, matches, put_out(self.rows, matches, missed))

    def rest(self, decided: int) -> pa.Table:
        """Rows from the last match to where the search stands; an empty table in other modes."""
        matches = no_matches()
        missed = self._uncovered(decided, matches)
        return leaves(self.rows, matches, put_out(self.rows, matches, missed))

    def _uncovered(self, until: int, matches: Matches) -> Array:
        """Rows from `position` up to `until` that are in no match."""
        if not self.unmatched:
            return np.zeros(0, np.int64)
        candidates = np.arange(self.position, max(until, self.position))
        reached = np.maximum(furthest(matches, candidates), self.covered)
        if len(matches):
            self.covered = max(self.covered, int(np.maximum(matches.end, matches.start + 1).max()))
        self.position = max(until, self.position)
        return candidates[reached <= candidates]
