"""Conditions over values of different rows, which only Spark can decide: asked about in rounds, before the last search.

Workers search by what is known and give back what they would ask. Spark computes the conditions for these values, and
the next search knows more. Each round is a job over all rows; between rounds the driver holds the values that were
asked about, as many as `host_questions` allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from motif import limits
from motif.engine.alike import distinct
from motif.engine.told import FAILED, MOST_QUESTIONS, NULL, TRUTH, Told
from motif.errors import LimitExceeded, QueryDataError
from motif.hosts.spark.questions import NUMBER, column
from motif.hosts.spark.safety import selected
from motif.hosts.spark.settings import quiet
from motif.hosts.spark.types import message_and_hint
from motif.ir.expr import Expr
from motif.ir.render import render_row_sql
from motif.ir.types import Kind
from motif.plan.scalar import LabelAt, Read, Scalar
from motif.plan.source import extent

ASK = "motif_ask"
"""What Spark shows as the name of the step that finds out what is to be asked."""
FIRST_HOPES, HOPES = 4, 4
"""How often a condition may be taken to hold in the second round, and how many times as often in each after it.

A round is a job, and what is asked in vain costs little beside it.
"""
_PLACE = "place"
_KINDS: dict[Kind, t.DataType] = {
    Kind.INTEGER: t.LongType(),
    Kind.FLOAT: t.DoubleType(),
    Kind.BOOLEAN: t.BooleanType(),
    Kind.STRING: t.StringType(),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition over columns a0, a1, ... of some types."""

    expr: Expr
    kinds: tuple[t.DataType, ...]
    text: str
    """Of the query."""

    def truth(self) -> str:
        """In Spark's dialect; names of columns are ours."""
        return f"CAST({render_row_sql(self.expr, lambda name: name, 'spark')} AS BOOLEAN)"

    def struct(self) -> t.StructType:
        """What is put to Spark."""
        fields = [t.StructField(f"a{number}", kind, True) for number, kind in enumerate(self.kinds)]
        return t.StructType([*fields, t.StructField(_PLACE, t.LongType(), True)])


class Questions:
    """The columns in which workers hand back questions: the number of the condition, and values for each of them."""

    def __init__(self, conditions: Sequence[Condition], zone: str) -> None:
        fields = [
            t.StructField(column(number, place), kind, True)
            for number, condition in enumerate(conditions)
            for place, kind in enumerate(condition.kinds)
        ]
        self.struct = t.StructType([t.StructField(NUMBER, t.IntegerType(), False), *fields])
        self.arrow = to_arrow_schema(self.struct, timezone=zone)
        self.widths = [len(condition.kinds) for condition in conditions]

    def nothing(self, number: int) -> pa.Table:
        """Values of a condition, and what is known of them: none yet."""
        kinds = [self.arrow.field(column(number, place)).type for place in range(self.widths[number])]
        names = [f"a{place}" for place, _ in enumerate(kinds)]
        return pa.schema([*zip(names, kinds, strict=True), (TRUTH, pa.int8())]).empty_table()

    def values(self, asked: pa.Table, number: int) -> list[pa.Array]:
        """Those that a condition is asked about."""
        chosen = asked.filter(pc.equal(asked.column(NUMBER), number))
        fields = [self.arrow.field(column(number, place)) for place in range(self.widths[number])]
        return [chosen.column(field.name).combine_chunks().cast(field.type) for field in fields]


Search: TypeAlias = "Callable[[Sequence[Told], Questions], DataFrame]"


def told_later(*_: object) -> list[object]:
    """Stands for answers where a query is only looked at."""
    raise AssertionError("Spark is asked before the search")


def argument_type(arg: Scalar, columns: Sequence[t.DataType]) -> t.DataType:
    """Of what a condition is given; `columns`: those that cross."""
    match arg:
        case Read(column=column):
            return columns[column]
        case LabelAt():
            return t.StringType()
        case _ if arg.type.kind is Kind.DECIMAL:
            return t.DecimalType(38, arg.type.scale)
        case _:
            return _KINDS[arg.type.kind]


