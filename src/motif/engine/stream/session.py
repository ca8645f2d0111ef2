"""What hosts drive: rows in any order and a watermark in, decided matches out; saved and restored at any point.

The same for both languages. Rows come with the columns of a `Layout`. A row whose time the watermark has passed is
late: it is not used, it is counted, and it is given out if asked for. A row without a time is set aside and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, chosen, flat, taken, to_lanes
from motif.engine.events.functions import Functions
from motif.engine.execution import Execution
from motif.engine.order import Arrangement, Layout
from motif.engine.stream import container, state
from motif.engine.stream.events import EventPatterns
from motif.engine.stream.kept import Contents
from motif.engine.stream.needs import needs_of
from motif.engine.stream.rows import RowPatterns
from motif.engine.stream.valid import Range, checked
from motif.engine.stream.waiting import Waiting
from motif.engine.times import moments
from motif.engine.watermark import BEGINNING, FOREVER, is_past
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.facts import Asked, Facts, Mode, Reader
from motif.plan.physical.plan import Strategy
from motif.plan.program import Program

NO_FUNCTIONS = Functions({})


@dataclass(slots=True)
class Counts:
    """What a session has seen."""

    events: int = 0
    matches: int = 0
    timed_out: int = 0
    late: int = 0
    without_time: int = 0
    failed: int = 0
    """Events on which a function of the user failed."""
    limited: int = 0
    """Events let go because their partition asked for too much."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """What comes out of one call."""

    matches: tuple[pa.Table, ...] = ()
    """Leaves of decided matches."""
    timeouts: tuple[pa.Table, ...] = ()
    """Leaves of partial matches whose time is over."""
    late: tuple[pa.Table, ...] = ()
    """Rows that came too late, as they came."""

    def and_then(self, other: Emitted) -> Emitted:
        """What comes out of two calls."""
        return Emitted(self.matches + other.matches, self.timeouts + other.timeouts, self.late + other.late)


@dataclass(frozen=True, slots=True)
class Planned:
    """A program and how its rows come."""

    program: Program | EventProgram
    layout: Layout
    functions: Functions = field(default=NO_FUNCTIONS)
    schema: pa.Schema | None = None
    """Types of the rows, where the host knows them: saved ones must be of these."""
    asked: Asked = field(default_factory=Asked)
    """What the host is asked for around the matching."""
    wanted: Strategy | None = None
    """The strategy that the caller asks for."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a session stood, so that it can go back there after a failure."""

    kept: Contents
    pending: Waiting
    watermark: int
    latest: int
    counts: Counts


