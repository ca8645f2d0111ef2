"""Event patterns over a stream: events that may still be part of a match are kept, and joined around what is new.

Nothing else is kept: partial matches are found again from the events, which is cheap around a few of them. A consumed
event is marked.
"""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, numpy_of, taken
from motif.engine.events.consume import Consumer
from motif.engine.events.decided import decided_in, newly_decided
from motif.engine.events.ended import leaves_by_end
from motif.engine.events.functions import Functions
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.merge import in_time_order
from motif.engine.events.partial import timed_out
from motif.engine.events.rows import EventRows, Plan, PlanKey, no_matches, ticks_of
from motif.engine.events.simulate import Simulation
from motif.engine.events.step import Step
from motif.engine.execution import Execution
from motif.engine.order import Arrangement, Layout
from motif.engine.runs import run_numbers
from motif.engine.stream.kept import Kept, Touched, constant, too_old, with_columns
from motif.engine.stream.valid import ANY, FLAG, Range
from motif.engine.watermark import BEGINNING, FOREVER, is_past
from motif.errors import LimitExceeded
from motif.ir.event import Duration, EventCount
from motif.kernels.aside import NotLoaded, compile_aside
from motif.plan.events.decision import choosing, is_eager, rivalry, waits, windows
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Role, coincide
from motif.plan.physical.plan import Running

TIME, DUE, CONSUMED, BEGAN, MASK = "__time", "__due", "__consumed", "__began", "__passes_"
"""When an event was, the deadline of a match that begins with it, whether it is consumed, whether a match began with
it, and, per variable with functions of the user in its conditions, whether it passes them."""
PRUNES_PER_WINDOW, PRUNED_EVENTS = 8, 500
"""How often old events are let go at most while one window passes, and how many have come in between at least."""


