"""A Python function for each group."""

import pandas as pd
from pyspark.sql import DataFrame
from queries.peers.fraud.loop import frauds

SCHEMA = "accountID long, receiver long, match_start timestamp, match_end timestamp"


def answer(transfers: DataFrame) -> DataFrame:
    return (
        transfers.select("accountID", "receiver", "ts", "amount")
        .groupBy("accountID", "receiver")
        .applyInPandas(matches, SCHEMA)
    )


def matches(group: pd.DataFrame) -> pd.DataFrame:
    group = group.sort_values("ts")
    moments = group["ts"].to_numpy()
    found = frauds(moments.astype("datetime64[us]").astype("int64").tolist(), group["amount"].tolist())
    starts, ends = ([match[part] for match in found] for part in range(2))
    keys = group[["accountID", "receiver"]].iloc[starts].reset_index(drop=True)
    return keys.assign(match_start=moments[starts], match_end=moments[ends])
