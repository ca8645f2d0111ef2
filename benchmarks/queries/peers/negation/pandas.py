"""No B lies between two events that have seen the same number of them."""

import pandas as pd


def answer(busy: pd.DataFrame) -> pd.DataFrame:
    busy = busy.sort_values(["account", "ts"])
    busy["seen"] = (busy["type"] == "B").groupby(busy["account"], sort=False).cumsum()
    a, c = busy[busy["type"] == "A"], busy[busy["type"] == "C"]
    pairs = a.merge(c, on=["account", "seen"], suffixes=("", "_c"))
    in_window = (pairs["ts_c"] > pairs["ts"]) & (pairs["ts_c"] <= pairs["ts"] + pd.Timedelta(seconds=105))
    return pairs[in_window & (pairs["amount_c"] > pairs["amount"])]
