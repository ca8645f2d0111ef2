"""Where events with a length begin in the order of all events, as positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, decoded, taken
from motif.engine.order import SortColumn, sort_keys

if TYPE_CHECKING:
    from motif.engine.events.rows import EventRows


def heads(rows: EventRows) -> Array:
    """Per event, the first position that is not before it: its own, unless it is a match of several events.

    Such a match begins where its first event stands; where that is not known, behind all events that are earlier.
    """
    head = np.arange(rows.count)
    start = rows.program.start
    if start is None:
        return head
    is_long = rows.rows.lanes(start).nulls == 0
    if rows.program.places is None:
        is_long &= rows.begin < rows.time  # else the order decides
    composites = np.flatnonzero(is_long)
    if len(composites):
        low, high = _of_time(rows, composites)
        head[composites] = low if rows.program.places is None else _behind_earlier(rows, composites, low, high)
    return head


def _of_time(rows: EventRows, composites: Array) -> tuple[Array, Array]:
    """The positions, from and until, of the events of the partition at the time at which each begins."""
    moments = np.unique(np.concatenate([rows.time, rows.begin[composites]]))
    known = rows.segment * len(moments) + np.searchsorted(moments, rows.time)
    asked = rows.segment[composites] * len(moments) + np.searchsorted(moments, rows.begin[composites])
    return np.searchsorted(known, asked, "left"), np.searchsorted(known, asked, "right")


def _behind_earlier(rows: EventRows, composites: Array, low: Array, high: Array) -> Array:
    """Of the events of one time, how many come before the first event of each match."""
    places = rows.program.places
    assert places is not None
    head = low.copy()
    open_ = np.flatnonzero(low < high)
    if not len(open_):
        return head
    asked = composites[open_]
    near = np.zeros(rows.count + 1, np.int64)
    np.add.at(near, low[open_], 1)
    np.add.at(near, high[open_], -1)
    events = np.flatnonzero(np.cumsum(near[:-1]) > 0)
    keys = [
        key
        for own, of_first in zip(places.last, places.first, strict=True)
        for key in _keys(rows, own, of_first, events, asked)
    ]
    ranks = _ranks(keys, len(events) + len(asked))
    own = np.full(rows.count, -1)
    own[events] = ranks[: len(events)]
    for number, rank in zip(open_.tolist(), ranks[len(events) :].tolist(), strict=True):
        head[number] += np.searchsorted(own[low[number] : high[number]], rank, "left")
    return head


def _keys(rows: EventRows, last: int, first: int, events: Array, asked: Array) -> list[Array]:
    """What these events, and the first events of those matches, are sorted by."""
    arrays = rows.rows.arrays
    values = [decoded(taken(arrays[last], events)), decoded(taken(arrays[first], asked))]
    return sort_keys(pa.concat_arrays(values), SortColumn(last, rows.program.types[last]))


def _ranks(keys: list[Array], count: int) -> Array:
    """The same number for what is the same, a larger one for what is behind."""
    if not keys:
        return np.zeros(count, np.int64)
    order = np.lexsort(keys[::-1])
    differs = np.zeros(count, bool)
    for key in keys:
        differs[1:] |= key[order[1:]] != key[order[:-1]]
    ranks = np.empty(count, np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks
