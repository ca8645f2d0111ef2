"""Checks of an event query that need no data.

Expects an `EventQuery` from the parser or the builder (then without spans). Returns all that is wrong, in the order of
the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from motif.errors import MotifError, QueryBindError, Span, did_you_mean
from motif.ir.event import Event, EventQuery, Item, Pick, PickMode
from motif.ir.expr import Aggregate, At, End, Expr, walk
from motif.lang.snoop.names import same_name
from motif.lang.snoop.shape import check_shape, is_single

RESERVED = ("match_id", "match_start", "match_end", "event")
"""Columns that every result has (`event` where the query has a name)."""


def check_events(query: EventQuery) -> list[MotifError]:
    """All mistakes of a query that was read without any."""
    found: list[MotifError] = []
    for check in (check_shape, _references, _picks, _consuming, _conditions, _outputs):
        found.extend(check(query))
    # A stable sort: what has no place comes first, in the order of the checks.
    return sorted(found, key=lambda error: error.span.start if error.span else -1)


def _error(query: EventQuery, message: str, span: Span | None, hint: str | None) -> MotifError:
    return QueryBindError(message, source=query.source, span=span, hint=hint)


def variables_of(expr: Expr) -> list[str]:
    """Variables an expression names, in the order of the text."""
    nodes = (node for node in walk(expr) if isinstance(node, At | Aggregate))
    return list(dict.fromkeys(node.var for node in nodes if node.var is not None))


# -- variables ----------------------------------------------------------------------------------------


def _references(query: EventQuery) -> Iterator[MotifError]:
    """Unknown variables: the parser finds them by itself, the builder has them found here."""
    known = [event.var for event in (*query.events(), *query.negated())]
    items = (*(query.items or ()), *query.returned)
    for expr in (*query.conditions, *(item.expr for item in items)):
        for node in walk(expr):
            if not isinstance(node, At | Aggregate) or node.var in known:
                continue
            name = node.var or "an attribute without a variable"
            yield _error(query, f"{name} is not a variable of the pattern", node.span, did_you_mean(name, known))


def _negated(query: EventQuery, expr: Expr) -> str | None:
    negated = {event.var for event in query.negated()}
    return next((var for var in variables_of(expr) if var in negated), None)


# -- PICK, CONSUMING ------------------------------------------------------------------------------------


def _picks(query: EventQuery) -> Iterator[MotifError]:
    seen: set[str] = set()
    for pick in query.picks:
        if pick.var in seen:
            yield _error(query, f"{pick.var} is picked twice", pick.span, "keep one of them")
        seen.add(pick.var)
        yield from _pick(query, pick)
        if pick.origin is not None:
            yield from _origin(query, pick, pick.origin)


def _pick(query: EventQuery, pick: Pick) -> Iterator[MotifError]:
    event = _event(query, pick.var)
    if event is None:
        yield _unbound(query, pick.var, "pick", pick.span)
    elif pick.mode in (PickMode.FIRST, PickMode.LAST) and event.repeat is not None and not event.repeat.allows(1):
        least = event.repeat.low
        message = f"PICK {pick.mode} {pick.var} takes one event, but the pattern asks for at least {least}"
        hint = f"use the quantifier + or ?, or read {pick.mode}({pick.var}.x) of the whole list"
        yield _error(query, message, pick.span, hint)


def _origin(query: EventQuery, pick: Pick, origin: str) -> Iterator[MotifError]:
    event = _event(query, origin)
    if event is None:
        yield _unbound(query, origin, "measure time from", pick.span)
    elif origin == pick.var:
        hint = "name another variable, or leave FROM out to count from the last event"
        yield _error(query, f"{pick.var} is measured from itself", pick.span, hint)
    elif not is_single(query, event):
        hint = f"name a single variable, or PICK FIRST {origin} or LAST {origin} before"
        yield _error(query, f"FROM {origin} is a list of events, not one", pick.span, hint)


def _event(query: EventQuery, var: str) -> Event | None:
    return next((event for event in query.events() if event.var == var), None)


def _unbound(query: EventQuery, var: str, verb: str, span: Span | None) -> MotifError:
    bound = [event.var for event in query.events()]
    if any(event.var == var for event in query.negated()):
        hint = f"{var} says what must not be there; choose among {', '.join(bound)}" if bound else None
        return _error(query, f"{var} is a variable of NOT: there is no event to {verb}", span, hint)
    return _error(query, f"{var} is not a variable of the pattern", span, did_you_mean(var, bound))


def _consuming(query: EventQuery) -> Iterator[MotifError]:
    for var in query.consuming:
        if _event(query, var) is None:
            yield _unbound(query, var, "consume", None)


# -- WHERE --------------------------------------------------------------------------------------------


def _conditions(query: EventQuery) -> Iterator[MotifError]:
    negated = {event.var for event in query.negated()}
    for condition in query.conditions:
        named = variables_of(condition)
        if not named:
            hint = "a condition is about events: a.x > 5; remove it if it is always true"
            yield _error(query, "this condition names no variable", condition.span, hint)
        forbidden = [var for var in named if var in negated]
        if len(forbidden) > 1:
            message = f"one condition can not name two variables of NOT, {forbidden[0]} and {forbidden[1]}"
            hint = "each NOT is about one event at a time; write one condition for each"
            yield _error(query, message, condition.span, hint)
        for node in walk(condition):
            if isinstance(node, At | Aggregate) and node.var in negated and _reads_list(node):
                message = f"{node.var} is a variable of NOT, which is one event and no list"
                yield _error(query, message, node.span, f"write {node.var}.x")


def _reads_list(node: At | Aggregate) -> bool:
    return isinstance(node, Aggregate) or node.index > 0 or node.end is End.FIRST


# -- output -------------------------------------------------------------------------------------------


def _outputs(query: EventQuery) -> Iterator[MotifError]:
    taken: dict[str, str] = dict.fromkeys(RESERVED, "a column of every result")
    if query.items is None:
        for event in query.events():
            if event.var.casefold() in RESERVED:
                hint = "give the variable another name, or name the items of SELECT"
                message = f"the variable {event.var} has the name of a column of every result"
                yield _error(query, message, event.span, hint)
            taken.setdefault(event.var.casefold(), "a variable, which SELECT * shows")
    for item in (*(query.items or ()), *query.returned):
        yield from _item(query, item, taken)
        taken.setdefault(item.name.casefold(), "another item")


def _item(query: EventQuery, item: Item, taken: dict[str, str]) -> Iterator[MotifError]:
    owner = same_name(item.name, taken)
    if owner is not None:
        hint = "give it another name with AS"
        yield _error(query, f"{item.name} is already the name of {taken[owner]}", item.span, hint)
    var = _negated(query, item.expr)
    if var is not None:
        hint = "where the match exists there is no such event; return an attribute of another variable"
        yield _error(query, f"{var} is a variable of NOT and can not be returned", item.span, hint)
