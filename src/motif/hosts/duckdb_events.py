"""Event queries on DuckDB: it scans, filters and computes scalars, the joins are done between two of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.analysis import Analysis
from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.parallel import match_events
from motif.engine.events.rows import bindable
from motif.engine.execution import Execution
from motif.engine.order import crossing, layout
from motif.errors import MotifError, MotifWarning
from motif.hosts.duckdb import DuckSource, columns_sql, finish, output_sql, planned, row_sql, user_errors
from motif.hosts.duckdb_database import Database, Progress, quoted
from motif.hosts.duckdb_plans import crossing_of, execution_of
from motif.hosts.duckdb_rows import rows_in_memory
from motif.hosts.duckdb_types import type_of
from motif.hosts.kept_plans import COLUMNS, kept, text_key
from motif.ir.event import EventQuery
from motif.ir.expr import Call, Column, Expr
from motif.plan.dag import Columns, Node, Part, Seen, TableColumn, dag_of, named_inputs, seen_by
from motif.plan.events.planner import bind_event_errors, plan_events
from motif.plan.events.program import EventProgram, Mask, Stream
from motif.plan.events.slips import (
    check_bare_names,
    event_tests,
    may_be_square,
    tell_any_events,
    tell_missing_classes,
    tell_of_events,
    tell_square,
)
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.facts import Asked
from motif.plan.physical.plan import Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.unmet import tell_unmet
from motif.slips import tell

LOOKED_AT = 1 << 16
"""Events that are looked at together."""
Callables = Mapping[str, Callable[..., Any]]


def match_stack(
    data: Any,
    queries: Sequence[EventQuery],
    stream: Stream,
    functions: Callables,
    *,
    costs: Costs = COSTS,
    wanted: Strategy | None = None,
    progress: Progress | None = None,
    analysis: Analysis | None = None,
) -> pa.Table:
    """Matches of the last query; the matches of those before it are events for those after them.

    `analysis` follows the runs of all.
    """
    stack = Stack(data, stream, queries)
    for node in stack.dag.nodes[:-1]:
        stack.add(_answer(stack, node, functions, costs, None, None, analysis))
    return _answer(stack, stack.dag.last, functions, costs, wanted, progress, analysis)


def _answer(
    stack: Stack,
    node: Node,
    functions: Callables,
    costs: Costs,
    wanted: Strategy | None,
    progress: Progress | None,
    analysis: Analysis | None,
) -> pa.Table:
    program, source = stack.plan(node, functions)
    check_bare_names(program, source.schema, source)
    execution = execution_of(program, source, asked_of(program, source), functions, costs=costs, wanted=wanted)
    if analysis is not None:
        analysis.follow(execution, functions)
    return matched(program, source, functions, execution, progress=progress, classes=node.classes)


def stack_errors(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, rows: bool = False
) -> list[MotifError]:
    """What is wrong with queries whose text is fine; earlier ones are run over no events. `rows`: events are read."""
    try:
        stack = Stack(data, stream, queries)
        for node in stack.dag.nodes:
            source = stack.source(node)
            if unknown := bind_event_errors(node.query, source.schema):
                return unknown
            program, source = stack.plan(node, functions)
            if rows and not node.before:
                tell_of_events(program, source.schema, source, node.classes)
            if node.is_followed:
                stack.add(run_program(program, source.empty(), functions))
    except MotifError as error:
        return [error]
    return []


def stack_plans(
    data: Any,
    queries: Sequence[EventQuery],
    stream: Stream,
    functions: Callables,
    *,
    wanted: Strategy | None = None,
    costs: Costs = COSTS,
) -> list[PlannedQuery]:
    """How every query of a stack will run; no event is read."""
    if errors := stack_errors(data, queries, stream, functions):
        raise errors[0]
    stack = Stack(data, stream, queries)
    plans = []
    for node in stack.dag.nodes:
        program, source = stack.plan(node, functions)
        own = wanted if node is stack.dag.last else None
        execution = execution_of(program, source, asked_of(program, source), functions, costs=costs, wanted=own)
        plans.append(PlannedQuery(program, execution.planned, functions))
        if node.is_followed:
            stack.add(run_program(program, source.empty(), functions))
    return plans


class Stack:
    """The events that queries see as tables of a database: the inputs, and the matches of queries before."""

    def __init__(self, data: Any, stream: Stream, queries: Sequence[EventQuery]) -> None:
        inputs = named_inputs(data)
        self.database = Database(inputs)
        columns = {name: self._columns(name) for name in inputs}
        self.dag = dag_of(queries, columns, stream, is_named=isinstance(data, Mapping))
        self.matches: list[Columns] = []
        """Columns of the matches of each query so far."""

    def plan(self, node: Node, functions: Callables) -> tuple[EventProgram, DuckSource]:
        """Check a query against its events and compile it."""
        key = text_key(node.query, node, self.dag.columns, tuple(self.matches), frozenset(functions))
        [(program, source)] = planned(self.database, key, lambda: [self._planned(node, functions)])
        tell_any_events(program.query, program.stream.type)
        return program, source

    def _planned(self, node: Node, functions: Callables) -> tuple[EventProgram, DuckSource]:
        source = self.source(node)
        return self.planned(node, source, functions), source

    def planned(self, node: Node, source: DuckSource, functions: Callables) -> EventProgram:
        """A query compiled for events as those of the stack."""
        program = plan_events(node.query, source, node.stream, functions, is_followed=node.is_followed)
        if not program.outputs.is_plain:  # lets DuckDB look at the items before any row is read
            run_program(program, source.empty(), functions)
        return program

    def source(self, node: Node) -> DuckSource:
        """The events of a query as one table."""
        seen = self.seen(node)
        if seen.is_one_table:
            return DuckSource(self.database, "", quoted(seen.inputs[0][0]))
        events = " UNION ALL BY NAME ".join(_part_sql(part, quoted(name)) for name, part in seen.inputs)
        if seen.lacking:
            kinds = self._kinds()
            nulls = [f"CAST(NULL AS {kinds[name]}) AS {quoted(name)}" for name in seen.lacking]
            events = f"SELECT *, {', '.join(nulls)} FROM ({events})"
        if seen.placed:
            events = f"SELECT *, {_given_sql(seen.placed)} FROM ({events})"
        tables = (quoted(match_table(number)) for number in range(len(seen.matches)))
        matches = map(_part_sql, seen.matches, tables)
        return DuckSource(self.database, "", f"({' UNION ALL BY NAME '.join([events, *matches])}) AS events")

    def seen(self, node: Node) -> Seen:
        """Out of which columns the events of a query are made."""
        return seen_by(self.dag, node, self.matches[: node.number])

    def add(self, matches: pa.Table) -> None:
        """Let the matches of the next query be events for those after it."""
        table = match_table(len(self.matches))
        self.database.add(table, matches)
        self.matches.append(self._columns(table))

    def _columns(self, table: str) -> Columns:
        """Columns of a table; of one that has not changed DuckDB is asked once."""

        def described() -> Columns:
            found = self.database.describe(f"SELECT * FROM {quoted(table)}")
            return tuple(TableColumn(name, type_of(kind), kind) for name, kind in found)

        return kept(self.database.state, ("columns", table), lambda: (described(), True), COLUMNS)

    def _kinds(self) -> dict[str, str]:
        """DuckDB's types of the columns that all inputs have together."""
        every = " UNION ALL BY NAME ".join(f"SELECT * FROM {quoted(name)}" for name in self.dag.read)
        return dict(self.database.describe(every))


