"""The plans of kept queries on Spark: a change of one has to be written down, `python tests/golden/write.py`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_golden_plans import HOW
from write import PLANS, SPARK, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", SPARK)
def test_plans_are_as_they_were(name: str, spark: SparkSession, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert on_spark(name, spark, tmp_path) == (PLANS / f"{name}.txt").read_text(), HOW
