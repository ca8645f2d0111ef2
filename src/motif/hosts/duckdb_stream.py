"""Streams in process: `motif.Stream`. DuckDB computes the scalars of every push, sessions keep what may still matter.

Queries of a stack are sessions in a row: the matches of one are events for the next, whose watermark is held back as
long as earlier matches may still come.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from motif.arguments import file_path, type_name
from motif.engine.arrays import flat, numpy_of, taken
from motif.engine.stream import container
from motif.engine.stream.session import Emitted, StreamSession
from motif.engine.stream.status import Status
from motif.engine.stream.valid import is_whole_number
from motif.engine.watermark import BEGINNING, FOREVER, after_lateness, is_past
from motif.errors import MotifError, did_you_mean, only_ours
from motif.hosts.arriving import Arriving, schema_of
from motif.hosts.duckdb_link import Link, linked
from motif.hosts.kinds import late_events, with_kinds
from motif.hosts.stream_classes import Classes
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.ir.render import render_query
from motif.ir.render_event import render_events
from motif.lang.statement import parse_clause
from motif.options import EventOptions, StreamOptions, is_events, parsed_queries, tell_slips
from motif.plan.dag import BASE
from motif.plan.overlaps import tell_overlaps
from motif.plan.physical.choose import strategy_named
from motif.plan.physical.plan import PhysicalPlan
from motif.plan.scalar import scale
from motif.slips import told


class Stream:
    """Matches of a query over rows that are pushed, each as soon as it is decided.

    Several threads may use one stream: what they do is done one after the other.
    """

    @only_ours
    def __init__(
        self,
        query: Any,
        schema: Any,
        *,
        time: str | None = None,
        type: str | None = None,  # noqa: A002 - the word for it
        order_by: str | Sequence[str] = (),
        functions: Mapping[str, Callable[..., Any]] | None = None,
        lateness: str | dt.timedelta | None = None,
        emit: Sequence[str] | str | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        strict: bool = False,
        strategy: str | None = None,
    ) -> None:
        """`query` as for `motif.match`; `schema` the columns of its rows, or a mapping from inputs to their schemas.

        `lateness`: how much earlier than the latest event one may be and still count (none by default). `emit` adds a
        column `kind` and chooses what comes out: "match", "timeout" (partial matches whose time is over), "late".
        `on_error`: what to do with an event for which one of `functions` fails. `strict`: warnings are errors.
        `strategy`: how the last query is matched, as for `motif.match`; `plan` shows it.
        """
        wanted = strategy_named(strategy)
        self.options = StreamOptions(lateness, emit, on_error)
        self.events = EventOptions(time, type, order_by, functions or {})
        self.schemas = _inputs(schema)
        self.arriving = {name: Arriving(own) for name, own in self.schemas.items()}
        self.strict = strict
        with told(strict=strict):
            self.queries = _parsed(query, self.events)
            self.links = linked(self.queries, self.schemas, self.events, self.options, wanted)
        names = [*(() if list(self.schemas) == [BASE] else self.schemas), *_named(self.queries)]
        self.classes = Classes((link.planned.program for link in self.links), names)
        self.ticks = 10 ** scale(self.links[0].planned.layout.order[0].type)
        self.latest = dict.fromkeys(self.schemas, BEGINNING)
        self.watermark = BEGINNING
        self.is_closed = False
        self._lock = threading.RLock()
        self._is_busy = False

    @property
    def plan(self) -> PhysicalPlan:
        """How the last query is matched."""
        return self.links[-1].session.execution.plan

    # -- events in, matches out

    @only_ours
    def push(self, rows: Any, *, input: str | None = None) -> pa.Table:  # noqa: A002 - the word for it
        """Take a row (a mapping), several, or a table; what is decided now.

        `input` says of which input the rows are where there are several.
        """
        with self._step():
            name = self._input(input)
            arrived = self.arriving[name].table(rows)
            self.classes.look(arrived)
            table, late = self._in_time(arrived)
            emitted = self.links[0].session.push(self.links[0].taken(name, table, self.schemas))
            self.latest[name] = max(self.latest[name], self._latest(table))
            slowest = min(self.latest.values())
            if slowest > BEGINNING:
                late_by = self.options.microseconds * self.ticks
                self.watermark = max(self.watermark, after_lateness(slowest, late_by))
            return self._through(emitted, (name, table), late)

    @only_ours
    def advance(self, watermark: dt.datetime | dt.date | int) -> pa.Table:
        """Say that all events at or before a moment have come (a time, or microseconds since 1970); never goes back."""
        moment = _microseconds(watermark) * self.ticks
        with self._step():
            self.watermark = max(self.watermark, moment)
            return self._through(Emitted())

    @only_ours
    def close(self) -> pa.Table:
        """Say that no more events come; what is left is decided as at the end of a table."""
        with self._step():
            self.watermark = FOREVER
            found = self._through(Emitted())
            self.is_closed = True
        self.classes.tell()
        return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time, and not from within: a function of the user sees a stream in the middle of a step."""
        with self._lock:
            if self._is_busy:
                raise MotifError(
                    "a function of the stream cannot use the stream that calls it", hint="use it once push has returned"
                )
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False

    @contextmanager
    def _step(self) -> Iterator[None]:
        """A step of a stream that is open."""
        with self._alone():
            if self.is_closed:
                raise MotifError("the stream is closed", hint="begin a new one")
            with self._all_or_nothing():
                yield

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What fails has not happened, so it can be tried again."""
        marks = [link.session.mark() for link in self.links]
        latest, watermark = dict(self.latest), self.watermark
        try:
            yield
        except BaseException:
            for link, mark in zip(self.links, marks, strict=True):
                link.session.back_to(mark)
            self.latest, self.watermark = latest, watermark
            raise

    def _in_time(self, table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        """Of a stack, rows that no query of it takes any more are set aside here; one query does so itself."""
        if len(self.links) == 1:
            return table, None
        first = self.links[0].session
        times = self._times(table)
        late = np.zeros(table.num_rows, bool)
        late[numpy_of(flat(times.is_valid()))] = is_past(first.times_of(times), self.watermark)
        if not late.any():
            return table, None
        first.counts.late += int(late.sum())
        return taken(table, np.flatnonzero(~late)), taken(table, np.flatnonzero(late))

    @property
    def status(self) -> Status:
        """Counters and what is kept, for people (`print`) and for Prometheus."""
        with self._alone():
            first, *others = [Status.of(link.session, self.ticks) for link in self.links]
        return reduce(Status.and_also, others, first)

    # -- save and restore

    @only_ours
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on; the file is complete or not there."""
        target = file_path(path, "logins.stream")
        with self._alone():
            data = self._packed()
        _write(target, data)

    def _packed(self) -> bytes:
        header = {
            "queries": [_text(query) for query in self.queries],
            "schemas": list(self.schemas),
            "events": {"time": self.events.time, "type": self.events.type, "order_by": list(self.events.order_by)},
            "options": {**asdict(self.options), "lateness": f"{self.options.microseconds} us"},
            "latest": list(self.latest.values()),
            "watermark": self.watermark,
            "is_closed": self.is_closed,
            "classes": sorted(self.classes.seen),
        }
        blobs = [schema.serialize().to_pybytes() for schema in self.schemas.values()]
        return container.pack("stream", header, [*blobs, *(link.session.dump() for link in self.links)])

    @classmethod
    @only_ours
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        query: Any = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Stream:
        """A stream that goes on where `save` was called.

        `query`: a changed one, accepted if what was kept is enough for it. `functions` are not saved: give them again.
        """
        try:
            data = file_path(path, "logins.stream").read_bytes()
        except OSError as error:
            raise MotifError(
                f"cannot read {path}: {error.strerror}", hint="give the path of a file that stream.save(path) wrote"
            ) from None
        return container.unpack("stream", data, lambda header, blobs: cls._restored(header, blobs, query, functions))

    @classmethod
    def _restored(cls, header: dict[str, Any], blobs: list[bytes], query: Any, functions: Any) -> Stream:
        names, latest, watermark = header["schemas"], header["latest"], header["watermark"]
        numbers = [watermark, *latest]
        if len(blobs) <= len(names) or not names or not all(map(is_whole_number, numbers)):
            raise ValueError(header)
        if type(header["options"]["lateness"]) is not str:
            raise ValueError(header["options"])
        schemas = {name: pa.ipc.read_schema(pa.py_buffer(blob)) for name, blob in zip(names, blobs, strict=False)}
        texts = header["queries"]
        given = (texts[0] if len(texts) == 1 else texts) if query is None else query
        schema = schemas[BASE] if names == [BASE] else schemas
        stream = cls(given, schema, functions=functions, **header["events"], **header["options"])
        sessions = blobs[len(names) :]
        if len(sessions) != len(stream.links):
            raise container.refused(f"the saved stream had {len(sessions)} queries, there are {len(stream.links)} now")
        for number, (before, now) in enumerate(zip(texts[:-1], map(_text, stream.queries), strict=False), 1):
            if before != now:
                reason = f"query {number} of the stack changed, whose matches are events for those after it"
                raise container.refused(f"the saved stream belongs to other queries: {reason}")
        for link, saved in zip(stream.links, sessions, strict=True):
            link.session = StreamSession.load(link.planned, saved, timeouts=stream.options.emits("timeout"))
        stream.latest = dict(zip(names, latest, strict=True))
        stream.classes.seen.update(map(str, header.get("classes", ())))
        stream.watermark, stream.is_closed = watermark, header["is_closed"] is True
        return stream

    # -- one step

    def _through(
        self, emitted: Emitted, pushed: tuple[str, pa.Table] | None = None, late: pa.Table | None = None
    ) -> pa.Table:
        """Let every query see what is new and how time has moved; what comes out of the last."""
        watermark, new = self.watermark, dict[int, pa.Table]()
        name, table = pushed or (next(iter(self.schemas)), None)
        for number, link in enumerate(self.links):
            if number:
                emitted = link.session.push(link.after(name, table, self.schemas, new))
            emitted = emitted.and_then(link.session.advance(watermark))
            if number + 1 < len(self.links):
                new[number] = link.finished(emitted.matches)
                watermark = link.held_back(watermark)
        return self._shown(self.links[-1], emitted, late)

    def _shown(self, link: Link, emitted: Emitted, late: pa.Table | None) -> pa.Table:
        matches = link.finished(emitted.matches)
        if self.options.emit is None:
            return matches
        if len(self.links) == 1:
            late = late_events(link.planned, emitted.late, link.empty)
        elif late is None:
            late = next(iter(self.schemas.values())).empty_table()
        return with_kinds(matches, link.finished(emitted.timeouts), late, self.options)

    def _latest(self, table: pa.Table) -> int:
        times = self.links[0].session.times_of(self._times(table))
        return int(times.max()) if len(times) else BEGINNING

    def _times(self, table: pa.Table) -> pa.ChunkedArray:
        """When the events of an input were; inputs may write the name of that column in other capitals."""
        time = self.links[0].time.casefold()
        return table.column(next(name for name in table.column_names if name.casefold() == time))

    def _input(self, name: str | None) -> str:
        if name is None and len(self.schemas) == 1:
            return next(iter(self.schemas))
        if list(self.schemas) == [BASE]:
            raise MotifError(f"there is no input {name}", hint="the stream has one, without a name: leave out input=")
        if name not in self.schemas:
            known = ", ".join(self.schemas)
            problem = "input= is needed" if name is None else f"there is no input {name}"
            raise MotifError(problem, hint=did_you_mean(name or "", self.schemas) or f"the inputs are {known}")
        return name


