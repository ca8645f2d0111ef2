"""What a run has counted, beside the steps of its plan: as texts, as shares of the time, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from motif.explanation.facts import WayFacts
from motif.plan.physical.ran import Counted, Level, Ran, Tasks, Total, Work
from motif.plan.physical.text import Step

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {Work.MATCH: ("match", "matches")}
"""What a step gives, one and several, where these are not rows."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One counted step: its text, and its share of the time of the whole run."""

    work: Work
    text: str
    share: float


def with_counters(steps: Iterable[Step], ran: Ran | None) -> tuple[Step, ...]:
    """The steps of a plan, each with what a run has counted of it."""
    if ran is None:
        return tuple(steps)
    found = {one.work: one for one in ran.steps}
    return tuple(replace(step, counted=tuple(found[w] for w in step.works if w in found)) for step in steps)


def measures(counted: Iterable[Counted], total: Total | None) -> list[Measure]:
    """What is to be shown of counted steps."""
    whole = 0.0 if total is None else total.seconds
    return [Measure(one.work, _text(one), min(one.wall_seconds / whole, 1.0) if whole else 0.0) for one in counted]


def _text(one: Counted) -> str:
    parts = []
    if one.rows_in is not None:
        parts.append(f"{one.rows_in:,} in")
    if one.rows_out is not None:
        name = _NAMES.get(one.work, ("row", "rows"))[one.rows_out != 1]
        parts.append(f"{one.rows_out:,} {name}" + (" out" if one.rows_in is not None else ""))
    if one.bytes is not None:
        parts.append(size_text(one.bytes))
    if one.tried is not None:
        parts.append(f"{one.tried:,} steps tried")
    if one.candidates:
        parts.append("candidates " + ", ".join(f"{var} {count:,}" for var, count in one.candidates.items()))
    if one.tasks is not None and one.work is Work.READ:
        spread = one.tasks
        parts.append(f"rows per task {spread.least:,} to {spread.most:,}, median {spread.median:,}")
    if one.tasks is not None:
        parts.append(f"{one.seconds:.3f} s of {one.tasks.count:,} tasks, the longest {one.wall_seconds:.3f} s")
        return ", ".join(parts)
    parts.append(f"{one.wall_seconds:.3f} s")
    if one.seconds > 1.05 * one.wall_seconds:
        parts.append(f"{one.seconds:.3f} s of all threads")
    return ", ".join(parts)


def size_text(count: int) -> str:
    """Bytes for people."""
    if count < 1 << 10:
        return f"{count:,} bytes"
    return f"{count / (1 << 10):,.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):,.1f} MiB"


def change_lines(ran: Ran | None) -> list[str]:
    """What was decided again while a query ran, and why."""
    if ran is None:
        return []
    lines = []
    for change in ran.changes:
        why = f" ({change.why})" if change.why else ""
        lines.append(f"{change.what}: {change.after} instead of {change.before}{why}")
    return lines or ["nothing: the query ran as planned"]


def total_text(total: Total) -> str:
    """The whole run in one line."""
    memory = (
        "" if total.peak_bytes is None else f", and {size_text(total.peak_bytes)} of memory more than before at most"
    )
    return f"{total.seconds:.3f} s{memory}"


def steps_table(runs: Sequence[Ran], total: Total | None) -> pa.Table:
    """Every counted step as a row; what is done around the queries has no number of one."""
    import pyarrow as pa

    schema = pa.schema(
        [
            ("query", pa.int32()),
            ("step", pa.string()),
            ("rows_in", pa.int64()),
            ("rows_out", pa.int64()),
            ("bytes", pa.int64()),
            ("seconds", pa.float64()),
            ("wall_seconds", pa.float64()),
            ("tried", pa.int64()),
            ("candidates", pa.map_(pa.string(), pa.int64())),
            ("tasks", pa.int64()),
            ("least_rows", pa.int64()),
            ("median_rows", pa.int64()),
            ("most_rows", pa.int64()),
        ]
    )
    numbered = [(number, one) for number, ran in enumerate(runs, 1) for one in ran.steps]
    around = [(None, one) for one in (() if total is None else total.around)]
    rows = [
        {
            "query": number,
            "step": str(one.work),
            "rows_in": one.rows_in,
            "rows_out": one.rows_out,
            "bytes": one.bytes,
            "seconds": one.seconds,
            "wall_seconds": one.wall_seconds,
            "tried": one.tried,
            "candidates": list(one.candidates.items()),
            **_spread(one.tasks),
        }
        for number, one in [*numbered, *around]
    ]
    return pa.Table.from_pylist(rows, schema)


def with_levels(ways: Sequence[WayFacts], ran: Ran | None) -> tuple[WayFacts, ...]:
    """The steps of joins, each with what its level has tried and what passed."""
    if ran is None:
        return tuple(ways)
    # Tasks of a cluster may each bind in an order of their own.
    found = {(one.way, one.level, one.variable): one for one in ran.levels}
    return tuple(
        replace(
            way,
            steps=tuple(
                _with_level(step, found.get((number, level, step.title.rpartition(" ")[2])))
                for level, step in enumerate(way.steps)
            ),
        )
        for number, way in enumerate(ways)
    )


def _with_level(step: Step, level: Level | None) -> Step:
    if level is None:
        return step
    line = f"{level.candidates:,} candidates in reach, {level.tried:,} tried, {level.passed:,} passed"
    tests = [note.removeprefix("test ") for note in step.notes if note.startswith("test ")]
    if len(tests) == 1 and level.selectivity is not None:
        line += f": {tests[0]} holds for {level.selectivity:.1%}"
    return replace(step, notes=(*step.notes, f" > {line}"))


def levels_table(runs: Sequence[Ran]) -> pa.Table:
    """Every level of every join as a row."""
    import pyarrow as pa

    schema = pa.schema(
        [
            ("query", pa.int32()),
            ("way", pa.int32()),
            ("level", pa.int32()),
            ("variable", pa.string()),
            ("candidates", pa.int64()),
            ("tried", pa.int64()),
            ("passed", pa.int64()),
        ]
    )
    rows = [
        {"query": number, **asdict(one), "way": one.way + 1, "level": one.level + 1}
        for number, ran in enumerate(runs, 1)
        for one in ran.levels
    ]
    return pa.Table.from_pylist(rows, schema)


def _spread(tasks: Tasks | None) -> dict[str, int]:
    """How the rows of a step are spread over tasks."""
    if tasks is None:
        return {}
    return {
        "tasks": tasks.count,
        "least_rows": tasks.least,
        "median_rows": tasks.median,
        "most_rows": tasks.most,
    }
