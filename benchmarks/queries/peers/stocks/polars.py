"""Joins on conditions, one stock after the other."""

import polars as pl


def answer(ticks: pl.LazyFrame) -> pl.LazyFrame:
    found = of_stock(ticks, 0).with_columns(until=pl.col("ts_0") + pl.duration(minutes=10))
    for number in range(1, 6):
        before, now = (pl.col(f"ts_{step}") for step in (number - 1, number))
        rises = pl.col(f"change_{number - 1}") < pl.col(f"change_{number}")
        found = found.join_where(of_stock(ticks, number), before < now, rises, now <= pl.col("until"))
    return found


def of_stock(ticks: pl.LazyFrame, number: int) -> pl.LazyFrame:
    rows = ticks.filter(pl.col("symbol") == f"S{number:04d}")
    return rows.select(pl.col("ts", "change", "price").name.suffix(f"_{number}"))
