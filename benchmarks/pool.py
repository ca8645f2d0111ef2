"""Processes that run contenders when told to, seen from the runner."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from contenders import CONTENDERS
from definitions import HERE, Point, Workload
from generators import DATA
from processes import tree_cpu

SOURCE = HERE.parent / "src"
"""Motif as it is here, whatever is installed."""
LONGEST_S = 120
"""One run of one contender may take this long."""
SHARED = ("spark", "flink")
"""Groups whose process is too dear to be started for every size: a JVM each."""
REST_S, LONGEST_REST_S = 0.05, 3.0
"""A JVM compiles and collects after its answer: who is next waits until it takes half of a core at most, or so long."""
Row = dict[str, Any]


class Failure(Exception):
    """A worker that did not answer, or not rightly."""


class TooLong(Exception):
    """A contender that would not come to an end."""


class Refusal(Exception):
    """What the contender says instead of an answer."""


def group(contender: str) -> str:
    """Those with the same one share a process: "spark motif" and "spark sort" do, "motif" and "duckdb" do not."""
    known = CONTENDERS.get(contender)
    return (known.environment if known else "") or contender.split(maxsplit=1)[0]


def python(contender: str) -> str:
    """The interpreter of its environment."""
    return CONTENDERS[contender].python(sys.executable) if contender in CONTENDERS else sys.executable


class Worker:
    """One process."""

    def __init__(self, contender: str, source: Path = SOURCE, cache: Path = DATA / "cache") -> None:
        environment = os.environ | {
            "MOTIF_CACHE": str(cache),
            "PYTHONPATH": os.pathsep.join((str(HERE), str(source))),
            "PYTHONWARNINGS": "ignore",
        }
        self.warm: set[str] = set()
        """Contenders that have run here at the present size."""
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            [python(contender), str(HERE / "worker.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def measure(self, request: Row) -> list[Row]:
        """One run."""
        contender = request["contender"]
        if self.process.stdin is None or self.process.stdout is None:
            raise Failure("no pipes")
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(LONGEST_S):
                raise TooLong(f"over {LONGEST_S} s")
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise Failure(f"{contender} failed: {self.log.read()[-2000:]}")
        answer: list[Row] | dict[str, str] = json.loads(line)
        if isinstance(answer, dict):
            raise Refusal(answer["refused"])
        self.warm.add(contender)
        return answer

    def rest(self) -> None:
        """Wait until it has stopped working."""
        end, before = time.monotonic() + LONGEST_REST_S, tree_cpu(self.process.pid)
        while time.monotonic() < end:
            time.sleep(REST_S)
            now = tree_cpu(self.process.pid)
            if now - before < REST_S / 2:
                return
            before = now

    def close(self) -> None:
        """Let it end; it has some seconds for that."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.log.close()

    def kill(self) -> None:
        """End it and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Pool:
    """The processes that are there, by group."""

    def __init__(self) -> None:
        self.workers: dict[str, Worker] = {}
        self.last: str | None = None
        """The group that was asked last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def worker(self, contender: str) -> Worker:
        """Its process, started where there is none, once the one that was asked last has stopped working."""
        name = group(contender)
        if self.last in SHARED and self.last != name and self.last in self.workers:
            self.workers[self.last].rest()
        self.last = name
        if name not in self.workers:
            self.workers[name] = Worker(contender)
        return self.workers[name]

    def end(self, contender: str) -> None:
        """Its process has failed, or does not come to an end."""
        worker = self.workers.pop(group(contender))
        worker.kill()
        worker.close()

    def next_size(self) -> None:
        """Only what is dear to start stays; nothing is warm any more."""
        for name in [name for name in self.workers if name not in SHARED]:
            self.workers.pop(name).close()
        for worker in self.workers.values():
            worker.warm.clear()

    def close(self) -> None:
        """End all."""
        for name in list(self.workers):
            self.workers.pop(name).close()


def request(workload: Workload, point: Point, contender: str) -> Row:
    """What a worker reads."""
    task = {
        name: str(value) if isinstance(value, Path) else value for name, value in asdict(workload.task(point)).items()
    }
    return {"contender": contender, "workload": workload.name, "task": task}
