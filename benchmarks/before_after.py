"""What changed since it was first measured, from the kept results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from definitions import Workload, load
from figures import Figure, markdown, summarize
from results import Row, has_figures, runs

NOTED = 1.25
"""Changes by less than that are noise."""
ANSWERS = ("motif", "match", "spark motif", "spark match", "latency", "pushed", "cold first")
"""Contenders that are Motif as people meet it."""
HEAD = ("question", "size", "Motif", "first", "now", "its floor then and now", "times as fast")


@dataclass(frozen=True, slots=True)
class Change:
    """One of Motif's contenders at one size, when it was first measured and by the last run."""

    before: Figure
    after: Figure

    @property
    def factor(self) -> float:
        """How many times as fast it is now; what the floor changed by was the machine."""
        machine = 1.0
        if self.before.floor is not None and self.after.floor is not None:
            machine = self.before.floor.wall / self.after.floor.wall
        return _value(self.before) / _value(self.after) / machine

    @property
    def is_noted(self) -> bool:
        return not 1 / NOTED < self.factor < NOTED


def changes(workloads: Iterable[Workload]) -> str:
    """A table of what became faster, or slower; empty where nothing was measured twice."""
    noted = [change for change in _changes(workloads) if change.is_noted]
    return markdown(HEAD, (_cells(change) for change in sorted(noted, key=lambda change: -change.factor)))


def _changes(workloads: Iterable[Workload]) -> Iterator[Change]:
    first: dict[tuple[object, ...], tuple[str, Figure]] = {}
    last: dict[tuple[object, ...], tuple[str, Figure]] = {}
    for rows in runs(workloads):
        engines = {_place(row): str(row.get("engine") or row["commit"]) for row in rows}
        for figure in summarize(row for row in rows if has_figures(row)):
            if figure.contender not in ANSWERS:
                continue
            place = (figure.workload.name, figure.rows, figure.keys, figure.contender)
            measured = (engines[place], figure)
            first.setdefault(place, measured)
            last[place] = measured
    for place, (engine, before) in first.items():
        if last[place][0] != engine:
            yield Change(before, last[place][1])


def _place(row: Row) -> tuple[object, ...]:
    return (row["workload"], int(row["rows"]), int(row["keys"]), row["contender"])


def _value(figure: Figure) -> float:
    """Seconds; of streams that are asked for latency, its 99th percentile."""
    return figure.others.get("p99 ms", figure.wall)


def _cells(change: Change) -> tuple[str, ...]:
    before, after = change.before, change.after
    unit = "ms" if "p99 ms" in after.others else "s"
    floors = [figure.floor for figure in (before, after)]
    then = " and ".join("-" if floor is None else f"{floor.wall:.3g} s" for floor in floors)
    return (
        after.workload.name,
        f"{after.rows:,} rows, {after.keys:,} keys",
        after.contender,
        f"{_value(before):.3g} {unit}",
        f"{_value(after):.3g} {unit}",
        "" if floors == [None, None] else then,
        f"{change.factor:.2f}x",
    )


if __name__ == "__main__":
    print(changes(load().values()))
