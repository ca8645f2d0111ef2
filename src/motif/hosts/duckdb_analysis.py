"""Queries run in process to see what they do: their plans, with what each step took, gave and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from motif.engine.analysis import Analysis
from motif.errors import MotifError
from motif.hosts import duckdb, duckdb_events
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.lang.statement import Statement
from motif.plan.events.program import Stream
from motif.plan.physical.plan import Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.ran import Total

Analyzed = tuple[list[PlannedQuery], Total]


def statement(parsed: Statement, tables: Mapping[str, Any], wanted: Strategy | None = None) -> Analyzed:
    """A statement: its clauses in order."""
    _refuse(duckdb.statement_errors(parsed, tables))
    with Analysis() as analysis:
        duckdb.run_statement(parsed, tables, wanted=wanted, analysis=analysis)
    return analysis.queries(), analysis.total


def clause(data: Any, query: RowQuery, wanted: Strategy | None = None) -> Analyzed:
    """A clause over one table or file."""
    _refuse(duckdb.clause_errors(data, query))
    with Analysis() as analysis:
        duckdb.match_table(data, query, wanted=wanted, analysis=analysis)
    return analysis.queries(), analysis.total


def stack(
    data: Any,
    queries: Sequence[EventQuery],
    stream: Stream,
    functions: Mapping[str, Callable[..., Any]],
    wanted: Strategy | None = None,
) -> Analyzed:
    """Event queries: the matches of each are events for those after it."""
    _refuse(duckdb_events.stack_errors(data, queries, stream, functions))
    with Analysis() as analysis:
        duckdb_events.match_stack(data, queries, stream, functions, wanted=wanted, analysis=analysis)
    return analysis.queries(), analysis.total


def _refuse(errors: list[MotifError]) -> None:
    if errors:
        raise errors[0]
