"""What Spark says of a text that is wrong, in our words and at its place."""

from __future__ import annotations

from typing import Any

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from motif.errors import MotifError, QueryBindError, QuerySyntaxError, Span, did_you_mean
from motif.hosts.spark.safety import tables_beside
from motif.hosts.spark.says import in_our_words
from motif.lang.misspelt import slip_in_sql
from motif.lang.statement import Statement


def mistake(error: PySparkException, session: SparkSession, statement: Statement, span: Span | None) -> MotifError:
    """What Spark says of a statement, in our words and at its place."""
    message, hint = in_our_words(error)
    if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
        name = (error.getMessageParameters() or {}).get("relationName", "").strip("`")
        hint = did_you_mean(name, tables_beside(name, session))
    place = _place(error, statement, span)
    if not isinstance(error, ParseException):
        return QueryBindError(message, source=statement.text, span=place, hint=hint)
    if slip := place and slip_in_sql(statement.text, place.start, "spark"):
        place, hint = slip
    return QuerySyntaxError(message, source=statement.text, span=place, hint=hint)


def _place(error: PySparkException, statement: Statement, span: Span | None) -> Span | None:
    """Where in the user's text Spark sees the mistake."""
    if span is not None:
        return span
    contexts: list[Any] = list(error.getQueryContext() or [])
    if not contexts:
        return None
    fragment = contexts[0].fragment()
    start = statement.text.find(fragment)
    return Span(start, start + len(fragment)) if start >= 0 else None
