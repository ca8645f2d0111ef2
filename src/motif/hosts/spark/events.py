"""Event queries over Spark DataFrames: lazy, one exchange and one pass of the engine in the Python workers.

Events are exchanged by key. Without a key, time is cut into slices: an event goes to its own slice and to those
whose matches it may be part of, and a match is kept by the slice of its *anchor*, an event that no PICK chooses. What
cannot be cut (`why_not_slices`), and what is too small to be worth it, is matched by one task.

A query whose matches are events for other queries is worked out anew for each of them; nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from motif.engine.events.functions import Functions
from motif.engine.order import Layout, crossing, layout
from motif.engine.told import Told
from motif.errors import MotifError, QueryBindError, did_you_mean
from motif.hosts.spark.asking import ASK, Questions, settled
from motif.hosts.spark.asking import Condition as Asking
from motif.hosts.spark.batch import (
    Follow,
    SparkSource,
    quoted,
    row_sql,
    with_scalars,
)
from motif.hosts.spark.event_worker import event_asker, event_matcher, told_events
from motif.hosts.spark.exchange import bytes_to_read, moved
from motif.hosts.spark.plans import event_plan
from motif.hosts.spark.safety import filtered
from motif.hosts.spark.settings import use_unbounded_batches
from motif.hosts.spark.shipping import Work, carried
from motif.hosts.spark.types import event_schema, type_of
from motif.ir.event import Duration, EventQuery
from motif.ir.expr import Call, Column, End, Expr, Literal, Verbatim, transform
from motif.ir.types import Kind, Type
from motif.plan.events.outputs import Value
from motif.plan.events.places import START, first_names, last_names, total_order
from motif.plan.events.planner import bind_event_errors, plan_events
from motif.plan.events.program import EventProgram, Slice, Stream
from motif.plan.events.slips import may_be_square, tell_any_events, tell_of_events, tell_square_of_many
from motif.plan.outputs import leaf_name
from motif.plan.physical.costs import COSTS
from motif.plan.physical.exact import is_tested_after, looks_back
from motif.plan.physical.plan import PhysicalPlan, Strategy
from motif.plan.physical.planned import PlannedQuery

SLICE = "__motif_slice"
"""The column that says for which time slice a copy of an event is."""
MATCH = "motif_match_events"
"""What Spark shows as the name of the step that matches."""
_COMPOSITE = ("event", "match_start", "match_end")
"""Columns of matches that are no attributes of the event that a match is."""
Callables = Mapping[str, Callable[..., Any]]


def match_stack(
    data: Any,
    queries: Sequence[EventQuery],
    stream: Stream,
    functions: Callables,
    wanted: Strategy | None = None,
    follow: Follow | None = None,
) -> DataFrame:
    """Matches of the last query; the matches of those before it are events for those after them.

    `follow`: says how tasks tell what they count.
    """
    stack = Stack(data, stream, queries)
    for name, frame in stack.inputs.items():
        if frame.isStreaming:
            raise MotifError(f"{name}: a streaming DataFrame is not a table", hint="motif.match takes it")
        use_unbounded_batches(frame.sparkSession)
    for query in queries[:-1]:
        found = run_program(*answered(*stack.plan(query, functions), functions), functions, None, follow)
        stack.add(query, found)
    return run_program(*answered(*stack.plan(queries[-1], functions), functions), functions, wanted, follow)


def stack_errors(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, rows: bool = False
) -> list[MotifError]:
    """What is wrong with queries whose text is fine; Spark analyses, no event is read unless `rows` is set."""
    try:
        stack = Stack(data, stream, queries)
        for query in queries:
            if unknown := bind_event_errors(query, stack.source(query).schema):
                return unknown
            program, source = stack.plan(query, functions)
            if rows and not stack.composites:
                tell_of_events(program, source.schema, source, stack.classes)
            found = run_program(program, source, functions)
            if query is not queries[-1]:
                stack.add(query, found)
    except MotifError as error:
        return [error]
    return []


def stack_plans(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, wanted: Strategy | None = None
) -> list[PlannedQuery]:
    """How every query of a stack will run; no job is run."""
    if errors := stack_errors(data, queries, stream, functions):
        raise errors[0]
    stack = Stack(data, stream, queries)
    plans = []
    for query in queries:
        program, source = stack.plan(query, functions)
        own = wanted if query is queries[-1] else None
        plans.append(PlannedQuery(program, event_plan(program, source, functions, own).plan, functions))
        if query is not queries[-1]:
            stack.add(query, run_program(program, source, functions))
    return plans


# -- what queries see


class Stack:
    """The events that queries see: the input, and the matches of queries before."""

    def __init__(self, data: Any, stream: Stream, queries: Sequence[EventQuery]) -> None:
        self.named = isinstance(data, Mapping)
        self.inputs: dict[str, DataFrame] = dict(data) if isinstance(data, Mapping) else {"the events": data}
        if not self.inputs:
            raise MotifError("there are no events: the mapping is empty", hint='give an input: {"payments": payments}')
        for name, frame in self.inputs.items():
            _check_input(name, frame)
        self.stream = stream
        self.composites: list[tuple[str, DataFrame]] = []
        """Class and matches that are events."""
        self.last = queries[-1]
        self.known: dict[str, t.DataType] = {}
        """Columns of all inputs of a stack of queries, and their types: events are ordered by them."""
        if len(queries) > 1:
            everything = self._inputs(self.inputs)
            self.known = {field.name: field.dataType for field in everything.schema.fields}
            total = total_order(queries, self._typed(stream), SparkSource(everything).schema)
            self.stream = replace(stream, total=total)

    def plan(self, query: EventQuery, functions: Callables) -> tuple[EventProgram, SparkSource]:
        source = self.source(query)
        stream = self._typed(self.stream)
        if self.composites:
            stream = replace(stream, start=START)
        program = plan_events(query, source, stream, functions, is_followed=self._is_followed(query))
        tell_any_events(program.query, program.stream.type)
        if may_be_square(program) and _are_many(program, source):
            tell_square_of_many(program)
        return program, source

    @property
    def classes(self) -> frozenset[str]:
        """Classes that are there even if no event has them."""
        return frozenset((*(self.inputs if self.named else ()), *(name for name, _ in self.composites)))

    def _is_followed(self, query: EventQuery) -> bool:
        """Whether its matches are events for others."""
        return query is not self.last and query.name is not None

    def _typed(self, stream: Stream) -> Stream:
        """Of several inputs, their names are classes."""
        return replace(stream, type="type") if self.named and stream.type is None else stream

    def source(self, query: EventQuery) -> SparkSource:
        """The events of a query as one DataFrame."""
        composites = [(name, self._composite(name, frame)) for name, frame in self.composites]
        chosen = self._chosen(query)
        _check_columns([*((name, self._input(name)) for name in chosen), *composites])
        events = self._inputs(chosen)
        if not composites:
            return SparkSource(events)
        return SparkSource(_united([self._placed(events), *(frame for _, frame in composites)]))

    def _inputs(self, names: Iterable[str]) -> DataFrame:
        events = _united([self._input(name) for name in names])
        own = {column.casefold() for column in events.columns}
        lacking = [(name, kind) for name, kind in self.known.items() if name.casefold() not in own]
        return events.select("*", *(f.lit(None).cast(kind).alias(name) for name, kind in lacking))

    def _placed(self, events: DataFrame) -> DataFrame:
        """Events that are no matches, with what they are ordered by where matches stand between them."""
        total, stream = [row_sql(expr) for expr in self.stream.total], self.stream
        names = [*last_names(stream), *first_names(stream)]
        return events.selectExpr("*", *(f"{value} AS {name}" for name, value in zip(names, total * 2, strict=True)))

    def _chosen(self, query: EventQuery) -> list[str]:
        if not self.named or query.input is None:
            return list(self.inputs)
        known = {name.casefold(): name for name in self.inputs}
        if query.input.casefold() not in known:
            raise QueryBindError(
                f"there is no input {query.input}", hint=did_you_mean(query.input, self.inputs) or "leave it out"
            )
        return [known[query.input.casefold()]]

    @property
    def _kind(self) -> str:
        return self.stream.type or "type"

    def _input(self, name: str) -> DataFrame:
        frame = self.inputs[name]
        known = self._kind.casefold() in {column.casefold() for column in frame.columns}
        if known or not self.named:
            return frame
        return frame.selectExpr("*", f"{row_sql(Literal(name))} AS {quoted(self._kind)}")

    def _composite(self, name: str, frame: DataFrame) -> DataFrame:
        """Matches as events: of their class, at their end."""
        given = {
            self._kind: row_sql(Literal(name)),
            self.stream.time: "match_end",
            START: "match_start",
        }
        taken = {column.casefold() for column in (*given, *_COMPOSITE)}
        own = [quoted(column) for column in frame.columns if column.casefold() not in taken]
        return frame.selectExpr(*own, *(f"{value} AS {quoted(column)}" for column, value in given.items()))

    def add(self, query: EventQuery, matches: DataFrame) -> None:
        """Let the matches of a query be events."""
        if query.name is None:
            raise QueryBindError(
                "a query that is followed by another one needs a name, or nothing can use its matches",
                hint="begin it with DEFINE name, or end it with RETURN name(...)",
            )
        self.composites.append((query.name, matches))


def _are_many(program: EventProgram, source: SparkSource) -> bool:
    """Whether Spark itself estimates that these are more events than one task had better join."""
    size = bytes_to_read(source.select(crossing(program)), COSTS)
    return size is not None and size > COSTS.exchange_bytes


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _check_input(name: str, frame: Any) -> None:
    if not type(frame).__module__.startswith("pyspark."):
        raise MotifError(
            f"{name} is a {type(frame).__name__}, other inputs are Spark DataFrames",
            hint="make it one with spark.createDataFrame, or give tables only",
        )


def _check_columns(parts: Sequence[tuple[str, DataFrame]]) -> None:
    """A name must mean the same type in every input; Spark would cast one of them without a word."""
    seen: dict[str, tuple[str, t.DataType]] = {}
    for label, frame in parts:
        for field in frame.schema.fields if len(parts) > 1 else ():
            other, known = seen.setdefault(field.name.casefold(), (label, field.dataType))
            if not _mergeable(field.dataType, known):
                raise QueryBindError(
                    f"column {field.name} is {field.dataType.simpleString()} in {label}"
                    f" and {known.simpleString()} in {other}",
                    hint="rename or CAST one of them, so that events can be merged",
                )


def _mergeable(one: t.DataType, other: t.DataType) -> bool:
    if isinstance(one, t.NullType) or isinstance(other, t.NullType):
        return True
    return one == other or (isinstance(one, t.NumericType) and isinstance(other, t.NumericType))


# -- the plan around the engine


def run_program(
    program: EventProgram,
    source: SparkSource,
    functions: Callables,
    wanted: Strategy | None = None,
    follow: Follow | None = None,
) -> DataFrame:
    """Filter, exchange by key or slice, match in the workers, scalars after."""
    plan, costs, _ = event_plan(program, source, functions, wanted)
    tell = None if follow is None else follow(program, plan, functions)
    program, test = tested_after(program) if is_tested_after(program) else (program, None)

    def work(program: EventProgram, arranged: Layout, cut: Slice | None) -> Work:
        return event_matcher(program, arranged, Functions(dict(functions)), costs, cut, tell)

    def schema(kinds: Sequence[t.DataType]) -> t.StructType:
        return event_schema(program.outputs.leaves, list(kinds), program.time)

    leaves = _in_workers(program, source, plan, Step(MATCH, work, schema))
    return with_scalars(program, leaves if test is None else filtered(leaves, row_sql(test)))


@dataclass(frozen=True, slots=True)
class Step:
    """What workers do, under the name that Spark shows, and what comes out, by the types of the columns that cross."""

    name: str
    work: Callable[[EventProgram, Layout, Slice | None], Work]
    schema: Callable[[Sequence[t.DataType]], t.StructType]


def _in_workers(program: EventProgram, source: SparkSource, plan: PhysicalPlan, step: Step) -> DataFrame:
    """What the workers make of events that can play a role."""
    if program.admitted is not None:
        source = source.where(row_sql(program.admitted))
    assert plan.move is not None
    move, cut = plan.move, None
    if move.slice_microseconds is not None:
        program, source, cut = _sliced(program, source, move.slice_microseconds)
        move = replace(move, keys=(f"c{cut.column}",))
    exprs = crossing(program)
    kinds = source.spark_types(exprs)
    events = moved(source.select(exprs), move)
    work = step.work(program, layout(program, [type_of(kind) for kind in kinds]), cut)
    return events.mapInArrow(carried(work, step.name), step.schema(kinds))


# -- conditions that only Spark can decide


def tested_after(program: EventProgram) -> tuple[EventProgram, Expr | None]:
    """The same without the conditions that only Spark can decide, and what it is to test of the leaves."""
    leaves = list(program.outputs.leaves)
    tests = []
    for condition in program.conditions:
        if condition.asked is not None:
            found = {f"a{number}": Value(arg.column, arg.var, End.LAST, 0) for number, arg in enumerate(condition.read)}
            leaves += [leaf for leaf in found.values() if leaf not in leaves]
            names = {name: Column(leaf_name(leaves.index(leaf))) for name, leaf in found.items()}
            tests.append(_with_names(condition.asked.expr, names))
    if not tests:
        return program, None
    test = tests.pop()
    while tests:  # each is tested where those before it hold
        test = Call("case", (tests.pop(), test, Literal(False)))
    rest = tuple(condition for condition in program.conditions if condition.asked is None)
    return replace(program, conditions=rest, outputs=replace(program.outputs, leaves=tuple(leaves))), test


def _with_names(expr: Expr, names: Mapping[str, Column]) -> Expr:
    named = transform(expr, lambda node: names.get(node.name) if isinstance(node, Column) else None)
    return Verbatim(("CAST(", " AS BOOLEAN)"), (named,))


def answered(program: EventProgram, source: SparkSource, functions: Callables) -> tuple[EventProgram, SparkSource]:
    """The same with what Spark has to say of candidates, where that decides about other matches; runs jobs then."""
    conditions = [condition for condition in program.conditions if condition.asked is not None]
    if not conditions or is_tested_after(program):
        return program, source
    kinds = source.spark_types(program.columns)
    asked = [
        Asking(condition.asked.expr, tuple(kinds[arg.column] for arg in condition.read), program.query.source)
        for condition in conditions
        if condition.asked is not None
    ]

    plan, costs, _ = event_plan(program, source, functions)

    def search(told: Sequence[Told], schema: Questions) -> DataFrame:
        def work(program: EventProgram, arranged: Layout, cut: Slice | None) -> Work:
            return event_asker(program, arranged, Functions(dict(functions)), costs, cut, schema.arrow)

        return _in_workers(told_events(program, told), source, plan, Step(ASK, work, lambda _: schema.struct))

    # A condition is asked about candidates that have passed those before it: of the next one after each round.
    told = settled(source.frame.sparkSession, asked, search, most_rounds=len(asked))
    return told_events(program, told), source


# -- time slices


def _sliced(program: EventProgram, source: SparkSource, length: int) -> tuple[EventProgram, SparkSource, Slice]:
    """Every event once for each slice that it may matter to; the slice is the key.

    A slice keeps the matches whose anchor lies in it. Their events, and all that lists and NOT look at, are at most
    one window before or after the anchor.
    """
    assert isinstance(program.query.within, Duration)
    window = program.query.within.microseconds
    cut = Slice(len(program.columns), length)
    time = _microseconds(program, source)
    first = _floor(f"{time} - {window}L", cut.microseconds)
    last = _floor(f"{time} + {window if looks_back(program) else 0}L", cut.microseconds)
    # OUTER: events without a time are of no slice, and still have to be counted.
    frame = source.frame.selectExpr("*", f"explode_outer(sequence({first}, {last})) AS {SLICE}")
    sliced = replace(
        program,
        columns=(*program.columns, Column(SLICE)),
        types=(*program.types, Type(Kind.INTEGER)),
        keys=(cut.column,),
    )
    return sliced, SparkSource(frame), cut


def _microseconds(program: EventProgram, source: SparkSource) -> str:
    time = Column(program.stream.time)
    return microseconds(row_sql(time), source.spark_types([time])[0])


def microseconds(name: str, kind: t.DataType) -> str:
    """A time as the workers see it; the zone of the session plays no part."""
    match kind:
        case t.DateType():
            return f"(unix_date({name}) * 86400000000L)"
        case t.TimestampNTZType():
            return f"(({name} - TIMESTAMP_NTZ '1970-01-01 00:00:00') DIV INTERVAL '0.000001' SECOND)"
        case _:
            return f"unix_micros({name})"


def _floor(value: str, unit: int) -> str:
    """How many whole units: DIV alone would round towards zero."""
    return f"(({value} - pmod({value}, {unit}L)) DIV {unit}L)"
