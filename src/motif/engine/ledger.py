"""What a run does, counted step by step where somebody asks for it. Nothing is decided by what is written here."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

import pyarrow as pa

from motif.engine.budget import size_of
from motif.engine.threads import on_threads
from motif.plan.physical.ran import Counted, Level, Work

T = TypeVar("T")
LevelKey = tuple[int, int, str]
"""The way, the level, and the variable that it binds."""
_NOTHING = nullcontext()


class Sized(Protocol):
    """Rows or matches, of which there are so many."""

    def __len__(self) -> int: ...


class Silent:
    """Writes nothing: of runs that nobody asks about."""

    is_asked = False

    def step(self, work: Work) -> AbstractContextManager[None]:  # noqa: ARG002 - as a ledger takes it
        """What is done within belongs to this step."""
        return _NOTHING

    def each(self, work: Work, parts: Iterable[T]) -> Iterable[T]:  # noqa: ARG002
        """The same parts; to make each of them belongs to this step."""
        return parts

    def on_threads(self, work: Work, part: Callable[[int], T], parts: int) -> list[T]:  # noqa: ARG002
        """See `threads.on_threads`: threads do parts of a step while the one that asks waits for them."""
        return on_threads(part, parts)

    def took(self, work: Work, rows: Sized) -> None:
        """A step took these rows."""

    def gave(self, work: Work, rows: Sized) -> None:
        """A step gave these rows."""

    def tried(self, steps: int) -> None:
        """So many more steps of the search, or of the join."""

    def candidates(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """So many more events that variables may bind."""

    def level(self, key: LevelKey, found: int, tried: int, passed: int) -> None:
        """So many more candidates of a level of a join, those that were tried, and those that passed its tests."""


SILENT = Silent()


class Ledger(Silent):
    """Writes down what each step takes, gives and costs; threads share it."""

    is_asked = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[Work, _Entry] = {}
        self._at = _At()
        self._levels: dict[LevelKey, list[int]] = {}

    @contextmanager
    def step(self, work: Work) -> Iterator[None]:
        outer = self._at.work  # its time goes on behind this step
        self._turn(work)
        try:
            yield
        finally:
            self._turn(outer)

    def each(self, work: Work, parts: Iterable[T]) -> Iterator[T]:
        found = iter(parts)
        while True:
            with self.step(work):
                try:
                    part = next(found)
                except StopIteration:
                    return
            yield part

    def on_threads(self, work: Work, part: Callable[[int], T], parts: int) -> list[T]:
        def counted(number: int) -> T:
            with self.step(work):
                return part(number)

        outer = self._at.work
        self._turn(None)
        try:
            return on_threads(counted, parts)
        finally:
            self._turn(outer)

    def took(self, work: Work, rows: Sized) -> None:
        with self._lock:
            self._entry(work).add("rows_in", len(rows))

    def gave(self, work: Work, rows: Sized) -> None:
        with self._lock:
            self._entry(work).add("rows_out", len(rows))
            if isinstance(rows, pa.Table | pa.RecordBatch):
                self._entry(work).add("bytes", size_of(rows))

    def tried(self, steps: int) -> None:
        with self._lock:
            self._entry(Work.MATCH).add("tried", steps)

    def candidates(self, counts: Callable[[], Mapping[str, int]]) -> None:
        found = counts()
        with self._lock:
            self._entry(Work.MATCH).candidates.update(found)

    def level(self, key: LevelKey, found: int, tried: int, passed: int) -> None:
        with self._lock:
            before = self._levels.get(key, [0, 0, 0])
            self._levels[key] = [a + b for a, b in zip(before, (found, tried, passed), strict=True)]

    def levels(self) -> tuple[Level, ...]:
        """What the levels of joins did, way after way."""
        with self._lock:
            return tuple(Level(*key, *self._levels[key]) for key in sorted(self._levels))

    def counted(self) -> tuple[Counted, ...]:
        """What was written so far, in the order of the work."""
        with self._lock:
            return tuple(self._entries[work].counted(work) for work in Work if work in self._entries)

    def _entry(self, work: Work) -> _Entry:
        return self._entries.setdefault(work, _Entry())

    def _turn(self, work: Work | None) -> None:
        """This thread is at other work from now on."""
        now, at = time.perf_counter(), self._at
        with self._lock:
            if at.work is not None:
                self._entry(at.work).leave(now, now - at.since)
            if work is not None:
                self._entry(work).enter(now)
        at.work, at.since = work, now


class _At(threading.local):
    """What a thread is at."""

    work: Work | None = None
    since = 0.0


class _Entry:
    """One step of a ledger."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.candidates: Counter[str] = Counter()
        self.seconds = self.wall = self.since = 0.0
        self.threads = 0

    def add(self, name: str, count: int) -> None:
        self.sums[name] = self.sums.get(name, 0) + count

    def enter(self, now: float) -> None:
        self.threads += 1
        if self.threads == 1:
            self.since = now

    def leave(self, now: float, seconds: float) -> None:
        self.threads -= 1
        self.seconds += seconds
        if self.threads == 0:
            self.wall += now - self.since

    def counted(self, work: Work) -> Counted:
        return Counted(
            work,
            rows_in=self.sums.get("rows_in"),
            rows_out=self.sums.get("rows_out"),
            bytes=self.sums.get("bytes"),
            seconds=self.seconds,
            wall_seconds=self.wall,
            tried=self.sums.get("tried"),
            candidates=dict(self.candidates),
        )