def _inputs(schema: Any) -> dict[str, pa.Schema]:
    if isinstance(schema, Mapping) and schema and not any(isinstance(v, str | pa.DataType) for v in schema.values()):
        return {str(name): schema_of(part) for name, part in schema.items()}
    return {BASE: schema_of(schema)}


def _parsed(query: Any, events: EventOptions) -> list[EventQuery] | list[RowQuery]:
    is_clause = isinstance(query, str) and not is_events(query)
    parsed = parse_clause(query, "duckdb") if is_clause else parsed_queries(query, "duckdb")
    if isinstance(parsed, RowQuery):
        events.refuse_for_rows()
        tell_overlaps(parsed)
        return [parsed]
    tell_slips(parsed)
    return parsed


def _write(target: Path, data: bytes) -> None:
    """All of it or nothing, and nothing is left behind; several threads may write the same file."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except OSError as error:
        raise MotifError(
            f"cannot write {target}: {error.strerror or error}", hint="give a path in a folder that you can write to"
        ) from None
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _named(queries: Sequence[EventQuery | RowQuery]) -> Iterator[str]:
    """Classes of matches."""
    yield from (query.name for query in queries if isinstance(query, EventQuery) and query.name is not None)


def _text(query: EventQuery | RowQuery) -> str:
    return render_events(query) if isinstance(query, EventQuery) else render_query(query)


def _microseconds(moment: dt.datetime | dt.date | int) -> int:
    """Since 1970; a time without a zone is taken as it is."""
    if isinstance(moment, int) and not isinstance(moment, bool):
        return moment
    if not isinstance(moment, dt.date):
        raise MotifError(
            f"a watermark cannot be {type_name(moment)}", hint="give a datetime, or microseconds since 1970"
        )
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
    zone = moment.tzinfo or dt.UTC
    return (moment.replace(tzinfo=zone) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
