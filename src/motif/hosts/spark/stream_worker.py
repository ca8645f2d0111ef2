"""What runs inside Spark's Python workers for streams: pack rows into buckets, take a step per bucket, unpack matches.

Spark's state API costs per row and per key, so neither goes through it: all rows of a bucket travel as one payload
(Arrow IPC), and all keys of a bucket share one session.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from motif.engine.arrays import Array, flat, null_flags, numpy_of, plain_type, taken, to_lanes
from motif.engine.stream import container
from motif.engine.stream.session import Emitted, Planned, StreamSession
from motif.engine.stream.status import SUMS, Status
from motif.engine.watermark import BEGINNING, FOREVER, is_past
from motif.hosts.spark.stream_state import Bucket, Head, Step, Store
from motif.hosts.spark.worker import OUTPUT_ROWS, Batches
from motif.ir.types import Type
from motif.plan.scalar import Lane, lane

if TYPE_CHECKING:
    import pandas as pd  # takes long to import, and Spark starts a Python on the driver just to look at `init`

PACKED = "bucket int, payload binary"
SEED = "bucket int, payload binary, latest long"
STEPPED = "bucket int, serial long, metrics string, kind string, payload binary"
KIND, LATE = "__kind", "__late"
PACK_BYTES = 32 << 20
"""Rows of a task are packed together up to this size."""
MILLISECOND = 1000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One query of a stream, as the workers get it."""

    name: str
    planned: Planned
    query: str
    """The digest of what it reads and keeps."""
    rows: pa.Schema
    """Rows as they are kept: the same whatever the session's zone and the source's nullability."""
    kinds: tuple[str, ...]
    """What comes out."""
    late: tuple[tuple[int, str], ...]
    """Columns of late rows that are shown, with their names."""
    ticks: int
    """Units of time per microsecond."""
    hold: int
    """How much later than they end matches of queries before may come, in units of time."""
    buckets: int


# -- rows into buckets


