"""CONSUMING over matches that are all known: for conditions with functions of the user, which are tested in batches.

Only for patterns of single events: without lists and NOT, the matches over the events that are left are those of
all matches whose events are left.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.matches import EventMatches
from motif.engine.events.rows import EventRows
from motif.engine.events.step import Step
from motif.ir.event import PickMode
from motif.plan.events.decision import choosing


class Simulation:
    """Fires matches of one run of events."""

    def __init__(
        self, rows: EventRows, matches: EventMatches, *, alive: Array | None = None, step: Step | None = None
    ) -> None:
        """`alive`: 0 for events consumed before; `step`: only what is decided in it fires."""
        self.rows = rows
        self.matches = matches = matches.in_order(rows.program.variables)
        self.step = step
        self.query = rows.program.query
        self.events = [frozenset(matches.events_of(m)) for m in range(len(matches))]
        self.picks = choosing(self.query.picks)
        self.points = [self._point(m) for m in range(len(matches))]
        self.dead: set[int] = set() if alive is None else set(np.flatnonzero(alive == 0).tolist())
        self.rivals = [self._groups(pick.var) for pick in self.picks]

    def _point(self, match: int) -> tuple[int, int, int, int]:
        """Partition, time, deadlines after events, position."""
        last = max(self.events[match])
        segment = int(self.rows.segment[last])
        way = self.rows.program.ways[int(self.matches.way[match])]
        if not way.waits:
            return segment, int(self.rows.clock[last]), 0, last
        return segment, min(int(self.rows.deadlines[event]) for event in self.events[match]), 1, 0

    def _groups(self, var: str) -> dict[tuple[int, ...], list[int]]:
        """Matches by what they bind beside a variable."""
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for match in range(len(self.matches)):
            groups[self._others(match, var)].append(match)
        return groups

    def _others(self, match: int, var: str) -> tuple[int, ...]:
        return tuple(int(column[match]) for other, column in self.matches.singles.items() if other != var)

    def left(self) -> Array:
        """1 for the events that are not consumed; to be asked after `fired`."""
        left = np.ones(self.rows.count, np.uint8)
        left[sorted(self.dead)] = 0
        return left

    def _is_due(self, match: int) -> bool:
        if self.step is None:
            return True
        segment, clock, is_deadline, last = self.points[match]
        if not is_deadline:
            return bool(self.step.is_new[last])
        return bool(self.step.falls_due(self.rows, np.array([clock]), np.array([segment]))[0])

    def fired(self) -> EventMatches:
        """Those that fire, in the order in which they fire."""
        fired = []
        due = [match for match in range(len(self.matches)) if self._is_due(match)]
        order = sorted(due, key=lambda m: (self.points[m], m))
        at = 0
        while at < len(order):
            point = self.points[order[at]]
            now = []
            while at < len(order) and self.points[order[at]] == point:
                now.append(order[at])
                at += 1
            # Picks are applied once per decision point, before anything of it fires.
            for match in [m for m in now if self._is_alive(m) and self._survives(m, len(self.picks), point)]:
                if self._is_alive(match):
                    fired.append(match)
                    self._consume(match)
        return self.matches.take(np.array(fired, np.int64))

    def _is_alive(self, match: int) -> bool:
        return self.events[match].isdisjoint(self.dead)

    def _consume(self, match: int) -> None:
        for var in self.query.consuming:
            event = int(self.matches.singles[var][match])
            if event >= 0:
                self.dead.add(event)

    def _has_arrived(self, match: int, point: tuple[int, int, int, int]) -> bool:
        segment, clock, is_deadline, position = point
        last = max(self.events[match])
        if int(self.rows.segment[last]) != segment:
            return False
        return int(self.rows.clock[last]) <= clock if is_deadline else last <= position

    def _survives(self, match: int, picks: int, point: tuple[int, int, int, int]) -> bool:
        """Whether the first so many picks keep the match."""
        if picks == 0:
            return True
        if not self._survives(match, picks - 1, point):
            return False
        pick = self.picks[picks - 1]
        column = self.matches.singles[pick.var]
        for rival in self.rivals[picks - 1][self._others(match, pick.var)]:
            if rival == match or not self._better(int(column[rival]), int(column[match]), pick.mode):
                continue
            if self._is_alive(rival) and self._has_arrived(rival, point) and self._survives(rival, picks - 1, point):
                return False
        return True

    @staticmethod
    def _better(rival: int, own: int, mode: PickMode) -> bool:
        if rival < 0 or own < 0:
            return own < 0 <= rival
        return rival < own if mode is PickMode.FIRST else rival > own
