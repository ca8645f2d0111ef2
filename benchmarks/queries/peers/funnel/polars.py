"""Fill backwards: the next purchase on each cart, then the next cart on each view."""

import polars as pl


def answer(visits: pl.LazyFrame) -> pl.LazyFrame:
    page, ts, key = pl.col("page"), pl.col("ts"), "visitor"
    rows = visits.sort(key, "ts").with_columns(bought=pl.when(page == "purchase").then(ts).backward_fill().over(key))
    carts = rows.with_columns(
        carted=pl.when(page == "cart").then(ts).backward_fill().over(key),
        bought=pl.when(page == "cart").then("bought").backward_fill().over(key),
    )
    in_time = pl.col("bought") <= ts + pl.duration(minutes=30)
    return carts.filter((page == "view") & in_time).select(key, "carted", "bought", viewed="ts")
