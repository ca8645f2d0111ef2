"""`motif run --follow`: folders of files as streams on Spark, until Ctrl-C; the same command goes on."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import motif
from motif.cli import checkpoint
from motif.cli.checkpoint import Home, Identity
from motif.cli.events import inputs
from motif.cli.follow_counters import Counters
from motif.cli.follow_inputs import Folder, cause_of, failed_file, near, owner_of, shown, wait_for, with_types
from motif.cli.follow_options import FileFormat, FollowOptions, OnError, folders_of
from motif.cli.follow_screen import Screen, totals
from motif.cli.on_spark import add_view, collected, spark_with, worker_message
from motif.engine.threads import cores
from motif.errors import MotifError
from motif.lang.snoop import is_event_query
from motif.lang.statement import parse_statement
from motif.options import EventOptions, parsed_queries

LOOK_S = 0.25
"""How often the state of the query is asked for."""
NEWS_S = 5.0
"""How often new files are looked at."""
PATIENCE_S = 60.0
"""How long a batch may go on after Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to follow and how."""

    text: str
    tables: Mapping[str, str]
    events: EventOptions
    options: FollowOptions
    output: Path | None
    limit: int
    strategy: str | None = None

    @property
    def of_events(self) -> bool:
        return is_event_query(self.text)

    def folders(self) -> dict[str, Folder]:
        paths = folders_of(self.tables, of_events=self.of_events)
        return {name: Folder(name, path, self.options.format) for name, path in paths.items()}

    @property
    def identity(self) -> Identity:
        """All that decides which matches there are."""
        options = {
            "time": self.events.time,
            "type": self.events.type,
            "order-by": list(self.events.order_by) or None,
            "functions": sorted(self.events.functions) or None,
            "lateness": self.options.how_late,
            "emit": self.options.emit,
            "format": self.options.format and self.options.format.value,
            "columns": self.options.columns,
            "output": self.output and str(self.output.resolve()),
        }
        tables = {name: str(Path(path).resolve()) for name, path in self.tables.items()}
        return Identity(self.text.strip(), tables, options)

    def check(self) -> None:
        """Read the query before Spark is started, which takes a while."""
        self.options.check()
        if self.of_events:
            parsed_queries(self.text, "spark")
            return
        self.events.refuse_for_rows()
        clauses = parse_statement(self.text, "spark").clauses
        if not clauses:
            raise MotifError("there is no MATCH_RECOGNIZE in the statement", hint="leave out --follow for plain SQL")
        names, read = "|".join(map(re.escape, self.folders())), " ".join(c.ctes_sql + c.input_sql for c in clauses)
        if not re.search(names, read, re.IGNORECASE):
            raise MotifError(
                "no MATCH_RECOGNIZE of the statement reads a folder", hint=f"it can read {', '.join(self.folders())}"
            )

    def matches(self, session: Any, frames: Mapping[str, Any]) -> Any:
        """The streaming DataFrame."""
        late, emit = self.options.how_late, self.options.kinds
        if not self.of_events:
            for name, frame in frames.items():
                add_view(name, frame)
            return motif.sql(self.text, spark=session, lateness=late, emit=emit, strategy=self.strategy)
        queries = parsed_queries(self.text, "spark")
        assert isinstance(queries, list)
        given = self.events
        return motif.match(
            inputs(frames, queries),
            self.text,
            time=given.time,
            type=given.type,
            order_by=given.order_by,
            functions=given.functions,
            lateness=late,
            emit=emit,
            on_error="skip" if self.options.on_error is OnError.SKIP else "fail",
            strategy=self.strategy,
        )


def follow(task: Task) -> None:
    """Match what is in the folders and what is added to them."""
    task.check()
    folders = task.folders()
    files = {name: path for name, path in task.tables.items() if name not in folders}
    place = task.options.checkpoint or checkpoint.default_folder(next(iter(folders.values())).path, task.identity)
    settings = {"spark.sql.shuffle.partitions": str(cores()), "spark.sql.streaming.stopTimeout": "30s"}
    with_timeouts = "timeout" in (task.options.kinds or ())
    with checkpoint.opened(place, task.identity) as home, Screen(task.limit, with_timeouts=with_timeouts) as screen:
        screen.busy("starting Spark")
        with spark_with(files, **settings) as session, Interrupts() as interrupts:
            screen.busy("reading columns")
            if _know_columns(task, folders, home, session, screen):
                Run(task, folders, home, session, screen, interrupts).run()


def _know_columns(task: Task, folders: Mapping[str, Folder], home: Home, session: Any, screen: Screen) -> bool:
    """The columns of every folder: as before, or by its files; False if there is nothing to do."""
    for name, folder in folders.items():
        if known := home.columns.get(name):
            folder.kind, folder.any_name = FileFormat(known["format"]), known["any_name"]
            folder.columns = known["columns"]
            continue
        if task.options.once and not folder.infer(session):
            screen.note(f"there is no file with a row in {folder.path} yet; nothing to do")
            return False
        try:
            wait_for(folder, session, lambda: time.sleep(1), screen.note)
        except KeyboardInterrupt:
            screen.note("stopped; nothing was read yet")
            return False
    if task.options.columns and not home.columns:
        with_types(list(folders.values()), task.options.columns, session)
    return True


class Interrupts:
    """Ctrl-C (or SIGTERM): once is a wish, twice an order. As long as nothing runs, once is enough."""

    def __init__(self) -> None:
        self.heard = 0
        self.is_patient = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.heard += 1
        if self.heard > 1 or not self.is_patient:
            raise KeyboardInterrupt


class Batches:
    """What Spark calls with every batch, in a thread of its own."""

    def __init__(self, take: Callable[[Any, int], None], interrupts: Interrupts) -> None:
        self.error: Exception | None = None
        self.is_over = False
        """The batch before is done, and no other one is begun."""
        self._take = take
        self._interrupts = interrupts

    def __call__(self, frame: Any, number: int) -> None:
        if self._interrupts.heard:
            self.is_over = True
            raise InterruptedError("stopped between two batches")
        try:
            self._take(frame, number)
        except Exception as error:
            self.error = error
            raise


@dataclass(slots=True)
class Run:
    """One run of the query."""

    task: Task
    folders: Mapping[str, Folder]
    home: Home
    session: Any
    screen: Screen
    interrupts: Interrupts

    def run(self) -> None:
        frames = {name: folder.stream(self.session) for name, folder in self.folders.items()}
        matches = self.task.matches(self.session, frames)
        self.home.begin(
            {
                name: {"format": folder.kind, "any_name": folder.any_name, "columns": folder.columns}
                for name, folder in self.folders.items()
            }
        )
        counters = Counters(self.home.counters)
        self._say_what(counters)
        batches = Batches(self._taker(), self.interrupts)
        query = self._start(matches, batches)
        self.screen.busy("waiting for events")
        self.interrupts.is_patient = True
        self._watch(query, batches, counters)
        self._finish(query, batches, counters)

    def _say_what(self, counters: Counters) -> None:
        for folder in self.folders.values():
            self.screen.note(f"following {folder.path} as {folder.name} ({folder.kind}: {shown(folder.columns)})")
        self.screen.note(f"checkpoint: {near(self.home.folder)}")
        if self.home.columns:
            self.screen.note(f"going on after {totals(counters.status)}")

    def _taker(self) -> Callable[[Any, int], None]:
        if self.task.output is None:
            return lambda frame, _: self.screen.matches(collected(frame))
        from motif.hosts.spark.sink import sink

        return sink(str(self.task.output.resolve()))

    def _start(self, matches: Any, batches: Batches) -> Any:
        from motif.hosts.spark.types import message_and_hint

        options = self.task.options
        when: dict[str, Any] = (
            {"availableNow": True} if options.once else {"processingTime": f"{options.milliseconds} milliseconds"}
        )
        writer = matches.writeStream.foreachBatch(batches).trigger(**when)
        try:
            return writer.option("checkpointLocation", str(self.home.spark)).start()
        except MotifError:
            raise
        except Exception as error:  # noqa: BLE001 - Spark refuses what it cannot do in a stream
            message, hint = message_and_hint(str(error))
            advice = "leave that out of the statement: matches of a stream come as they are decided"
            raise MotifError(f"Spark cannot run this as a stream: {message}", hint=hint or advice) from None

    # -- while it runs

    def _watch(self, query: Any, batches: Batches, counters: Counters) -> None:
        looked = asked = 0.0
        while query.isActive:
            now = time.monotonic()
            if now - looked > NEWS_S:
                looked = now
                for text in (text for folder in self.folders.values() for text in folder.news()):
                    self.screen.note(f"note: {text}")
            self._count(query, counters)
            if self.interrupts.heard:
                asked = asked or now
                if batches.is_over or not query.status["isTriggerActive"] or now - asked > PATIENCE_S:
                    return
                if asked == now:
                    self.screen.note("stopping after this batch; Ctrl-C again stops at once")
            time.sleep(LOOK_S)

    def _count(self, query: Any, counters: Counters) -> None:
        if counters.read(query):
            self.home.count(counters.reports)
            self.screen.status(counters.status, counters.seconds)

    def _finish(self, query: Any, batches: Batches, counters: Counters) -> None:
        failure = query.exception()
        with suppress(Exception):  # a batch that does not end in time is repeated by the next run
            query.stop()
        self._count(query, counters)
        if isinstance(batches.error, BrokenPipeError):
            _let_go_of_output()
        elif failure is not None and not batches.is_over:
            raise self._explained(batches.error or failure)
        self._say_end(counters)

    def _explained(self, error: Exception) -> MotifError:
        """What went wrong, without the pages that Spark writes."""
        text = str(error)
        if message := text if isinstance(error, MotifError) else worker_message(text):
            is_theirs = message.startswith("function ") and "hint:" not in message
            return MotifError(message, hint="--on-error skip leaves such events out" if is_theirs else None)
        cause, path = cause_of(text), failed_file(text)
        if path is not None and (folder := owner_of(self.folders, path)):
            return folder.misfit(self.session, path, cause)
        return MotifError(
            f"the stream failed: {cause}", hint="the same command goes on from the last batch it has done"
        )

    def _say_end(self, counters: Counters) -> None:
        status = counters.status
        word = "done" if self.task.options.once and not self.interrupts.heard else "stopped"
        self.screen.note(f"{word}: {totals(status)}")
        if kept := status.live + status.waiting:
            self.screen.note(f"kept for matches to come: {kept:,} event{'' if kept == 1 else 's'}")
        self.screen.note("the same command goes on from here")


def _let_go_of_output() -> None:
    """Who read the matches is gone, as in `motif run ... | head`; Python would complain about it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
