"""Functions of the host over values of several rows, said in a way that the host can compute.

Two cases need no help from the matcher: rows at a fixed distance are what the host's own LAG and LEAD read, and a
difference of times counted in units is the difference of two numbers, each made from one row.
"""

from __future__ import annotations

from dataclasses import dataclass

from motif.ir.expr import At, Call, Column, Expr, Literal, Verbatim, transform
from motif.ir.query import Order, RowQuery


@dataclass(frozen=True, slots=True)
class Window:
    """The order of rows, as the host's OVER clause."""

    keys: tuple[Expr, ...]
    order: tuple[Order, ...]

    def over(self, expr: Expr) -> Expr:
        """The expression on one row, its neighbours read by LAG and LEAD."""

        def neighbour(node: Expr) -> Expr | None:
            if not isinstance(node, At):
                return None
            return self.shifted(node.arg, node.shift) if node.shift else node.arg

        return transform(expr, neighbour)

    def shifted(self, arg: Expr, shift: int) -> Verbatim:
        """`lag(arg, n) OVER (PARTITION BY ... ORDER BY ...)`."""
        text = ["lag(" if shift < 0 else "lead("]
        args = [arg]
        before = f", {abs(shift)}) OVER ("
        for position, key in enumerate(self.keys):
            text.append(before + ("PARTITION BY " if position == 0 else ""))
            args.append(key)
            before = ", "
        before = before.removesuffix(", ")
        for position, item in enumerate(self.order):
            text.append(before + (" ORDER BY " if position == 0 else ", "))
            args.append(item.expr)
            before = f" {'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if item.nulls_first else 'LAST'}"
        return Verbatim((*text, before + ")"), tuple(args))


def window(query: RowQuery, ties: tuple[str, ...]) -> Window:
    """The order a query matches its rows in."""
    breakers = tuple(Order(Column(name)) for name in ties)
    return Window(tuple(key.expr for key in query.partition), (*query.order, *breakers))


def as_difference(call: Call, dialect: str) -> Call | None:
    """DATE_DIFF of two moments as a difference of two counts since 1970, or None for anything else."""
    if call.name not in ("date_diff", "datediff"):
        return None
    match (dialect, call.args):
        case ("duckdb", (Literal() as unit, start, end)):
            epoch = Verbatim(("TIMESTAMP '1970-01-01'",), ())
            counts = [Call(call.name, (unit, epoch, moment), call.span) for moment in (end, start)]
        case ("spark", (end, start)):
            epoch = Verbatim(("DATE '1970-01-01'",), ())
            counts = [Call(call.name, (moment, epoch), call.span) for moment in (end, start)]
        case _:
            return None
    return Call("-", (counts[0], counts[1]), call.span)
