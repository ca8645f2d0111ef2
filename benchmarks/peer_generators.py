"""Tables for the shapes that people use window functions for, made from a seed; no ties in time.

What `keys` counts differs: visitors, owners, or marked rows in 10,000; the docstrings say it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Random = np.random.Generator
Ints = npt.NDArray[np.int64]
MONDAY_US = 1_767_605_400_000_000
MINUTE_US = 60_000_000
PAGES = ("view", "cart", "purchase", "other")


def visits(random: Random, rows: int, keys: int) -> pa.Table:
    """Pages of `keys` visitors, each sees one in 13 minutes on average; one pause in ten is over half an hour."""
    page = random.choice(len(PAGES), rows, p=(0.3, 0.1, 0.1, 0.5))
    return pa.table(
        {
            "visitor": random.integers(0, keys, rows),
            "ts": _moments(random.integers(1, 2 * 13 * MINUTE_US // keys, rows)),
            "page": pa.DictionaryArray.from_arrays(pa.array(page.astype(np.int32)), pa.array(PAGES)).cast(pa.string()),
        }
    )


def ranges(random: Random, rows: int, keys: int) -> pa.Table:
    """Bookings of `keys` owners, one a minute each; with a mean length of a minute most meet the one before."""
    begins = MONDAY_US + np.cumsum(random.integers(1, max(2, 2 * MINUTE_US // keys), rows))
    lengths = random.exponential(MINUTE_US, rows).astype(np.int64) + 1
    return pa.table(
        {
            "owner": random.integers(0, keys, rows),
            "begins": pa.array(begins, pa.timestamp("us")),
            "ends": pa.array(begins + lengths, pa.timestamp("us")),
        }
    )


def marks(random: Random, rows: int, keys: int) -> pa.Table:
    """Values of 1,000 owners; `keys` rows in 10,000 are marked."""
    return pa.table(
        {
            "k": random.integers(0, 1_000, rows),
            "i": np.arange(rows),
            "marked": random.random(rows) < keys / 10_000,
            "v": random.integers(0, 1_000, rows),
        }
    )


def _moments(steps: Ints) -> pa.Array:
    return pa.array(MONDAY_US + np.cumsum(steps), pa.timestamp("us"))
