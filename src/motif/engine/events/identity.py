"""`match_id`: a number made from the query and the values of the matched events; a replay gives the same one."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, arrow, as_type, null_flags, numpy_of, plain_type, to_lanes
from motif.engine.events.matches import EventMatches, Lists
from motif.engine.events.rows import EventRows
from motif.ir.types import Kind, Type
from motif.plan.scalar import Lane, lane

FEW = 32
"""So many values are faster hashed one by one than looked up."""
_NULL = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xD1342543DE82EF95)
_MIXERS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST_SHIFT = np.uint64(31)


def match_ids(rows: EventRows, matches: EventMatches) -> Array:
    """One signed 64-bit number per match."""
    used = _used(matches, rows.count)
    events = np.zeros(rows.count + 1, np.uint64)
    events[used] = _event_hashes(rows, used)
    events[-1] = _NULL  # position -1: not bound
    seed = np.uint64(int(rows.program.fingerprint[:16], 16))
    ids = np.full(len(matches), seed, np.uint64)
    for var in rows.program.variables:
        if var in matches.singles:
            ids = _mixed(ids * _STEP + events[matches.singles[var]])
        else:
            ids = _mixed(ids * _STEP + _list_hashes(matches.lists[var], matches.items, events))
    return ids.view(np.int64)


def _used(matches: EventMatches, count: int) -> Array:
    """Positions of all events that are in a match."""
    flags = np.zeros(count + 1, bool)
    for column in (*matches.singles.values(), matches.items):
        flags[column] = True  # -1, not bound, is the last flag
    return np.flatnonzero(flags[:count])


def _mixed(values: Array) -> Array:
    """Every bit of the result depends on every bit of the value."""
    for shift, factor in _MIXERS:
        values = (values ^ (values >> shift)) * factor
    mixed: Array = values ^ (values >> _LAST_SHIFT)
    return mixed


def _list_hashes(part: Lists, items: Array, events: Array) -> Array:
    """Depends on the events and their order."""
    total = int(part.count.sum())
    owner = np.repeat(np.arange(len(part.count)), part.count)
    place = np.arange(total) - np.repeat(np.cumsum(part.count) - part.count, part.count)
    values = events[items[np.repeat(part.start, part.count) + place]]
    hashed = _mixed(values + (place + 1).astype(np.uint64) * _STEP)
    sums = np.zeros(len(part.count), np.uint64)
    np.add.at(sums, owner, hashed)
    return sums


def _event_hashes(rows: EventRows, positions: Array) -> Array:
    hashes = np.zeros(len(positions), np.uint64)
    taken = arrow(positions)
    for column in rows.program.identity:
        array, kind = rows.rows.arrays[column].take(taken), rows.program.types[column]
        hashes = _mixed(hashes * _STEP + _value_hashes(array, kind))
    return hashes + _ordinals(rows, positions).astype(np.uint64)


def _value_hashes(array: pa.Array, kind: Type) -> Array:
    nulls = null_flags(array) == 1
    if pa.types.is_null(array.type):
        return np.full(len(array), _NULL)
    if lane(kind) is Lane.CODE:
        values = _text_hashes(array, nulls)
    elif lane(kind) is Lane.FLOAT:
        numbers = to_lanes(array, kind).values
        values = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    else:
        numbers = to_lanes(array, kind).values
        if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ):
            numbers = numbers * 10 ** (3 - kind.scale)  # nanoseconds, whatever the host counts in
        values = np.ascontiguousarray(numbers).view(np.uint64)
    return np.where(nulls, _NULL, _mixed(values + np.uint64(1)))


def _text_hashes(array: pa.Array, nulls: Array) -> Array:
    if len(array) <= FEW:
        return np.array([_text_hash(value) for value in array.to_pylist()], np.uint64)
    encoded = as_type(array, plain_type(array.type)).dictionary_encode()
    digests = [_text_hash(value) for value in encoded.dictionary.to_pylist()]
    table = np.array(digests or [0], np.uint64)
    return table[np.where(nulls, 0, numpy_of(encoded.indices))]


def _text_hash(value: Any) -> int:
    data = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _ordinals(rows: EventRows, positions: Array) -> Array:
    """Events that cannot be told apart, not even by what they may be bound to, are numbered."""
    if rows.count < 2:
        return np.zeros(len(positions), np.int64)
    ties = np.flatnonzero((rows.time[1:] == rows.time[:-1]) & (rows.segment[1:] == rows.segment[:-1]))
    alike = np.ones(len(ties), bool)
    roles = (column for _, column in rows.program.masks if column is not None)
    for column in dict.fromkeys((*rows.program.identity, *roles)):
        if not len(ties):
            break
        array = rows.rows.arrays[column]
        left, right = array.take(arrow(ties)), array.take(arrow(ties + 1))
        kind = rows.program.types[column]
        alike &= _value_hashes(left, kind) == _value_hashes(right, kind)
    same = np.zeros(rows.count, bool)
    same[ties[alike] + 1] = True
    since = np.maximum.accumulate(np.where(same, 0, np.arange(rows.count)))
    return positions - since[positions]
