"""The reference of the event language: what a query means, as directly as it can be said.

All bindings are formed (`event_bindings`), picks choose among them, and they fire when they are decided. Slow, and
meant to be: it judges the engines, on streams of a dozen events. It follows the specification of the event language;
where that leaves room, ADR 9 (readings by number).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from motif.errors import UnsupportedQuery
from motif.ir.event import Duration, EventCount, EventQuery, Pick, PickMode
from motif.ir.expr import Column, Expr, walk
from motif.testing.evaluate import View
from motif.testing.event_bindings import Bindings, Budget, Reading, TooLong, is_followed, is_open
from motif.testing.event_roles import Roles, Stream
from motif.testing.event_ways import Binding, Way, ways
from motif.testing.scalars import Function, identity, sort_key

__all__ = [
    "Fired",
    "Listed",
    "Match",
    "Moment",
    "TooLong",
    "fire_events",
    "in_result_order",
    "in_total_order",
    "match_events",
    "selected",
]

Match: TypeAlias = dict[str, int | list[int] | None]
"""The number of the event in the input, or the list of them, of each variable in pattern order."""


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A decision point; they are compared by their order in time.

    An event, or the n-th event of WITHIN n EVENTS right after it (`counted`); a deadline after all events of its time;
    or the end of the input.
    """

    ended: bool = False
    time: int = 0
    deadline: bool = False
    number: int = 0
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Fired:
    """A match, when it was decided, and what it is compared by in canonical order."""

    moment: Moment
    match: Match
    rank: tuple[object, ...]


def match_events(
    query: EventQuery,
    events: Sequence[Mapping[str, object]],
    *,
    time_column: str = "ts",
    class_column: str = "type",
    start_column: str | None = None,
    functions: Mapping[str, Function] | None = None,
    steps: int | None = None,
) -> list[Match]:
    """The matches of `query` over `events` in their total order, as they fire.

    Times are datetimes or microseconds. `start_column` holds the beginning of events that are matches themselves (NULL
    for others). `functions` adds scalar functions by lower-case name. `steps` bounds the candidates looked at, so that
    random tests do not hang; `TooLong` is raised beyond.
    """
    columns = (time_column, class_column, start_column)
    return [fired.match for fired in fire_events(query, events, columns, functions, steps)]


def fire_events(
    query: EventQuery,
    events: Sequence[Mapping[str, object]],
    columns: tuple[str, str, str | None] = ("ts", "type", None),
    functions: Mapping[str, Function] | None = None,
    steps: int | None = None,
) -> list[Fired]:
    """The matches with their decision points; `columns` are those of time, class and start."""
    _check(query)
    budget = Budget(steps)
    found = []
    for stream in _partitions(query, events, columns):
        answer = _Answer(query, stream, functions or {}, budget)
        fired = answer.consuming() if query.consuming else answer.keeping()
        found += [(moment, answer.canonical(binding), answer.shown(binding)) for moment, binding in fired]
    found.sort(key=lambda entry: entry[:2])
    return [Fired(moment, match, rank) for moment, rank, match in found]


def selected(
    query: EventQuery,
    events: Sequence[Mapping[str, object]],
    match: Match,
    functions: Mapping[str, Function] | None = None,
) -> tuple[object, ...]:
    """The values of the items of SELECT for a match."""
    binding = {var: tuple(b if isinstance(b, list) else [b]) for var, b in match.items() if b is not None}
    rows = [{name.casefold(): value for name, value in event.items()} for event in events]
    reading = Reading(binding, functions or {})
    return tuple(reading.value(item.expr, View(rows, 0, (), 0, None)) for item in query.items or ())


def in_total_order(
    query: EventQuery,
    events: Sequence[Mapping[str, object]],
    schema: Sequence[str],
    *,
    time_column: str = "ts",
    class_column: str = "type",
    start_column: str | None = None,
    order_by: Sequence[str] = (),
) -> list[Mapping[str, object]]:
    """The events by time, then `order_by`, then the columns that decide, then those that are only shown; NULLs last.

    The columns that decide are those of conditions and of `[attr]`, that of the class where a variable has one, and
    that of the start.
    """
    deciding = _columns_of(query.conditions) | {attribute.name.casefold() for attribute in query.same}
    if any(event.type is not None for event in (*query.events(), *query.negated())):
        deciding.add(class_column.casefold())
    if start_column is not None:
        deciding.add(start_column.casefold())
    items = (*(query.items or ()), *query.returned)
    shown = _columns_of([item.expr for item in items])
    first = [name for name in schema if name.casefold() in deciding]
    then = [name for name in schema if name not in first and (query.items is None or name.casefold() in shown)]
    keys = [*order_by, *first, *then]

    def rank(event: Mapping[str, object]) -> list[object]:
        # A composite comes behind the plain events of its time.
        composite = start_column is not None and event[start_column] is not None
        return [_null_last(event[time_column]), composite, *(_null_last(event[name]) for name in keys)]

    return sorted(events, key=rank)


