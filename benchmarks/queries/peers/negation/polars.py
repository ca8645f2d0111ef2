"""No B lies between two events that have seen the same number of them."""

import polars as pl


def answer(busy: pl.LazyFrame) -> pl.LazyFrame:
    seen = (pl.col("type") == "B").cast(pl.Int64).cum_sum().over("account")
    rows = busy.sort("account", "ts").with_columns(seen=seen)
    a, c = rows.filter(pl.col("type") == "A"), rows.filter(pl.col("type") == "C")
    pairs = a.join(c, on=["account", "seen"])
    in_window = pl.col("ts_right").is_between("ts", pl.col("ts") + pl.duration(seconds=105))
    return pairs.filter(in_window & (pl.col("amount_right") > pl.col("amount")))
