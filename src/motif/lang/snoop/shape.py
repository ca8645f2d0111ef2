"""Checks of the pattern itself: what may stand where, and what is open without WITHIN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from motif.errors import MotifError, QueryBindError, Span
from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Event,
    EventQuery,
    Not,
    Pattern,
    PickMode,
    Sequence,
    TimedSequence,
    parts,
    walk,
)


def check_shape(query: EventQuery) -> Iterator[MotifError]:
    """All mistakes in the pattern."""
    for check in (_variables, _negations, _numbers, _repetitions, _open_end, _single_events):
        yield from check(query)


def is_single(query: EventQuery, event: Event) -> bool:
    """Whether at most one event is bound to it: no quantifier, or FIRST or LAST of it is picked."""
    return event.repeat is None or _picked(query, event.var) in (PickMode.FIRST, PickMode.LAST)


def _picked(query: EventQuery, var: str) -> PickMode | None:
    return next((pick.mode for pick in query.picks if pick.var == var), None)


def _error(query: EventQuery, message: str, span: Span | None, hint: str | None) -> MotifError:
    return QueryBindError(message, source=query.source, span=span, hint=hint)


def _variables(query: EventQuery) -> Iterator[MotifError]:
    seen: dict[str, str] = {}
    for node in walk(query.pattern):
        if not isinstance(node, Event):
            continue
        before = seen.get(node.var.casefold())
        if before is not None:
            message = f"the variable {node.var} is used twice"
            if before != node.var:
                message = f"the variables {before} and {node.var} differ in case only"
            yield _error(query, message, node.span, "every event of the pattern needs a variable of its own")
        seen[node.var.casefold()] = node.var


def _negations(query: EventQuery) -> Iterator[MotifError]:
    if isinstance(query.pattern, Not):
        hint = "say between which events it must not be: SEQ(A a; NOT X x; B b)"
        yield _error(query, "NOT can not stand alone", query.pattern.span, hint)
    for node in walk(query.pattern):
        if isinstance(node, Not) and node.event.repeat is not None:
            hint = "NOT means none at all; leave the quantifier out"
            yield _error(query, "NOT takes no quantifier", node.span, hint)
        if isinstance(node, Not):
            continue
        for index, part in enumerate(parts(node)):
            if isinstance(part, Not):
                yield from _misplaced_negation(query, node, part, index)


def _misplaced_negation(query: EventQuery, around: Pattern, negation: Not, index: int) -> Iterator[MotifError]:
    if not isinstance(around, Sequence):
        hint = "write it inside of SEQ: SEQ(A a; NOT X x; B b)"
        yield _error(query, f"NOT has no meaning in {operator_name(around)}( )", negation.span, hint)
    elif index == 0:
        name = f"{negation.event.type or ''} {negation.event.var}".strip()
        hint = f"write a list that must be empty: SEQ({name}*; ...) WHERE COUNT({negation.event.var}) = 0 WITHIN 1 h"
        yield _error(query, "NOT can not be the first element of SEQ", negation.span, hint)


def _numbers(query: EventQuery) -> Iterator[MotifError]:
    for node in walk(query.pattern):
        if isinstance(node, AnyOf) and not 1 <= node.count <= len(node.items):
            message = f"ANY({node.count}, ...) asks for {node.count} of {len(node.items)} parts"
            yield _error(query, message, node.span, f"write a number from 1 to {len(node.items)}")
        if isinstance(node, TimedSequence) and node.low > node.high:
            hint = "the shortest time comes first: TSEQ(A a, B b; 1 s, 3 s)"
            yield _error(query, "the shortest time of TSEQ is longer than the longest", node.span, hint)


def _repetitions(query: EventQuery) -> Iterator[MotifError]:
    for node in walk(query.pattern):
        if not isinstance(node, Conjunction | AnyOf):
            continue
        for part in node.items:
            if isinstance(part, Event) and part.repeat is not None:
                word = operator_name(node)
                hint = f"give it a neighbour: {word}(SEQ({part.var}+; X x), ...)"
                message = f"the repeated variable {part.var} can not stand directly in {word}( )"
                yield _error(query, message, part.span, hint)


def _open_end(query: EventQuery) -> Iterator[MotifError]:
    if query.within is not None:
        return
    for node in _open(query, query.pattern, followed=False):
        what = "NOT" if isinstance(node, Not) else f"the repeated variable {node.var}"
        message = f"{what} at the end needs WITHIN: nothing says until when to wait"
        yield _error(query, message, node.span, "add WITHIN 10 min, or an event behind it")


def _open(query: EventQuery, pattern: Pattern, followed: bool) -> Iterator[Not | Event]:
    """What is open until the deadline: a NOT or a list with no element behind it in its SEQ."""
    match pattern:
        case Event():
            if not followed and not is_single(query, pattern):
                yield pattern
        case Not():
            if not followed:
                yield pattern
        case Sequence(items=items):
            for item in items[:-1]:
                yield from _open(query, item, followed=True)
            yield from _open(query, items[-1], followed)
        case TimedSequence(first=first, second=second):
            yield from _open(query, first, followed=True)
            yield from _open(query, second, followed)
        case Conjunction(items=items) | AnyOf(items=items) | Disjunction(items=items):
            for item in items:
                if not _is_misplaced(pattern, item):
                    yield from _open(query, item, followed=False)
        case _:
            assert_never(pattern)


def _is_misplaced(around: Pattern, part: Pattern) -> bool:
    """What is refused where it stands gets no second message."""
    repeated = isinstance(part, Event) and part.repeat is not None
    return isinstance(part, Not) or (repeated and isinstance(around, Conjunction | AnyOf))


def _single_events(query: EventQuery) -> Iterator[MotifError]:
    if isinstance(query.pattern, Not) or not _can_lack_single(query, query.pattern):
        return
    hint = "add an event without quantifier, or PICK FIRST or LAST of a variable that must be there"
    yield _error(query, "a match could have no single event, only lists", query.pattern.span, hint)


def _can_lack_single(query: EventQuery, pattern: Pattern) -> bool:
    """Whether there is a way through the pattern that binds no single variable."""
    match pattern:
        case Event(repeat=repeat):
            return not is_single(query, pattern) or (repeat is not None and repeat.allows(0))
        case Not():
            return True
        case Sequence(items=items) | Conjunction(items=items):
            return all(_can_lack_single(query, item) for item in items)
        case TimedSequence(first=first, second=second):
            return _can_lack_single(query, first) and _can_lack_single(query, second)
        case AnyOf(count=count, items=items):
            return 1 <= count <= sum(_can_lack_single(query, item) for item in items)
        case Disjunction(items=items):
            return any(_can_lack_single(query, item) for item in items)
        case _:
            assert_never(pattern)


def operator_name(pattern: Pattern) -> str:
    """The word a node is written with."""
    match pattern:
        case Sequence():
            return "SEQ"
        case TimedSequence():
            return "TSEQ"
        case Conjunction():
            return "ALL"
        case AnyOf():
            return "ANY"
        case Disjunction():
            return "OR"
        case Not():
            return "NOT"
        case Event():
            return "event"
        case _:
            assert_never(pattern)
