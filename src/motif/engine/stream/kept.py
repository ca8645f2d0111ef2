"""What a stream keeps between steps: a table of rows, the rows of a partition one after the other in their order.

Besides the columns of the program a row has columns of its owner's own, whose names begin with two underscores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, flat, numpy_of
from motif.engine.order import groups


class Kept:
    """Rows that may still matter."""

    def __init__(self, keys: Sequence[int]) -> None:
        self.keys = keys
        self.table: pa.Table | None = None

    @property
    def count(self) -> int:
        return 0 if self.table is None else self.table.num_rows

    def column(self, name: str) -> Array:
        """One of the owner's columns of integers or flags."""
        assert self.table is not None
        return numpy_of(flat(self.table.column(name)))

    def touched(self, new: pa.Table | None, due: Array) -> tuple[pa.Table, Array]:
        """Take out the partitions that have a new row or one of the kept rows `due`, together with the new rows.

        Also says which rows are new. The rest stays.
        """
        old = self.count
        parts = [part for part in (self.table, new) if part is not None and part.num_rows]
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()
        group = groups([flat(table.column(key)) for key in self.keys], table.num_rows)
        wanted = np.zeros(int(group.max(initial=-1)) + 1, bool)
        wanted[group[old:]] = True
        wanted[group[:old][due]] = True
        chosen = np.flatnonzero(wanted[group])
        self.table = None if len(chosen) == table.num_rows else table.take(arrow(np.flatnonzero(~wanted[group])))
        chosen = chosen[np.argsort(group[chosen], kind="stable")]
        in_place = len(chosen) == table.num_rows and bool((chosen[1:] > chosen[:-1]).all())
        return table if in_place else table.take(arrow(chosen)), chosen >= old

    def put(self, table: pa.Table) -> None:
        """Rows that stay after all; whole partitions."""
        if table.num_rows:
            self.table = table if self.table is None else pa.concat_tables([self.table, table])

    def drop(self, gone: Array) -> None:
        """Let go of some rows."""
        if self.table is not None and gone.any():
            self.table = self.table.take(arrow(np.flatnonzero(~gone)))


def in_halves(table: pa.Table, bounds: Array) -> list[slice]:
    """Two halves of whole partitions; none where there is one partition only."""
    if len(bounds) < 3:
        return []
    middle = int(bounds[len(bounds) // 2])
    return [slice(0, middle), slice(middle, table.num_rows)]


def too_old(bounds: Array, limit: int) -> Array:
    """Rows that a partition has too many of, the oldest first."""
    sizes = np.diff(bounds)
    return np.repeat(bounds[1:], sizes) - np.arange(int(bounds[-1])) > limit


def with_column(table: pa.Table, name: str, values: Array) -> pa.Table:
    """The table with one column more, or another one in its place."""
    at = table.schema.get_field_index(name)
    return table.append_column(name, arrow(values)) if at < 0 else table.set_column(at, name, arrow(values))
