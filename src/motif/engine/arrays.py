"""Arrow columns <-> the arrays kernels work on: values in a lane, and NULL flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from motif.ir.types import Type
from motif.plan.scalar import Lane, lane

T = TypeVar("T")
Array = npt.NDArray[Any]
FEW, HELD = 8, 256
"""So few values are faster cut out one by one than taken; but of so many only, as a slice holds on to the rest."""
MANY = 1_000
"""So many are worth a look whether there is a faster way."""
WORDS_APART = 16
"""Words on either side that keep another array from the same line of memory, and from the one fetched along with it."""
_OFFSETS: dict[pa.DataType, np.dtype[Any]] = {
    pa.string(): np.dtype(np.int32),
    pa.binary(): np.dtype(np.int32),
    pa.large_string(): np.dtype(np.int64),
    pa.large_binary(): np.dtype(np.int64),
}
"""How texts of these types are said to begin and end."""
_MOST_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Lanes:
    """A column in its lane: int64 or float64 values, and 1 where NULL."""

    values: Array
    nulls: Array


def same_before(lanes: Lanes) -> Array:
    """Per row: the last row before it with the same value, -1 if there is none; no NULL counts as a value."""
    values = lanes.values
    if values.dtype == np.float64:
        values = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
    order = np.argsort(values, kind="stable")
    order = order[np.asarray(lanes.nulls)[order] == 0]
    same = values[order[1:]] == values[order[:-1]]
    found = np.full(len(values), -1, np.int64)
    found[order[1:][same]] = order[:-1][same]
    return found


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def taken(rows: T, places: Array | pa.Array) -> T:
    """Rows of a table, or values of a column, at places that are there: nobody looks whether they are."""
    places = places if isinstance(places, pa.Array) else arrow(places)
    found: T = pc.take(rows, places, boundscheck=False)
    return found


def chosen(table: pa.Table, flags: Array) -> pa.Table:
    """The rows that are flagged; without copying where they are next to each other."""
    rows = np.flatnonzero(flags)
    if not len(rows) or rows[-1] - rows[0] + 1 == len(rows):
        return table.slice(int(rows[0]) if len(rows) else 0, len(rows))
    return taken(table, rows)


def picked(column: pa.ChunkedArray, places: Array) -> pa.ChunkedArray:
    """Values at rising places, of each piece its own: to put the pieces side by side first takes longer."""
    starts = np.cumsum([0, *map(len, column.chunks)])
    cuts = np.searchsorted(places, starts)
    parts = [
        taken(chunk, places[low:high] - start)
        for chunk, start, (low, high) in zip(column.chunks, starts, pairwise(cuts), strict=False)
    ]
    return pa.chunked_array(parts, column.type)


def values_at(array: pa.Array, positions: Array) -> pa.Array:
    """Values at some positions, NULL at -1."""
    return columns_at([array], positions)[0]


def columns_at(arrays: Sequence[pa.Array], positions: Array) -> list[pa.Array]:
    """The same of several columns: taken together, so that other threads are waited for once."""
    if len(positions) <= FEW and len(arrays[0]) <= HELD:
        return [_few_at(array, positions.tolist()) for array in arrays]
    absent = positions < 0
    places = arrow(np.maximum(positions, 0), absent) if absent.any() else arrow(positions)
    if len(arrays) == 1:
        return [decoded(taken(arrays[0], places))]
    batch = pa.RecordBatch.from_arrays(list(arrays), names=[""] * len(arrays))
    return [decoded(column) for column in taken(batch, places).columns]


def _few_at(array: pa.Array, positions: list[int]) -> pa.Array:
    parts = [array.slice(at, 1) if at >= 0 else pa.nulls(1, array.type) for at in positions]
    return decoded(parts[0] if len(parts) == 1 else pa.concat_arrays(parts) if parts else array.slice(0, 0))


def decoded(array: pa.Array) -> pa.Array:
    """The values themselves, of a column that may be codes and a dictionary."""
    if not pa.types.is_dictionary(array.type):
        return array
    even = _evenly_decoded(array) if len(array) >= MANY and array.null_count == 0 else None
    return array.dictionary_decode() if even is None else even


def _evenly_decoded(array: pa.DictionaryArray) -> pa.Array | None:
    """The same where all values are texts of one length, as symbols often are: several times as fast."""
    values = array.dictionary
    width = _OFFSETS.get(values.type)
    if width is None or values.null_count or not 0 < len(values) <= len(array):
        return None
    _, offsets, data = values.buffers()
    starts = np.frombuffer(offsets, width, len(values) + 1, values.offset * width.itemsize)
    size = int(starts[1] - starts[0])
    if not 0 < size <= _MOST_BYTES // len(array) or bool((np.diff(starts) != size).any()):
        return None
    texts = np.frombuffer(data, f"V{size}", len(values), int(starts[0]))
    ends = np.arange(0, (len(array) + 1) * size, size, dtype=width)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(texts.take(numpy_of(array.indices)))]
    return pa.Array.from_buffers(values.type, len(array), buffers)


def as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast, unless it is of that type: even that takes time."""
    return array if array.type == kind else array.cast(kind)


def null_flags(array: pa.Array) -> Array:
    """1 where the value is NULL."""
    if array.null_count == 0:
        return np.zeros(len(array), np.uint8)
    return numpy_of(array.is_null()).view(np.uint8)


def truth(array: pa.Array) -> Array:
    """1 where a condition holds: neither FALSE nor NULL."""
    if not pa.types.is_boolean(array.type):  # NULL without a type: never true
        return np.zeros(len(array), np.uint8)
    values: Array = numpy_of(array).view(np.uint8)
    return values & (1 - null_flags(array)) if array.null_count else values


