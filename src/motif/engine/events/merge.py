"""Matches of all partitions in the order in which they ended, brought together on all cores.

Each part is sorted by itself. Then time is cut into stretches, and the pieces of one stretch are merged by one thread:
no array is as long as all matches together, which is what makes sorting them at once slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, as_type, flat, numpy_of, taken
from motif.engine.threads import on_threads
from motif.plan.outputs import leaf_name

STRETCH = 1 << 18
"""Matches that are merged together."""
SAMPLES = 64
"""Per stretch and part, to cut time where matches are."""


def in_time_order(parts: list[pa.Table]) -> pa.Table:
    """Matches by when they end, then by when they begin, then by part and place in it; empties the list."""

    def sort(number: int) -> Ended:
        part, parts[number] = parts[number], parts[number].slice(0, 0)  # not to hold all matches three times
        return _ended(part).in_order()

    ordered = on_threads(sort, len(parts))
    if len(ordered) == 1:
        return ordered[0].matches
    stretches = sum(len(part.end) for part in ordered) // STRETCH + 1
    cuts = _cuts([part.end for part in ordered], stretches)

    def merge(number: int) -> pa.Table:
        pieces = [part.slice(*cut[number : number + 2]) for part, cut in zip(ordered, cuts, strict=True)]
        return _joined(pieces).in_order().matches

    return pa.concat_tables(on_threads(merge, stretches))


@dataclass(frozen=True, slots=True)
class Ended:
    """Matches, and when they began and ended."""

    matches: pa.Table
    start: Array
    end: Array

    def slice(self, low: int, high: int) -> Ended:
        return Ended(self.matches.slice(low, high - low), self.start[low:high], self.end[low:high])

    def in_order(self) -> Ended:
        """Those that end and begin together stay as they are."""
        order = time_order(self.start, self.end)
        if order is None:
            return self
        return Ended(taken(self.matches, order), self.start[order], self.end[order])


def time_order(start: Array, end: Array) -> Array | None:
    """By end, then by start, then as they are; None where they are in that order."""
    if _is_in_order(start, end):
        return None
    order = np.argsort(end, kind="stable")
    start, end = start[order], end[order]
    if not _is_in_order(start, end):  # few end together, and of one partition they come as they began
        again = _within_runs(start, end)
        order[again] = order[again][np.lexsort((start[again], end[again]))]
    return order


def _is_in_order(start: Array, end: Array) -> bool:
    return bool(((end[1:] > end[:-1]) | ((end[1:] == end[:-1]) & (start[1:] >= start[:-1]))).all())


def _within_runs(start: Array, end: Array) -> Array:
    """Places of the matches that end together with others, and are not in the order in which they began."""
    is_first = np.concatenate(([True], end[1:] != end[:-1]))
    run = np.cumsum(is_first) - 1
    falls = np.flatnonzero(~is_first[1:] & (start[1:] < start[:-1]))
    wrong = np.zeros(int(run[-1]) + 1, bool)
    wrong[run[falls]] = True
    return np.flatnonzero(wrong[run])


def _ended(part: pa.Table) -> Ended:
    start, end = (_integers(part.column(leaf_name(number))) for number in (1, 2))
    return Ended(part, start, end)


def _integers(column: pa.ChunkedArray) -> Array:
    width = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    return numpy_of(as_type(flat(column), width))


def _cuts(ends: Sequence[Array], stretches: int) -> list[list[int]]:
    """Per part, where each stretch begins in it; what ends together is in one."""
    samples = np.sort(np.concatenate([end[:: max(len(end) // (SAMPLES * stretches), 1)] for end in ends]))
    inner = samples[len(samples) * np.arange(1, stretches) // stretches] if stretches > 1 else samples[:0]
    return [[0, *np.searchsorted(end, inner).tolist(), len(end)] for end in ends]


def _joined(pieces: Sequence[Ended]) -> Ended:
    return Ended(
        pa.concat_tables([piece.matches for piece in pieces]).combine_chunks(),
        np.concatenate([piece.start for piece in pieces]),
        np.concatenate([piece.end for piece in pieces]),
    )
