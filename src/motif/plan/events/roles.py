"""Which events can play a role: what each variable may bind, and what the host leaves out for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motif.ir.event import Event, EventCount, EventQuery
from motif.ir.expr import Call, Column, Expr, Literal, Verbatim
from motif.ir.types import Kind, Schema
from motif.plan.conditions import HostColumns
from motif.plan.events.conditions import Condition
from motif.plan.events.program import KeyPart, Mask, Stream

NO_CLASS = -1


@dataclass(frozen=True, slots=True)
class Test:
    """What an event must fulfil by itself so that a variable may bind it."""

    var: str
    type: str | None
    """The class, where being of it is all."""
    expr: Expr | None
    """None: nothing."""


def tests_of(query: EventQuery, stream: Stream, schema: Schema, conditions: Sequence[Condition]) -> list[Test]:
    """One for each variable."""
    found = []
    for event in _events(query):
        own = [c.row for c in conditions if c.row is not None and c.names == {event.var}]
        if event.type is None or stream.type is None:
            found.append(Test(event.var, None, _junction("and", own)))
        else:
            is_of = Call("=", (class_text(stream.type, schema), Literal(event.type)))
            found.append(Test(event.var, None if own else event.type, _junction("and", [is_of, *own])))
    return found


def masks_of(
    tests: Sequence[Test], query: EventQuery, stream: Stream, schema: Schema, columns: HostColumns
) -> tuple[tuple[str, Mask | None], ...]:
    """The same as columns of the host."""

    def mask(test: Test) -> Mask | None:
        if test.type is not None:
            return Mask(columns.index(class_number(query, stream, schema)), _classes(query).index(test.type))
        return None if test.expr is None else Mask(columns.index(test.expr))

    return tuple((test.var, mask(test)) for test in tests)


def class_number(query: EventQuery, stream: Stream, schema: Schema) -> Expr:
    """The place of an event's class among those of the query: a number moves faster than a name."""
    branches: list[Expr] = []
    for number, name in enumerate(_classes(query)):
        branches += [Call("=", (class_text(stream.type or "", schema), Literal(name))), Literal(number)]
    return Call("case", (*branches, Literal(NO_CLASS)))


def are_told_by_class(query: EventQuery) -> bool:
    """Whether only events of the classes in the query come over, so that their numbers tell all of them apart."""
    return not isinstance(query.within, EventCount) and all(event.type is not None for event in _events(query))


def filter_of(
    tests: Sequence[Test], query: EventQuery, stream: Stream, schema: Schema, parts: Sequence[KeyPart], dialect: str
) -> Expr | None:
    """Events that play a role, and have what keys are required."""
    wanted: list[Expr] = []
    if not isinstance(query.within, EventCount):
        if dialect == "duckdb" and all(test.type is not None for test in tests):
            # Once per event, instead of a comparison per class; Spark in turn lets Parquet skip by such comparisons.
            wanted.append(Call(">=", (class_number(query, stream, schema), Literal(0))))
        elif all(test.expr is not None for test in tests):
            roles = _junction("or", list(dict.fromkeys(test.expr for test in tests if test.expr is not None)))
            wanted += [] if roles is None else [roles]
    wanted += [Call("is not null", (part.expr,)) for part in parts if part.is_required]
    return _junction("and", wanted)


def _events(query: EventQuery) -> tuple[Event, ...]:
    return (*query.events(), *query.negated())


def _classes(query: EventQuery) -> list[str]:
    return sorted({event.type for event in _events(query) if event.type is not None})


def class_text(name: str, schema: Schema) -> Expr:
    """The class of an event as a text."""
    column = Column(name)
    return column if schema[name].kind is Kind.STRING else Verbatim(("CAST(", " AS STRING)"), (column,))


def _junction(name: str, parts: Sequence[Expr]) -> Expr | None:
    """Joined in pairs, so that many do not become a deep tree."""
    level = list(parts)
    while len(level) > 1:
        level = [Call(name, (*level[i : i + 2],)) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0] if level else None
