"""CONSUMING: decision points in order, each over the events that have arrived and are not consumed yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined, nothing
from motif.engine.events.picks import apply_picks, choosing
from motif.engine.events.rows import EventRows
from motif.plan.events.ways import Role


@dataclass(frozen=True, slots=True)
class Point:
    """A decision point: an event, or the deadline of matches that begin with one of some events."""

    clock: int
    is_deadline: bool
    positions: tuple[int, ...]


class Consumer:
    """Fires matches of one run of events."""

    def __init__(self, rows: EventRows, *, compiled: bool) -> None:
        self.rows = rows
        self.query = rows.program.query
        self.compiled = compiled
        self.alive = bytearray(b"\1" * rows.count) if not compiled else np.ones(rows.count, np.uint8)
        self.picks = choosing(self.query.picks)
        ways = rows.program.ways
        self.waits = [way.waits(self.query) for way in ways]
        self.drivers = [self._drivers(number) for number in range(len(ways))]
        self.joins = {
            (number, driver): WayJoin(rows, number, compiled=compiled, driver=driver, choose=False)
            for number, drivers in enumerate(self.drivers)
            for driver in drivers
        }
        self.candidates = {var: _flags(rows, var) for var, _ in rows.program.masks}

    def fired(self) -> EventMatches:
        """Matches in the order in which they fire, partition after partition."""
        parts = [match for segment in range(len(self.rows.bounds) - 1) for match in self._segment(segment)]
        lists = self.rows.list_variables
        singles = [var for var in self.rows.program.variables if var not in lists]
        return joined(parts) if parts else nothing(singles, [v for v in self.rows.program.variables if v in lists])

    def _drivers(self, number: int) -> list[int | None]:
        """Elements that can be the event at which a match is decided; None: it cannot be said."""
        way = self.rows.program.ways[number]
        if not self.waits[number]:
            return [e for e in way.singles() if way.can_be_last(e)]
        leading = any(e.role is Role.LIST and way.can_be_first(n) for n, e in enumerate(way.elements))
        if leading or self.rows.intervals:
            return [None]
        return [e for e in way.singles() if way.can_be_first(e)]

    # -- decision points

    def _segment(self, segment: int) -> Iterator[EventMatches]:
        low, high = int(self.rows.bounds[segment]), int(self.rows.bounds[segment + 1])
        for point in self._points(low, high):
            matches = self._decided(point, segment)
            if len(matches):
                yield from self._fire(matches.in_order(self.rows.program.variables))

    def _points(self, low: int, high: int) -> list[Point]:
        points = []
        if not all(self.waits):
            points += [Point(int(self.rows.clock[p]), False, (p,)) for p in range(low, high)]
        if any(self.waits):
            deadlines: dict[int, list[int]] = {}
            for p in range(low, high):
                deadlines.setdefault(self.rows.deadline(p), []).append(p)
            points += [Point(clock, True, tuple(begins)) for clock, begins in deadlines.items()]
        return sorted(points, key=lambda point: (point.clock, point.is_deadline, point.positions))

    def _until(self, point: Point, segment: int) -> int:
        """First position that has not arrived yet."""
        if not point.is_deadline:
            return point.positions[0] + 1
        low, high = self.rows.bounds[segment], self.rows.bounds[segment + 1]
        return int(low + np.searchsorted(self.rows.clock[low:high], point.clock, side="right"))

    def _decided(self, point: Point, segment: int) -> EventMatches:
        """Matches of which this is the decision point, picked."""
        until = self._until(point, segment)
        found = []
        for (number, driver), join in self.joins.items():
            if self.waits[number] is not point.is_deadline:
                continue
            for fixed in self._fixed(number, driver, point):
                matches = join.run(
                    fixed=fixed,
                    segment=segment,
                    since=point.positions[0] if point.is_deadline and driver is not None else 0,
                    until=until,
                    alive=self.alive,
                )
                matches = matches.take(self._is_now(matches, point))
                if len(matches):
                    found.append(self._picked(matches, join, segment, until, point))
        if not found:
            return nothing(self.rows.program.variables, ())
        # Several events of one decision point may lead to the same picked match.
        together = joined(found)
        unique = {
            together.binding(match, self.rows.program.variables): match for match in reversed(range(len(together)))
        }
        return together.take(np.array(sorted(unique.values()), np.int64))

    def _fixed(self, number: int, driver: int | None, point: Point) -> Iterator[dict[int, int]]:
        if driver is None:
            yield {}
            return
        candidates = self.candidates[self.rows.program.ways[number].elements[driver].var]
        for position in point.positions:
            if candidates[position] and self.alive[position]:
                yield {driver: position}

    def _is_now(self, matches: EventMatches, point: Point) -> Array:
        if not point.is_deadline:
            return np.flatnonzero(matches.last() == point.positions[0])
        deadlines = [min(map(self.rows.deadline, matches.events_of(m))) for m in range(len(matches))]
        return np.flatnonzero(np.array(deadlines, np.int64) == point.clock)

    def _picked(self, matches: EventMatches, join: WayJoin, segment: int, until: int, point: Point) -> EventMatches:
        """Compare with every match that differs in picked variables only, decided now or not."""
        if not self.picks:
            return matches
        picked = {pick.var for pick in self.picks}
        kept = [element for element in join.way.singles() if join.way.elements[element].var not in picked]
        groups = {tuple(int(matches.singles[join.way.elements[e].var][m]) for e in kept) for m in range(len(matches))}
        found = []
        for group in sorted(groups):
            rivals = join.run(fixed=dict(zip(kept, group, strict=True)), segment=segment, until=until, alive=self.alive)
            survivors = apply_picks(rivals, self.picks, self.rows.segment)
            found.append(survivors.take(self._is_now(survivors, point)))
        return joined(found)

    # -- firing

    def _fire(self, matches: EventMatches) -> Iterator[EventMatches]:
        consumed = set(self.query.consuming)
        fired = []
        for match in range(len(matches)):
            if not all(self.alive[event] for event in matches.events_of(match)):
                continue
            fired.append(match)
            for var in consumed:
                for event in matches.bound(match, var):
                    self.alive[event] = 0
        if fired:
            yield matches.take(np.array(fired))


def _flags(rows: EventRows, var: str) -> Array:
    flags = np.zeros(rows.count, bool)
    flags[rows.candidates(var)] = True
    return flags
