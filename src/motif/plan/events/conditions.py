"""WHERE, condition by condition: what one event decides, what several decide, and what a user's function decides.

A condition on one event is left to the host, which computes one boolean column per variable. What is left
speaks of different events and is tested by the join as soon as all of them are bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from motif.errors import QueryBindError, UnsupportedQuery
from motif.ir.event import EventQuery, PickMode
from motif.ir.expr import Aggregate, At, Call, End, Expr, Literal, transform, walk
from motif.ir.types import Kind, Type
from motif.plan.conditions import HostColumns, Lifter, with_absent
from motif.plan.constants import constant
from motif.plan.events.functions import Argument, FunctionCondition, asked_condition, function_condition
from motif.plan.row_exprs import as_on_one_row
from motif.plan.scalar import Base, Const, Fold, Place, Read, Scalar, scalars
from motif.plan.source import Answers, Asked, Source, extent, host_types
from motif.plan.typer import Typer, not_a_condition


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of WHERE; exactly one of `row`, `scalar` and `function` is given."""

    expr: Expr
    names: frozenset[str]
    folded: frozenset[str] = frozenset()
    """Lists it aggregates."""
    row: Expr | None = None
    """As the host sees it, on the event of its one variable."""
    scalar: Scalar | None = None
    function: FunctionCondition | None = None

    @property
    def asked(self) -> Asked | None:
        """What the host decides of candidate matches."""
        return None if self.function is None else self.function.calls[0].asked

    @property
    def read(self) -> tuple[Argument, ...]:
        """What a function or the host is given of events."""
        return () if self.function is None else self.function.arguments

    def with_answers(self, answers: Answers) -> Condition:
        """The same, about which the host is asked in another way."""
        if self.function is None or self.asked is None:
            return self
        call = replace(self.function.calls[0], asked=replace(self.asked, answers=answers))
        return replace(self, function=replace(self.function, calls=(call,)))


def single_variables(query: EventQuery) -> frozenset[str]:
    """Variables that bind one event, also those of NOT and lists of which FIRST or LAST is picked."""
    single = {event.var for event in query.negated()}
    for event in query.events():
        if event.repeat is None or query.pick(event.var) in (PickMode.FIRST, PickMode.LAST):
            single.add(event.var)
    return frozenset(single)


def names_in(expr: Expr) -> frozenset[str]:
    """Variables that an expression reads."""
    return frozenset(n.var for n in walk(expr) if isinstance(n, At | Aggregate) and n.var is not None)


def split_conditions(
    query: EventQuery, columns: HostColumns, dialect: str, functions: Collection[str], source: Source | None = None
) -> tuple[Condition, ...]:
    """The conditions of WHERE, lifted to host columns but not typed yet; without a source for their text alone."""
    lifter = EventLifter(query, columns, dialect, source)
    return tuple(_split(lifter, condition, functions) for condition in query.conditions)


def _split(lifter: EventLifter, expr: Expr, functions: Collection[str]) -> Condition:
    known = lifter.normal(expr)
    names = names_in(known)
    if any(isinstance(node, Call) and node.name in functions for node in walk(known)):
        return Condition(expr, names, function=function_condition(lifter, known, functions))
    if len(names) == 1 and lifter.on_one_event(known):
        return Condition(expr, names, row=lifter.row_expr(known))
    try:
        scalar = lifter.lift(known)
    except UnsupportedQuery:
        function = lifter.asked_function(known)
        if function is None:
            raise
        return Condition(expr, names, function=function)
    folded = {node.members[0] for node in scalars(scalar) if isinstance(node, Fold)} - lifter.single
    return Condition(expr, names, frozenset(folded), scalar=scalar)


