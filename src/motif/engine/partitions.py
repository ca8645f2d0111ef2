"""Which rows belong together: the columns that they are partitioned by, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, arrow, as_type, flat, null_flags, numpy_of, plain_type
from motif.engine.numbering import are_many, encoded_by_parts
from motif.engine.texts import packed, unpacked
from motif.engine.threads import cores, on_threads

TEXTS = (pa.large_string(), pa.large_binary())
CODED_ROWS = 1 << 19
"""Fewer rows than this are not worth a thread."""
PACKED_ROWS = 1 << 15
"""Fewer texts than this are told apart as they are."""
FEW_ROWS = 1 << 10
"""So many are looked at first."""
SPREAD = 2
"""Times as many as the rows that numbers of partitions may be: arrays are made of that size."""


def with_coded_keys(rows: pa.Table, keys: Sequence[int]) -> pa.Table:
    """Rows whose text keys are codes and a dictionary: they are compared for every row, and moved several times."""
    for key in keys:
        column = rows.column(key)
        if plain_type(column.type) in TEXTS:
            rows = rows.set_column(key, rows.schema.names[key], coded(column))
    return rows


def coded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The different values of a column, and for each row which it is."""
    numbers = _as_numbers(column) if len(column) >= PACKED_ROWS else None
    if numbers is None:
        return _encoded(flat(column))
    codes = _encoded(numbers)
    return pa.DictionaryArray.from_arrays(codes.indices, unpacked(numpy_of(codes.dictionary), column.type))


def are_short(column: pa.ChunkedArray) -> bool:
    """Whether its values look like short texts, which cost little to tell apart however many there are."""
    is_text = column.type in (*TEXTS, pa.string(), pa.binary())
    return is_text and column.num_chunks > 0 and packed(column.chunk(0).slice(0, FEW_ROWS)) is not None


def _as_numbers(column: pa.ChunkedArray) -> pa.Array | None:
    """Texts that are short, as numbers."""
    if not are_short(column):
        return None
    parts = on_threads(lambda number: packed(column.chunk(number)), column.num_chunks)
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return arrow(np.concatenate(known), numpy_of(flat(column.is_null())) if column.null_count else None)


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    if pa.types.is_integer(column.type) and are_many(numpy_of(column)):
        return encoded_by_parts(column)
    parts = max(min(len(column) // CODED_ROWS, cores()), 1)
    cuts = [len(column) * number // parts for number in range(parts + 1)]
    found = on_threads(lambda n: column.slice(cuts[n], cuts[n + 1] - cuts[n]).dictionary_encode(), parts)
    return found[0] if parts == 1 else flat(pa.chunked_array(found).unify_dictionaries())


def groups(rows: pa.Table, keys: Sequence[int]) -> Array:
    """The number of each row's partition; `keys` are columns."""
    columns = [flat(rows.column(key)) for key in keys]
    if not columns:
        return np.broadcast_to(np.int64(0), rows.num_rows)  # takes no memory, whatever the number of rows
    if len(columns) == 1 and (own := own_numbers(columns[0])) is not None:
        return own
    group, _ = _numbers(columns[0])
    for column in columns[1:]:
        numbers, count = _numbers(column)
        group = group * count + numbers
        if int(group.max(initial=0)) >= SPREAD * len(group):
            group = numpy_of(_encoded(arrow(group)).indices).astype(np.int64)
    return group


def _numbers(key: pa.Array) -> tuple[Array, int]:
    """For each row which of the different values it has, and how many there are."""
    if pa.types.is_floating(key.type):
        key = pc.add(key, pa.scalar(0.0, key.type))  # -0.0 and 0.0 are one partition
    if pa.types.is_nested(key.type):
        key = pa.array([repr(value) for value in key.to_pylist()])
    if not pa.types.is_dictionary(key.type):
        key = _encoded(as_type(key, plain_type(key.type)))
    count = len(key.dictionary)
    numbers = numpy_of(key.indices).astype(np.int64)
    return (np.where(null_flags(key) == 1, count, numbers) if key.null_count else numbers), count + 1


def own_numbers(key: pa.Array) -> Array | None:
    """Whole numbers that lie close together are numbers of partitions themselves: to count them costs far more."""
    if not len(key) or not pa.types.is_integer(key.type) or key.null_count:
        return None
    values = numpy_of(key)
    low, high = int(values.min()), int(values.max())
    if high - low >= SPREAD * len(key) or high > np.iinfo(np.int64).max:
        return None
    wide: Array = values.astype(np.int64, copy=False)
    return wide - low if low else wide
