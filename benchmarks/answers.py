"""Answers that Motif had no part in: plain SQL joins on DuckDB, or a loop written by hand for one query.

Each gives when matches begin and end, in microseconds, sorted. They are slow and used at small sizes only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from definitions import HERE, Workload

Moments = list[tuple[int, int]]
MINUTE, HOUR = 60_000_000, 3_600_000_000


def moments(workload: Workload, file: Path) -> Moments:
    """The right answer."""
    if workload.query in BY_HAND:
        table = pq.read_table(file)
        columns = {name: table.column(name).to_pylist() for name in table.column_names if name != "ts"}
        columns["ts"] = table.column("ts").cast("int64").to_pylist()
        return sorted(BY_HAND[workload.query](columns))
    text = (HERE / "queries" / "answers" / f"{workload.query}.sql").read_text(encoding="utf-8")
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE TABLE events AS SELECT * FROM read_parquet('{file}')")
    found = connection.execute(f"SELECT epoch_us(begins), epoch_us(ends) FROM ({text}) AS found(begins, ends)")
    return sorted(found.fetchall())


def fraud(columns: dict[str, list[Any]]) -> Moments:
    """A large transfer takes the two earliest small ones of its account and receiver that are left."""
    small: defaultdict[Hashable, list[int]] = defaultdict(list)
    found = []
    for account, receiver, now, amount in zip(
        columns["accountID"], columns["receiver"], columns["ts"], columns["amount"], strict=True
    ):
        own = small[account, receiver]
        own[:] = [moment for moment in own if moment >= now - 72 * HOUR]
        if amount > 250 and len(own) >= 2:
            found.append((own[0], now))
            del own[:2]
        elif amount < 100:
            own.append(now)
    return found


def brute_force(columns: dict[str, list[Any]]) -> Moments:
    """A success takes all failures of its user in the ten minutes before it that are left, if there are five."""
    failures: defaultdict[Hashable, list[int]] = defaultdict(list)
    found = []
    for user, now, ok in zip(columns["user"], columns["ts"], columns["ok"], strict=True):
        own = failures[user]
        own[:] = [moment for moment in own if moment >= now - 10 * MINUTE]
        if not ok:
            own.append(now)
        elif len(own) >= 5:
            found.append((own[0], now))
            own.clear()
    return found


BY_HAND: dict[str, Callable[[dict[str, list[Any]]], Moments]] = {
    "events_fraud": fraud,
    "events_logins": brute_force,
}