class Listed(NamedTuple):
    """A match as a result, or a step of a stream, lists it."""

    end: Any
    key: tuple[Hashable, ...]
    match_id: int
    shown: Any


def in_result_order(matches: Iterable[Listed]) -> list[Listed]:
    """Matches by when they end; of those that end together, key by key, the one with the least first id first.

    Those of one key are given as they come there: in canonical order, with CONSUMING as they fire.
    """
    together: dict[Any, dict[Hashable, list[Listed]]] = {}
    for match in matches:
        together.setdefault(match.end, {}).setdefault(match.key, []).append(match)
    by_key = (sorted(together[end].values(), key=lambda own: own[0].match_id) for end in sorted(together))
    return [match for keys in by_key for own in keys for match in own]


def _columns_of(expressions: Sequence[Expr]) -> set[str]:
    return {node.name.casefold() for expr in expressions for node in walk(expr) if isinstance(node, Column)}


def _null_last(value: object) -> tuple[bool, object]:
    return (value is None, () if value is None else sort_key(value))


def _check(query: EventQuery) -> None:
    single = Roles(query).single
    for way in ways(query.pattern):
        if not any(event.var in single for event in way.events()):
            raise UnsupportedQuery("a way through the pattern binds no single variable")  # reading 7


# --- the stream of each partition -----------------------------------------------------------------------------------


def _partitions(
    query: EventQuery, events: Sequence[Mapping[str, object]], columns: tuple[str, str, str | None]
) -> Iterator[Stream]:
    """`[attr]` is equality, and NULL agrees with nothing (reading 2); an event without time is set aside (16)."""
    time, kind, start = (None if name is None else name.casefold() for name in columns)
    rows = [{name.casefold(): value for name, value in event.items()} for event in events]
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, row in enumerate(rows):
        key = tuple(row[attribute.name.casefold()] for attribute in query.same)
        if row[str(time)] is not None and None not in key:
            groups.setdefault(tuple(map(identity, key)), []).append(number)
    for numbers in groups.values():
        chosen = [rows[number] for number in numbers]
        times = [_microseconds(row[str(time)]) for row in chosen]
        starts = [None if start is None else row[start] for row in chosen]
        begins = [time if begin is None else _microseconds(begin) for begin, time in zip(starts, times, strict=True)]
        yield Stream(chosen, numbers, times, begins, [row.get(str(kind)) for row in chosen])


def _microseconds(value: object) -> int:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=value.tzinfo)) // timedelta(microseconds=1)
    if isinstance(value, int):
        return value
    raise TypeError(f"{value!r} is not a time")


# --- picks, decisions, consumption ----------------------------------------------------------------------------------