def packer(operator: Operator, *, with_latest: bool = False) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow`: the rows of a task as a few payloads per bucket."""

    def pack(batches: Batches) -> Batches:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size > PACK_BYTES:
                yield from _packed(operator, held, with_latest)
                held, size = [], 0
        yield from _packed(operator, held, with_latest)

    return pack


def _packed(operator: Operator, held: list[pa.RecordBatch], with_latest: bool) -> Batches:
    rows = sum(batch.num_rows for batch in held)
    if not rows:
        return
    table = pa.Table.from_batches(held).cast(operator.rows).combine_chunks()
    bucket = buckets_of(table, operator)
    order = np.argsort(bucket, kind="stable")
    first = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    parts = [taken(table, part) for part in np.split(order, first[1:])]
    columns = [
        pa.array(bucket[order][first], pa.int32()),
        pa.array([container.table_bytes(part) for part in parts], pa.binary()),
    ]
    names = ["bucket", "payload"]
    if with_latest:
        session = StreamSession(operator.planned)
        times = [session.times_of(part.column(operator.planned.layout.order[0].column)) for part in parts]
        columns.append(pa.array([int(time.max()) if len(time) else None for time in times], pa.int64()))
        names.append("latest")
    yield pa.RecordBatch.from_arrays(columns, names=names)


def buckets_of(table: pa.Table, operator: Operator) -> Array:
    """The bucket of every row. State lies by it, so it must never change for a key, in no version."""
    hashes = np.zeros(table.num_rows, np.uint64)
    program = operator.planned.program
    for key in program.keys:
        hashes = _mixed(hashes + _hashes(flat(table.column(key)), program.types[key]))
    return (hashes % np.uint64(operator.buckets)).astype(np.int32)


def _hashes(array: pa.Array, kind: Type) -> Array:
    """A number per value; values that are one key have one number."""
    if pa.types.is_nested(array.type):
        array = pa.array([repr(value) for value in array.to_pylist()], pa.string())
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.uint64)
    if lane(kind) is Lane.FLOAT:
        numbers = to_lanes(array, kind).values
        values = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # -0.0 is 0.0
    elif lane(kind) is Lane.INT:
        values = np.ascontiguousarray(to_lanes(array, kind).values).view(np.uint64)
    else:
        encoded = array.cast(plain_type(array.type)).dictionary_encode()
        checks = [zlib.crc32(v if isinstance(v, bytes) else str(v).encode()) for v in encoded.dictionary.to_pylist()]
        values = np.array([*checks, 0], np.uint64)[numpy_of(encoded.indices.fill_null(len(checks)))]
    return np.where(null_flags(array) == 1, np.uint64(0), _mixed(values + np.uint64(1)))


def _mixed(values: Array) -> Array:
    """Every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = values ^ (values >> np.uint64(31))
    return mixed


# -- a step per bucket


class Steps(StatefulProcessor):
    """What `transformWithStateInPandas` calls, once per bucket that has rows or whose time has come."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def init(self, handle: Any) -> None:
        """Called for every task, and once on the driver, where there is none."""
        operator, task = self.operator, TaskContext.get()
        self.handle = handle
        self.query = None if task is None else task.getLocalProperty("sql.streaming.queryId")
        self.archive: dict[int, _Archive] = {}
        self.store = Store(
            handle.getValueState("head", "data binary"),
            handle.getMapState("log", "serial long, piece int", "data binary"),
            operator.planned,
            Head(operator.buckets, operator.query),
            timeouts="timeout" in operator.kinds,
        )

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:  # noqa: N802, N803, ARG002
        """Rows of the archive; Spark lets nothing out here, so a timer calls for the bucket in the same batch."""
        archive = self.archive.setdefault(int(key[0]), _Archive([], None))
        for payload, seam in zip(initialState["payload"], initialState["seam"], strict=True):
            archive.seam = None if seam is None else int(seam)
            if payload is not None:
                archive.rows.append(container.bytes_table(payload))
        self.handle.registerTimer(0)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """New rows of a bucket."""
        tables = [container.bytes_table(payload) for frame in rows for payload in frame["payload"]]
        yield self._step(int(key[0]), pa.concat_tables(tables).combine_chunks(), timerValues, None)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The watermark has reached the moment that a bucket waits for."""
        yield self._step(int(key[0]), None, timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def _step(self, number: int, rows: pa.Table | None, times: Any, rung: int | None) -> pd.DataFrame:
        operator, now = self.operator, times.getCurrentWatermarkInMs()
        key = (self.query, operator.name, number)
        bucket = self.store.open(key)
        step = Step(rows, now * MILLISECOND * operator.ticks - operator.hold if now > 0 else None)
        archive = self.archive.pop(number, None)
        emitted = Emitted() if archive is None else archive.on(bucket.session)
        emitted = emitted.and_then(step.on(bucket.session))
        timer = self._timer(bucket, max(now, 0), rung)
        self.store.save(key, bucket, step if archive is None else None, timer)
        return _frame(number, bucket, emitted, operator)

    # -- when a bucket is called although no row has come

    def _timer(self, bucket: Bucket, now: int, rung: int | None) -> int | None:
        """Set the timer of the bucket; one that rings too early only costs a look, so it is left as it is.

        Spark takes back the timer that rings once we are done: setting it anew now would be in vain.
        """
        before = None if bucket.head.timer == rung else bucket.head.timer
        due = self._due(bucket.session, now)
        if before is not None and due is not None and now < before <= due:
            return before
        if before is not None:
            self.handle.deleteTimer(before)
        if due is not None:
            self.handle.registerTimer(due)
        return due

    def _due(self, session: StreamSession, now: int) -> int | None:
        """The first millisecond of the stream's watermark at which time alone changes something."""
        if is_past(session.deadline(), session.watermark):
            session.patterns.prune(session.watermark)
        deadline = session.deadline()
        if deadline >= FOREVER:
            return None
        millisecond = MILLISECOND * self.operator.ticks
        return max(-(-(deadline + self.operator.hold) // millisecond), now + 1)


@dataclass(slots=True)
class _Archive:
    """What came before the stream: complete up to the seam, so a live row at or before it is there already."""

    rows: list[pa.Table]
    seam: int | None

    def on(self, session: StreamSession) -> Emitted:
        emitted = session.push(pa.concat_tables(self.rows).combine_chunks()) if self.rows else Emitted()
        return emitted if self.seam is None else emitted.and_then(session.advance(self.seam))


def _frame(number: int, bucket: Bucket, emitted: Emitted, operator: Operator) -> pd.DataFrame:
    """Rows for Spark: the counters of the bucket, and payloads of what came out."""
    import pandas as pd

    payloads: list[tuple[str | None, bytes | None]] = [(None, None)]
    shown, names = [column for column, _ in operator.late], [name for _, name in operator.late]
    late = [table.select(shown).rename_columns(names) for table in emitted.late]
    for kind, tables in (("match", emitted.matches), ("timeout", emitted.timeouts), ("late", late)):
        for table in tables if kind in operator.kinds else ():
            starts = range(0, table.num_rows, OUTPUT_ROWS)
            payloads += [(kind, container.table_bytes(table.slice(start, OUTPUT_ROWS))) for start in starts]
    metrics: list[str | None] = [None] * len(payloads)
    metrics[0] = json.dumps({"bucket": number, **metrics_of(bucket.session, operator.ticks)})
    columns = {
        "bucket": pd.Series([number] * len(payloads), dtype="int32"),
        "serial": pd.Series([bucket.head.serial] * len(payloads), dtype="int64"),
        "metrics": pd.Series(metrics, dtype=object),
        "kind": pd.Series([kind for kind, _ in payloads], dtype=object),
        "payload": pd.Series([payload for _, payload in payloads], dtype=object),
    }
    return pd.DataFrame(columns)


def metrics_of(session: StreamSession, ticks: int) -> dict[str, int | None]:
    """The counters of one bucket; moments in microseconds."""
    status = Status.of(session, ticks)
    known = BEGINNING < session.watermark < FOREVER
    return {
        **{name: getattr(status, name) for name in COUNTERS},
        "watermark": session.watermark // ticks if known else None,
        "latest": session.latest // ticks if session.latest > BEGINNING else None,
    }


MARK = '{"bucket":'
"""How the text of the counters of a bucket begins."""
COUNTERS = SUMS
"""What of a `Status` is the sum over buckets."""


# -- matches out of payloads


def unpacker(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow`: leaves of matches, and what else is asked for; what a row lacks is NULL."""

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for kind, payload in zip(batch.column("kind").to_pylist(), batch.column("payload"), strict=True):
                table = pa.ipc.open_stream(payload.as_buffer()).read_all().combine_chunks()
                given = (
                    {LATE: table.to_struct_array()}
                    if kind == "late"
                    else dict(zip(table.column_names, table.columns, strict=True))
                )
                given[KIND] = pa.array([kind] * table.num_rows, pa.string())
                columns = [given.get(field.name, pa.nulls(table.num_rows, field.type)) for field in schema]
                yield from pa.Table.from_arrays(columns, names=schema.names).to_batches()

    return unpack
