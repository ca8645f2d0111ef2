"""What is known of a query on Spark before it runs, and the plan that follows from it: no job is run for that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from motif.engine.order import crossing
from motif.hosts.parquet import ParquetColumns
from motif.hosts.spark.exchange import bytes_to_read, cores_of, costs_of
from motif.hosts.spark.files import files_of
from motif.ir.expr import Expr
from motif.ir.render import backticks, row_sql
from motif.plan.events.program import EventProgram
from motif.plan.physical.choose import bytes_for_one, choose
from motif.plan.physical.costs import Costs
from motif.plan.physical.facts import Asked, Crossing, Facts, Host, Mode, Reader
from motif.plan.physical.plan import PhysicalPlan, Strategy
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.spark.batch import SparkSource


class Chosen(NamedTuple):
    """A plan, what it was chosen by, and the files that its task reads by itself."""

    plan: PhysicalPlan
    costs: Costs
    files: ParquetColumns | None = None


def row_plan(program: Program, source: SparkSource, wanted: Strategy | None = None) -> Chosen:
    """The plan of a clause over a table."""
    session = source.frame.sparkSession
    costs, cores = costs_of(session), cores_of(session)
    exprs = crossing(program)
    size = None if cores is None else bytes_to_read(source.select(exprs), costs)
    files = None
    if size is not None and cores is not None and 0 <= size <= bytes_for_one(cores, costs, by_itself=True):
        files = files_of(source.frame, exprs, source.spark_types(exprs), program.compared)
    facts = Facts(
        host=Host.SPARK,
        cores=cores or 1,
        asked=asked_of(program, source),
        reader=Reader.HOST if files is None else Reader.ARROW,
        files=0 if files is None else len(files.paths),
        bytes=size,
    )
    plan = choose(program, facts, costs, wanted)
    if files is not None and plan.match.strategy is not Strategy.SEQUENTIAL:  # what one task reads, others do not
        plan, files = choose(program, replace(facts, reader=Reader.HOST, files=0), costs, wanted), None
    return Chosen(plan, costs, files)


def event_plan(
    program: EventProgram, source: SparkSource, functions: Collection[str], wanted: Strategy | None = None
) -> Chosen:
    """The plan of an event query over tables."""
    chosen = source if program.admitted is None else source.where(row_sql(program.admitted, "spark"))
    session = source.frame.sparkSession
    costs, cores = costs_of(session), cores_of(session)
    facts = Facts(
        host=Host.SPARK,
        cores=cores or 1,
        asked=asked_of(program, source),
        bytes=None if cores is None else bytes_to_read(chosen.select(crossing(program)), costs),
        functions=frozenset(functions),
    )
    return Chosen(choose(program, facts, costs, wanted), costs)


def stream_plan(
    program: Program | EventProgram,
    source: SparkSource,
    wanted: Strategy | None = None,
    *,
    buckets: int = 16,
    has_archive: bool = False,
) -> PhysicalPlan:
    """The plan of one query over a stream."""
    facts = Facts(
        host=Host.SPARK,
        mode=Mode.ARCHIVE if has_archive else Mode.STREAM,
        asked=asked_of(program, source),
        buckets=buckets,
    )
    return choose(program, facts, wanted=wanted)


def asked_of(program: Program | EventProgram, source: SparkSource) -> Asked:
    """What Spark is asked for around the matching."""
    exprs = crossing(program)
    items = [row_sql(expr, "spark") for expr in exprs]
    admitted = program.admitted if isinstance(program, EventProgram) else None
    return Asked(
        rows=", ".join(f"{item} AS c{number}" for number, item in enumerate(items)),
        filter="" if admitted is None else row_sql(admitted, "spark"),
        result=", ".join(final_columns(program)),
        crossing=_crossing(items, exprs, source),
    )


def final_columns(program: Program | EventProgram) -> list[str]:
    """What Spark does after the matching: the scalars of the measures."""
    return [f"{row_sql(expr, 'spark')} AS {backticks(name)}" for name, expr in program.outputs.columns]


def _crossing(items: Sequence[str], exprs: Sequence[Expr], source: SparkSource) -> tuple[Crossing, ...]:
    return tuple(Crossing(item, str(kind)) for item, kind in zip(items, source.types_of(exprs), strict=True))
