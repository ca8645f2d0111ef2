"""`kill -9` at random moments: what a stream has written in the end is what a batch over the same events gives.

`python -m motif.testing.kills --kills 30` starts a stream over a folder of files on Spark, kills its driver or its
Python workers again and again, starts it anew from its checkpoint, and compares in the end: nothing lost, nothing
twice, nothing else. A start that fails without a kill counts as a difference, too. `--to` says where matches go.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset

import motif

SCHEMA = "ts timestamp, type string, k long, v double"
LATENESS = "5 seconds"
QUERIES = {
    "unanswered": "SELECT a.k, a.v FROM SEQ(A a; NOT B b) WHERE [k] WITHIN 8 s",
    "consumed": "SELECT a.k, a.v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v WITHIN 20 s CONSUMING ALL",
    "rising": "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(A.v) AS low, LAST(B.v) AS high, COUNT(*) AS n"
    " PATTERN (A B+) WITHIN INTERVAL '30' SECOND DEFINE B AS v > PREV(v))",
}
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FILES, EVENTS, KEYS = 24, 60, 12
MOST_FAILURES = 10
"""So many starts that fail without a kill end a campaign."""


def write_files(folder: Path, rng: random.Random) -> pa.Table:
    """Events out of order within the lateness, in files; the last event moves time past every deadline."""
    rows = []
    for number in range(FILES * EVENTS):
        at = START + dt.timedelta(milliseconds=250 * number + rng.randrange(0, 4000))
        rows.append({"ts": at, "type": rng.choice("AABC"), "k": rng.randrange(KEYS), "v": round(rng.random(), 3)})
    folder.mkdir(parents=True)
    for number in range(FILES):
        _write(folder / f"{number:03}.json", rows[number * EVENTS : (number + 1) * EVENTS])
    end = START + dt.timedelta(days=1)
    rows.append({"ts": end, "type": "Z", "k": -1, "v": 0.0})
    _write(folder / "999.json", rows[-1:])
    return pa.Table.from_pylist(rows, pa.schema({"ts": pa.timestamp("us", "UTC"), "type": pa.string()} | _NUMBERS))


_NUMBERS = {"k": pa.int64(), "v": pa.float64()}


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    lines = [json.dumps({**row, "ts": row["ts"].isoformat()}) for row in rows]  # type: ignore[attr-defined]
    path.write_text("\n".join(lines) + "\n")
    moment = int(path.stem)  # Spark takes files by their age, the oldest first
    os.utime(path, (1_700_000_000 + moment, 1_700_000_000 + moment))


DATABASES: dict[str, Callable[[Path], Any]] = {
    "sqlite": lambda folder: sqlite3.connect(folder / "out.sqlite"),
    "duckdb": lambda folder: duckdb.connect(folder / "out.duckdb"),
}
PLACES = ("folder", *DATABASES)


def sink(place: str, folder: Path, name: str) -> Any:
    """Where the matches of a query go; without a key, so that nothing but the note says what is there."""
    if place == "folder":
        return motif.sink(folder / "out" / name)
    return motif.sink(connect=partial(DATABASES[place], folder), table=name, create=True)


def answer(table: pa.Table, query: str) -> Counter[str]:
    """What a batch gives."""
    return _counted(motif.match(table, query).to_pylist())


def written(place: str, folder: Path, name: str) -> Counter[str]:
    """What the stream has written."""
    if place == "folder":
        return _counted(pyarrow.dataset.dataset(folder / "out" / name, partitioning=None).to_table().to_pylist())
    connection = DATABASES[place](folder)
    try:
        cursor = connection.execute(f"SELECT * FROM {name}")
        names = [column[0] for column in cursor.description]
        return _counted(dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    finally:
        connection.close()


def _counted(rows: Iterable[dict[str, object]]) -> Counter[str]:
    return Counter(repr([_plain(value) for name, value in row.items() if name != "batch"]) for row in rows)


def _plain(value: object) -> object:
    if isinstance(value, str) and value.startswith("2026-"):
        value = dt.datetime.fromisoformat(value)  # SQLite has no type for moments
    return value.timestamp() if isinstance(value, dt.datetime) else value


# -- what is killed


def workers_of(pid: int) -> list[int]:
    """Python workers below a process."""
    return [child for child in _below(pid) if b"pyspark." in _command(child) and b"java" not in _command(child)]


def _below(pid: int) -> list[int]:
    """Processes that a process has started, and those that they have."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(entry.parent.name)] = int(fields[1])
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Campaign:
    """Runs of one job over one folder."""

    def __init__(self, place: str, folder: Path, rng: random.Random, slowest: float) -> None:
        self.place = place
        self.folder = folder
        self.rng = rng
        self.slowest = slowest
        self.kills: Counter[str] = Counter()
        self.failures = 0
        """Starts that failed although nothing was killed."""

    def run(self, wanted: int) -> None:
        """Kill until there were enough kills, then let it end."""
        while self.failures < MOST_FAILURES:
            job = self._start()
            struck = self.kills.total() < wanted and self._strike(job)
            job.wait(timeout=900)
            if job.returncode == 0:
                return
            self.failures += not struck

    def _start(self) -> subprocess.Popen[bytes]:
        log = (self.folder / "job.log").open("ab")
        command = [sys.executable, "-m", "motif.testing.kill_job", self.place, str(self.folder)]
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def _strike(self, job: subprocess.Popen[bytes]) -> bool:
        """Wait a random while, then kill the driver with its JVM, or the Python workers once there are some.

        Whether it came to that. A stream whose workers died fails, or goes on by itself.
        """
        kind = self.rng.choice(("workers", "driver"))
        until = time.monotonic() + self.rng.uniform(4, self.slowest)
        while job.poll() is None:
            victims = workers_of(job.pid) if kind == "workers" else [job.pid, *_below(job.pid)]
            if time.monotonic() > until and any([_kill(victim) for victim in victims]):  # noqa: C419 - all of them
                self.kills[kind] += 1
                return True
            time.sleep(0.1)
        return False


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign and report it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowest", type=float, default=40, help="seconds within which a run is killed")
    parser.add_argument("--to", choices=PLACES, default="folder", help="where matches are written")
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="motif-kills-") as name:
        kills, differences = Counter[str](), 0
        for number in itertools.count():
            campaign = Campaign(options.to, Path(name) / str(number), rng, options.slowest)
            table = write_files(campaign.folder / "in", rng)
            campaign.run(options.kills - kills.total())
            kills += campaign.kills
            differences += campaign.failures
            if campaign.failures:
                print((campaign.folder / "job.log").read_text(errors="replace")[-20_000:])
            if campaign.failures < MOST_FAILURES:
                differences += compared(options.to, campaign.folder, table)
            print(
                f"to {options.to}: kills: {dict(kills)}; {campaign.failures} starts failed; {differences} differences",
                flush=True,
            )
            if differences or kills.total() >= options.kills:
                return 1 if differences else 0
    return 1


def compared(place: str, folder: Path, table: pa.Table) -> int:
    """How many matches differ from those of a batch."""
    differences = 0
    for query, text in QUERIES.items():
        expected, got = answer(table, text), written(place, folder, query)
        lost, extra = expected - got, got - expected
        differences += lost.total() + extra.total()
        print(f"{query}: {expected.total()} matches, {lost.total()} lost, {extra.total()} doubled or changed")
    return differences


if __name__ == "__main__":
    sys.exit(main())
