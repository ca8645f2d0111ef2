"""Streams of events, made from a seed. Times are strictly increasing, so the order is total and no tie is ever broken.

What `keys` counts differs: accounts, users, classes, or events in an hour; the docstrings say it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Random = np.random.Generator
Ints = npt.NDArray[np.int64]
MONDAY_US = 1_767_605_400_000_000
HOUR_US = 3_600_000_000


def busy(random: Random, rows: int, keys: int) -> pa.Table:
    """Events of the classes A, B and C alone, of `keys` accounts, 100 a second."""
    return _account_events(random, random.integers(0, 3, rows), keys)


def rare(random: Random, rows: int, keys: int) -> pa.Table:
    """One event in a hundred is an A, B or C; the others are of 17 other classes."""
    noise = random.integers(3, len(CLASSES), rows)
    return _account_events(random, np.where(random.random(rows) < 0.01, random.integers(0, 3, rows), noise), keys)


CLASSES = ("A", "B", "C", *(f"Other{number:02d}" for number in range(17)))


def _account_events(random: Random, number: Ints, keys: int) -> pa.Table:
    rows = len(number)
    return pa.table(
        {
            "type": _names(number, CLASSES),
            "account": random.integers(0, keys, rows),
            "ts": _moments(random.integers(1, 20_000, rows)),
            "amount": random.integers(1, 10_000, rows),
        }
    )


def links(random: Random, rows: int, keys: int) -> pa.Table:
    """`keys` events an hour; the rest depends on the seed and the number of rows only.

    `id` is the number of an event, `ref` that of one at most 30 events before. `x` grows with time, but one C in a
    hundred falls back by 60: so `a.id = c.ref` and `a.x > c.x` hold between near events only, whatever the window.
    """
    number = np.arange(rows)
    kind = random.choice(3, rows, p=(0.4, 0.2, 0.4))
    falls = (kind == 2) & (random.random(rows) < 0.01)
    return pa.table(
        {
            "type": _names(kind, CLASSES),
            "ts": _moments(np.full(rows, HOUR_US // keys)),
            "id": number,
            "ref": number - random.integers(1, 31, rows),
            "x": number - 60 * falls,
        }
    )


def hot(random: Random, rows: int, keys: int) -> pa.Table:
    """One device: 1,000 ticks a second and 20 alarms, each below some 50 of all ticks."""
    del keys
    alarm = np.zeros(rows, bool)
    alarm[np.linspace(0, rows - 1, 21).astype(np.int64)[1:]] = True
    value = random.integers(0, 1_000_000_000, rows)
    value[alarm] = 1_000_000_000 - 50 * 1_000_000_000 // rows
    return pa.table(
        {
            "type": _names(alarm.astype(np.int64), ("Tick", "Alarm")),
            "device": np.zeros(rows, np.int64),
            "ts": _moments(np.full(rows, 1_000)),
            "value": value,
        }
    )


def ticks(random: Random, rows: int, keys: int) -> pa.Table:
    """Prices of `keys` stocks, each a class of its own, and by how much each changed; 100 a second."""
    symbol = random.integers(0, keys, rows)
    change = random.integers(-50, 51, rows)
    order = np.argsort(symbol, kind="stable")
    price = np.empty(rows, np.int64)
    price[order] = 10_000 + np.cumsum(change[order]) % 10_000
    return pa.table(
        {
            "symbol": _names(symbol, [f"S{number:04d}" for number in range(keys)]),
            "ts": _moments(random.integers(1, 20_000, rows)),
            "price": price,
            "change": change,
        }
    )


def logins(random: Random, rows: int, keys: int) -> pa.Table:
    """Logins of `keys` users, 30 % of them successful, 100 a second."""
    return pa.table(
        {
            "type": _names(np.zeros(rows, np.int64), ("Login",)),
            "user": random.integers(0, keys, rows),
            "ts": _moments(random.integers(1, 20_000, rows)),
            "ok": random.random(rows) < 0.3,
            "ip": random.integers(0, 1 << 32, rows),
        }
    )


def transfers(random: Random, rows: int, keys: int) -> pa.Table:
    """Transfers of `keys` accounts to three receivers each, one a second; 60 % are below 100, 10 % above 250."""
    small, large = random.integers(1, 100, rows), random.integers(251, 1_000, rows)
    share = random.random(rows)
    return pa.table(
        {
            "accountID": random.integers(0, keys, rows),
            "receiver": random.integers(0, 3, rows),
            "ts": _moments(random.integers(1, 2_000_000, rows)),
            "amount": np.where(share < 0.6, small, np.where(share < 0.9, 150, large)),
        }
    )


def _names(number: Ints, names: tuple[str, ...] | list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), pa.array(names)).cast(pa.string())


def _moments(steps: Ints) -> pa.Array:
    return pa.array(MONDAY_US + np.cumsum(steps), pa.timestamp("us"))
