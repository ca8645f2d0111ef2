"""`match_id`: a number made from the query and the values of the matched events; a replay gives the same one."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, decoded, encoded, null_flags, numpy_of, plain_type, taken, to_lanes
from motif.engine.events.matches import EventMatches, Lists
from motif.engine.events.rows import EventRows
from motif.ir.types import Kind, Type
from motif.kernels.build import identity_loops
from motif.plan.physical.costs import COSTS
from motif.plan.scalar import Lane, lane

NULL, STEP = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
_NULL, _STEP, _LAST_SHIFT = np.uint64(NULL), np.uint64(STEP), np.uint64(LAST_SHIFT)
_MIXERS = tuple((np.uint64(shift), np.uint64(factor)) for shift, factor in MIXERS)
_CONSTANTS = np.array([0, 1, NULL, STEP, *chain(*MIXERS), LAST_SHIFT], np.uint64)
"""As the loops in `kernels.identity` want them."""
_ALL_BITS = (1 << 64) - 1


def hashed_by_loops(rows: EventRows, matches: EventMatches) -> bool:
    """Whether so many matches are worth compiled loops."""
    return rows.execution.compiles(len(matches), identity_loops)


def match_ids(rows: EventRows, matches: EventMatches, *, by_loops: bool, hashes: Array | None = None) -> Array:
    """One signed 64-bit number per match; `by_loops`: compiled ones; `hashes` of the events, if they are known."""
    few = rows.execution.costs.few_ids
    if 0 < len(matches) <= few and len(matches.items) <= few:
        return _few_ids(rows, matches)
    if hashes is None:
        hashes = event_hashes(rows, matches, by_loops=by_loops)
    ids = np.full(len(matches), int(rows.program.fingerprint[:16], 16), np.uint64)
    if by_loops:
        return _hashed_by_loop(rows.program.variables, matches, hashes, ids)
    for var in rows.program.variables:
        if var in matches.singles:
            ids = _mixed(ids * _STEP + hashes[matches.singles[var]])
        else:
            ids = _mixed(ids * _STEP + _list_hashes(matches.lists[var], matches.items, hashes))
    return ids.view(np.int64)


def _hashed_by_loop(variables: Sequence[str], matches: EventMatches, hashes: Array, ids: Array) -> Array:
    lists = [matches.lists.get(var) for var in variables]
    first = [matches.singles[var] if part is None else part.start for var, part in zip(variables, lists, strict=True)]
    # Of a single event there is nothing to count, nor to look at.
    count = [first[0] if part is None else part.count for part in lists] if matches.lists else [first[0][:0]]
    are_lists = np.array([part is not None for part in lists], np.uint8)
    _, loop = identity_loops()
    loop(_CONSTANTS, np.concatenate(first), np.concatenate(count), are_lists, matches.items, hashes, ids)
    return ids.view(np.int64)


def event_hashes(rows: EventRows, matches: EventMatches, *, by_loops: bool) -> Array:
    """Hashes of the events that are in a match, or of all, and one for no event."""
    worth_it = rows.execution.costs.hashed_events
    if by_loops and len(matches) * len(rows.program.variables) * worth_it > rows.count:
        return np.append(_hashes_at(rows, None, by_loops=True), _NULL)
    used = _used(matches, rows.count)
    hashes = np.zeros(rows.count + 1, np.uint64)
    hashes[used] = _hashes_at(rows, used, by_loops=by_loops)
    hashes[-1] = _NULL
    return hashes


def _used(matches: EventMatches, count: int) -> Array:
    """Positions of all events that are in a match."""
    flags = np.zeros(count + 1, bool)
    for column in (*matches.singles.values(), matches.items):
        flags[column] = True  # -1, not bound, is the last flag
    return np.flatnonzero(flags[:count])


def _mixed(values: Array) -> Array:
    """Every bit of the result depends on every bit of the value."""
    for shift, factor in _MIXERS:
        mixed = values >> shift
        mixed ^= values
        mixed *= factor
        values = mixed
    return values ^ (values >> _LAST_SHIFT)  # type: ignore[no-any-return]


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


def _hashes_at(rows: EventRows, positions: Array | None, *, by_loops: bool) -> Array:
    """Hashes of the events at some positions; None: of all."""
    hashes = np.zeros(rows.count if positions is None else len(positions), np.uint64)
    for column in rows.program.identity:
        array, kind = rows.rows.arrays[column], rows.program.types[column]
        if positions is not None:
            array = taken(array, positions)
        if by_loops:
            loop, _ = identity_loops()
            loop(_CONSTANTS, _unsigned(array, kind, rows.execution.costs.repeated_texts), null_flags(array), hashes)
        else:
            hashes = _mixed(hashes * _STEP + _value_hashes(array, kind, rows.execution.costs.repeated_texts))
    ordinals = _ordinals(rows)
    if ordinals is None:
        return hashes
    return hashes + (ordinals if positions is None else ordinals[positions]).astype(np.uint64)


def _value_hashes(array: pa.Array, kind: Type, repeated: int = COSTS.repeated_texts) -> Array:
    hashes = _mixed(_unsigned(array, kind, repeated) + np.uint64(1))
    return np.where(null_flags(array) == 1, _NULL, hashes) if array.null_count else hashes


def _unsigned(array: pa.Array, kind: Type, repeated: int) -> Array:
    """A number for each value, whatever for NULL."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.uint64)
    return _text_hashes(array, repeated) if lane(kind) is Lane.CODE else _bits(array, kind)


