"""An operator with state that does nothing but count: the price of state on Spark. Spark's workers import it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

COUNTED = "rows long"


class Counts(StatefulProcessor):
    """Counts the rows of its key: one number of state, one row out per call."""

    def init(self, handle: Any) -> None:
        self.total = handle.getValueState("total", COUNTED)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803, ARG002
        import pandas as pd

        new = sum(len(frame) for frame in rows)
        before = self.total.get()
        self.total.update((new + (before[0] if before else 0),))
        yield pd.DataFrame({"rows": [new]})


def stateful(rows: DataFrame, key: str) -> DataFrame:
    """The rows grouped by an expression, through the operator."""
    grouped = rows.selectExpr("*", f"{key} AS own_key").groupBy("own_key")
    return grouped.transformWithStateInPandas(Counts(), COUNTED, "append", "EventTime")
