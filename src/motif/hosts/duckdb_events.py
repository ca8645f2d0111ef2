"""Event queries on DuckDB: it scans, filters and computes scalars, the joins are done between two of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.arguments import check_tables
from motif.engine.analysis import Analysis
from motif.engine.arrays import Array
from motif.engine.events.functions import Functions
from motif.engine.events.parallel import match_events
from motif.engine.events.rows import bindable
from motif.engine.execution import Execution
from motif.engine.order import crossing, layout
from motif.errors import MotifError, MotifWarning, QueryBindError, did_you_mean
from motif.hosts.duckdb import DuckSource, columns_sql, finish, output_sql, planned, row_sql, user_errors
from motif.hosts.duckdb_database import Database, Progress, quoted
from motif.hosts.duckdb_plans import crossing_of, execution_of
from motif.hosts.duckdb_rows import rows_in_memory
from motif.hosts.given_files import literal
from motif.hosts.kept_plans import kept, text_key
from motif.ir.event import EventQuery
from motif.ir.expr import Call, Column
from motif.plan.events.places import RANK, START, first_names, last_names, total_order
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

BASE = "__motif_events"
"""The table of events where there is one input without a name."""
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
    for query in queries[:-1]:
        stack.add(query, _answer(stack, query, functions, costs, None, None, analysis))
    return _answer(stack, queries[-1], functions, costs, wanted, progress, analysis)


def _answer(
    stack: Stack,
    query: EventQuery,
    functions: Callables,
    costs: Costs,
    wanted: Strategy | None,
    progress: Progress | None,
    analysis: Analysis | None,
) -> pa.Table:
    program, source = stack.plan(query, functions)
    check_bare_names(program, source.schema, source)
    execution = execution_of(program, source, asked_of(program, source), functions, costs=costs, wanted=wanted)
    if analysis is not None:
        analysis.follow(execution, functions)
    return matched(program, source, functions, execution, progress=progress, classes=stack.classes)


def stack_errors(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, rows: bool = False
) -> list[MotifError]:
    """What is wrong with queries whose text is fine; earlier ones are run over no events. `rows`: events are read."""
    try:
        stack = Stack(data, stream, queries)
        for query in queries:
            source = stack.source(query)
            if unknown := bind_event_errors(query, source.schema):
                return unknown
            program, source = stack.plan(query, functions)
            if rows and not stack.composites:
                tell_of_events(program, source.schema, source, stack.classes)
            if query is not queries[-1]:
                stack.add(query, run_program(program, source.empty(), functions))
    except MotifError as error:
        return [error]
    return []


def stack_plans(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, wanted: Strategy | None = None
) -> list[PlannedQuery]:
    """How every query of a stack will run; no event is read."""
    if errors := stack_errors(data, queries, stream, functions):
        raise errors[0]
    stack = Stack(data, stream, queries)
    plans = []
    for query in queries:
        program, source = stack.plan(query, functions)
        own = wanted if query is queries[-1] else None
        execution = execution_of(program, source, asked_of(program, source), functions, wanted=own)
        plans.append(PlannedQuery(program, execution.planned, functions))
        if query is not queries[-1]:
            stack.add(query, run_program(program, source.empty(), functions))
    return plans


class Stack:
    """The events that queries see: the input, and the matches of queries before."""

    def __init__(self, data: Any, stream: Stream, queries: Sequence[EventQuery]) -> None:
        self.inputs = dict(data) if isinstance(data, Mapping) else {BASE: data}
        if not self.inputs:
            raise MotifError("there are no events: the mapping is empty", hint='give an input: {"payments": payments}')
        check_tables("the events", self.inputs)
        self.named = isinstance(data, Mapping)
        self.stream = stream
        self.database = Database(self.inputs)
        self.composites: list[tuple[str, str]] = []
        """Class and table of matches that are events."""
        self.last = queries[-1]
        self._described: dict[str, list[tuple[str, str]]] = {}
        self.known: dict[str, str] = {}
        """Columns of all inputs of a stack of queries, and their types: events are ordered by them."""
        if len(queries) > 1:
            everything = f"({self._inputs(self.inputs)})"
            self.known = dict(self._columns(f"SELECT * FROM {everything}"))
            schema = DuckSource(self.database, "", everything).schema
            self.stream = replace(stream, total=total_order(queries, self._typed(stream), schema))

    @property
    def classes(self) -> frozenset[str]:
        """Classes that are there even if no event has them."""
        return frozenset((*(self.inputs if self.named else ()), *(name for name, _ in self.composites)))

    def plan(self, query: EventQuery, functions: Callables) -> tuple[EventProgram, DuckSource]:
        """Check the query against its events and compile it."""
        key = text_key(
            query, self.named, self.stream, tuple(self.composites), frozenset(functions), self._is_followed(query)
        )
        [(program, source)] = planned(self.database, key, lambda: [self._planned(query, functions)])
        tell_any_events(program.query, program.stream.type)
        return program, source

    def _planned(self, query: EventQuery, functions: Callables) -> tuple[EventProgram, DuckSource]:
        source = self.source(query)
        return self.planned(query, source, functions), source

    def planned(self, query: EventQuery, source: DuckSource, functions: Callables) -> EventProgram:
        """The query compiled for events as those of the stack."""
        stream = self._typed(self.stream)
        if self.composites:
            stream = replace(stream, start=START)
        program = plan_events(query, source, stream, functions, is_followed=self._is_followed(query))
        if not program.outputs.is_plain:  # lets DuckDB look at the items before any row is read
            run_program(program, source.empty(), functions)
        return program

    def _is_followed(self, query: EventQuery) -> bool:
        """Whether its matches are events for others."""
        return query is not self.last and query.name is not None

    def _typed(self, stream: Stream) -> Stream:
        """Of several inputs, their names are classes."""
        return replace(stream, type="type") if self.named and stream.type is None else stream

    def source(self, query: EventQuery) -> DuckSource:
        """The events of a query as one table."""
        if not self.composites and not self.named:
            return DuckSource(self.database, "", quoted(BASE))
        self._check_columns()
        inputs = self._inputs(self._chosen(query))
        if not self.composites:
            return DuckSource(self.database, "", f"({inputs}) AS events")
        parts = [self._placed(inputs), *(self._composite(name, table) for name, table in self.composites)]
        return DuckSource(self.database, "", f"({' UNION ALL BY NAME '.join(parts)}) AS events")

    def _inputs(self, names: Iterable[str]) -> str:
        events = " UNION ALL BY NAME ".join(map(self._input, names))
        if not self.stream.total:
            return events
        own = {column.casefold() for column, _ in self._columns(events)}
        lacking = [(name, kind) for name, kind in self.known.items() if name.casefold() not in own]
        nulls = "".join(f", CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in lacking)
        return f"SELECT *{nulls} FROM ({events})" if lacking else events

    def _columns(self, select: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns; those of a table are asked for by every query of a stack."""
        if select not in self._described:
            self._described[select] = self.database.describe(select)
        return self._described[select]

    def _placed(self, inputs: str) -> str:
        """Events that are no matches, with what they are ordered by where matches stand between them."""
        total, stream = [row_sql(expr) for expr in self.stream.total], self.stream
        names = [*last_names(stream), *first_names(stream)]
        own = "".join(f", {value} AS {name}" for name, value in zip(names, total * 2, strict=True))
        return f"SELECT *, NULL AS {START}, NULL AS {RANK}{own} FROM ({inputs})"

    def _chosen(self, query: EventQuery) -> list[str]:
        if not self.named or query.input is None:
            return list(self.inputs)
        known = {name.casefold(): name for name in self.inputs}
        if query.input.casefold() not in known:
            raise QueryBindError(
                f"there is no input {query.input}", hint=did_you_mean(query.input, self.inputs) or "leave it out"
            )
        return [known[query.input.casefold()]]

    def _input(self, name: str) -> str:
        columns = {column.casefold() for column, _ in self._columns(f"SELECT * FROM {quoted(name)}")}
        kind = self.stream.type or "type"
        own_class = "" if kind.casefold() in columns or not self.named else f", {literal(name)} AS {quoted(kind)}"
        return f"SELECT *{own_class} FROM {quoted(name)}"

    def _composite(self, name: str, table: str) -> str:
        kind = self.stream.type or "type"
        replaced = {kind.casefold(), self.stream.time.casefold(), "event", "match_start", "match_end"}
        columns = [column for column, _ in self._columns(f"SELECT * FROM {quoted(table)}")]
        kept = "".join(f"{quoted(column)}, " for column in columns if column.casefold() not in replaced)
        return (
            f"SELECT {kept}{literal(name)} AS {quoted(kind)}, "
            f"match_end AS {quoted(self.stream.time)}, match_start AS {START} FROM {quoted(table)}"
        )

    def _check_columns(self) -> None:
        """A name must mean the same type in every input; DuckDB would make both text without a word."""
        seen: dict[str, tuple[str, str]] = {}
        tables = [(name, name) for name in self.inputs] + self.composites
        for label, table in tables:
            for column, kind in self._columns(f"SELECT * FROM {quoted(table)}"):
                other, known = seen.setdefault(column.casefold(), (label, kind))
                if _family(kind) != _family(known) and column not in ("event", "match_start", "match_end"):
                    raise QueryBindError(
                        f"column {column} is {kind.lower()} in {label} and {known.lower()} in {other}",
                        hint="rename or CAST one of them, so that events can be merged",
                    )

    def add(self, query: EventQuery, matches: pa.Table) -> None:
        """Let the matches of a query be events."""
        if query.name is None:
            raise QueryBindError(
                "a query that is followed by another one needs a name, or nothing can use its matches",
                hint="begin it with DEFINE name, or end it with RETURN name(...)",
            )
        table = f"__motif_composite_{len(self.composites)}"
        self.database.add(table, matches)
        self.composites.append((query.name, table))


def _family(kind: str) -> str:
    numbers = ("INT", "FLOAT", "DOUBLE", "DECIMAL", "HUGE")
    return "number" if any(word in kind for word in numbers) and "(" not in kind.replace("DECIMAL(", "") else kind


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
