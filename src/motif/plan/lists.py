"""Our aggregates over the rows of a list, in the words of each host: for values that only these rows may be asked for.

Both hosts compute with the elements of a list where they stand, in streams as well as over tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from motif.ir.expr import Call, Expr, Literal, Verbatim, transform
from motif.ir.types import Kind, Type

_ROW = "__motif_row"
_ARRAY_AGG = re.compile(r"array_agg\s*\(\s*(DISTINCT|ALL)?\s*$", re.IGNORECASE)
_DECIMALS = 37
"""Digits of sums on Spark: of one more, the sum of two would lose a digit behind the point."""


def field(name: str, dialect: str, row: str = _ROW) -> Expr:
    """A field of the row at hand."""
    return Verbatim((f"{row}.{name}" if dialect == "spark" else f"{row}['{name}']",), ())


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


@dataclass(frozen=True, slots=True)
class ArrayAgg:
    """ARRAY_AGG with ORDER BY or FILTER, which Spark has no words for."""

    arg: Expr
    distinct: bool
    keys: tuple[tuple[Expr, bool, bool], ...]
    """What is sorted by, whether downwards, and whether NULLs come first."""

    @classmethod
    def of(cls, call: Expr) -> ArrayAgg | None:
        """None of any other call."""
        if isinstance(call, Call):
            return cls(call.args[0], False, ()) if call.name == "array_agg" and len(call.args) == 1 else None
        if not isinstance(call, Verbatim) or not (head := _ARRAY_AGG.match(call.parts[0])):
            return None
        (arg, *keys), behind = call.args, call.parts[2:]
        words = [part.upper() for part in behind]
        sorted_by = tuple((key, "DESC" in w, "FIRST" in w) for key, w in zip(keys, words, strict=True))
        return cls(arg, head[1] is not None and head[1].upper() == "DISTINCT", sorted_by)

    def over(self, rows: Expr, condition: Expr | None, own: Callable[[str], Callable[[Expr], Expr | None]]) -> Expr:
        """In Spark's words. `own`: what stands for columns of the row that is called so."""
        if condition is not None:
            rows = Verbatim(("filter(", f", {_ROW} -> ", ")"), (rows, transform(condition, own(_ROW))))
        if self.keys:
            rows = Verbatim(
                ("array_sort(", ", (one, other) -> ", ")"), (rows, self._comparison(own("one"), own("other")))
            )
        found = values(rows, transform(self.arg, own(_ROW)), "spark")
        return folded("array_agg", rows, found, Type(Kind.NULL), "spark", distinct=self.distinct)

    def _comparison(self, one: Callable[[Expr], Expr | None], other: Callable[[Expr], Expr | None]) -> Expr:
        """Less than zero where one row comes before the other."""
        result: Expr = Literal(0)
        for key, is_descending, nulls_first in reversed(self.keys):
            left, right = transform(key, one), transform(key, other)
            before, after = Literal(-1), Literal(1)
            nothing = (before, after) if nulls_first else (after, before)
            steps = (
                *(Call("and", (Call("is null", (left,)), Call("is null", (right,)))), result),
                *(Call("is null", (left,)), nothing[0]),
                *(Call("is null", (right,)), nothing[1]),
                *(Call("<", (left, right)), after if is_descending else before),
                *(Call(">", (left, right)), before if is_descending else after),
            )
            result = Call("case", (*steps, result))
        return result


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
