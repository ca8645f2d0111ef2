"""What Spark says of an expression is told in our words, with one hint, wherever the expression stands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import motif

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MISTAKES = {
    "nosuch(id)": (
        "there is no function nosuch",
        "give one that Spark has, or register yours: spark.udf.register",
    ),
    "lower(id, v)": ("lower does not take 2 values", "it takes 1"),
    "substring(id)": ("substring does not take 1 value", "it takes 2 or 3"),
    "s.x": ("a value of type STRING has no parts", "only structs, lists and maps have parts"),
    "size(id)": ("size does not take BIGINT", "CAST its first argument to ARRAY or MAP"),
    "v > array(1)": (
        "cannot compare or combine BIGINT with ARRAY<INT>",
        "CAST one side to the type of the other",
    ),
    "CAST(s AS nosuchtype)": (
        "there is no type NOSUCHTYPE",
        "write one of Spark, such as BIGINT, DOUBLE or STRING",
    ),
}
PLACES = (
    "ORDER BY id MEASURES {} AS x PATTERN (A)",
    "ORDER BY {} MEASURES v AS x PATTERN (A)",
    "ORDER BY id MEASURES v AS x PATTERN (A) DEFINE A AS {} IS NOT NULL",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("expression", MISTAKES)
def test_mistakes_that_spark_finds(expression: str, place: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"id": [1], "v": [1], "s": ["a"]}))
    with pytest.raises(motif.QueryBindError) as caught:
        motif.match(frame, f"MATCH_RECOGNIZE ({place.format(expression)})")
    assert (caught.value.message, caught.value.hint) == MISTAKES[expression]
    assert caught.value.span is not None


def test_spark_can_tell_of_its_own_mistakes_after_one_of_ours() -> None:
    """In a new process: whoever asks first for the logger decides of which kind it is."""
    code = """
import logging
from motif.hosts.spark.batch import quiet
with quiet():
    pass
from pyspark.logger import PySparkLogger
assert isinstance(logging.getLogger("SQLQueryContextLogger"), PySparkLogger)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
