"""Measurements as data: a file for each run, `results/DATE/TIME.csv`, a line for each measurement, with machine facts.

A line with `refused` or `left_out` has no figures: the contender said no, in its own words, or was not asked.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from definitions import HERE, Workload

PACKAGES = ("duckdb", "pyarrow", "numpy", "numba", "pyspark", "polars", "pandas")
Row = dict[str, Any]
Key = tuple[str, int, int, str]


def machine() -> Row:
    """What the figures depend on."""
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    )
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    lock = (HERE / "contenders" / "flink.lock").read_text(encoding="utf-8").splitlines()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cpu": cpu.partition(":")[2].strip(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "flink": next(line.partition("==")[2] for line in lock if line.startswith("apache-flink==")),
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


def has_figures(row: Row) -> bool:
    """Whether it was measured."""
    return not row.get("refused") and not row.get("left_out")


def newest(workloads: Iterable[Workload]) -> list[Row]:
    """Of every workload, size and contender that is still defined, the lines of the last run that has them."""
    workloads = list(workloads)
    found: dict[Key, list[Row]] = {}
    for rows in runs(workloads):
        found |= _by_key(rows)
    place = {workload.name: number for number, workload in enumerate(workloads)}
    return [row for key in sorted(found, key=lambda key: (place[key[0]], key[1], key[2])) for row in found[key]]


def runs(workloads: Iterable[Workload]) -> Iterator[list[Row]]:
    """The lines of each run, the oldest first, of workloads and sizes that are still defined."""
    sizes = {
        workload.name: {(point.rows, point.keys) for point in (*workload.full, *workload.quick)}
        for workload in workloads
    }
    for path in sorted((HERE / "results").glob("*/*.csv")):
        yield [row for row in _lines(path) if (int(row["rows"]), int(row["keys"])) in sizes.get(row["workload"], ())]


def _by_key(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault((row["workload"], int(row["rows"]), int(row["keys"]), row["contender"]), []).append(row)
    return found


def _lines(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