def match_table(number: int) -> str:
    """The table with the matches of a query, by its number in the stack."""
    return f"__motif_composite_{number}"


def _part_sql(part: Part, table: str) -> str:
    given = [_given_sql(part.given)] if part.given else []
    return f"SELECT {', '.join([*map(quoted, part.kept), *given])} FROM {table}"


def _given_sql(given: Iterable[tuple[str, Expr]]) -> str:
    return ", ".join(f"{row_sql(expr)} AS {quoted(name)}" for name, expr in given)


def _have_times(program: EventProgram, source: DuckSource) -> bool:
    """Whether files know that no event is without a time: then the filter is done while they are read."""
    if program.filter is None or not source.database.is_parquet:
        return False
    untimed = row_sql(Call("is null", (Column(program.stream.time),)))
    question = source.select("1", f"WHERE {untimed} LIMIT 1")
    return kept(source.database.content, question, lambda: (not source.database.execute(question).fetchall(), True))


def asked_of(program: EventProgram, source: DuckSource) -> Asked:
    """What DuckDB is asked for around the matching: needed columns of events that can play a role, in no order."""
    admitted = program.filter if _have_times(program, source) else program.admitted

    def asked() -> Asked:
        exprs = crossing(program)
        return Asked(
            rows=source.select(columns_sql(exprs), "" if admitted is None else f"WHERE {row_sql(admitted)}"),
            result="" if program.outputs.is_plain else output_sql(program, "matches"),
            crossing=crossing_of(program, source, list(map(row_sql, exprs))),
        )

    return source.told.once(f"asked, {'timed' if admitted is program.filter else 'whatever their time'}", asked)


