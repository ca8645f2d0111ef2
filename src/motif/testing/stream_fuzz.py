"""Random queries over random streams: what a stream gives in all is what a batch over the same events gives.

Events arrive out of order within a bound, in pieces of random size, with watermarks in between; sessions are saved and
restored on the way, some after every push. What comes out at once is in the order of the batch. A case is one query
over one stream; many streams are packed into one session as partitions, so that a piece of a few dozen rows is about
one event of each.
`python -m motif.testing.stream_fuzz --cases 100000` runs a campaign over both languages.
"""

from __future__ import annotations

import random
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow
from motif.engine.events.functions import Functions
from motif.engine.events.merge import PARTITION, in_time_order
from motif.engine.events.rows import EventRows
from motif.engine.events.run import match_part
from motif.engine.execution import Execution
from motif.engine.order import arrange, crossing, layout
from motif.engine.session import Session
from motif.engine.stream.session import Emitted, Planned, StreamSession
from motif.engine.watermark import after_lateness
from motif.errors import LimitExceeded, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb, duckdb_events
from motif.ir.event import EventQuery
from motif.ir.expr import At, Call, Column
from motif.ir.query import RowQuery
from motif.ir.render_event import render_events
from motif.lang.statement import parse_clause
from motif.plan.events.decision import is_eager, waits
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.outputs import leaf_name
from motif.plan.physical.costs import COMPILED, PLAIN, Costs
from motif.plan.planner import plan
from motif.testing.event_engines import with_hidden_key
from motif.testing.event_features import event_features
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.features import features
from motif.testing.fuzz import Tally, memory_source, run_campaign
from motif.testing.generate import random_clause, random_rows
from motif.testing.tables import to_arrow

