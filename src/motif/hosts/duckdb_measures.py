"""Columns of a result that are more than a value of the match, computed without DuckDB: a push brings few matches."""

from __future__ import annotations

import pyarrow as pa

from motif.engine.local import LocalColumns
from motif.hosts.duckdb import LEAVES, DuckSource, Planned
from motif.ir.expr import walk
from motif.ir.types import Schema
from motif.plan.outputs import is_leaf


def computed_here(program: Planned, source: DuckSource, leaves: pa.Table, result: pa.Table) -> LocalColumns | None:
    """Computes them; None where there are none, or DuckDB has to.

    `leaves` and `result`: those of no match.
    """
    exprs, fields = [], []
    for (_, expr), column in zip(program.outputs.columns, result.schema, strict=True):
        if not is_leaf(expr):
            exprs.append(expr)
            fields.append(column)
    if not exprs or program.outputs.grouped:
        return None
    schema: Schema = {}
    if any(is_leaf(part) for expr in exprs for part in walk(expr)):
        with source.database.lent(LEAVES, leaves):
            schema = DuckSource(source.database, "", LEAVES).schema
    local = LocalColumns.of(exprs, None, schema, source.dialect, pa.schema(fields))
    return local if local is not None and local.takes_rows_of(leaves) else None
