"""Rows of a key, or all rows, brought to one task: by Spark's exchange or, where they are few, by reading them there.

A row that is exchanged costs more than one that the task which matches it reads by itself, so an exchange pays with
many cores, and only once its fixed cost is earned back. Only tables that are merely read are taken for small: what
joins, aggregates or Python functions of the user cost before the matching, the size of their result does not tell.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

SET_UP_BYTES = 10 << 20
"""What one task reads and matches in the time that it takes Spark to set up an exchange."""
MOST_BYTES = 128 << 20
"""What one task reads at most: the size of an input partition of Spark."""
FILE_BYTES = 1 << 20
"""What one task reads in the time that it takes to open a file: less on a local disk, more in an object store."""
EXCHANGED = 1.6
"""What a row that is exchanged and matched costs, all cores together, times one that is not exchanged."""
HANDED_OVER = 2.0
"""What a row that Spark reads, hands over and has matched costs, times one that the worker reads by itself."""
MERELY_READ = frozenset(
    """
    Project Filter Union LogicalRelation DataSourceV2Relation DataSourceV2ScanRelation HiveTableRelation
    LocalRelation OneRowRelation Range
    """.split()
)
"""What Spark calls the steps of a plan that cost a task no more than reading.

Not InMemoryRelation: what was to be cached may still have to be computed, by the task that reads it first.
"""


def together(rows: DataFrame, keys: Sequence[str], limit: int) -> DataFrame:
    """Each key in one task, whole; without keys, everything. `limit`: bytes that are not worth an exchange."""
    if is_small(rows, limit):
        return rows.coalesce(1)
    return rows.repartition(*keys) if keys else rows.repartition(1)


def is_small(rows: DataFrame, limit: int) -> bool:
    """Whether an exchange would take longer than it saves; no row is read to find out."""
    size = _bytes_to_read(rows)
    return size is not None and size <= limit


def is_large(rows: DataFrame) -> bool:
    """Whether Spark itself estimates that these are more events than one task had better join."""
    size = _bytes_to_read(rows)
    return size is not None and size > SET_UP_BYTES


def event_limit(functions: Collection[str]) -> int:
    """Bytes of events that are not worth an exchange.

    Joining events and handing their matches back costs more than reading them: beyond what an exchange costs anyway,
    tasks had better share it. What functions of the user take, no one knows.
    """
    return 0 if functions else SET_UP_BYTES


def row_limit(session: SparkSession) -> int:
    """Bytes of rows that are not worth an exchange on this cluster."""
    return _limit(session, 1)


def file_limit(session: SparkSession) -> int:
    """Bytes of files that are not worth an exchange if the task that matches reads them by itself."""
    return _limit(session, HANDED_OVER)


def _limit(session: SparkSession, saved: float) -> int:
    try:
        return _bytes_for_one(int(session.sparkContext.defaultParallelism), saved)
    except PySparkException:  # Connect tells neither cores nor sizes
        return 0


def _bytes_for_one(cores: int, saved: float) -> int:
    """The n for which one task takes as long as all of them: n = saved * (set-up + EXCHANGED * n / cores).

    `saved`: what a row costs that Spark hands over, times what it costs that task. There is no such n where an
    exchange never pays.
    """
    left = 1 - saved * EXCHANGED / cores
    return min(MOST_BYTES, int(saved * SET_UP_BYTES / left)) if left > 0 else MOST_BYTES


def _bytes_to_read(rows: DataFrame) -> int | None:
    """What Spark expects a table to take, if it is merely read. Connect does not tell."""
    frame = getattr(rows, "_jdf", None)
    if frame is None:
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # what has a `_jdf` has py4j, a client of Connect need not

    try:
        plan = frame.queryExecution().optimizedPlan()
        if not _is_merely_read(plan):
            return None
        return int(plan.stats().sizeInBytes()) + FILE_BYTES * len(frame.inputFiles())
    except (PySparkException, Py4JError) as error:  # a mistake of the query shows again where its rows are asked for
        logging.getLogger("motif").info("Spark does not tell the size of a table: %s", error)
        return None


def _is_merely_read(plan: Any) -> bool:
    if plan.getClass().getSimpleName() not in MERELY_READ:
        return False
    children = plan.children()
    return all(_is_merely_read(children.apply(number)) for number in range(children.size()))
