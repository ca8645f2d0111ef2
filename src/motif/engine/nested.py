"""Values without an order of numbers or texts - structs, lists, maps, intervals - as numbers that sort as they do.

A struct is compared field by field, a list value by value and the shorter one first; NULL comes last, and NaN is the
greatest number, inside as outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, null_flags, numpy_of, plain_type, to_lanes
from motif.ir.types import Kind, Type

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_map)


def is_nested(kind: pa.DataType) -> bool:
    """Whether Arrow does not sort values of a type by itself."""
    return bool(pa.types.is_nested(kind) or pa.types.is_interval(kind))


def ranks(array: pa.Array) -> Array:
    """Equal for equal values, smaller for smaller ones; NULL is the greatest."""
    numbers = _ranks(array)
    nulls = null_flags(array)
    return np.where(nulls == 1, int(numbers.max(initial=0)) + 1, numbers) if nulls.any() else numbers


def _ranks(array: pa.Array) -> Array:
    kind = array.type
    if pa.types.is_interval(kind):
        return to_lanes(array, Type(Kind.INTERVAL)).values
    if pa.types.is_struct(kind):
        fields = [ranks(array.field(number)).tolist() for number in range(kind.num_fields)]
        return _numbered(zip(*fields, strict=True) if fields else [()] * len(array))
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = ranks(array.values.slice(array.offset * size, len(array) * size)).tolist()
        return _numbered(tuple(values[row * size : (row + 1) * size]) for row in range(len(array)))
    if any(is_such(kind) for is_such in _LISTS):
        inner = _entries(array) if pa.types.is_map(kind) else ranks(array.values).tolist()
        bounds = numpy_of(array.offsets).tolist()
        return _numbered(tuple(inner[low:high]) for low, high in pairwise(bounds))
    return _plain_ranks(array)


def _entries(array: pa.MapArray) -> list[tuple[int, int]]:
    return list(zip(ranks(array.keys).tolist(), ranks(array.items).tolist(), strict=True))


def _numbered(values: Iterable[Any]) -> Array:
    known = list(values)
    numbers = {value: number for number, value in enumerate(sorted(set(known)))}
    return np.array([numbers[value] for value in known], np.int64)


def _plain_ranks(array: pa.Array) -> Array:
    values = array.cast(plain_type(array.type))
    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 is 0.0
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    coded = values.dictionary_encode()
    order = numpy_of(pc.sort_indices(coded.dictionary))
    places = np.zeros(len(order) + 1, np.int64)
    places[order] = np.arange(len(order))
    return places[np.where(null_flags(array) == 1, len(order), numpy_of(coded.indices))]