class EventPatterns:
    """The events of a stream that a pattern still needs, and its matches."""

    def __init__(
        self,
        program: EventProgram,
        layout: Layout,
        functions: Functions,
        execution: Execution,
        *,
        timeouts: bool = False,
    ) -> None:
        self.program = program
        self.wants_timeouts = timeouts
        self.timeouts: tuple[pa.Table, ...] = ()
        """Partial matches of the last step whose time was over."""
        self.limited = 0
        """Events let go because of a limit, since that was last asked."""
        self.layout = layout
        self.functions = functions
        self.execution = execution
        self.plain_steps = 0
        """Steps of joins that were taken as plain Python."""
        self.is_eager = is_eager(program)
        self.waits = any(waits(program, way) for way in program.ways)
        self.is_timed = timeouts or self.waits
        """Whether time alone can bring something out."""
        self.span = span_of(program)
        self.kept = Kept(program.keys, DUE, delays_of(program) if self.is_timed else ())
        self.watermark = self.pruned_at = BEGINNING
        self.plans: dict[PlanKey, Plan] = {}
        self.planned_for = 0
        self.seen = self.seen_at_pruning = self.kept_at_pruning = 0

    # -- what hosts ask

    @property
    def live(self) -> int:
        """Events with which a match may begin or go on."""
        return int((self.kept.column(CONSUMED) == 0).sum()) if self.kept.count else 0

    def deadline(self) -> int:
        """When time alone decides something or lets something go, or forever."""
        if not self.kept.count:
            return FOREVER
        due = self.kept.next_due(self.watermark) if self.is_timed else FOREVER
        return due if self.span is None else min(due, int(self.kept.column(TIME).min()) + self.span)

    @property
    def hold(self) -> int | None:
        """How long after its end a match may be decided; None: no one knows."""
        return self.span if self.waits else 0

    def prepared(self, events: pa.Table, times: Array) -> pa.Table:
        """New events, which were at these times, with the columns that kept ones have."""
        extra = {TIME: times, DUE: self._deadlines(events, times)}
        extra |= dict.fromkeys((CONSUMED, BEGAN), constant(0, len(times)))
        if self.functions.registered:
            for var, mask in self.functions.masks(EventRows(self.program, events, self.execution)).items():
                extra[MASK + var] = mask.astype(np.int64)
        return with_columns(events, extra)

    @property
    def ranges(self) -> dict[str, Range]:
        """What the columns of its own may hold."""
        called = [c.names for c in self.program.conditions if c.function is not None and len(c.names) == 1]
        masks = {MASK + var: FLAG for names in called for var in names} if self.functions.registered else {}
        return {TIME: ANY, DUE: ANY, CONSUMED: FLAG, BEGAN: FLAG} | masks

    def valid(self, table: pa.Table, times: Array, layout: Layout) -> pa.Table:  # noqa: ARG002 - `fitted` puts in order
        """Saved events, which were at these times."""
        return with_columns(table, {TIME: times})

    def fitted(self, table: pa.Table | None) -> pa.Table | None:
        """Events that were kept for another query: their deadlines, and the order of those of one time, are its own."""
        if table is None or not table.num_rows:
            return table
        table = taken(table, Arrangement(table, self.layout, np.arange(table.num_rows)).sequence())
        return with_columns(table, {DUE: self._deadlines(table, numpy_of(flat(table.column(TIME))))})

    def _deadlines(self, events: pa.Table, times: Array) -> Array:
        within = self.program.query.within
        if not isinstance(within, Duration):
            return np.full(len(times), FOREVER)
        begin = times if self.program.start is None else EventRows(self.program, events, self.execution).begin
        due: Array = begin + within.microseconds * ticks_of(self.program)
        return due

    def take(self, new: pa.Table | None, before: int, watermark: int) -> pa.Table | None:
        """New events; what is decided now that `watermark` has come."""
        self.seen += 0 if new is None else new.num_rows
        self.watermark = watermark
        found = None
        touched = self.kept.touched(new, before if self.is_timed else watermark, watermark)
        if touched is not None:
            found = self._in_order_of_end(self._within_limits(touched, Step(touched.is_new, before, watermark)))
            timeouts = self._in_order_of_end(list(self.timeouts))
            self.timeouts = () if timeouts is None else (timeouts,)
        self._prune_sometimes(watermark)
        return found

    # -- one step

    def _in_order_of_end(self, parts: list[pa.Table]) -> pa.Table | None:
        if not parts:
            return None
        return in_time_order(parts) if self.program.keys else pa.concat_tables(parts)

    def _within_limits(self, touched: Touched, step: Step) -> list[pa.Table]:
        """Matches of all partitions but those that ask for too much: these are let go, the others go on."""
        try:
            found = self._matches(touched, step)
            return [] if found is None else [found]
        except LimitExceeded as error:
            halves = touched.in_halves()
            if not halves:
                count = touched.table.num_rows
                self.limited += count
                logging.getLogger("motif").warning("a partition of %d events let go: %s", count, error)
                return []
            steps = [Step(half.is_new, step.before, step.now) for half in halves]
            return [m for half, own in zip(halves, steps, strict=True) for m in self._within_limits(half, own)]

    def _put(self, table: pa.Table, bounds: Array, now: int) -> None:
        """Only so many events of one partition are kept."""
        limit = self.program.limits.stream_events
        if int(np.diff(bounds).max(initial=0)) > limit:
            excess = too_old(bounds, limit)
            self.limited += int(excess.sum())
            logging.getLogger("motif").warning("%d oldest events let go (limit stream_events)", int(excess.sum()))
            table = taken(table, np.flatnonzero(~excess))
            bounds = np.concatenate(([0], np.cumsum(np.minimum(np.diff(bounds), limit))))
        self.kept.put(table, bounds, now)

    def _matches(self, touched: Touched, step: Step) -> pa.Table | None:
        if self.is_eager:
            touched = self._in_order(touched)
            step = Step(touched.is_new, step.before, step.now)
        table = touched.table
        rows = EventRows(self.program, table, self.execution, bounds=touched.bounds)
        rows.plain_steps = self.plain_steps
        rows.plans = self._plans()
        if self.functions.registered:
            rows.let_pass(_masks(table))
        alive = 1 - numpy_of(flat(table.column(CONSUMED)))
        running = self.execution.pushing(rows.count, self.plain_steps)
        try:
            with compile_aside(wanted=self._can_wait(rows.count)):
                matches, left = self._find(rows, step, alive, running)
        except NotLoaded:  # in plain Python until another process has compiled it
            running, rows.plain_steps = Running.PLAIN, self.plain_steps
            matches, left = self._find(rows, step, alive, running)
        self.plain_steps = rows.plain_steps
        if self.program.query.consuming and len(matches):
            table = with_columns(table, {CONSUMED: 1 - left.astype(np.int64)})
        if self.wants_timeouts:
            table = self._with_timeouts(table, rows, matches, left, step, running)
        if not step.is_last:
            self._put(table, rows.bounds, step.now)
        return leaves_by_end(rows, matches) if len(matches) else None

    def _can_wait(self, events: int) -> bool:
        """Whether a step is done in plain Python until its loop is there; functions of users are not asked twice."""
        costs = self.execution.costs
        if not costs.compile_rows or events >= costs.compile_rows:
            return False
        return not self.functions.on_several(self.program)

    def _with_timeouts(
        self, table: pa.Table, rows: EventRows, matches: EventMatches, alive: Array, step: Step, running: Running
    ) -> pa.Table:
        """Find partial matches whose time is over; notes which events began a match."""
        began = numpy_of(flat(table.column(BEGAN))) == 1
        began[matches.first()] = True
        if self.program.query.within is not None:
            over = step.falls_due(rows, rows.deadlines, rows.segment) & ~began & (alive == 1)
            if self.program.query.consuming:
                rows.let_pass({var: alive.astype(np.uint8) for var, _ in self.program.masks})
            partial = timed_out(rows, self.functions, over, running)
            if len(partial):
                self.timeouts += (leaves_by_end(rows, partial),)
        return with_columns(table, {BEGAN: began.astype(np.int64)})

    def _plans(self) -> dict[PlanKey, Plan]:
        """Joins are planned anew once there are twice as many events to judge by."""
        if self.seen >= 2 * self.planned_for:
            self.plans, self.planned_for = {}, self.seen
        return self.plans

    def _in_order(self, touched: Touched) -> Touched:
        """Events that came in between, at their place."""
        table = touched.table
        time = numpy_of(flat(table.column(TIME)))
        follows = np.append(True, time[1:] > time[:-1])
        follows[touched.bounds[:-1]] = True
        if follows[touched.is_new].all():
            return touched
        # What was kept is in order: only events from the first on that a new one may come before have to move.
        segment = run_numbers(touched.bounds)
        earliest = np.full(len(touched.bounds) - 1, FOREVER)
        np.minimum.at(earliest, segment[touched.is_new], time[touched.is_new])
        moving = np.flatnonzero(time >= earliest[segment])
        tail = taken(table, moving)
        moved = Arrangement(
            tail, self.layout, touched.is_new[moving].astype(np.int64), group=segment[moving]
        ).sequence()
        sequence = np.arange(table.num_rows)
        sequence[moving] = moving[moved]
        return Touched(taken(table, sequence), touched.is_new[sequence], touched.bounds)

    def _find(self, rows: EventRows, step: Step, alive: Array, running: Running) -> tuple[EventMatches, Array]:
        """Matches decided in the step, and the events that are not consumed after it."""
        if not self.program.ways:
            return no_matches(rows), alive
        if not self.program.query.consuming:
            return newly_decided(rows, self.functions, step, running), alive
        firing: Consumer | Simulation
        if self.functions.on_several(self.program):
            firing = Simulation(rows, self._all(rows, step, running), alive=alive, step=step)
        else:
            firing = Consumer(rows, running, alive=alive, step=step)
        return firing.fired(), firing.left()

    def _all(self, rows: EventRows, step: Step, running: Running) -> EventMatches:
        """Matches that may fire in the step; with a choice to be made, their rivals too."""
        parts = [no_matches(rows)]
        for number in range(len(self.program.ways)):
            for chunk in WayJoin(rows, number, running, choose=False).chunks():
                asked = chunk if choosing(self.program.query.picks) else chunk.take(decided_in(rows, step, chunk))
                parts.append(self.functions.filtered(rows, asked))
        found = joined(parts)
        return found.distinct() if coincide(self.program.ways) else found

    # -- what is no longer needed

    def _prune_sometimes(self, watermark: int) -> None:
        """Once two windows have passed; before that if so many events came that it costs little beside them."""
        span = FOREVER if self.span is None else self.span
        passed, came = watermark - self.pruned_at, self.seen - self.seen_at_pruning
        is_worth_it = came >= PRUNED_EVENTS + self.kept_at_pruning // 4
        is_early = self.span is not None and passed <= span // PRUNES_PER_WINDOW
        if passed > 2 * span or watermark >= FOREVER or (is_worth_it and not is_early):
            self.prune(watermark)
            self.seen_at_pruning, self.kept_at_pruning = self.seen, self.kept.count

    def prune(self, watermark: int) -> None:
        """Let go of every event that no later match can have."""
        self.pruned_at = watermark
        if not self.kept.count:
            return
        if watermark >= FOREVER:
            self.kept.table = None
        elif isinstance(self.program.query.within, EventCount):
            count = windows(self.program)
            if count is not None:
                self.kept.drop(self._outnumbered(self.program.query.within.count * count))
        else:
            self.kept.drop(self._outlived(watermark))

    def _outlived(self, watermark: int) -> Array:
        time = self.kept.column(TIME)
        gone: Array = (self._only_last() | self._used_up(time)) & is_past(time, watermark)
        return gone if self.span is None else gone | is_past(time + self.span, watermark)

    def _used_up(self, time: Array) -> Array:
        """Consumed events; not while others of their time are left, among which `match_id` numbers those alike."""
        consumed: Array = self.kept.column(CONSUMED) == 1
        return consumed & ~np.isin(time, time[~consumed]) if consumed.any() else consumed

    def _outnumbered(self, count: int) -> Array:
        """All but the last events of each partition; `match_id` numbers those alike, so they go together."""
        assert self.kept.table is not None
        bounds, time = EventRows(self.program, self.kept.table, self.execution).bounds, self.kept.column(TIME)
        first = np.maximum(bounds[1:] - count, bounds[:-1])
        return time < np.repeat(time[first], np.diff(bounds))

    def _only_last(self) -> Array:
        """Events that could only be the last of a match: what comes later is after them."""
        last = only_last(self.program)
        gone = np.full(self.kept.count, bool(last))
        if last:
            assert self.kept.table is not None
            rows = EventRows(self.program, self.kept.table, self.execution)
            for var, _ in self.program.masks:
                if var not in last:
                    gone[rows.candidates(var)] = False
        return gone


