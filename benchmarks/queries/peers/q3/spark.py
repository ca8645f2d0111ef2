"""A Python function for all trades: one task."""

import pandas as pd
from pyspark.sql import DataFrame
from queries.peers.tick_shape import SCHEMA, in_frame


def answer(trades: DataFrame) -> DataFrame:
    groups = trades.select("symbol", "ts", "price").groupBy()
    return groups.applyInPandas(matches, SCHEMA)


def matches(group: pd.DataFrame) -> pd.DataFrame:
    return in_frame(group, next_row=True)
