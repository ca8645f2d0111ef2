"""How a statement will be answered: the plan for people.

Not called `explain`: a module of that name would replace the function `motif.explain` once it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motif.explanation import drawing, graph, page, text
from motif.explanation.facts import ClauseFacts, Step, text_facts
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.lang.statement import Statement, parse_clause, parse_statement
from motif.options import EventOptions

__all__ = ["ClauseFacts", "Explanation", "explain_clause", "explain_events", "explain_statement"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Print it, let a notebook draw it, or take `mermaid`, `svg` and `html` from it."""

    clauses: tuple[ClauseFacts, ...]
    host: str | None
    """The engine around the matching; None where only the text is known."""
    outer: Step | None
    """The SELECT around the clauses."""

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


def explain_statement(query: str, tables: Mapping[str, Any], spark: Any) -> Explanation:
    """Plan the statement without reading a row; without tables and Spark, say what the text alone tells."""
    from motif.explanation import hosts

    if spark is None and not tables and query.lstrip().upper().startswith("MATCH_RECOGNIZE"):
        return Explanation((text_facts(1, parse_clause(query, "duckdb"), "duckdb"),), None, None)
    statement = parse_statement(query, "duckdb" if spark is None else "spark")
    if spark is not None:
        return Explanation(tuple(hosts.spark_facts(statement, spark)), "Spark", _outer(statement, "Spark"))
    if tables:
        return Explanation(tuple(hosts.duckdb_facts(statement, tables)), "DuckDB", _outer(statement, "DuckDB"))
    clauses = (text_facts(clause.index + 1, clause.query, "duckdb") for clause in statement.clauses)
    return Explanation(tuple(clauses), None, None)


def explain_clause(query: RowQuery, data: Any, *, on_spark: bool) -> Explanation:
    """Plan a clause over one table without reading a row."""
    from motif.explanation import hosts

    if on_spark:
        return Explanation((hosts.spark_clause(query, data),), "Spark", None)
    return Explanation((hosts.duckdb_clause(query, data),), "DuckDB", None)


def explain_events(queries: Sequence[EventQuery], data: Any, options: EventOptions, *, on_spark: bool) -> Explanation:
    """Plan event queries; without data say what their text tells."""
    from motif.explanation import event_hosts

    if data is None:
        return Explanation(tuple(event_hosts.text_facts(queries, options)), None, None)
    if on_spark:
        return Explanation(tuple(event_hosts.spark_facts(queries, data, options)), "Spark", None)
    return Explanation(tuple(event_hosts.duckdb_facts(queries, data, options)), "DuckDB", None)


def _outer(statement: Statement, host: str) -> Step:
    return Step(f"{host} answers the statement around it", statement.outer_sql)
