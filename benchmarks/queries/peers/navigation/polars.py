"""A loop over all rows."""

import polars as pl
from queries.peers.navigation.loop import rises

SCHEMA = {"first_i": pl.Int64, "last_i": pl.Int64}


def answer(flags: pl.LazyFrame) -> pl.LazyFrame:
    return flags.sort("i").map_batches(matches, schema=SCHEMA)


def matches(flags: pl.DataFrame) -> pl.DataFrame:
    found = rises(flags["v"].to_list())
    starts, ends = ([match[part] for match in found] for part in range(2))
    return pl.DataFrame([flags["i"][starts], flags["i"][ends]], schema=SCHEMA)
