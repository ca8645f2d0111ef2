"""Names of a query against a schema: every column in the host's spelling, or an error with a suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from motif.errors import MotifError, QueryBindError, did_you_mean, is_slip_of, perhaps
from motif.ir.expr import Column, Expr, transform
from motif.ir.query import Key, RowQuery
from motif.ir.types import Schema

_CONSTANTS = ("TRUE", "FALSE", "NULL")


class Names:
    """Spells columns as the schema does, and collects those it does not have."""

    def __init__(self, schema: Schema, source: str, others: Iterable[str]) -> None:
        """`others`: names a column may have been mistaken for."""
        self.schema = schema
        self.source = source
        self.others = tuple(others)
        self.folded = {name.casefold(): name for name in reversed(schema)}
        self.errors: list[MotifError] = []

    def expr(self, expr: Expr) -> Expr:
        return transform(expr, self.column)

    def column(self, node: Expr) -> Expr | None:
        if not isinstance(node, Column):
            return None
        if node.name in self.schema:
            return node
        if (known := self.folded.get(node.name.casefold())) is not None:
            return replace(node, name=known)
        self.errors.append(self.unknown(node))
        return node

    def _is_quoted(self, node: Column) -> bool:
        return node.span is not None and self.source[node.span.start : node.span.start + 1] == '"'

    def unknown(self, node: Column) -> MotifError:
        qualifies = node.span is not None and self.source[node.span.end : node.span.end + 1] == "."
        what = "column or variable" if qualifies else "column"
        if node.name.casefold() in (name.casefold() for name in self.others):
            hint: str | None = f"it is a variable: name a column of it, such as {node.name}.{next(iter(self.schema))}"
        else:
            constants = [word for word in _CONSTANTS if is_slip_of(node.name.upper(), word)]
            hint = did_you_mean(node.name, constants or (*self.schema, *self.others))
            if self._is_quoted(node) and perhaps(node.name, (*self.schema, *self.others)) is None:
                hint = f"a text stands in single quotes: '{node.name}'"
        return QueryBindError(f"unknown {what} {node.name}", source=self.source, span=node.span, hint=hint)


def bind(query: RowQuery, schema: Schema) -> RowQuery:
    """The query with the schema's own column names.

    Raises the first unknown name; `bind_errors` lists all of them.
    """
    bound, errors = _bind(query, schema)
    if errors:
        raise errors[0]
    return bound


def bind_errors(query: RowQuery, schema: Schema) -> list[MotifError]:
    """Every unknown name."""
    return _bind(query, schema)[1]


def _bind(query: RowQuery, schema: Schema) -> tuple[RowQuery, list[MotifError]]:
    names = Names(schema, query.source, (*query.variables(), *(subset.name for subset in query.subsets)))
    partition = tuple(replace(key, expr=names.expr(key.expr)) for key in query.partition)
    bound = replace(
        query,
        partition=tuple(_named_by_schema(key) for key in partition),
        order=tuple(replace(item, expr=names.expr(item.expr)) for item in query.order),
        measures=tuple(replace(item, expr=names.expr(item.expr)) for item in query.measures),
        defines=tuple(replace(item, condition=names.expr(item.condition)) for item in query.defines),
    )
    return bound, names.errors


def _named_by_schema(key: Key) -> Key:
    """A key that is a plain column is called as the schema calls it."""
    if isinstance(key.expr, Column) and key.name.casefold() == key.expr.name.casefold():
        return replace(key, name=key.expr.name)
    return key
