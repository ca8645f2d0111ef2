"""A process that measures: python benchmarks/worker.py

Reads requests, a line of JSON each, and answers each with another: a list of measurements, or {"refused": why}. The
first answer for a contender and a size is its warm-up; the first of the process also says what starting took.
Only what a contender needs is imported: one with an environment of its own has nothing of ours but this folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contenders import CONTENDERS, Refused, Task, Work
from processes import Measurement, measurement, reset_peaks, tree_cpu

if TYPE_CHECKING:
    from bench import Bench

Request = dict[str, Any]


class Place:
    """One workload at one size, and who is ready for it."""

    def __init__(self, request: Request) -> None:
        self.name: str = request["workload"]
        paths = {name: Path(request["task"][name]) for name in ("file", "scratch")}
        self.task = Task(**request["task"] | paths)
        self.ready: dict[str, Work] = {}

    @cached_property
    def bench(self) -> Bench:
        """For Motif's own contenders."""
        from bench import Bench
        from definitions import load

        return Bench(load()[self.name], self.task.file)

    def start(self, contender: str) -> None:
        """What is not part of the work."""
        if contender not in CONTENDERS:
            self.bench.start(contender)
        elif contender not in self.ready:
            self.ready[contender] = CONTENDERS[contender].prepare(self.task)

    def measure(self, contender: str) -> list[Measurement]:
        """One run."""
        if contender not in CONTENDERS:
            return self.bench.measure(contender)
        work = self.ready[contender]
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        done = work()
        wall = time.perf_counter() - begin
        return [measurement(contender, done.seconds or wall, tree_cpu() - cpu, done.rows)]


class Clock:
    """Seconds until the process was ready, refusals included, and until it had its first answer."""

    def __init__(self) -> None:
        self.start_s = 0.0
        self.has_answered = False

    def answer(self, place: Place, contender: str) -> list[Measurement] | dict[str, str]:
        """What came of it."""
        begin = time.perf_counter()
        try:
            place.start(contender)
        except Refused as refusal:
            self.start_s += time.perf_counter() - begin
            return {"refused": str(refusal)}
        ready = time.perf_counter()
        found = place.measure(contender)
        if not self.has_answered:
            start_s = self.start_s + ready - begin
            found[0] |= {"start_s": start_s, "first_s": start_s + time.perf_counter() - ready}
        self.has_answered = True
        return found


def main() -> None:
    """Answer until there is nothing more to read."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else writes to stdout, Java for one, does not get in the way
    place, place_of, clock = None, None, Clock()
    for line in sys.stdin:
        request = json.loads(line)
        contender = request.pop("contender")
        if place is None or place_of != request:
            place, place_of = Place(request), request
        out.write(json.dumps(clock.answer(place, contender)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
