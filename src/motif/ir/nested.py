"""Sub-queries of a clause: which there are, and the WITH items that they see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from motif.ir.expr import Expr, SubQuery, Verbatim, transform, walk
from motif.ir.query import RowQuery


def _nodes(query: RowQuery) -> Iterator[Expr]:
    exprs = [*(define.condition for define in query.defines), *(measure.expr for measure in query.measures)]
    return (node for expr in exprs for node in walk(expr))


def sub_queries(query: RowQuery) -> list[SubQuery]:
    """All sub-queries in the conditions and measures of a clause, each once."""
    return list(dict.fromkeys(node for node in _nodes(query) if isinstance(node, SubQuery)))


def is_among_rows(expr: Expr) -> TypeGuard[Verbatim]:
    """Whether it compares a value with what a sub-query gives: IN, ANY or ALL."""
    return isinstance(expr, Verbatim) and any(isinstance(arg, SubQuery) and arg.gives_rows for arg in expr.args)


def parts_of(value: Expr) -> tuple[Expr, ...]:
    """What a row `(a, b)` is made of; of anything else itself."""
    return value.args if isinstance(value, Verbatim) and value.parts[0] == "(" else (value,)


def beyond_in(query: RowQuery) -> Verbatim | None:
    """A comparison with a sub-query that is more than IN of one value."""
    found = (node for node in _nodes(query) if is_among_rows(node))
    return next((node for node in found if node.parts[1] != " IN " or len(parts_of(node.args[0])) > 1), None)


def with_common_tables(query: RowQuery, ctes: str) -> RowQuery:
    """The clause with its sub-queries on their own: the WITH items around the clause are part of their text."""
    if not ctes or not sub_queries(query):
        return query

    def alone(node: Expr) -> Expr | None:
        if not isinstance(node, SubQuery):
            return None
        # One that has WITH items of its own could not begin with those of others.
        return replace(node, text=f"{ctes} SELECT * FROM ({node.text})")

    return replace(
        query,
        measures=tuple(replace(item, expr=transform(item.expr, alone)) for item in query.measures),
        defines=tuple(replace(item, condition=transform(item.condition, alone)) for item in query.defines),
    )
