"""What a query did when it ran: the plan that it followed in the end, and what each step took and gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from motif.plan.events.steps import Estimates
from motif.plan.physical.plan import Change, PhysicalPlan


class Work(StrEnum):
    """A kind of work that is counted."""

    READ = "read"
    LEAVE_OUT = "leave out"
    ARRANGE = "arrange"
    MATCH = "match"
    GATHER = "gather"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Tasks:
    """How the rows that a step gives are spread over the tasks of a cluster."""

    count: int
    least: int
    median: int
    most: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What one step of a run took, gave and cost; None: it does not count that."""

    work: Work
    rows_in: int | None = None
    rows_out: int | None = None
    """Of the matching: matches."""
    bytes: int | None = None
    """Of the rows that it gave."""
    seconds: float = 0.0
    """Of all threads together."""
    wall_seconds: float = 0.0
    """While at least one thread was at it; on Spark, in the task that took longest."""
    tried: int | None = None
    """Steps of the search, or of the join."""
    candidates: Mapping[str, int] = field(default_factory=dict)
    """Events that each variable may bind, by its own condition."""
    tasks: Tasks | None = None
    """On Spark only."""


@dataclass(frozen=True, slots=True)
class Level:
    """What one level of a join did: it binds a variable where those of the levels before are bound."""

    way: int
    level: int
    variable: str
    candidates: int
    """Events in the ranges that were looked into."""
    tried: int
    """Those of them that were not passed over."""
    passed: int
    """Those that met all conditions that are tested there."""

    @property
    def selectivity(self) -> float | None:
        """The share of those that were tried that passed; None where none was tried."""
        return self.passed / self.tried if self.tried else None


@dataclass(frozen=True, slots=True)
class Ran:
    """One clause of a statement, or one query of a stack, after it ran."""

    plan: PhysicalPlan
    """The plan with all that the run has learned."""
    changes: tuple[Change, ...]
    """Decisions that were taken again while it ran."""
    steps: tuple[Counted, ...]
    estimates: Estimates | None = None
    """By which the order of the joins was chosen, for events."""
    levels: tuple[Level, ...] = ()
    """Of the joins, but for those of CONSUMING."""


@dataclass(frozen=True, slots=True)
class Total:
    """A whole run, of however many queries."""

    seconds: float
    peak_bytes: int | None
    """Memory that the process had at most, less what it had before; None where the system does not tell."""
    around: tuple[Counted, ...] = ()
    """The SELECT around the clauses."""
