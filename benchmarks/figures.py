"""Figures from measurements, what they say about targets, and the tables that `run.py` prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from contenders import CONTENDERS
from definitions import Target, Workload, load

Row = dict[str, Any]
OTHERS = ("median_ms", "p99_ms", "time_growth", "state_growth", "peak_state_mb", "final_state_mb")
"""Columns that only streams have."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One contender at one size: medians over the repeats, the best wall time, the highest peak."""

    workload: Workload
    rows: int
    keys: int
    contender: str
    wall: float
    best: float
    cpu: float
    peak: float
    over_base: float
    """Peak memory in MB over that of a process that has only imported everything; 0: not known."""
    handed: float
    """Size of the Arrow table that was handed over in MB; 0: not known."""
    floor: Figure | None
    others: dict[str, float]
    """Medians of what only some contenders measure, by the name of the measure."""
    whole_peak: float = 0.0
    """Peak memory in MB of all processes of the contender together, a JVM too; 0: not known."""
    start: float | None = None
    """Seconds until a fresh process was ready for the first run; none where others had started it."""
    first: float | None = None
    """Seconds until it had answered."""
    date: str = ""

    @property
    def is_floor(self) -> bool:
        """Whether others are divided by this one."""
        return self.contender == self.workload.floor

    @property
    def shares_process(self) -> bool:
        """Whether its peak of memory cannot be told from the others' (Spark's workers, cold starts)."""
        return " " in self.contender

    def measure(self, name: str) -> float | None:
        """A derived figure of one size."""
        match name:
            case "seconds":
                return self.wall
            case "M rows/s":
                return self.rows / self.wall / 1e6
            case "M rows/CPU s":
                return self.rows / max(self.cpu, 1e-9) / 1e6
            case "memory ratio" if self.floor is not None and self.floor.over_base:
                return self.over_base / self.floor.over_base
            case "wall ratio" | "best ratio" | "cpu ratio" if self.floor is not None:
                field = {"wall ratio": "wall", "best ratio": "best", "cpu ratio": "cpu"}[name]
                return float(getattr(self, field) / max(getattr(self.floor, field), 1e-9))
            case "MB over floor" if self.floor is not None and not self.shares_process:
                return self.peak - self.floor.peak
            case _:
                return self.others.get(name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target and what came out."""

    workload: Workload
    where: str
    target: Target
    value: float

    @property
    def met(self) -> bool:
        """Whether it is kept."""
        return self.target.met(self.value)


def summarize(measurements: Iterable[Row]) -> list[Figure]:
    """One figure per workload, size and contender, in the order of the definitions."""
    groups: dict[tuple[str, int, int], dict[str, list[Row]]] = {}
    for row in measurements:
        place = (str(row["workload"]), int(row["rows"]), int(row["keys"]))
        groups.setdefault(place, {}).setdefault(str(row["contender"]), []).append(row)
    workloads, figures = load(), []
    for (name, rows, keys), contenders in groups.items():
        workload = workloads[name]
        floor = None
        for contender in sorted(contenders, key=lambda contender: contender != workload.floor):
            figure = _figure(workload, rows, keys, contender, contenders[contender], floor)
            if figure.is_floor:
                floor = figure
            figures.append(figure)
    return figures


def _figure(
    workload: Workload, rows: int, keys: int, contender: str, repeats: Sequence[Row], floor: Figure | None
) -> Figure:
    walls = [float(row["wall_s"]) for row in repeats]
    cpu = median(float(row["cpu_s"]) for row in repeats)
    # What other contenders take is all theirs, a JVM too; of Spark with Motif it is the largest Python worker.
    column = "all_mb" if contender in CONTENDERS else "peak_mb"
    peak = max(float(row[column]) for row in repeats)
    base = max(float(row.get("base_mb") or 0) for row in repeats)
    handed = max(float(row.get("handed_mb") or 0) for row in repeats)
    over_base = (peak - base) * 2**20 / 1e6 if base else 0.0
    others = {
        name.replace("_", " "): median(float(row[name]) for row in repeats)
        for name in OTHERS
        if all(row.get(name) not in (None, "") for row in repeats)
    }
    return Figure(
        *(workload, rows, keys, contender, median(walls), min(walls), cpu, peak, over_base, handed, floor, others),
        whole_peak=max(float(row.get("all_mb") or 0) for row in repeats),
        start=_known(repeats, "start_s"),
        first=_known(repeats, "first_s"),
        date=str(repeats[0].get("from", ""))[:10],
    )


def _known(repeats: Sequence[Row], name: str) -> float | None:
    values = [float(row[name]) for row in repeats if row.get(name) not in (None, "")]
    return median(values) if values else None


def across(name: str, figures: Sequence[Figure]) -> float | None:
    """A derived figure of all sizes of one contender together."""
    if len(figures) < 2:
        return None
    if name == "growth":
        return _slope([(math.log(f.rows), math.log(f.cpu)) for f in figures])
    if name == "growth by window":
        return _slope([(math.log(f.keys), math.log(f.cpu)) for f in figures])
    if name == "peak spread":
        return max(f.peak for f in figures) / min(f.peak for f in figures)
    return None


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Least squares."""
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return math.fsum((a - x) * (b - y) for a, b in points) / math.fsum((a - x) ** 2 for a, _ in points)


def verdicts(figures: Sequence[Figure]) -> list[Verdict]:
    """Every target of the workloads that were run."""
    found = []
    for workload in dict.fromkeys(figure.workload for figure in figures):
        for target in workload.targets:
            wanted = target.contender or workload.contenders[0]
            mine = [figure for figure in figures if figure.workload == workload and figure.contender == wanted]
            if (whole := across(target.measure, mine)) is not None:
                found.append(Verdict(workload, "all sizes", target, whole))
            each = ((size(figure), figure.measure(target.measure)) for figure in mine)
            found += [Verdict(workload, size, target, value) for size, value in each if value is not None]
    return found


def size(figure: Figure) -> str:
    """In words."""
    keys = f", {short(figure.keys)} {figure.workload.keys_are}" if figure.keys > 1 else ""
    return f"{short(figure.rows)} rows{keys}"


def short(number: int) -> str:
    """With a letter for thousands and millions."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:g} {name}"
    return str(number)


FIGURE_HEAD = (
    "workload", "size", "contender", "median s", "best s", "CPU s", "peak MB", "M rows/s", "wall / floor",
    "best / floor", "CPU / floor", "MB over floor",
)  # fmt: skip
VERDICT_HEAD = ("workload", "size", "measure", "value", "target", "met")


def figure_cells(figure: Figure) -> tuple[str, ...]:
    """A line of the table of figures."""
    compared = (figure.measure(name) for name in ("wall ratio", "best ratio", "cpu ratio"))
    over = figure.measure("MB over floor")
    return (
        figure.workload.name,
        size(figure),
        figure.contender + (" (floor)" if figure.is_floor else ""),
        f"{figure.wall:.3f}",
        f"{figure.best:.3f}",
        f"{figure.cpu:.2f}",
        f"{figure.peak:.0f}",
        f"{figure.measure('M rows/s'):.2f}",
        *("" if value is None else f"{value:.2f}x" for value in compared),
        "" if over is None else f"{over:+.0f}",
    )


def verdict_cells(verdict: Verdict) -> tuple[str, ...]:
    """A line of the table of targets."""
    measure = " ".join(filter(None, (verdict.target.contender, verdict.target.measure)))
    met = "" if str(verdict.target) == "none" else "yes" if verdict.met else "NO"
    return (verdict.workload.name, verdict.where, measure, f"{verdict.value:.2f}", str(verdict.target), met)


def print_tables(figures: Sequence[Figure]) -> None:
    """Both tables as plain text."""
    for head, lines in (
        (FIGURE_HEAD, [figure_cells(figure) for figure in figures]),
        (VERDICT_HEAD, [verdict_cells(verdict) for verdict in verdicts(figures)]),
    ):
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        for line in (head, *lines):
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        print()


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table for the report."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines))