class EventLifter(Lifter):
    """Hoists what one event decides; places are events of variables."""

    where = "WHERE"
    what = "events"

    def __init__(self, query: EventQuery, columns: HostColumns, dialect: str, source: Source | None = None) -> None:
        """`source`: None where only the text is known, and what constants are does not matter."""
        self.events = query
        self.source = source
        self.columns = columns
        self.dialect = dialect
        self.single = single_variables(query)

    def normal(self, expr: Expr) -> Expr:
        """FIRST and LAST of one event are that event, and there is none before it."""

        def known(node: Expr) -> Expr | None:
            if not isinstance(node, At) or node.var not in self.single:
                return None
            if node.index:
                return Call("case", (Literal(False), At(node.arg, node.var), Literal(None)), node.span)
            return At(node.arg, node.var, span=node.span)

        return transform(expr, known)

    def asked_function(self, condition: Expr) -> FunctionCondition | None:
        """A condition that the host decides for candidate matches, where it can be asked; leaves no column if not."""
        if not self.may_ask(condition):
            return None
        columns = len(self.columns.exprs)
        found = asked_condition(self, condition)
        if found is None:
            del self.columns.exprs[columns:]
        return found

    def place(self, at: At) -> Place:
        return Place(Base.SET, (at.var or "",), at.end, at.index)

    def on_one_event(self, expr: Expr) -> bool:
        """Nothing but the event itself decides it."""
        places = self.places(expr)
        own = all(place.end is End.LAST and place.index == 0 for place in places)
        return own and len(places) <= 1 and not self.needs_match(expr)

    def fold(self, node: Aggregate) -> Scalar:
        if node.name == "array_agg" or node.distinct:
            raise UnsupportedQuery(
                f"not supported in WHERE: {'DISTINCT' if node.distinct else 'ARRAY_AGG'}",
                source=self.events.source,
                span=node.span,
                hint="COUNT, SUM, AVG, MIN and MAX are",
            )
        column = None if node.arg is None else self.columns.index(node.arg)
        return Fold(node.name, column, (node.var or "",), span=node.span)

    def constant(self, expr: Expr) -> Const | None:
        """A value that belongs to no event must be known before there are any."""
        if self.source is None:
            return Const(None)
        known = constant(expr, self.source, self.events.source)
        if known is None:
            raise UnsupportedQuery(
                "not supported in WHERE: a value that is no plain constant beside several events",
                source=self.events.source,
                span=extent(expr),
                hint="write a number, string, boolean, date, time or fixed interval; what changes from one run to "
                "the next, such as now( ) or random( ), can only stand in a condition on one event",
            )
        return known

    def refused(self, expr: Expr) -> UnsupportedQuery:
        name = expr.name.upper() if isinstance(expr, Call | Aggregate) else "this expression"
        return UnsupportedQuery(
            f"not supported in WHERE: {name} on values of different events",
            source=self.events.source,
            span=extent(expr),
            hint="across events Motif computes + - * / %, comparisons, IN, BETWEEN, AND OR NOT, IS NULL, CASE, "
            "COALESCE, NULLIF, ABS, GREATEST, LEAST and DATE_DIFF; apply other functions to one event at a "
            "time, or give a function of your own in functions=" + self.elsewhere(),
        )


class Typed:
    """Gives types to conditions, with the host's word on what a function makes of an event that is not there."""

    def __init__(self, query: EventQuery, columns: HostColumns, typer: Typer, source: Source) -> None:
        self.query = query
        self.columns = columns
        self.typer = typer
        self.source = source
        self.lifter = EventLifter(query, columns, source.dialect, source)

    def conditions(self, conditions: tuple[Condition, ...]) -> Iterator[Condition]:
        for condition in conditions:
            if condition.scalar is None:
                self.check_asked(condition)
                yield condition
                continue
            try:
                yield replace(condition, scalar=self.scalar(condition))
            except UnsupportedQuery:
                columns = len(self.columns.exprs)
                function = self.lifter.asked_function(self.lifter.normal(condition.expr))
                if function is None or len(self.columns.exprs) > columns:
                    raise
                asked = replace(condition, scalar=None, function=function)
                self.check_asked(asked)
                yield asked

    def check_asked(self, condition: Condition) -> None:
        """What the host is asked is a condition."""
        if condition.function is None or condition.function.calls[0].asked is None:
            return
        [kind] = host_types(self.query.source, [as_on_one_row(condition.expr)], self.source)
        if kind.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise not_where(self.query, condition.expr, kind)

    def scalar(self, condition: Condition) -> Scalar:
        assert condition.scalar is not None
        node = self.typer.typed(with_absent(condition.scalar, self.columns, self.source))
        if node.type.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise not_where(self.query, condition.expr, node.type)
        for inner in scalars(node):
            if isinstance(inner, Read) and inner.type.kind is Kind.OTHER:
                raise UnsupportedQuery(
                    f"not supported in WHERE: values of this type of different events ({inner.type})",
                    source=self.query.source,
                    span=extent(self.columns.exprs[inner.column]),
                    hint="compare a number, string, boolean or time made from it",
                )
        return node


def not_where(query: EventQuery, expr: Expr, kind: Type) -> QueryBindError:
    """WHERE has something else than a condition in it."""
    return not_a_condition("WHERE needs conditions, but this is", kind, query.source, extent(expr))
