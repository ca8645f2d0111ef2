"""Slips that events tell: a bare name that is a class, a class that no event has, a join of all with all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import combinations

from motif.errors import MotifWarning, QueryBindError, perhaps
from motif.ir.event import Event, EventQuery, PickMode
from motif.ir.expr import Call, Column, Expr, Literal, walk
from motif.ir.types import Schema
from motif.plan.events.conditions import names_in, single_variables
from motif.plan.events.program import EventProgram
from motif.plan.events.roles import class_text
from motif.plan.source import HostRefusal
from motif.plan.unmet import Answers, Test, conjunction, listed, tell_unmet
from motif.slips import tell

MANY_PAIRS = 100_000_000
"""Pairs of events from which on a join of all with all is worth a word."""


def tell_any_events(query: EventQuery, column: str | None) -> None:
    """Say where there are bare names only, though `column` holds the class of events."""
    events = _events(query)
    exprs = (*query.conditions, *(Column(item.name) for item in query.same))
    read = {node.name.casefold() for expr in exprs for node in walk(expr) if isinstance(node, Column)}
    if column is None or column.casefold() in read or any(event.type is not None for event in events):
        return
    names = [event.var for event in events]
    shown = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    tell(
        MotifWarning(
            f"{shown} can be any event: no class of column {column} is named",
            source=query.source,
            span=query.pattern.span,
            hint=f"write {names[0]} {names[0]} for a variable {names[0]} over events of the class {names[0]}",
        )
    )


def check_bare_names(program: EventProgram, schema: Schema, answers: Answers) -> None:
    """`SEQ(view; cart)` is about any two events, which nobody means where `view` is a class."""
    bare = {event.var.lower(): event for event in _events(program.query) if event.type is None}
    if not bare or program.stream.type is None:
        return
    kind = class_text(program.stream.type, schema)
    named = Call("in", (Call("lower", (kind,)), *map(Literal, bare)))
    found: list[tuple[str, int]] = []
    with suppress(HostRefusal):
        found = answers.values(kind, named)
    for name, _ in found:
        if event := bare.get(name.lower()):
            raise QueryBindError(
                f"{event.var} alone is any event, but {name!r} is a class of the events",
                source=program.query.source,
                span=event.span,
                hint=f"write {written_class(name)} {event.var}; if any event is meant, give it another name",
            )


def tell_of_events(program: EventProgram, schema: Schema, answers: Answers, known: Collection[str]) -> None:
    """All that the events tell, read for nothing else: for `check`."""
    check_bare_names(program, schema, answers)
    tell_missing_classes(program, schema, answers, [var for var, _ in program.masks], known)
    tests = event_tests(program, schema)
    tell_unmet(tests, answers, program.query.source)
    if may_be_square(program):
        exprs = [conjunction((*test.within, *(expr for expr, _ in test.parts))) for test in tests]
        with suppress(HostRefusal):
            counts = answers.totals([Call("count_if", (expr,)) for expr in exprs])
            tell_square(program, {test.var: int(str(n)) for test, n in zip(tests, counts, strict=True)})


def tell_missing_classes(
    program: EventProgram, schema: Schema, answers: Answers, variables: Collection[str], known: Collection[str] = ()
) -> None:
    """Say which classes of these variables no event has; `known`: classes that are there, if with no event."""
    kind = program.stream.type
    asked = {event.var: event for event in _events(program.query) if event.type is not None and event.var in variables}
    classes = {event.type: event for event in reversed(asked.values()) if event.type not in known}
    if not classes or kind is None:
        return
    text = class_text(kind, schema)
    with suppress(HostRefusal):
        there = {name for name, _ in answers.values(text, Call("in", (text, *map(Literal, classes))))}
        if missing := [event for name, event in classes.items() if name not in there]:
            found = answers.values(text)
            for event in missing if found else ():
                tell(missing_class(program.query, event, kind, found))


def missing_class(
    query: EventQuery, event: Event, column: str, found: Sequence[tuple[str, int | None]]
) -> MotifWarning:
    """That no event is of a class; `found`: the classes that there are, with the number of events where it is known."""
    return MotifWarning(
        f"no event has the class {event.type!r}; there are {listed(found, ' events')}",
        source=query.source,
        span=event.span,
        hint=perhaps(event.type or "", [name for name, _ in found]) or f"classes are the values of column {column}",
    )


def written_class(name: str) -> str:
    """A class as it stands in a pattern."""
    return name if name.isidentifier() else "'" + name.replace("'", "''") + "'"


def event_tests(program: EventProgram, schema: Schema) -> list[Test]:
    """What each variable that can be bound asks of an event by itself."""
    tests = []
    for event in program.query.events():
        parts = [(c.row, c.expr) for c in program.conditions if c.row is not None and c.names == {event.var}]
        within: tuple[Expr, ...] = ()
        if event.type is not None and program.stream.type is not None:
            within = (Call("=", (class_text(program.stream.type, schema), Literal(event.type))),)
        tests.append(Test(event.var, tuple(parts), within, f"event of the class {event.type!r}" if within else "event"))
    return tests


def may_be_square(program: EventProgram) -> bool:
    """Whether nothing holds the events of a match together."""
    return program.query.within is None and not program.keys and not program.query.consuming


def tell_square(program: EventProgram, counts: Mapping[str, int]) -> None:
    """Say that all events of two variables are joined with each other; `counts`: of events that each may bind.

    For a query that `may_be_square`; otherwise there is nothing to count.
    """
    if not counts:
        return
    pairs = [(counts.get(one.var, 0) * counts.get(other.var, 0), one, other) for one, other in _free_pairs(program)]
    most, one, other = max(pairs, key=lambda pair: pair[0], default=(0, None, None))
    if most >= MANY_PAIRS and one is not None and other is not None:
        tell(_joined(program, one, other, f"each of {counts[one.var]:,}", f"each of {counts[other.var]:,}"))


def tell_square_of_many(program: EventProgram) -> None:
    """The same of events that are known to be many, though nobody has counted them; for the same queries."""
    for one, other in _free_pairs(program)[:1]:
        tell(_joined(program, one, other, "each of many", "each of many"))


def _joined(program: EventProgram, one: Event, other: Event, some: str, others: str) -> MotifWarning:
    return MotifWarning(
        f"without WITHIN or a common attribute {some} events {one.var} is joined with {others} events {other.var}",
        source=program.query.source,
        span=one.span.to(other.span) if one.span and other.span else None,
        hint="add WITHIN 1 h, or WHERE [attribute] for what they have in common",
    )


def _free_pairs(program: EventProgram) -> list[tuple[Event, Event]]:
    """Events of one match that nothing ties to each other."""
    query = program.query
    free = [e for e in query.events() if e.var in single_variables(query) and query.pick(e.var) is PickMode.EACH]
    groups = _linked(program)
    return [(one, other) for one, other in combinations(free, 2) if groups[one.var] is not groups[other.var]]


def _linked(program: EventProgram) -> dict[str, set[str]]:
    """Per variable those that equalities tie to it, one after the other."""
    groups = {var: {var} for var, _ in program.masks}
    for expr in (condition.expr for condition in program.conditions):
        if isinstance(expr, Call) and expr.name == "=" and (names := names_in(expr)):
            merged = set().union(*(groups[name] for name in names))
            groups.update(dict.fromkeys(merged, merged))
    return groups


def _events(query: EventQuery) -> tuple[Event, ...]:
    return (*query.events(), *query.negated())
