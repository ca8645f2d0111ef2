"""Functions of the host over values of several rows, said in a way that the host can compute.

Two cases need no help from the matcher: rows at a fixed distance are what the host's own LAG and LEAD read, and a
difference of times counted in units is the difference of two numbers, each made from one row.
"""

from __future__ import annotations

from dataclasses import dataclass

from motif.ir.expr import At, Call, Expr, Literal, Verbatim, transform
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
        """`lag(arg, n) OVER (...)` or `lead(arg, n) OVER (...)`."""
        spec = self.spec()
        name = "lag" if shift < 0 else "lead"
        return Verbatim((f"{name}(", f", {abs(shift)}) {spec.parts[0]}", *spec.parts[1:]), (arg, *spec.args))

    def row_number(self) -> Verbatim:
        """The place of a row in its partition.

        Rows that are alike in every column have different neighbours; sorted by this, each keeps its own.
        """
        spec = self.spec()
        return Verbatim((f"row_number() {spec.parts[0]}", *spec.parts[1:]), spec.args)

    def spec(self) -> Verbatim:
        """`OVER (PARTITION BY ... ORDER BY ...)`."""
        text = ["OVER ("]
        for position, _ in enumerate(self.keys):
            text[-1] += "PARTITION BY " if position == 0 else ", "
            text.append("")
        for position, item in enumerate(self.order):
            text[-1] += " ORDER BY " if position == 0 else ", "
            text.append(f" {'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if item.nulls_first else 'LAST'}")
        text[-1] += ")"
        return Verbatim(tuple(text), (*self.keys, *(item.expr for item in self.order)))


def window(query: RowQuery, ties: tuple[Expr, ...]) -> Window:
    """The order a query matches its rows in."""
    breakers = tuple(Order(expr) for expr in ties)
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
