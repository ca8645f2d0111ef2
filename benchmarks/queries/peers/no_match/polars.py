"""A row and the next two."""

import polars as pl


def answer(flags: pl.LazyFrame) -> pl.LazyFrame:
    v, i = pl.col("v"), pl.col("i")
    found = (v == 3) & (v.shift(-1).over("k") == 4) & (v.shift(-2).over("k") == 6)
    rows = flags.sort("k", "i").with_columns(last_i=i.shift(-2).over("k"), found=found)
    return rows.filter("found").select("last_i", first_i="i")
