"""Hashes of events and of matches, in unsigned numbers of 64 bits; `engine.events.identity` says what they are of.

constants: 0 and 1 of that kind, what stands for NULL, the step from one value to the next, then by what `mixed` shifts
and multiplies in turn.
"""

from __future__ import annotations

from typing import Any


def mixed(value: Any, constants: Any) -> Any:
    """Every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> constants[4])) * constants[5]
    value = (value ^ (value >> constants[6])) * constants[7]
    return value ^ (value >> constants[8])


def hash_values(constants: Any, values: Any, nulls: Any, hashes: Any) -> int:
    """Go on with the hash of each event by its value in one more column."""
    one, null, step = constants[1], constants[2], constants[3]
    for event in range(len(hashes)):
        value = null if nulls[event] != 0 else mixed(values[event] + one, constants)
        hashes[event] = mixed(hashes[event] * step + value, constants)
    return 0


def hash_matches(constants: Any, first: Any, count: Any, are_lists: Any, items: Any, hashes: Any, matches: Any) -> int:
    """The hash of each match, by those of its events; `matches` holds that of the query.

    hashes has one more, for no event.
    first[v * len(matches) + m] is the event that variable v binds in match m, or -1; of a list, where its events begin
    in items, and `count` how many there are. Of a list it is the sum over events and places.
    """
    zero, step = constants[0], constants[3]
    none = len(hashes) - 1
    for variable in range(len(are_lists)):
        base = variable * len(matches)
        if are_lists[variable] == 0:
            for match in range(len(matches)):  # apart from lists: so it is done for several matches at once
                at = first[base + match]
                matches[match] = mixed(matches[match] * step + hashes[at if at >= 0 else none], constants)
            continue
        for match in range(len(matches)):
            at = first[base + match]
            total = place = zero
            for item in range(at, at + count[base + match]):
                place += step
                total += mixed(hashes[items[item]] + place, constants)
            matches[match] = mixed(matches[match] * step + total, constants)
    return 0
