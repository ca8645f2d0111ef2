"""A loop over all rows."""

import pandas as pd
from queries.peers.navigation.loop import rises


def answer(flags: pd.DataFrame) -> pd.DataFrame:
    flags = flags.sort_values("i")
    number = flags["i"].to_numpy()
    return pd.DataFrame([(number[first], number[last]) for first, last in rises(flags["v"].tolist())])
