"""A running maximum of ends, a running number of gaps, then an aggregate."""

import pandas as pd


def answer(ranges: pd.DataFrame) -> pd.DataFrame:
    ranges = ranges.sort_values(["owner", "begins"])
    reached = ranges.groupby("owner", sort=False)["ends"].cummax().groupby(ranges["owner"], sort=False).shift(1)
    island = (~(ranges["begins"] <= reached)).cumsum()
    groups = ranges.groupby(["owner", island.rename("island")], sort=False)
    return groups.agg(began=("begins", "min"), ended=("ends", "max"), bookings=("ends", "size"))
