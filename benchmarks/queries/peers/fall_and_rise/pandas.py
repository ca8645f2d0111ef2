"""Shifts over each symbol."""

import pandas as pd


def answer(trades: pd.DataFrame) -> pd.DataFrame:
    trades = trades.sort_values(["symbol", "ts"])
    groups = trades.groupby("symbol", sort=False)
    before, second, moment = groups["price"].shift(1), groups["price"].shift(2), groups["ts"].shift(1)
    begins = (trades["price"] < before) & (second.isna() | (before >= second))
    start = moment.where(begins).groupby(trades["symbol"], sort=False).ffill()
    turns = (trades["price"] > before) & (before < second)
    found = {"symbol": trades["symbol"], "start_ts": start, "end_ts": trades["ts"], "bottom_price": before}
    return pd.DataFrame(found)[turns]