def to_lanes(array: pa.Array, kind: Type) -> Lanes:
    """A column of the INT or FLOAT lane as numbers."""
    nulls = null_flags(array)
    if lane(kind) is Lane.FLOAT:
        return Lanes(_fixed_width(as_type(array, pa.float64()), np.dtype(np.float64)), nulls)
    return Lanes(_whole_numbers(array), nulls)


def _whole_numbers(array: pa.Array) -> Array:
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_boolean(kind):
        return numpy_of(array).astype(np.int64)
    if pa.types.is_decimal(kind):
        return _unscaled(array)
    if pa.types.is_date(kind):
        return _fixed_width(as_type(array, pa.date32()), np.dtype(np.int32)).astype(np.int64)
    if pa.types.is_timestamp(kind):
        unit = "ns" if kind.unit == "ns" else "us"
        return _fixed_width(as_type(array, pa.timestamp(unit, kind.tz)), np.dtype(np.int64))
    if pa.types.is_time(kind):
        unit = "ns" if kind == pa.time64("ns") else "us"
        return _fixed_width(as_type(array, pa.time64(unit)), np.dtype(np.int64))
    if pa.types.is_duration(kind):
        return _fixed_width(as_type(array, pa.duration("us")), np.dtype(np.int64))
    if pa.types.is_interval(kind):
        return _microseconds(_fixed_width(array, _LENGTHS), null_flags(array))
    return _fixed_width(as_type(array, pa.int64()), np.dtype(np.int64))


_NANOSECONDS = 1_000
_LENGTHS = np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)])
"""How intervals of the calendar lie in memory."""
_DAY = 86_400_000_000
"""What hosts take a day for where they compare intervals, and 30 of them for a month."""


def interval_lengths(array: pa.Array) -> pa.Array | None:
    """Intervals of the calendar as lengths of time; None where one has months."""
    parts = _fixed_width(array, _LENGTHS)
    nulls = null_flags(array)
    if bool((parts["months"] != 0)[nulls == 0].any()):
        return None
    return arrow(_microseconds(parts, nulls), nulls.astype(bool)).cast(pa.duration("us"))


def _microseconds(parts: Array, nulls: Array) -> Array:
    """Raises `OverflowError`."""
    days = parts["days"].astype(np.int64) + 30 * parts["months"].astype(np.int64)
    if len(parts) and int(np.abs(np.where(nulls == 0, days, 0)).max()) > _MOST_DAYS:
        message = "an interval is longer than 64 bits of microseconds"
        raise OverflowError(message)
    lengths: Array = days * _DAY + parts["nanoseconds"] // _NANOSECONDS
    return lengths


_MOST_DAYS = (1 << 62) // _DAY


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
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [_bits(nulls == 0), pa.py_buffer(words)])


def lonely_zeros(size: int) -> Array:
    """An array for a loop to write to again and again, with no other array near it.

    Processors share memory by the line: two cores that write to the same one wait for each other all the time.
    """
    return np.zeros(size + 2 * WORDS_APART, np.int64)[WORDS_APART : WORDS_APART + size]


def lonely_copy(values: Array) -> Array:
    """Another one, that holds the same."""
    copy = lonely_zeros(len(values))
    copy[:] = values
    return copy


def arrow(values: Array, nulls: Array | None = None) -> pa.Array:
    """A NumPy array as Arrow, NULL where flagged.

    Not `pa.array`, which imports pandas wherever that is installed: a quarter of the time to a first answer.
    """
    valid = None if nulls is None or not nulls.any() else _bits(~nulls)
    data = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def arrow_strings(values: Sequence[str]) -> pa.Array:
    """Strings as Arrow, for the same reason."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def numpy_of(array: pa.Array) -> Array:
    """Booleans or integers as NumPy, anything where NULL; not by `to_numpy`, again for pandas' sake."""
    if pa.types.is_boolean(array.type):
        packed = np.frombuffer(array.buffers()[1], np.uint8) if len(array) else np.zeros(0, np.uint8)
        return np.unpackbits(packed, count=array.offset + len(array), bitorder="little")[array.offset :].view(bool)
    sign = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    return _fixed_width(array, np.dtype(f"{sign}{array.type.bit_width // 8}"))


def _bits(flags: Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def encoded(array: pa.Array, kind: pa.DataType) -> pa.DictionaryArray:
    """A column as codes and a dictionary of that type, in which there may be values that do not occur."""
    if not pa.types.is_dictionary(array.type):
        return as_type(array, kind).dictionary_encode()
    return pa.DictionaryArray.from_arrays(array.indices, as_type(array.dictionary, kind))


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
        parts = [pc.unique(encoded(array, kind).dictionary) for array in arrays]
        is_text = kind == pa.large_string()
        parts.append(arrow_strings([str(c) for c in constants]).cast(kind) if is_text else pa.array(constants, kind))
        values = pc.unique(pa.concat_arrays(parts)).drop_null()
        values = values.take(pc.sort_indices(values))
        codes = pc.index_in(parts[-1], values).to_pylist()
        return cls(values, dict(zip(constants, codes, strict=True)))

    def lanes(self, array: pa.Array) -> Lanes:
        """A column as codes."""
        codes = encoded(array, self.values.type)
        nulls = null_flags(array)
        if len(codes.dictionary) == 0:
            return Lanes(np.zeros(len(array), np.int64), nulls)
        ranks = numpy_of(pc.index_in(codes.dictionary, self.values))
        indices = np.where(nulls == 0, numpy_of(codes.indices), 0)
        return Lanes(ranks.astype(np.int64)[indices], nulls)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """One representation of strings and bytes, whichever the host uses, and whether they are coded or not."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return pa.large_binary()
    return kind
