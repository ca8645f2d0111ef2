"""Event patterns (Extended SNOOP): events that may lie apart, and what is picked and consumed of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, assert_never

from motif.errors import Span
from motif.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`low` to `high` events (None: no bound)."""

    low: int
    high: int | None

    def allows(self, count: int) -> bool:
        """Whether a list of that length will do."""
        return self.low <= count and (self.high is None or count <= self.high)


@dataclass(frozen=True, slots=True)
class Event:
    """`Login a`: a variable over events of a class (None: any event); a list of them with a quantifier."""

    var: str
    type: str | None = None
    repeat: Quantifier | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """No such event between the neighbours; only inside a `Sequence`, never its first element."""

    event: Event
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Each part ends before the next begins."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TimedSequence:
    """TSEQ: two parts, the second begins `low` to `high` microseconds after the first has ended."""

    first: Pattern
    second: Pattern
    low: int
    high: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """ALL: every part, in any order."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """ANY: exactly `count` of the parts, in any order; the variables of the others are NULL."""

    count: int
    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """OR: exactly one of the parts."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


Pattern: TypeAlias = Event | Not | Sequence | TimedSequence | Conjunction | AnyOf | Disjunction


class PickMode(StrEnum):
    """Which of the matches that differ in one variable only are kept."""

    FIRST = "FIRST"
    LAST = "LAST"
    EACH = "EACH"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Pick:
    """`LAST a WITHIN 5 s FROM b`; `within` in microseconds, `origin` None: the match's last event."""

    mode: PickMode
    var: str
    within: int | None = None
    origin: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Duration:
    """WITHIN in time: last.ts - first.ts is at most this."""

    microseconds: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EventCount:
    """WITHIN n EVENTS: at most n consecutive events of the partition from first to last."""

    count: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Item:
    """`expr AS name` of SELECT or RETURN."""

    expr: Expr
    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One name of `[a, b]`: all variables, also those of NOT, agree on it."""

    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A query of the event language.

    Expressions read variables as `At(Column(x), var)` counted from the last event bound to it, and `Aggregate`;
    `PREV(b.x)` has become `LAST(b.x, 1)`. Every variable name is spelled as in the pattern.
    """

    pattern: Pattern
    conditions: tuple[Expr, ...] = ()
    """All of them must be TRUE."""
    same: tuple[Attribute, ...] = ()
    picks: tuple[Pick, ...] = ()
    within: Duration | EventCount | None = None
    items: tuple[Item, ...] | None = None
    """None: SELECT *."""
    name: str | None = None
    """The class of the matches as events: DEFINE or RETURN."""
    returned: tuple[Item, ...] = ()
    """Items of RETURN name(...), shown after those of SELECT."""
    consuming: tuple[str, ...] = ()
    input: str | None = None
    """FROM input pattern."""
    source: str = field(default="", compare=False)
    """The text the spans point into."""

    @property
    def measures(self) -> tuple[Item, ...]:
        """Everything that is computed from a match."""
        return (*(self.items or ()), *self.returned)

    def events(self) -> tuple[Event, ...]:
        """Variables that can be bound, in pattern order."""
        negated = self.negated()
        return tuple(node for node in walk(self.pattern) if isinstance(node, Event) and node not in negated)

    def negated(self) -> tuple[Event, ...]:
        """Variables of NOT."""
        return tuple(node.event for node in walk(self.pattern) if isinstance(node, Not))

    def pick(self, var: str) -> PickMode:
        """How a variable is picked: EACH for single ones and ALL for repeated ones unless said otherwise."""
        for pick in self.picks:
            if pick.var == var:
                return pick.mode
        event = next(event for event in self.events() if event.var == var)
        return PickMode.EACH if event.repeat is None else PickMode.ALL


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """Direct sub-patterns, left to right."""
    match pattern:
        case Event():
            return ()
        case Not(event=event):
            return (event,)
        case Sequence(items=items) | Conjunction(items=items) | AnyOf(items=items) | Disjunction(items=items):
            return items
        case TimedSequence(first=first, second=second):
            return (first, second)
        case _:
            assert_never(pattern)


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, left to right."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))
