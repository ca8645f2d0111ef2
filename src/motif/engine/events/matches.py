"""Matches of event patterns as columns of positions, and their canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from motif.engine.arrays import Array

NEVER = np.iinfo(np.int64).max
WORD_BITS = 63


@dataclass(frozen=True, slots=True)
class Lists:
    """Per match: where its events begin in `items`, and how many there are."""

    start: Array
    count: Array


@dataclass(frozen=True, slots=True)
class EventMatches:
    """One element per match in every column; -1 where a variable is not bound."""

    singles: dict[str, Array]
    lists: dict[str, Lists]
    items: Array
    way: Array

    def __len__(self) -> int:
        return len(self.way)

    def take(self, chosen: Array) -> EventMatches:
        """Some of the matches."""
        singles = {var: column[chosen] for var, column in self.singles.items()}
        lists = {var: Lists(part.start[chosen], part.count[chosen]) for var, part in self.lists.items()}
        return EventMatches(singles, lists, self.items, self.way[chosen])

    def first(self) -> Array:
        """Position of the first event."""
        columns = [*self.singles.values(), *(self._edge(part, 0) for part in self.lists.values())]
        first: Array = reduce(np.minimum, (column.view(np.uint64) for column in columns))  # -1 is the largest
        return first.view(np.int64)

    def last(self) -> Array:
        """Position of the last event."""
        columns = list(self.singles.values())
        columns += [self._edge(part, -1) for part in self.lists.values()]
        last: Array = reduce(np.maximum, columns)
        return last

    def _edge(self, part: Lists, which: int) -> Array:
        bound = part.count > 0
        at = part.start if which == 0 else part.start + part.count - 1
        missing = NEVER if which == 0 else -1
        return (
            np.where(bound, self.items[np.where(bound, at, 0)], missing)
            if len(self.items)
            else np.full(len(self), missing)
        )

    def events_of(self, match: int) -> list[int]:
        """All events of one match in order."""
        events = [int(column[match]) for column in self.singles.values() if column[match] >= 0]
        for part in self.lists.values():
            start = int(part.start[match])
            events += self.items[start : start + int(part.count[match])].tolist()
        return sorted(events)

    def binding(self, match: int, variables: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """The events of each variable."""
        return tuple(self.bound(match, var) for var in variables)

    def bound(self, match: int, var: str) -> tuple[int, ...]:
        """The events of one variable."""
        if var in self.singles:
            event = int(self.singles[var][match])
            return (event,) if event >= 0 else ()
        part = self.lists[var]
        start = int(part.start[match])
        return tuple(self.items[start : start + int(part.count[match])].tolist())

    def _rank(self, match: int, variables: Sequence[str]) -> tuple[object, ...]:
        """What comes after first and last event in the canonical order; what is bound comes before what is not."""
        return self.events_of(match)[1:], [(not events, events) for events in self.binding(match, variables)]

    def list_numbers(self, var: str) -> Array:
        """A number per distinct list."""
        part = self.lists[var]
        known: dict[bytes, int] = {}
        numbers = np.empty(len(self), np.int64)
        for match, (start, count) in enumerate(zip(part.start.tolist(), part.count.tolist(), strict=True)):
            numbers[match] = known.setdefault(self.items[start : start + count].tobytes(), len(known))
        return numbers

    def distinct(self) -> EventMatches:
        """Each match once, where several ways through the pattern lead to the same."""
        if len(self) < 2:
            return self
        keys = [*self.singles.values(), *(self.list_numbers(var) for var in self.lists)]
        order = np.lexsort(keys)
        new = np.ones(len(order), bool)
        new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
        return self.take(np.sort(order[new]))

    def in_order(self, variables: Sequence[str]) -> EventMatches:
        """By last event, first event, the events one by one, then by what the variables bind (nothing: last)."""
        keys = self.keys(variables)
        order = np.argsort(keys[0], kind="stable")
        if len(keys) > 1 and not _is_rising(keys[0][order]):
            order = np.lexsort(keys[::-1])
        return self.take(self.settled(order, keys, variables))

    def ranks(self, variables: Sequence[str]) -> Array:
        """The number of each match in that order."""
        keys = self.keys(variables)
        ranks = np.empty(len(self), np.int64)
        ranks[self.settled(np.lexsort(keys[::-1]), keys, variables)] = np.arange(len(self))
        return ranks

    def keys(self, variables: Sequence[str]) -> list[Array]:
        """Numbers to sort by for that order; of lists, only the events at either end are in them."""
        if not self.lists:
            return _matrix_keys([self.singles[var] for var in variables])
        first, last = self.first(), self.last()
        return list(_packed([last, first], (1 + int(last.max(initial=0))).bit_length()))

    def settled(self, order: Array, keys: Sequence[Array], variables: Sequence[str]) -> Array:
        """Matches sorted by their keys, those of lists with the same ends event by event, too; they are few."""
        if not self.lists:
            return order
        tied = np.flatnonzero(np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys]))
        edges = np.flatnonzero(np.concatenate(([True], np.diff(tied) > 1, [True]))) if len(tied) else tied
        for low, high in pairwise(edges):
            run = slice(int(tied[low]), int(tied[high - 1]) + 2)
            order[run] = sorted(order[run].tolist(), key=lambda m: self._rank(m, variables))
        return order


def _is_rising(values: Array) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _matrix_keys(columns: Sequence[Array]) -> list[Array]:
    never = 1 + max(int(column.max(initial=0)) for column in columns)
    are_bound = all(int(column.min(initial=0)) >= 0 for column in columns)
    bound = columns
    if not are_bound:
        columns = [np.where(column < 0, never, column) for column in columns]
    if are_bound and all(bool((one < other).all()) for one, other in pairwise(columns)):
        keys = [columns[-1], *columns[:-1]]  # as in a sequence
    else:
        events = _rising(list(columns))
        last = events.pop() if are_bound else reduce(np.maximum, bound)
        # Where the events are the same and so are all variables but one, that one is, too.
        keys = [last, *events, *columns[:-1]]
    return list(_packed(keys, never.bit_length()))


def _rising(columns: list[Array]) -> list[Array]:
    """The same numbers, those of each match in rising order: a few columns are faster so than row by row."""
    for end in range(len(columns) - 1, 0, -1):
        for at in range(end):
            one, other = columns[at : at + 2]
            columns[at : at + 2] = np.minimum(one, other), np.maximum(one, other)
    return columns


def _packed(keys: Sequence[Array], bits: int) -> Iterator[Array]:
    """Numbers of so many bits, several to a word: there are fewer to sort by."""
    each = WORD_BITS // bits
    for number in range(0, len(keys), each):
        word = keys[number].astype(np.int64)
        for key in keys[number + 1 : number + each]:
            word <<= bits
            word |= key
        yield word


def nothing(singles: Iterable[str], lists: Iterable[str]) -> EventMatches:
    """No matches."""
    none = np.zeros(0, np.int64)
    return EventMatches(dict.fromkeys(singles, none), {var: Lists(none, none) for var in lists}, none, none)


def joined(parts: Sequence[EventMatches]) -> EventMatches:
    """All matches of several runs over the same events."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(part.items) for part in parts[:-1])])
    singles = {var: np.concatenate([part.singles[var] for part in parts]) for var in parts[0].singles}
    lists = {
        var: Lists(
            np.concatenate([part.lists[var].start + shift for part, shift in zip(parts, shifts, strict=True)]),
            np.concatenate([part.lists[var].count for part in parts]),
        )
        for var in parts[0].lists
    }
    items = np.concatenate([part.items for part in parts])
    return EventMatches(singles, lists, items, np.concatenate([part.way for part in parts]))