class _Answer:
    """What fires in one partition."""

    def __init__(self, query: EventQuery, stream: Stream, functions: Mapping[str, Function], budget: Budget) -> None:
        self._query = query
        self._stream = stream
        self._functions = functions
        self._budget = budget
        self._roles = Roles(query)
        self._ways = tuple(ways(query.pattern))
        self._all = tuple(range(len(stream.rows)))

    def keeping(self) -> Iterator[tuple[Moment, Binding]]:
        """Without CONSUMING: every picked match fires once."""
        for way, binding in self._picked(self._all):
            yield self._decided(way, binding), binding

    def consuming(self) -> Iterator[tuple[Moment, Binding]]:
        """At each decision point: what is there and not consumed is matched and picked anew."""
        consumed: set[int] = set()
        for moment in self._moments():
            alive = tuple(place for place in self._arrived(moment) if place not in consumed)
            matches = [binding for way, binding in self._picked(alive) if self._decided(way, binding) == moment]
            for binding in sorted(matches, key=self.canonical):
                if consumed.isdisjoint(place for events in binding.values() for place in events):
                    yield moment, binding
                    consumed.update(place for name in self._query.consuming for place in binding.get(name, ()))

    def _picked(self, alive: Sequence[int]) -> list[tuple[Way, Binding]]:
        """PICK: each pick filters, in the order written; its WITHIN has been a condition before."""
        known = (self._functions, self._budget, self._ways, self._roles)
        matches = _distinct(Bindings(self._query, self._stream, alive, *known).all())
        for pick in self._query.picks:
            if pick.mode in (PickMode.FIRST, PickMode.LAST):
                matches = _best(pick, matches)
        return matches

    # --- when ---

    def _decided(self, way: Way, binding: Binding) -> Moment:
        """At the last event, or at the deadline."""
        last_picks = [pick.var for pick in self._query.picks if pick.mode is PickMode.LAST and pick.var in binding]
        can_be_last = any(not is_followed(way, name, binding, self._roles.single) for name in last_picks)
        events = [place for places in binding.values() for place in places]
        if can_be_last or is_open(way, binding, self._roles.lists):
            return self._deadline(min(events), min(self._stream.begins[place] for place in events))
        return self._at_event(max(events))

    def _deadline(self, first: int, begin: int) -> Moment:
        match self._query.within:
            case Duration(microseconds=length):
                return Moment(time=begin + length, deadline=True)
            case EventCount(count=count) if first + count <= len(self._all):
                return self._at_event(first + count - 1, counted=True)
            case _:
                return Moment(ended=True)

    def _at_event(self, place: int, counted: bool = False) -> Moment:
        return Moment(time=self._stream.times[place], number=self._stream.numbers[place], counted=counted)

    def _moments(self) -> list[Moment]:
        """Every moment at which something can be decided."""
        deadlines = {self._deadline(place, self._stream.begins[place]) for place in self._all}
        return sorted(deadlines | {self._at_event(place) for place in self._all})

    def _arrived(self, moment: Moment) -> Iterator[int]:
        for place in self._all:
            by_time = self._stream.times[place] <= moment.time
            by_place = self._stream.numbers[place] <= moment.number
            if moment.ended or (by_time if moment.deadline else by_place):
                yield place

    # --- what is shown ---

    def canonical(self, binding: Binding) -> tuple[object, ...]:
        """By last event, first event, the others one by one, then by variables: events, lists, not bound (13)."""
        numbers = {name: [self._stream.numbers[place] for place in events] for name, events in binding.items()}
        ordered = sorted(number for events in numbers.values() for number in events)
        return (ordered[-1], ordered[0], ordered[1:], [self._rank(event, numbers) for event in self._roles.events])

    def _rank(self, name: str, numbers: Mapping[str, list[int]]) -> tuple[int, list[int]]:
        if name not in numbers:
            return (2, [])
        return (0 if self._roles.events[name].repeat is None else 1, numbers[name])

    def shown(self, binding: Binding) -> Match:
        """The match in the numbers of the input; what is repeated is a list."""
        match: Match = {}
        for name, event in self._roles.events.items():
            numbers = [self._stream.numbers[place] for place in binding.get(name, ())]
            match[name] = None if not numbers else numbers[0] if event.repeat is None else numbers
        return match


def _distinct(matches: Iterator[tuple[Way, Binding]]) -> list[tuple[Way, Binding]]:
    """Each binding once, also where several ways lead to it: they differ in lists that are empty."""
    found: dict[frozenset[tuple[str, tuple[int, ...]]], tuple[Way, Binding]] = {}
    for way, binding in matches:
        found.setdefault(frozenset(binding.items()), (way, binding))
    return list(found.values())


def _best(pick: Pick, matches: list[tuple[Way, Binding]]) -> list[tuple[Way, Binding]]:
    """Among the matches that agree on all other variables, the one with the earliest or latest event (11)."""
    best: dict[frozenset[tuple[str, tuple[int, ...]]], tuple[Way, Binding]] = {}
    for way, binding in matches:
        others = frozenset((name, events) for name, events in binding.items() if name != pick.var)
        held = best.get(others)
        if held is None or _is_better(pick, binding, held[1]):
            best[others] = (way, binding)
    return list(best.values())


def _is_better(pick: Pick, binding: Binding, held: Binding) -> bool:
    if pick.var not in binding or pick.var not in held:
        return pick.var in binding
    new, old = binding[pick.var], held[pick.var]
    return new < old if pick.mode is PickMode.FIRST else new > old
