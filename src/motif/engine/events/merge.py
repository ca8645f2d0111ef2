"""Matches of all partitions in the order in which they ended, brought together on all cores.

Those of one partition that end together come in their canonical order, whatever their number. Those of several have
none: the partition whose first `match_id` is the least comes first, so that the order does not depend on where
partitions lie, nor on the number of threads.

Each part is sorted by itself. Then time is cut into stretches, and the pieces of one stretch are merged by one thread:
no array is as long as all matches together, which is what makes sorting them at once slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, as_type, flat, numpy_of, taken
from motif.engine.threads import on_threads
from motif.plan.outputs import leaf_name

STRETCH = 1 << 18
"""Matches that are merged together."""
SAMPLES = 64
"""Per stretch and part, to cut time where matches are."""
PARTITION = "__partition"
"""The last column of matches that are to be brought together: the number of their partition in its part."""


def marked(found: pa.Table, partition: Array) -> pa.Table:
    """Matches with the number of their partition."""
    return found.append_column(PARTITION, arrow(partition.astype(np.int64)))


def in_time_order(parts: list[pa.Table]) -> pa.Table:
    """Matches, `marked`, by when they end, then by partition, then as they come; empties the list."""

    def sort(number: int) -> Ended:
        part, parts[number] = parts[number], parts[number].slice(0, 0)  # not to hold all matches three times
        end, partition = _integers(part.column(leaf_name(2))), numpy_of(flat(part.column(PARTITION)))
        return Ended(part.drop_columns([PARTITION]), end, partition * len(parts) + number).in_order()

    ordered = on_threads(sort, len(parts))
    if len(ordered) == 1:
        return ordered[0].settled()
    stretches = sum(len(part.end) for part in ordered) // STRETCH + 1
    cuts = _cuts([part.end for part in ordered], stretches)

    def merge(number: int) -> pa.Table:
        pieces = [part.slice(*cut[number : number + 2]) for part, cut in zip(ordered, cuts, strict=True)]
        return _joined(pieces).in_order().settled()

    return pa.concat_tables(on_threads(merge, stretches))


@dataclass(frozen=True, slots=True)
class Ended:
    """Matches, when they ended, and their partitions."""

    matches: pa.Table
    end: Array
    partition: Array

    def slice(self, low: int, high: int) -> Ended:
        return Ended(self.matches.slice(low, high - low), self.end[low:high], self.partition[low:high])

    def in_order(self) -> Ended:
        """Those that end together stay as they are."""
        if bool((self.end[1:] >= self.end[:-1]).all()):
            return self
        return self._taken(np.argsort(self.end, kind="stable"))

    def settled(self) -> pa.Table:
        """Those that end together, partition by partition."""
        is_new, differs = self.end[1:] != self.end[:-1], self.partition[1:] != self.partition[:-1]
        mixed = differs & ~is_new
        if not mixed.any():
            return self.matches
        run, piece = _numbered(is_new), _numbered(is_new | differs)
        ids = numpy_of(flat(self.matches.column(leaf_name(0))))
        least = ids[np.flatnonzero(np.diff(piece, prepend=-1))]
        is_mixed = np.zeros(int(run[-1]) + 1, bool)
        is_mixed[run[1:][mixed]] = True
        order, chosen = np.arange(len(run)), np.flatnonzero(is_mixed[run])
        order[chosen] = chosen[np.lexsort((piece[chosen], least[piece[chosen]], run[chosen]))]
        return taken(self.matches, order)

    def _taken(self, order: Array) -> Ended:
        return Ended(taken(self.matches, order), self.end[order], self.partition[order])


def _numbered(begins: Array) -> Array:
    """The number of the run of each element; the first begins one."""
    return np.concatenate(([0], np.cumsum(begins)))


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
        np.concatenate([piece.end for piece in pieces]),
        np.concatenate([piece.partition for piece in pieces]),
    )
