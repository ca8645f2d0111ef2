"""What the text of an event query says, but hardly means."""

from __future__ import annotations

from collections.abc import Iterator

from motif import limits
from motif.errors import MotifWarning
from motif.ir.event import Conjunction, Event, EventQuery, Pattern, PickMode, Sequence, TimedSequence, parts
from motif.ir.expr import ARITHMETIC, COMPARISONS, Aggregate, At, Call, Expr, walk
from motif.ir.render_event import render_event_expr
from motif.lang.snoop.shape import is_single

_NULL_OF_NULL = COMPARISONS | ARITHMETIC | {"not", "||", "like"}
"""Operators that give NULL where one of their arguments is."""


def event_slips(query: EventQuery) -> Iterator[MotifWarning]:
    """Likely slips, in the order of the text."""
    for check in (_missing_neighbours, _endless_lists):
        yield from check(query)


def _missing_neighbours(query: EventQuery) -> Iterator[MotifWarning]:
    """`b.x > PREV(b.x)`: there is none before the first event, so the condition is never true of it."""
    lists = {event.var for event in query.events() if not is_single(query, event)}
    negated = {event.var for event in query.negated()}
    for condition in query.conditions:
        nodes = [node for node in walk(condition) if isinstance(node, At | Aggregate)]
        is_late = any(isinstance(node, Aggregate) and node.var in lists for node in nodes)
        names = {node.var for node in nodes}
        if is_late or names & negated or len(names & lists) > 1:
            continue  # not tested on each event of a list as it is taken
        missing = [node for node in nodes if isinstance(node, At) and node.index and _is_never_true(condition, node)]
        for node in missing[:1]:
            yield _missing(query, node)


def _missing(query: EventQuery, node: At) -> MotifWarning:
    event = next(event for event in query.events() if event.var == node.var)
    text = query.source[node.span.start : node.span.end] if node.span else render_event_expr(node)
    if is_single(query, event):
        what, hint = f"{text} is of one event and always NULL", f"write {node.var}.x"
    else:
        what = f"{text} is NULL for the first event of {node.var}, so that {node.var} takes none"
        hint = f"write {text} IS NULL OR ..., which the first event meets"
    is_needed = event.repeat is None or (not event.repeat.allows(0) and event.var in _required(query.pattern))
    message = f"{what}, and nothing can match" if is_needed else what
    return MotifWarning(message, source=query.source, span=node.span, hint=hint)


def _required(pattern: Pattern) -> Iterator[str]:
    """Variables without which there is no match, unless their quantifier allows it."""
    if isinstance(pattern, Event):
        yield pattern.var
    elif isinstance(pattern, Sequence | Conjunction | TimedSequence):
        for part in parts(pattern):
            yield from _required(part)


def _is_never_true(expr: Expr, missing: At) -> bool:
    """Whether a condition is not true where a value in it is NULL."""
    match expr:
        case Call(name="and", args=args):
            return any(_is_never_true(arg, missing) for arg in args)
        case Call(name="or", args=args):
            return all(_is_never_true(arg, missing) for arg in args)
        case Call(name=name, args=args) if name in _NULL_OF_NULL:
            return any(_is_null(arg, missing) for arg in args)
        case _:
            return _is_null(expr, missing)


def _is_null(expr: Expr, missing: At) -> bool:
    """Whether a value is NULL where one in it is."""
    if expr is missing:
        return True
    return isinstance(expr, Call) and expr.name in _NULL_OF_NULL and any(_is_null(arg, missing) for arg in expr.args)


def _endless_lists(query: EventQuery) -> Iterator[MotifWarning]:
    most = limits.LIMITS.each_events
    for event in query.events():
        endless = event.repeat is not None and event.repeat.high is None
        if endless and query.pick(event.var) is PickMode.EACH:
            pick = next(pick for pick in query.picks if pick.var == event.var)
            yield MotifWarning(
                f"PICK EACH {event.var} forms every list of events: 2^n of them for n events, "
                f"at most each_events = {most}",
                source=query.source,
                span=pick.span,
                hint=f"give {event.var} an upper bound, such as {event.var}{{1,3}}, or PICK ALL {event.var}",
            )
