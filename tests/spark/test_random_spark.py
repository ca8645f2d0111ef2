"""Random queries through real Spark, against the reference: over 200 keys each, on 1 to 4 partitions or in one task.

Those of one task are asked of rows that Spark has, and of files.

The random text is read in Spark's dialect.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from motif.engine.order import crossing
from motif.errors import QueryDataError, UnsupportedQuery
from motif.hosts.duckdb import DuckSource
from motif.hosts.duckdb_database import Database, quoted
from motif.hosts.spark.batch import match_frame
from motif.ir.expr import Column
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.cases import same_in_order
from motif.testing.fuzz import read
from motif.testing.generate import random_example
from motif.testing.random_expr import SUB_QUERIES
from motif.testing.reference import match_rows
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.random]

KEYS = 200
SEEDS = range(500, 530)
IN_ONE_TASK = range(530, 540)
OF_FILES = range(540, 900)
FILES = 12
"""As many of them are asked, that need nothing but columns."""


@pytest.mark.parametrize("seed", SEEDS)
def test_spark_agrees_with_the_reference(seed: int, spark: SparkSession) -> None:
    check(seed, spark)


@pytest.mark.parametrize("seed", IN_ONE_TASK)
@pytest.mark.usefixtures("small_tables")
def test_one_task_agrees_with_the_reference(seed: int, spark: SparkSession) -> None:
    check(seed, spark)


@pytest.mark.usefixtures("small_tables")
def test_files_agree_with_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    seeds = list(islice(filter(needs_only_columns, OF_FILES), FILES))
    assert len(seeds) == FILES
    for seed in seeds:
        found = check(seed, spark, lambda table, seed=seed: stored(table, spark, tmp_path / str(seed)))  # type: ignore[misc]
        assert found is not None
        assert "FileScan" not in found._jdf.queryExecution().executedPlan().toString(), seed


def needs_only_columns(seed: int) -> bool:
    """Whether nothing is asked of the host but columns as they are."""
    clause, rows = random_example(random.Random(seed), 1)
    try:
        program = in_process(clause, to_arrow(rows))
    except UnsupportedQuery:
        return False
    return not program.asks and all(isinstance(expr, Column) for expr in crossing(program))


def in_process(clause: str, table: pa.Table) -> Program:
    return plan(read(clause), DuckSource(Database({"data": table}), "", quoted("data")))


def stored(table: pa.Table, spark: SparkSession, folder: Path) -> DataFrame:
    """In two files."""
    folder.mkdir()
    half = table.num_rows // 2
    pq.write_table(in_utc(table.slice(0, half)), folder / "one.parquet")
    pq.write_table(in_utc(table.slice(half)), folder / "other.parquet", row_group_size=100)
    return spark.read.parquet(str(folder))


def in_utc(table: pa.Table) -> pa.Table:
    """Times as Spark has them where it is given a table."""
    kinds = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind for kind in table.schema.types]
    return table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))


def check(seed: int, spark: SparkSession, made: Callable[[pa.Table], DataFrame] | None = None) -> DataFrame | None:
    """Ask a random query; `made`: the table as a DataFrame. None: Spark refuses it, or it fails beforehand."""
    clause, rows = random_example(random.Random(seed), KEYS, with_queries=made is None and seed % 3 == 0)
    table = to_arrow(rows)
    query = read(clause, "spark")
    spark.conf.set("spark.sql.shuffle.partitions", str(1 + seed % 4))
    expected: list[dict[str, object]] | None
    try:
        expected = match_rows(query, rows, table.column_names, steps=20_000, queries=SUB_QUERIES)
    except QueryDataError:
        expected = None
    try:
        frame = match_frame((made or spark.createDataFrame)(table), query)
    except QueryDataError:
        assert expected is None
        return None
    except UnsupportedQuery as error:
        if re.search("not supported on Spark: A(NY|LL) with a sub-query", str(error)):
            return None
        raise
    if expected is None:
        with pytest.raises(Exception, match="QueryDataError"):
            frame.collect()
        return frame
    found, keys = [tuple(row) for row in frame.collect()], len(query.partition)
    by_key, wanted = in_runs(found, keys), in_runs([tuple(row.values()) for row in expected], keys)
    assert by_key.keys() == wanted.keys(), clause
    assert all(same_in_order(by_key[key], wanted[key]) for key in wanted), clause
    if expected:
        assert frame.columns == list(expected[0])
    return frame


def in_runs(rows: list[tuple[Any, ...]], keys: int) -> dict[str, list[tuple[Any, ...]]]:
    """Rows by the key that their first columns are; those of one follow each other, and keys come in any order."""
    runs = [(key, list(run)) for key, run in groupby(rows, lambda row: repr(row[:keys]))]
    assert len(dict(runs)) == len(runs), "the rows of a key are torn apart"
    return dict(runs)
