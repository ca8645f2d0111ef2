"""Input tables, made from a seed: the same on every machine, kept as Parquet under `benchmarks/.data`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from event_generators import busy, hot, links, logins, rare, ticks, transfers
from peer_generators import marks, ranges, visits
from stream_generators import pulses, visitors

DATA = Path(__file__).resolve().parent / ".data"
ROW_GROUP = 122_880
"""DuckDB's own size of a row group: small enough for every core to have some."""
Random = np.random.Generator
Ints = npt.NDArray[np.int64]
MONDAY_US = 1_767_605_400_000_000


def trades(random: Random, rows: int, keys: int) -> pa.Table:
    """Trades of `keys` symbols, interleaved in time; each price is a random walk in cents.

    Times are strictly increasing, so the order is total and no tie is ever broken.
    """
    symbol = random.integers(0, keys, rows)
    names = pa.array([f"S{number:06d}" for number in range(keys)])
    return pa.table(
        {
            "symbol": pa.DictionaryArray.from_arrays(pa.array(symbol.astype(np.int32)), names).cast(pa.string()),
            "ts": pa.array(MONDAY_US + np.cumsum(random.integers(1, 20_000, rows)), pa.timestamp("us")),
            "price": _walks(symbol, random.integers(-5, 6, rows)) / 100,
            "volume": random.integers(1, 100, rows) * 100,
        }
    )


def _walks(owner: Ints, steps: Ints) -> Ints:
    """Running sum per owner, from 100.00 on, reflected so that no price is below a cent."""
    order = np.argsort(owner, kind="stable")
    total = np.cumsum(steps[order])
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    lengths = np.diff(first, append=len(owner))
    total -= np.repeat(total[first] - steps[order][first], lengths)
    walk = np.empty_like(total)
    walk[order] = np.abs(total + 10_000) + 1
    return walk


def flags(random: Random, rows: int, keys: int) -> pa.Table:
    """The shape of DuckDB's own benchmarks: i, k = i divided into `keys` equal partitions, v = i % 17."""
    del random
    number = np.arange(rows)
    return pa.table({"k": number * keys // rows, "i": number, "v": number % 17})


def equal(random: Random, rows: int, keys: int) -> pa.Table:
    """Rows that differ only in their position: what makes backtracking do its worst."""
    del random, keys
    return pa.table({"i": np.arange(rows), "v": np.ones(rows, np.int64)})


GENERATORS: dict[str, Callable[[Random, int, int], pa.Table]] = {
    function.__name__: function
    for function in (
        *(trades, flags, equal),
        *(busy, hot, links, logins, rare, ticks, transfers),
        *(pulses, visitors),
        *(visits, ranges, marks),
    )
}


def dataset(generator: str, seed: int, rows: int, keys: int) -> Path:
    """The file of a table; made if it is not there, or was made by another version of the generator's text."""
    text = Path(inspect.getfile(GENERATORS[generator])).read_bytes()
    version = hashlib.sha256(text).hexdigest()[:8]
    path = DATA / f"{generator}-{rows}-{keys}-{seed}-{version}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        table: Any = GENERATORS[generator](np.random.default_rng(seed), rows, keys)
        pq.write_table(table, unfinished, row_group_size=ROW_GROUP, compression="snappy")
        unfinished.replace(path)
    return path
