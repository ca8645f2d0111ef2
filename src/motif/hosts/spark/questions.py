"""How workers hand back what is to be asked: the number of a condition, and values in columns of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from motif.engine.told import Told

NUMBER = "number"


def column(number: int, place: int) -> str:
    """The name of a column for an argument of a condition."""
    return f"q{number}_{place}"


def questions_of(asked: Sequence[Told], schema: pa.Schema) -> pa.Table:
    """What a worker hands back."""
    tables = [schema.empty_table()]
    for number, told in enumerate(asked):
        rows = told.questions()
        if rows is not None:
            values = {column(number, place): given for place, given in enumerate(rows.columns)}
            given = {NUMBER: pa.array([number] * rows.num_rows), **values}
            columns = [
                given[field.name].cast(field.type) if field.name in given else pa.nulls(rows.num_rows, field.type)
                for field in schema
            ]
            tables.append(pa.Table.from_arrays(columns, schema=schema))
    return pa.concat_tables(tables)