def settled(
    session: SparkSession, conditions: Sequence[Condition], search: Search, *, most_rounds: int | None = None
) -> list[Told]:
    """All that Spark has to say in a search; runs a job for each round.

    `most_rounds`: after so many all is asked, and nothing in vain; else when a round asks nothing new.
    """
    schema = Questions(conditions, str(session.conf.get("spark.sql.session.timeZone")))
    known = [Told(schema.nothing(number), None) for number, _ in enumerate(conditions)]
    hopes = rounds = 0
    while True:
        asked = search([Told(told.known, hopes) for told in known], schema).limit(MOST_QUESTIONS).toArrow()
        for number, (condition, told) in enumerate(zip(conditions, known, strict=True)):
            values = schema.values(asked, number)
            known[number] = _with_answers(session, condition, told, values, may_fail=most_rounds is None)
        hopes, rounds = max(FIRST_HOPES, HOPES * hopes), rounds + 1
        if not asked.num_rows or (rounds == most_rounds and asked.num_rows < MOST_QUESTIONS):
            return known
        if rounds == limits.LIMITS.host_rounds:
            raise LimitExceeded(
                f"Spark was asked about conditions in {rounds:,} rounds, and there is no end (limit host_rounds)",
                source=conditions[0].text,
                span=extent(conditions[0].expr),
                hint="a table that gives other rows each time it is read has to be written to a file first",
            )


def _with_answers(
    session: SparkSession, condition: Condition, told: Told, values: list[pa.Array], *, may_fail: bool
) -> Told:
    """More is known: what Spark says of some values. `may_fail`: the condition may, where it is asked in vain."""
    first = distinct(values)
    values = [value.take(first) for value in values]
    said = told.said(values)
    if FAILED in said:  # it is asked again where that is what a search ends with
        raise _failure(session, condition, [value.slice(said.index(FAILED), 1) for value in values])
    is_new = pa.array([answer is None for answer in said], pa.bool_())
    values = [value.filter(is_new) for value in values]
    if told.known.num_rows + len(values[0]) > limits.LIMITS.host_questions:
        raise LimitExceeded(
            f"Spark would be asked about more than {limits.LIMITS.host_questions:,} combinations of values"
            " (limit host_questions)",
            source=condition.text,
            span=extent(condition.expr),
            hint="add a condition of comparisons beside it, which is tested first, or WITHIN",
        )
    truth = _computed(session, condition, values)
    if FAILED in truth and not may_fail:
        raise _failure(session, condition, [value.slice(truth.index(FAILED), 1) for value in values])
    more = pa.Table.from_arrays([*values, pa.array(truth, pa.int8())], schema=told.known.schema)
    return Told(pa.concat_tables([told.known, more]).combine_chunks(), None)


def _computed(session: SparkSession, condition: Condition, values: Sequence[pa.Array]) -> list[int]:
    """What Spark makes of a condition, where it does not fail; what makes it fail is found by halves."""
    count = len(values[0])
    if not count:
        return []
    # Of a date and days this makes NULL whatever fails, which nothing else in Spark does for any expression.
    days = f"coalesce(CAST({condition.truth()} AS INT), {NULL})"
    try:
        found = _asked(session, condition, values, f"unix_date(try_add(DATE '1970-01-01', {days}))")
    except PySparkException:  # a function of the user in Python fails all the same
        if count == 1:
            return [FAILED]
        middle = count // 2
        halves = ([v.slice(0, middle) for v in values], [v.slice(middle) for v in values])
        return [truth for half in halves for truth in _computed(session, condition, half)]
    return [FAILED if truth is None else truth for truth in found]


def _failure(session: SparkSession, condition: Condition, values: Sequence[pa.Array]) -> QueryDataError:
    """What Spark has to say of values on which a condition fails."""
    try:
        _asked(session, condition, values, condition.truth())
    except PySparkException as error:
        message, hint = message_and_hint(str(error))
    else:
        message, hint = (
            "Spark fails on this condition",
            "it fails only now and then: it depends on more than its values",
        )
    return QueryDataError(message, source=condition.text, span=extent(condition.expr), hint=hint)


def _asked(session: SparkSession, condition: Condition, values: Sequence[pa.Array], sql: str) -> list[int | None]:
    """What Spark computes for each of some values."""
    struct = condition.struct()
    places = pa.array(range(len(values[0])), pa.int64())
    rows = pa.Table.from_arrays([*values, places], names=struct.fieldNames())
    with quiet():
        found = selected(session.createDataFrame(rows, struct), [f"{sql} AS {TRUTH}", _PLACE]).toArrow()
    return list(found.sort_by(_PLACE).column(TRUTH).to_pylist())
