"""Apache Flink's SQL MATCH_RECOGNIZE: streaming mode, bounded CSV files, one per core.

The time attribute of Flink has milliseconds. So a time column `ts` comes as `ts_us`, an integer, and as `ts`, computed
from it; queries order by both. Without a time column there is a `ts` computed from `i`. Text runs in two forms: the
first call writes a file whose lines are counted, later ones go to a blackhole.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment  # type: ignore[import-not-found]
from pyflink.util.exceptions import JavaException  # type: ignore[import-not-found]

from contenders import Done, Refused, Task, Work

CORES = 2
SQL_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.bool_(): "BOOLEAN"}


def prepare(task: Task) -> Work:
    """See `prepared`."""
    return prepared(task, task.text("flink.sql"))


def prepared(task: Task, text: str) -> Work:
    """A JVM, the table, and a query that was planned once, so that a refusal shows here."""
    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    flink.get_config().set("parallelism.default", str(CORES))
    flink.get_config().set("table.local-time-zone", "UTC")
    flink.execute_sql(_table(task, _csv(task)))
    folder = task.scratch / f"flink-{task.question}"
    counted = TableDescriptor.for_connector("filesystem").format("csv").option("path", str(folder)).build()
    ignored = TableDescriptor.for_connector("blackhole").build()
    try:
        flink.sql_query(text).insert_into(ignored).explain()
    except (Py4JJavaError, JavaException) as error:
        raise Refused(_reason(error)) from None
    is_first = True

    def work() -> Done:
        nonlocal is_first
        sink, is_first = (counted if is_first else ignored), False
        shutil.rmtree(folder, ignore_errors=True)
        job = flink.sql_query(text).execute_insert(sink).get_job_client()
        seconds = job.get_job_execution_result().result().get_net_runtime() / 1_000
        rows = _lines(folder) if sink is counted else None
        shutil.rmtree(folder, ignore_errors=True)
        return Done(rows, seconds)

    return work


def _csv(task: Task) -> Path:
    """A folder with a file per core, rows dealt out in turn, so that each is in the order of time."""
    folder = task.scratch / f"{task.file.stem}-csv"
    if not folder.exists():
        table = pq.read_table(task.file)
        columns = {name: _plain(table.column(name)) for name in table.column_names}
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for core in range(CORES):
            part = pa.table(columns).take(pa.array(np.arange(core, table.num_rows, CORES)))
            options = pc.WriteOptions(include_header=False, quoting_style="none")
            pc.write_csv(part, unfinished / f"{core}.csv", options)
        unfinished.rename(folder)
    return folder


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _table(task: Task, folder: Path) -> str:
    """The statement that declares the table."""
    columns, times = [], []
    for field in pq.read_schema(task.file):
        if pa.types.is_timestamp(field.type):
            columns.append(f"{field.name}_us BIGINT")
            times.append(field.name)
        else:
            columns.append(f"`{field.name}` {SQL_TYPES[field.type]}")
    columns += [f"{name} AS TO_TIMESTAMP_LTZ({name}_us / 1000, 3)" for name in times]
    if not times:
        columns.append("ts AS TO_TIMESTAMP_LTZ(i, 3)")
    clock = times[0] if times else "ts"
    columns.append(f"WATERMARK FOR {clock} AS {clock} - INTERVAL '0.001' SECOND")
    options = f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv'"
    return f"CREATE TABLE {task.table} ({', '.join(columns)}) WITH ({options})"


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*") if path.is_file())


def _reason(error: Exception) -> str:
    """What the innermost exception says; where it shows the plan, what stands below."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    said = text.partition("\n\tat ")[0].split("\n\n")[-1]
    return said.splitlines()[0].rpartition("Exception: ")[2]
