"""A row and the next two."""

import pandas as pd


def answer(flags: pd.DataFrame) -> pd.DataFrame:
    flags = flags.sort_values(["k", "i"])
    groups = flags.groupby("k", sort=False)
    found = (flags["v"] == 3) & (groups["v"].shift(-1) == 4) & (groups["v"].shift(-2) == 6)
    return pd.DataFrame({"first_i": flags["i"][found], "last_i": groups["i"].shift(-2)[found]})
