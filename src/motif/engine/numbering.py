"""Which of very many numbers are equal, found on all cores.

A table of a million values does not fit into a cache, and to put the tables of several threads together takes longer
than to make them. So values are dealt out by a hash first: those that are equal come to one part, with a small table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, null_flags, numpy_of, taken
from motif.engine.threads import on_threads

SAMPLE = 1 << 14
MOSTLY = 0.97
"""Of a sample so many are different where there are some hundred thousand values."""
PIECE = 1 << 17
"""Values that are looked at together, so that what is worked out for them, a table too, stays in the cache."""
MOST_PARTS = 1 << 8
FEWEST_PIECES = 4
"""So many values are told apart by one table."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern: the highest bits of its multiples depend on all bits of what it is multiplied by."""


def are_many(values: Array) -> bool:
    """Whether there look to be so many different ones that it is worth while to deal them out."""
    if len(values) < FEWEST_PIECES * PIECE:
        return False
    sample = values[:: len(values) // SAMPLE]
    return len(np.unique(sample)) > MOSTLY * len(sample)


def encoded_by_parts(column: pa.Array) -> pa.DictionaryArray:
    """The different values of a column of whole numbers, and for each row which it is."""
    values, codes = numpy_of(column), np.empty(len(column), np.int32)
    pieces = _dealt_out(values)

    def encode(part: int) -> tuple[Array, pa.DictionaryArray]:
        places = np.concatenate([piece[part] for piece in pieces])
        return places, arrow(values[places]).dictionary_encode()

    tables = on_threads(encode, len(pieces[0]))
    starts = np.cumsum([0, *(len(table.dictionary) for _, table in tables)])

    def put(part: int) -> None:
        places, table = tables[part]
        codes[places] = numpy_of(table.indices) + np.int32(starts[part])

    on_threads(put, len(tables))
    different = pa.concat_arrays([table.dictionary for _, table in tables])
    if column.null_count:
        return pa.DictionaryArray.from_arrays(arrow(codes, null_flags(column) == 1), different)
    return _by_appearance(codes, different)


def _dealt_out(values: Array) -> list[list[Array]]:
    """Places of all values: in pieces, and each piece in parts, of which each holds equal ones and about as many."""
    bits = min(len(values) // PIECE, MOST_PARTS).bit_length() - 1
    starts = range(0, len(values), PIECE)

    def deal(number: int) -> list[Array]:
        start = starts[number]
        hashes = values[start : start + PIECE].astype(np.uint64) * _SPREAD
        part = (hashes >> np.uint64(64 - bits)).astype(np.uint8)
        order = np.argsort(part, kind="stable") + start  # of bytes it takes no comparisons
        return np.split(order, np.cumsum(np.bincount(part, minlength=1 << bits))[:-1])

    return on_threads(deal, len(starts))


def _by_appearance(codes: Array, different: pa.Array) -> pa.DictionaryArray:
    """Where equal values are side by side everywhere, their codes rise, so that others see it, too."""
    begins = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    if len(begins) > len(different):
        return pa.DictionaryArray.from_arrays(arrow(codes), different)
    lengths = np.diff(begins, append=len(codes))
    rising = np.repeat(np.arange(len(begins), dtype=np.int32), lengths)
    return pa.DictionaryArray.from_arrays(arrow(rising), taken(different, codes[begins]))
