"""Islands of low and high rows; from the first low one on, three make a match and the fourth is left out."""

import polars as pl


def answer(flags: pl.LazyFrame) -> pl.LazyFrame:
    high, island = pl.col("v") >= 12, pl.col("island")
    changes = high != high.shift(1, fill_value=True)
    rows = flags.sort("i").with_columns(
        island=changes.cum_sum().cast(pl.Int64) - 1, label=pl.when(high).then(pl.lit("B")).otherwise(pl.lit("A"))
    )
    found = (island >= 0) & (island % 4 < 3) & (island - island % 4 + 2 <= island.max())
    return rows.filter(found).with_columns(matchno=island // 4 + 1)
