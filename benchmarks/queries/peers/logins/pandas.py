"""A loop over each group."""

import pandas as pd
from queries.peers.logins.loop import breaches


def answer(logins: pd.DataFrame) -> pd.DataFrame:
    return logins.groupby(["user"])[["ts", "ok"]].apply(matches)


def matches(group: pd.DataFrame) -> pd.DataFrame:
    group = group.sort_values("ts")
    moments = group["ts"].to_numpy()
    found = breaches(moments.astype("datetime64[us]").astype("int64").tolist(), group["ok"].tolist())
    starts, ends = ([match[part] for match in found] for part in range(2))
    return pd.DataFrame({"match_start": moments[starts], "match_end": moments[ends]})
