"""What calls are is up to the host: one that it calls an aggregate is one over the rows of a match.

The parser reads any call. Here the host is asked, once for a whole query if all of its calls are functions of one row,
else call by call from the inside out. Functions that give rows are refused: a match has one row for each measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from motif.errors import MotifError, QueryBindError, UnsupportedQuery
from motif.ir.event import EventQuery, Item
from motif.ir.expr import (
    OPERATORS,
    Aggregate,
    At,
    Call,
    Expr,
    HostAggregate,
    Label,
    Literal,
    MatchNumber,
    Verbatim,
    children,
    transform,
    walk,
    with_children,
)
from motif.ir.query import RowQuery
from motif.plan.lists import ArrayAgg
from motif.plan.source import HostRefusal, Source, Verdict, extent

_EXPLICIT = re.compile(r"(FIRST|LAST|PREV|NEXT|RUNNING|FINAL)\b.*\)$", re.IGNORECASE | re.DOTALL)
_WITHIN_GROUP = re.compile(r"\)\s*WITHIN\s+GROUP\s*\(", re.IGNORECASE)


def judge_rows(query: RowQuery, source: Source) -> RowQuery:
    """The query with its aggregates of the host known as such; refuses functions that give rows, and misplaced ones."""
    judge = _Judge(query.source, source)
    if judge.are_values(_called(_exprs_of(query))):
        return query
    judge.values((key.expr for key in query.partition), "PARTITION BY")
    judge.values((item.expr for item in query.order), "ORDER BY")
    judge.conditions((define.condition for define in query.defines), "DEFINE")
    found = judge.measures([measure.expr for measure in query.measures], "MEASURES")
    measures = tuple(replace(item, expr=expr) for item, expr in zip(query.measures, found, strict=True))
    return replace(query, measures=measures)


def judge_events(query: EventQuery, source: Source) -> EventQuery:
    """The same for an event query."""
    judge = _Judge(query.source, source)
    if judge.are_values(_called([*query.conditions, *(item.expr for item in query.measures)])):
        return query
    judge.conditions(query.conditions, "WHERE")

    def judged(items: tuple[Item, ...], place: str) -> tuple[Item, ...]:
        found = judge.measures([item.expr for item in items], place)
        return tuple(replace(item, expr=expr) for item, expr in zip(items, found, strict=True))

    items = None if query.items is None else judged(query.items, "SELECT")
    return replace(query, items=items, returned=judged(query.returned, "RETURN"))


@dataclass(frozen=True, slots=True)
class _Judge:
    text: str
    source: Source

    # -- places

    def values(self, exprs: Iterable[Expr], place: str) -> None:
        """Refuse what is not a value of a row, before there is any match."""
        for node in self._odd(exprs):
            if self.verdict(node) is Verdict.ROWS:
                self.refuse_rows(node, place)
            message = f"{_name(node)} reads a match, but {place} is read before there is any"
            raise self.error(message, node, f"{place} takes columns of the input")

    def conditions(self, exprs: Iterable[Expr], place: str) -> None:
        """Refuse what conditions can not say."""
        for node in self._odd(exprs):
            if self.verdict(node) is Verdict.ROWS:
                self.refuse_rows(node, place)
            raise UnsupportedQuery(
                f"{_name(node)} is not offered in {place}",
                source=self.text,
                span=extent(node),
                hint="aggregates there are COUNT, SUM, AVG, MIN, MAX, EVERY and SOME; or filter on its result outside",
            )

    def measures(self, exprs: Sequence[Expr], place: str) -> list[Expr]:
        """The same with aggregates of the host as `HostAggregate`."""
        if self.are_values(_called(exprs)):
            return list(exprs)
        return [self.resolved(expr, place) for expr in exprs]

    # -- what the host says

    def are_values(self, exprs: Sequence[Expr]) -> bool:
        if not exprs or any(isinstance(node, HostAggregate) for expr in exprs for node in walk(expr)):
            return not exprs
        try:
            return self.source.verdict([self.of_one_row(expr) for expr in exprs]) is Verdict.VALUE
        except HostRefusal:
            return False

    def verdict(self, node: Expr, *, tells: bool = False) -> Verdict:
        """Of one call; what the host refuses altogether is told here, or by the host when it has to compute it."""
        call = node.call if isinstance(node, HostAggregate) else node
        try:
            return self.source.verdict([self.of_one_row(call)])
        except HostRefusal as refusal:
            if tells:
                raise self.refused(refusal, node) from None
            return Verdict.VALUE

    def refused(self, refusal: HostRefusal, node: Expr) -> MotifError:
        message, _, hint = str(refusal).partition("\n")
        return self.error(message, node, " ".join(hint.split())[:200] or None)

    def _odd(self, exprs: Iterable[Expr]) -> Iterable[Expr]:
        """Calls that are no values, innermost first."""
        called = _called(exprs)
        if self.are_values(called):
            return
        for expr in called:
            if not self.are_values([expr]):
                yield from (n for n in _inside_out(expr) if _is_call(n) and self.verdict(n) is not Verdict.VALUE)

    def of_one_row(self, expr: Expr) -> Expr:
        """An expression of the same type that the host can be asked for: every row that is read is the same one."""

        def stand_in(node: Expr) -> Expr | None:
            match node:
                case At(arg=arg):
                    return self.of_one_row(arg)
                case Aggregate(name="count") | MatchNumber():
                    return Literal(1)
                case Aggregate(name="avg"):
                    return Literal(1.0)
                case Aggregate(name="array_agg", arg=arg) if arg is not None:
                    brackets = ("array(", ")") if self.source.dialect == "spark" else ("[", "]")
                    return Verbatim(brackets, (self.of_one_row(arg),))
                case Aggregate(arg=arg) if arg is not None:
                    return self.of_one_row(arg)
                case HostAggregate():
                    return Verbatim((f"CAST(NULL AS {self.type_name(node)})",), ())
                case Label():
                    return Literal("A")
                case _:
                    return None

        return transform(expr, stand_in)

    def type_name(self, node: HostAggregate) -> str:
        """The host's name of its type; tells what is wrong with its arguments."""
        listed = ArrayAgg.of(node.call) if self.source.dialect == "spark" else None
        known = node if listed is None else HostAggregate(Call("array_agg", (listed.arg,)))
        asked = with_children(known, tuple(map(self.of_one_row, children(known))))
        try:
            return self.source.type_name(asked)
        except HostRefusal as refusal:
            raise self.refused(refusal, node) from None

    # -- aggregates

    def resolved(self, expr: Expr, place: str, outer: str | None = None) -> Expr:
        """The expression, its aggregates of the host found; `outer`: what reads it of one row."""
        if isinstance(expr, HostAggregate):
            inner = tuple(self.resolved(child, place, outer) for child in children(expr.call))
            return self.aggregate(replace(expr, call=with_children(expr.call, inner)), place, outer)
        within = outer or (_name(expr) if isinstance(expr, At | Aggregate) else None)
        expr = with_children(expr, tuple(self.resolved(child, place, within) for child in children(expr)))
        if not _is_call(expr):
            return expr
        match self.verdict(expr, tells=not any(isinstance(node, Aggregate) for node in walk(expr))):
            case Verdict.ROWS:
                self.refuse_rows(expr, place)
            case Verdict.AGGREGATE:
                return self.aggregate(HostAggregate(expr, span=expr.span), place, outer)
            case Verdict.VALUE:
                return expr

    def aggregate(self, node: HostAggregate, place: str, outer: str | None) -> HostAggregate:
        """The aggregate over row expressions, and the variable whose rows it reads."""
        name = _name(node)
        if outer is not None:
            raise self.error(
                f"{name} inside of {outer}", node, f"{outer} takes columns of one row; combine the results outside"
            )
        names: dict[str | None, Expr] = {}

        def lowered(part: Expr) -> Expr | None:
            match part:
                case Aggregate() | HostAggregate():
                    hint = f"{name} takes columns of one row; combine the results outside"
                    raise self.error(f"{_name(part)} inside of {name}", part, hint)
                case At(arg=arg, var=var):
                    if part != At(arg, var) or self.is_explicit(part):
                        hint = f"{name} takes columns of one row; combine the results outside"
                        raise self.error(f"{_name(part)} inside of {name}", part, hint)
                    names.setdefault(var, part)
                    return arg
                case _:
                    return None

        call = self.accepted(transform(node.call, lowered))
        condition = None if node.filter is None else transform(node.filter, lowered)
        self.check_names(name, names)
        found = replace(node, call=call, filter=condition, var=next(iter(names), None))
        self.type_name(found)
        if self.source.dialect == "spark" and ArrayAgg.of(call) is not None:
            return found  # said in other words
        verdict = self.verdict(found)
        if verdict is Verdict.ROWS:
            self.refuse_rows(node, place)
        if node.mode is not None and verdict is Verdict.VALUE:
            hint = f"write {name.lower()}({node.mode} LAST(A.x))"
            raise self.error(f"{node.mode} stands before FIRST, LAST or an aggregate", node, hint)
        return found

    def accepted(self, call: Expr) -> Expr:
        """`f(x) WITHIN GROUP (ORDER BY y)` is `f(x ORDER BY y)` where the host knows it by that."""
        if not (isinstance(call, Verbatim) and any(map(_WITHIN_GROUP.search, call.parts))):
            return call
        other = replace(call, parts=tuple(_WITHIN_GROUP.sub(" ", part) for part in call.parts))
        try:
            self.source.verdict([self.of_one_row(call)])
        except HostRefusal:
            return other if self.verdict(other) is Verdict.AGGREGATE else call
        return call

    def is_explicit(self, at: At) -> bool:
        """Whether FIRST or LAST was written, not only the column."""
        return at.span is not None and bool(_EXPLICIT.match(self.text[at.span.start : at.span.end]))

    def check_names(self, name: str, names: dict[str | None, Expr]) -> None:
        if len(names) < 2:
            return
        (first, _), (second, other) = list(names.items())[:2]
        if None in names:
            message = f"{name} mixes columns of {first or second} with columns of any row"
            hint = f"qualify all of them with {first or second}., or split the expression into two"
        else:
            message = f"{name} reads one variable, but {first} and {second} are named in it"
            hint = f"write {name} once for each variable"
        raise self.error(message, other, hint)

    # -- refusals

    def refuse_rows(self, node: Expr, place: str) -> NoReturn:
        raise UnsupportedQuery(
            f"{_name(node)} gives rows, and {place} takes one value",
            source=self.text,
            span=extent(node),
            hint="keep the list, and take it apart outside of the query",
        )

    def error(self, message: str, node: Expr, hint: str | None) -> MotifError:
        return QueryBindError(message, source=self.text, span=node.span or extent(node), hint=hint)


def _is_call(node: Expr) -> bool:
    """Whether only the host knows what it is."""
    if isinstance(node, Verbatim):
        return any("(" in part for part in node.parts)
    return isinstance(node, HostAggregate) or (isinstance(node, Call) and node.name not in OPERATORS)


def _called(exprs: Iterable[Expr]) -> list[Expr]:
    return [expr for expr in exprs if any(map(_is_call, walk(expr)))]


def _exprs_of(query: RowQuery) -> list[Expr]:
    return [
        *(key.expr for key in query.partition),
        *(item.expr for item in query.order),
        *(define.condition for define in query.defines),
        *(measure.expr for measure in query.measures),
    ]


def _inside_out(expr: Expr) -> Iterable[Expr]:
    for child in children(expr):
        yield from _inside_out(child)
    yield expr


def _name(node: Expr) -> str:
    """How messages call it."""
    match node:
        case HostAggregate(call=call):
            return _name(call)
        case Call(name=name) | Aggregate(name=name):
            return name.upper()
        case Verbatim(parts=parts):
            return parts[0].partition("(")[0].strip().upper() or "this expression"
        case At(shift=shift, end=end):
            return ("PREV" if shift < 0 else "NEXT") if shift else end.value
        case _:
            return "this expression"
