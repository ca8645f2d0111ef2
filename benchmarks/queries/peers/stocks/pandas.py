"""Every row with every row, one stock after the other, then filter."""

import pandas as pd


def answer(ticks: pd.DataFrame) -> pd.DataFrame:
    found = of_stock(ticks, 0)
    for number in range(1, 6):
        found = found.merge(of_stock(ticks, number), how="cross")
        in_order = found[f"ts_{number - 1}"] < found[f"ts_{number}"]
        rises = found[f"change_{number - 1}"] < found[f"change_{number}"]
        found = found[in_order & rises & (found[f"ts_{number}"] <= found["ts_0"] + pd.Timedelta(minutes=10))]
    return found


def of_stock(ticks: pd.DataFrame, number: int) -> pd.DataFrame:
    return ticks.loc[ticks["symbol"] == f"S{number:04d}", ["ts", "change", "price"]].add_suffix(f"_{number}")
