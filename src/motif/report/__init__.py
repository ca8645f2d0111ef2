"""A page that draws the matches of a query on their time line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from motif.arguments import file_path
from motif.errors import MotifError
from motif.ir.event import EventQuery
from motif.options import EventOptions

_MOST_CHARS = 1_400_000
"""Data of all clauses together; the page stays below 2 MB."""


@dataclass(frozen=True, slots=True)
class Report:
    """A page that draws matches: a notebook shows it, `save` writes it."""

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; it appears only when it is complete."""
        target = file_path(path, "report.html")
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            unfinished.write_text(self.html, encoding="utf-8")
            unfinished.replace(target)
        except OSError as error:
            raise MotifError(
                f"cannot write {target}: {error.strerror or error}",
                hint="give a path in a folder that you can write to",
            ) from None
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    def _repr_html_(self) -> str:
        frame = "width: 100%; height: 900px; border: 0; color-scheme: light dark"
        return f'<iframe style="{frame}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<report, {len(self.html):,} characters: save it as a file, or show it in a notebook>"


def statement_report(query: str, tables: Mapping[str, Any], *, title: str = "Matches") -> Report:
    """Run a statement in process and draw the matches of its clauses."""
    from motif.explanation.planned import planned_facts
    from motif.hosts import duckdb
    from motif.hosts.duckdb_database import Database
    from motif.lang.statement import parse_statement
    from motif.report.data import clause_data
    from motif.report.page import ClausePart, render
    from motif.report.sample import Sampler

    statement = parse_statement(query, "duckdb")
    facts = list(planned_facts(duckdb.statement_plans(statement, tables)))
    database = Database(tables)
    parts = []
    for clause, known in zip(statement.clauses, facts, strict=True):
        program, source = duckdb.plan_clause(database, statement, clause)
        sample = Sampler(database, source, program).sample()
        parts.append(ClausePart(known, sample.counts, clause_data(sample, _MOST_CHARS // len(facts))))
        if clause is not statement.clauses[-1]:
            database.add(clause.name, duckdb.run_program(program, source))
    return Report(render(title, query, parts))


def event_report(
    queries: Sequence[EventQuery], data: Any, options: EventOptions, *, text: str, title: str = "Matches"
) -> Report:
    """Run event queries in process and draw the matches of each."""
    from motif.explanation.planned import planned_facts
    from motif.hosts.duckdb_events import Stack, run_program, stack_plans
    from motif.report.bound import bound_by_query
    from motif.report.data import clause_data
    from motif.report.event_sample import event_sample
    from motif.report.page import ClausePart, render

    facts = list(planned_facts(stack_plans(data, queries, options.stream, options.functions)))
    stack = Stack(data, options.stream, queries)
    parts = []
    for node, known in zip(stack.dag.nodes, facts, strict=True):
        sample = event_sample(bound_by_query(stack, node, options.functions))
        parts.append(ClausePart(known, sample.counts, clause_data(sample, _MOST_CHARS // len(facts))))
        if node.is_followed:
            stack.add(run_program(*stack.plan(node, options.functions), options.functions))
    return Report(render(title, text, parts))


def result_report(result: Any, data: Any, time: str, *, title: str = "Matches") -> Report:
    """Draw the matches that a result holds among the data that was matched."""
    from motif.report.bound import bound_in_result
    from motif.report.data import clause_data
    from motif.report.event_sample import event_sample
    from motif.report.page import ClausePart, render

    sample = event_sample(bound_in_result(result, data, time))
    return Report(render(title, "", [ClausePart(None, sample.counts, clause_data(sample, _MOST_CHARS))]))
