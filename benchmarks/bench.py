"""Motif's own contenders and their floors: one workload at one size, in one process."""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from definitions import HERE, Workload
from generators import DATA
from processes import Measurement, measurement, reset_peaks, resident_mb, tree_cpu

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOMENTS = ("match_start", "match_end")
PACKAGES = {"motif": ("duckdb", "motif"), "match": ("duckdb", "motif"), "duckdb": ("duckdb",)}
"""What a contender imports before its first run."""


class Bench:
    """One workload at one size."""

    def __init__(self, workload: Workload, file: Path) -> None:
        self.workload = workload
        self.file = file
        self.query = workload.query_text()
        self.warm: set[str] = set()
        self.first = True
        self.cold_cache = tempfile.TemporaryDirectory(prefix="cold-", dir=DATA)

    def measure(self, contender: str) -> list[Measurement]:
        """Run it once."""
        self.first = contender not in self.warm
        self.warm.add(contender)
        run: Callable[[], Any] = getattr(self, contender.replace(" ", "_"), None) or self._streaming(contender)
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        result = run()
        wall = time.perf_counter() - begin
        if isinstance(result, list):  # it measured itself
            return result
        if isinstance(result, dict):  # it knows more, or better
            return [measurement(contender, wall, tree_cpu() - cpu, None) | result]
        return [measurement(contender, wall, tree_cpu() - cpu, result)]

    def start(self, contender: str) -> None:
        """What is paid once in a process, whatever the question."""
        if contender.startswith("spark "):
            self._spark()
        for package in PACKAGES.get(contender, ()):
            importlib.import_module(package)

    def _streaming(self, contender: str) -> Callable[[], Any]:
        import spark_streams
        import streams

        return partial((streams.CONTENDERS | spark_streams.CONTENDERS)[contender], self)

    # -- in process

    def motif(self) -> int:
        import motif

        return int(motif.sql(self.query, tables={self.workload.generator: self.file}).num_rows)

    def duckdb(self) -> int:
        """The floor: DuckDB sorts the same columns and hands them over in batches."""
        from motif.hosts.duckdb_database import BATCH_ROWS

        reader = self._database.sql(self.workload.floor_sql).to_arrow_reader(BATCH_ROWS)
        return sum(batch.num_rows for batch in reader)

    @cached_property
    def _database(self) -> Any:
        """Opened once: Motif keeps its own between queries over the same file, too."""
        import duckdb

        connection = duckdb.connect(":memory:")
        connection.execute(f"CREATE VIEW {self.workload.generator} AS SELECT * FROM read_parquet('{self.file}')")
        return connection

    # -- event queries in process

    def match(self) -> list[Measurement]:
        """All cores. Memory is counted from a process in which everything is imported."""
        base = self._imported()
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        answer = self._matches(self.file).num_rows
        wall = time.perf_counter() - begin
        return [measurement("match", wall, tree_cpu() - cpu, answer) | {"base_mb": base}]

    def onecore(self) -> list[Measurement]:
        """The same, with threads and all, on a single core."""
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        return [self.match()[0] | {"contender": "onecore"}]

    def handed(self) -> list[Measurement]:
        """What Motif asks DuckDB for, as one Arrow table, and nothing done with it."""
        from motif.hosts.duckdb_events import Stack, input_sql
        from motif.options import EventOptions, parsed_queries

        base = self._imported()
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        query: Any = parsed_queries(self.query, "duckdb")
        stream = EventOptions(self.workload.time, self.workload.type, (), {}).stream
        stack = Stack(self.file, stream, query)
        program, source = stack.plan(stack.dag.last, {})
        table = source.database.table(input_sql(program, source)).combine_chunks()
        measured = measurement("handed", time.perf_counter() - begin, tree_cpu() - cpu, table.num_rows)
        return [measured | {"base_mb": base, "handed_mb": table.nbytes / 1e6}]

    def agrees(self) -> int:
        """The number of matches, if each begins and ends when it should."""
        from answers import moments

        wanted = moments(self.workload, self.file)
        found = self._matches(self.file)
        own = sorted(zip(*(found.column(name).cast("int64").to_pylist() for name in MOMENTS), strict=True))
        if own != wanted:
            missing, extra = (sorted(set(a) - set(b))[:3] for a, b in ((wanted, own), (own, wanted)))
            raise ValueError(f"{len(own)} matches, not {len(wanted)}; missing {missing}, too many {extra}")
        return len(own)

    @cache  # noqa: B019 - one object per process
    def _imported(self) -> float:
        """Resident memory before the first query."""
        import duckdb  # noqa: F401
        import llvmlite.binding  # noqa: F401 - loads compiled loops

        import motif  # noqa: F401

        return resident_mb()

    def _matches(self, data: Any) -> Any:
        import motif

        return motif.match(data, self.query, time=self.workload.time, type=self.workload.type)

    # -- the loop alone

    def compiled(self) -> list[Measurement]:
        return self._loop("compiled", is_compiled=True)

    def plain(self) -> list[Measurement]:
        return self._loop("plain", is_compiled=False)

    def _loop(self, name: str, *, is_compiled: bool) -> list[Measurement]:
        """Masks and other arguments first, then the loop with them; two measurements."""
        from motif.engine.execution import Execution
        from motif.engine.matcher import Rows, Run, Standing
        from motif.plan.physical.costs import COMPILED, PLAIN

        program, table = self._sorted_rows()
        execution = Execution.of(program, COMPILED if is_compiled else PLAIN)
        rows = Rows(program, table, execution)
        bounds = rows.bounds
        standing = Standing.of(bounds, more=False)
        run = Run(rows, standing, execution.plan.match.loops)
        cpu, begin = time.process_time(), time.perf_counter()
        arguments = run._fixed_arguments(run._ints(standing.start), run._ints(standing.number))
        between_cpu, between = time.process_time(), time.perf_counter()
        run._fixed_arguments = lambda start, number: arguments  # type: ignore[method-assign]  # noqa: ARG005
        found = sum(len(matches) for matches in run.matches())
        end_cpu, end = time.process_time(), time.perf_counter()
        return [
            measurement(name, end - between, end_cpu - between_cpu, found),
            measurement(f"{name} masks", between - begin, between_cpu - cpu, None if len(bounds) else 0),
        ]

    @cache  # noqa: B019 - one object per process
    def _sorted_rows(self) -> tuple[Any, pa.Table]:
        from motif.hosts.duckdb import input_sql, plan_clause
        from motif.hosts.duckdb_database import Database
        from motif.lang.statement import parse_statement

        statement = parse_statement(self.query, "duckdb")
        database = Database({self.workload.generator: self.file})
        program, source = plan_clause(database, statement, statement.clauses[0])
        return program, database.table(input_sql(program, source)).combine_chunks()

    # -- a fresh interpreter

    def cold_first(self) -> list[Measurement]:
        """No kernel is cached; .pyc files, which installers write, and the page cache are warm."""
        self.cold_cache = tempfile.TemporaryDirectory(prefix="cold-", dir=DATA)
        return [self._fresh("cold first", DATA / "pyc", "motif", self.query)]

    def cold_second(self) -> list[Measurement]:
        return [self._fresh("cold second", DATA / "pyc", "motif", self.query)]

    def cold_bare(self) -> list[Measurement]:
        """Nothing at all is cached: every package and the standard library are compiled from their sources, too."""
        with tempfile.TemporaryDirectory(prefix="bare-", dir=DATA) as folder:
            self.cold_cache = tempfile.TemporaryDirectory(prefix="cold-", dir=DATA)
            return [self._fresh("cold bare", Path(folder), "motif", self.query)]

    def cold_duckdb(self) -> list[Measurement]:
        return [self._fresh("cold duckdb", DATA / "pyc", "duckdb", self.workload.floor_sql)]

    def _fresh(self, name: str, bytecode: Path, *arguments: str) -> Measurement:
        command = [sys.executable, str(HERE / "cold.py"), *arguments, self.workload.generator, str(self.file)]
        environment = os.environ | {"MOTIF_CACHE": self.cold_cache.name, "PYTHONPYCACHEPREFIX": str(bytecode)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        cpu, begin = os.times(), time.perf_counter()
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        wall, after = time.perf_counter() - begin, os.times()
        spent = after.children_user - cpu.children_user + after.children_system - cpu.children_system
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return measurement(name, wall, spent, int(done.stdout)) | {"peak_mb": peak}

    # -- Spark; the answers are counted once and then thrown away by Spark itself

    def spark_motif(self) -> int | None:
        import motif

        return self._drain(motif.sql(self.query, spark=self._spark()))

    def spark_motif_rows(self) -> int | None:
        """The same where Spark reads and hands over, as it does with all but small tables of local files."""
        from motif.hosts.spark.files import SETTING

        self._spark().conf.set(SETTING, "false")
        try:
            return self.spark_motif()
        finally:
            self._spark().conf.unset(SETTING)

    def spark_match(self) -> int | None:
        """An event query."""
        return self._drain(self._matches(self._spark().read.parquet(str(self.file))))

    def spark_sort(self) -> int | None:
        """The floor: Spark's own exchange and sort, handed to a function that only counts."""
        from spark_session import count_rows

        keys = self._spark_text()[1].split(", ")
        rows = self._exchanged(keys).sortWithinPartitions(*keys)
        return self._drain(rows.mapInArrow(count_rows, "rows long"))

    def spark_exchange(self) -> int | None:
        """Less than the floor: no sort at all."""
        from spark_session import count_rows

        keys = self._spark_text()[1].split(", ")
        return self._drain(self._exchanged(keys).mapInArrow(count_rows, "rows long"))

    def spark_read(self) -> int | None:
        """Less still: one task reads the rows and hands them over, as with small tables of Motif."""
        from spark_session import count_rows

        rows = self._spark().sql(self._spark_text()[0]).coalesce(1)
        return self._drain(rows.mapInArrow(count_rows, "rows long"))

    def spark_files(self) -> int | None:
        """The least: one task reads the columns by itself, and Spark hands nothing over."""
        from spark_session import count_columns

        columns = self._spark().sql(self._spark_text()[0]).columns
        task = self._spark().range(1, numPartitions=1)
        return self._drain(task.mapInArrow(count_columns(str(self.file), columns), "rows long"))

    def _exchanged(self, keys: list[str]) -> DataFrame:
        """Rows of a key together; all of them where time alone is the order."""
        rows = self._spark().sql(self._spark_text()[0])
        return rows.repartition(keys[0]) if len(keys) > 1 else rows.repartition(1)

    def _spark_text(self) -> tuple[str, str]:
        """The query of the floor without its order, and the order."""
        query, _, keys = self.workload.floor_sql.replace('"', "`").partition(" ORDER BY ")
        return query, keys

    def _drain(self, frame: DataFrame) -> int | None:
        if self.first:
            return sum(row[0] for row in frame.collect()) if frame.columns == ["rows"] else frame.count()
        frame.write.format("noop").mode("overwrite").save()
        return None

    @cache  # noqa: B019 - one object per process
    def _spark(self) -> SparkSession:
        from spark_session import session

        spark = session(DATA)
        spark.read.parquet(str(self.file)).createOrReplaceTempView(self.workload.generator)
        return spark
