"""Archive and live in one query: the archive is read once, by the first batch, and seeds the state of the stream.

The archive is complete up to its last event, the *seam*: a live event at or before it is taken to be in the archive
already, and is late. So there is no gap and no event twice, however far the two overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from motif.errors import MotifError, QueryBindError, UnsupportedQuery
from motif.hosts.spark import stream_worker as worker
from motif.hosts.spark.batch import SparkSource, row_sql
from motif.hosts.spark.events import Stack
from motif.hosts.spark.shipping import carried
from motif.hosts.spark.stream_status import at_first_report
from motif.ir.event import EventQuery
from motif.ir.expr import Expr
from motif.plan.events.program import Stream
from motif.plan.source import HostRefusal

if TYPE_CHECKING:
    from pyspark.sql.group import GroupedData


def archived_frame(archive: Any) -> SparkSource | None:
    """The archive of a clause."""
    if archive is None:
        return None
    _check_table("archive=", archive)
    return SparkSource(archive)


def archived_stack(archive: Any, data: Any, queries: Sequence[EventQuery], stream: Stream) -> SparkSource | None:
    """The archive of event queries."""
    if archive is None:
        return None
    if len(queries) > 1:
        raise UnsupportedQuery(
            "archive= does not go with several queries yet", hint="match archive and stream by one query"
        )
    if isinstance(data, Mapping) != isinstance(archive, Mapping):
        raise MotifError("archive= and the streams are not alike", hint="give a mapping for both, or for none")
    if isinstance(archive, Mapping):
        for name in archive:
            if name not in data:
                raise MotifError(f"there is an archive of {name}, but no stream {name}", hint="give both the same name")
    for name, frame in archive.items() if isinstance(archive, Mapping) else [("archive=", archive)]:
        _check_table(name, frame)
    stack = Stack(archive, stream, queries)
    return stack.source(stack.dag.last)


def _check_table(name: str, frame: Any) -> None:
    if not type(frame).__module__.startswith("pyspark.") or not hasattr(frame, "isStreaming"):
        raise MotifError(
            f"{name} is a {type(frame).__name__}, not a Spark DataFrame", hint="read it with spark.read or spark.table"
        )
    if frame.isStreaming:
        raise MotifError(f"{name} is a stream itself", hint="the archive is a table: read it with spark.read")


def seeds(operator: worker.Operator, rows: DataFrame) -> GroupedData:
    """The state to begin with: rows of the archive by bucket, and the seam for every bucket."""
    # Kept until the first batch is done, so that rows and seam come from one reading of the archive.
    packed = rows.mapInArrow(
        carried(worker.packer(operator, with_latest=True), "motif_pack_archive"), worker.SEED
    ).cache()
    at_first_report(operator.name, packed.unpersist)
    buckets = operator.buckets if operator.planned.program.keys else 1
    every = rows.sparkSession.range(buckets).selectExpr(
        "CAST(id AS INT) AS bucket", "CAST(NULL AS BINARY) AS payload", "CAST(NULL AS BIGINT) AS latest"
    )
    seam = packed.agg(f.max("latest").cast("string").alias("seam"))  # pandas would make a NULL number a float
    return packed.unionByName(every).crossJoin(f.broadcast(seam)).groupBy("bucket")


def check_types(exprs: Sequence[Expr], types: Sequence[t.DataType], archive: SparkSource) -> None:
    """What the query reads must be there, and be the same."""
    try:
        past = archive.spark_types(exprs)
    except HostRefusal as refusal:
        raise QueryBindError(
            f"archive=: {refusal}", hint="the archive needs the columns of the stream that the query reads"
        ) from None
    for expr, live, kind in zip(exprs, types, past, strict=True):
        if kind != live:
            raise QueryBindError(
                f"{row_sql(expr)} is {live.simpleString()} in the stream and {kind.simpleString()} in the archive",
                hint="CAST one of them, so that both are the same",
            )
