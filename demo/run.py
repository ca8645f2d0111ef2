"""The demo: four queries over a week of trades, in process and on Spark, compared row by row.

python demo/run.py [--out demo-out]

Exits with 1 where the two hosts do not agree.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import motif
from make_trades import write_trades
from motif.cli.on_spark import spark_with
from motif.report import statement_report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).resolve().parent / "queries"
SHOWN = 5
console = Console()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one query gave on both hosts."""

    name: str
    text: str
    rows: int
    local: pa.Table
    local_seconds: tuple[float, float]
    spark_seconds: tuple[float, float]
    difference: str | None


def main() -> int:
    """Run everything; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    out = parser.parse_args().out
    trades = out / "trades.parquet"
    if not trades.exists():
        with step(f"making {trades}"):
            write_trades(trades)
    with contextlib.ExitStack() as stack:
        with step("starting Spark"):
            spark = stack.enter_context(spark_with({"trades": str(trades)}))
        outcomes = [run_query(path, trades, spark) for path in sorted(QUERIES.glob("*.sql"))]
    show_summary(outcomes)
    show_matches(outcomes[1])
    show_report(out / "report.html", outcomes[1].text, trades)
    differing = [outcome for outcome in outcomes if outcome.difference]
    for outcome in differing:
        console.print(f"[bold red]{outcome.name}: THE HOSTS DISAGREE[/]: {outcome.difference}", highlight=False)
    return 1 if differing else 0


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Show that something is going on, and how long it took."""
    begin = time.perf_counter()
    with console.status(f"{what} ..."):
        yield
    console.print(f"{what}: {time.perf_counter() - begin:.1f} s", highlight=False)


def run_query(path: Path, trades: Path, spark: SparkSession) -> Outcome:
    """One query on both hosts, twice: the first time also pays for what is made once."""
    name, text = path.stem.upper(), path.read_text(encoding="utf-8")
    local, local_seconds = twice(f"{name} in process", lambda: motif.sql(text, tables={"trades": trades}))
    distributed, spark_seconds = twice(f"{name} on Spark", lambda: motif.sql(text, spark=spark).toArrow())
    rows = pq.read_metadata(trades).num_rows
    return Outcome(name, text, rows, local, local_seconds, spark_seconds, difference(local, distributed))


def twice(what: str, work: Callable[[], pa.Table]) -> tuple[pa.Table, tuple[float, float]]:
    """The result, and the seconds of both runs."""
    with step(what):
        begin = time.perf_counter()
        work()
        middle = time.perf_counter()
        result = work()
        end = time.perf_counter()
    return result, (middle - begin, end - middle)


def difference(left: pa.Table, right: pa.Table) -> str | None:
    """What tells two results apart as multisets of rows; None where nothing does."""
    if left.column_names != right.column_names:
        return f"columns {left.column_names} in process, {right.column_names} on Spark"
    if left.num_rows != right.num_rows:
        return f"{left.num_rows:,} rows in process, {right.num_rows:,} on Spark"
    order = [(name, "ascending") for name in left.column_names]
    left = left.sort_by(order).combine_chunks()
    right = right.cast(left.schema).sort_by(order).combine_chunks()
    if left.equals(right):
        return None
    for one, other in zip(left.to_pylist(), right.to_pylist(), strict=True):
        if one != other:
            return f"first differing row: {one} in process, {other} on Spark"
    return None


def show_summary(outcomes: list[Outcome]) -> None:
    """One line per query."""
    table = Table(
        *("query", "rows", "matches", "local", "again", "Spark", "again", "agree"),
        title="A week of trades",
        caption="local: in process; the first run also compiles the loop, which is kept",
    )
    for column in table.columns[1:7]:
        column.justify = "right"
    for o in outcomes:
        agree = "[bold red]NO[/]" if o.difference else "[green]yes[/]"
        seconds = [f"{value:.2f} s" for value in (*o.local_seconds, *o.spark_seconds)]
        table.add_row(o.name, f"{o.rows:,}", f"{o.local.num_rows:,}", *seconds, agree)
    console.print(table)


def show_matches(outcome: Outcome) -> None:
    """The longest matches of one query."""
    longest = outcome.local.sort_by([("length", "descending"), ("start_ts", "ascending")]).slice(0, SHOWN)
    table = Table(
        "symbol", "from", "to", "start", "bottom", "end", "rows", title=f"The longest matches of {outcome.name}"
    )
    for column in table.columns[3:]:
        column.justify = "right"
    for row in longest.to_pylist():
        prices = [f"{row[name]:.2f}" for name in ("start_price", "bottom_price", "end_price")]
        times = [f"{row[name]:%a %H:%M:%S}" for name in ("start_ts", "end_ts")]
        table.add_row(row["symbol"], *times, *prices, str(row["length"]))
    console.print(table)


def show_report(path: Path, query: str, trades: Path) -> None:
    """The report on one query, to be opened in a browser."""
    with step("writing the report"):
        statement_report(query, {"trades": trades}, title="Tick shapes in a week of trades").save(path)
    console.print(f"report: {path}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
