"""Run the benchmarks: python benchmarks/run.py [--quick] [--only NAME]

Every contender has a process of its own (those of Spark share one session, those of a cold start one parent). They
take turns, A B A B, after a warm-up each; only one works at a time. A wrong answer or a failure gives exit status 1.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.metadata
import json
import os
import platform
import selectors
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from definitions import HERE, Point, Workload, load
from generators import DATA
from report import print_tables, summarize, write_report

LONGEST_S = 300
"""One run of one contender may take this long."""
PACKAGES = ("duckdb", "pyarrow", "numpy", "numba", "pyspark")
Row = dict[str, Any]


class Failure(Exception):
    """A worker that did not answer, or not rightly."""


class Worker:
    """A process that runs contenders when told to."""

    def __init__(self, workload: Workload, point: Point) -> None:
        command = [sys.executable, str(HERE / "worker.py"), workload.name, str(point.rows), str(point.keys)]
        environment = os.environ | {"MOTIF_CACHE": str(DATA / "cache"), "PYTHONPATH": str(HERE)}
        self.log = (DATA / "worker.log").open("w+")
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def measure(self, contender: str) -> list[Row]:
        """One run."""
        if self.process.stdin is None or self.process.stdout is None:
            raise Failure("no pipes")
        self.process.stdin.write(contender + "\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(LONGEST_S):
                raise Failure(f"{contender} took more than {LONGEST_S} s")
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise Failure(f"{contender} failed: {self.log.read()[-2000:]}")
        answer: list[Row] = json.loads(line)
        return answer

    def close(self) -> None:
        """End it and all it started."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


def run_point(workload: Workload, point: Point) -> list[Row]:
    """All measurements of a workload at one size."""
    workload.file(point)
    workers: dict[str, Worker] = {}
    found: list[Row] = []
    try:
        for repeat in range((point.repeats or workload.repeats) + 1):
            for contender in workload.contenders:
                # "spark motif" and "spark sort" share a process, "motif" and "duckdb" do not.
                group = contender.split()[0]
                if group not in workers:
                    workers[group] = Worker(workload, point)
                for measured in workers[group].measure(contender):
                    check(workload, point, measured)
                    if repeat:
                        place = {"workload": workload.name, "rows": point.rows, "keys": point.keys, "repeat": repeat}
                        found.append(place | measured)
    finally:
        for worker in workers.values():
            worker.close()
    return found


def check(workload: Workload, point: Point, measured: Row) -> None:
    """The right number of rows in the answer, where it was counted."""
    wanted = point.crossing or point.rows if is_transport(workload, measured["contender"]) else point.expect
    if measured["answer"] is not None and measured["answer"] != wanted:
        raise Failure(f"{measured['contender']} gave {measured['answer']} rows at {point}, expected {wanted}")


def is_transport(workload: Workload, contender: str) -> bool:
    """Contenders that hand over every row."""
    known = {"duckdb", "cold duckdb", "spark sort", "spark exchange"}
    is_counting = contender == "handed" or contender.startswith("spark state")
    return is_counting or (contender in known and bool(workload.floor_sql))


def run_small(workload: Workload, point: Point) -> None:
    """The whole answer at a small size, compared with one computed otherwise."""
    workload.file(point)
    worker = Worker(workload, point)
    try:
        check(workload, point, worker.measure("agrees")[0])
    finally:
        worker.close()


def machine() -> Row:
    """What the figures depend on."""
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    )
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cpu": cpu.partition(":")[2].strip(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "java": java[0].split('"')[1] if java else "",
    }


def engine() -> str:
    """What was measured, whether committed or not: a hash of Motif's own source."""
    files = sorted((HERE.parent / "src" / "motif").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def store(rows: list[Row], facts: Row) -> Path:
    """One line per measurement."""
    folder = HERE / "results" / facts["date"][:10]
    folder.mkdir(parents=True, exist_ok=True)
    path: Path = folder / f"{facts['date'][11:19].replace(':', '')}.csv"
    measured = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*measured, *facts])
        writer.writeheader()
        for row in rows:
            rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
            writer.writerow(rounded | facts)
    return path


def main() -> int:
    """Run, show, keep; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes where a workload has them")
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    arguments = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    rows: list[Row] = []
    failures: list[str] = []
    before = engine()
    for workload in load().values():
        if arguments.only not in workload.name:
            continue
        small = [] if workload.small is None else [workload.small]
        for point in (*small, *workload.points(quick=arguments.quick)):
            size = f"{point.rows:,} rows, {point.keys:,} {workload.keys_are}"
            print(f"{workload.name}, {size}{', compared' * (point in small)}", file=sys.stderr, flush=True)
            try:
                if point in small:
                    run_small(workload, point)
                else:
                    rows += run_point(workload, point)
            except Failure as failure:
                failures.append(f"{workload.name}: {failure}")
                print(f"  FAILED {failure}", file=sys.stderr, flush=True)
    if rows:
        after = engine()
        facts = machine() | {"engine": before if before == after else f"{before} CHANGED DURING THE RUN to {after}"}
        facts |= {"quick": int(arguments.quick), "load": round(os.getloadavg()[2], 1)}
        print_tables(summarize(rows))
        print(f"kept in {store(rows, facts).relative_to(HERE.parent)}")
        if not arguments.only and not failures:
            write_report()
    print("\n".join(f"FAILED {line}" for line in failures), end="\n" * bool(failures))
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
