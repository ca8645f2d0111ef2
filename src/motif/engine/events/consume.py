"""CONSUMING: which joins to run at which decision point, and the matches that fire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from motif.engine.arrays import Array, lonely_zeros
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.rows import EventRows, no_matches
from motif.engine.events.step import Step
from motif.engine.threads import check_wanted
from motif.ir.event import PickMode
from motif.kernels import consume, join
from motif.kernels.build import Join, consume_loop, native_joins, reach_loop
from motif.plan.events.decision import choosing
from motif.plan.events.ways import Role, coincide
from motif.plan.physical.choose import drivers
from motif.plan.physical.plan import Running

ROOM, ROOM_PLAIN = 256, 16
FIRED_ROOM, FIRED_ROOM_PLAIN = 1 << 16, 64


@dataclass(frozen=True, slots=True)
class Trials:
    """Joins to run: which, the event to fix or -1, and the decision point as columns to sort by."""

    join: Array
    event: Array
    segment: Array
    clock: Array
    decisive: Array
    """The event at which is decided, -1 for a deadline."""
    until: Array

    def take(self, chosen: Array) -> Trials:
        """Some of them, in some order."""
        return Trials(*(getattr(self, name)[chosen] for name in Trials.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[Trials]) -> Trials:
        """All of several ones."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))


