"""The ways through an event pattern: what is left of it once each OR and ANY has chosen its parts.

A way is a tree of `Sequence` and `Conjunction` over variables and NOTs. A `Sequence` in it never holds a `Sequence`
directly: reading 5 of ADR 9 has its elements stand there themselves. One that OR has chosen does not merge with what is
around it; it stands in a `Conjunction` of its own, which has the same meaning otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, assert_never

from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Event,
    Not,
    Pattern,
    Sequence,
    TimedSequence,
    parts,
    walk,
)

Binding: TypeAlias = Mapping[str, tuple[int, ...]]
"""The events of each variable that is bound, in order: one for a single variable. What is not bound is not in it."""


@dataclass(frozen=True, slots=True)
class Gap:
    """TSEQ: from the end of the events of `first` to the beginning of those of `second`."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The events of the nearest elements that are bound (none: there is no such element)."""

    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Way:
    """One choice of parts."""

    tree: Pattern
    gaps: tuple[Gap, ...] = ()

    def events(self) -> tuple[Event, ...]:
        """Variables that can be bound in this way, in pattern order."""
        return tuple(_events(self.tree))

    def negations(self) -> tuple[Not, ...]:
        """The NOTs of this way."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Not))

    @cached_property
    def sequences(self) -> tuple[Sequence, ...]:
        """Every SEQ of this way."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Sequence))

    @cached_property
    def in_order(self) -> set[tuple[str, str]]:
        """Pairs of variables of which the first ends before the second begins."""
        return {
            (left, right)
            for sequence in self.sequences
            for one, other in itertools.combinations(sequence.items, 2)
            for left in names(one)
            for right in names(other)
        }

    def neighbours(self, element: Pattern, binding: Binding) -> Neighbours:
        """Of a NOT or of a variable: in its SEQ, else in the SEQs around that; there may be none."""
        left: tuple[int, ...] = ()
        right: tuple[int, ...] = ()
        for sequence in reversed(self.sequences):
            place = next((n for n, item in enumerate(sequence.items) if _holds(item, element)), None)
            if place is None:
                continue
            before = [bound(item, binding) for item in sequence.items[:place] if bound(item, binding)]
            after = [bound(item, binding) for item in sequence.items[place + 1 :] if bound(item, binding)]
            left = left or (before[-1] if before else ())
            right = right or (after[0] if after else ())
        return Neighbours(left, right)

    def is_adjacent(self, name: str, single: frozenset[str]) -> bool:
        """Whether another list follows a list, with no single variable between them."""
        order = self.in_order
        lists = {event.var for event in self.events()} - single
        return any(
            (name, other) in order and not any((name, s) in order and (s, other) in order for s in single)
            for other in lists
        )

    def is_followed(self, name: str, single: frozenset[str]) -> bool:
        """Whether a single variable comes after a variable."""
        return any((name, other) in self.in_order for other in single)


def ways(pattern: Pattern) -> Iterator[Way]:
    """Every way through the pattern."""
    match pattern:
        case Event() | Not():
            yield Way(pattern)
        case Sequence(items=items):
            for chosen in _each(items):
                yield Way(Sequence(_merged(chosen)), _gaps(chosen))
        case TimedSequence(first=first, second=second, low=low, high=high):
            for one, other in itertools.product(ways(first), ways(second)):
                gap = Gap(names(one.tree), names(other.tree), low, high)
                yield Way(Sequence(_merged((one, other))), (*_gaps((one, other)), gap))
        case Conjunction(items=items):
            for chosen in _each(items):
                yield Way(Conjunction(tuple(way.tree for way in chosen)), _gaps(chosen))
        case AnyOf(count=count, items=items):
            for some in itertools.combinations(items, count):
                yield from ways(Conjunction(some))
        case Disjunction(items=items):
            for item in items:
                for way in ways(item):
                    alone = isinstance(way.tree, Sequence)
                    yield Way(Conjunction((way.tree,)) if alone else way.tree, way.gaps)
        case _:
            assert_never(pattern)


def _each(items: tuple[Pattern, ...]) -> Iterator[tuple[Way, ...]]:
    return itertools.product(*(tuple(ways(item)) for item in items))


def _gaps(chosen: tuple[Way, ...]) -> tuple[Gap, ...]:
    return tuple(gap for way in chosen for gap in way.gaps)


def _merged(chosen: tuple[Way, ...]) -> tuple[Pattern, ...]:
    """A SEQ directly inside a SEQ is as if its elements stood there."""
    trees = [way.tree for way in chosen]
    return tuple(item for tree in trees for item in (tree.items if isinstance(tree, Sequence) else (tree,)))


def _events(node: Pattern) -> Iterator[Event]:
    if isinstance(node, Event):
        yield node
    elif not isinstance(node, Not):
        for part in parts(node):
            yield from _events(part)


def names(node: Pattern) -> tuple[str, ...]:
    """Variables of a part that can be bound."""
    return tuple(event.var for event in _events(node))


def _holds(node: Pattern, element: Pattern) -> bool:
    return any(part is element for part in walk(node))


def bound(node: Pattern, binding: Binding) -> tuple[int, ...]:
    """The events of an element."""
    return tuple(event for name in names(node) for event in binding.get(name, ()))
