"""A query with how it runs: what hosts give to whoever shows plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from motif.plan.events.program import EventProgram
from motif.plan.physical.plan import PhysicalPlan
from motif.plan.physical.ran import Ran
from motif.plan.program import Program


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One clause of a statement, or one query of a stack."""

    program: Program | EventProgram
    plan: PhysicalPlan
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions of the user."""
    ran: Ran | None = None
    """What it did, where it was run."""
