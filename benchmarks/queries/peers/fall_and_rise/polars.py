"""Shifts over each symbol."""

import polars as pl


def answer(trades: pl.LazyFrame) -> pl.LazyFrame:
    price, key = pl.col("price"), "symbol"
    before = trades.sort(key, "ts").with_columns(
        price_1=price.shift(1).over(key), price_2=price.shift(2).over(key), ts_1=pl.col("ts").shift(1).over(key)
    )
    begins = (price < pl.col("price_1")) & (pl.col("price_2").is_null() | (pl.col("price_1") >= pl.col("price_2")))
    falls = before.with_columns(start_ts=pl.when(begins).then("ts_1").forward_fill().over(key))
    turns = falls.filter((price > pl.col("price_1")) & (pl.col("price_1") < pl.col("price_2")))
    return turns.select(key, "start_ts", end_ts="ts", bottom_price="price_1")