class Consumer:
    """Fires matches of one run of events."""

    def __init__(
        self, rows: EventRows, running: Running, *, alive: Array | None = None, step: Step | None = None
    ) -> None:
        """`alive`: 0 for events consumed before; `step`: only what is decided in it fires."""
        self.rows = rows
        self.step = step
        self.query = rows.program.query
        self.compiled = running is Running.COMPILED
        self.may_compile = running is Running.PLAIN_FIRST
        self.steps_before = rows.plain_steps
        ways = rows.program.ways
        self.numbered = numbered = drivers_of(rows)
        self.ways = [ways[number] for number, _ in numbered]
        self.drivers = [driver for _, driver in numbered]
        self.trials = self._trials()
        # Where nothing is decided, as on most events of a stream, there is nothing to prepare.
        self.joins = self._joins() if len(self.trials.join) else []
        flags = np.ones(rows.count, np.uint8) if alive is None else alive.astype(np.uint8)
        self.alive: Any = flags if self.compiled else bytearray(flags.tobytes())

    def _joins(self) -> list[WayJoin]:
        running = Running.COMPILED if self.compiled else Running.PLAIN
        return [WayJoin(self.rows, number, running, driver=driver, choose=False) for number, driver in self.numbered]

    def left(self) -> Array:
        """1 for the events that are not consumed; to be asked after `fired`."""
        return np.frombuffer(self.alive, np.uint8).copy()

    # -- decision points

    def _trials(self) -> Trials:
        parts = [self._trials_of(number) for number in range(len(self.drivers))]
        parts = [part for part in parts if len(part.join)] or parts[:1]
        trials = parts[0] if len(parts) == 1 else Trials.joined(parts)
        if len(trials.join) < 2:
            return trials
        # Events at their place, deadlines after all events of their time.
        late = trials.decisive < 0
        keys = (trials.event, trials.join, trials.decisive, late, trials.clock, trials.segment)
        return trials.take(np.lexsort(keys))

    def _trials_of(self, number: int) -> Trials:
        rows, driver, way = self.rows, self.drivers[number], self.ways[number]
        if driver is None:
            first = [e.var for n, e in enumerate(way.elements) if way.can_be_first(n) and e.role is not Role.ABSENT]
            events = np.unique(np.concatenate([rows.candidates(var) for var in first]))
        else:
            events = rows.candidates(way.elements[driver].var)
        waits = way.waits
        if self.step is not None:
            events = events[self._is_reached(self.step, events, waits=waits)]
        return Trials(
            join=np.full(len(events), number),
            event=np.full(len(events), -1) if driver is None else events,
            segment=rows.segment[events],
            clock=rows.deadlines[events] if waits else rows.clock[events],
            decisive=np.full(len(events), -1) if waits else events,
            until=self._reach()[events] if waits else events + 1,
        )

    def _is_reached(self, step: Step, events: Array, *, waits: bool) -> Array:
        """Whether what these events decide is decided in a step."""
        if not waits:
            return step.is_new[events]
        return step.falls_due(self.rows, self.rows.deadlines[events], self.rows.segment[events])

    def _reach(self) -> Array:
        """Per event, the first position after the deadline of a match that begins with it."""
        rows = self.rows
        ends: Array = rows.bounds[rows.segment + 1]
        if rows.within < 0:
            return ends
        if rows.intervals:
            spans = zip(rows.deadlines.tolist(), rows.bounds[rows.segment].tolist(), ends.tolist(), strict=True)
            found = [low + int(np.searchsorted(rows.clock[low:high], last, "right")) for last, low, high in spans]
            return np.array(found, np.int64)
        limits = self._room(rows.count)
        nulls = np.zeros(rows.count, np.uint8)
        arguments = (self._ints(rows.bounds), self._ints(rows.clock), nulls if self.compiled else nulls.tolist())
        reach_loop(compiled=self.compiled)(*arguments, rows.within, limits)
        return np.asarray(limits, np.int64)

    # -- the loop

    def fired(self) -> EventMatches:
        """Matches in the order in which they fire, partition after partition."""
        if not self.joins:
            return no_matches(self.rows)
        loop = consume_loop(self._shapes, compiled=self.compiled)
        fixed, state = self._arguments(), self._ints([0, 0, 0])
        room, most, reached = ROOM if self.compiled else ROOM_PLAIN, 64, -1
        parts = [no_matches(self.rows)]
        status = consume.GROW
        while status in (consume.GROW, consume.PAUSED):
            spaces = self._spaces(room, most)
            capacity = max(FIRED_ROOM if self.compiled else FIRED_ROOM_PLAIN, room)
            fired, fired_items = self._room(capacity * self._width), self._room(capacity)
            costs = self.rows.execution.costs
            pause = costs.point_pause if self.compiled else costs.plain_point_pause
            twins = coincide(self.rows.program.ways)
            settings = self._ints([self._width, len(fixed[1]), pause, most, twins])
            tried = int(fixed[-1][join.TRIED])
            status = loop(settings, *fixed, *spaces, state, fired, fired_items, *self._tuples())
            self.rows.execution.ledger.tried(int(fixed[-1][join.TRIED]) - tried)
            check_wanted()
            parts.append(self._harvest(state, fired, fired_items))
            if not self.compiled:
                self.rows.plain_steps = self.steps_before + int(fixed[-1][join.TRIED])
            if status == consume.PAUSED and self._is_due():
                self._compile()
                loop = consume_loop(self._shapes, compiled=True)
                fixed, state = self._arguments(), self._ints(state)
            if status == consume.GROW and int(state[consume.POINT]) == reached:
                room, most = room * 4, most * 2
            reached = int(state[consume.POINT])
        if status == consume.TOO_MANY_LISTS:
            raise self.joins[0].too_many_lists()
        return joined(parts)

    @property
    def _shapes(self) -> tuple[Join, ...]:
        return tuple(one.join for one in self.joins)

    def _is_due(self) -> bool:
        """Whether the loop is to be compiled now, its joins having taken so many steps as plain Python."""
        if not self.may_compile:
            return False
        return self.rows.execution.is_due(self.rows.plain_steps, lambda: native_joins(self._shapes, consuming=True))

    def _compile(self) -> None:
        """Go on as a compiled loop: between two decision points nothing is bound."""
        self.compiled, self.may_compile = True, False
        self.joins = self._joins()
        self.alive = self.left()

    def _harvest(self, state: Any, fired: Any, items: Any) -> EventMatches:
        count, written = int(state[consume.FIRED]), int(state[consume.ITEMS])
        state[consume.FIRED] = state[consume.ITEMS] = 0
        table = np.array(fired[: count * self._width], np.int64).reshape(-1, self._width)
        found = self.rows.matches(table, np.array(items[:written], np.int64), 0)
        self.rows.hold(found)
        return found

    @property
    def _width(self) -> int:
        return self.rows.result_columns[1]

    def _ints(self, values: Any) -> Any:
        if self.compiled:
            return np.ascontiguousarray(values, np.int64)
        return values.tolist() if isinstance(values, np.ndarray) else [int(v) for v in values]

    def _zeros(self, size: int) -> Any:
        return lonely_zeros(size) if self.compiled else [0] * size

    def _room(self, size: int) -> Any:
        """To be written before it is read."""
        return np.empty(size, np.int64) if self.compiled else [0] * size

    def _tuples(self) -> tuple[Any, Any, Any]:
        statics = tuple((*one.fixed_part[0], *one.fixed_part[1]) for one in self.joins)
        works = tuple(tuple(one.fixed_part[2]) for one in self.joins)
        return statics, works, tuple(one.environment for one in self.joins)

    def _spaces(self, room: int, most: int) -> list[Any]:
        """rows, row_join, items, rivals, rival_items, flags, order, other, keys."""
        sizes = [room * self._width, room, room * 4, room * self._width, room * 4, room, room, room, room * most]
        return [self._zeros(size) for size in sizes]

    def _arguments(self) -> list[Any]:
        trials = self.trials
        keys = (trials.segment, trials.clock, trials.decisive)
        new = np.ones(len(trials.join), bool)
        if len(new):
            new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        first = np.flatnonzero(new)
        place, width = self.rows.result_columns
        base = [self._settings(one) for one in self.joins]
        deepest = max(one.depth for one in self.joins)
        return [
            self._ints(np.append(first, len(new))),
            *(self._ints(part[first]) for part in (trials.segment, trials.until, trials.clock, trials.decisive)),
            self._ints(trials.join),
            self._ints(trials.event),
            self._ints([value for one in base for value in one]),
            self._ints([one.depth for one in self.joins]),
            self._ints([level for one in self.joins for level in _level_at(one, place, width)]),
            self._ints([self._lead(number) for number in range(len(self.joins))]),
            self._ints(self._kinds(place, width)),
            self._ints(self.rows.deadlines),
            self._ints(self._consumed(place, width)),
            self._ints([place[pick.var] for pick in choosing(self.query.picks)]),
            self._ints(self._late(place, width)),
            self.alive,
            self._zeros(deepest),
            self._zeros(13),
            self._zeros(6),
        ]

    def _lead(self, number: int) -> int:
        """1 for the first join of a way, plus 2 for a way that waits."""
        one = self.joins[number]
        is_first = number == 0 or self.joins[number - 1].number != one.number
        return int(is_first) + 2 * int(one.way.waits)

    def _settings(self, one: WayJoin) -> list[int]:
        settings = [int(value) for value in one.settings(consuming=True)]
        settings[join.STEPS] = 1 << 60  # at one decision point a join is not interrupted
        if self._only_the_first_fires():
            settings[join.CHOSEN] = 0
        return settings

    def _only_the_first_fires(self) -> bool:
        """Every match of a decision point has its event, which the first to fire consumes.

        In a plain sequence the join meets matches in canonical order if it binds the last event first.
        """
        if len(self.joins) > 1 or choosing(self.query.picks):
            return False
        way, driver = self.joins[0].way, self.drivers[0]
        if driver is None or way.waits:  # several events may share a deadline
            return False
        return way.is_chain() and way.elements[driver].var in self.query.consuming

    def _kinds(self, place: dict[str, int], width: int) -> list[int]:
        kinds = [0] * width
        for var in self.rows.list_variables:
            kinds[place[var]], kinds[place[var] + 1] = 1, 2
        return kinds

    def _consumed(self, place: dict[str, int], width: int) -> list[int]:
        chosen = {place[var] for var in self.query.consuming}
        return [int(column in chosen) for column in range(width)]

    def _late(self, place: dict[str, int], width: int) -> list[int]:
        late = [-1] * width
        for pick in choosing(self.query.picks):
            late[place[pick.var]] = int(pick.mode is PickMode.LAST)
        return late


def drivers_of(rows: EventRows) -> list[tuple[int, int | None]]:
    """Ways, and their elements that can be the event at which a match is decided; None: it cannot be said."""
    return [(number, driver) for number, way in enumerate(rows.program.ways) for driver in drivers(rows.program, way)]


def _level_at(one: WayJoin, place: dict[str, int], width: int) -> list[int]:
    """The level that binds a column to a single event, or -1."""
    levels = [-1] * width
    for level, element in enumerate(one.elements):
        if element.role is Role.SINGLE:
            levels[place[element.var]] = level
    return levels
