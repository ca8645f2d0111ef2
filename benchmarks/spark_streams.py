"""Contenders that take events as they come, on Spark. A batch is a file; all plans read the same ones.

The time of a batch is what Spark reports for it ("triggerExecution"): planning, work, state and logs. The first batch,
in which Python workers start and the state store is made, does not count, unless a contender says so; nor does the one
without rows that Spark runs at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from statistics import median
from typing import TYPE_CHECKING, Any

from generators import DATA
from processes import tree_cpu
from spark_session import count_rows
from streams import Contender, Figures, columns, course

if TYPE_CHECKING:
    from bench import Bench
    from pyspark.sql import DataFrame, SparkSession

Plan = Callable[["Bench", "DataFrame"], "DataFrame"]
BUCKETS = 16
"""Motif's own choice."""
LATENESS = "1 second"
LONGEST_WAIT_S = 60
AGE = 1_700_000_000
"""Spark takes the oldest file first: when the first one was made, in seconds since 1970."""


# -- plans


def matches(bench: Bench, rows: DataFrame, **options: Any) -> DataFrame:
    """Motif."""
    import motif

    found: DataFrame = motif.match(rows, bench.query, lateness=LATENESS, **columns(bench), **options)
    return found


def by_bucket(bench: Bench, rows: DataFrame) -> DataFrame:
    """The floor: as many groups as Motif has buckets, each counted in Spark's state."""
    from stream_floor import stateful

    del bench
    return stateful(rows.withWatermark("ts", LATENESS), f"pmod(hash(device), {BUCKETS})")


def by_key(bench: Bench, rows: DataFrame) -> DataFrame:
    """The same with a group for every key, as it is usually written."""
    from stream_floor import stateful

    del bench
    return stateful(rows.withWatermark("ts", LATENESS), "device")


def stateless(bench: Bench, rows: DataFrame) -> DataFrame:
    """No state and no exchange: rows go to Python and are counted."""
    del bench
    return rows.mapInArrow(count_rows, "rows long")


# -- how long they take


def sustained(bench: Bench, plan: Plan) -> Figures:
    """All files, one a batch. Seconds are those of all rows at the rate of the batches after the first."""
    with _started(plan(bench, _stream(bench, parts(bench)))) as query:
        spent = _cpu_by_batch(query)
        query.awaitTermination()
        reports = _batches(query)
        answer = _answer(query, plan, sum(progress.numInputRows for progress in reports))
    state = state_bytes(reports)
    batches = [progress for progress in reports if progress.numInputRows]
    seconds = [_seconds(progress) for progress in batches]
    counted = sum(progress.numInputRows for progress in batches[1:])
    share = (batches[0].numInputRows + counted) / counted
    cpu = max(cpu for batch, cpu in spent.items() if batch <= batches[-1].batchId) - min(spent.values())
    figures = course(seconds, state[: len(batches)]) | ({"final_state_mb": state[-1] / 1e6} if state else {})
    return {"wall_s": sum(seconds[1:]) * share, "cpu_s": cpu * share, "answer": answer, **figures}


def _cpu_by_batch(query: Any) -> dict[int, float]:
    """CPU seconds spent when each batch was done."""
    spent: dict[int, float] = {}
    while query.isActive:
        if (last := query.lastProgress) and last.batchId not in spent:
            spent[last.batchId] = tree_cpu()
        time.sleep(0.02)
    spent.setdefault(query.lastProgress.batchId, tree_cpu())
    return spent


def archived(bench: Bench) -> Figures:
    """All files but the last are an archive; the batch that reads it and the last file counts, and those after it."""
    files = sorted(parts(bench).iterdir())
    with tempfile.TemporaryDirectory(prefix="live-", dir=DATA) as folder:
        shutil.copy(files[-1], folder)
        archive = _session(bench).read.parquet(*map(str, files[:-1]))
        with _started(matches(bench, _stream(bench, Path(folder)), archive=archive)) as query:
            query.awaitTermination()
            seconds = sum(map(_seconds, _batches(query)))
            return {"wall_s": seconds, "answer": _answer(query, matches, 0)}


