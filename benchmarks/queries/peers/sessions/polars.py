"""A running number of pauses, then an aggregate."""

import polars as pl


def answer(visits: pl.LazyFrame) -> pl.LazyFrame:
    ts = pl.col("ts")
    is_first = (ts - ts.shift(1) <= pl.duration(minutes=30)).fill_null(value=False).not_()
    numbered = visits.sort("visitor", "ts").with_columns(session=is_first.cum_sum().over("visitor"))
    return numbered.group_by("visitor", "session").agg(began=ts.min(), ended=ts.max(), pages=pl.len())