STREAMS = 40
SECOND = 1_000_000
HALF_STEPS = (0, 0, 1, 4, 10, 120)
"""How late rows may be, in halves of what lies between two rows of a stream: nothing, next to nothing, a few rows, or
more than there are."""
PIECES = {
    "pieces of an event per stream": (STREAMS // 4, STREAMS // 2, STREAMS, STREAMS, 2 * STREAMS),
    "pieces of any size": (1, 1, 2, 3, 7, 50, 400),
    "pieces of one row": (1, 1, 1, 2),
    "large pieces": (200, 400),
}
COMPOSITE = 0.15
"""Share of event queries whose streams have composite events."""
WITH_FUNCTION = 0.1
"""Share of event queries with a function of the user in a condition."""
_STREAM = "stream"
ID = leaf_name(0)
_NEVER = -(1 << 60)


def even(value: int | None) -> bool | None:
    """A function of the user that sees one event."""
    return None if value is None else value % 2 == 0


def near(one: int | None, other: int | None) -> bool | None:
    """A function of the user that sees two."""
    return None if one is None or other is None else abs(one - other) <= 1


FUNCTIONS: dict[str, Callable[..., Any]] = {"even": even, "near": near}


@dataclass(frozen=True, slots=True)
class Manner:
    """How rows arrive and what is done to the session meanwhile."""

    pieces: str
    half_steps: int
    advances: float
    """How often the watermark moves after a push."""
    saves: float
    """How often the session is saved and restored after a push."""

    @classmethod
    def drawn(cls, rng: random.Random) -> Manner:
        pieces = rng.choices(list(PIECES), (10, 4, 1, 1))[0]
        return cls(pieces, rng.choice(HALF_STEPS), rng.choice((0.3, 0.7, 0.7, 1.0)), rng.choice((0, 0, 0.3, 0.3, 1)))

    @property
    def streams(self) -> int:
        """Row by row there are many steps, so there are few streams."""
        return 4 if self.pieces == "pieces of one row" else STREAMS

    def features(self) -> list[str]:
        saved = "saved after every push" if self.saves == 1 else "saved now and then" if self.saves else "not saved"
        return [self.pieces, f"late by {self.half_steps / 2:g} steps", saved]


def check_seed(seed: int, *, compiled: bool = False) -> Tally:
    """One random query over many streams."""
    rng = random.Random(seed)
    tally = Tally(queries=1)
    case = Case(rng)
    try:
        case.build()
        expected = case.batch()
        tally.features.update(case.features)
        tally.cases = case.streams
        tally.matched = bool(expected)
        for costs in (PLAIN, COMPILED) if compiled else (PLAIN,):
            got = case.stream(costs)
            if got != expected:
                tally.differences.append(_difference(seed, case, expected, got))
    except (UnsupportedQuery, QueryDataError):
        tally.refused += 1
    except LimitExceeded:
        tally.too_long += 1
    except Exception:  # noqa: BLE001 - whatever goes wrong is a finding
        tally.differences.append(f"seed {seed}: {traceback.format_exc(limit=-8)}\n{case.text}")
    return tally


def _difference(seed: int, case: Case, expected: Counter[str], got: Counter[str]) -> str:
    missing, extra = list((expected - got).elements()), list((got - expected).elements())
    return (
        f"seed {seed}: the stream differs from the batch ({', '.join(case.manner.features())})\n{case.text}\n"
        f"  expected {expected.total()}, got {got.total()}\n  missing {missing[:3]}\n  extra {extra[:3]}"
    )


class Case:
    """A planned query, its rows in no order, and how they arrive."""

    query: RowQuery | EventQuery
    planned: Planned
    rows: pa.Table
    lateness = 0
    """In microseconds."""
    in_order: list[str] | None = None
    """What there is to find of a clause over one sequence of rows, in order."""

    def __init__(self, rng: random.Random, manner: Manner | None = None) -> None:
        self.rng = rng
        self.manner = manner or Manner.drawn(rng)
        self.streams = self.manner.streams
        self.text = ""
        self.features: list[str] = []
        self.place: dict[int, int] = {}
        """Where each match of the batch is, and of which partition it is."""
        self.partition: dict[int, int] = {}

    def build(self) -> None:
        """Draw a query and rows for it, and plan it."""
        self.draw()
        if isinstance(self.query, EventQuery):
            self._events(self.query)
        else:
            self._rows(self.query)

    def draw(self) -> None:
        """Draw a query."""
        if self.rng.random() < 0.5:
            self.text, step = _in_time(random_clause(self.rng), self.rng)
            self.query = parse_clause(self.text)
            self.features += ["row patterns", *features(self.query)]
        else:
            step, query = SECOND, random_event_query(self.rng)
            self.features += ["event patterns", *event_features(query)]
            self.query = self._with_function(query) if self.rng.random() < WITH_FUNCTION else query
            self.text = render_events(self.query)
        self.lateness = self.manner.half_steps * step // 2
        self.features += self.manner.features()

    def _rows(self, query: RowQuery) -> None:
        self.streams = self.streams if query.partition else 1
        source = memory_source(to_arrow(random_rows(self.rng, self.streams)))
        program = plan(query, source)
        if program.windowed:
            raise UnsupportedQuery("functions of the host over several rows")
        exprs = crossing(program)
        self.planned = Planned(program, layout(program, source.types_of(exprs)))
        self.rows = source.database.table(source.select(duckdb.columns_sql(exprs))).combine_chunks()

    def _events(self, query: EventQuery) -> None:
        start = "start" if self.rng.random() < COMPOSITE else None
        self.features += ["composite events"] if start else []
        streams = [random_stream(self.rng, query, starts=start is not None) for _ in range(self.streams)]
        events = [{**event, _STREAM: number} for number, stream in enumerate(streams) for event in stream]
        columns = {**COLUMNS, **({start: "TIMESTAMP"} if start else {}), _STREAM: "BIGINT"}
        source = memory_source(to_arrow(events, columns))
        program = with_hidden_key(plan_events(query, source, Stream(start=start), FUNCTIONS), _STREAM)
        program = replace(program, identity=(program.keys[0], *program.identity))  # each match has an id of its own
        types = source.types_of(crossing(program))
        self.planned = Planned(program, layout(program, types), Functions(FUNCTIONS))
        self.rows = source.database.table(duckdb_events.input_sql(program, source)).combine_chunks()

    def _with_function(self, query: EventQuery) -> EventQuery:
        """With a condition that calls a function on single variables, if there are any."""
        single = [event.var for event in query.events() if event.repeat is None]
        chosen = self.rng.sample(single, min(len(single), self.rng.choice((1, 2))))
        if not chosen:
            return query
        name = "even" if len(chosen) == 1 else "near"
        self.features.append(f"function of {len(chosen)} event{'s' * (len(chosen) > 1)}")
        condition = Call(name, tuple(At(Column(self.rng.choice("xy")), var) for var in chosen))
        return replace(query, conditions=(*query.conditions, condition))

    # -- both ways

    def batch(self) -> Counter[str]:
        """What there is to find."""
        timed = self.rows.take(arrow(np.flatnonzero(~self._without_time())))
        table, program = arrange(timed, self.planned.layout), self.planned.program
        if isinstance(program, EventProgram):
            part = match_part(EventRows(program, table, Execution.of(program, PLAIN)), self.planned.functions)
            self.partition = dict(zip(*(part.column(name).to_pylist() for name in (ID, PARTITION)), strict=True))
            found = in_time_order([part])
            self.place = {match: place for place, match in enumerate(found.column(ID).to_pylist())}
            return _counted([found])
        session = Session(program, Execution.of(program, PLAIN))
        tables = [*session.feed(table), *session.finish()]
        self.in_order = None if program.keys else _shown(tables)
        return _counted(tables)

    def stream(self, costs: Costs) -> Counter[str]:
        """What a stream gives."""
        steps = [emitted.matches for emitted in self._emitted(costs)]
        if isinstance(self.query, EventQuery):
            for tables in steps:
                self._check_order(tables)
        found = [table for tables in steps for table in tables]
        if self.in_order is not None and self.in_order != _shown(found):
            raise AssertionError(f"the order is not that of the batch\n{self.in_order}\n{_shown(found)}")
        return _counted(found)

    def _check_order(self, tables: tuple[pa.Table, ...]) -> None:
        """By end, and of each partition as in the batch; all as there, where a step has all that end together."""
        program = self.planned.program
        assert isinstance(program, EventProgram)
        found = pa.concat_tables(tables) if tables else None
        if found is None or not set(found.column(ID).to_pylist()) <= self.place.keys():
            return  # a difference that is found when they are counted
        ends, ids = (found.column(name).to_pylist() for name in (leaf_name(2), ID))
        is_whole = not is_eager(program) and not any(waits(program, way) for way in program.ways)
        last: dict[int, int] = {}
        for end, after in pairwise(ends):
            if after < end:
                raise AssertionError(f"a match that ends at {end} comes before one that ends at {after}")
        for match in ids:
            partition, place = 0 if is_whole else self.partition[match], self.place[match]
            if place <= last.get(partition, -1):
                raise AssertionError(f"matches are not in the order of the batch: {found.to_pylist()[:8]}")
            last[partition] = place

    def _emitted(self, costs: Costs) -> Iterator[Emitted]:
        session = StreamSession(self.planned, costs=costs)
        rows, times = self._arriving()
        position, latest = 0, _NEVER
        while position < rows.num_rows:
            size = self.rng.choice(PIECES[self.manner.pieces])
            yield session.push(rows.slice(position, size))
            latest = int(times[position : position + size].max(initial=latest))
            position += size
            if latest > _NEVER and self.rng.random() < self.manner.advances:
                yield _advanced(session, self._watermark(latest, times[position:]))
            if self.rng.random() < self.manner.saves:
                session = StreamSession.load(self.planned, session.dump(), costs=costs)
        if session.counts.late:
            raise AssertionError(f"{session.counts.late} rows were late")
        yield session.close()

    def _watermark(self, latest: int, to_come: Array) -> int:
        """By the bound on lateness; or as far as it may go, as if one knew what comes."""
        by_lateness = after_lateness(latest, self.lateness)
        if self.rng.random() < 0.7:
            return by_lateness
        to_come = to_come[to_come > _NEVER]
        return max(by_lateness, int(to_come.min()) - 1 if len(to_come) else latest + self.rng.choice((0, SECOND)))

    def _without_time(self) -> Array:
        return np.array(self.rows.column(self.planned.layout.order[0].column).is_null().to_pylist(), bool)

    def _arriving(self) -> tuple[pa.Table, Array]:
        """Rows in the order in which they come, and their times."""
        column = self.rows.column(self.planned.layout.order[0].column)
        times = np.where(self._without_time(), _NEVER, column.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0))
        delays = [self.rng.randint(0, self.lateness) for _ in range(len(times))]
        shuffled = list(range(len(times)))
        self.rng.shuffle(shuffled)
        order = np.array(sorted(shuffled, key=lambda i: times[i] + delays[i]), np.int64)
        return self.rows.take(arrow(order)), times[order]


