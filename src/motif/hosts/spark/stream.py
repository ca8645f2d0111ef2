"""Streaming DataFrames: the same queries, and a streaming DataFrame of their matches, each as soon as it is decided.

A query becomes: watermark -> filter and select in Spark -> rows packed into buckets of keys -> one step of a session
per bucket and batch (`stream_worker`), its state in Spark's state store (`stream_state`) -> unpacked matches -> scalars
in Spark. Queries of a stack are such operators in a row; Spark gives all of them the same watermark, and each holds its
own back by how late matches of those before it may come.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from motif.engine.events.functions import Functions
from motif.engine.order import crossing, layout
from motif.engine.stream.session import Planned, StreamSession
from motif.errors import MotifError, UnsupportedQuery
from motif.hosts.kinds import KIND, LATE
from motif.hosts.spark import stream_worker as worker
from motif.hosts.spark.batch import (
    SparkSource,
    around,
    blamed,
    clause_input,
    quoted,
    row_sql,
)
from motif.hosts.spark.batch import match_frame as match_rows
from motif.hosts.spark.events import Callables, Stack
from motif.hosts.spark.local import ROCKSDB
from motif.hosts.spark.plans import stream_plan
from motif.hosts.spark.safety import Unsafe, selected
from motif.hosts.spark.settings import quiet, use_unbounded_batches
from motif.hosts.spark.shipping import carried
from motif.hosts.spark.stream_archive import archived_frame, archived_stack, check_types, seeds
from motif.hosts.spark.stream_state import digest
from motif.hosts.spark.stream_status import remember_plan, watch
from motif.hosts.spark.stream_watermark import watched, watched_inputs
from motif.hosts.spark.types import event_schema, leaf_schema, type_of
from motif.ir.event import EventQuery
from motif.ir.expr import Column
from motif.ir.query import RowQuery
from motif.lang.statement import Clause, Statement
from motif.options import KINDS, LiveOptions
from motif.plan.events.planner import bind_event_errors
from motif.plan.events.program import EventProgram, Stream
from motif.plan.overlaps import tell_overlaps
from motif.plan.physical.plan import PhysicalPlan, Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.scalar import scale
from motif.plan.stream import time_column

LIVE = LiveOptions()
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_PARTITIONS = "spark.sql.shuffle.partitions"
PACK, UNPACK = "motif_pack_rows", "motif_unpack_matches"
"""What Spark shows as the names of steps."""
_MATCHED = "motif.matched"
_STAYS = "isnan(rand(0))"
"""Never true, and not deterministic: Spark would otherwise filter below the watermark, and events of classes that a
query does not name would no longer move its time."""


def match_frame(
    frame: DataFrame,
    query: RowQuery,
    live: LiveOptions = LIVE,
    wanted: Strategy | None = None,
    watch: list[PhysicalPlan] | None = None,
) -> DataFrame:
    """Matches of a clause over a streaming DataFrame; `watch`: is given its plan."""
    prepare(frame.sparkSession, live.buckets)
    source = SparkSource(frame)
    program = plan(query, source)
    tell_overlaps(query)
    source = SparkSource(watched(frame, time_column(program, source.schema), live))
    chain = Chain(live, wanted, watch)
    return chain.matches(program, source, Functions({}), archived_frame(live.archive))


def run_statement(
    statement: Statement, session: SparkSession, live: LiveOptions = LIVE, wanted: Strategy | None = None
) -> DataFrame:
    """The answer to a whole statement: clauses over streams are matched as streams, the others as tables."""
    frames: dict[str, DataFrame] = {}
    streams: dict[str, DataFrame] = {}
    for clause in statement.clauses:
        frame = clause_input(statement, clause, session, frames)
        if not frame.isStreaming:
            frames[clause.name] = match_rows(frame, clause.query, wanted)
            continue
        _refuse_matches(statement, clause, session, frames, streams)
        frames[clause.name] = streams[clause.name] = match_frame(frame, clause.query, live, wanted)
    if not streams:
        live.refuse_for_tables()
    return around(statement, session, frames)


def _refuse_matches(
    statement: Statement,
    clause: Clause,
    session: SparkSession,
    frames: dict[str, DataFrame],
    streams: dict[str, DataFrame],
) -> None:
    """Nothing says how late a match of a clause may be decided, so a clause over such matches would lose some."""
    marked = {name: _marked(frame) for name, frame in streams.items()}
    read = clause_input(statement, clause, session, frames | marked) if marked else None
    if read is not None and any(_MATCHED in field.metadata for field in read.schema.fields):
        raise UnsupportedQuery(
            "not supported in a stream: MATCH_RECOGNIZE over the matches of another one",
            source=statement.text,
            span=clause.input_span,
            hint="write the first matches to a table and match its stream, or use event queries, which build on others",
        )


def _marked(frame: DataFrame) -> DataFrame:
    return frame.select(*(f.col(quoted(name)).alias(name, metadata={_MATCHED: True}) for name in frame.columns))


def match_stack(
    data: Any,
    queries: Sequence[EventQuery],
    stream: Stream,
    functions: Callables,
    live: LiveOptions = LIVE,
    wanted: Strategy | None = None,
    watch: list[PhysicalPlan] | None = None,
) -> DataFrame:
    """Matches of the last query over streaming DataFrames; those of the queries before it are events for it.

    `watch`: is given the plan of each query.
    """
    archive = archived_stack(live.archive, data, queries, stream)
    stack = Stack(watched_inputs(data, stream.time, live), stream, queries)
    prepare(next(iter(stack.inputs.values())).sparkSession, live.buckets)
    chain = Chain(live, wanted, watch)
    used = Functions(dict(functions), skips_errors=live.on_error == "skip")
    for node in stack.dag.nodes[:-1]:
        stack.add(chain.events(*stack.plan(node, functions), used))
    return chain.matches(*stack.plan(stack.dag.last, functions), used, archive)


def stack_errors(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, rows: bool = False
) -> list[MotifError]:
    """What is wrong with queries whose text is fine; Spark analyses, no event is read."""
    if rows:
        return [MotifError("rows= is for tables, and this is a stream", hint="leave it out: a stream has no rows yet")]
    try:
        stack = Stack(data, stream, queries)
        chain = Chain(LIVE)
        used = Functions(dict(functions))
        for node in stack.dag.nodes:
            if unknown := bind_event_errors(node.query, stack.source(node).schema):
                return unknown
            if node.is_followed:
                stack.add(chain.events(*stack.plan(node, functions), used))
            else:
                chain.matches(*stack.plan(node, functions), used, None)
    except MotifError as error:
        return [error]
    return []


def stack_plans(
    data: Any, queries: Sequence[EventQuery], stream: Stream, functions: Callables, *, wanted: Strategy | None = None
) -> list[PlannedQuery]:
    """How every query of a stack over streams will run; nothing is started."""
    if errors := stack_errors(data, queries, stream, functions):
        raise errors[0]
    stack, chain = Stack(data, stream, queries), Chain(LIVE)
    plans = []
    for node in stack.dag.nodes:
        program, source = stack.plan(node, functions)
        own = None if node.is_followed else wanted
        plans.append(PlannedQuery(program, stream_plan(program, source, own), functions))
        if node.is_followed:
            stack.add(chain.events(program, source, Functions(dict(functions))))
    return plans


def prepare(session: SparkSession, buckets: int) -> None:
    """Settings without which streams with state do not run, or crawl; only where nothing else was chosen."""
    use_unbounded_batches(session)
    log = logging.getLogger("motif")
    partitions = int(session.conf.get(_PARTITIONS, "200") or 200)
    if partitions > 4 * buckets:
        log.warning(
            "every batch will start %d tasks for %d buckets of keys: set %s to the number of cores before the first"
            " start (a checkpoint keeps the number)",
            *(partitions, buckets, _PARTITIONS),
        )
    try:
        if "RocksDB" not in (session.conf.get(_PROVIDER, "") or ""):
            session.conf.set(_PROVIDER, ROCKSDB)
            log.info("the state of streams is kept in RocksDB: %s is set for this session", _PROVIDER)
        if not session.conf.get(_CHANGELOG, ""):
            session.conf.set(_CHANGELOG, "true")
            log.info("only changes of state are saved with every batch: %s is set for this session", _CHANGELOG)
    except PySparkException as error:
        raise MotifError(
            f"this Spark session does not let {_PROVIDER} be set, and streams need RocksDB",
            hint=f"start it with {_PROVIDER}={ROCKSDB}",
        ) from error
    watch(session)


# -- operators


class Chain:
    """The operators of one `match`, in the order of its queries."""

    def __init__(
        self, live: LiveOptions, wanted: Strategy | None = None, watch: list[PhysicalPlan] | None = None
    ) -> None:
        self.live = live
        self.wanted = wanted
        self.watch = watch
        self.name = f"motif:{uuid.uuid4().hex[:12]}"
        self.count = 0
        self.hold = 0

    def events(self, program: EventProgram, source: SparkSource, functions: Functions) -> DataFrame:
        """Matches that are events for later queries."""
        plan = stream_plan(program, source, buckets=self.live.buckets)
        stage = self.stage(program, source, functions, plan, KINDS[:1])
        hold = StreamSession(stage.operator.planned).patterns.hold
        if hold is None:
            raise UnsupportedQuery(
                f"matches of {program.query.name} may be decided at any time, so queries after it would wait for ever",
                source=program.query.source,
                span=program.query.pattern.span,
                hint="give it a WITHIN of time, such as WITHIN 10 minutes",
            )
        self.hold += hold
        return stage.result(source, None, with_kinds=False)

    def matches(
        self, program: Program | EventProgram, source: SparkSource, functions: Functions, archive: SparkSource | None
    ) -> DataFrame:
        """What the user asked for."""
        if self.live.emit is not None:
            _refuse_names(program)
        plan = stream_plan(program, source, self.wanted, buckets=self.live.buckets, has_archive=archive is not None)
        stage = self.stage(program, source, functions, plan, tuple(kind for kind in KINDS if self.live.emits(kind)))
        remember_plan(stage.operator.name, plan)
        return stage.result(source, archive, with_kinds=self.live.emit is not None)

    def stage(
        self,
        program: Program | EventProgram,
        source: SparkSource,
        functions: Functions,
        plan: PhysicalPlan,
        emit: tuple[str, ...],
    ) -> Stage:
        """The next operator."""
        _refuse_groups(program)
        if self.watch is not None:
            self.watch.append(plan)
        buckets = self.live.buckets  # state of a query without a key has always said so, though it has one bucket
        if program.keys and plan.move is not None and plan.move.buckets is not None:
            buckets = plan.move.buckets
        exprs = crossing(program)
        types = source.spark_types(exprs)
        planned = Planned(program, layout(program, [type_of(kind) for kind in types]), functions)
        rows = t.StructType([t.StructField(f"c{i}", kind, True) for i, kind in enumerate(types)])
        self.count += 1
        operator = worker.Operator(
            name=f"{self.name}:{self.count}",
            planned=planned,
            query=digest(planned),
            rows=to_arrow_schema(rows, timezone="UTC"),
            kinds=emit,
            late=tuple((i, expr.name) for i, expr in enumerate(exprs) if isinstance(expr, Column)),
            ticks=10 ** scale(planned.layout.order[0].type),
            hold=self.hold,
            buckets=buckets,
        )
        return Stage(operator, types)


def _refuse_groups(program: Program | EventProgram) -> None:
    """Spark groups the rows of a stream by time only."""
    for group in program.outputs.grouped:
        raise UnsupportedQuery(
            "not supported in a stream on Spark: an aggregate of Spark over the rows of a match",
            source=program.query.source,
            span=group.aggregate.span,
            hint="COUNT, SUM, AVG, MIN, MAX, EVERY, SOME and ARRAY_AGG are; apply functions of Spark to ARRAY_AGG",
        )


def _refuse_names(program: Program | EventProgram) -> None:
    for name, _ in program.outputs.columns:
        if name.casefold() in (KIND, LATE):
            raise MotifError(
                f"emit= adds a column {name.casefold()}, and the query has one of that name",
                hint=f"give it another name: {name} AS other",
            )


@dataclass(frozen=True, slots=True)
class Stage:
    """An operator and the plan around it."""

    operator: worker.Operator
    types: list[t.DataType]
    """Spark's types of the columns of its rows."""

    @property
    def program(self) -> Program | EventProgram:
        return self.operator.planned.program

    def result(self, source: SparkSource, archive: SparkSource | None, *, with_kinds: bool) -> DataFrame:
        """Filter, pack, step, unpack, scalars."""
        operator = self.operator
        if archive is not None:
            check_types(operator.planned.layout.exprs, self.types, archive)
        starts = None if archive is None else seeds(operator, self.rows(archive))
        packed = self.rows(source, f" OR {_STAYS}").mapInArrow(carried(worker.packer(operator), PACK), worker.PACKED)
        stepped = packed.groupBy("bucket").transformWithStateInPandas(
            worker.Steps(operator), worker.STEPPED, "append", "EventTime", initialState=starts
        )
        schema = self.schema(with_kinds=with_kinds)
        unpack = worker.unpacker(to_arrow_schema(schema, timezone="UTC"))
        leaves = self._observed(stepped).filter("payload IS NOT NULL").mapInArrow(carried(unpack, UNPACK), schema)
        return self.with_scalars(leaves, with_kinds=with_kinds)

    def rows(self, source: SparkSource, unless: str = "") -> DataFrame:
        """Rows that can play a role, with the columns that the query reads."""
        if isinstance(self.program, EventProgram) and self.program.admitted is not None:
            source = source.where(row_sql(self.program.admitted) + unless)
        return source.select(self.operator.planned.layout.exprs)

    def _observed(self, stepped: DataFrame) -> DataFrame:
        """The last counters of each bucket, for `motif.status`."""
        buckets = self.operator.buckets if self.program.keys else 1
        counters = []
        for number in range(buckets):
            own = f.col("bucket") == number
            last = f.max_by(f.when(own, f.col("metrics")), f.when(own & f.col("metrics").isNotNull(), f.col("serial")))
            counters.append(last.alias(f"b{number}"))
        return stepped.observe(self.operator.name, *counters)

    def schema(self, *, with_kinds: bool) -> t.StructType:
        """What the workers give back."""
        program = self.program
        if isinstance(program, EventProgram):
            schema = event_schema(program.outputs.leaves, self.types, program.time)
        else:
            schema = leaf_schema(program.outputs.leaves, self.types)
        if not with_kinds:
            return schema
        late = t.StructType([t.StructField(name, self.types[i], True) for i, name in self.operator.late])
        last = [t.StructField(worker.LATE, late, True)] if "late" in self.operator.kinds else []
        return t.StructType([t.StructField(worker.KIND, t.StringType(), True), *schema.fields, *last])

    def with_scalars(self, leaves: DataFrame, *, with_kinds: bool) -> DataFrame:
        """Output columns; a late event has none."""
        columns = [(row_sql(expr), name) for name, expr in self.program.outputs.columns]
        if with_kinds:
            late = [(worker.LATE, LATE)] if "late" in self.operator.kinds else []
            own = [(f"IF({worker.KIND} = 'late', NULL, {expr})", name) for expr, name in columns]
            columns = [(worker.KIND, KIND), *own, *late]
        try:
            with quiet():
                result = selected(leaves, [f"{expr} AS {quoted(name)}" for expr, name in columns])
                result.schema  # noqa: B018 - Connect looks at it only now
        except (AnalysisException, ParseException, Unsafe) as error:
            raise blamed(error, self.program, leaves) from None
        return result
