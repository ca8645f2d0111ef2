"""How a statement will be answered: the plan for people.

Not called `explain`: a module of that name would replace the function `motif.explain` once it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motif.explanation import drawing, graph, page, text
from motif.explanation.facts import ClauseFacts, text_facts
from motif.explanation.planned import planned_facts, text_facts_of_events
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.lang.statement import Statement
from motif.options import EventOptions
from motif.plan.physical.plan import PhysicalPlan
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.text import Step

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

    @property
    def plan(self) -> PhysicalPlan | None:
        """How the last clause or query runs."""
        return self.plans[-1] if self.plans else None

    def __str__(self) -> str:
        if not self.clauses:
            return "no MATCH_RECOGNIZE in the statement: nothing for Motif to do\n"
        parts = [text.clause_text(clause, len(self.clauses), self.host) for clause in self.clauses]
        if self.outer is not None:
            parts.append("\n".join([self.outer.title, "-" * len(self.outer.title), self.outer.code]))
        return "\n\n\n".join(parts) + "\n"

    def _repr_html_(self) -> str:
        return page.fragment(self.clauses, self.host, self.outer)

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


def explain_clause_text(query: RowQuery) -> Explanation:
    """What the text of a clause tells, without its rows."""
    return Explanation((text_facts(1, query, "duckdb"),), None, None)


def explain_statement_text(statement: Statement) -> Explanation:
    """What the text of a statement tells, without its tables."""
    return Explanation(tuple(text_facts(c.index + 1, c.query, "duckdb") for c in statement.clauses), None, None)


def explain_event_text(queries: Sequence[EventQuery], options: EventOptions) -> Explanation:
    """What the text of event queries tells, without their events."""
    return Explanation(tuple(text_facts_of_events(queries, options)), None, None)
