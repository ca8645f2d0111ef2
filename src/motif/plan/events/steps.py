"""The order in which a way's elements are bound: its *levels*.

Rare events first, then whatever is narrowed most by what is bound already (order, window, equality); an absence as
soon as what it lies between is bound; lists after all single events, open ones last, because they need the deadline.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from motif.ir.event import EventQuery, PickMode
from motif.plan.events.conditions import Condition
from motif.plan.events.ways import Role, Way
from motif.plan.scalar import Base, Op, Read

_PASSES = 0.4
"""Share of candidates that are expected to pass a condition on several events."""
_MOST_PERMUTED = 6
"""Events up to which every order is looked at."""


class Conditions(Protocol):
    """Anything with conditions."""

    @property
    def conditions(self) -> tuple[Condition, ...]: ...


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is known of the events before the join."""

    candidates: Mapping[str, int]
    partitions: int = 1
    window: float = 1.0
    """Share of a partition's time that WITHIN spans."""
    distinct: Mapping[int, float] = field(default_factory=dict)
    """How many values a host column has."""

    @property
    def key(self) -> Hashable:
        """Equal for estimates that are."""
        return frozenset(self.candidates.items()), self.partitions, self.window, frozenset(self.distinct.items())

    def share(self, column: int) -> float:
        """Of the events, those that are expected to have a given value in a column."""
        return 1.0 / max(self.distinct.get(column, 100.0), 1.0)


@dataclass(frozen=True, slots=True)
class Lookup:
    """Candidates of a level are found by equality: `own` of them with `other` of a bound element (host columns)."""

    element: int
    own: int
    other: int


@dataclass(frozen=True, slots=True)
class Zone:
    """Candidates are compared (`own` operator `other`) with a bound element; blocks of them are passed over at once."""

    element: int
    own: int
    operator: str
    other: int


@dataclass(frozen=True, slots=True)
class Steps:
    """Elements in the order of binding."""

    way: Way
    elements: tuple[int, ...]
    lookups: tuple[Lookup | None, ...]
    """Per level."""
    zones: tuple[Zone | None, ...] = ()
    """Per level."""
    chosen: int = -1
    """The level of the variable of which one event is picked while joining, or -1."""
    late_first: bool = False
    """Its late candidates are tried first."""

    def level(self, element: int) -> int:
        return self.elements.index(element)


def choose_steps(
    query: EventQuery,
    way: Way,
    conditions: tuple[Condition, ...],
    estimates: Estimates,
    driver: int | None = None,
) -> Steps:
    """Levels of a way; `driver` is the element that must come first."""
    equal = _equalities(way, conditions)
    picked = None if driver is not None else _picked(query, way)
    singles = _order_singles(way, conditions, equal, estimates, driver, picked)
    order = _with_the_rest(query, way, conditions, singles)
    lookups = tuple(_lookup(way, equal, order, level) for level in range(len(order)))
    zones = tuple(_zone(way, conditions, order, level) for level in range(len(order)))
    if picked is None:
        return Steps(way, tuple(order), lookups, zones)
    late = query.pick(way.elements[picked].var) is PickMode.LAST
    return Steps(way, tuple(order), lookups, zones, order.index(picked), late)


def _picked(query: EventQuery, way: Way) -> int | None:
    """The variable of the first pick that chooses, if all that it competes on is bound before it.

    A list may change with it, and then the matches do not agree in the list.
    """
    if any(element.role is Role.LIST for element in way.elements):
        return None
    pick = next((p for p in query.picks if p.mode in (PickMode.FIRST, PickMode.LAST)), None)
    number = None if pick is None else way.number(pick.var)
    return number if number is not None and way.elements[number].role is Role.SINGLE else None


def _equalities(way: Way, conditions: tuple[Condition, ...]) -> list[tuple[Lookup, int]]:
    """Equalities between two elements, each from both sides: how the second is found from the first."""
    found = []
    for condition in conditions:
        match condition.scalar:
            case Op(name="=", args=(Read() as left, Read() as right)) if _is_plain(left, right):
                sides = [(way.number(side.place.members[0]), side.column) for side in (left, right)]
                (a, x), (b, y) = sides
                if a is not None and b is not None and a != b:
                    found += [(Lookup(b, x, y), a), (Lookup(a, y, x), b)]
            case _:
                pass
    return found


def compared(program: Conditions) -> set[int]:
    """Host columns by which candidates may be looked up."""
    found: set[int] = set()
    for condition in program.conditions:
        match condition.scalar:
            case Op(name="=", args=(Read() as left, Read() as right)) if _is_plain(left, right):
                found |= {left.column, right.column}
            case _:
                pass
    return found


def _is_plain(left: Read, right: Read) -> bool:
    """Both read the event itself, and hold values of one type."""
    places = (left.place, right.place)
    own = all(place.base is Base.SET and place.index == 0 and place.end == "LAST" for place in places)
    return own and left.absent is None and right.absent is None and left.type == right.type


def _order_singles(
    way: Way,
    conditions: tuple[Condition, ...],
    equal: list[tuple[Lookup, int]],
    estimates: Estimates,
    driver: int | None,
    picked: int | None,
) -> list[int]:
    """The order with the fewest candidates to try; a decisive event comes first, then a chain in its own order."""
    singles = [single for single in way.singles() if single not in (driver, picked)]
    first = [] if driver is None else [driver]
    last = [] if picked is None else [picked]
    if driver is not None and way.is_chain():
        return [*first, *singles]
    if len(singles) > _MOST_PERMUTED:
        return [*first, *_greedy(way, equal, estimates, first, singles), *last]
    tested = [{n for n in map(way.number, c.names) if n is not None} for c in conditions if len(c.names) > 1]
    # Of equal ones the order that begins at the end: what came before is known then.
    return _Cheapest(way, equal, estimates, tested, last).order(first, singles[::-1])


