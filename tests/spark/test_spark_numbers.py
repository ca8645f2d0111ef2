"""On Spark too, numbers are compared with constants as Spark would."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import motif

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "i INT, b TINYINT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10,2)"
NAN, INF = float("nan"), float("inf")
ROWS = [
    (0, None, None, None, None, None),
    (1, 0, 0, 0.0, 0.0, Decimal("0.00")),
    (2, 1, 2**53 + 1, 0.1, 0.1, Decimal("0.10")),
    (3, -1, -(2**63), NAN, NAN, Decimal("9.50")),
    (4, 127, 2**63 - 1, INF, -INF, Decimal("-1.00")),
    (5, -128, 1, 16777216.0, -0.0, Decimal("1.00")),
    (6, 9, 9, 9.5, 123456789.123456789, Decimal("123456.78")),
]
CONSTANTS = ("0", "-1", "16777217", "9007199254740993", "0.1", "9.5", "1e300", "123456789.123456789")


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).repartition(2)


@pytest.mark.parametrize("column", ["b", "l", "f", "d", "n"])
def test_comparisons_are_sparks(frame: DataFrame, column: str) -> None:
    """All conditions in one query: a variable of each takes the rows that nothing before it takes."""
    conditions = [f"{column} {operator} {constant}" for constant in CONSTANTS for operator in ("=", "<", ">=")]
    names = [f"V{number}" for number in range(len(conditions))]
    defines = ", ".join(f"{name} AS {condition}" for name, condition in zip(names, conditions, strict=True))
    clause = f"""MATCH_RECOGNIZE (ORDER BY i MEASURES CLASSIFIER() AS taken, FIRST(i) AS i
        PATTERN ({" | ".join(names)}) DEFINE {defines})"""
    found = {row.i: row.taken for row in motif.match(frame, clause).collect()}
    cases = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in zip(names, conditions, strict=True))
    expected = frame.selectExpr("i", f"CASE {cases} END AS taken").where("taken IS NOT NULL").collect()
    assert found == {row.i: row.taken for row in expected}
    assert len(found) == len(ROWS) - 1
