"""Conditions with functions of the user: which columns of which events a call is given, and what is made of its result.

Calls are made by the engine, on columns: once per event where a call sees one event, else on batches of candidates.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from motif.errors import UnsupportedQuery
from motif.ir.expr import Aggregate, At, Call, Column, Expr, transform, walk
from motif.plan.constants import reads_nothing
from motif.plan.scalar import NATIVE, Base, Const, Op, Place, Read, Scalar
from motif.plan.source import Asked

if TYPE_CHECKING:
    from motif.plan.events.conditions import EventLifter


VECTORIZED = "__motif_vectorized__"
"""Attribute of functions that take whole columns: "numpy" or "arrow"."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A host column of the event of a variable."""

    var: str
    column: int


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a registered function; constants are given as they are."""

    name: str
    args: tuple[Argument | Const, ...]
    asked: Asked | None = None
    """What the host decides, of a call that no function of the user answers."""


@dataclass(frozen=True, slots=True)
class FunctionCondition:
    """`test` reads column i of: the results of `calls`, then `values`."""

    calls: tuple[FunctionCall, ...]
    values: tuple[Argument, ...]
    test: Scalar

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Everything that is read from events."""
        given = [arg for call in self.calls for arg in call.args if isinstance(arg, Argument)]
        return tuple(dict.fromkeys([*given, *self.values]))


def function_condition(lifter: EventLifter, expr: Expr, functions: Collection[str]) -> FunctionCondition:
    """Take a condition with calls of registered functions apart."""
    return _Taker(lifter, functions).condition(expr)


def asked_condition(lifter: EventLifter, expr: Expr) -> FunctionCondition | None:
    """A condition on several events that only the host can decide; None if it is about lists of events.

    Its arguments are the largest pieces that one event decides, as where Motif computes the rest.
    """
    args: list[Argument] = []
    fits = True

    def argument(node: Expr) -> Expr | None:
        nonlocal fits
        if reads_nothing(node):
            return node
        if not isinstance(node, At | Aggregate) and not (lifter.on_one_event(node) and lifter.is_strict(node)):
            return None
        names = {inner.var for inner in walk(node) if isinstance(inner, At | Aggregate)}
        if isinstance(node, Aggregate) or not lifter.on_one_event(node) or not names <= lifter.single:
            fits = False
            return node
        found = Argument(names.pop() or "", lifter.columns.index(lifter.row_expr(node)))
        if found not in args:
            args.append(found)
        return Column(f"a{args.index(found)}")

    condition = transform(expr, argument)
    if not fits or not args:
        return None
    asked = Asked(condition, None if lifter.source is None else lifter.source.answers)
    call = FunctionCall(_name(expr), tuple(args), asked)
    return FunctionCondition((call,), (), Read(0, Place(Base.ROW)))


def _name(expr: Expr) -> str:
    calls = (node.name.upper() for node in walk(expr) if isinstance(node, Call) and node.name not in NATIVE)
    return next(calls, "this expression")


class _Taker:
    def __init__(self, lifter: EventLifter, functions: Collection[str]) -> None:
        self.lifter = lifter
        self.functions = functions
        self.calls: list[FunctionCall] = []
        self.values: list[Argument] = []

    def condition(self, expr: Expr) -> FunctionCondition:
        for node in walk(expr):
            if isinstance(node, Call) and node.name in self.functions:
                self.call(node)
        test = self.test(expr)
        return FunctionCondition(tuple(self.calls), tuple(self.values), test)

    def has_call(self, expr: Expr) -> bool:
        return any(isinstance(node, Call) and node.name in self.functions for node in walk(expr))

    def call(self, node: Call) -> int:
        call = FunctionCall(node.name, tuple(self.argument(arg, node) for arg in node.args))
        if call not in self.calls:
            self.calls.append(call)
        return self.calls.index(call)

    def argument(self, arg: Expr, call: Call) -> Argument | Const:
        nested = self.has_call(arg)
        if reads_nothing(arg) and not nested and (known := self.lifter.constant(arg)) is not None:
            return known
        names = {node.var for node in walk(arg) if isinstance(node, At | Aggregate)}
        if len(names) != 1 or nested or not self.lifter.on_one_event(arg) or not names <= self.lifter.single:
            raise self.refused(
                call,
                f"each argument of {call.name} must be made from one event of a variable without a quantifier",
                f"give the values one by one: {call.name}(a.x, b.y)",
            )
        return Argument(names.pop() or "", self.lifter.columns.index(self.lifter.row_expr(arg)))

    def test(self, expr: Expr) -> Scalar:
        match expr:
            case Call(name=name) if name in self.functions:
                return Read(self.call(expr), Place(Base.ROW))
            case _ if reads_nothing(expr) and not self.has_call(expr) and (known := self.lifter.constant(expr)):
                return known
            case At() if expr.var in self.lifter.single:
                value = Argument(expr.var or "", self.lifter.columns.index(self.lifter.row_expr(expr)))
                if value not in self.values:
                    self.values.append(value)
                return Read(len(self.calls) + self.values.index(value), Place(Base.ROW))
            case Call(name=name, args=args, span=span) if name in NATIVE:
                return Op(name, tuple(self.test(arg) for arg in args), span=span)
            case _:
                raise self.refused(
                    expr,
                    "beside a function of your own only comparisons, arithmetic and plain attributes can stand",
                    "do the rest in the function, or in a condition of its own",
                )

    def refused(self, expr: Expr, message: str, hint: str) -> UnsupportedQuery:
        return UnsupportedQuery(message, source=self.lifter.events.source, span=expr.span, hint=hint)
