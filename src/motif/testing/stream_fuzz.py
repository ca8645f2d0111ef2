"""Random queries over random streams: what a stream gives in all is what a batch over the same events gives.

Events arrive out of order within a bound, in pieces of random size, with watermarks in between; sessions are saved and
restored on the way, some after every push. What comes out is in the order that `stream_order` says. A case is one query
over one stream; many streams are packed into one session as partitions, so that a piece of a few dozen rows is about
one event of each.
`python -m motif.testing.stream_fuzz --cases 100000` runs a campaign over both languages.
"""

from __future__ import annotations

import random
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from motif.engine.partitions import by_partition
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
from motif.plan.program import Program
from motif.testing.event_engines import with_hidden_key
from motif.testing.event_features import event_features
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.event_reference import Listed
from motif.testing.features import features
from motif.testing.fuzz import Tally, memory_source, run_campaign
from motif.testing.generate import random_clause, random_rows
from motif.testing.stream_order import Line, fault_of_events, fault_of_rows
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
ID, END = leaf_name(0), leaf_name(2)
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
        tally.features.update(case.features)
        tally.cases = case.streams
        tally.matched = bool(case.batch())
        for costs in (PLAIN, COMPILED) if compiled else (PLAIN,):
            fault = case.fault(case.stream(costs))
            if fault is not None:
                manner = ", ".join(case.manner.features())
                tally.differences.append(
                    f"seed {seed}: the stream differs from the batch ({manner})\n{case.text}\n{fault}"
                )
    except (UnsupportedQuery, QueryDataError):
        tally.refused += 1
    except LimitExceeded:
        tally.too_long += 1
    except Exception:  # noqa: BLE001 - whatever goes wrong is a finding
        tally.differences.append(f"seed {seed}: {traceback.format_exc(limit=-8)}\n{case.text}")
    return tally


class Case:
    """A planned query, its rows in no order, and how they arrive."""

    query: RowQuery | EventQuery
    planned: Planned
    rows: pa.Table
    lateness = 0
    """In microseconds."""

    def __init__(self, rng: random.Random, manner: Manner | None = None) -> None:
        self.rng = rng
        self.manner = manner or Manner.drawn(rng)
        self.streams = self.manner.streams
        self.text = ""
        self.features: list[str] = []
        self.partition: dict[int, int] = {}
        """Of which partition each match of the batch is."""

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

    def batch(self) -> list[Line] | list[Listed]:
        """What there is to find, in order."""
        return self.matches if isinstance(self.planned.program, EventProgram) else self.lines

    @cached_property
    def matches(self) -> list[Listed]:
        """What there is to find of an event pattern."""
        program = self.planned.program
        assert isinstance(program, EventProgram)
        part = match_part(EventRows(program, self._timed(), Execution.of(program, PLAIN)), self.planned.functions)
        self.partition = dict(zip(*(part.column(name).to_pylist() for name in (ID, PARTITION)), strict=True))
        return self._listed([in_time_order([part])])

    @cached_property
    def lines(self) -> list[Line]:
        """What there is to find of a row pattern."""
        program = self.planned.program
        assert isinstance(program, Program)
        session = Session(program, Execution.of(program, PLAIN))
        found = pa.concat_tables([*session.feed(self._timed()), *session.finish()])
        return self._lines([by_partition(found, program.key_leaves)])

    def _timed(self) -> pa.Table:
        return arrange(self.rows.take(arrow(np.flatnonzero(~self._without_time()))), self.planned.layout)

    def stream(self, costs: Costs) -> list[tuple[pa.Table, ...]]:
        """What a stream gives, step by step."""
        return [emitted.matches for emitted in self._emitted(costs)]

    def fault(self, steps: Sequence[Sequence[pa.Table]]) -> str | None:
        """What is wrong with what a stream gave."""
        program = self.planned.program
        if not isinstance(program, EventProgram):
            return fault_of_rows(self.lines, [self._lines(step) for step in steps])
        in_time = not is_eager(program) and not any(waits(program, way) for way in program.ways)
        batch = self.matches  # first: it says of which partition a match is
        return fault_of_events(batch, [self._listed(step) for step in steps], in_time=in_time)

    def _lines(self, tables: Sequence[pa.Table]) -> list[Line]:
        program = self.planned.program
        assert isinstance(program, Program)
        rows = [row for table in tables for row in table.to_pylist()]
        return [Line(repr([row[name] for name in program.key_leaves]), repr(row)) for row in rows]

    def _listed(self, tables: Sequence[pa.Table]) -> list[Listed]:
        rows = [row for table in tables for row in table.to_pylist()]
        return [Listed(row[END], (self.partition.get(row[ID], -1),), row[ID], repr(row)) for row in rows]

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


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    # Some queries have one partition, or come row by row.
    return run_campaign(check_seed, STREAMS - 5, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
