"""Where values change from row to row: the bounds of partitions in sorted rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, null_flags, numpy_of, to_lanes
from motif.engine.nested import is_nested, ranks
from motif.plan.scalar import FLOAT


def changes(array: pa.Array) -> Array:
    """True at i where value i + 1 differs from value i; NULLs are alike, and so are NaNs."""
    left, right = array[:-1], array[1:]
    if pa.types.is_null(array.type):
        return np.zeros(len(left), bool)
    if pa.types.is_dictionary(array.type):
        return changes(array.indices)
    if pa.types.is_floating(array.type):
        values = to_lanes(array, FLOAT).values
        same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        differs = ~same
    elif is_nested(array.type):
        numbers = ranks(array)
        differs = numbers[1:] != numbers[:-1]
    else:
        differs = numpy_of(pc.not_equal(left, right))
    if array.null_count:
        nulls = null_flags(array).astype(bool)
        differs = (differs & ~nulls[1:] & ~nulls[:-1]) | (nulls[1:] != nulls[:-1])
    return differs  # type: ignore[no-any-return]


def run_numbers(bounds: Array) -> Array:
    """For each row the number of its run, as `np.repeat` would give it, but without making other threads wait."""
    begins = np.zeros(int(bounds[-1]) + 1, np.int64)
    np.add.at(begins, bounds[1:-1], 1)  # several begin at one row where runs are empty
    return np.cumsum(begins[:-1], out=begins[:-1])


def bounds_of(keys: Sequence[pa.Array], count: int) -> Array:
    """Offsets of runs of rows that agree in all keys, and the number of rows."""
    if count == 0:
        return np.zeros(1, np.int64)
    differs = np.zeros(count - 1, bool)
    for key in keys:
        differs |= changes(key)
    return np.concatenate(([0], np.flatnonzero(differs) + 1, [count])).astype(np.int64)
