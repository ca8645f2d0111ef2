"""A loop over each group."""

import pandas as pd
from queries.peers.fraud.loop import frauds


def answer(transfers: pd.DataFrame) -> pd.DataFrame:
    return transfers.groupby(["accountID", "receiver"])[["ts", "amount"]].apply(matches)


def matches(group: pd.DataFrame) -> pd.DataFrame:
    group = group.sort_values("ts")
    moments = group["ts"].to_numpy()
    found = frauds(moments.astype("datetime64[us]").astype("int64").tolist(), group["amount"].tolist())
    starts, ends = ([match[part] for match in found] for part in range(2))
    return pd.DataFrame({"match_start": moments[starts], "match_end": moments[ends]})
