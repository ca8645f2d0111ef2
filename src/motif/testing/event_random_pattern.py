"""Random event patterns: every operator, NOT and repetition at every place, at most five variables."""

from __future__ import annotations

import random
from collections.abc import Iterator

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
from motif.testing.event_ways import Way, names, ways

CLASSES = ("A", "B", "C")
SECOND = 1_000_000
QUANTIFIERS = (
    Quantifier(1, None),
    Quantifier(1, None),
    Quantifier(1, None),
    Quantifier(0, None),
    Quantifier(0, None),
    Quantifier(0, 1),
    Quantifier(1, 1),
    Quantifier(2, 2),
    Quantifier(2, None),
    Quantifier(1, 2),
    Quantifier(1, 3),
    Quantifier(2, 3),
    Quantifier(0, 2),
)
VARIABLES = "abcde"
NEGATED = ("m", "n")


class PatternWriter:
    """Writes one pattern; it may not be legal, which `is_legal` tells."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._free = list(VARIABLES[: rng.choice((2, 2, 3, 3, 3, 4, 4, 5))])
        self._free_negated = list(NEGATED[: rng.choice((0, 0, 1, 1, 2))])
        self._repeated = rng.choice((0, 1, 1, 2, 2, 3))
        """How many repeated variables there may still be."""
        self._classless = rng.choice((0.0, 0.05, 0.05, 0.3))

    def pattern(self) -> Pattern:
        """The whole pattern; most are sequences."""
        others = ("all", "all", "any", "any", "or", "or", "tseq", "tseq", "event", "lists", "lists")
        kind = self._rng.choice(("seq",) * 12 + others)
        return self._operator(kind, self._rng.choice((1, 1, 2)))

    def _operator(self, kind: str, depth: int) -> Pattern:
        match kind:
            case "seq":
                return self._sequence(depth)
            case "lists":
                return self._lists()
            case "all":
                return Conjunction(self._parts(depth, 2))
            case "any":
                items = self._parts(depth, self._rng.choice((2, 3)))
                return AnyOf(self._rng.randint(1, len(items)), items)
            case "or":
                return Disjunction(self._parts(depth, self._rng.choice((2, 2, 3)), repeat=0.15))
            case "tseq":
                low = self._rng.choice((0, 0, 1, 1, 2)) * SECOND
                first, second = self._parts(depth, 2, repeat=0.2)
                return TimedSequence(first, second, low, low + self._rng.choice((0, 1, 2, 4, 6, 8)) * SECOND)
            case _:
                return self._event(0.1)

    def _parts(self, depth: int, count: int, repeat: float = 0.0) -> tuple[Pattern, ...]:
        return tuple(self._part(depth, repeat) for _ in range(count))

    def _part(self, depth: int, repeat: float) -> Pattern:
        if depth > 0 and len(self._free) > 1 and self._rng.random() < 0.3:
            kind = self._rng.choice(("seq", "seq", "seq", "all", "any", "or", "or", "tseq"))
            return self._operator(kind, depth - 1)
        return self._event(repeat)

    def _sequence(self, depth: int) -> Sequence:
        items: list[Pattern] = [self._part(depth, 0.4)]
        for _ in range(self._rng.choice((1, 2, 2, 3, 3, 4))):
            if self._free_negated and self._rng.random() < 0.25:
                items.append(Not(Event(self._free_negated.pop(0), self._class())))
            elif self._free:
                items.append(self._part(depth, 0.6))
        return Sequence(tuple(items))

    def _lists(self) -> Sequence:
        """Lists one behind the other: what belongs to which depends on whether those between have events."""
        self._free, self._repeated = list(VARIABLES), 3
        before, behind = self._rng.choice(((1, 0), (1, 1), (0, 1)))
        lists = self._rng.choice((2, 3, 3))
        return Sequence(tuple(self._event(repeat) for repeat in (*[0.0] * before, *[1.0] * lists, *[0.0] * behind)))

    def _event(self, repeat: float) -> Event:
        # Where no name is left the pattern comes out illegal, and another one is drawn.
        name = self._free.pop(0) if self._free else VARIABLES[-1]
        if self._repeated > 0 and self._rng.random() < repeat:
            self._repeated -= 1
            return Event(name, self._class(), self._rng.choice(QUANTIFIERS))
        return Event(name, self._class())

    def _class(self) -> str | None:
        return None if self._rng.random() < self._classless else self._rng.choice(CLASSES)


# --- what is legal, and what is clear ---------------------------------------------------------------------------------


def is_legal(pattern: Pattern) -> bool:
    """Whether names stand once and every way binds a single variable, whatever is picked.

    Also whether the page says beyond doubt what the pattern means: a NOT has something before it that is always bound,
    and a list stands in a SEQ with something that is.
    """
    found = [event.var for event in _all_events(pattern)]
    return len(set(found)) == len(found) and all(_is_clear(way) for way in ways(pattern))


def _all_events(pattern: Pattern) -> Iterator[Event]:
    query = EventQuery(pattern)
    yield from query.events()
    yield from query.negated()


def _is_clear(way: Way) -> bool:
    if not any(event.repeat is None for event in way.events()):
        return False
    in_sequences = {id(item) for sequence in way.sequences for item in sequence.items}
    if any(id(event) not in in_sequences for event in way.events() if event.repeat is not None):
        return False
    return all(_is_clear_sequence(sequence) for sequence in way.sequences)


def _is_clear_sequence(sequence: Sequence) -> bool:
    certain = [_is_certain(item) for item in sequence.items]
    for place, item in enumerate(sequence.items):
        if isinstance(item, Not) and not any(certain[:place]):
            return False
        if isinstance(item, Event) and item.repeat is not None and not any(certain):
            return False
    return True


def _is_certain(item: Pattern) -> bool:
    """Whether an element of a way is always bound by a single variable."""
    match item:
        case Event(repeat=repeat):
            return repeat is None
        case Not():
            return False
        case Sequence(items=items) | Conjunction(items=items):
            return any(_is_certain(part) for part in items)
        case _:
            return False


def has_open_end(query: EventQuery) -> bool:
    """Whether the query needs WITHIN: a NOT or a list has no element behind it in its SEQ, in some way."""
    single = {event.var for event in query.events() if event.repeat is None or _picks_one(query, event.var)}
    return any(_is_open(way, single) for way in ways(query.pattern))


def _picks_one(query: EventQuery, var: str) -> bool:
    return query.pick(var) in (PickMode.FIRST, PickMode.LAST)


def _is_open(way: Way, single: set[str]) -> bool:
    for sequence in way.sequences:
        for item in reversed(sequence.items):
            if isinstance(item, Not):
                return True
            if isinstance(item, Event) and item.repeat and (item.var not in single or item.repeat.allows(0)):
                return True
            if set(names(item)) & single:
                break
    return False


def is_list_in_or(pattern: Pattern) -> bool:
    """Whether a repeated variable stands directly in OR, which a check may take for open."""
    match pattern:
        case Disjunction(items=items):
            return any((isinstance(item, Event) and item.repeat is not None) or is_list_in_or(item) for item in items)
        case Sequence(items=items) | Conjunction(items=items) | AnyOf(items=items):
            return any(is_list_in_or(item) for item in items)
        case TimedSequence(first=first, second=second):
            return is_list_in_or(first) or is_list_in_or(second)
        case _:
            return False


def random_event_pattern(rng: random.Random) -> Pattern:
    """A pattern that is legal with some WITHIN."""
    while True:
        pattern = PatternWriter(rng).pattern()
        if is_legal(pattern) and not _repeats_in_conjunction(pattern):
            return pattern


def _repeats_in_conjunction(pattern: Pattern) -> bool:
    match pattern:
        case Conjunction(items=items) | AnyOf(items=items):
            return any(
                (isinstance(item, Event) and item.repeat is not None) or _repeats_in_conjunction(item) for item in items
            )
        case Sequence(items=items) | Disjunction(items=items):
            return any(_repeats_in_conjunction(item) for item in items)
        case TimedSequence(first=first, second=second):
            return _repeats_in_conjunction(first) or _repeats_in_conjunction(second)
        case _:
            return False
