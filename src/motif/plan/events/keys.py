"""The partition key: attributes that all events of a match agree on, written as `[attr]` or found from equalities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

from motif.ir.event import EventCount, EventQuery, PickMode
from motif.ir.expr import Call, Column, Expr, Literal
from motif.plan.events.conditions import EventLifter, names_in
from motif.plan.events.program import KeyPart, Stream
from motif.plan.events.ways import Way

Side: TypeAlias = "tuple[str, Expr]"
"""A variable and a row expression over its event."""


def key_parts(query: EventQuery, stream: Stream, lifter: EventLifter, ways: Sequence[Way]) -> tuple[KeyPart, ...]:
    """What the events of every match agree on."""
    variables = tuple(event.var for event in (*query.events(), *query.negated()))
    parts = [
        KeyPart(Column(item.name, item.span), tuple((var, Column(item.name)) for var in variables), written=True)
        for item in query.same
    ]
    # WITHIN n EVENTS counts the events of the partition that was written, not of one we found.
    if not isinstance(query.within, EventCount):
        parts += _found(query, stream, lifter, ways, variables)
    unique: dict[Expr, KeyPart] = {}
    for part in parts:
        unique.setdefault(part.expr, part)
    return tuple(unique.values())


def certain_variables(ways: Sequence[Way]) -> frozenset[str]:
    """Variables that every match binds."""
    bound = [{way.elements[number].var for number in way.singles()} for way in ways]
    return frozenset(set.intersection(*bound)) if bound else frozenset()


def is_implied(condition: Expr, parts: Sequence[KeyPart], lifter: EventLifter, ways: Sequence[Way]) -> bool:
    """An equality that holds for all events of one partition need not be tested.

    One side may be a NOT, or a list that every way has: they are tested event by event. A variable that a way does not
    have makes it NULL there.
    """
    sides = _equality(condition, lifter)
    required = [part for part in parts if part.is_required]
    if sides is None or not any(all(side in part.by_variable for side in sides) for part in required):
        return False
    events = lifter.events
    everywhere = frozenset.intersection(*(frozenset(element.var for element in way.elements) for way in ways))
    tested = {event.var for event in events.negated()} | (everywhere - lifter.single)
    uncertain = {var for var, _ in sides} - certain_variables(ways)
    return len(uncertain) <= 1 and uncertain <= tested


def _found(
    query: EventQuery, stream: Stream, lifter: EventLifter, ways: Sequence[Way], variables: tuple[str, ...]
) -> list[KeyPart]:
    parts = []
    certain = certain_variables(ways)
    picks = [pick for pick in query.picks if pick.mode in (PickMode.FIRST, PickMode.LAST)]
    for group in _groups(query, lifter, certain):
        if len(variables) > 1 and {var for var, _ in group} == set(variables):
            sides = {var: (var, expr) for var, expr in sorted(group, key=repr)}
            by_variable = tuple(sides[var] for var in variables)
            expr = _common(query, stream, by_variable)
            if expr is not None:
                required = len({var for var, _ in group} & certain) > 1
                # Matches that differ in one variable only compete in a pick, whatever the key of that variable.
                if required or not picks:
                    parts.append(KeyPart(expr, by_variable, written=False, is_required=required))
    return parts


def _groups(query: EventQuery, lifter: EventLifter, certain: frozenset[str]) -> list[set[Side]]:
    """Sides that are equal wherever they are bound.

    Only variables that are always bound make a chain: with `b` empty, `a.k = b.k AND b.k = c.k` says nothing
    of a and c.
    """
    pairs = [pair for condition in query.conditions if (pair := _equality(condition, lifter)) is not None]
    groups: list[set[Side]] = []
    for pair in pairs:
        if any(var not in certain for var, _ in pair):
            continue
        joined = set(pair)
        for group in [group for group in groups if group & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    known = {side for group in groups for side in group}
    groups += [{side} for pair in pairs for side in pair if side[0] in certain and side not in known]
    return [_with_the_uncertain(group, pairs, certain) for group in groups]


def _with_the_uncertain(group: set[Side], pairs: list[tuple[Side, Side]], certain: frozenset[str]) -> set[Side]:
    """Lists, NOTs and parts of OR and ANY hang on to a group by an equality with a member of it."""
    grown = set(group)
    while True:
        new = {
            side
            for pair in pairs
            if any(member in grown for member in pair)
            for side in pair
            if side not in grown and side[0] not in certain
        }
        if not new:
            return grown
        grown |= new


def _equality(condition: Expr, lifter: EventLifter) -> tuple[Side, Side] | None:
    """`a.x = b.y`, or anything else that one event decides on each side."""
    if not (isinstance(condition, Call) and condition.name == "="):
        return None
    sides: list[Side] = []
    for arg in map(lifter.normal, condition.args):
        names = names_in(arg)
        if len(names) != 1 or not lifter.on_one_event(arg):
            return None
        sides.append((next(iter(names)), lifter.row_expr(arg)))
    left, right = sides
    # Between two lists only the last events are compared.
    lists = {left[0], right[0]} - lifter.single
    return (left, right) if left[0] != right[0] and len(lists) < 2 else None


def _common(query: EventQuery, stream: Stream, by_variable: Sequence[Side]) -> Expr | None:
    """One expression that gives every event its key; None where an event could have two."""
    exprs = dict(by_variable)
    if len(set(exprs.values())) == 1:
        return next(iter(exprs.values()))
    classes = {event.var: event.type for event in (*query.events(), *query.negated())}
    for one, other in combinations(exprs, 2):
        same_class = classes[one] is None or classes[other] is None or classes[one] == classes[other]
        if exprs[one] != exprs[other] and same_class:
            return None
    branches: list[Expr] = []
    for var, expr in exprs.items():
        branches += [Call("=", (Column(stream.type or ""), Literal(classes[var]))), expr]
    return Call("case", (*branches, Literal(None)))
