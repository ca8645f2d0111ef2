"""A Python function for all rows: one task."""

import pandas as pd
from pyspark.sql import DataFrame
from queries.peers.navigation.loop import rises


def answer(flags: DataFrame) -> DataFrame:
    return flags.groupBy().applyInPandas(matches, "first_i long, last_i long")


def matches(flags: pd.DataFrame) -> pd.DataFrame:
    flags = flags.sort_values("i")
    number = flags["i"].to_numpy()
    found = [(number[first], number[last]) for first, last in rises(flags["v"].tolist())]
    return pd.DataFrame(found, columns=["first_i", "last_i"])
