"""A loop over the trades of each symbol."""

import polars as pl
from queries.peers.tick_shape import tick_shapes

SCHEMA = {"symbol": pl.String, "start_ts": pl.Datetime, "end_ts": pl.Datetime, "bottom_price": pl.Float64}


def answer(trades: pl.LazyFrame) -> pl.LazyFrame:
    return trades.select("symbol", "ts", "price").group_by("symbol").map_groups(matches, schema=SCHEMA)


def matches(group: pl.DataFrame) -> pl.DataFrame:
    group = group.sort("ts")
    found = tick_shapes(group["price"].to_list(), next_row=True)
    starts, bottoms, ends = ([match[part] for match in found] for part in range(3))
    return pl.DataFrame(
        [group["symbol"][starts], group["ts"][starts], group["ts"][ends], group["price"][bottoms]], schema=SCHEMA
    )