def arrival(bench: Bench, plan: Plan) -> Figures:
    """Files come one by one to a stream that waits: from the moment a file is there to what it brings being out."""
    arrived: Queue[tuple[float, int]] = Queue()

    def seen(frame: DataFrame, batch: int) -> None:  # noqa: ARG001 - Spark's signature
        if rows := frame.collect():
            arrived.put((time.perf_counter(), sum(row[0] for row in rows) if frame.columns == ["rows"] else len(rows)))

    seconds, answer = [], 0
    with tempfile.TemporaryDirectory(prefix="live-", dir=DATA) as folder:
        stream = plan(bench, _stream(bench, Path(folder)))
        with _started(stream, now=False, each=seen) as query:
            for file in sorted(parts(bench).iterdir()):
                _wait_until_idle(query)
                shutil.copy(file, Path(folder) / f".{file.name}")
                begin = time.perf_counter()
                (Path(folder) / f".{file.name}").rename(Path(folder) / file.name)
                end, count = arrived.get(timeout=LONGEST_WAIT_S)
                seconds.append(end - begin)
                answer += count
    return {"wall_s": median(seconds[1:]), "answer": answer, "median_ms": median(seconds[1:]) * 1e3}


def _wait_until_idle(query: Any) -> None:
    """Until there was nothing to do twice in a row: a batch without rows may follow one with rows."""
    idle = 0
    while idle < 2:
        idle = idle + 1 if query.status["message"].startswith("Waiting") else 0
        time.sleep(0.1)


# -- queries and what they report


@contextmanager
def _started(
    frame: DataFrame, *, now: bool = True, each: Callable[[DataFrame, int], None] | None = None
) -> Iterator[Any]:
    """A query with a fresh checkpoint, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=DATA, ignore_cleanup_errors=True) as folder:
        writer = frame.writeStream.option("checkpointLocation", folder)
        writer = writer.foreachBatch(each) if each else writer.format("noop")
        query = (writer.trigger(availableNow=True) if now else writer).start()
        try:
            yield query
        finally:
            query.stop()


def _batches(query: Any) -> list[Any]:
    """Reports of the batches that were run."""
    return [progress for progress in query.recentProgress if "addBatch" in progress.durationMs]


def _seconds(progress: Any) -> float:
    return float(progress.durationMs["triggerExecution"]) / 1e3


def _answer(query: Any, plan: Plan, rows: int) -> int:
    """Matches that came out, or rows that went in."""
    import motif

    return int(motif.status(query).matches) if plan is matches else rows


def state_bytes(batches: Sequence[Any]) -> list[int]:
    """What Motif keeps after each batch, from the last counters of every bucket; nothing for other plans."""
    known: dict[tuple[str, int], int] = {}
    totals = []
    for progress in batches:
        for name, row in progress.observedMetrics.items():
            for counters in map(json.loads, filter(None, row)):
                known[name, counters["bucket"]] = counters["state_bytes"]
        totals.append(sum(known.values()))
    return totals if known else []


def _stream(bench: Bench, folder: Path) -> DataFrame:
    session = _session(bench)
    schema = session.read.parquet(str(parts(bench))).schema
    return session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _session(bench: Bench) -> SparkSession:
    """With the settings that Motif would choose, for the floors too."""
    from motif.hosts.spark.local import ROCKSDB

    session = bench._spark()
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    return session


def parts(bench: Bench) -> Path:
    """The table as files of equal size, in the order of time, which is also that of their ages."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = bench.workload.batch
    folder = bench.file.with_name(f"{bench.file.stem}-by-{size}")
    if folder.exists():
        return folder
    table = pq.read_table(bench.file)
    moments = table.column("ts").cast(pa.timestamp("us", "UTC"))
    table = table.set_column(table.schema.get_field_index("ts"), "ts", moments)
    with tempfile.TemporaryDirectory(prefix="parts-", dir=DATA) as made:
        new = Path(made) / "new"
        new.mkdir()
        for number, start in enumerate(range(0, table.num_rows, size)):
            path = new / f"{number:04d}.parquet"
            pq.write_table(table.slice(start, size), path, compression="snappy")
            os.utime(path, (AGE + number, AGE + number))
        new.rename(folder)
    return folder


CONTENDERS: dict[str, Contender] = {
    "spark stream": partial(sustained, plan=matches),
    "spark stateful": partial(sustained, plan=by_bucket),
    "spark stateful-by-key": partial(sustained, plan=by_key),
    "spark stateless": partial(sustained, plan=stateless),
    "spark archive": archived,
    "spark arrival": partial(arrival, plan=matches),
    "spark stateful-arrival": partial(arrival, plan=by_bucket),
}
