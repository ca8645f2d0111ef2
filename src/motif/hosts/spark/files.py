"""Parquet files that the task which matches reads by itself, as columns, instead of having Spark hand over its rows.

To hand a row to Python costs Spark several times what reading and matching it costs. So a small table that is nothing
but Parquet files of a local file system, of which the query needs nothing but columns, is read where it is matched.
All else is left to Spark, and so is every file that Spark might read otherwise: of another schema than its table's,
with calendars or timestamps of old, in folders that are columns, with options.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow.parquet import FileMetaData
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

from motif.errors import QueryDataError
from motif.hosts.parquet import ParquetColumns, columns_of, footer_of
from motif.hosts.spark.worker import Batches
from motif.ir.expr import Column, Expr

SETTING = "spark.motif.readFiles"
"""What a user sets to false in the session to have every row read by Spark."""
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_OPTIONS = frozenset(("path", "serialization.format"))
"""Options of a table that say nothing of how a file is to be read."""
_AS_USUAL = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}
"""Settings under which Spark reads what is written in a file."""
_OLD_CALENDAR, _VERSION, _CALENDAR_SINCE = b"org.apache.spark.legacyDateTime", b"org.apache.spark.version", b"3.0.0"
"""Notes in a file of Spark, which before that version wrote dates of a calendar that no one else uses."""


def matched_by_reading(files: ParquetColumns, work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow` of `one_task`: the same work on what the files hold."""

    def match(batches: Batches) -> Batches:
        for _ in batches:  # no row of theirs is asked for, only the task
            pass
        yield from work(_batches(files))

    return match


def _batches(files: ParquetColumns) -> Batches:
    """All rows, on the one core that a task has."""
    try:
        for rows in files.tables():
            yield from rows.to_batches()
    except (OSError, KeyError, pa.ArrowException) as error:
        message = f"cannot read {', '.join(files.paths[:3])}: {error}"
        raise QueryDataError(message, hint="if files have changed, read the table again") from None


def one_task(session: SparkSession) -> DataFrame:
    """A table that is no more than a task."""
    return session.range(1, numPartitions=1)


def files_of(
    frame: DataFrame, exprs: Sequence[Expr], kinds: Sequence[t.DataType], compared: Collection[int]
) -> ParquetColumns | None:
    """Where a worker finds columns of a table; None where Spark has to read them. No row is read to find out."""
    if getattr(frame, "_jdf", None) is None or not _is_wanted(frame.sparkSession):  # Connect does not tell
        return None
    names, types = _stored_names(frame, exprs), _arrow_types(kinds, frame.sparkSession)
    if not names or types is None:
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # what has a `_jdf` has py4j, a client of Connect need not

    try:
        paths = _local_paths(frame)
    except (PySparkException, Py4JError) as error:  # a mistake of the query shows again where its rows are asked for
        logging.getLogger("motif").info("Spark does not tell the files of a table: %s", error)
        return None
    footers = {path: footer for path in paths if (footer := footer_of(path)) and _is_new(footer)}
    if not footers or len(footers) < len(paths):
        return None
    return columns_of(footers, list(zip(names, types, strict=True)), compared)


def _is_wanted(session: SparkSession) -> bool:
    """Whether the user lets Motif read files, and nothing asks Spark to read them in a way of its own."""
    if (session.conf.get(SETTING, "true") or "").lower() != "true":
        return False
    return all((session.conf.get(name) or "").lower() == usual.lower() for name, usual in _AS_USUAL.items())


def _stored_names(frame: DataFrame, exprs: Sequence[Expr]) -> list[str] | None:
    """What the table calls the columns; None unless they are columns and nothing else."""
    known = {name.casefold(): name for name in frame.columns}
    if len(known) < len(frame.columns):
        return None
    names = [known.get(expr.name.casefold()) if isinstance(expr, Column) else None for expr in exprs]
    found = [name for name in names if name is not None]
    return found if len(found) == len(names) else None


def _local_paths(frame: DataFrame) -> list[str]:
    """The files of a table that is nothing but local Parquet files; none of any other."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    while _name(plan) == "Project" and all(_name(item) == "AttributeReference" for item in _items(plan.projectList())):
        plan = plan.child()
    if _name(plan) != "LogicalRelation" or _name(plan.relation()) != "HadoopFsRelation":
        return []
    relation = plan.relation()
    options = set(_items(relation.options().keys().toSeq()))
    if relation.fileFormat().getClass().getName() != _PARQUET or not relation.partitionSchema().isEmpty():
        return []
    if plan.isStreaming() or not options <= _OPTIONS:
        return []
    places = [urlsplit(path) for path in frame.inputFiles()]
    if any(place.scheme != "file" or place.netloc or place.query or place.fragment for place in places):
        return []
    return [unquote(place.path) for place in places]


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(number) for number in range(sequence.size())]


def _arrow_types(kinds: Sequence[t.DataType], session: SparkSession) -> list[pa.DataType] | None:
    """What columns are when Spark hands them over."""
    try:
        return [to_arrow_type(kind, timezone=session.conf.get("spark.sql.session.timeZone")) for kind in kinds]
    except PySparkException:  # a type that Arrow has not
        return None


def _is_new(footer: FileMetaData) -> bool:
    """Whether its dates are of the calendar of everyone else."""
    notes = footer.metadata or {}
    return _OLD_CALENDAR not in notes and notes.get(_VERSION, _CALENDAR_SINCE) >= _CALENDAR_SINCE
