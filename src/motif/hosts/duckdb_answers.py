"""Conditions over values of different rows that only DuckDB can decide: many combinations of rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from motif.errors import MotifError, QueryDataError
from motif.hosts.duckdb_database import Database, quoted
from motif.hosts.duckdb_refused import Refused
from motif.ir.expr import Expr
from motif.ir.render import render_row_sql

_ARGUMENTS, _PLACE, _TRUTH = "arguments", "place", "truth"


def answers(expr: Expr, arguments: Sequence[pa.Array]) -> list[bool | MotifError | None]:
    """TRUE, FALSE or NULL for each row of arguments (columns a0, a1, ... of `expr`); an error for a row it fails on."""
    rows = pa.Table.from_arrays(
        [*arguments, pa.array(range(len(arguments[0])))], names=[*(f"a{i}" for i in range(len(arguments))), _PLACE]
    )
    database = Database({_ARGUMENTS: rows})
    return _answers(database, render_row_sql(expr, quoted, "duckdb"), 0, rows.num_rows)


def _answers(database: Database, condition: str, low: int, high: int) -> list[bool | MotifError | None]:
    """Halves of a batch that fails, until the rows to blame are alone."""
    chosen = f"FROM {_ARGUMENTS} WHERE {_PLACE} >= {low} AND {_PLACE} < {high} ORDER BY {_PLACE}"
    try:
        found = database.table(f"SELECT CAST({condition} AS BOOLEAN) AS {_TRUTH} {chosen}")
        return list(found.column(_TRUTH).to_pylist())
    except (Refused, QueryDataError) as refusal:
        if high - low == 1:
            return [refusal.as_error() if isinstance(refusal, Refused) else refusal]
        middle = (low + high) // 2
        return [*_answers(database, condition, low, middle), *_answers(database, condition, middle, high)]
