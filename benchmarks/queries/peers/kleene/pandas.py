"""Running numbers of Bs on each A and C: what lies between them is a difference."""

import pandas as pd


def answer(busy: pd.DataFrame) -> pd.DataFrame:
    is_b = (busy["type"] == "B") & (busy["amount"] > 1000)
    busy = busy.assign(many=is_b.astype("int64"), total=busy["amount"].where(is_b, 0)).sort_values(["account", "ts"])
    busy[["many", "total"]] = busy.groupby("account", sort=False)[["many", "total"]].cumsum()
    pairs = busy[busy["type"] == "A"].merge(busy[busy["type"] == "C"], on="account", suffixes=("", "_c"))
    in_window = (pairs["ts_c"] > pairs["ts"]) & (pairs["ts_c"] <= pairs["ts"] + pd.Timedelta(seconds=105))
    pairs = pairs[in_window & (pairs["amount_c"] > pairs["amount"]) & (pairs["many_c"] > pairs["many"])]
    return pairs.assign(many=pairs["many_c"] - pairs["many"], total=pairs["total_c"] - pairs["total"])
