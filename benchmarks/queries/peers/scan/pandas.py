"""A row and the next."""

import pandas as pd


def answer(flags: pd.DataFrame) -> pd.DataFrame:
    flags = flags.sort_values(["i"])
    following = flags[["i", "v"]].shift(-1)
    found = (flags["v"] == 0) & (following["v"] == 1)
    return pd.DataFrame({"first_i": flags["i"][found], "last_i": following["i"][found]})
