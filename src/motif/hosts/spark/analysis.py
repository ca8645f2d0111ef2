"""Queries run on Spark to see what they do: their plans, with what their tasks took, gave and cost.

The counters come back beside the rows, in accumulators of Spark, and the rows go nowhere: one job, as the query has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from motif.errors import UnsupportedQuery
from motif.hosts.spark import batch, events
from motif.hosts.spark.shipping import is_connect
from motif.hosts.spark.tell import OfTasks, Tell, Telling, together
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.lang.statement import Statement
from motif.plan.events.program import EventProgram, Stream
from motif.plan.physical.plan import PhysicalPlan, Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.ran import Ran, Total
from motif.plan.program import Program

Callables = Mapping[str, Callable[..., Any]]
Analyzed = tuple[list[PlannedQuery], Total]


class Analysis:
    """The queries of one run."""

    def __init__(self, session: SparkSession) -> None:
        if is_connect(session):
            raise UnsupportedQuery(
                "analyze= does not run queries on Spark Connect, which hands no counters of tasks to its clients",
                hint="leave analyze= out for the plan, or use a classic session",
            )
        self.session = session
        self._queries: list[tuple[Program | EventProgram, PhysicalPlan, Callables, Any]] = []

    def follow(self, program: Program | EventProgram, plan: PhysicalPlan, functions: Callables | None = None) -> Tell:
        """What the tasks of the next query are to tell."""
        told = self.session.sparkContext.accumulator([], OfTasks())
        self._queries.append((program, plan, functions or {}, told))
        return Telling(told)

    def run(self, frame: DataFrame) -> Analyzed:
        """Make all rows, and keep none."""
        begun = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        seconds = time.perf_counter() - begun
        planned = []
        for program, plan, functions, told in self._queries:
            steps, levels = together(told.value)
            planned.append(PlannedQuery(program, plan, functions, Ran(plan, (), steps, levels=levels)))
        return planned, Total(seconds, None)


def statement(parsed: Statement, session: SparkSession, wanted: Strategy | None = None) -> Analyzed:
    """A statement over tables: its clauses in order."""
    if errors := batch.statement_errors(parsed, session):
        raise errors[0]
    analysis = Analysis(session)
    frames: dict[str, DataFrame] = {}
    for clause in parsed.clauses:
        frame = batch.clause_input(parsed, clause, session, frames)
        _refuse_stream(frame)
        frames[clause.name] = batch.match_frame(frame, clause.query, wanted, analysis.follow)
    return analysis.run(batch.around(parsed, session, frames))


def clause(data: DataFrame, query: RowQuery, wanted: Strategy | None = None) -> Analyzed:
    """A clause over a DataFrame."""
    _refuse_stream(data)
    if errors := batch.clause_errors(data, query):
        raise errors[0]
    analysis = Analysis(data.sparkSession)
    return analysis.run(batch.match_frame(data, query, wanted, analysis.follow))


def stack(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, wanted: Strategy | None = None
) -> Analyzed:
    """Event queries: the matches of each are events for those after it."""
    frames = list(data.values()) if isinstance(data, Mapping) else [data]
    for frame in frames:
        _refuse_stream(frame)
    if errors := events.stack_errors(data, queries, stream, functions):
        raise errors[0]
    analysis = Analysis(frames[0].sparkSession)
    return analysis.run(events.match_stack(data, queries, stream, functions, wanted, analysis.follow))


def _refuse_stream(frame: DataFrame) -> None:
    if frame.isStreaming:
        raise UnsupportedQuery(
            "analyze= runs a query to its end, and a stream has none",
            hint="start it, and ask motif.status(query) for its counters and its plan",
        )
