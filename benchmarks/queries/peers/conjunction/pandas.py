"""Merge by account, then filter."""

import pandas as pd

WINDOW = pd.Timedelta(seconds=40)
MOMENTS = ["ts_a", "ts_b", "ts_c"]


def answer(busy: pd.DataFrame) -> pd.DataFrame:
    a, b, c = (of_class(busy, name) for name in "ABC")
    pairs = a.merge(b, on="account")
    found = pairs[(pairs["ts_b"] - pairs["ts_a"]).abs() <= WINDOW].merge(c, on="account")
    return found[found[MOMENTS].max(axis=1) <= found[MOMENTS].min(axis=1) + WINDOW]


def of_class(busy: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = busy.loc[busy["type"] == name, ["account", "ts", "amount"]]
    return rows.rename(columns={"ts": f"ts_{name.lower()}", "amount": name.lower()})
