"""Joins by account, then the whole window."""

import polars as pl

WINDOW = pl.duration(seconds=40)


def answer(busy: pl.LazyFrame) -> pl.LazyFrame:
    a, b, c = (of_class(busy, name) for name in "ABC")
    a_ts, b_ts, c_ts = pl.col("ts_a"), pl.col("ts_b"), pl.col("ts_c")
    same, since, until = pl.col("account") == pl.col("account_right"), pl.col("since"), pl.col("until")
    a = a.with_columns(since=a_ts - WINDOW, until=a_ts + WINDOW)
    pairs = a.join_where(b, same, b_ts >= since, b_ts <= until).drop("account_right")
    found = pairs.join_where(c, same, c_ts >= since, c_ts <= until)
    return found.filter(pl.max_horizontal(a_ts, b_ts, c_ts) <= pl.min_horizontal(a_ts, b_ts, c_ts) + WINDOW)


def of_class(busy: pl.LazyFrame, name: str) -> pl.LazyFrame:
    rows = busy.filter(pl.col("type") == name)
    return rows.select("account", pl.col("ts").alias(f"ts_{name.lower()}"), pl.col("amount").alias(name.lower()))
