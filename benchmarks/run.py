"""Run the benchmarks: python benchmarks/run.py [--quick] [--largest] [--in-process] [--only NAME] [--contender NAME]

Every contender has a process of its own (those of Spark share one, those of Flink, and those of a cold start). They
take turns, A B A B, after a warm-up each; only one works at a time. A wrong answer or a failure gives exit status 1;
to refuse a question, or to take too long, is a result.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from definitions import HERE, Point, Workload, load
from figures import print_tables, summarize
from generators import DATA
from pool import Failure, Pool, Refusal, Row, TooLong, python, request
from report import write_report
from results import KEPT, has_figures, machine, store
from side_by_side import IN_PROCESS

DISTRIBUTED = ("spark", "flink")
"""How the names of those begin that are not in process."""
SLOW_S = 20
"""A contender that takes longer is measured once only; its warm-up is that run."""
STARTS = ("start_s", "first_s")
"""What only the first run in a process knows: seconds until it was ready, and until it had answered."""
QUICK_REPEATS = 2
"""The short form measures at most so often."""
ENOUGH_S, MOST_REPEATS = 1.0, 11
"""Contenders that take milliseconds are measured until they ran so long, or so often: three runs would be noise."""
TRANSPORT = ("duckdb", "cold duckdb", "spark sort", "spark exchange", "spark read", "spark files")
"""Floors: they hand over every row."""


class Question:
    """A workload, and what is known by now of its contenders."""

    def __init__(self, workload: Workload, pool: Pool, form: argparse.Namespace) -> None:
        self.workload = workload
        self.pool = pool
        self.quick: bool = form.quick
        sizes = workload.points(quick=form.quick)
        self.sizes = sizes[-1:] if form.largest else sizes
        asked = [name for name in workload.contenders if form.contender in name]
        self.contenders = [name for name in asked if not (form.in_process and name.startswith(DISTRIBUTED))]
        self.failures: list[str] = []
        self.slow: dict[str, str] = {}
        """Contenders that took too long, and at which size."""

    def run(self, point: Point) -> list[Row]:
        """All measurements at one size."""
        self.workload.file(point)
        rows = list(self._left_out(point))
        asked = [name for name in self.contenders if name not in {row["contender"] for row in rows}]
        starts: dict[str, Row] = {}
        spent = dict.fromkeys(asked, 0.0)
        for repeat in range(self._most_repeats(point) + 1):
            for contender in list(asked):
                answer = self._ask(point, contender, repeat)
                if not has_figures(answer[0]):
                    rows = [row for row in rows if row["contender"] != contender] + answer
                elif repeat == 0 and not is_slow(answer):
                    starts[contender] = {name: answer[0][name] for name in STARTS if name in answer[0]}
                else:
                    rows += [row | starts.get(contender, {}) for row in answer]
                    spent[contender] += answer[0]["wall_s"]
                is_known = repeat >= self._repeats(point) and spent[contender] > ENOUGH_S
                if is_known or not has_figures(answer[0]) or is_slow(answer):
                    asked.remove(contender)
        self.pool.next_size()
        return rows

    def compile(self) -> None:
        """Let Motif search the largest table first: smaller ones then find its loops on disk, on any machine."""
        own = [name for name in self.contenders if name in IN_PROCESS]
        if own and len(self.sizes) > 1:
            self.workload.file(self.sizes[-1])
            self._ask(self.sizes[-1], own[0], 0)
            self.pool.next_size()

    def compare(self, point: Point) -> None:
        """The whole answer at a small size, compared with one computed otherwise."""
        self._ask(point, "agrees", 0)
        self.pool.next_size()

    def _repeats(self, point: Point) -> int:
        repeats = point.repeats or self.workload.repeats
        return min(repeats, QUICK_REPEATS) if self.quick else repeats

    def _most_repeats(self, point: Point) -> int:
        return self._repeats(point) if self.quick else max(self._repeats(point), MOST_REPEATS)

    def _left_out(self, point: Point) -> Iterator[Row]:
        """Contenders that are not asked at this size, with the reason."""
        for contender in self.contenders:
            reason = self.slow.get(contender) or self.workload.limit(contender, point)
            if not Path(python(contender)).exists():
                reason = "not installed: make bench-envs"
            if reason:
                yield self._place(point, 0) | {"contender": contender, "left_out": reason}

    def _ask(self, point: Point, contender: str, repeat: int) -> list[Row]:
        """One run; a refusal and a run without end are lines, too. Repeat 0 is the warm-up."""
        place = self._place(point, repeat)
        try:
            worker = self.pool.worker(contender)
            if repeat and contender not in worker.warm:  # its process had to be started again
                worker.measure(request(self.workload, point, contender))
            answer = worker.measure(request(self.workload, point, contender))
            for measured in answer:
                check(self.workload, point, measured)
            return [place | measured for measured in answer]
        except Refusal as refusal:
            # What it says at one size it says at all.
            self.contenders.remove(contender)
            return [place | {"contender": contender, "refused": str(refusal)}]
        except TooLong as limit:
            self.pool.end(contender)
            self.slow[contender] = f"{limit} at {point.rows:,} rows"
            return [place | {"contender": contender, "left_out": str(limit)}]
        except Failure as failure:
            self.pool.end(contender)
            self.failures.append(f"{self.workload.name}: {failure}")
            print(f"  FAILED {failure}", file=sys.stderr, flush=True)
            return [place | {"contender": contender, "left_out": "failed"}]

    def _place(self, point: Point, repeat: int) -> Row:
        return {"workload": self.workload.name, "rows": point.rows, "keys": point.keys, "repeat": repeat}


def is_slow(answer: list[Row]) -> bool:
    """Whether one run is enough."""
    return bool(answer[0]["wall_s"] > SLOW_S)


def check(workload: Workload, point: Point, measured: Row) -> None:
    """The right number of rows in the answer, where it was counted."""
    wanted = point.crossing or point.rows if is_transport(workload, measured["contender"]) else point.expect
    if measured["answer"] is not None and measured["answer"] != wanted:
        raise Failure(f"{measured['contender']} gave {measured['answer']} rows at {point}, expected {wanted}")


def is_transport(workload: Workload, contender: str) -> bool:
    """Contenders that hand over every row."""
    is_counting = contender in ("handed", "flink-scan") or contender.startswith("spark state")
    return is_counting or (contender in TRANSPORT and bool(workload.floor_sql))


def run_workload(question: Question) -> list[Row]:
    """All sizes."""
    workload, sizes, rows = question.workload, question.sizes, []
    small = [workload.small] if workload.small is not None and sizes else []
    question.compile()
    for point in (*small, *sizes):
        size = f"{point.rows:,} rows, {point.keys:,} {workload.keys_are}"
        begin = time.perf_counter()
        if point in small:
            question.compare(point)
        else:
            rows += question.run(point)
        took = f"{time.perf_counter() - begin:.0f} s"
        print(f"{workload.name}, {size}{', compared' * (point in small)}: {took}", file=sys.stderr, flush=True)
    return rows


def main() -> int:
    """Run, keep, show; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes where a workload has them")
    parser.add_argument("--largest", action="store_true", help="of each workload the largest size only")
    parser.add_argument("--in-process", action="store_true", help="without Spark and Flink")
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    parser.add_argument("--contender", default="", help="contenders whose name contains this")
    arguments = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    rows: list[Row] = []
    failures: list[str] = []
    facts, begin = machine(quick=arguments.quick), time.perf_counter()
    path = KEPT
    with Pool() as pool:
        for workload in load().values():
            if arguments.only in workload.name:
                question = Question(workload, pool, arguments)
                rows += run_workload(question)
                failures += question.failures
                if rows:
                    path = store(rows, facts)  # each time: a run of hours may be cut short
                if not arguments.quick:
                    pool.close()  # the short form keeps Spark and Flink, whose start would be most of it
    measured = [row for row in rows if has_figures(row)]
    if measured:
        print_tables(summarize(measured))
        print(f"kept in {path.relative_to(HERE.parent)} after {time.perf_counter() - begin:.0f} s")
        if path.parent == KEPT:
            write_report()
        else:
            print("the tree is not that of a commit, so no page shows these figures")
    print("\n".join(f"FAILED {line}" for line in failures), end="\n" * bool(failures))
    return 1 if failures or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
