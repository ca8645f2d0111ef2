"""Every shared case on every engine: the kernel plain and compiled, DuckDB by both public doors, and Spark.

`test_cases_reference.py` holds the same cases against the reference matcher, so all of them agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import motif
from motif.hosts import duckdb
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import COMPILED, PLAIN
from motif.testing.cases import Case, ExpectedError, load_cases, same_in_order, same_rows
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = load_cases(Path(__file__).parent / "cases")
Answer = tuple[tuple[str, ...], list[tuple[Any, ...]]]
"""Column names and rows."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def check(case: Case, answer: Callable[[], Answer]) -> None:
    """The rows of the case, or its error with class and text."""
    if case.error is not None:
        with pytest.raises(getattr(motif, case.error.kind)) as caught:
            answer()
        assert case.error.text in str(caught.value)
        return
    names, rows = answer()
    assert names == case.expected_columns
    assert same_in_order(rows, case.expected), rows


def taken(table: pa.Table) -> Answer:
    return tuple(table.column_names), [tuple(row.values()) for row in table.to_pylist()]


@every_case
def test_kernel_as_plain_python(case: Case) -> None:
    table = to_arrow(case.rows, case.columns)
    check(case, lambda: taken(duckdb.match_table(table, parse_clause(case.clause), costs=PLAIN)))


@every_case
@pytest.mark.usefixtures("kernel_cache")
def test_kernel_compiled(case: Case) -> None:
    """All of them: about 25 kernels differ, a minute to compile when none is cached, seconds after that."""
    table = to_arrow(case.rows, case.columns)
    check(case, lambda: taken(duckdb.match_table(table, parse_clause(case.clause), costs=COMPILED)))


@every_case
def test_match_in_process(case: Case) -> None:
    check(case, lambda: taken(motif.match(to_arrow(case.rows, case.columns), case.clause)))


@every_case
def test_statement_in_process(case: Case) -> None:
    table = to_arrow(case.rows, case.columns)
    check(case, lambda: taken(motif.sql(f"SELECT * FROM data {case.clause}", tables={"data": table})))


SPARK_DIFFERS = {"types: dates subtract to days": "cannot compare or combine interval with integer"}
"""Where Spark's own SQL differs, and what Motif then says: there the difference of dates is an interval."""


@every_case
@pytest.mark.spark
def test_match_on_spark(case: Case, spark: SparkSession) -> None:
    if str(case) in SPARK_DIFFERS:
        case = replace(case, error=ExpectedError("QueryBindError", SPARK_DIFFERS[str(case)]))
    check(case, lambda: on_spark(case, spark))


@pytest.mark.spark
def test_statement_on_spark(spark: SparkSession) -> None:
    """The first good case of each file through `motif.sql`; what lies behind that door is the same as above."""
    good = [case for case in CASES if case.error is None]
    for _, group in itertools.groupby(good, key=lambda case: case.file):
        case = next(group)
        spark.createDataFrame(to_arrow(case.rows, case.columns)).createOrReplaceTempView("data")
        rows = motif.sql(f"SELECT * FROM data {case.clause}", spark=spark).collect()
        assert same_rows([tuple(row) for row in rows], case.expected), case


def on_spark(case: Case, spark: SparkSession) -> Answer:
    """What Spark collects; an error of a worker comes wrapped, and is unwrapped here.

    Types may differ from DuckDB's (a DECIMAL for a DOUBLE, a Row for a struct): `same_rows` compares numbers by value.
    """
    from pyspark.errors import PythonException

    frame = spark.createDataFrame(to_arrow(case.rows, case.columns))
    try:
        result = motif.match(frame, case.clause)
        return tuple(result.columns), [tuple(row) for row in result.collect()]
    except PythonException as error:
        raise own_error(error) from None


def own_error(error: Exception) -> motif.MotifError:
    """Motif's error inside the traceback that Spark's worker sent: `motif.errors.Name: message`."""
    name, _, message = str(error).rpartition("motif.errors.")[2].partition(": ")
    kind = getattr(motif, name, None)
    assert kind is not None, f"no error of Motif in {error}"
    return kind(message)
