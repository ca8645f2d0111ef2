"""Matches that are decided in one step of a stream: those of a batch over all events, each found in one step only.

Without CONSUMING a match is decided at its last event; or at a deadline, where what comes later can still change it
(`Way.waits`) or bring a rival that PICK would prefer. Rivals agree on every variable that is not picked, so where
there are some the deadline counts from those variables: then all rivals are decided in the same step.

A step looks for matches around the events that can make it so (the *drivers*: new ones, or those whose deadline
passes), not through all events that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.picks import apply_picks
from motif.engine.events.rows import EventRows, no_matches
from motif.engine.events.step import Step
from motif.errors import LimitExceeded
from motif.kernels.join import FAR
from motif.plan.events.decision import choosing, floating, is_eager, rivalry, waits
from motif.plan.events.ways import Role, Way, coincide
from motif.plan.physical.plan import Running

NEVER = 2 * FAR
"""A deadline that only the end of the stream brings."""


def newly_decided(rows: EventRows, functions: Functions, step: Step, running: Running) -> EventMatches:
    """Matches of a query without CONSUMING, in any order."""
    return _Decided(rows, functions, step, running).matches()


def decided_in(rows: EventRows, step: Step, matches: EventMatches) -> Array:
    """Which of some matches are decided in a step."""
    return np.flatnonzero(_Decided(rows, Functions({}), step, Running.PLAIN)._is_decided(matches))


class _Decided:
    def __init__(self, rows: EventRows, functions: Functions, step: Step, running: Running) -> None:
        self.rows = rows
        self.program = rows.program
        self.functions = functions
        self.step = step
        self.running = running
        self.is_eager = is_eager(self.program)
        self.floating = floating(self.program, intervals=rows.intervals)

    def matches(self) -> EventMatches:
        picks = choosing(self.program.query.picks)
        found = self._around_drivers()
        if len(found) and picks:
            found = apply_picks(self._with_rivals(found), picks, self.rows.segment)
            found = found.take(np.flatnonzero(self._is_decided(found)))
        return found

    def _around_drivers(self) -> EventMatches:
        """Matches decided now, were it not for PICK."""
        parts = [no_matches(self.rows)]
        for number, way in enumerate(self.program.ways):
            for driver, events in self._drivers(way):
                if not events.any():
                    continue
                found = self._joined(number, driver, events)
                if not len(found):
                    continue
                parts.append(found.take(np.flatnonzero(self._is_decided(found) & self._is_led(found, way, driver))))
        found = joined(parts)
        return found.distinct() if coincide(self.program.ways) else found

    def _joined(self, number: int, driver: int | None, events: Array) -> EventMatches:
        way = self.program.ways[number]
        only = {} if driver is None else {way.elements[driver].var: events}
        with restricted(self.rows, only):
            if driver is not None and not len(self.rows.candidates(way.elements[driver].var)):
                return no_matches(self.rows)
            join = WayJoin(self.rows, number, self.running, driver=driver, choose=False)
            return joined(list(self._few_enough(join)))

    def _few_enough(self, join: WayJoin) -> Iterator[EventMatches]:
        count, most = 0, self.program.limits.stream_matches
        for chunk in join.chunks():
            count += len(chunk)
            if count > most:
                raise LimitExceeded(
                    f"more than stream_matches = {most} matches in one step",
                    source=self.program.query.source,
                    span=self.program.query.pattern.span,
                    hint="use a shorter WITHIN, more conditions, PICK or CONSUMING",
                )
            yield self.functions.filtered(self.rows, chunk)

    def _with_rivals(self, found: EventMatches) -> EventMatches:
        """The matches that agree with one of these on every variable that is not picked."""
        picked = {pick.var for pick in choosing(self.program.query.picks)}
        only = {}
        for var, column in found.singles.items():
            if var not in picked:
                only[var] = np.zeros(self.rows.count, bool)
                only[var][column[column >= 0]] = True
        parts = [no_matches(self.rows)]
        with restricted(self.rows, only):
            for number in range(len(self.program.ways)):
                parts += self._few_enough(WayJoin(self.rows, number, self.running, choose=False))
        rivals = joined(parts)
        return rivals.distinct() if coincide(self.program.ways) else rivals

    # -- which events lead to what is decided now

    def _drivers(self, way: Way) -> Iterator[tuple[int | None, Array]]:
        """Elements, and the events one of which they bind; None: it cannot be said which."""
        if self.is_eager:
            yield from ((number, self._in_between(way, number)) for number in way.singles())
        elif not waits(self.program, way):
            yield from ((number, self.step.is_new) for number in way.singles() if way.can_be_last(number))
        else:
            leaders = self._leaders(way)
            if leaders is None:
                yield None, np.ones(1, bool)
            else:
                due = self.step.falls_due(self.rows, self.rows.deadlines, self.rows.segment)
                yield from ((number, due) for number in leaders)

    def _in_between(self, way: Way, number: int) -> Array:
        """New events but those at an edge of their partition, where the element has another beyond it."""
        events, bounds = self.step.is_new, self.rows.bounds
        is_followed = any(number in before for before in way.before)
        if is_followed or way.before[number]:
            events = events.copy()
            events[bounds[1:] - 1] &= not is_followed
            events[bounds[:-1]] &= not way.before[number]
        return events

    def _leaders(self, way: Way) -> list[int] | None:
        """Single events from which a deadline may count; None if it may count from others too."""
        counted = [n for n, e in enumerate(way.elements) if e.role is not Role.ABSENT and e.var not in self.floating]
        if self.rows.intervals or not counted:
            return None
        first = [n for n in counted if not any(b in counted and self._is_bound(way, b) for b in way.before[n])]
        return first if all(self._is_bound(way, number) for number in first) else None

    def _is_bound(self, way: Way, number: int) -> bool:
        return way.elements[number].role is Role.SINGLE

    def _is_led(self, found: EventMatches, way: Way, driver: int | None) -> Array:
        """Each match once, though several elements may lead to it."""
        if driver is None or not len(found):
            return np.ones(len(found), bool)
        own = found.singles[way.elements[driver].var]
        if self.is_eager:
            earlier = [found.singles[way.elements[number].var] for number in way.singles() if number < driver]
            new = [self.step.is_new[column] for column in earlier]
            return np.logical_not(np.logical_or.reduce(new)) if new else np.ones(len(found), bool)
        if not waits(self.program, way):
            return np.equal(own, found.last())
        counted = [found.singles[way.elements[number].var] for number in self._leaders(way) or ()]
        return np.equal(own, np.minimum.reduce(counted))

    def _is_decided(self, found: EventMatches) -> Array:
        """Whether it is in this step that nothing can change a match any more."""
        if not len(found):
            return np.zeros(0, bool)
        if self.is_eager:
            return np.ones(len(found), bool)
        last = found.last()
        late = np.array([waits(self.program, way) for way in self.program.ways])[found.way]
        due = self.step.falls_due(self.rows, self._deadlines(found), self.rows.segment[last])
        return np.where(late, due, self.step.is_new[last])

    def _deadlines(self, found: EventMatches) -> Array:
        """The earliest deadline of the events it counts from; far away where there is none."""
        counted = self._earliest(found, self.floating)
        if not self.floating or self.rows.within < 0:
            return counted
        # Every variable is picked: rivals still share one with a match, rivals of rivals need not.
        further = self._earliest(found, frozenset()) + rivalry(self.program) * self.rows.within
        return np.where((counted == NEVER) & (_bound(found) > 1), further, counted)

    def _earliest(self, found: EventMatches, but: frozenset[str]) -> Array:
        moments = np.append(self.rows.deadlines, NEVER)
        least = np.full(len(found), NEVER)
        for var, column in found.singles.items():
            if var not in but:
                least = np.minimum(least, moments[column])  # -1, not bound, is the last
        for part in found.lists.values():
            owner = np.repeat(np.arange(len(found)), part.count)
            at = np.arange(int(part.count.sum())) - np.repeat(np.cumsum(part.count) - part.count, part.count)
            np.minimum.at(least, owner, moments[found.items[np.repeat(part.start, part.count) + at]])
        return least


def _bound(found: EventMatches) -> Array:
    """How many variables each match binds."""
    columns = [column >= 0 for column in found.singles.values()]
    columns += [part.count > 0 for part in found.lists.values()]
    bound: Array = np.sum(columns, axis=0)
    return bound


@contextmanager
def restricted(rows: EventRows, only: dict[str, Array]) -> Iterator[None]:
    """Let some variables bind only some events."""
    rows.only = only
    try:
        yield
    finally:
        rows.only = {}
