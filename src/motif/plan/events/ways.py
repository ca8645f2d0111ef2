"""The ways through an event pattern: OR and ANY spelled out, SEQ and ALL as an order of elements.

A way lists elements in pattern order, and for each the elements that must come before it. Everything later (joins,
neighbours, deadlines) is worked out from that order alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, islice, pairwise, product
from typing import TypeAlias, assert_never

from motif import limits
from motif.errors import LimitExceeded, UnsupportedQuery
from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Event,
    EventQuery,
    Not,
    Pattern,
    PickMode,
    Quantifier,
    Sequence,
    TimedSequence,
)


class Role(StrEnum):
    """What an element is in one way."""

    SINGLE = "event"
    LIST = "list"
    ABSENT = "no event"


@dataclass(frozen=True, slots=True)
class Element:
    """One variable in one way."""

    var: str
    role: Role
    repeat: Quantifier | None = None
    each: bool = False
    """Every sub-list, not the whole one."""


@dataclass(frozen=True, slots=True)
class Gap:
    """TSEQ: microseconds from the end of `first` to the start of `second` (numbers of elements)."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Way:
    """One way through the pattern."""

    elements: tuple[Element, ...]
    before: tuple[frozenset[int], ...]
    """Per element: those that come before it."""
    gaps: tuple[Gap, ...] = ()
    waits: bool = False
    """Whether its matches are decided at the deadline only."""

    def singles(self) -> list[int]:
        return [i for i, element in enumerate(self.elements) if element.role is Role.SINGLE]

    def number(self, var: str) -> int | None:
        """The element of a variable; None where it is not bound."""
        return next((i for i, element in enumerate(self.elements) if element.var == var), None)

    def is_closed(self, number: int) -> bool:
        """Whether an event of a single variable comes after the element."""
        return any(number in self.before[single] for single in self.singles())

    def is_split(self, number: int) -> bool:
        """A list directly followed by another one: every event of it may be its last."""
        return self.elements[number].role is Role.LIST and bool(self.following_lists(number))

    def following_lists(self, number: int) -> list[int]:
        """Lists that come after an element with no event of a single variable between them."""
        between = {s for s in self.singles() if number in self.before[s]}
        return [
            other
            for other, element in enumerate(self.elements)
            if element.role is Role.LIST and number in self.before[other] and not between & self.before[other]
        ]

    def is_chain(self) -> bool:
        """Single events, one after the other, and absences between them."""
        singles = self.singles()
        lists = any(element.role is Role.LIST for element in self.elements)
        return not lists and all(one in self.before[other] for one, other in pairwise(singles))

    def can_be_last(self, number: int) -> bool:
        return self.elements[number].role is Role.SINGLE and not self.is_closed(number)

    def can_be_first(self, number: int) -> bool:
        """Nothing that is certainly bound comes before it."""
        return not any(self.elements[e].role is Role.SINGLE for e in self.before[number])


_Tree: TypeAlias = "Element | tuple[str, tuple[_Tree, ...], int, int]"
"""A pattern without choices: an element, or ("seq" | "all" | "gap", parts, low, high)."""


def ways_of(query: EventQuery) -> tuple[Way, ...]:
    """Every way through the pattern, in the order in which they are written."""
    found = []
    for tree in _spelled_out(query.pattern, query):
        way = _Linear().way(tree)
        found.append(replace(way, waits=_waits(way, query)))
        if len(found) > limits.LIMITS.pattern_ways:
            raise LimitExceeded(
                f"the pattern can be matched in more than pattern_ways = {limits.LIMITS.pattern_ways} ways",
                source=query.source,
                span=query.pattern.span,
                hint="use fewer parts in ANY and OR, or several queries",
            )
    for way in found:
        if not way.singles():
            raise UnsupportedQuery(
                "every way through the pattern must bind a variable without a quantifier",
                source=query.source,
                span=query.pattern.span,
                hint="let the last event of the list be one of its own: SEQ(Login f{4,}; Login s)",
            )
    return tuple(found)


def _waits(way: Way, query: EventQuery) -> bool:
    for number, element in enumerate(way.elements):
        if element.role is not Role.SINGLE and not way.is_closed(number):
            return True
        if way.can_be_last(number) and query.pick(element.var) is PickMode.LAST:
            return True
    return False


def coincide(ways: Several[Way]) -> bool:
    """Whether two ways can bind the same: they differ in what may be empty only."""
    bound = [frozenset(way.elements[number].var for number in way.singles()) for way in ways]
    return len(set(bound)) < len(bound)


def _spelled_out(pattern: Pattern, query: EventQuery) -> Iterator[_Tree]:
    match pattern:
        case Event():
            yield from _event(pattern, query)
        case Not(event=event):
            yield Element(event.var, Role.ABSENT)
        case Sequence(items=items):
            yield from _combined("seq", items, query)
        case Conjunction(items=items):
            yield from _combined("all", items, query)
        case TimedSequence(first=first, second=second, low=low, high=high):
            yield from _combined("gap", (first, second), query, low, high)
        case AnyOf(count=count, items=items):
            for chosen in combinations(items, count):
                yield from _combined("all", chosen, query)
        case Disjunction(items=items):
            for item in items:
                yield from _spelled_out(item, query)
        case _:
            assert_never(pattern)


def _combined(kind: str, items: tuple[Pattern, ...], query: EventQuery, low: int = 0, high: int = 0) -> Iterator[_Tree]:
    for parts in product(*(_few(_spelled_out(item, query)) for item in items)):
        yield (kind, parts, low, high)


def _few(trees: Iterator[_Tree]) -> tuple[_Tree, ...]:
    """No more than it takes to notice that there are too many."""
    return tuple(islice(trees, limits.LIMITS.pattern_ways + 1))


def _event(event: Event, query: EventQuery) -> Iterator[_Tree]:
    if event.repeat is None:
        yield Element(event.var, Role.SINGLE)
        return
    match query.pick(event.var):
        case PickMode.FIRST | PickMode.LAST:
            # One event of the list; none only where there is none.
            yield Element(event.var, Role.SINGLE)
            if event.repeat.low == 0:
                yield Element(event.var, Role.ABSENT)
        case mode:
            yield Element(event.var, Role.LIST, event.repeat, each=mode is PickMode.EACH)


class _Linear:
    """Numbers the elements of a tree and notes their order."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.before: list[set[int]] = []
        self.gaps: list[Gap] = []

    def way(self, tree: _Tree) -> Way:
        self.visit(tree)
        return Way(tuple(self.elements), tuple(map(frozenset, self.before)), tuple(self.gaps))

    def visit(self, tree: _Tree) -> list[int]:
        """Elements of the tree; adds them."""
        if isinstance(tree, Element):
            self.elements.append(tree)
            self.before.append(set())
            return [len(self.elements) - 1]
        kind, parts, low, high = tree
        groups = [self.visit(part) for part in parts]
        if kind != "all":
            earlier: list[int] = []
            for group in groups:
                for number in group:
                    self.before[number].update(earlier)
                earlier += group
        if kind == "gap":
            first, second = (self.bound(group) for group in groups)
            self.gaps.append(Gap(first, second, low, high))
        return [number for group in groups for number in group]

    def bound(self, group: list[int]) -> tuple[int, ...]:
        return tuple(number for number in group if self.elements[number].role is not Role.ABSENT)
