"""Which events the matches of an event query bound: of a query, run over numbered events, or of its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, numpy_of
from motif.errors import MotifError, QueryBindError
from motif.hosts.duckdb import DuckSource
from motif.hosts.duckdb_events import Callables, Stack, run_program
from motif.hosts.frames import to_arrow
from motif.ir.event import EventQuery, Item
from motif.ir.expr import Aggregate, At, Column, Expr, walk
from motif.plan.dag import Node
from motif.plan.events.program import EventProgram

_EVENTS, _ROW = "__motif_report_events", "_motif_row"
_OF_MATCH = ("match_id", "match_start", "match_end")


@dataclass(frozen=True, slots=True)
class Bound:
    """Events, matches, and for each event that a match binds: its row, the match, and the variable."""

    events: pa.Table
    time: str
    variables: tuple[str, ...]
    keys: tuple[str, ...] | None
    """Columns that all variables agree on; None where there is no such key, or one that is computed."""
    read: tuple[str, ...]
    """Columns that the query reads, those of its conditions first."""
    found: pa.Table
    items: tuple[str, ...]
    """Columns of `found` that people asked for."""
    rows: Array
    match: Array
    variable: Array


def bound_by_query(stack: Stack, node: Node, functions: Callables) -> Bound:
    """Run a query over the events of its stack, which are numbered for it."""
    query = node.query
    events = stack.database.table(stack.source(node).select("*"))
    stack.database.add(_EVENTS, events.append_column(_ROW, pa.array(np.arange(events.num_rows))))
    source = DuckSource(stack.database, "", _EVENTS)
    program = stack.planned(replace(node, query=_numbered(query), is_followed=False), source, functions)
    found = run_program(program, source, functions)
    variables = tuple(event.var for event in query.events())
    own = events.drop_columns([name for name in events.column_names if name.startswith("__motif_")])
    read = (*query.conditions, *(item.expr for item in query.items or ()))
    return Bound(
        own,
        _cased(program.stream.time, own),
        variables,
        _keys(program, own),
        _read(read, own),
        found,
        tuple(item.name for item in query.items or ()),
        *_bound([found.column(_number_of(var)).combine_chunks() for var in variables]),
    )


def _numbered(query: EventQuery) -> EventQuery:
    """The query with the numbers of the events that a match binds among its items."""
    numbers = []
    for event in query.events():
        number: Expr = At(Column(_ROW), event.var)
        if event.repeat is not None:
            number = Aggregate("array_agg", Column(_ROW), event.var)
        numbers.append(Item(number, _number_of(event.var)))
    return replace(query, items=(*(query.items or ()), *numbers), returned=(), name=None)


def _number_of(var: str) -> str:
    return f"{_ROW}_{var}"


def _keys(program: EventProgram, events: pa.Table) -> tuple[str, ...] | None:
    names = [part.expr.name for part in program.key_parts if isinstance(part.expr, Column)]
    one_column = all(len({own for _, own in part.by_variable}) <= 1 for part in program.key_parts)
    if not names or not one_column or len(names) < len(program.key_parts):
        return None
    return tuple(_cased(name, events) for name in names)


def _cased(name: str, events: pa.Table) -> str:
    own: list[str] = events.column_names
    return next(column for column in own if column.casefold() == name.casefold())


def _read(exprs: Iterable[Expr], events: pa.Table) -> tuple[str, ...]:
    named = dict.fromkeys(node.name.casefold() for expr in exprs for node in walk(expr) if isinstance(node, Column))
    own = {name.casefold(): name for name in events.column_names}
    return tuple(own[name] for name in named if name in own)


def _bound(columns: list[pa.Array]) -> tuple[Array, Array, Array]:
    """`columns`: per variable the row that each match binds, or a list of them."""
    parts = []
    for number, column in enumerate(columns):
        if pa.types.is_list(column.type):
            rows, matches = pc.list_flatten(column), pc.list_parent_indices(column)
        else:
            rows, matches = column, pa.array(np.arange(len(column)))
        known = rows.is_valid()
        own = numpy_of(rows.filter(known)).astype(np.int64)
        parts.append((own, numpy_of(matches.filter(known)).astype(np.int64), np.full(len(own), number)))
    rows_of_all, matches_of_all, variables = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows_of_all, matches_of_all, variables


# -- of a result ---------------------------------------------------------------------------------------


def bound_in_result(result: Any, data: Any, time: str) -> Bound:
    """Find the events that the rows of a `SELECT *` hold among the data."""
    found, events = to_arrow(result), to_arrow(data)
    held = [name for name in found.column_names if _holds_events(found.schema.field(name).type)]
    if not {*_OF_MATCH} <= {*found.column_names} or not held:
        raise MotifError(
            "the result does not hold the events of its matches",
            hint="give the query in its place, or the result of an event query with SELECT *",
        )
    if time not in events.column_names:
        raise QueryBindError(f"unknown column {time}", hint="time= names the column with the time of an event")
    numbers = {_identity(row): number for number, row in enumerate(events.to_pylist())}
    columns = [_rows_of(found.column(name), numbers) for name in held]
    return Bound(events, time, tuple(held), None, (), found, (), *_bound(columns))


def _holds_events(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return bool(pa.types.is_struct(inner))


def _rows_of(column: pa.ChunkedArray, numbers: Mapping[str, int]) -> pa.Array:
    """The rows of the data that events, or lists of them, are."""

    def row_of(event: dict[str, Any] | None) -> int | None:
        if event is None:
            return None
        if (found := numbers.get(_identity(event))) is None:
            raise MotifError("an event of the result is not in the data", hint="give the data that was matched")
        return found

    values = column.to_pylist()
    if pa.types.is_struct(column.type):
        return pa.array([row_of(value) for value in values], pa.int64())
    rows = [None if value is None else [row_of(event) for event in value] for value in values]
    return pa.array(rows, pa.list_(pa.int64()))


def _identity(event: Mapping[str, Any]) -> str:
    return repr(sorted(event.items()))
