"""Our aggregates over the rows of a list, in the words of each host: for values that only these rows may be asked for.

Both hosts compute with the elements of a list where they stand, in streams as well as over tables.
"""

from __future__ import annotations

from collections.abc import Callable

from motif.ir.expr import Call, Expr, Literal, Verbatim
from motif.ir.types import Kind, Type

_ROW = "__motif_row"
_DECIMALS = 37
"""Digits of sums on Spark: of one more, the sum of two would lose a digit behind the point."""


def field(name: str, dialect: str) -> Expr:
    """A field of the row at hand."""
    return Verbatim((f"{_ROW}.{name}" if dialect == "spark" else f"{_ROW}['{name}']",), ())


def no_rows(dialect: str) -> Expr:
    """An empty list."""
    return Verbatim(("array()" if dialect == "spark" else "[]",), ())


def values(rows: Expr, arg: Expr, dialect: str) -> Expr:
    """What an expression over the fields of a row gives for each row of a list."""
    if dialect == "spark":
        return Verbatim(("transform(", f", {_ROW} -> ", ")"), (rows, arg))
    return Verbatim(("list_transform(", f", lambda {_ROW}: ", ")"), (rows, arg))


def folded(name: str, rows: Expr, found: Expr, kind: Type, dialect: str, *, distinct: bool) -> Expr:
    """An aggregate of `found`, values of type `kind` of `rows`."""
    if name == "array_agg":
        size = "size(" if dialect == "spark" else "len("
        has_rows = Call(">", (Verbatim((size, ")"), (rows,)), Literal(0)))
        return Call("case", (has_rows, _different(found, dialect) if distinct else found, Literal(None)))
    if distinct:
        found = Verbatim(("array_distinct(" if dialect == "spark" else "list_distinct(", ")"), (found,))
    return (_SPARK if dialect == "spark" else _DUCKDB)[name](found, kind)


def _different(found: Expr, dialect: str) -> Expr:
    """Each value once, where it first is."""
    if dialect == "spark":
        return Verbatim(("array_distinct(", ")"), (found,))
    return Verbatim(("list_filter(", ", lambda value, place: list_position(", ", value) = place)"), (found, found))


def _cast(expr: Expr, kind: str) -> Expr:
    return Verbatim(("CAST(", f" AS {kind})"), (expr,))


def _sum_type(kind: Type, digits: int = 38) -> str:
    """The same on every host: as wide as it can be."""
    if kind.kind is Kind.DECIMAL:
        return f"DECIMAL({digits}, {kind.scale})"
    return "DOUBLE" if kind.kind is Kind.FLOAT else "BIGINT"


def _one(text: str) -> Callable[[Expr, Type], Expr]:
    before, _, after = text.partition("?")
    return lambda found, _: Verbatim((before, after), (found,))


def _spark_sum(found: Expr, kind: Type) -> Expr:
    of = _sum_type(kind, _DECIMALS)
    merge = f"(total, value) -> coalesce(CAST(total + CAST(value AS {of}) AS {of}), CAST(value AS {of}), total)"
    return _cast(Verbatim(("aggregate(", f", CAST(NULL AS {of}), {merge})"), (found,)), _sum_type(kind))


def _spark_avg(found: Expr, kind: Type) -> Expr:
    total, count = _cast(_spark_sum(found, kind), "DOUBLE"), _SPARK["count"](found, kind)
    return Verbatim(("try_divide(", ", CAST(", " AS DOUBLE))"), (total, count))


_DUCKDB: dict[str, Callable[[Expr, Type], Expr]] = {
    "count": _one("len(list_filter(?, lambda value: value IS NOT NULL))"),
    "sum": lambda found, kind: _cast(Verbatim(("list_aggregate(", ", 'sum')"), (found,)), _sum_type(kind)),
    "avg": _one("CAST(list_aggregate(?, 'avg') AS DOUBLE)"),
    "min": _one("list_aggregate(?, 'min')"),
    "max": _one("list_aggregate(?, 'max')"),
}
_SPARK: dict[str, Callable[[Expr, Type], Expr]] = {
    "count": lambda found, _: _cast(
        _one("size(filter(?, value -> value IS NOT NULL))")(found, Type(Kind.NULL)), "BIGINT"
    ),
    "sum": _spark_sum,
    "avg": _spark_avg,
    "min": _one("array_min(?)"),
    "max": _one("array_max(?)"),
}
