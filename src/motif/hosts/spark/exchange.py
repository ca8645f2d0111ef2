"""Rows of a key, or all rows, brought to one task as the plan says; and what Spark tells of a table beforehand.

Only tables that are merely read are taken for small: what joins, aggregates or Python functions of the user cost before
the matching, the size of their result does not tell.
"""

from __future__ import annotations

import json
import logging
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from motif.errors import MotifError, did_you_mean
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.plan import Move, Route

SETTING = "spark.motif.costs"
"""What a user sets in the session to have plans chosen otherwise: costs by name, as JSON."""
MERELY_READ = frozenset(
    """
    Project Filter Union LogicalRelation DataSourceV2Relation DataSourceV2ScanRelation HiveTableRelation
    LocalRelation OneRowRelation Range
    """.split()
)
"""What Spark calls the steps of a plan that cost a task no more than reading.

Not InMemoryRelation: what was to be cached may still have to be computed, by the task that reads it first.
"""


def moved(rows: DataFrame, move: Move) -> DataFrame:
    """Each key in one task, whole; without keys, everything in one."""
    if move.route is Route.STAY:
        return rows.coalesce(1)
    return rows.repartition(*move.keys) if move.keys else rows.repartition(1)


def costs_of(session: SparkSession) -> Costs:
    """What a plan is chosen by in this session."""
    try:
        given = session.conf.get(SETTING, None)
    except PySparkException:  # a session that does not tell has no opinion
        given = None
    return COSTS if given is None else _costs(given)


@lru_cache(maxsize=8)
def _costs(given: str) -> Costs:
    hint = f"""give numbers by name: spark.conf.set("{SETTING}", '{{"one_task_bytes": 0}}') exchanges every table"""
    try:
        values = json.loads(given)
    except ValueError:
        raise MotifError(f"{SETTING} is {given!r}, not JSON", hint=hint) from None
    if not isinstance(values, dict):
        raise MotifError(f"{SETTING} is {given!r}, not costs by name", hint=hint)
    known = {field.name for field in fields(Costs)}
    for name, value in values.items():
        if name not in known:
            raise MotifError(f"{SETTING}: there is no cost {name}", hint=did_you_mean(name, known) or hint)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MotifError(f"{SETTING}: {name} cannot be {value!r}", hint=hint)
    return replace(COSTS, **values)


def cores_of(session: SparkSession) -> int | None:
    """Tasks that run at a time; None where nobody tells, as with Connect."""
    try:
        return int(session.sparkContext.defaultParallelism)
    except PySparkException:
        return None


def bytes_to_read(rows: DataFrame, costs: Costs) -> int | None:
    """What Spark expects a table to take, if it is merely read; no row is read to find out. Connect does not tell."""
    frame = getattr(rows, "_jdf", None)
    if frame is None:
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # what has a `_jdf` has py4j, a client of Connect need not

    try:
        plan = frame.queryExecution().optimizedPlan()
        if not _is_merely_read(plan):
            return None
        return int(plan.stats().sizeInBytes()) + costs.file_bytes * len(frame.inputFiles())
    except (PySparkException, Py4JError) as error:  # a mistake of the query shows again where its rows are asked for
        logging.getLogger("motif").info("Spark does not tell the size of a table: %s", error)
        return None


def _is_merely_read(plan: Any) -> bool:
    if plan.getClass().getSimpleName() not in MERELY_READ:
        return False
    children = plan.children()
    return all(_is_merely_read(children.apply(number)) for number in range(children.size()))
