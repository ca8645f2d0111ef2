"""Measurements that are kept: `results/*.csv`, a file for each campaign, and which lines of them pages show.

Only what was measured on a clean tree is kept; the rest goes to `.data/results`, which belongs to nobody but you. A
line with `refused` or `left_out` has no figures: the contender said no, in its own words, or was not asked.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaigns import Campaign, Key, join, key_of, read_all, write
from definitions import HERE, Workload
from generators import DATA

PACKAGES = ("duckdb", "pyarrow", "numpy", "numba", "pyspark", "polars", "pandas")
KEPT = HERE / "results"
OWN = DATA / "results"
MADE_OF = ("src", "benchmarks", ":!benchmarks/results", ":!benchmarks/REPORT.md")
"""What a measurement depends on; results and the pages made from them may change while a campaign goes on."""
Row = dict[str, Any]


def machine(*, quick: bool) -> dict[str, str]:
    """What the figures depend on."""
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    lock = (HERE / "contenders" / "flink.lock").read_text(encoding="utf-8").splitlines()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {
        "commit": _commit(),
        "source": source(),
        "form": "short" if quick else "full",
        "from": now,
        "to": now,
        "load": "0",
        "cpu": cpu.partition(":")[2].strip(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "flink": next(line.partition("==")[2] for line in lock if line.startswith("apache-flink==")),
        "java": java[0].split('"')[1] if java else "",
    }
    return {name: str(value) for name, value in facts.items()}


def _commit() -> str:
    name, changed = (
        subprocess.run(["git", *command], cwd=HERE.parent, capture_output=True, text=True, check=False).stdout.strip()
        for command in (["rev-parse", "--short=7", "HEAD"], ["status", "--porcelain", "--", *MADE_OF])
    )
    return f"{name}-dirty" if changed or not name else name


def source() -> str:
    """What was measured, whether committed or not: a hash of Motif's own source."""
    files = sorted((HERE.parent / "src" / "motif").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def store(rows: Iterable[Row], facts: dict[str, str]) -> Path:
    """What there is by now, to the campaign of which it is a run."""
    now = source()
    said = {
        "source": facts["source"] if now == facts["source"] else f"{facts['source']} changed to {now}",
        "to": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": f"{os.getloadavg()[2]:.1f}",
    }
    campaign = Campaign(facts | said, tuple(rows))
    return join(campaign, KEPT if campaign.is_clean else OWN)


def has_figures(row: Row) -> bool:
    """Whether it was measured."""
    return not row.get("refused") and not row.get("left_out")


def shown(workloads: Iterable[Workload]) -> list[Row]:
    """The newest lines of every size and contender that is defined, with the facts of their campaigns.

    Of a workload that was run in full, only the sizes of the full form: the two forms are not mixed.
    """
    workloads = list(workloads)
    full = {workload.name: {(point.rows, point.keys) for point in workload.full} for workload in workloads}
    short = {workload.name: {(point.rows, point.keys) for point in workload.quick} for workload in workloads}
    asked = {workload.name: {*workload.contenders} for workload in workloads}
    place = {workload.name: number for number, workload in enumerate(workloads)}
    found: dict[Key, list[Row]] = {}
    for campaign in read_all(KEPT):
        lines: dict[Key, list[Row]] = {}
        for row in campaign.rows:
            lines.setdefault(key_of(row), []).append({**campaign.facts, **row})
        found |= lines
    in_full = {name for name, *size, _ in found if tuple(size) in full.get(name, ())}
    return [
        row
        for key in sorted(found, key=lambda key: (place.get(key[0], -1), key[1], key[2]))
        if key[0] in place and key[1:3] in (full if key[0] in in_full else short)[key[0]]
        if key[3].removesuffix(" masks") in asked[key[0]]  # one contender is measured in two parts
        for row in found[key]
    ]


def prune(workloads: Iterable[Workload]) -> list[str]:
    """Take out what no page shows; the names of the files that changed."""
    used = {(row["commit"], row["from"], key_of(row)) for row in shown(workloads)}
    changed = []
    for campaign in read_all(KEPT):
        facts = campaign.facts
        rows = [row for row in campaign.rows if (facts["commit"], facts["from"], key_of(row)) in used]
        if len(rows) < len(campaign.rows):
            changed.append(campaign.name)
            (KEPT / campaign.name).unlink() if not rows else write(campaign.only(rows), KEPT)
    return changed
