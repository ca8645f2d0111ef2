"""A row and the next."""

import polars as pl


def answer(flags: pl.LazyFrame) -> pl.LazyFrame:
    v, next_v = pl.col("v"), pl.col("v").shift(-1).over("k")
    rows = flags.sort("k", "i").with_columns(last_i=pl.col("i").shift(-1).over("k"), found=(v == 0) & (next_v == 1))
    return rows.filter("found").select("last_i", first_i="i")
