"""A loop over the trades of each symbol."""

import pandas as pd
from queries.peers.tick_shape import in_frame


def answer(trades: pd.DataFrame) -> pd.DataFrame:
    groups = trades.groupby("symbol")[["symbol", "ts", "price"]]
    return groups.apply(in_frame, next_row=True)
