"""Running numbers of Bs on each A and C: what lies between them is a difference."""

import polars as pl


def answer(busy: pl.LazyFrame) -> pl.LazyFrame:
    is_b = (pl.col("type") == "B") & (pl.col("amount") > 1000)
    rows = busy.sort("account", "ts").with_columns(
        many=is_b.cast(pl.Int64).cum_sum().over("account"),
        until=pl.col("ts") + pl.duration(seconds=105),
        total=pl.when(is_b).then("amount").otherwise(0).cum_sum().over("account"),
    )
    a, c = rows.filter(pl.col("type") == "A"), rows.filter(pl.col("type") == "C")
    pairs = a.join_where(
        c,
        pl.col("account") == pl.col("account_right"),
        pl.col("ts_right") > pl.col("ts"),
        pl.col("ts_right") <= pl.col("until"),
        pl.col("amount_right") > pl.col("amount"),
        pl.col("many_right") > pl.col("many"),
    )
    between = (pl.col(f"{name}_right") - pl.col(name) for name in ("many", "total"))
    return pairs.select("account", "ts", "ts_right", *between)
