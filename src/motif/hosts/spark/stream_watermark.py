"""The watermark of a streaming DataFrame: its own, or by `lateness`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from motif.errors import MotifError
from motif.hosts.spark.batch import quoted
from motif.hosts.spark.events import microseconds
from motif.options import LiveOptions

_DELAY = "spark.watermarkDelayMs"
"""Where Spark notes in a column's metadata that it has a watermark."""
_MARK = "__motif_mark"


def watched(frame: DataFrame, time: str, live: LiveOptions, name: str = "the stream") -> DataFrame:
    """The stream with a watermark on its time; the columns stay the same."""
    known = {field.name.casefold(): field for field in frame.schema.fields}
    field = known.get(time.casefold())
    if field is None or not isinstance(field.dataType, t.TimestampType | t.TimestampNTZType | t.DateType):
        return frame  # planning says what is wrong with it
    marked = [other.name for other in frame.schema.fields if _DELAY in other.metadata]
    if live.lateness is not None:
        _refuse_both(name, marked)
        return _with_watermark(frame, field, live)
    if not marked:
        raise MotifError(
            f"{name}: a streaming DataFrame needs a watermark, or nothing can ever be decided",
            hint=f'say how late events may be: lateness="10 seconds", or .withWatermark("{field.name}", "10 seconds")',
        )
    if field.name not in marked:
        raise MotifError(
            f"the watermark of {name} is on {marked[0]}, but its events are ordered by {field.name}",
            hint=f'call .withWatermark("{field.name}", ...) instead, or order by {marked[0]}',
        )
    return frame


def watched_inputs(data: Any, time: str, live: LiveOptions) -> Any:
    """The stream, or all of several."""
    if not isinstance(data, Mapping):
        return watched(data, time, live)
    for name, frame in data.items():
        if not getattr(frame, "isStreaming", False):
            raise MotifError(
                f"{name} is a table, and other inputs are streams",
                hint="read it with spark.readStream, or give what came before the streams as archive=",
            )
    return {name: watched(frame, time, live, name) for name, frame in data.items()}


def _refuse_both(name: str, marked: list[str]) -> None:
    if marked:
        raise MotifError(
            f"{name} has a watermark already, on {marked[0]}, and lateness= would give it another one",
            hint="leave out lateness=, or withWatermark(...)",
        )


def _with_watermark(frame: DataFrame, field: t.StructField, live: LiveOptions) -> DataFrame:
    """An event at the watermark is late, so one that is late by all that is allowed needs a bit more.

    Spark watches timestamps with a zone only; another time is shown to it as one, for a moment.
    """
    delay = f"{-(-live.microseconds // 1000) + 1} milliseconds"
    if isinstance(field.dataType, t.TimestampType):
        return frame.withWatermark(quoted(field.name), delay)
    moment = f"timestamp_micros({microseconds(quoted(field.name), field.dataType)})"
    return frame.selectExpr("*", f"{moment} AS {_MARK}").withWatermark(_MARK, delay).drop(_MARK)
