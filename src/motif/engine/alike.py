"""Numbers for values of any type: the same number where values are the same to the last bit, inside of lists as well.

Unlike ranks they tell 0.0 from -0.0, as functions of a host may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, decoded, null_flags, numpy_of

_BITS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_map, pa.types.is_fixed_size_list)


def alike(parts: Sequence[pa.Array]) -> list[Array]:
    """Numbers of the values of several arrays of one type; NULL has one, too."""
    arrays = [decoded(part) for part in parts]
    kind = arrays[0].type
    numbers = _numbers(pa.concat_arrays([array if array.type == kind else array.cast(kind) for array in arrays]))
    return list(np.split(numbers, np.cumsum([len(array) for array in arrays])[:-1]))


def distinct(columns: Sequence[pa.Array]) -> Array:
    """Positions of the first of all rows that are alike."""
    _, first = np.unique(_numbered(zip(*(_numbers(decoded(column)).tolist() for column in columns), strict=True)), True)
    return np.sort(first)


def _numbers(array: pa.Array) -> Array:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _numbers(array.storage)
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(kind):
        return _numbers(array.view(_BITS[kind.bit_width]))
    if pa.types.is_struct(kind):
        fields = [_numbers(field).tolist() for field in array.flatten()]
        return _numbered(zip(null_flags(array).tolist(), *fields, strict=True))
    if any(is_such(kind) for is_such in _LISTS):
        return _numbered(_of_lists(array))
    try:
        return numpy_of(array.dictionary_encode(null_encoding="encode").indices).astype(np.int64)
    except pa.ArrowNotImplementedError:  # a union
        return _numbered(map(repr, array.to_pylist()))


def _of_lists(array: pa.Array) -> Iterable[tuple[int, ...] | None]:
    nulls = null_flags(array).tolist()
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        bounds = [(array.offset + row) * size for row in range(len(array) + 1)]
    else:
        bounds = numpy_of(array.offsets).tolist()
    is_map = pa.types.is_map(array.type)
    inner = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"]) if is_map else array.values
    values = _numbers(inner).tolist()  # also of what lies around a slice: to cut it out takes longer
    parts = zip(nulls, pairwise(bounds), strict=True)
    return [None if null else tuple(values[low:high]) for null, (low, high) in parts]


def _numbered(values: Iterable[Any]) -> Array:
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)
