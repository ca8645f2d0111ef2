"""Expressions of a match as expressions of one row, and what keeps hosts from computing what they may fail on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from motif.ir.expr import (
    Aggregate,
    At,
    Call,
    Expr,
    Label,
    Literal,
    MatchNumber,
    Verbatim,
    children,
    transform,
    walk,
    with_children,
)
from motif.ir.nested import parts_of
from motif.plan.scalar import NATIVE


def as_on_one_row(expr: Expr) -> Expr:
    """The same with everything read from one row: the host gives it the same type."""

    def own(node: Expr) -> Expr | None:
        match node:
            case At(arg=Label()) | Aggregate(name="min" | "max", arg=Label()):
                return Literal("A")
            case At(arg=arg):
                return arg
            case Aggregate(name="count") | Aggregate(arg=None) | MatchNumber():
                return Literal(1)
            case Aggregate(name=name, arg=arg) if arg is not None:
                inner = as_on_one_row(arg)
                return Verbatim(("CAST(", " AS DOUBLE)"), (inner,)) if name == "avg" else inner
            case Label():
                return Literal("A")
            case _:
                return None

    return transform(expr, own)


def may_fail(expr: Expr, dialect: str) -> bool:
    """Whether some row may make it fail: casts, functions, and on Spark a division by zero."""
    return any(
        (isinstance(node, Verbatim) and bool(node.args))
        or (isinstance(node, Call) and node.name not in NATIVE)
        or (isinstance(node, Call) and node.name in ("/", "%") and dialect == "spark")
        for node in walk(expr)
    )


def nothing(node: Expr) -> Expr | None:
    """A navigation to a missing row: NULL, of the right type."""
    return Call("case", (Literal(False), node.arg, Literal(None))) if isinstance(node, At) else None


def guarded(expr: Expr, before: Sequence[Expr]) -> Expr:
    """A value that is computed only where conditions hold."""
    for guard in reversed(before):
        expr = Call("case", (guard, expr, Literal(None)))
    return expr


def sought(among: Expr, before: Sequence[Expr], dialect: str) -> Expr:
    """A comparison with a sub-query, of values that are computed only where conditions hold."""
    left, rows = children(among)
    parts = [guarded(part, before) if may_fail(part, dialect) else part for part in parts_of(left)]
    return with_children(among, (with_children(left, tuple(parts)) if len(parts) > 1 else parts[0], rows))


def label_fold(node: Aggregate, members: tuple[str, ...]) -> Expr:
    """An aggregate of CLASSIFIER(): there are only so many variables, so their rows are counted."""
    if node.name == "count" and not node.distinct:
        return replace(node, arg=None)
    counts = {name: Call(">", (Aggregate("count", None, name), Literal(0))) for name in sorted(members)}
    if node.name == "count":
        each = [Call("case", (count, Literal(1), Literal(0))) for count in counts.values()]
        return reduce(lambda one, other: Call("+", (one, other)), each)
    names = sorted(counts, reverse=node.name == "max")
    return Call("case", (*(part for name in names for part in (counts[name], Literal(name))), Literal(None)), node.span)
