"""How a statement will be answered: the plan for people.

Not called `explain`: a module of that name would replace the function `motif.explain` once it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from motif.explanation import drawing, graph, measured, page, text
from motif.explanation.facts import ClauseFacts, text_facts
from motif.explanation.planned import planned_facts, text_facts_of_events
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.lang.statement import Statement
from motif.options import EventOptions
from motif.plan.physical.plan import Change, PhysicalPlan
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.ran import Ran, Total
from motif.plan.physical.text import Step

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ClauseFacts", "Explanation", "explain_clause", "explain_events", "explain_statement"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Print it, let a notebook draw it, or take `mermaid`, `svg` and `html` from it."""

    clauses: tuple[ClauseFacts, ...]
    host: str | None
    """The engine around the matching; None where only the text is known."""
    outer: Step | None
    """The SELECT around the clauses."""
    plans: tuple[PhysicalPlan, ...] = ()
    """How each clause or query runs; none where only the text is known."""
    runs: tuple[Ran, ...] = ()
    """What each clause or query did; none where they were not run (`analyze=True`)."""
    total: Total | None = None
    """The whole run."""

    @property
    def plan(self) -> PhysicalPlan | None:
        """How the last clause or query runs."""
        return self.plans[-1] if self.plans else None

    @property
    def ran(self) -> PhysicalPlan | None:
        """How the last clause or query ran in the end; None where it was not run (`analyze=True`)."""
        return self.runs[-1].plan if self.runs else None

    @property
    def changes(self) -> tuple[Change, ...]:
        """In what `ran` differs from `plan`, and why; `runs` has the changes of every clause or query."""
        return self.runs[-1].changes if self.runs else ()

    @property
    def steps(self) -> pa.Table:
        """What each step of each clause or query took, gave and cost: a table without rows where none was run."""
        return measured.steps_table(self.runs, self.total)

    @property
    def levels(self) -> pa.Table:
        """What each level of the joins of event queries had before it, tried and let pass; not for CONSUMING."""
        return measured.levels_table(self.runs)

    def __str__(self) -> str:
        if not self.clauses:
            return "no MATCH_RECOGNIZE in the statement: nothing for Motif to do\n"
        parts = [text.clause_text(clause, len(self.clauses), self.host, self.total) for clause in self.clauses]
        if self.outer is not None:
            around = () if self.total is None else self.total.around
            lines = text.measured_lines(around, self.total)
            parts.append("\n".join([self.outer.title, "-" * len(self.outer.title), self.outer.code, *lines]))
        if self.total is not None:
            parts.append(f"All of it took {measured.total_text(self.total)}.")
        return "\n\n\n".join(parts) + "\n"

    def _repr_html_(self) -> str:
        return page.fragment(self.clauses, self.host, self.outer, self.total)

    @property
    def html(self) -> str:
        """A page of its own."""
        return page.page(self._repr_html_())

    @property
    def mermaid(self) -> str:
        """The automata, or the patterns of event queries, as a Mermaid flowchart."""
        kind = self.clauses[0].kind if self.clauses else ""
        return graph.mermaid((clause.graph for clause in self.clauses), kind)

    @property
    def svg(self) -> str:
        """The automata, or the patterns of event queries, as a picture."""
        return drawing.svg(clause.graph for clause in self.clauses)


def explain_statement(statement: Statement, planned: Sequence[PlannedQuery]) -> Explanation:
    """A statement whose clauses a host has planned."""
    host = str(planned[0].plan.host) if planned else "DuckDB"
    outer = Step(f"{host} answers the statement around it", statement.outer_sql)
    return Explanation(tuple(planned_facts(planned)), host, outer, tuple(query.plan for query in planned))


def explain_events(planned: Sequence[PlannedQuery]) -> Explanation:
    """Event queries that a host has planned."""
    host = str(planned[0].plan.host)
    return Explanation(tuple(planned_facts(planned)), host, None, tuple(query.plan for query in planned))


def explain_clause(planned: PlannedQuery) -> Explanation:
    """A clause over one table, which a host has planned."""
    return Explanation(tuple(planned_facts([planned])), str(planned.plan.host), None, (planned.plan,))


def with_runs(explanation: Explanation, planned: Sequence[PlannedQuery], total: Total) -> Explanation:
    """An explanation of queries that a host has run."""
    runs = tuple(query.ran for query in planned if query.ran is not None)
    return replace(explanation, runs=runs, total=total)


def explain_clause_text(query: RowQuery) -> Explanation:
    """What the text of a clause tells, without its rows."""
    return Explanation((text_facts(1, query, "duckdb"),), None, None)


def explain_statement_text(statement: Statement) -> Explanation:
    """What the text of a statement tells, without its tables."""
    return Explanation(tuple(text_facts(c.index + 1, c.query, "duckdb") for c in statement.clauses), None, None)


def explain_event_text(queries: Sequence[EventQuery], options: EventOptions) -> Explanation:
    """What the text of event queries tells, without their events."""
    return Explanation(tuple(text_facts_of_events(queries, options)), None, None)
