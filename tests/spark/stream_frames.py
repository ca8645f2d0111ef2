"""What the tests of streams on Spark share: files as micro-batches, many queries in one run, and what came out of it.

A micro-batch costs far more than the few events of a test, so most tests run many queries at once.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from event_frames import TIME_FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_NUMBERS = itertools.count()


@dataclass
class Folder:
    """A folder of Parquet files; each is one micro-batch, in the order in which they were put."""

    path: Path
    schema: str
    arrow: pa.Schema

    def put(self, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """One more file; it is there as a whole or not at all."""
        number = next(_NUMBERS)
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([dict(row) for row in rows], self.arrow)
        hidden = self.path / f".{number:06}.parquet"
        self.path.mkdir(exist_ok=True, parents=True)
        pq.write_table(table.cast(self.arrow), hidden)
        os.utime(hidden, (1_000_000_000 + number, 1_000_000_000 + number))
        hidden.rename(self.path / f"{number:06}.parquet")

    def stream(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.path))

    def table(self, spark: SparkSession) -> DataFrame:
        return spark.read.schema(self.schema).parquet(str(self.path))


def as_json(frames: Mapping[str, DataFrame]) -> DataFrame:
    """All of them as one: a name, and a row as text."""
    times = f"'timestampFormat', \"{TIME_FORMAT}\", 'timestampNTZFormat', \"{TIME_FORMAT}\""
    parts = [
        frame.selectExpr(f"'{name}' AS name", f"to_json(struct(*), map({times}, 'ignoreNullFields', 'false')) AS row")
        for name, frame in frames.items()
    ]
    return reduce(lambda one, other: one.unionAll(other), parts)


@dataclass
class Run:
    """What came out of a streaming query, by batch: one that is repeated replaces itself, as in a good sink."""

    batches: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    progress: list[Any] = field(default_factory=list)
    query: Any = None

    def of(self, frames: Mapping[str, DataFrame], checkpoint: Path) -> Run:
        """Run until all that is there is done."""
        writer = as_json(frames).writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(self._take)
        self.query = writer.trigger(availableNow=True).start()
        self.query.awaitTermination()
        self.progress += self.query.recentProgress
        return self

    def _take(self, frame: DataFrame, number: int) -> None:
        self.batches[number] = [(row.name, row.row) for row in frame.collect()]

    def rows(self, name: str, *, until: int | None = None) -> list[dict[str, Any]]:
        """What a query gave, or gave up to a batch."""
        return [
            json.loads(text)
            for number, rows in sorted(self.batches.items())
            for found, text in rows
            if found == name and (until is None or number <= until)
        ]

    def first(self, name: str) -> int:
        """The batch in which something of a query came out first."""
        return min(number for number, rows in self.batches.items() if any(found == name for found, _ in rows))

    @property
    def watermark(self) -> int:
        """How far time came, in microseconds."""
        text = self.progress[-1].eventTime["watermark"]
        return round(datetime.fromisoformat(text).timestamp() * 1000) * 1000


def rows_of(frames: Mapping[str, DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """The same of tables."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in frames}
    for name, row in as_json(frames).collect():
        found[name].append(json.loads(row))
    return found


def in_some_order(rows: Iterable[Any]) -> list[str]:
    return sorted(map(repr, rows))
