"""Whether a program can be answered over a stream."""

from __future__ import annotations

from motif.errors import QueryBindError, UnsupportedQuery
from motif.ir.expr import Column
from motif.ir.types import Kind, Schema
from motif.plan.events.program import EventProgram
from motif.plan.program import Program

TIMES = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.DATE})


def time_column(program: Program | EventProgram, schema: Schema) -> str:
    """The column whose time orders the stream; refuses what only a table can answer."""
    if isinstance(program, EventProgram):
        return program.stream.time
    query = program.query
    if program.windowed:
        raise UnsupportedQuery(
            "not supported in a stream: a function of the host over several rows in DEFINE",
            source=query.source,
            hint="compare columns of different rows with operators; the host sees one row at a time",
        )
    if not query.order:
        raise QueryBindError("a stream needs an ORDER BY", source=query.source, hint="ORDER BY the time of an event")
    first = query.order[0]
    if not isinstance(first.expr, Column) or first.descending or schema[first.expr.name].kind not in TIMES:
        raise QueryBindError(
            "the rows of a stream come by time, but ORDER BY does not begin with an ascending time column",
            source=query.source,
            span=first.span,
            hint="ORDER BY a timestamp or date column first",
        )
    return first.expr.name
