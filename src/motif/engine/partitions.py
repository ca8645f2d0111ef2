"""Which rows belong together: the columns that they are partitioned by, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, arrow, as_type, decoded, flat, null_flags, numpy_of, plain_type, taken
from motif.engine.nested import is_nested, ranks
from motif.engine.numbering import are_many, encoded_by_parts
from motif.engine.runs import bounds_of
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


def by_partition(found: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Rows of a result, in which those of a partition lie side by side, with partitions in the order of their keys.

    NULLs come last, NaN after all numbers. Only one row of each partition is compared.
    """
    columns = [flat(found.column(key)) for key in keys]
    bounds = bounds_of(columns, found.num_rows)
    if len(bounds) <= 2:
        return found
    order = _in_order([_sortable(taken(column, bounds[:-1])) for column in columns])
    if order is None:
        return found
    lengths = np.diff(bounds)[order]
    ends = np.cumsum(lengths)
    places = np.arange(found.num_rows) + np.repeat(bounds[:-1][order] - ends + lengths, lengths)
    return taken(found, places)


def _in_order(keys: Sequence[pa.Array]) -> Array | None:
    """Where the rows of some keys go, by the first that tells them apart; None where they are in order."""
    if len(keys) == 1 and pa.types.is_integer(keys[0].type) and not keys[0].null_count:
        values = numpy_of(keys[0])
        return None if bool((values[1:] >= values[:-1]).all()) else np.argsort(values, kind="stable")
    names = [str(number) for number in range(len(keys))]
    order = pc.sort_indices(pa.table(list(keys), names), sort_keys=[(name, "ascending") for name in names])
    found: Array = numpy_of(order).astype(np.int64)
    return None if bool((found[1:] > found[:-1]).all()) else found


def _sortable(keys: pa.Array) -> pa.Array:
    """Values that Arrow puts in order as Motif does."""
    keys = decoded(keys)
    if is_nested(keys.type):
        return arrow(ranks(keys), null_flags(keys) == 1)
    if pa.types.is_floating(keys.type):
        return pc.add(as_type(keys, pa.float64()), pa.scalar(0.0))  # -0.0 is 0.0
    if keys.type in (*TEXTS, pa.string(), pa.binary()) and (numbers := packed(keys)) is not None:
        return arrow(numbers.byteswap(), None if not keys.null_count else null_flags(keys) == 1)
    return keys


def _numbers(key: pa.Array) -> tuple[Array, int]:
    """For each row which of the different values it has, and how many there are."""
    if pa.types.is_floating(key.type):
        key = pc.add(key, pa.scalar(0.0, key.type))  # -0.0 and 0.0 are one partition
    if is_nested(key.type):
        key = arrow(ranks(key))
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