class StreamSession:
    """One query over one stream."""

    def __init__(self, planned: Planned, *, timeouts: bool = False, costs: Costs = COSTS) -> None:
        """`timeouts`: also give out partial matches whose time is over."""
        facts = Facts(mode=Mode.STREAM, reader=Reader.PUSH, asked=planned.asked)
        self.execution = Execution(planned.program, facts, costs, planned.wanted)
        self.planned = planned
        self.timeouts = timeouts
        self.layout = planned.layout
        self.patterns: RowPatterns | EventPatterns
        if isinstance(planned.program, EventProgram):
            self.patterns = EventPatterns(
                planned.program, planned.layout, planned.functions, self.execution, timeouts=timeouts
            )
        else:
            self.patterns = RowPatterns(planned.program, self.execution, timeouts=timeouts)
        self.pending = Waiting()
        """Rows whose order is not known yet."""
        self.watermark = BEGINNING
        self.latest = BEGINNING
        self.counts = Counts()

    def push(self, rows: pa.Table) -> Emitted:
        """Take rows; what they decide at once."""
        if not rows.num_rows:
            return Emitted()
        rows, times = self._with_time(rows)
        late = is_past(times, self.watermark)
        emitted = Emitted()
        if late.any():
            emitted = Emitted(late=(chosen(rows, late),))
            self.counts.late += int(late.sum())
            rows, times = chosen(rows, ~late), times[~late]
        if not rows.num_rows:
            return emitted
        self.counts.events += rows.num_rows
        self.latest = max(self.latest, int(times.max()))
        if not self.patterns.is_eager:
            self.pending = self.pending.add(rows, times)
            return emitted
        return emitted.and_then(self._taken(self.patterns.prepared(rows, times), self.watermark, self.watermark))

    def advance(self, watermark: int) -> Emitted:
        """All rows at or before the watermark have come; it never goes back."""
        if watermark <= self.watermark:
            return Emitted()
        before, self.watermark = self.watermark, watermark
        return self._taken(self._ripe(watermark), before, watermark)

    def close(self) -> Emitted:
        """No more rows: decide the rest."""
        return self.advance(FOREVER)

    def mark(self) -> Mark:
        """Where the session stands; tables are never changed in place, so this costs nothing."""
        return Mark(self.patterns.kept.copy(), self.pending, self.watermark, self.latest, replace(self.counts))

    def back_to(self, mark: Mark) -> None:
        """As if nothing had happened since."""
        self.patterns.kept.contents, self.pending = mark.kept, mark.pending
        self.watermark, self.latest, self.counts = mark.watermark, mark.latest, replace(mark.counts)
        self.patterns.timeouts, self.patterns.limited = (), 0
        self.planned.functions.failures.clear()

    def deadline(self) -> int:
        """When time alone changes something, or forever; rows that wait are one reason."""
        return min(self.pending.first, self.patterns.deadline())

    # -- save and restore

    def dump(self) -> bytes:
        """All that is needed to go on elsewhere."""
        self.patterns.prune(self.watermark)
        pending = pa.concat_tables(self.pending.tables) if self.pending.parts else None
        facts = state.Facts(self.watermark, self.latest, asdict(self.counts))
        return state.dump(state.Saved(self._needs(), facts, self.patterns.kept.table, pending))

    @classmethod
    def load(cls, planned: Planned, data: bytes, *, timeouts: bool = False, costs: Costs = COSTS) -> StreamSession:
        """A session that goes on where `dump` was called; the query may have changed if what was kept is enough."""
        saved = state.load(data)
        session = cls(planned, timeouts=timeouts, costs=costs)
        wanted = session._needs()
        if reason := state.why_not(saved.needs, wanted):
            raise container.refused(f"the saved session belongs to another query: {reason}")
        session.watermark, session.latest = saved.facts.watermark, saved.facts.latest
        session.counts = replace(session.counts, **saved.facts.counts)
        kept, pending = (_chosen(table, saved.needs, wanted) for table in (saved.kept, saved.pending))
        with container.content():
            kept = None if kept is None else session._checked(kept, session.patterns.ranges)
            pending = None if pending is None else session._checked(pending, {})
            kept = None if kept is None else session.patterns.valid(kept, session._times(kept), planned.layout)
        if kept is not None and not session.patterns.is_eager:
            kept, early = session._until_now(kept)
            pending = early if pending is None else pa.concat_tables([pending, early])
        session.patterns.kept.table = session.patterns.fitted(kept)
        if pending is not None and pending.num_rows:
            session.pending = Waiting().add(pending, session._times(pending))
        session.patterns.prune(session.watermark)
        return session

    def _needs(self) -> state.Needs:
        return needs_of(self.planned, timeouts=self.timeouts)

    # -- steps

    def _with_time(self, rows: pa.Table) -> tuple[pa.Table, Array]:
        times = rows.column(self.layout.order[0].column)
        if times.null_count:
            self.counts.without_time += times.null_count
            rows = rows.filter(pc.is_valid(times))
        return rows, self._times(rows)

    def _times(self, rows: pa.Table) -> Array:
        return self.times_of(rows.column(self.layout.order[0].column))

    def times_of(self, column: pa.ChunkedArray) -> Array:
        """Times that are there, as integers."""
        kind = self.layout.order[0].type
        return moments(to_lanes(flat(column).drop_null() if column.null_count else flat(column), kind), kind)

    def _checked(self, table: pa.Table, own: Mapping[str, Range]) -> pa.Table:
        """What was saved, if it is what it should be."""
        return checked(table, len(self.layout.exprs), own, self.planned.schema, self.layout.order[0].column)

    def _until_now(self, kept: pa.Table) -> tuple[pa.Table, pa.Table]:
        """What is at or before the watermark; and rows after it, which a query that does not wait had taken already."""
        known = is_past(self._times(kept), self.watermark)
        return chosen(kept, known), chosen(kept, ~known).select(range(len(self.layout.exprs)))

    def _ripe(self, watermark: int) -> pa.Table | None:
        """Rows whose order is known now, in order."""
        part, self.pending = self.pending.until(watermark)
        if part is None:
            return None
        rows, times = part.rows, part.times
        if rows.num_rows > 1:
            sequence = Arrangement(rows, self.layout).sequence()
            rows, times = taken(rows, sequence), times[sequence]
        return self.patterns.prepared(rows, times)

    def _taken(self, rows: pa.Table | None, before: int, watermark: int) -> Emitted:
        found = self.patterns.take(rows, before, watermark)
        self._note_failures()
        self.counts.limited, self.patterns.limited = self.counts.limited + self.patterns.limited, 0
        timeouts = self.patterns.timeouts
        self.patterns.timeouts = ()
        self.counts.timed_out += sum(table.num_rows for table in timeouts)
        if found is None or not found.num_rows:
            return Emitted(timeouts=timeouts)
        self.counts.matches += found.num_rows
        return Emitted((found,), timeouts)

    def _note_failures(self) -> None:
        """Events on which functions failed are left out; never without a word."""
        if failures := self.planned.functions.failures:
            self.counts.failed += len(failures)
            logging.getLogger("motif").warning("%d events left out; the last: %s", len(failures), failures[-1])
            failures.clear()


def _chosen(table: pa.Table | None, saved: state.Needs, wanted: state.Needs) -> pa.Table | None:
    """The columns that are wanted, in their order, and those of the session itself."""
    if table is None or saved.columns == wanted.columns:
        return table
    width = len(saved.columns)
    places = [saved.columns.index(column) for column in wanted.columns]
    chosen = table.select([*places, *range(width, table.num_columns)])
    return chosen.rename_columns([*(f"c{i}" for i in range(len(places))), *table.column_names[width:]])
