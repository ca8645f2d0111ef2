"""A running number of pauses, then an aggregate."""

import pandas as pd


def answer(visits: pd.DataFrame) -> pd.DataFrame:
    visits = visits.sort_values(["visitor", "ts"])
    pause = visits.groupby("visitor", sort=False)["ts"].diff()
    session = (~(pause <= pd.Timedelta(minutes=30))).cumsum()
    groups = visits.groupby(["visitor", session.rename("session")], sort=False)
    return groups["ts"].agg(["min", "max", "count"])
