"""A fall, a slow rise and a rise above where it began, A B+ C* D+ of paper 004, as a loop by hand.

No row can be both of two neighbouring variables, so nothing is ever taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "symbol string, start_ts timestamp, end_ts timestamp, bottom_price double, length long"


def tick_shapes(prices: list[float], *, next_row: bool) -> list[tuple[int, int, int]]:
    """First row, lowest row and last row of each match; the next begins after it, or one row after its first."""
    found = []
    start, rows = 0, len(prices)
    while start < rows:
        top, row = prices[start], start + 1
        while row < rows and prices[row] < top and prices[row] <= prices[row - 1]:
            row += 1
        bottom = row - 1
        while start < bottom and row < rows and prices[bottom] < prices[row] <= top and prices[row] >= prices[row - 1]:
            row += 1
        risen = row
        while start < bottom and row < rows and prices[row] > top and prices[row] > prices[row - 1]:
            row += 1
        if row > risen:
            found.append((start, bottom, row - 1))
        start = row if row > risen and not next_row else start + 1
    return found


def in_frame(group: pd.DataFrame, *, next_row: bool) -> pd.DataFrame:
    """The matches of rows that belong together."""
    import pandas as pd

    group = group.sort_values("ts")
    found = tick_shapes(group["price"].tolist(), next_row=next_row)
    starts, bottoms, ends = ([match[part] for match in found] for part in range(3))
    return pd.DataFrame(
        {
            "symbol": group["symbol"].to_numpy()[starts],
            "start_ts": group["ts"].to_numpy()[starts],
            "end_ts": group["ts"].to_numpy()[ends],
            "bottom_price": group["price"].to_numpy()[bottoms],
            "length": [end - start + 1 for start, end in zip(starts, ends, strict=True)],
        }
    )
