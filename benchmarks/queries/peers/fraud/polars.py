"""A loop over each group."""

import polars as pl
from queries.peers.fraud.loop import frauds

SCHEMA = {"accountID": pl.Int64, "receiver": pl.Int64, "match_start": pl.Datetime, "match_end": pl.Datetime}


def answer(transfers: pl.LazyFrame) -> pl.LazyFrame:
    return (
        transfers.select("accountID", "receiver", "ts", "amount")
        .group_by("accountID", "receiver")
        .map_groups(matches, schema=SCHEMA)
    )


def matches(group: pl.DataFrame) -> pl.DataFrame:
    group = group.sort("ts")
    found = frauds(group["ts"].cast(pl.Int64).to_list(), group["amount"].to_list())
    starts, ends = ([match[part] for match in found] for part in range(2))
    keys = group[starts].select("accountID", "receiver")
    return keys.with_columns(match_start=group["ts"][starts], match_end=group["ts"][ends])