def _bits(array: pa.Array, kind: Type) -> Array:
    """Numbers as unsigned ones, equal where they are."""
    numbers = to_lanes(array, kind).values
    if lane(kind) is Lane.FLOAT:
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ):
        numbers = numbers * 10 ** (3 - kind.scale)  # nanoseconds, whatever the host counts in
    return np.ascontiguousarray(numbers).view(np.uint64)


def _text_hashes(array: pa.Array, repeated: int) -> Array:
    are_few = pa.types.is_dictionary(array.type) and len(array.dictionary) * repeated <= len(array)
    codes = array if are_few else encoded(decoded(array), plain_type(array.type))  # of some rows, not of all texts
    digests = [_text_hash(value) for value in codes.dictionary.to_pylist()]
    table = np.array(digests or [0], np.uint64)
    return table[numpy_of(pc.fill_null(codes.indices, 0) if codes.null_count else codes.indices)]


def _text_hash(value: Any) -> int:
    data = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _ordinals(rows: EventRows) -> Array | None:
    """Events that cannot be told apart, not even by what they may be bound to, are numbered; None: there are none."""
    ties = np.flatnonzero(rows.time[1:] == rows.time[:-1])
    ties = ties[rows.segment[ties + 1] == rows.segment[ties]]
    alike = np.ones(len(ties), bool)
    roles = (mask.column for _, mask in rows.program.masks if mask is not None)
    for column in dict.fromkeys((*rows.program.identity, *roles)):
        if not len(ties):
            return None
        array = rows.rows.arrays[column]
        left, right = taken(array, ties), taken(array, ties + 1)
        kind = rows.program.types[column]
        alike &= _value_hashes(left, kind) == _value_hashes(right, kind)
    same = np.zeros(rows.count, bool)
    same[ties[alike] + 1] = True
    numbers = np.arange(rows.count)
    return numbers - np.maximum.accumulate(np.where(same, 0, numbers))


# -- the same numbers one by one


def _few_ids(rows: EventRows, matches: EventMatches) -> Array:
    variables, seed = rows.program.variables, int(rows.program.fingerprint[:16], 16)
    bindings = [matches.binding(match, variables) for match in range(len(matches))]
    positions = sorted({event for binding in bindings for bound in binding for event in bound})
    events = dict(zip(positions, _few_event_hashes(rows, positions), strict=True))
    ids = []
    for binding in bindings:
        number = seed
        for var, bound in zip(variables, binding, strict=True):
            if var in matches.singles:
                part = events[bound[0]] if bound else NULL
            else:
                part = sum(_mix(events[event] + place * STEP) for place, event in enumerate(bound, 1))
            number = _mix(number * STEP + part)
        ids.append(number)
    return np.array(ids, np.uint64).view(np.int64)


def _few_event_hashes(rows: EventRows, positions: list[int]) -> list[int]:
    hashes = [0] * len(positions)
    for column in rows.program.identity:
        values = _few_value_hashes(rows.rows.arrays[column], rows.program.types[column], positions)
        hashes = [_mix(h * STEP + value) for h, value in zip(hashes, values, strict=True)]
    if all(at == 0 or rows.time[at] != rows.time[at - 1] for at in positions):
        return hashes
    ordinals = _ordinals(rows)
    return hashes if ordinals is None else [h + int(ordinals[at]) for h, at in zip(hashes, positions, strict=True)]


def _few_value_hashes(array: pa.Array, kind: Type, positions: list[int]) -> list[int]:
    if lane(kind) is Lane.CODE or pa.types.is_null(array.type):
        values = [array[at].as_py() for at in positions]
        return [NULL if value is None else _mix(_text_hash(value) + 1) for value in values]
    first, last = positions[0], positions[-1]
    near = to_lanes(array.slice(first, last - first + 1), kind)  # faster than to take them
    numbers = [None if near.nulls[at - first] else near.values[at - first].item() for at in positions]
    return [NULL if number is None else _mix(_few_bits(number, kind) + 1) for number in numbers]


def _few_bits(number: Any, kind: Type) -> int:
    """As `_bits` does it, of one number."""
    if lane(kind) is Lane.FLOAT:
        bits: int = struct.unpack("<q", struct.pack("<d", math.nan if math.isnan(number) else number + 0.0))[0]
        return bits
    scaled: int = number * 10 ** (3 - kind.scale) if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) else number
    return scaled


def _mix(value: int) -> int:
    """As `_mixed` does it, of one number."""
    value &= _ALL_BITS
    for shift, factor in MIXERS:
        value = (value ^ (value >> shift)) * factor & _ALL_BITS
    return value ^ (value >> LAST_SHIFT)
