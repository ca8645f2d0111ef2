"""A Python function for each group."""

import pandas as pd
from pyspark.sql import DataFrame
from queries.peers.logins.loop import breaches

SCHEMA = "user long, match_start timestamp, match_end timestamp"


def answer(logins: DataFrame) -> DataFrame:
    return logins.select("user", "ts", "ok").groupBy("user").applyInPandas(matches, SCHEMA)


def matches(group: pd.DataFrame) -> pd.DataFrame:
    group = group.sort_values("ts")
    moments = group["ts"].to_numpy()
    found = breaches(moments.astype("datetime64[us]").astype("int64").tolist(), group["ok"].tolist())
    starts, ends = ([match[part] for match in found] for part in range(2))
    keys = group[["user"]].iloc[starts].reset_index(drop=True)
    return keys.assign(match_start=moments[starts], match_end=moments[ends])
