"""A process that measures: one contender (or several, for Spark) on one point of one workload.

python benchmarks/worker.py WORKLOAD ROWS KEYS

Reads names of contenders, one a line, and answers each with a line of JSON: a list of measurements. The first answer
for a contender is its warm-up.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from definitions import HERE, Workload, load
from generators import DATA, dataset

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Measurement = dict[str, Any]
TICKS = os.sysconf("SC_CLK_TCK")
SPARK_PARTITIONS = 4
MOMENTS = ("match_start", "match_end")


class Bench:
    """One workload at one size."""

    def __init__(self, workload: Workload, file: Path) -> None:
        self.workload = workload
        self.file = file
        self.query = workload.query_text()
        self.first = True
        self.cold_cache = tempfile.TemporaryDirectory(prefix="cold-", dir=DATA)

    def measure(self, contender: str) -> list[Measurement]:
        """Run it once."""
        run: Callable[[], Any] = getattr(self, contender.replace(" ", "_"), None) or self._streaming(contender)
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        result = run()
        wall = time.perf_counter() - begin
        if isinstance(result, list):  # it measured itself
            return result
        if isinstance(result, dict):  # it knows more, or better
            return [_measurement(contender, wall, tree_cpu() - cpu, None) | result]
        return [_measurement(contender, wall, tree_cpu() - cpu, result)]

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
        import duckdb

        from motif.hosts.duckdb import BATCH_ROWS

        connection = duckdb.connect(":memory:")
        connection.execute(f"CREATE VIEW {self.workload.generator} AS SELECT * FROM read_parquet('{self.file}')")
        reader = connection.sql(self.workload.floor_sql).to_arrow_reader(BATCH_ROWS)
        return sum(batch.num_rows for batch in reader)

    # -- event queries in process

    def match(self) -> list[Measurement]:
        """All cores. Memory is counted from a process in which everything is imported."""
        base = self._imported()
        reset_peaks()
        cpu, begin = tree_cpu(), time.perf_counter()
        answer = self._matches(self.file).num_rows
        wall = time.perf_counter() - begin
        return [_measurement("match", wall, tree_cpu() - cpu, answer) | {"base_mb": base}]

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
        program, source = Stack(self.file, stream).plan(query[0], {})
        table = source.database.table(input_sql(program, source)).combine_chunks()
        measured = _measurement("handed", time.perf_counter() - begin, tree_cpu() - cpu, table.num_rows)
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
        import numba  # noqa: F401

        import motif  # noqa: F401

        return resident_mb()

    def _matches(self, data: Any) -> Any:
        import motif

        return motif.match(data, self.query, time=self.workload.time, type=self.workload.type)

    # -- the loop alone

    def compiled(self) -> list[Measurement]:
        return self._loop("compiled", compiled=True)

    def plain(self) -> list[Measurement]:
        return self._loop("plain", compiled=False)

    def _loop(self, name: str, *, compiled: bool) -> list[Measurement]:
        """Masks and other arguments first, then the loop with them; two measurements."""
        from motif.engine.matcher import Rows, Run, Standing

        program, table = self._sorted_rows()
        rows = Rows(program, table)
        bounds = rows.bounds
        standing = Standing.of(bounds, more=False)
        run = Run(rows, standing, compiled=compiled)
        cpu, begin = time.process_time(), time.perf_counter()
        arguments = run._fixed_arguments(run._ints(standing.start), run._ints(standing.number))
        between_cpu, between = time.process_time(), time.perf_counter()
        run._fixed_arguments = lambda _start, _number: arguments  # type: ignore[method-assign]
        found = sum(len(matches) for matches in run.matches())
        end_cpu, end = time.process_time(), time.perf_counter()
        return [
            _measurement(name, end - between, end_cpu - between_cpu, found),
            _measurement(f"{name} masks", between - begin, between_cpu - cpu, None if len(bounds) else 0),
        ]

    @cache  # noqa: B019 - one object per process
    def _sorted_rows(self) -> tuple[Any, pa.Table]:
        from motif.hosts.duckdb import Database, input_sql, plan_clause
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
        return _measurement(name, wall, spent, int(done.stdout)) | {"peak_mb": peak}

    # -- Spark; the answers are counted once and then thrown away by Spark itself

    def spark_motif(self) -> int | None:
        import motif

        return self._drain(motif.sql(self.query, spark=self._spark()))

    def spark_match(self) -> int | None:
        """An event query."""
        return self._drain(self._matches(self._spark().read.parquet(str(self.file))))

    def spark_sort(self) -> int | None:
        """The floor: Spark's own exchange and sort, handed to a function that only counts."""
        rows = self._spark_columns()
        keys = self.workload.floor_sql.split("ORDER BY ")[1].split(", ")
        rows = rows.repartition(keys[0]).sortWithinPartitions(*keys)
        return self._drain(rows.mapInArrow(count_rows, "rows long"))

    def spark_exchange(self) -> int | None:
        """Less than the floor: no sort at all."""
        key = self.workload.floor_sql.split("ORDER BY ")[1].split(", ")[0]
        return self._drain(self._spark_columns().repartition(key).mapInArrow(count_rows, "rows long"))

    def _spark_columns(self) -> DataFrame:
        return self._spark().sql(self.workload.floor_sql.split(" ORDER BY ")[0])

    def _drain(self, frame: DataFrame) -> int | None:
        if self.first:
            return sum(row[0] for row in frame.collect()) if frame.columns == ["rows"] else frame.count()
        frame.write.format("noop").mode("overwrite").save()
        return None

    @cache  # noqa: B019 - one object per process
    def _spark(self) -> SparkSession:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "6g")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.local.dir", str(DATA / "spark"))
            .config("spark.sql.warehouse.dir", str(DATA / "spark-warehouse"))
            .config("spark.sql.shuffle.partitions", str(SPARK_PARTITIONS))
            .config("spark.sql.execution.arrow.maxBytesPerBatch", "2147483647")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        spark.read.parquet(str(self.file)).createOrReplaceTempView(self.workload.generator)
        return spark


