"""What became faster or slower since a commit: python benchmarks/compare.py --base COMMIT [--quick] [--only NAME]

Old and new code run in turns on the same tables, each in a process of its own, told apart by PYTHONPATH alone. The
benchmarks are those of this tree. In process unless `--only` names Spark. Exit status 1: a
side failed, or answers differ.
"""

from __future__ import annotations

import argparse
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any, Self

from definitions import HERE, Point, Workload, load
from generators import DATA
from pool import SOURCE, Failure, Refusal, TooLong, Worker, request

SIDES = ("old", "new")
IN_PROCESS = ("motif", "match", "pushed", "latency")
ON_SPARK = ("spark motif", "spark motif rows", "spark match", "spark stream")
QUICK = ("in-process/", "events/", "streams/")
NOTED = 1.05
"""Ratios within that are noise."""
TURN_S = 0.25
"""A turn asks so often that it takes so long, for the clock of CPU time ticks every 10 ms."""
FEWEST, MOST = 2, 9
"""Turns of a comparison."""
ALL_S, QUICK_ALL_S = 1800.0, 240.0
"""Seconds for all comparisons: what is left is shared by those that are to come, and none begins after that."""
LONG_S = 1.0
"""An answer that takes longer is warm after one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Seconds for one answer, the mean of a turn."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One of Motif's contenders at one size, by old and by new code."""

    title: str
    turns: dict[str, list[Turn]]

    def seconds(self, side: str, clock: str) -> tuple[float, float]:
        """The least and the median."""
        values = [getattr(turn, clock) for turn in self.turns[side]]
        return min(values), median(values)

    def ratios(self, clock: str) -> tuple[float, float]:
        """New over old, of the least and of the median."""
        old, new = (self.seconds(side, clock) for side in SIDES)
        least, middle = (max(b, 1e-9) / max(a, 1e-9) for a, b in zip(old, new, strict=True))
        return least, middle

    @property
    def verdict(self) -> str:
        """By which clocks it changed by more than noise: least, median and nearly each turn must say so."""
        said = []
        for clock in ("wall", "cpu"):
            ratios = self.ratios(clock)
            if min(ratios) > NOTED and self._agree(clock, 1):
                said.append(f"{clock} SLOWER")
            elif max(ratios) < 1 / NOTED and self._agree(clock, -1):
                said.append(f"{clock} faster")
        return ", ".join(said)

    def _agree(self, clock: str, sign: int) -> bool:
        """Whether old and new code differ that way in nearly each turn: by chance they would in half of them."""
        pairs = zip(*(self.turns[side] for side in SIDES), strict=True)
        against = sum((getattr(new, clock) - getattr(old, clock)) * sign <= 0 for old, new in pairs)
        return len(self.turns["new"]) >= 5 and against <= len(self.turns["new"]) // 8

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        figures = []
        for clock in ("wall", "cpu"):
            figures += [" / ".join(f"{value:.3g}" for value in self.seconds(side, clock)) for side in SIDES]
            figures.append(" / ".join(f"{ratio:.2f}" for ratio in self.ratios(clock)))
        return (self.title, str(len(self.turns["new"])), *figures, self.verdict)


