"""Workloads as data: `definitions/*.toml` and the queries they name."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, Task
from generators import DATA, GENERATORS, dataset

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a workload, and the number of rows its answer has."""

    rows: int
    expect: int
    keys: int = 1
    crossing: int = 0
    """Rows that the floor hands over; 0: all."""
    repeats: int = 0
    """0: those of the workload."""


@dataclass(frozen=True, slots=True)
class Target:
    """A derived figure and the bound it should keep; none where it is only shown."""

    measure: str
    at_most: float | None = None
    at_least: float | None = None
    contender: str = ""
    """Empty: the first contender of the workload."""

    def met(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        above = self.at_most is None or value <= self.at_most
        return above and (self.at_least is None or value >= self.at_least)

    def __str__(self) -> str:
        if self.at_most is None and self.at_least is None:
            return "none"
        return f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A question, the table and query that answer it, and who is measured."""

    name: str
    question: str
    generator: str
    query: str
    contenders: tuple[str, ...]
    floor: str
    """The contender the others are divided by; may be empty."""
    floor_sql: str
    repeats: int
    seed: int
    targets: tuple[Target, ...]
    full: tuple[Point, ...]
    quick: tuple[Point, ...]
    small: Point | None = None
    """A size at which the answer is compared with one that Motif had no part in, see `answers.py`."""
    keys_are: str = "keys"
    """What the number of keys of a size counts."""
    time: str = "ts"
    type: str | None = None
    """Event queries: the columns with the time and the class of an event."""
    batch: int = 100_000
    """Streams: how many rows come at a time."""
    left: int | None = None
    """Streams: how many events must be kept once all have come; none: any."""
    peers: str = ""
    """A folder of `queries/peers`: the question in the words of other contenders."""
    cannot: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Contenders that cannot say it, and why."""
    at_most: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Up to how many rows a contender is asked; others at any size."""
    at_most_keys: Mapping[str, int] = field(default_factory=dict, hash=False)
    why: str = ""
    """Where Motif is not first: what is known of the reason."""

    def points(self, *, quick: bool) -> tuple[Point, ...]:
        """Sizes to run."""
        return self.quick if quick else self.full

    def limit(self, contender: str, point: Point) -> str:
        """Why this contender is not asked at this size; empty where it is."""
        if point.rows > self.at_most.get(contender, math.inf):
            return f"asked up to {self.at_most[contender]:,} rows only"
        if point.keys > self.at_most_keys.get(contender, math.inf):
            return f"asked up to {self.at_most_keys[contender]:,} {self.keys_are} only"
        return ""

    def task(self, point: Point) -> Task:
        """The question and its table, for every contender."""
        return Task(self.peers, self.query, self.generator, self.file(point), DATA, self.time, self.type or "type")

    def query_text(self) -> str:
        """The text of the query."""
        return (HERE / "queries" / f"{self.query}.sql").read_text(encoding="utf-8")

    def file(self, point: Point) -> Path:
        """The input."""
        return dataset(self.generator, self.seed, point.rows, point.keys)


def load() -> dict[str, Workload]:
    """Every workload, by name, in the order of the files."""
    found = [
        _workload(entry)
        for path in sorted((HERE / "definitions").glob("*.toml"), key=lambda path: int(path.name.partition("-")[0]))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["workload"]
    ]
    return {workload.name: workload for workload in found}


def _workload(entry: dict[str, Any]) -> Workload:
    workload = Workload(
        name=entry["name"],
        question=entry["question"],
        generator=entry["generator"],
        query=entry["query"],
        contenders=tuple(entry["contenders"]),
        floor=entry.get("floor", ""),
        floor_sql=entry.get("floor_sql", ""),
        repeats=entry.get("repeats", 5),
        seed=entry.get("seed", 1),
        targets=tuple(Target(**target) for target in entry.get("targets", ())),
        full=tuple(Point(**point) for point in entry["full"]),
        quick=tuple(Point(**point) for point in entry.get("quick", entry["full"])),
        small=Point(**entry["small"]) if "small" in entry else None,
        keys_are=entry.get("keys_are", "keys"),
        time=entry.get("time", "ts"),
        type=entry.get("type"),
        batch=entry.get("batch", 100_000),
        left=entry.get("left"),
        peers=entry.get("peers", ""),
        cannot=entry.get("cannot", {}),
        at_most=entry.get("at_most", {}),
        at_most_keys=entry.get("at_most_keys", {}),
        why=entry.get("why", ""),
    )
    if workload.generator not in GENERATORS or (workload.floor and workload.floor not in workload.contenders):
        raise ValueError(f"{workload.name}: unknown generator or floor")
    if not workload.peers and any(contender in CONTENDERS for contender in workload.contenders):
        raise ValueError(f"{workload.name}: other contenders need a question in queries/peers")
    if (workload.at_most.keys() | workload.at_most_keys.keys()) - set(workload.contenders):
        raise ValueError(f"{workload.name}: a limit for a contender that is not asked")
    return workload