def input_sql(program: EventProgram, source: DuckSource) -> str:
    """What DuckDB does before the joins."""
    return asked_of(program, source).rows


def run_program(program: EventProgram, source: DuckSource, functions: Callables, *, costs: Costs = COSTS) -> pa.Table:
    """Matches of one planned query."""
    execution = execution_of(program, source, asked_of(program, source), functions, costs=costs)
    return matched(program, source, functions, execution)


def matched(
    program: EventProgram,
    source: DuckSource,
    functions: Callables,
    execution: Execution,
    *,
    progress: Progress | None = None,
    classes: frozenset[str] = frozenset(),
) -> pa.Table:
    """Matches of one query, as its run goes; `classes`: those that are no slip if no event has them."""
    budget = execution.budget
    with user_errors(program.query.source):
        arranged = layout(program, source.types_of(crossing(program)))
        # Not held here, so that the engine can let go of the events once they are sorted.
        found = match_events(
            program,
            _looked_over(program, source, classes, rows_in_memory(program, source, execution, progress).pop()),
            arranged,
            functions=Functions(functions),
            execution=execution,
        )
    budget.check(found.num_rows)
    if not found.num_rows:
        tell_unmet(event_tests(program, source.schema), source, program.query.source)
    return finish(program, source, found, execution)


def _looked_over(program: EventProgram, source: DuckSource, classes: frozenset[str], events: pa.Table) -> pa.Table:
    """The events that are matched; what they tell of slips is told before it may take long."""
    counts = (
        {var: sum(int(some.sum()) for some in _flags(events, mask)) for var, mask in program.masks}
        if may_be_square(program)
        else {}
    )
    tell_square(program, counts)
    unseen = [var for var, mask in program.masks if not any(some.any() for some in _flags(events, mask))]
    tell_missing_classes(program, source.schema, source, unseen, classes)
    return with_time(program, events)


def _flags(events: pa.Table, mask: Mask | None) -> Iterator[Array]:
    """1 for events that a variable may bind, some at a time: who looks for one soon has it."""
    for part in events.column(0 if mask is None else mask.column).chunks:
        for start in range(0, len(part), LOOKED_AT):
            some = part.slice(start, LOOKED_AT)
            yield np.ones(len(some), np.uint8) if mask is None else bindable(mask, some)


def with_time(program: EventProgram, events: pa.Table) -> pa.Table:
    """Events without a time are set aside, and counted."""
    times = events.column(program.time)
    if times.null_count:
        tell(MotifWarning(f"{times.null_count} events have no {program.stream.time} and were left out"))
        events = events.filter(pc.is_valid(times))
    return events
