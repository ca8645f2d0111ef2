"""Arrow columns <-> the arrays kernels work on: values in a lane, and NULL flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from motif.ir.types import Type
from motif.plan.scalar import Lane, lane

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A column in its lane: int64 or float64 values, and 1 where NULL."""

    values: Array
    nulls: Array


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def null_flags(array: pa.Array) -> Array:
    """1 where the value is NULL."""
    if array.null_count == 0:
        return np.zeros(len(array), np.uint8)
    return array.is_null().to_numpy(zero_copy_only=False).astype(np.uint8)  # type: ignore[no-any-return]


def to_lanes(array: pa.Array, kind: Type) -> Lanes:
    """A column of the INT or FLOAT lane as numbers."""
    nulls = null_flags(array)
    if lane(kind) is Lane.FLOAT:
        return Lanes(_fixed_width(array.cast(pa.float64()), np.dtype(np.float64)), nulls)
    return Lanes(_whole_numbers(array), nulls)


def _whole_numbers(array: pa.Array) -> Array:
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_boolean(kind):
        return array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
    if pa.types.is_decimal(kind):
        return _unscaled(array)
    if pa.types.is_date(kind):
        return _fixed_width(array.cast(pa.date32()), np.dtype(np.int32)).astype(np.int64)
    if pa.types.is_timestamp(kind):
        unit = "ns" if kind.unit == "ns" else "us"
        return _fixed_width(array.cast(pa.timestamp(unit, kind.tz)), np.dtype(np.int64))
    if pa.types.is_time(kind):
        return _fixed_width(array.cast(pa.time64("us")), np.dtype(np.int64))
    if pa.types.is_duration(kind):
        return _fixed_width(array.cast(pa.duration("us")), np.dtype(np.int64))
    return _fixed_width(array.cast(pa.int64()), np.dtype(np.int64))


def _fixed_width(array: pa.Array, dtype: np.dtype[Any]) -> Array:
    """The value buffer as it lies; entries that are NULL hold anything."""
    if len(array) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def _unscaled(array: pa.Array) -> Array:
    """Decimals of at most 18 digits as integers: the low half of the 128 bits says it all."""
    wide = array if array.type.bit_width == 128 else array.cast(pa.decimal128(array.type.precision, array.type.scale))
    if len(wide) == 0:
        return np.empty(0, np.int64)
    words = np.frombuffer(wide.buffers()[1], np.int64, 2 * len(wide), wide.offset * 16)
    return np.ascontiguousarray(words[::2])


def decimals(values: Array, nulls: Array, scale: int) -> pa.Array:
    """Scaled integers as DECIMAL(38, scale)."""
    words = np.empty((len(values), 2), np.int64)
    words[:, 0] = values
    words[:, 1] = values >> 63
    valid = pa.array(nulls == 0).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [valid, pa.py_buffer(words.tobytes())])


def with_nulls(values: Array, nulls: Array) -> pa.Array:
    """Numbers as an Arrow array, NULL where flagged."""
    return pa.array(values, mask=nulls.astype(bool))


@dataclass(slots=True)
class Codebook:
    """Ranks of strings and other ordered values: equal values have equal codes, smaller ones smaller codes.

    Codes hold for one run only; what is kept between runs are the values themselves.
    """

    values: pa.Array
    constants: dict[object, int] = field(default_factory=dict)

    @classmethod
    def over(cls, kind: pa.DataType, arrays: list[pa.Array], constants: list[object]) -> Codebook:
        """Of everything of one type that may be compared in this run."""
        parts = [pc.unique(array.cast(kind)) for array in arrays]
        parts.append(pa.array(constants, kind))
        values = pc.unique(pa.concat_arrays(parts)).drop_null()
        values = values.take(pc.sort_indices(values))
        codes = pc.index_in(parts[-1], values).to_pylist()
        return cls(values, dict(zip(constants, codes, strict=True)))

    def lanes(self, array: pa.Array) -> Lanes:
        """A column as codes."""
        encoded = array.cast(self.values.type).dictionary_encode()
        nulls = null_flags(array)
        if len(encoded.dictionary) == 0:
            return Lanes(np.zeros(len(array), np.int64), nulls)
        ranks = pc.index_in(encoded.dictionary, self.values).fill_null(0).to_numpy(zero_copy_only=False)
        indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return Lanes(ranks.astype(np.int64)[indices], nulls)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """One representation of strings and bytes, whichever the host uses."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return pa.large_binary()
    return kind


def changes(array: pa.Array) -> Array:
    """True at i where value i + 1 differs from value i; NULLs are alike, and so are NaNs."""
    left, right = array[:-1], array[1:]
    if pa.types.is_null(array.type):
        return np.zeros(len(left), bool)
    if pa.types.is_floating(array.type):
        values = _fixed_width(array.cast(pa.float64()), np.dtype(np.float64))
        same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        differs = ~same
    elif pa.types.is_nested(array.type):
        listed = array.to_pylist()
        differs = np.array([a != b for a, b in pairwise(listed)], bool)
    else:
        differs = pc.not_equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    if array.null_count:
        nulls = null_flags(array).astype(bool)
        differs = (differs & ~nulls[1:] & ~nulls[:-1]) | (nulls[1:] != nulls[:-1])
    return differs  # type: ignore[no-any-return]
