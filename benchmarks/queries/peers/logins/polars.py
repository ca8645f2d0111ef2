"""A loop over each group."""

import polars as pl
from queries.peers.logins.loop import breaches

SCHEMA = {"user": pl.Int64, "match_start": pl.Datetime, "match_end": pl.Datetime}


def answer(logins: pl.LazyFrame) -> pl.LazyFrame:
    return logins.select("user", "ts", "ok").group_by("user").map_groups(matches, schema=SCHEMA)


def matches(group: pl.DataFrame) -> pl.DataFrame:
    group = group.sort("ts")
    found = breaches(group["ts"].cast(pl.Int64).to_list(), group["ok"].to_list())
    starts, ends = ([match[part] for match in found] for part in range(2))
    keys = group[starts].select("user")
    return keys.with_columns(match_start=group["ts"][starts], match_end=group["ts"][ends])
