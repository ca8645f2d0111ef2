"""A physical plan: what is read, moved, arranged, matched, gathered and finished, and why each is done that way.

Frozen, comparable, and JSON there and back. Reasons are no part of what makes two plans equal.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from motif.plan.physical.facts import Crossing, Host, Mode, Reader


class Strategy(StrEnum):
    """A way to match, by the name that `strategy=` takes."""

    SEQUENTIAL = "sequential"
    PARTITIONS = "partitions"
    PIECES = "pieces"
    SHARED = "shared"
    SLICES = "slices"
    BUCKETS = "buckets"


class Running(StrEnum):
    """How a loop runs."""

    PLAIN = "plain Python"
    PLAIN_FIRST = "plain Python first"
    COMPILED = "compiled"
    OPEN = "open"


class Place(StrEnum):
    """Where rows are brought into order."""

    MEMORY = "memory"
    HOST = "host"
    WORKER = "worker"
    ARRIVAL = "as they come"


class Route(StrEnum):
    """How rows come to the tasks of a cluster that match them."""

    BY_KEY = "by key"
    BY_SLICE = "by slice of time"
    BY_BUCKET = "by bucket of keys"
    TO_ONE = "to one task"
    STAY = "stay where they are read"


@dataclass(frozen=True, slots=True)
class Read:
    """Rows with the columns that cross, by one reader."""

    reader: Reader
    sql: str
    crossing: tuple[Crossing, ...]
    filter: str = ""
    files: int = 0
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Move:
    """Rows brought to the tasks that match them."""

    route: Route
    keys: tuple[str, ...] = ()
    slice_microseconds: int | None = None
    buckets: int | None = None
    why: str = field(default="", compare=False)


class Asking(StrEnum):
    """When the host is asked about conditions that only it can decide, of several rows."""

    SEARCHING = "while matches are searched"
    ROUNDS = "in rounds, before matches are searched"
    JOBS = "before matches are searched, once for each condition"
    FOUND = "of what is found"


@dataclass(frozen=True, slots=True)
class Ask:
    """Conditions over several rows that only the host can decide."""

    asking: Asking
    conditions: int
    most: int | None = None
    """Combinations of values that are asked about at most, for each condition."""
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Arrange:
    """Rows brought into partitions and their order."""

    place: Place
    most_bytes: int | None = None
    """More than this is sorted with the help of a disk."""
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which one way through an event pattern is bound: names of variables."""

    way: int
    driver: str | None
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Matches found by a strategy."""

    strategy: Strategy
    loops: Running
    parts: int | None = 1
    """Parts that threads share; None: as many as pay, which is known once a sample was tried."""
    leaves_out: bool = False
    """Events that cannot be in a match are left out before they are sorted."""
    of_events: bool = False
    """Events that may lie apart are joined; else rows that follow each other are searched."""
    orders: tuple[Order, ...] = ()
    """Of events, once their candidates are counted."""
    why: str = field(default="", compare=False)
    loops_why: str = field(default="", compare=False)
    orders_why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Gather:
    """Matches brought together in their order."""

    order: str
    columns: int
    """Columns of picked values and aggregates per row of the result."""
    threads: int = 1
    """That put stretches of the matches in order, where the matching itself has not shared them out."""
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Finish:
    """What the host makes of the matches."""

    sql: str
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """How one query runs."""

    host: Host
    mode: Mode
    read: Read
    move: Move | None
    arrange: Arrange
    ask: Ask | None
    match: Match
    gather: Gather
    finish: Finish | None
    open: tuple[str, ...] = field(default=(), compare=False)
    """What is decided again while it runs, once more is known."""

    def to_json(self) -> str:
        """The plan as text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> PhysicalPlan:
        """The plan that `to_json` wrote."""
        plan: PhysicalPlan = _restored(cls, json.loads(text))
        return plan


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that was taken again while a query ran."""

    what: str
    before: str
    after: str
    why: str


def changes(before: PhysicalPlan, after: PhysicalPlan) -> tuple[Change, ...]:
    """What one plan does differently from another one of the same query."""
    found = []
    for part in fields(PhysicalPlan):
        old, new = getattr(before, part.name), getattr(after, part.name)
        if not part.compare or old == new:
            continue
        if type(old) is not type(new) or not is_dataclass(old):
            found.append(Change(part.name, str(old), str(new), getattr(new, "why", "")))
            continue
        for inner in fields(old):
            if inner.compare and getattr(old, inner.name) != getattr(new, inner.name):
                values = [_shown(getattr(one, inner.name)) for one in (old, new)]
                reason = getattr(new, f"{inner.name}_why", "") or new.why
                found.append(Change(f"{part.name}.{inner.name}", values[0], values[1], reason))
    return tuple(found)


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Order):
        return "; ".join(", ".join(order.variables) for order in value)
    if value == ():
        return "open"
    return "as many as pay" if value is None else str(value)


def _restored(kind: Any, value: Any) -> Any:
    """A value of a type from what JSON kept of it."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: _restored(hints[name], part) for name, part in value.items()})  # type: ignore[operator]
    if get_origin(kind) in (Union, UnionType):
        [inner] = [part for part in get_args(kind) if part is not type(None)]
        return None if value is None else _restored(inner, value)
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], part) for part in value)
    return kind(value) if isinstance(kind, type) and issubclass(kind, StrEnum) else value
