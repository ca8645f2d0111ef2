"""How the state of a stream lies in Spark's state store, and how a worker gets it back quickly.

Keys are hashed into buckets, and a bucket has one session. Its state is a *log*: a snapshot of the session, and what
every step since has brought. A session is deterministic, so snapshot and steps give it back; writing a step costs as
much as its rows, however much is kept. A small *head* says what the log holds and when the bucket wants to be woken.

Workers keep sessions between batches, but Spark may run a bucket anywhere and repeat a batch that failed. So every
step has a *stamp* of its own, and a session is used again only if the head knows its last step by the same stamp.

Files of a checkpoint may be mixed up by hand, by a copy that was cut off, or by a store that loses some. So a head
says whose it is, a stamp ends in a digest of what was written, and nothing may lie behind the last step.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from motif.engine.stream import container, state
from motif.engine.stream.needs import needs_of
from motif.engine.stream.session import Emitted, Planned, StreamSession
from motif.errors import MotifError

PIECE_BYTES = 1 << 20
"""A value of the state store holds no more than this."""
MOST_STEPS = 32
"""So many steps are kept before they become part of a snapshot."""
FEW_BYTES = 1 << 16
"""So many bytes of steps are kept even if the snapshot is smaller."""
CACHE_BYTES, CACHE_SESSIONS = 512 << 20, 1024
"""What a worker process keeps of sessions between batches."""
OTHERWISE = "start it with a new checkpointLocation, or with the query and the settings that made this one"


class Value(Protocol):
    """What is used of Spark's `ValueState`."""

    def get(self) -> Any: ...
    def update(self, newValue: Any) -> None: ...  # noqa: N803 - Spark's name


class Values(Protocol):
    """What is used of Spark's `MapState`."""

    def getValue(self, key: Any) -> Any: ...  # noqa: N802 - Spark's name
    def updateValue(self, key: Any, value: Any) -> None: ...  # noqa: N802
    def removeKey(self, key: Any) -> None: ...  # noqa: N802
    def keys(self) -> Iterable[Any]: ...


@dataclass(frozen=True, slots=True)
class Head:
    """What the log of a bucket holds; number 0 of each list is the snapshot, the others are steps after it."""

    buckets: int
    query: str
    """What the query reads and keeps, as a digest of its `Needs`."""
    place: str = ""
    """The query, the operator and the bucket that it belongs to."""
    serial: int = 0
    """The number of the last step."""
    stamps: list[str] = field(default_factory=lambda: [""])
    pieces: list[int] = field(default_factory=lambda: [0])
    sizes: list[int] = field(default_factory=lambda: [0])
    timer: int | None = None
    """When the bucket is woken, in milliseconds."""

    @property
    def first(self) -> int:
        """The number of the step after which the snapshot was made."""
        return self.serial - len(self.stamps) + 1

    def knows(self, serial: int, stamp: str) -> bool:
        """Whether the log goes on from a session after a step of this stamp."""
        return self.first <= serial <= self.serial and self.stamps[serial - self.first] == stamp

    def is_long_with(self, more: int) -> bool:
        """Whether a snapshot is due if a step of so many bytes comes; the first step makes one."""
        if not self.pieces[0] or len(self.stamps) > MOST_STEPS:
            return True
        return sum(self.sizes[1:]) + more > max(self.sizes[0], FEW_BYTES)


class Step(NamedTuple):
    """What a bucket is told at once: new rows, and how far time has come (None: not known yet)."""

    rows: pa.Table | None
    watermark: int | None

    def on(self, session: StreamSession) -> Emitted:
        """Take the step; what comes out."""
        emitted = Emitted() if self.rows is None else session.push(self.rows)
        return emitted if self.watermark is None else emitted.and_then(session.advance(self.watermark))

    def packed(self) -> bytes:
        return container.pack("step", {"watermark": self.watermark}, [container.table_bytes(self.rows)])

    @staticmethod
    def unpacked(data: bytes) -> Step:
        return container.unpack("step", data, lambda header, blobs: _step(header, *blobs))

    def with_columns(self, places: Sequence[int] | None) -> Step:
        """The step with other columns of its rows; None: as it is."""
        if self.rows is None or places is None:
            return self
        rows = self.rows.select(places).rename_columns([f"c{i}" for i in range(len(places))])
        return Step(rows, self.watermark)


def _step(header: dict[str, Any], rows: bytes) -> Step:
    return Step(container.bytes_table(rows), header["watermark"])


def stamped(data: bytes) -> str:
    """A stamp for what a step, or a snapshot in its place, has written."""
    return secrets.token_hex(8) + _check(data)


