"""Islands of low and high rows; from the first low one on, three make a match and the fourth is left out."""

import numpy as np
import pandas as pd


def answer(flags: pd.DataFrame) -> pd.DataFrame:
    flags = flags.sort_values("i")
    high = flags["v"] >= 12
    island = (high != high.shift(1, fill_value=True)).cumsum() - 1
    found = (island >= 0) & (island % 4 < 3) & (island - island % 4 + 2 <= island.max())
    return flags.assign(matchno=island // 4 + 1, label=np.where(high, "B", "A"))[found]