class Sides:
    """A process for old code and one for new code."""

    def __init__(self, sources: dict[str, Path]) -> None:
        self.sources = sources
        self.workers: dict[str, Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End both."""
        for side in list(self.workers):
            self.workers.pop(side).close()

    def ask(self, side: str, asked: dict[str, Any]) -> dict[str, Any]:
        """One answer."""
        if side not in self.workers:
            self.workers[side] = Worker(asked["contender"], self.sources[side])
        try:
            return self.workers[side].measure(dict(asked))[0]
        except (Failure, Refusal, TooLong) as error:
            worker = self.workers.pop(side)
            worker.kill()
            worker.close()
            raise Failure(f"{side} code: {str(error).strip().splitlines()[-1]}") from error

    def turn(self, side: str, asked: dict[str, Any], times: int) -> Turn:
        """The mean of some answers."""
        answers = [self.ask(side, asked) for _ in range(times)]
        return Turn(*(sum(answer[name] for answer in answers) / times for name in ("wall_s", "cpu_s")))

    def compare(self, workload: Workload, point: Point, contender: str, share_s: float) -> Compared:
        """In turns, the one that begins changing, too; first each answers twice, to be warm."""
        asked = request(workload, point, contender)
        begin = time.monotonic()
        warm = {side: self.ask(side, asked) for side in SIDES}
        if any(answer["wall_s"] < LONG_S for answer in warm.values()):
            warm = {side: self.ask(side, asked) for side in SIDES}
        answers = {side: answer["answer"] for side, answer in warm.items()}
        if len(set(answers.values())) > 1:
            raise Failure(f"answers differ: {answers}")
        times = math.ceil(TURN_S / max(1e-3, min(answer["wall_s"] for answer in warm.values())))
        found: dict[str, list[Turn]] = {side: [] for side in SIDES}
        for number in range(MOST):
            if number >= FEWEST and time.monotonic() - begin > share_s:
                break
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                found[side].append(self.turn(side, asked, times))
        return Compared(f"{workload.name} {contender}, {point.rows:,} rows, {point.keys:,} {workload.keys_are}", found)


def asked(form: argparse.Namespace) -> Iterator[tuple[Workload, Point, str]]:
    """What is compared: of each workload the largest size of the form."""
    contenders = ON_SPARK if "spark" in form.only else IN_PROCESS
    for workload in load().values():
        sizes = workload.points(quick=form.quick)[-1:]
        is_asked = form.only in workload.name and (form.only or not form.quick or workload.name.startswith(QUICK))
        for point in sizes if is_asked else ():
            yield from ((workload, point, name) for name in contenders if name in workload.contenders)


def in_turns(found: Iterable[tuple[Workload, Point, str]]) -> list[tuple[Workload, Point, str]]:
    """One of each kind after the other: where time is short, it is short for all kinds."""
    kinds: dict[str, list[tuple[Workload, Point, str]]] = {}
    for each in found:
        kinds.setdefault(each[0].name.partition("/")[0], []).append(each)
    return [each for some in zip_longest(*kinds.values()) for each in some if each is not None]


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A worktree of a commit, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="motif-base-") as folder:
        place = Path(folder) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            yield place
        finally:
            with suppress(subprocess.CalledProcessError):
                git("worktree", "remove", "--force", str(place))


def git(*arguments: str) -> str:
    """Its answer."""
    return subprocess.run(["git", *arguments], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def table(compared: list[Compared]) -> str:
    """Least / median of the turns, in seconds, and ratios of new over old."""
    head = ("question", "turns", "old wall", "new wall", "ratio", "old CPU", "new CPU", "ratio", "beyond 5 %")
    lines = [head, *(each.cells for each in compared)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def main() -> int:
    """Compare, show; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", required=True, help="the commit of the old code")
    parser.add_argument("--quick", action="store_true", help="in process, events and streams, smaller sizes")
    parser.add_argument("--only", default="", help="workloads whose name contains this; spark/ for Spark")
    form = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the worktree goes in any case
    try:
        base = git("rev-parse", "--short", f"{form.base}^{{commit}}")
    except subprocess.CalledProcessError:
        print(f"{form.base} is no commit", file=sys.stderr)
        return 1
    compared: list[Compared] = []
    failures: list[str] = []
    left_out: list[str] = []
    begin = time.monotonic()
    with (
        checked_out(base) as old,
        Sides({"old": old / "src", "new": SOURCE}) as sides,
    ):
        todo = in_turns(asked(form))
        for number, (workload, point, contender) in enumerate(todo):
            left_s = (QUICK_ALL_S if form.quick else ALL_S) - (time.monotonic() - begin)
            if left_s <= 0:
                left_out.append(f"{workload.name} {contender}")
                continue
            try:
                compared.append(sides.compare(workload, point, contender, left_s / (len(todo) - number)))
                print("  ".join(filter(None, (compared[-1].title, compared[-1].verdict))), file=sys.stderr, flush=True)
            except Failure as failure:
                failures.append(f"{workload.name} {contender}: {failure}")
                print(f"FAILED {failures[-1]}", file=sys.stderr, flush=True)
    if compared:
        print(f"old: {base}, new: the tree as it is; seconds, least / median of the turns; ratios are new over old\n")
        print(table(compared))
        noted = [each for each in compared if each.verdict]
        for clock in ("wall", "cpu"):
            mean = math.exp(sum(math.log(each.ratios(clock)[0]) for each in compared) / len(compared))
            print(f"\nall, {clock}: {mean:.3f}x of old (geometric mean of the least)", end="")
        print(f"\nbeyond 5 %: {len(noted)} of {len(compared)}, after {time.monotonic() - begin:.0f} s")
        if left_out:
            print(f"not compared, for lack of time (ONLY=...): {', '.join(left_out)}")
    print("\n".join(f"FAILED {line}" for line in failures), end="\n" * bool(failures))
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
