"""One run of a query: the plan that it follows, what it learns on the way, and what it may hold.

The engine decides nothing by itself. Where more is known than before, it says so (`learn`), and the plan is
chosen again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from motif.engine.budget import Budget
from motif.engine.ledger import SILENT, Silent
from motif.kernels.native import Native, are_kept, are_loaded
from motif.plan.events.program import EventProgram
from motif.plan.events.steps import Estimates
from motif.plan.physical import choose as choices
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.facts import Code, Facts
from motif.plan.physical.plan import Change, PhysicalPlan, Running, Strategy, changes
from motif.plan.program import Program

Natives = Callable[[], Sequence[Native]]
"""The compiled loops that some work takes; they are not made before somebody asks for them."""


class Execution:
    """A run of one program. Threads share it; only the one that drives them may let it `learn`."""

    def __init__(
        self,
        program: Program | EventProgram,
        facts: Facts,
        costs: Costs = COSTS,
        wanted: Strategy | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`wanted`: the strategy that the caller asks for; `budget`: of the whole statement, where this is a part."""
        self.program = program
        self.facts = facts
        self.costs = costs
        self.wanted = wanted
        self.budget = budget or Budget(program.limits)
        self.ledger: Silent = SILENT
        self.estimates: Estimates | None = None
        self.planned = self.plan = choices.choose(program, facts, costs, wanted)

    @classmethod
    def of(
        cls,
        program: Program | EventProgram,
        costs: Costs = COSTS,
        wanted: Strategy | None = Strategy.SEQUENTIAL,
        *,
        cores: int = 1,
    ) -> Execution:
        """A run over rows that somebody has at hand."""
        return cls(program, Facts(cores=cores), costs, wanted)

    def learn(self, **facts: Any) -> PhysicalPlan:
        """The plan now that these facts are known, too."""
        self.facts = replace(self.facts, **facts)
        self.plan = choices.choose(self.program, self.facts, self.costs, self.wanted)
        return self.plan

    def count(self, estimates: Estimates) -> None:
        """Candidates are counted; what follows from that, the order of the joins, the engine keeps by itself."""
        self.estimates = estimates

    @property
    def ran(self) -> PhysicalPlan:
        """The plan with all that the run has learned."""
        return choices.choose(self.program, replace(self.facts, estimates=self.estimates), self.costs, self.wanted)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Decisions that were taken again since the run began."""
        return changes(self.planned, self.ran)

    @property
    def effort(self) -> int:
        """How many times as long as others the loop of the query takes to compile."""
        is_consuming = isinstance(self.program, EventProgram) and bool(self.program.query.consuming)
        return self.costs.consuming_effort if is_consuming else 1

    def matching(self, rows: int, natives: Natives) -> Running:
        """How the loop of the matching runs: as planned or, where less was known then, by what is known now."""
        planned = self.plan.match.loops
        if planned in (Running.COMPILED, Running.PLAIN):
            return planned
        count = rows if self.facts.rows is None else self.facts.rows
        return choices.loops(count, lambda: code_of(natives()), self.costs, self.effort)[0]

    def pushing(self, rows: int, steps: int) -> Running:
        """How the join of one push over so many kept events runs, after so many steps as plain Python."""
        planned = self.plan.match.loops
        if planned in (Running.COMPILED, Running.PLAIN):
            return planned
        return choices.of_push(rows, steps, self.costs, self.effort)

    def compiles(self, rows: int, natives: Natives, effort: int = 1) -> bool:
        """Whether a loop beside the matching is a compiled one: its rows decide, as it counts no steps."""
        return choices.loops(rows, lambda: code_of(natives()), self.costs, effort)[0] is Running.COMPILED

    def folds_compiled(self, rows: int, natives: Natives) -> bool:
        """Whether aggregates over so many rows are compiled; where the matching is, chunk after chunk comes."""
        is_one_of_many = self.plan.match.loops is Running.COMPILED and rows >= self.costs.ready_rows
        return is_one_of_many or self.compiles(rows, natives)

    def is_due(self, steps: int, natives: Natives) -> bool:
        """Whether the loop of the matching is to be compiled now, after so many steps as plain Python."""
        return choices.is_due(steps, lambda: code_of(natives()), self.costs, self.effort)


def code_of(natives: Sequence[Native]) -> Code:
    """Where the machine code of some loops is."""
    if are_loaded(natives):
        return Code.LOADED
    return Code.KEPT if are_kept(natives) else Code.ABSENT
