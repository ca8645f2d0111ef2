"""Merge by account, then filter."""

import pandas as pd

WINDOW = pd.Timedelta(seconds=10500)


def answer(rare: pd.DataFrame) -> pd.DataFrame:
    a, b, c = (of_class(rare, name) for name in "ABC")
    pairs = a.merge(b, on="account")
    pairs = pairs[(pairs["ts_b"] > pairs["ts_a"]) & (pairs["ts_b"] <= pairs["ts_a"] + WINDOW)]
    found = pairs.merge(c, on="account")
    in_order = (found["ts_c"] > found["ts_b"]) & (found["ts_c"] <= found["ts_a"] + WINDOW)
    return found[in_order & (found["c"] > found["a"])]


def of_class(rare: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = rare.loc[rare["type"] == name, ["account", "ts", "amount"]]
    return rows.rename(columns={"ts": f"ts_{name.lower()}", "amount": name.lower()})
