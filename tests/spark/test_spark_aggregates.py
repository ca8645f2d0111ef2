"""Aggregates of Spark over the rows of matches: as Spark itself groups these rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import motif

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MEASURES = (
    *("std({v})", "first_value({v})", "try_sum({v})", "mean({v})", "corr({v}, {t})", "max_by({s}, {t})"),
    *("regr_count({v}, {t})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {v})", "collect_list({s})"),
    *("listagg({s}, '-') WITHIN GROUP (ORDER BY {t} DESC)", "count_if({v} > 2)"),
    *("first_value({v}) IGNORE NULLS", "mean({v}) FILTER (WHERE {s} <> 'x')", "median(CAST({w} AS INT))"),
)
DIFFERENT = ("COUNT(DISTINCT {s}, {v})", "mean(DISTINCT {v})", "max({v})")
"""Apart from the others: Spark itself fails where a `listagg` stands beside a DISTINCT."""


@pytest.mark.parametrize("measures", [MEASURES, DIFFERENT])
def test_as_spark_groups_them(spark: SparkSession, measures: tuple[str, ...]) -> None:
    rng = random.Random(5)
    rows = [
        (t, rng.choice(("x", "y", "z", None)), rng.choice((None, 1, 2, 3, 4)), rng.random() < 0.6, str(t % 7))
        for t in range(60)
    ]
    frame = spark.createDataFrame(
        [(t, s, v, a, w if a else "none") for t, s, v, a, w in rows], "t INT, s STRING, v INT, a BOOLEAN, w STRING"
    )
    rest = "AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B?) DEFINE A AS a, B AS NOT a"
    shown = motif.match(
        frame, f"MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH {rest})"
    )
    shown.filter("c = 'A'").createOrReplaceTempView("matched")
    own = [text.format(v="v", t="t", s="s", w="w") for text in measures]
    due = spark.sql(
        f"SELECT {', '.join(f'{text} AS m{i}' for i, text in enumerate(own))} FROM matched GROUP BY n ORDER BY n"
    )
    asked = [text.format(v="A.v", t="A.t", s="A.s", w="A.w") for text in measures]
    items = ", ".join(f"{text} AS m{i}" for i, text in enumerate(asked))
    clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, {items} {rest})"
    found = motif.match(frame, clause).orderBy("n").drop("n")
    assert [field.dataType for field in found.schema] == [field.dataType for field in due.schema]
    assert list(map(repr, found.collect())) == list(map(repr, due.collect()))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("explode(l)", "EXPLODE gives rows, and MEASURES takes one value"),
        ("stack(2, v, v)", "STACK gives rows, and MEASURES takes one value"),
        ("mean(LAST(v))", "LAST inside of MEAN"),
        ("sum(std(v))", "STD inside of SUM"),
        ("FINAL lower(s)", "FINAL stands before FIRST, LAST or an aggregate"),
    ],
)
def test_what_has_no_meaning_is_told(spark: SparkSession, measure: str, message: str) -> None:
    frame = spark.createDataFrame([(1, 2, "a", [1])], "t INT, v INT, s STRING, l ARRAY<INT>")
    with pytest.raises(motif.MotifError) as caught:
        motif.match(frame, f"MATCH_RECOGNIZE (ORDER BY t MEASURES {measure} AS x PATTERN (A))")
    assert caught.value.message == message
    assert caught.value.line
    assert caught.value.hint


def test_a_function_of_the_user_inside_of_ours(spark: SparkSession) -> None:
    spark.udf.register("twice", lambda value: value * 2, "int")
    frame = spark.createDataFrame([(1, 2), (2, 3)], "t INT, v INT")
    items = "SUM(twice(v)) AS s, LAST(twice(v)) AS l, mean(twice(v)) AS m"
    clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES {items} PATTERN (A+))"
    assert [tuple(row) for row in motif.match(frame, clause).collect()] == [(10, 6, 5.0)]
