"""Fill backwards: the next purchase on each cart, then the next cart on each view."""

import pandas as pd


def answer(visits: pd.DataFrame) -> pd.DataFrame:
    visits = visits.sort_values(["visitor", "ts"])
    page, ts, key = visits["page"], visits["ts"], visits["visitor"]
    bought = ts.where(page == "purchase").groupby(key).bfill()
    carted = ts.where(page == "cart").groupby(key).bfill()
    bought = bought.where(page == "cart").groupby(key).bfill()
    found = (page == "view") & (bought <= ts + pd.Timedelta(minutes=30))
    return pd.DataFrame({"visitor": key, "viewed": ts, "carted": carted, "bought": bought})[found]
