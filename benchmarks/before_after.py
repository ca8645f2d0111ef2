"""What changed since it was first measured, from the kept results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from definitions import Workload, load
from figures import Figure, markdown, summarize
from results import Row, has_figures, runs

NOTED = 1.25
"""Changes by less than that are noise."""
ANSWERS = ("motif", "match", "spark motif", "spark match", "latency", "pushed", "cold first")
"""Contenders that are Motif as people meet it."""
Place = tuple[str, int, int, str]
HOST_FLOOR = {"spark": "spark sort", "cold": "cold duckdb"}
"""By how a contender begins, otherwise `duckdb`: what tells how the machine changed. Not Motif, which changed, too."""
HEAD = ("question", "size", "Motif", "first", "now", "its floor then and now", "times as fast")


@dataclass(frozen=True, slots=True)
class Measured:
    """One of Motif's contenders at one size in one run, and what its host cost then."""

    engine: str
    figure: Figure
    floor: Figure | None


@dataclass(frozen=True, slots=True)
class Change:
    """One of Motif's contenders at one size, when it was first measured and by the last run."""

    before: Measured
    after: Measured

    @property
    def factor(self) -> float:
        """How many times as fast it is now; what the floor changed by was the machine."""
        machine = 1.0
        if self.before.floor is not None and self.after.floor is not None:
            machine = self.before.floor.wall / self.after.floor.wall
        return _value(self.before.figure) / _value(self.after.figure) / machine

    @property
    def is_noted(self) -> bool:
        return not 1 / NOTED < self.factor < NOTED


def changes(workloads: Iterable[Workload]) -> str:
    """A table of what became faster, or slower; empty where nothing was measured twice."""
    noted = [change for change in _changes(workloads) if change.is_noted]
    return markdown(HEAD, (_cells(change) for change in sorted(noted, key=lambda change: -change.factor)))


def _changes(workloads: Iterable[Workload]) -> Iterator[Change]:
    first: dict[Place, Measured] = {}
    last: dict[Place, Measured] = {}
    for rows in runs(workloads):
        engines = {_place(row): str(row.get("engine") or row["commit"]) for row in rows}
        figures = {_place_of(figure): figure for figure in summarize(row for row in rows if has_figures(row))}
        for place, figure in figures.items():
            if figure.contender in ANSWERS:
                measured = Measured(engines[place], figure, _floor(figure, figures))
                first.setdefault(place, measured)
                last[place] = measured
    for place, before in first.items():
        if last[place].engine != before.engine:
            yield Change(before, last[place])


def _floor(figure: Figure, figures: Mapping[Place, Figure]) -> Figure | None:
    """What its host cost in the same run."""
    name = HOST_FLOOR.get(figure.contender.partition(" ")[0], "duckdb")
    return figures.get((*_place_of(figure)[:3], name))


def _place_of(figure: Figure) -> Place:
    return (figure.workload.name, figure.rows, figure.keys, figure.contender)


def _place(row: Row) -> Place:
    return (str(row["workload"]), int(row["rows"]), int(row["keys"]), str(row["contender"]))


def _value(figure: Figure) -> float:
    """Seconds; of streams that are asked for latency, its 99th percentile."""
    return figure.others.get("p99 ms", figure.wall)


def _cells(change: Change) -> tuple[str, ...]:
    before, after = change.before.figure, change.after.figure
    unit = "ms" if "p99 ms" in after.others else "s"
    floors = [measured.floor for measured in (change.before, change.after)]
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
