"""Short texts as numbers: eight bytes fit into one, and numbers are told apart much faster than texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array

WIDTH = 8
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(WIDTH + 1)], np.uint64)


def packed(array: pa.Array) -> Array | None:
    """A number for each text, its bytes; None where one is too long, or has a byte 0, which is the filling.

    What is NULL has any number.
    """
    kind = np.int64 if array.type in (pa.large_string(), pa.large_binary()) else np.int32
    size = np.dtype(kind).itemsize
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return np.zeros(len(array), np.uint64)
    ends = np.frombuffer(offsets, kind, len(array) + 1, array.offset * size)
    lengths = np.diff(ends)
    if lengths.max() > WIDTH:
        return None
    first, last = int(ends[0]), int(ends[-1])
    bytes_ = np.zeros(last - first + WIDTH, np.uint8)  # so that a word can be read at the last of them, too
    bytes_[:-WIDTH] = np.frombuffer(data, np.uint8, last - first, first)
    if not bytes_[:-WIDTH].all():
        return None
    words = np.lib.stride_tricks.as_strided(bytes_[:WIDTH].view("<u8"), (len(bytes_) - WIDTH + 1,), (1,))
    found: Array = words[ends[:-1] - first]
    found &= _MASKS[lengths]
    return found


def unpacked(numbers: Array, kind: pa.DataType) -> pa.Array:
    """The texts again."""
    numbers = np.ascontiguousarray(numbers, "<u8")
    bytes_ = numbers.view(np.uint8)
    if len(numbers) and (length := _length(int(numbers.min()))) == _length(int(numbers.max())):
        ends = np.arange(len(numbers) + 1, dtype=np.int32) * np.int32(length)
        data = np.ascontiguousarray(bytes_.reshape(-1, WIDTH)[:, :length])
    else:
        used = bytes_ != 0
        ends = np.zeros(len(numbers) + 1, np.int32)
        np.cumsum(used.reshape(-1, WIDTH).sum(axis=1, dtype=np.int32), out=ends[1:])
        data = bytes_[used]
    texts = pa.BinaryArray.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(data)])
    return texts.cast(kind)


def _length(number: int) -> int:
    """Bytes of a text."""
    return (number.bit_length() + 7) // 8