def _greedy(
    way: Way, equal: list[tuple[Lookup, int]], estimates: Estimates, first: list[int], singles: list[int]
) -> list[int]:
    order, left = list(first), list(singles)
    while left:
        best = min(left, key=lambda e: (_candidates(way, equal, estimates, order, e), -e))
        order.append(best)
        left.remove(best)
    return order[len(first) :]


class _Cheapest:
    """The order in which the fewest candidates are tried, of all orders; the first of equal ones."""

    def __init__(
        self, way: Way, equal: list[tuple[Lookup, int]], estimates: Estimates, tested: list[set[int]], last: list[int]
    ) -> None:
        self.way = way
        self.equal = equal
        self.estimates = estimates
        self.tested = tested
        self.last = last
        self.best: list[int] = []
        self.least = math.inf
        self._shares: dict[tuple[frozenset[int], int], tuple[float, float]] = {}

    def order(self, first: list[int], singles: list[int]) -> list[int]:
        """`singles` in the best order between `first`, at most one, and `last`."""
        tried, bindings = 0.0, 1.0
        for element in first:
            tried, kept = self._shares_of(frozenset(), element)
            bindings = tried * kept
        self._extend(first, frozenset(first), singles, tried, bindings)
        return self.best

    def _extend(self, order: list[int], bound: frozenset[int], left: list[int], tried: float, bindings: float) -> None:
        """Look at every order that begins so, as long as it may be better than what is known."""
        if tried >= self.least:
            return
        left = left or [element for element in self.last if element not in bound]
        if not left:
            self.best, self.least = order, tried
        for element in left:
            candidates, kept = self._shares_of(bound, element)
            now = bindings * candidates
            others = [other for other in left if other != element]
            self._extend([*order, element], bound | {element}, others, tried + now, now * kept)

    def _shares_of(self, bound: frozenset[int], element: int) -> tuple[float, float]:
        """Candidates for each binding of what is bound, and the share that conditions leave which can be tested then.

        Many orders ask the same.
        """
        key = bound, element
        if key not in self._shares:
            now = bound | {element}
            tests = sum(element in names and names <= now for names in self.tested)
            candidates = _candidates(self.way, self.equal, self.estimates, bound, element)
            self._shares[key] = candidates, _PASSES**tests
        return self._shares[key]


def _candidates(
    way: Way, equal: list[tuple[Lookup, int]], estimates: Estimates, bound: Collection[int], element: int
) -> float:
    """Candidates that are expected to be tried for each binding of what comes before."""
    count = float(estimates.candidates.get(way.elements[element].var, 0))
    if not bound:
        return count
    count /= max(estimates.partitions, 1)
    shares = [estimates.share(lookup.own) for lookup, target in equal if target == element and lookup.element in bound]
    if shares:
        count *= min(shares)
    after = any(other in way.before[element] for other in bound)
    before = any(element in way.before[other] for other in bound)
    # Between two events there is less room than on one side of one.
    return count * estimates.window * (0.25 if after and before else 0.5 if after or before else 1.0)


def _with_the_rest(query: EventQuery, way: Way, conditions: tuple[Condition, ...], singles: list[int]) -> list[int]:
    """Absences right behind the last event they need, lists at the end, then what waits for the deadline."""
    order = list(singles)
    late: list[int] = []
    for number, element in enumerate(way.elements):
        if element.role is not Role.ABSENT:
            continue
        # A list of which one event is picked is empty only if no event that is left would do.
        is_list = any(event.var == element.var for event in query.events())
        needed = None if is_list else _needed(way, conditions, number)
        if needed is None:
            late.append(number)
        else:
            order.insert(max(order.index(other) for other in needed) + 1, number)
    lists = [n for n, element in enumerate(way.elements) if element.role is Role.LIST]
    lists.sort(key=lambda n: not way.is_closed(n))
    return order + lists + late


def _needed(way: Way, conditions: tuple[Condition, ...], number: int) -> set[int] | None:
    """Single events that decide an absence; None if it also takes lists or the deadline."""
    singles = set(way.singles())
    before = way.before[number] & singles
    after = {s for s in singles if number in way.before[s]}
    if not before or not after:
        return None
    for other, element in enumerate(way.elements):
        if element.role is Role.LIST:
            if other in way.before[number] and not any(other in way.before[s] for s in before):
                return None
            if number in way.before[other] and not any(s in way.before[other] for s in after):
                return None
    named = {way.number(name) for c in conditions if way.elements[number].var in c.names for name in c.names}
    named -= {number, None}
    if not named <= singles:
        return None
    return {*before, *after, *(n for n in named if n is not None)}


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _zone(way: Way, conditions: tuple[Condition, ...], order: list[int], level: int) -> Zone | None:
    """The first inequality between the element of a level and an event that is bound before it."""
    bound = [e for e in order[:level] if way.elements[e].role is Role.SINGLE]
    own = order[level]
    for condition in conditions:
        match condition.scalar:
            case Op(name=name, args=(Read() as left, Read() as right)) if name in _TURNED and _is_plain(left, right):
                a, b = (way.number(side.place.members[0]) for side in (left, right))
                if a == own and b in bound and b is not None:
                    return Zone(b, left.column, name, right.column)
                if b == own and a in bound and a is not None:
                    return Zone(a, right.column, _TURNED[name], left.column)
            case _:
                pass
    return None


def _lookup(way: Way, equal: list[tuple[Lookup, int]], order: list[int], level: int) -> Lookup | None:
    bound = [e for e in order[:level] if way.elements[e].role is Role.SINGLE]
    for lookup, target in equal:
        if target == order[level] and lookup.element in bound:
            return lookup
    return None
