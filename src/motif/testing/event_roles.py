"""What the variables and the conditions of an event query are for (readings 1, 3, 4, 9 and 10 of ADR 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from motif.ir.event import Event, EventQuery, Pick, PickMode
from motif.ir.expr import Aggregate, At, Expr, walk
from motif.testing.event_ways import Binding, Way


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one partition in their order; whatever speaks of an event gives its position here."""

    rows: Sequence[Mapping[str, object]]
    """Column values by case-folded name."""
    numbers: Sequence[int]
    """Which event of the whole input it is."""
    times: Sequence[int]
    begins: Sequence[int]
    """Earlier than the time for an event that is itself a match."""
    classes: Sequence[object]

    def before(self, one: int, other: int) -> bool:
        """Whether an event ends strictly before the other begins (reading 15)."""
        if self.begins[other] < self.times[other]:
            return self.times[one] < self.begins[other]
        return one < other


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of WHERE, with the variables it names."""

    expr: Expr
    names: frozenset[str]
    aggregated: frozenset[str]
    """Those of which it has an aggregate."""


class Roles:
    """Sorts the variables and conditions of a query."""

    def __init__(self, query: EventQuery) -> None:
        self.events: Mapping[str, Event] = {event.var: event for event in query.events()}
        self.lists = frozenset(name for name, event in self.events.items() if _is_list(query, event))
        """Repeated variables, but for those of which FIRST or LAST is picked: they are treated as single."""
        self.single = frozenset(self.events) - self.lists
        self.optional = frozenset(name for name in self.single if _may_be_empty(self.events[name]))
        """Single variables that may be left out because their quantifier allows none."""
        self.each = frozenset(name for name in self.lists if query.pick(name) is PickMode.EACH)
        self.negated = frozenset(event.var for event in query.negated())
        self.conditions = [_condition(expr) for expr in query.conditions]
        self.bounds: list[Pick] = [pick for pick in query.picks if pick.within is not None]

    def forbidding(self, name: str) -> list[Condition]:
        """The conditions that say which events a NOT forbids."""
        return [condition for condition in self.conditions if name in condition.names]

    def walking(self, name: str) -> list[Condition]:
        """The conditions that say which events a list takes: its only list, and no aggregate of it."""
        return [condition for condition in self.conditions if self._walks(condition) == name]

    def _walks(self, condition: Condition) -> str | None:
        lists = condition.names & self.lists
        if condition.names & self.negated or len(lists) != 1 or lists & condition.aggregated:
            return None
        return next(iter(lists))

    def final(self, way: Way) -> list[Condition]:
        """The conditions that are tested when every variable of this way has its events.

        A condition that would guide the walk of a list which is not part of this way is one of them: there the list
        reads as NULL (reading 1).
        """
        present = {event.var for event in way.events()}
        return [
            condition
            for condition in self.conditions
            if not condition.names & self.negated and self._walks(condition) not in present
        ]

    def is_tested(self, condition: Condition, way: Way, binding: Binding) -> bool:
        """Whether a final condition has to hold.

        An optional variable of which FIRST or LAST is picked is a list of one event or none: what says which events it
        takes says nothing where it takes none, as for any other list.
        """
        present = {event.var for event in way.events()}
        left_out = {name for name in self.optional & present if name not in binding}
        return not (left_out & (condition.names - condition.aggregated)) or bool(condition.names & self.lists)

    def selecting(self, name: str) -> list[Condition]:
        """The conditions that say which events an optional single variable takes."""
        return [
            condition
            for condition in self.conditions
            if name in condition.names - condition.aggregated and not condition.names & (self.lists | self.negated)
        ]


def _is_list(query: EventQuery, event: Event) -> bool:
    return event.repeat is not None and query.pick(event.var) in (PickMode.ALL, PickMode.EACH)


def _may_be_empty(event: Event) -> bool:
    return event.repeat is not None and event.repeat.allows(0)


def _condition(expr: Expr) -> Condition:
    nodes = [node for node in walk(expr) if isinstance(node, At | Aggregate) and node.var is not None]
    names = frozenset(str(node.var) for node in nodes)
    return Condition(expr, names, frozenset(str(node.var) for node in nodes if isinstance(node, Aggregate)))
