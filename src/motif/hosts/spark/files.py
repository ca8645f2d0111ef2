"""Parquet files that the task which matches reads by itself, as columns, instead of having Spark hand over its rows.

To hand a row to Python costs Spark several times what reading and matching it costs. So a small table that is nothing
but Parquet files of a local file system, of which the query needs nothing but columns, is read where it is matched.
All else is left to Spark, and so is every file that Spark might read otherwise: of another schema than its table's,
with calendars or timestamps of old, in folders that are columns, with options.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

from motif.errors import QueryDataError
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


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one table, and what is read of each of them."""

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    """What the columns are to Motif: c0, c1, ..., as Spark would hand them over."""
    coded: tuple[str, ...]
    """Columns of text that are read as codes and a dictionary."""

    def batches(self) -> Batches:
        """All rows, in the worker."""
        for path in self.paths:
            try:
                with pq.ParquetFile(path, read_dictionary=self.coded) as file:
                    for number in range(file.num_row_groups):
                        yield from self._row_group(file, number)
            except (OSError, KeyError, pa.ArrowException) as error:
                raise QueryDataError(
                    f"cannot read {path}: {error}", hint="if it has changed, read the table again"
                ) from None

    def _row_group(self, file: pq.ParquetFile, number: int) -> Batches:
        rows = file.read_row_group(number, columns=self.columns, use_threads=False).select(self.columns)
        yield from rows.rename_columns(self.schema.names).cast(self.schema).to_batches()


def matched_by_reading(files: Files, work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """The function given to `mapInArrow` of `one_task`: the same work on what the files hold."""

    def match(batches: Batches) -> Batches:
        for _ in batches:  # no row of theirs is asked for, only the task
            pass
        yield from work(files.batches())

    return match


def one_task(session: SparkSession) -> DataFrame:
    """A table that is no more than a task."""
    return session.range(1, numPartitions=1)


def files_of(
    frame: DataFrame, exprs: Sequence[Expr], kinds: Sequence[t.DataType], coded: Sequence[int]
) -> Files | None:
    """Where a worker finds columns of a table; None where Spark has to read them. No row is read to find out.

    `coded`: those of the columns that are worth a dictionary if they are text.
    """
    if getattr(frame, "_jdf", None) is None or not _is_wanted(frame.sparkSession):  # Connect does not tell
        return None
    names = _stored_names(frame, exprs)
    if names is None or len(set(names)) < len(names):
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # what has a `_jdf` has py4j, a client of Connect need not

    try:
        paths = _local_paths(frame)
    except (PySparkException, Py4JError) as error:  # a mistake of the query shows again where its rows are asked for
        logging.getLogger("motif").info("Spark does not tell the files of a table: %s", error)
        return None
    if not paths:
        return None
    types = _arrow_types(kinds, frame.sparkSession)
    if types is None or not all(_is_as_usual(path, names, types) for path in paths):
        return None
    return Files(paths, names, *_coded(names, types, coded))


def _is_wanted(session: SparkSession) -> bool:
    """Whether the user lets Motif read files, and nothing asks Spark to read them in a way of its own."""
    if (session.conf.get(SETTING, "true") or "").lower() != "true":
        return False
    return all((session.conf.get(name) or "").lower() == usual.lower() for name, usual in _AS_USUAL.items())


def _stored_names(frame: DataFrame, exprs: Sequence[Expr]) -> tuple[str, ...] | None:
    """What the table calls the columns; None unless they are columns and nothing else."""
    known = {name.casefold(): name for name in frame.columns}
    if len(known) < len(frame.columns):
        return None
    names = [known.get(expr.name.casefold()) if isinstance(expr, Column) else None for expr in exprs]
    found = tuple(name for name in names if name is not None)
    return found if len(found) == len(names) and found else None


def _local_paths(frame: DataFrame) -> tuple[str, ...] | None:
    """The files of a table that is nothing but local Parquet files."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    while _name(plan) == "Project" and all(_name(item) == "AttributeReference" for item in _items(plan.projectList())):
        plan = plan.child()
    if _name(plan) != "LogicalRelation" or _name(plan.relation()) != "HadoopFsRelation":
        return None
    relation = plan.relation()
    options = set(_items(relation.options().keys().toSeq()))
    if relation.fileFormat().getClass().getName() != _PARQUET or not relation.partitionSchema().isEmpty():
        return None
    if plan.isStreaming() or not options <= _OPTIONS:
        return None
    places = [urlsplit(path) for path in frame.inputFiles()]
    if any(place.scheme != "file" or place.netloc or place.query or place.fragment for place in places):
        return None
    return tuple(unquote(place.path) for place in places)


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


def _is_as_usual(path: str, names: Sequence[str], types: Sequence[pa.DataType]) -> bool:
    """Whether a file has the columns, and Spark and Arrow read the same out of it."""
    try:
        with pq.ParquetFile(path) as file:
            schema, notes = file.schema_arrow, file.metadata.metadata or {}
    except (OSError, pa.ArrowException) as error:  # encrypted, or not for the driver to see
        logging.getLogger("motif").info("Spark reads %s: %s", path, error)
        return False
    stored = [name.casefold() for name in schema.names]
    if any(name not in schema.names or stored.count(name.casefold()) > 1 for name in names):
        return False
    if _OLD_CALENDAR in notes or notes.get(_VERSION, _CALENDAR_SINCE) < _CALENDAR_SINCE:
        return False
    return all(_is_same(schema.field(name).type, kind) for name, kind in zip(names, types, strict=True))


def _is_same(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of a file become those of a type by a cast that loses nothing."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(kind):  # old ones are nanoseconds without a zone
        return stored.unit in ("ms", "us") and (stored.tz is None) == (kind.tz is None)
    return bool(stored == kind) or (kind == pa.string() and stored == pa.large_string())


def _coded(
    names: Sequence[str], types: Sequence[pa.DataType], wanted: Sequence[int]
) -> tuple[pa.Schema, tuple[str, ...]]:
    """The schema of what is read, and the columns of text that are read as codes."""
    texts = [number for number in wanted if types[number] == pa.string()]
    fields = [
        pa.field(f"c{number}", pa.dictionary(pa.int32(), kind) if number in texts else kind)
        for number, kind in enumerate(types)
    ]
    return pa.schema(fields), tuple(names[number] for number in texts)
