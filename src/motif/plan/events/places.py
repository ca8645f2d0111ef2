"""Where a match stands that is an event for the queries after it: right behind its last event.

All queries of a stack have one total order of the events that are no matches. A match takes along what its last and its
first event are ordered by, and its number in canonical order, in columns that queries do not see.
"""

from __future__ import annotations

from collections.abc import Sequence

from motif.ir.event import EventQuery
from motif.ir.expr import Column, Expr, Verbatim, walk
from motif.ir.types import Kind, Schema
from motif.plan.events.program import Stream

_HIDDEN = "__motif_"
START = f"{_HIDDEN}start"
"""The column that says when composite events begin."""
RANK = f"{_HIDDEN}rank"
"""The column with the number of a match among those found with it, in canonical order."""


def last_names(stream: Stream) -> list[str]:
    """Columns that the last event of a match is ordered by; of an event that is no match, itself."""
    return [f"{_HIDDEN}last_{number}" for number in range(len(stream.total))]


def first_names(stream: Stream) -> list[str]:
    """The same of its first event."""
    return [f"{_HIDDEN}first_{number}" for number in range(len(stream.total))]


def visible(schema: Schema) -> Schema:
    """The columns that a query sees."""
    return {name: kind for name, kind in schema.items() if not name.startswith(_HIDDEN)}


def total_order(queries: Sequence[EventQuery], stream: Stream, schema: Schema) -> tuple[Expr, ...]:
    """What the order of all queries of a stack is by, behind the time: as asked for, then by all that they read.

    Of these, first the columns that conditions read, then those that are only shown.
    """
    decided: set[str] = set()
    shown: set[str] = set()
    for query in queries:
        decided |= _columns(query.conditions) | {item.name.casefold() for item in query.same}
        shown |= _columns([item.expr for item in query.measures])
        if any(event.type is not None for event in (*query.events(), *query.negated())):
            decided.add((stream.type or "").casefold())
        if query.items is None:
            shown |= {name.casefold() for name in schema}
    asked = [name.casefold() for name in stream.order_by]
    known = {name.casefold(): name for name in reversed(schema)}
    first = [name for name in known if name in decided]
    order = dict.fromkeys([*asked, *_in_schema(first, schema), *_in_schema(shown, schema)])
    order.pop(stream.time.casefold(), None)
    return tuple(_sortable(known[name], schema) for name in order if name in known)


def _columns(exprs: Sequence[Expr]) -> set[str]:
    return {node.name.casefold() for expr in exprs for node in walk(expr) if isinstance(node, Column)}


def _in_schema(names: set[str] | list[str], schema: Schema) -> list[str]:
    return [name.casefold() for name in schema if name.casefold() in names]


def _sortable(name: str, schema: Schema) -> Expr:
    return sortable(name, schema[name].kind)


def sortable(name: str, kind: Kind) -> Expr:
    """A column to sort by; what has no order of its own goes by its text."""
    return Verbatim(("CAST(", " AS STRING)"), (Column(name),)) if kind is Kind.OTHER else Column(name)
