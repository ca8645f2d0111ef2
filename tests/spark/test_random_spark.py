"""Random queries through real Spark, against the reference: over 200 keys each, on 1 to 4 partitions or in one task.

The random text is read in Spark's dialect. What Spark itself does not offer is skipped and counted.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import motif
from motif.errors import QueryDataError
from motif.lang.statement import parse_clause
from motif.testing.cases import same_rows
from motif.testing.generate import random_example
from motif.testing.reference import match_rows
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.random]

KEYS = 200
SEEDS = range(500, 530)
IN_ONE_TASK = range(530, 540)


@pytest.mark.parametrize("seed", SEEDS)
def test_spark_agrees_with_the_reference(seed: int, spark: SparkSession) -> None:
    check(seed, spark)


@pytest.mark.parametrize("seed", IN_ONE_TASK)
@pytest.mark.usefixtures("small_tables")
def test_one_task_agrees_with_the_reference(seed: int, spark: SparkSession) -> None:
    check(seed, spark)


def check(seed: int, spark: SparkSession) -> None:
    clause, rows = random_example(random.Random(seed), KEYS)
    table = to_arrow(rows)
    query = parse_clause(clause, "spark")
    spark.conf.set("spark.sql.shuffle.partitions", str(1 + seed % 4))
    expected: list[dict[str, object]] | None
    try:
        expected = match_rows(query, rows, table.column_names, steps=20_000)
    except QueryDataError:
        expected = None
    frame = motif.match(spark.createDataFrame(table), clause)
    if expected is None:
        with pytest.raises(Exception, match="QueryDataError"):
            frame.collect()
        return
    found = [tuple(row) for row in frame.collect()]
    assert same_rows(found, expected), clause
    if expected:
        assert frame.columns == list(expected[0])