def _advanced(session: StreamSession, watermark: int) -> Emitted:
    """What comes out as time goes on; hosts that sleep until the deadline must not miss anything."""
    deadline = session.deadline()
    emitted = session.advance(watermark)
    if emitted.matches and watermark < deadline:
        raise AssertionError(f"something was decided at {watermark}, before the deadline {deadline}")
    return emitted


def _in_time(clause: str, rng: random.Random) -> tuple[str, int]:
    """The clause with an order by time, and what lies between two rows, in microseconds."""
    order = rng.choice(("ts", "ts", "ts", "ts, t", "ts, v DESC", "day", "day, ts"))
    by_second = order.startswith("ts")
    lengths = ("'2' MINUTE", "'90' SECOND", "'10' MINUTE") if by_second else ("'1' DAY", "'2' DAY")
    within = f"\n  WITHIN INTERVAL {rng.choice(lengths)}" if rng.random() < 0.6 else ""
    clause = re.sub(r"\n  WITHIN [^\n]*", "", clause)
    clause = re.sub(r"ORDER BY [^\n]*", f"ORDER BY {order}", clause)
    clause = re.sub(r"\n  PATTERN [^\n]*", lambda found: found[0] + within, clause)
    return clause, 30 * SECOND if by_second else 86_400 * SECOND


def _counted(tables: list[pa.Table]) -> Counter[str]:
    return Counter(_shown(tables))


def _shown(tables: list[pa.Table]) -> list[str]:
    return [repr(row) for table in tables for row in table.to_pylist()]


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    # Some queries have one partition, or come row by row.
    return run_campaign(check_seed, STREAMS - 5, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
