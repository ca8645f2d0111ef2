"""All bindings of an event pattern: candidates are generated, and kept if they are what the page says.

`Bindings.all` proposes events for the variables, with light pruning; `Bindings.is_match` is the definition and looks at
a complete binding only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from motif.errors import LimitExceeded
from motif.ir.event import Duration, Event, EventCount, EventQuery, Not, Pick
from motif.ir.expr import Mode
from motif.testing.evaluate import Evaluator, View
from motif.testing.event_roles import Condition, Roles, Stream
from motif.testing.event_ways import Binding, Neighbours, Way, ways
from motif.testing.scalars import Function


class TooLong(LimitExceeded):
    """The reference would take for ever on this query and these events."""


class Budget:
    """Bounds the candidates that are looked at."""

    def __init__(self, steps: int | None) -> None:
        self._steps = steps
        self._done = 0

    def spend(self) -> None:
        """One more candidate."""
        self._done += 1
        if self._steps is not None and self._done > self._steps:
            raise TooLong(f"more than {self._steps} candidates in the reference of the event language")


class Reading(Evaluator):
    """Reads variables from a binding."""

    def __init__(self, binding: Binding, functions: Mapping[str, Function]) -> None:
        super().__init__(lambda _: (), functions)
        self._binding = binding

    def positions(self, var: str | None, view: View, mode: Mode | None) -> list[int]:  # noqa: ARG002
        """The events bound to a variable."""
        return list(self._binding.get(var or "", ()))


class Bindings:
    """The bindings of one query over some events of one stream."""

    def __init__(
        self,
        query: EventQuery,
        stream: Stream,
        alive: Sequence[int],
        functions: Mapping[str, Function],
        budget: Budget,
        known_ways: Sequence[Way] | None = None,
        known_roles: Roles | None = None,
    ) -> None:
        """What is known of the query may be given, so that it is not worked out at each decision point."""
        self.roles = Roles(query) if known_roles is None else known_roles
        self._ways = tuple(ways(query.pattern)) if known_ways is None else known_ways
        self._query = query
        self._stream = stream
        self._alive = alive
        """The events that have arrived and are not consumed; positions still count all events of the stream."""
        self._functions = functions
        self._budget = budget
        self._view = View(stream.rows, 0, (), 0, None)

    def all(self) -> Iterator[tuple[Way, Binding]]:
        """Every match before picks, with the way it takes through the pattern."""
        for way in self._ways:
            self._way = way
            for singles in self._single_bindings(way):
                if singles:
                    for binding in self._with_lists(way, singles):
                        self._budget.spend()
                        if self.is_match(way, binding):
                            yield way, binding

    # --- the definition: what makes a complete binding a match ---------------------------------------------------

    def is_match(self, way: Way, binding: Binding) -> bool:
        """Everything but PICK's choices."""
        self._way = way
        return (
            self._binds_each_event_once(binding)
            and self._is_in_order(way, binding)
            and self._keeps_gaps(way, binding)
            and self.is_within(binding)
            and all(self._is_rightly_bound(way, event, binding) for event in way.events())
            and all(self._holds(condition, way, binding) for condition in self.roles.final(way))
            and all(self._is_near(pick, binding) for pick in self.roles.bounds)
            and not any(self._is_violated(way, negation, binding) for negation in way.negations())
        )

    def _binds_each_event_once(self, binding: Binding) -> bool:
        events = _events_of(binding)
        return len(events) == len(set(events))

    def _is_in_order(self, way: Way, binding: Binding) -> bool:
        """SEQ: each element ends strictly before the next begins."""
        return all(
            self._stream.before(one, other)
            for left, right in way.in_order
            for one in binding.get(left, ())
            for other in binding.get(right, ())
        )

    def _keeps_gaps(self, way: Way, binding: Binding) -> bool:
        """TSEQ: min <= start(q) - end(p) <= max, where both have events."""
        for gap in way.gaps:
            ends = [self._stream.times[event] for name in gap.first for event in binding.get(name, ())]
            starts = [self._stream.begins[event] for name in gap.second for event in binding.get(name, ())]
            if ends and starts and not gap.low <= min(starts) - max(ends) <= gap.high:
                return False
        return True

    def is_within(self, binding: Binding) -> bool:
        """WITHIN: from the first to the last event, both counted."""
        events = _events_of(binding)
        match self._query.within:
            case Duration(microseconds=length):
                return self._last_time(events) - self._first_time(events) <= length
            case EventCount(count=count):
                return max(events) - min(events) + 1 <= count
            case None:
                return True

    def _is_rightly_bound(self, way: Way, event: Event, binding: Binding) -> bool:
        """Whether a variable has the events it must have, given those of the others."""
        events = binding.get(event.var, ())
        if event.var in self.roles.single:
            # The order and the conditions of a single variable are looked at elsewhere.
            return self._is_of_class(event, events[0]) if events else self._is_left_out(way, event, binding)
        if event.repeat is None or not event.repeat.allows(len(events)):
            return False
        if event.var in self.roles.each:
            return self._is_right_choice(way, event, binding)
        return self._is_right_list(way, event, binding)

    def _is_left_out(self, way: Way, event: Event, binding: Binding) -> bool:
        """FIRST or LAST of a variable that may be empty: no event between the neighbours passes."""
        if event.var not in self.roles.optional:
            return False
        taken = {place for name in self.roles.single for place in binding.get(name, ())}
        free = [place for place in self._between(way, event, binding) if place not in taken]
        return not any(self._passes(way, event, {**binding, event.var: (place,)}) for place in free)

    def _passes(self, way: Way, event: Event, binding: Binding) -> bool:
        return (
            self._is_of_class(event, binding[event.var][0])
            and all(self._holds(condition, way, binding) for condition in self.roles.selecting(event.var))
            and all(self._is_near(pick, binding) for pick in self.roles.bounds if pick.var == event.var)
        )

    def _is_right_choice(self, way: Way, event: Event, binding: Binding) -> bool:
        """EACH: any list of events between the neighbours, each of which is one that the walk could take there."""
        events = binding.get(event.var, ())
        allowed = self._between(way, event, binding)
        return all(
            place in allowed and self._takes(event, events[:count], place, binding)
            for count, place in enumerate(events)
        )

    def _is_right_list(self, way: Way, event: Event, binding: Binding) -> bool:
        """ALL: the walk between the neighbours; before another list, the beginning of a walk that goes past it."""
        events = binding.get(event.var, ())
        if not way.is_adjacent(event.var, self.roles.single):
            return self._walk(event, self._between(way, event, binding), binding) == events
        singles = {name: found for name, found in binding.items() if name in self.roles.single}
        neighbours = Neighbours(way.neighbours(event, binding).left, way.neighbours(event, singles).right)
        return self._walk(event, self._inside(neighbours, binding), binding)[: len(events)] == events

    def _is_violated(self, way: Way, negation: Not, binding: Binding) -> bool:
        """NOT: an event of the class that satisfies all conditions naming it lies between the neighbours."""
        name = negation.event.var
        return any(
            self._is_of_class(negation.event, place)
            and all(self._is_true(condition, {**binding, name: (place,)}) for condition in self.roles.forbidding(name))
            for place in self._between(way, negation, binding)
        )

    # --- repetition ------------------------------------------------------------------------------------------------

    def _walk(self, event: Event, allowed: Iterable[int], binding: Binding) -> tuple[int, ...]:
        """Take each event that the conditions accept; skip it otherwise."""
        taken: tuple[int, ...] = ()
        for place in allowed:
            if self._takes(event, taken, place, binding):
                taken = (*taken, place)
        return taken

    def _takes(self, event: Event, taken: tuple[int, ...], place: int, binding: Binding) -> bool:
        """Whether a list takes an event after those it has; single variables and earlier lists have theirs."""
        self._budget.spend()
        if not self._is_of_class(event, place) or place in self._owned(event.var, binding):
            return False
        grown = {**binding, event.var: (*taken, place)}
        return all(self._is_true(condition, grown) for condition in self.roles.walking(event.var)) and all(
            self._is_event_near(pick, place, binding) for pick in self.roles.bounds if pick.var == event.var
        )

    def _owned(self, name: str, binding: Binding) -> set[int]:
        """Events that a list can not have: those of single variables, and of lists that stand before it."""
        return {
            place
            for other, events in binding.items()
            if other in self.roles.single or (other in self.roles.lists and self._rank(other) < self._rank(name))
            for place in events
        }

    def _rank(self, name: str) -> tuple[bool, int]:
        """Lists that are not open come first, then the order of the pattern decides (reading 8)."""
        return not self._way.is_followed(name, self.roles.single), list(self.roles.events).index(name)

    def _between(self, way: Way, element: Event | Not, binding: Binding) -> list[int]:
        """The events strictly between the neighbours of a list or a NOT; where there is none, what WITHIN allows."""
        return self._inside(way.neighbours(element, binding), binding)

    def _inside(self, neighbours: Neighbours, binding: Binding) -> list[int]:
        return [
            place
            for place in self._alive
            if self._is_after(place, neighbours, binding) and self._is_before(place, neighbours, binding)
        ]

    def _is_after(self, place: int, neighbours: Neighbours, binding: Binding) -> bool:
        if neighbours.left:
            return all(self._stream.before(left, place) for left in neighbours.left)
        last = self._last_single(binding)
        match self._query.within:
            case Duration(microseconds=length):
                return self._stream.times[last] - self._stream.begins[place] <= length
            case EventCount(count=count):
                return last - place < count
            case None:
                return True

    def _is_before(self, place: int, neighbours: Neighbours, binding: Binding) -> bool:
        if neighbours.right:
            return all(self._stream.before(place, right) for right in neighbours.right)
        match self._query.within:
            case Duration(microseconds=length):
                return self._stream.times[place] <= self._first_time(_events_of(binding)) + length
            case EventCount(count=count):
                return place < min(_events_of(binding)) + count
            case None:
                return True

    # --- conditions --------------------------------------------------------------------------------------------------

    def _holds(self, condition: Condition, way: Way, binding: Binding) -> bool:
        return not self.roles.is_tested(condition, way, binding) or self._is_true(condition, binding)

    def _is_true(self, condition: Condition, binding: Binding) -> bool:
        return Reading(binding, self._functions).value(condition.expr, self._view) is True

    def _is_near(self, pick: Pick, binding: Binding) -> bool:
        """PICK x WITHIN d FROM y of a single x; a list is looked at event by event in its walk."""
        if pick.var in self.roles.lists or pick.var not in binding:
            return True
        return self._is_event_near(pick, binding[pick.var][0], binding)

    def _is_event_near(self, pick: Pick, place: int, binding: Binding) -> bool:
        if pick.within is None or (pick.origin is not None and pick.origin not in binding):
            return True
        origin = self._last_single(binding) if pick.origin is None else binding[pick.origin][0]
        return abs(self._stream.times[place] - self._stream.times[origin]) <= pick.within

    def _is_of_class(self, event: Event, place: int) -> bool:
        return event.type is None or self._stream.classes[place] == event.type

    def _last_single(self, binding: Binding) -> int:
        """The last event that is bound to a single variable."""
        return max(place for name, events in binding.items() if name in self.roles.single for place in events)

    def _first_time(self, events: Iterable[int]) -> int:
        return min(self._stream.begins[place] for place in events)

    def _last_time(self, events: Iterable[int]) -> int:
        return max(self._stream.times[place] for place in events)

    # --- candidates: at least everything that is a match -----------------------------------------------------------

    def _single_bindings(self, way: Way) -> Iterator[Binding]:
        """Events for the single variables, in order, of their classes, with the conditions that name them only."""
        singles = [event for event in way.events() if event.var in self.roles.single]
        order = way.in_order
        ready: list[list[Condition]] = [[] for _ in range(len(singles) + 1)]
        lists = {event.var for event in way.events()} & self.roles.lists
        for condition in self.roles.final(way):
            if not condition.names & lists:
                known = [count for count, event in enumerate(singles, 1) if event.var in condition.names]
                ready[max(known, default=0)].append(condition)

        def extend(count: int, binding: Binding) -> Iterator[Binding]:
            if not all(self._holds(condition, way, binding) for condition in ready[count]):
                return
            if count == len(singles):
                yield binding
                return
            event = singles[count]
            for place in self._alive:
                self._budget.spend()
                if self._fits(event, place, binding, order):
                    yield from extend(count + 1, {**binding, event.var: (place,)})
            if event.var in self.roles.optional:
                yield from extend(count + 1, binding)

        return extend(0, {})

    def _fits(self, event: Event, place: int, binding: Binding, order: set[tuple[str, str]]) -> bool:
        if not self._is_of_class(event, place) or place in _events_of(binding):
            return False
        for name, (other, *_) in binding.items():
            if (name, event.var) in order and not self._stream.before(other, place):
                return False
            if (event.var, name) in order and not self._stream.before(place, other):
                return False
        return self.is_within({**binding, event.var: (place,)})

    def _with_lists(self, way: Way, singles: Binding) -> Iterator[Binding]:
        """Each beginning of the walk that goes on until the next single variable (EACH: each choice of it)."""
        lists = [event for event in way.events() if event.var in self.roles.lists]
        lists.sort(key=lambda event: self._rank(event.var))

        def extend(count: int, binding: Binding) -> Iterator[Binding]:
            if count == len(lists):
                yield binding
                return
            event = lists[count]
            # The right neighbour may be a list that is not known yet, and the first event one of it: both only narrow.
            allowed = self._between(way, event, binding)
            for events in self._proposals(event, allowed, binding):
                if event.repeat is not None and event.repeat.allows(len(events)):
                    yield from extend(count + 1, {**binding, event.var: events} if events else binding)

        return extend(0, singles)

    def _proposals(self, event: Event, allowed: list[int], binding: Binding) -> Iterator[tuple[int, ...]]:
        if event.var not in self.roles.each:
            walked = self._walk(event, allowed, binding)
            yield from (walked[:count] for count in range(len(walked) + 1))
            return
        yield from self._choices(event, allowed, (), binding)

    def _choices(
        self, event: Event, allowed: list[int], taken: tuple[int, ...], binding: Binding
    ) -> Iterator[tuple[int, ...]]:
        yield taken
        for count, place in enumerate(allowed):
            if self._takes(event, taken, place, binding):
                yield from self._choices(event, allowed[count + 1 :], (*taken, place), binding)


def _events_of(binding: Binding) -> tuple[int, ...]:
    return tuple(place for events in binding.values() for place in events)


def is_open(way: Way, binding: Binding, lists: frozenset[str]) -> bool:
    """Whether a NOT, a list, or a variable that was left out has no right neighbour (reading 6)."""
    waiting: list[Event | Not] = [*way.negations()]
    waiting += [event for event in way.events() if event.var in lists or event.var not in binding]
    return any(not way.neighbours(element, binding).right for element in waiting)


def is_followed(way: Way, name: str, binding: Binding, single: frozenset[str]) -> bool:
    """Whether another single variable that is bound comes after this one in the pattern."""
    return any(left == name and right in binding and right in single for left, right in way.in_order)
