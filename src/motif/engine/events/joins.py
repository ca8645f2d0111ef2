"""One way through a pattern over the events of a run: arrays for the join, and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from itertools import accumulate, chain
from typing import Any

import numpy as np

from motif.engine.arrays import Array, lonely_copy, lonely_zeros
from motif.engine.events.join_plan import planned
from motif.engine.events.matches import EventMatches
from motif.engine.events.rows import EventRows, Groups, Plan
from motif.engine.events.zones import NOTHING, ZoneMap, zone_map
from motif.engine.threads import check_wanted
from motif.errors import LimitExceeded, QueryDataError
from motif.kernels import join
from motif.kernels.build import counting, join_loop, native_joins
from motif.plan.events.codegen import ZONE_NAMES
from motif.plan.events.steps import Lookup
from motif.plan.events.ways import Role, Way
from motif.plan.physical.choose import shares
from motif.plan.physical.plan import Running
from motif.plan.physical.ran import Work
from motif.plan.scalar import Lane, as_int, lane

ROOM, ROOM_PLAIN = 1 << 16, 1 << 6
MOST_ROOM = 1 << 22
Then = Callable[[EventMatches], EventMatches]


class WayJoin:
    """The join of one way over the events of a run."""

    def __init__(
        self,
        rows: EventRows,
        number: int,
        running: Running,
        *,
        driver: int | None = None,
        choose: bool = True,
        counts: bool = False,
    ) -> None:
        """`driver`: the element bound first; `choose`: let the join itself make the first pick.

        `counts`: what each level does is written down.
        """
        self.rows = rows
        self.number = number
        self.compiled = running is Running.COMPILED
        self.may_compile = running is Running.PLAIN_FIRST
        self.way: Way = rows.program.ways[number]
        self.width = rows.result_columns[1]
        self.plan = plan = planned(rows, number, driver, choose=choose)
        self.steps = plan.steps
        self.counts = counts
        self.join = counting(plan.join) if counts else plan.join
        self.depth = len(self.steps.elements)
        self.elements = [self.way.elements[e] for e in self.steps.elements]
        lookups = zip(self.elements, self.steps.lookups, strict=True)
        self.groups = [self._groups(element.var, lookup) for element, lookup in lookups]
        self._prepare()

    def _prepare(self) -> None:
        """The arguments of the loop, as lists for plain Python or as arrays."""
        self.environment = self._environment(self.plan.code.environment)
        self.fixed_part = self._arguments(self.plan)

    def _groups(self, var: str, lookup: Lookup | None) -> Groups:
        """Candidates of a level, and how they are found from the events of another one."""
        if lookup is None:
            return self.rows.by_partition(var)
        return self.rows.by_equality(var, lookup, self.way.elements[lookup.element].var)

    # -- results

    def shared(self, threads: int, then: Then) -> list[EventMatches]:
        """All matches, as `then` leaves them: threads share the events that are bound first, where that pays."""
        if threads == 1:
            return [self.held(then(chunk)) for chunk in self.chunks()]
        sampled = self.rows.execution.costs.sampled_leads
        tried = self._lead(1, sampled)
        found, steps = self._found(range(tried), then)
        if self._is_due(steps * sampled):
            self.compile()
        parts = shares(steps * sampled, threads, self.rows.execution.costs) if self.compiled else 1
        cuts = [*(max(self._lead(number, parts), tried) for number in range(parts)), self.rows.count]
        ledger = self.rows.execution.ledger
        rest = ledger.on_threads(
            Work.MATCH, lambda number: self.another()._found(range(*cuts[number : number + 2]), then)[0], parts
        )
        return found + list(chain.from_iterable(rest))

    def _is_due(self, more: int = 0) -> bool:
        """Whether the loop is to be compiled now, having taken its steps as plain Python, or so many more to come."""
        if not self.may_compile:
            return False
        steps = self.rows.plain_steps + more
        # Decided as where nobody counts.
        return self.rows.execution.is_due(steps, lambda: native_joins((self.plan.join,), consuming=False))

    def compile(self) -> None:
        """Go on as a compiled loop from where the plain one stands."""
        before = [*self.fixed_part[2], self._zone_limits()]
        self.compiled, self.may_compile = True, False
        self._prepare()
        for room, held in zip([*self.fixed_part[2], self._zone_limits()], before, strict=True):
            room[:] = held

    def _zone_limits(self) -> Any:
        """What the loop writes into its environment; nothing where it passes over no blocks."""
        return self.environment[self._limits_at] if any(self.steps.zones) else self._ints([])

    @property
    def _limits_at(self) -> int:
        return len(self.environment) - len(ZONE_NAMES) + ZONE_NAMES.index("zl")

    def _lead(self, number: int, shares: int) -> int:
        """The position at which one of some shares of the events that are bound first begins."""
        leads = self.groups[0].positions
        place = -(-len(leads) * number // shares)
        return int(leads[place]) if place < len(leads) else self.rows.count

    def _found(self, leads: range, then: Then) -> tuple[list[EventMatches], int]:
        """Matches of which the first bound event is at these positions, and how many steps it took to find them."""
        found, begun = [], self._begin(leads)
        for chunk, state in self._chunks(leads, begun):
            found.append(self.held(then(chunk)))
            steps = int(state[join.TRIED])
        return found, steps

    def held(self, found: EventMatches) -> EventMatches:
        """The same matches, which are counted: all are held until they are put out."""
        self.rows.hold(found)
        return found

    def chunks(self) -> Iterator[EventMatches]:
        """All matches, in chunks of bounded size."""
        leads = range(self.rows.count)
        return (chunk for chunk, _ in self._chunks(leads, self._begin(leads)))

    def _begin(self, leads: range) -> Any:
        """The state of a join over the partitions in which these positions are."""
        before = np.searchsorted(self.rows.bounds, leads.start, "right") - 2
        return self._ints([-1, 0, before, 0, 0, 0, *([0] * (3 * self.depth if self.counts else 0))])

    def _chunks(self, leads: range, state: Any) -> Iterator[tuple[EventMatches, Any]]:
        """Matches, and the state of the join behind them: it may go on as a compiled loop, which has arrays."""
        room, status = self._least_room, join.PAUSED
        settings = self.settings(leads)
        while status == join.PAUSED:
            out, items = self._room(room * self.width), self._room(room if self._has_lists else 1)
            tried = int(state[join.TRIED])
            status = self._call(settings, state, out, items)
            check_wanted()
            self.rows.execution.ledger.tried(int(state[join.TRIED]) - tried)
            found, written = int(state[join.FOUND]), int(state[join.WRITTEN])
            state[join.FOUND] = state[join.WRITTEN] = 0
            yield self._matches(_array(out, found * self.width), _array(items, written)), state
            is_stuck = found == 0 and int(state[join.LEVEL]) == self.depth  # one list is longer than the room
            is_full = max(found, written) * 2 > room
            if status == join.PAUSED and (is_stuck or (is_full and room < MOST_ROOM)):
                room *= 4
            self.rows.plain_steps += 0 if self.compiled else int(state[join.TRIED]) - tried
            if status == join.PAUSED and self._is_due():
                self.compile()
                state, settings, room = self._ints(state), self.settings(leads), max(room, self._least_room)
            settings[join.STEPS] = self._pause
        if self.counts:
            self._tell_levels([int(count) for count in state[join.COUNTS :]])
        if status == join.TOO_MANY_LISTS:
            raise self.too_many_lists()

    def _tell_levels(self, counts: list[int]) -> None:
        parts = [counts[low : low + self.depth] for low in range(0, 3 * self.depth, self.depth)]
        for level, numbers in enumerate(zip(*parts, strict=True)):
            self.rows.execution.ledger.level((self.number, level, self.elements[level].var), *numbers)

    @property
    def _pause(self) -> int:
        """Steps after which the loop comes back, on whatever thread it runs."""
        costs = self.rows.execution.costs
        if self.compiled:
            return costs.join_pause
        is_first = self.may_compile and not self.rows.plain_steps
        return min(costs.kept_plain_steps, costs.plain_join_pause) if is_first else costs.plain_join_pause

    @property
    def _least_room(self) -> int:
        return ROOM if self.compiled else ROOM_PLAIN

    def _call(self, settings: Any, state: Any, out: Any, items: Any) -> int:
        static, times, work = self.fixed_part
        fixed, alive = self._ints([-1] * self.depth), self._bytes(np.ones(1, np.uint8))
        loop = join_loop(self.join, compiled=self.compiled)
        try:
            result: int = loop(settings, *static, *times, fixed, alive, *work, state, out, items, self.environment)
        except OverflowError:
            raise QueryDataError(
                "integer overflow in a condition across events",
                hint="CAST the attributes to DOUBLE, or to a narrower DECIMAL",
            ) from None
        return result

    @property
    def _has_lists(self) -> bool:
        return any(element.role is Role.LIST for element in self.elements)

    def _matches(self, out: Array, items: Array) -> EventMatches:
        return self.rows.matches(out.reshape(-1, self.width), items, self.number)

    def too_many_lists(self) -> LimitExceeded:
        program = self.rows.program
        return LimitExceeded(
            f"PICK EACH met more than each_events = {program.limits.each_events} events to form lists of",
            source=program.query.source,
            span=program.query.pattern.span,
            hint="n events have 2^n lists: use a shorter WITHIN, more conditions, a bounded quantifier, or PICK ALL",
        )

    # -- arguments of the loop, as lists or as arrays

    def _ints(self, values: Any) -> Any:
        return np.asarray(values, np.int64) if self.compiled else [int(v) for v in values]

    def _column(self, values: Array) -> Any:
        return np.ascontiguousarray(values) if self.compiled else values.tolist()

    def _zeros(self, size: int) -> Any:
        return lonely_zeros(size) if self.compiled else [0] * size

    def _room(self, size: int) -> Any:
        """To be written before it is read."""
        return np.empty(size, np.int64) if self.compiled else [0] * size

    def _bytes(self, values: Array) -> Any:
        flags = np.ascontiguousarray(values, np.uint8)
        return flags if self.compiled else bytearray(flags.tobytes())

    def settings(self, leads: range | None = None, *, consuming: bool = False) -> Any:
        """`leads`: positions at which the event that is bound first may be."""
        leads = range(self.rows.count) if leads is None else leads
        return self._ints(
            [
                self.depth,
                self.width,
                self.rows.within,
                0,  # where single events may be; the loop for CONSUMING writes here what a decision point may take
                self.rows.count,
                consuming,
                self.rows.intervals,
                self.steps.chosen,
                self._pause,
                self.rows.program.limits.each_events,
                np.searchsorted(self.rows.bounds, leads.stop),
                leads.start,
                leads.stop,
            ]
        )

    def another(self) -> WayJoin:
        """The same join for another thread: shares everything but what is bound."""
        twin = copy(self)
        static, times, work = self.fixed_part
        twin.fixed_part = (static, times, [self._copy(part) for part in work])
        # The limits of zones are written too; everything else in there is only read.
        if any(self.steps.zones):
            limits = self._limits_at
            twin.environment = tuple(self._copy(p) if i == limits else p for i, p in enumerate(self.environment))
        return twin

    def _copy(self, work: Any) -> Any:
        return lonely_copy(work) if self.compiled else copy(work)

    def _arguments(self, plan: Plan) -> tuple[list[Any], list[Any], list[Any]]:
        rows = self.rows
        own = list(map(self._ints, plan.static)) if self.compiled else plan.static  # only read
        moments = (rows.time, rows.begin, rows.head if rows.intervals else rows.begin, rows.clock, rows.opening)
        columns = {id(part): self._column(part) for part in moments}  # often all the same
        times = [self._column(rows.bounds), *(columns[id(part)] for part in moments)]
        return [*own, *self._flat(self.groups)], times, self._work(self.groups)

    def _flat(self, groups: list[Groups]) -> list[Any]:
        """Offsets of each level's part, and the parts one after the other."""
        fields = [[getattr(group, name) for group in groups] for name in ("positions", "starts", "codes")]
        offsets = [_offsets(map(len, parts)) for parts in fields]
        return [*(self._ints(part) for part in offsets), *(self._concatenated(parts) for parts in fields)]

    def _concatenated(self, parts: list[Array]) -> Any:
        if self.compiled:
            return np.concatenate(parts).astype(np.int64)
        return list(chain.from_iterable(part.tolist() for part in parts))

    def _work(self, groups: list[Groups]) -> list[Any]:
        """bound, count, cursor, end, item_at, items, item_cursor."""
        sizes = [len(g.positions) if e.role is Role.LIST else 0 for e, g in zip(self.elements, groups, strict=True)]
        total = sum(sizes) + 1
        per_level = [self._zeros(self.depth) for _ in range(4)]
        each = any(element.each for element in self.elements)
        return [*per_level, self._ints(_offsets(sizes)), self._zeros(total), self._zeros(total if each else 1)]

    def _environment(self, environment: Any) -> tuple[Any, ...]:
        rows = self.rows.rows
        ints = [rows.code(n.value) if lane(n.type) is Lane.CODE else as_int(n.value, n.type) for n in environment.ints]
        floats = environment.floats or (0.0,)
        arrays: list[Any] = [self._ints(ints or [0]), np.array(floats) if self.compiled else list(floats)]
        for column in environment.columns:
            lanes = rows.lanes(column)
            arrays += [self._column(lanes.values), self._bytes(lanes.nulls)]
        if any(self.steps.zones):
            arrays += self._zones()
        return tuple(arrays)

    def _zones(self) -> list[Any]:
        """What `plan.events.codegen.ZONE_NAMES` lists."""
        zones = [zone_map(self.rows, group, zone) for group, zone in zip(self.groups, self.steps.zones, strict=True)]
        sources = [-1 if z is None else self.steps.level(z.element) for z in self.steps.zones]
        operators = [0 if z is None else ("<", "<=", ">", ">=").index(z.operator) for z in self.steps.zones]
        limits, blocks, large = ([getattr(z, name) for z in zones] for name in ("limits", "least", "least_large"))
        offsets = [_offsets(map(len, parts)) for parts in (limits, blocks, large)]
        flat = [np.concatenate([getattr(z, name) for z in zones]) for name in ZoneMap.__slots__]
        return [
            self._ints(sources),
            self._ints(operators),
            *(self._ints(offset) for offset in offsets),
            self._column(flat[0]),
            self._zeros(self.depth),
            self._ints([NOTHING]),
            *(self._column(part) for part in flat[1:]),
        ]


def _offsets(sizes: Iterable[int]) -> list[int]:
    """Where parts begin that lie one after the other; without NumPy, which takes longer over so few."""
    return list(accumulate(sizes, initial=0))[:-1]


def _array(values: Any, size: int) -> Array:
    return np.array(values[:size], np.int64)  # a copy: the room may be much larger
