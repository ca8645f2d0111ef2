"""Plans are kept: a query that is asked again over tables that are what they were is not planned again."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from motif import limits
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery

T = TypeVar("T")
MOST_PLANS = 64
SETTLED_SECONDS = 2.0
"""File systems tell changes apart that are so far from each other."""

_PLANS: dict[Hashable, Any] = {}
COLUMNS: dict[Hashable, Any] = {}
"""What a host said of the columns of tables; for `kept`, beside the plans, so that these are not let go for it."""


def kept(
    state: Hashable | None,
    query: Hashable | None,
    plan: Callable[[], tuple[T, bool]],
    among: dict[Hashable, Any] | None = None,
) -> T:
    """What `plan` gave for the same query over tables in the same state, or gives now.

    It also says whether that will hold the next time. None: neither may be taken for another one.
    """
    if state is None or query is None:
        return plan()[0]
    key = (state, query, limits.LIMITS)
    among = _PLANS if among is None else among
    found: T | None = among.pop(key, None)
    if found is None:
        found, is_lasting = plan()
        if not is_lasting:
            return found
    among[key] = found  # as the last one
    for oldest in list(among)[:-MOST_PLANS]:
        among.pop(oldest, None)
    return found


def text_key(query: RowQuery | EventQuery, *more: Hashable) -> Hashable | None:
    """What a query with a text is known by; others are alike that mean different things (1 and TRUE are equal)."""
    return (query.source, query, *more) if query.source else None


def version_of(path: str) -> Hashable | None:
    """What is different once a file was altered or replaced; None where that could be missed."""
    found = Path(path).stat()
    changed = max(found.st_mtime, found.st_ctime)
    is_pattern = any(letter in path for letter in "*?[")  # DuckDB may read other files
    if is_pattern or not stat.S_ISREG(found.st_mode) or time.time() - changed < SETTLED_SECONDS:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
