"""The difference of two times with a zone is the time between them, on every host and wherever it is worked out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from motif.ir.expr import Call, Column, Expr, Verbatim, transform
from motif.ir.types import Kind, Schema, Type
from motif.plan.events import outputs as events
from motif.plan.outputs import Folded, Gather, Outputs, RowValue, is_leaf, leaf_number

AnyOutputs = TypeVar("AnyOutputs", Outputs, events.EventOutputs)
KindOf = Callable[[Column], Kind | None]
_MICROSECONDS = {
    "duckdb": ("to_microseconds(epoch_us(", ") - epoch_us(", "))"),
    "spark": ("((unix_micros(", ") - unix_micros(", ")) * INTERVAL '0.000001' SECOND)"),
}
"""How hosts write the time between two moments."""
_CHOOSING = frozenset({"coalesce", "case", "greatest", "least", "nullif"})


def with_elapsed(exprs: Sequence[Expr], schema: Schema, dialect: str) -> list[Expr]:
    """Row expressions as the host is to work them out."""

    def kind_of(column: Column) -> Kind | None:
        return schema[column.name].kind if column.name in schema else None

    return [_elapsed(expr, kind_of, dialect) for expr in exprs]


def elapsed_outputs(outputs: AnyOutputs, types: Sequence[Type], dialect: str) -> AnyOutputs:
    """The same of what comes after the matching. `types`: those of the columns that are read of rows."""

    def kind_of(column: Column) -> Kind | None:
        leaf = outputs.leaves[leaf_number(column.name)] if is_leaf(column) else None
        place: int | None = None
        match leaf:
            case RowValue() | Gather() | events.Value():
                place = leaf.column
            case Folded() | events.Folded() if leaf.name in ("min", "max"):
                place = leaf.column
            case _:
                pass
        return None if place is None else types[place].kind

    columns = tuple((name, _elapsed(expr, kind_of, dialect)) for name, expr in outputs.columns)
    return outputs if columns == outputs.columns else replace(outputs, columns=columns)


def _elapsed(expr: Expr, kind_of: KindOf, dialect: str) -> Expr:
    """Hosts subtract what clocks of their zone show, DuckDB in days of the calendar: not all days have 24 hours."""
    if isinstance(expr, Column):
        return expr

    def difference(node: Expr) -> Expr | None:
        if not (isinstance(node, Call) and node.name == "-"):
            return None
        args = tuple(transform(arg, difference) for arg in node.args)
        if not all(_has_zone(arg, kind_of) for arg in args):
            return replace(node, args=args)
        return Verbatim(_MICROSECONDS[dialect], args, node.span)

    return transform(expr, difference)


def _has_zone(expr: Expr, kind_of: KindOf) -> bool:
    """Whether a value is known to be a time with a zone."""
    match expr:
        case Column():
            return kind_of(expr) is Kind.TIMESTAMP_TZ
        case Call(name="+" | "-", args=(left, right)):
            return _has_zone(left, kind_of) != _has_zone(right, kind_of)
        case Call(name=name, args=args) if name in _CHOOSING:
            return any(_has_zone(arg, kind_of) for arg in args)
        case _:
            return False
