"""What people use today instead of Motif, each in a module with one function, `prepare(task)`.

`prepare` does what is paid once: imports, a session, a JVM, tables, data in a format that the contender can read. It
returns the work: a function without arguments that makes the whole answer from the file, as often as it is called.

The questions are in `queries/peers/QUESTION/`: a file per contender that can ask it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

BENCHMARKS = Path(__file__).resolve().parent.parent


class Done(NamedTuple):
    """What came of one call."""

    rows: int | None
    """Rows of the answer; None where it was thrown away uncounted, which only calls after the first may do."""
    seconds: float | None = None
    """What the contender's own clock says, where that leaves out starting a cluster for each call."""


Work = Callable[[], Done]


class Refused(Exception):
    """The contender understands the question and says no; the message is its own."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question and the table it is about."""

    question: str
    """A folder of `queries/peers`."""
    query: str
    """A file of `queries`, in Motif's own language."""
    table: str
    file: Path
    """The rows, as Parquet."""
    scratch: Path
    """A folder for what is made on the way."""
    time: str = "ts"
    type: str = "type"

    def motif_text(self) -> str:
        """The question in Motif's language."""
        return (BENCHMARKS / "queries" / f"{self.query}.sql").read_text(encoding="utf-8")

    def text(self, *names: str) -> str:
        """The first of these files of the question that is there; empty where none is."""
        paths = (BENCHMARKS / "queries" / "peers" / self.question / name for name in names)
        return next((path.read_text(encoding="utf-8") for path in paths if path.exists()), "")

    def module(self, name: str) -> ModuleType:
        """The question as Python: a module with a function `answer`."""
        return importlib.import_module(f"queries.peers.{self.question}.{name}")


@dataclass(frozen=True, slots=True)
class Contender:
    """Where it is, and the environment it runs in: a folder of `benchmarks/.envs`, or this one."""

    module: str
    environment: str = ""

    def python(self, own: str) -> str:
        """The interpreter."""
        return str(BENCHMARKS / ".envs" / self.environment / "bin" / "python") if self.environment else own

    def prepare(self, task: Task) -> Work:
        """Get ready, in the right process."""
        work: Work = importlib.import_module(f"contenders.{self.module}").prepare(task)
        return work


CONTENDERS = {
    "duckdb-sql": Contender("duckdb_sql"),
    "duckdb-native": Contender("duckdb_native"),
    "polars": Contender("polars_frames"),
    "pandas": Contender("pandas_frames"),
    "spark plain": Contender("spark_plain"),
    "flink": Contender("flink_match", "flink"),
    "flink-plain": Contender("flink_plain", "flink"),
    "flink-scan": Contender("flink_scan", "flink"),
    "reference": Contender("reference"),
}
