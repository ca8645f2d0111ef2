"""Events as they come, made from a seed. Times are strictly increasing, so the order is total and no tie is broken.

The last event comes an hour after all others and plays no role: with it time has passed every window, so that a stream
has decided what a table decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Random = np.random.Generator
Ints = npt.NDArray[np.int64]
MONDAY_US = 1_767_605_400_000_000
SECOND_US, MINUTE_US, HOUR_US = 1_000_000, 60_000_000, 3_600_000_000


def pulses(random: Random, rows: int, keys: int) -> pa.Table:
    """Events of the classes A and B of `keys` devices, of which each speaks every ten seconds, on average."""
    steps = random.integers(1, 20 * SECOND_US // keys, rows - 1)
    return _events(random, random.integers(0, keys, rows - 1), np.cumsum(steps))


def visitors(random: Random, rows: int, keys: int) -> pa.Table:
    """`keys` devices come one after the other over twelve hours; each stays ten minutes and is then silent for ever."""
    device = np.arange(rows - 1) * keys // (rows - 1)
    moment = device * (12 * HOUR_US // keys) + random.integers(0, 10 * MINUTE_US, rows - 1)
    order = np.argsort(moment, kind="stable")
    place = np.arange(rows - 1)
    return _events(random, device[order], np.maximum.accumulate(moment[order] - place) + place)


def _events(random: Random, device: Ints, moment: Ints) -> pa.Table:
    rows = len(device)
    kinds = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 2, rows, np.int32)), pa.array(["A", "B"]))
    events = pa.table(
        {
            "type": kinds.cast(pa.string()),
            "device": pa.array([f"D{number:07d}" for number in device.tolist()]),
            "ts": pa.array(MONDAY_US + moment, pa.timestamp("us")),
            "value": random.integers(0, 1_000, rows),
        }
    )
    last = pa.array([MONDAY_US + int(moment[-1]) + HOUR_US], pa.timestamp("us"))
    return pa.concat_tables([events, pa.table({"type": ["End"], "device": ["none"], "ts": last, "value": [0]})])
