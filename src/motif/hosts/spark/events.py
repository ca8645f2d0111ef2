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
from motif.errors import MotifError
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
from motif.plan.dag import Columns, Node, Part, TableColumn, dag_of, named_inputs, seen_by
from motif.plan.events.outputs import Value
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
            label = name if stack.dag.is_named else "the events"
            raise MotifError(f"{label}: a streaming DataFrame is not a table", hint="motif.match takes it")
        use_unbounded_batches(frame.sparkSession)
    for node in stack.dag.nodes[:-1]:
        stack.add(run_program(*answered(*stack.plan(node, functions), functions), functions, None, follow))
    return run_program(*answered(*stack.plan(stack.dag.last, functions), functions), functions, wanted, follow)


def stack_errors(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, rows: bool = False
) -> list[MotifError]:
    """What is wrong with queries whose text is fine; Spark analyses, no event is read unless `rows` is set."""
    try:
        stack = Stack(data, stream, queries)
        for node in stack.dag.nodes:
            if unknown := bind_event_errors(node.query, stack.source(node).schema):
                return unknown
            program, source = stack.plan(node, functions)
            if rows and not node.before:
                tell_of_events(program, source.schema, source, node.classes)
            found = run_program(program, source, functions)
            if node.is_followed:
                stack.add(found)
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
    for node in stack.dag.nodes:
        program, source = stack.plan(node, functions)
        own = None if node.is_followed else wanted
        plans.append(PlannedQuery(program, event_plan(program, source, functions, own).plan, functions))
        if node.is_followed:
            stack.add(run_program(program, source, functions))
    return plans


# -- what queries see


class Stack:
    """The events that queries see as DataFrames: the inputs, and the matches of queries before."""

    def __init__(self, data: Any, stream: Stream, queries: Sequence[EventQuery]) -> None:
        self.inputs: dict[str, DataFrame] = named_inputs(data)
        is_named = isinstance(data, Mapping)
        for name, frame in self.inputs.items():
            _check_input(name if is_named else "the events", frame)
        columns = {name: _columns(frame) for name, frame in self.inputs.items()}
        self.dag = dag_of(queries, columns, stream, is_named=is_named)
        self.matches: list[DataFrame] = []
        """The matches of each query so far."""

    def plan(self, node: Node, functions: Callables) -> tuple[EventProgram, SparkSource]:
        """Check a query against its events and compile it."""
        source = self.source(node)
        program = plan_events(node.query, source, node.stream, functions, is_followed=node.is_followed)
        tell_any_events(program.query, program.stream.type)
        if may_be_square(program) and _are_many(program, source):
            tell_square_of_many(program)
        return program, source

    def source(self, node: Node) -> SparkSource:
        """The events of a query as one DataFrame."""
        before = self.matches[: node.number]
        seen = seen_by(self.dag, node, list(map(_columns, before)))
        if seen.is_one_table:
            return SparkSource(self.inputs[seen.inputs[0][0]])
        events = _united([_part(part, self.inputs[name]) for name, part in seen.inputs])
        if seen.lacking:
            kinds = self._kinds()
            events = events.select("*", *(f.lit(None).cast(kinds[name]).alias(name) for name in seen.lacking))
        if seen.placed:
            events = events.selectExpr("*", *_given(seen.placed))
        return SparkSource(_united([events, *map(_part, seen.matches, before)]))

    def add(self, matches: DataFrame) -> None:
        """Let the matches of the next query be events for those after it."""
        self.matches.append(matches)

    def _kinds(self) -> dict[str, t.DataType]:
        """Spark's types of the columns that all inputs have together."""
        every = _united([self.inputs[name] for name in self.dag.read])
        return {field.name: field.dataType for field in every.schema.fields}


def _columns(frame: DataFrame) -> Columns:
    return tuple(
        TableColumn(field.name, type_of(field.dataType), field.dataType.simpleString()) for field in frame.schema.fields
    )


def _part(part: Part, frame: DataFrame) -> DataFrame:
    return frame.selectExpr(*map(quoted, part.kept), *_given(part.given))


def _given(given: Iterable[tuple[str, Expr]]) -> list[str]:
    return [f"{row_sql(expr)} AS {quoted(name)}" for name, expr in given]


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