def count_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Look at nothing, count everything."""
    import pyarrow as pa

    yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def _measurement(contender: str, wall: float, cpu: float, answer: int | None) -> Measurement:
    memory = {"peak_mb": peak_mb(), "base_mb": 0.0, "handed_mb": 0.0}
    return {"contender": contender, "wall_s": wall, "cpu_s": cpu, "answer": answer} | memory


# -- what the kernel knows of this process and those it started


def tree() -> list[int]:
    """This process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found = [os.getpid()]
    for process in found:
        found += parents.get(process, [])
    return found


def _stat(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def tree_cpu() -> float:
    """CPU seconds of this process and all below it, ended ones included."""
    return sum(int(ticks) for process in tree() for ticks in _stat(process)[11:15]) / TICKS


def reset_peaks() -> None:
    """Let the peaks of memory start from now."""
    for process in tree():
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        except OSError:
            continue  # ended, or a kernel without it: peaks are then those of the whole life


def peak_mb() -> float:
    """Peak resident memory: of this process, or of the largest Python worker where Spark runs some."""
    own, below = os.getpid(), 0
    peaks = {process: _peak(process) for process in tree()}
    below = max((peak for process, peak in peaks.items() if process != own), default=0)
    return (below or peaks[own]) / 1024


def resident_mb() -> float:
    """Memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    name, peak = re.search(r"Name:\s+(\S+)", text), re.search(r"VmHWM:\s+(\d+)", text)
    return int(peak[1]) if peak and name and name[1].startswith("python") else 0


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else writes to stdout, Java for one, does not get in the way
    name, rows, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    workload = load()[name]
    bench = Bench(workload, dataset(workload.generator, workload.seed, rows, keys))
    warm: set[str] = set()
    for line in sys.stdin:
        contender = line.strip()
        bench.first = contender not in warm
        warm.add(contender)
        answers.write(json.dumps(bench.measure(contender)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