def _masks(table: pa.Table) -> dict[str, Array]:
    """Per variable: 1 for events that functions of the user accept."""
    names = [name for name in table.column_names if name.startswith(MASK)]
    return {name.removeprefix(MASK): numpy_of(flat(table.column(name))).astype(np.uint8) for name in names}


def only_last(program: EventProgram) -> frozenset[str]:
    """Variables whose events are of no use once they could have ended a match."""
    query = program.query
    if query.consuming or any(waits(program, way) for way in program.ways):
        return frozenset()
    picked = {pick.var for pick in choosing(query.picks)}  # of others, all rivals of a match have the same
    return frozenset(var for var, _ in program.masks if var not in picked and _is_always_last(program, var))


def _is_always_last(program: EventProgram, var: str) -> bool:
    for way in program.ways:
        number = way.number(var)
        if number is None:
            continue
        if way.elements[number].role is not Role.SINGLE:
            return False
        if any(other != number and other not in way.before[number] for other in range(len(way.elements))):
            return False
    return True


def delays_of(program: EventProgram) -> tuple[int, ...]:
    """An event decides something at its deadline, and again later where rivals of rivals have to be awaited."""
    within, later = program.query.within, rivalry(program)
    if not later or not isinstance(within, Duration):
        return (0,)
    return (0, later * within.microseconds * ticks_of(program))


def span_of(program: EventProgram) -> int | None:
    """How long an event may matter, in the unit of time; None: for ever, or not by time."""
    within, count = program.query.within, windows(program)
    if not isinstance(within, Duration) or count is None:
        return None
    return within.microseconds * ticks_of(program) * count
