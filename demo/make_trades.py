"""A week of trades, made up: about a million rows, 500 symbols, the same on every machine.

python demo/make_trades.py demo-out/trades.parquet

Each symbol walks geometrically with a volatility and an activity of its own; trades of all symbols are interleaved
over five trading days. Times are strictly increasing over the whole file, so the order is total with and without
PARTITION BY symbol.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 1_000_000
SYMBOLS = 500
SEED = 20260105
MONDAY = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
DAYS = 5
DAY_US = 24 * 3600 * 1_000_000
SESSION_US = 6 * 3600 * 1_000_000 + 1800 * 1_000_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def make_trades(rows: int = ROWS, symbols: int = SYMBOLS, seed: int = SEED) -> pa.Table:
    """Columns symbol, ts (microseconds, no zone), price (dollars, in cents), volume (shares)."""
    random = np.random.default_rng(seed)
    activity = random.lognormal(0.0, 1.0, symbols)
    codes = random.choice(symbols, size=rows, p=activity / activity.sum()).astype(np.int32)
    return pa.table(
        {
            "symbol": pa.DictionaryArray.from_arrays(codes, _names(random, symbols)).cast(pa.string()),
            "ts": pa.array(_times(random, rows), pa.timestamp("us")),
            "price": _prices(random, codes, symbols),
            "volume": (np.ceil(random.lognormal(0.7, 1.0, rows)) * 100).astype(np.int64),
        }
    )


def _names(random: np.random.Generator, symbols: int) -> list[str]:
    """Distinct names of three letters."""
    picks = random.choice(26**3, size=symbols, replace=False)
    return sorted(LETTERS[p // 676] + LETTERS[p // 26 % 26] + LETTERS[p % 26] for p in picks.tolist())


def _times(random: np.random.Generator, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Strictly increasing microseconds since 1970, inside the sessions of five days."""
    offsets = np.sort(random.integers(0, DAYS * SESSION_US - rows, rows))
    offsets += np.arange(rows)
    day, within = np.divmod(offsets, SESSION_US)
    return int(MONDAY.timestamp()) * 1_000_000 + day * DAY_US + within


def _prices(
    random: np.random.Generator, codes: np.ndarray[Any, np.dtype[np.int32]], symbols: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One geometric random walk per symbol, rounded to cents and never below one dollar."""
    volatility = random.uniform(0.0004, 0.004, symbols)
    start = np.log(random.lognormal(3.8, 0.7, symbols) + 2.0)
    by_symbol = np.argsort(codes, kind="stable")
    owner = codes[by_symbol]
    steps = random.standard_normal(len(codes)) * volatility[owner]
    walk = np.cumsum(steps)
    first = np.searchsorted(owner, np.arange(symbols))
    before = np.where(first > 0, walk[np.maximum(first, 1) - 1], 0.0)
    prices = np.empty(len(codes))
    prices[by_symbol] = np.exp(start[owner] + walk - before[owner])
    return np.maximum(np.round(prices, 2), 1.0)


def write_trades(path: Path) -> None:
    """Make the archive; the file appears only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    pq.write_table(make_trades(), unfinished, row_group_size=250_000)
    unfinished.replace(path)


if __name__ == "__main__":
    write_trades(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-out/trades.parquet"))
