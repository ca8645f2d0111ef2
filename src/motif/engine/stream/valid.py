"""What a saved session must hold before any of it is used: whoever can write the file can write its checksum, too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, numpy_of

Range = tuple[int, int]
ANY: Range = (-(1 << 63), (1 << 63) - 1)
FLAG: Range = (0, 1)


def checked(table: pa.Table, width: int, own: Mapping[str, Range], schema: pa.Schema | None, time: int) -> pa.Table:
    """A table of so many columns of the program, and those of its owner, whose numbers are in these ranges.

    Raises ValueError, or an error of Arrow's, where it is not.
    """
    table.validate(full=True)
    if table.num_columns != width + len(own) or set(table.column_names[width:]) != set(own):
        raise ValueError(table.column_names)
    if schema is not None and table.schema.types[:width] != schema.types[:width]:
        raise ValueError(table.schema)
    if schema is not None and table.column_names[:width] != schema.names[:width]:
        raise ValueError(table.column_names)
    table = pa.Table.from_arrays(table.columns, names=table.column_names)  # what else a schema may say is not used
    if table.column(time).null_count:
        raise ValueError("a row without a time")
    for name, (low, high) in own.items():
        column = table.column(name)
        if column.type != pa.int64() or column.null_count:
            raise ValueError(name)
        values = numpy_of(flat(column))
        if len(values) and not low <= int(values.min()) <= int(values.max()) <= high:
            raise ValueError(name)
    return table


def is_whole_number(value: object, *, limits: Range = ANY) -> bool:
    """Whether it is one that fits."""
    return type(value) is int and limits[0] <= value <= limits[1]


def check_partitions(bounds: Array, ahead: Array, covered: Array, facts: list[Array]) -> None:
    """Of each partition, rows that the search has left come first, no more are covered than are there, facts agree."""
    sizes = np.diff(bounds)
    first = np.repeat(bounds[:-1], sizes)
    inside = np.arange(len(first)) > first
    agree = all(bool((fact == fact[first]).all()) for fact in (*facts, covered))
    if not agree or (covered > np.repeat(sizes, sizes)).any() or (inside[1:] & (ahead[1:] < ahead[:-1])).any():
        raise ValueError("a partition")
