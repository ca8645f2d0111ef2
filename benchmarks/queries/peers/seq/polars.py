"""Joins by account, and conditions between the two sides."""

import polars as pl


def answer(busy: pl.LazyFrame) -> pl.LazyFrame:
    a, b, c = (of_class(busy, name) for name in "ABC")
    a = a.with_columns(until=pl.col("ts_a") + pl.duration(seconds=105))
    same = pl.col("account") == pl.col("account_right")
    a_ts, b_ts, c_ts, until = (pl.col(name) for name in ("ts_a", "ts_b", "ts_c", "until"))
    pairs = a.join_where(b, same, b_ts > a_ts, b_ts <= until).drop("account_right")
    return pairs.join_where(c, same, c_ts > b_ts, c_ts <= until, pl.col("c") > pl.col("a"))


def of_class(busy: pl.LazyFrame, name: str) -> pl.LazyFrame:
    rows = busy.filter(pl.col("type") == name)
    return rows.select("account", pl.col("ts").alias(f"ts_{name.lower()}"), pl.col("amount").alias(name.lower()))