def _check(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def place_of(key: tuple[Any, ...]) -> str:
    """The query, the operator and the bucket of a key in the cache, as they are called in every run."""
    query, operator, bucket = key
    return f"{query}/{operator.rpartition(':')[2]}/{bucket}"


def digest(planned: Planned) -> str:
    """Names what a query reads and keeps."""
    text = json.dumps(asdict(needs_of(planned)), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@dataclass(slots=True)
class Bucket:
    """A session with its head."""

    session: StreamSession
    head: Head


@dataclass(frozen=True, slots=True)
class _Kept:
    session: StreamSession
    serial: int
    stamp: str
    size: int


class Cache:
    """Sessions of this worker process, those used last."""

    def __init__(self) -> None:
        self.kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()

    def pop(self, key: tuple[Any, ...]) -> _Kept | None:
        """Take a session out; who works on it puts it back once the state store has the same."""
        return self.kept.pop(key, None)

    def put(self, key: tuple[Any, ...], bucket: Bucket) -> None:
        size = state_bytes(bucket.session)
        self.kept[key] = _Kept(bucket.session, bucket.head.serial, bucket.head.stamps[-1], size)
        while len(self.kept) > CACHE_SESSIONS or sum(entry.size for entry in self.kept.values()) > CACHE_BYTES:
            self.kept.popitem(last=False)


CACHE = Cache()


def state_bytes(session: StreamSession) -> int:
    """What a session holds."""
    tables = [*session.pending.tables, session.patterns.kept.table]
    return sum(table.nbytes for table in tables if table is not None)


def holds_nothing(session: StreamSession) -> bool:
    """Whether only counters are left."""
    return not session.pending.parts and not session.patterns.kept.count


class Store:
    """The state of the bucket that Spark has set."""

    def __init__(self, head: Value, log: Values, planned: Planned, fresh: Head, *, timeouts: bool) -> None:
        """`fresh`: the head of a bucket that has none."""
        self.head = head
        self.log = log
        self.planned = planned
        self.fresh = fresh
        self.timeouts = timeouts

    def open(self, key: tuple[Any, ...]) -> Bucket:
        """The session as the last step left it; `key` names it in the cache."""
        kept = CACHE.pop(key)
        try:
            head = self._head(place_of(key))
            if kept is not None and head.knows(kept.serial, kept.stamp):
                session, serial, places = kept.session, kept.serial, None
            else:
                self._refuse_others(head)
                session, places = self._snapshot(head)
                serial = head.first
            for number in range(serial + 1, head.serial + 1):
                Step.unpacked(self._read(head, number)).with_columns(places).on(session)
        except MotifError as error:
            raise MotifError(f"the stream cannot go on from its checkpoint: {error.message}", hint=OTHERWISE) from None
        return Bucket(session, head)

    def save(self, key: tuple[Any, ...], bucket: Bucket, step: Step | None, timer: int | None) -> None:
        """Write what the step has changed; None: everything has."""
        head = bucket.head
        data = None if step is None or holds_nothing(bucket.session) else step.packed()
        after = replace(head, query=self.fresh.query, serial=head.serial + 1, timer=timer)
        if data is None or head.query != after.query or head.is_long_with(len(data)):
            self._forget(head)
            data = bucket.session.dump()
            after = replace(after, stamps=[stamped(data)], pieces=[self._write(after.serial, data)], sizes=[len(data)])
        else:
            pieces = [*head.pieces, self._write(after.serial, data)]
            after = replace(after, stamps=[*head.stamps, stamped(data)], pieces=pieces, sizes=[*head.sizes, len(data)])
        self.head.update((container.pack("head", asdict(after), []),))
        bucket.head = after
        CACHE.put(key, bucket)

    # -- the log

    def _head(self, place: str) -> Head:
        found = self.head.get()
        if found is None:
            return replace(self.fresh, place=place)
        head = container.unpack("head", bytes(found[0]), lambda header, _: Head(**header))
        if head.buckets != self.fresh.buckets:
            raise MotifError(f"its keys are in {head.buckets} buckets, and buckets={self.fresh.buckets} is asked for")
        if head.place != place:
            raise container.refused(f"its files are mixed up: the state of {head.place} lies where {place} has its own")
        return head

    def _refuse_others(self, head: Head) -> None:
        """What the head does not name tells that it is older than the log."""
        named = {(head.first + step, piece) for step, pieces in enumerate(head.pieces) for piece in range(pieces)}
        if others := set(map(tuple, self.log.keys())) - named:
            step = max(others)[0]
            raise container.refused(f"its files are mixed up: its log has a step {step}, and ends with {head.serial}")

    def _snapshot(self, head: Head) -> tuple[StreamSession, list[int] | None]:
        """The session after the first step of the log, and where rows of later steps have the columns it reads."""
        if not head.pieces[0]:
            return StreamSession(self.planned, timeouts=self.timeouts), None
        data = self._read(head, head.first)
        session = StreamSession.load(self.planned, data, timeouts=self.timeouts)
        if head.query == self.fresh.query:
            return session, None
        known = state.load(data).needs.columns
        return session, [known.index(column) for column in needs_of(self.planned).columns]

    def _read(self, head: Head, serial: int) -> bytes:
        pieces = [self.log.getValue((serial, piece)) for piece in range(head.pieces[serial - head.first])]
        if any(piece is None for piece in pieces):
            raise container.refused(f"step {serial} of its log is not there")
        data = b"".join(bytes(piece[0]) for piece in pieces)
        if not head.stamps[serial - head.first].endswith(_check(data)):
            raise container.refused(f"its files are mixed up: step {serial} of its log is not the one that was written")
        return data

    def _write(self, serial: int, data: bytes) -> int:
        places = range(0, len(data), PIECE_BYTES)
        for piece, begin in enumerate(places):
            self.log.updateValue((serial, piece), (data[begin : begin + PIECE_BYTES],))
        return len(places)

    def _forget(self, head: Head) -> None:
        for number, pieces in enumerate(head.pieces):
            for piece in range(pieces):
                self.log.removeKey((head.first + number, piece))
