"""Order by several columns of numbers, the first of which tells most apart, as times do."""

from __future__ import annotations

from typing import Any

DONE, TOO_MANY_ALIKE = 0, 1


def by_columns(keys: Any, starts: Any, order: Any) -> int:
    """order = 0, 1, 2, ... by the numbers that each has in one column after the other; what is alike stays as it is.

    keys: the columns, end to end. By the first, all are dealt into buckets; then each is put in its place, from where
    it is not far, or this is not the way to do it. `starts`, all 0, has one more than there are buckets.
    """
    count = len(order)
    least = most = keys[0]
    for at in range(count):
        least = min(least, keys[at])
        most = max(most, keys[at])
    shift = 1  # so that no difference is too large for 64 bits
    while (most >> shift) - (least >> shift) >= len(starts) - 1:
        shift += 1
    base = least >> shift
    for at in range(count):
        starts[(keys[at] >> shift) - base + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    for at in range(count):
        bucket = (keys[at] >> shift) - base
        order[starts[bucket]] = at
        starts[bucket] += 1
    moves = 16 * count
    for place in range(1, count):
        one = order[place]
        at = place
        while at > 0:
            other = order[at - 1]
            column = 0
            while column < len(keys) and keys[column + one] == keys[column + other]:
                column += count
            if column == len(keys) or keys[column + one] > keys[column + other]:
                break
            order[at] = other
            at -= 1
        order[at] = one
        moves -= place - at
        if moves < 0:
            return 1
    return 0
