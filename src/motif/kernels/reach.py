"""How far WITHIN lets a match go, for every row it may start at."""

from __future__ import annotations

from typing import Any


def reach(bounds: Any, values: Any, nulls: Any, bound: Any, limits: Any) -> int:
    """limits[s] = first row of the partition whose distance from row s is more than `bound`.

    Rows are sorted by `values`, up or down. A row without a value is in no row's reach, not even its own.
    """
    for segment in range(len(bounds) - 1):
        high = bounds[segment + 1]
        end = bounds[segment]
        for start in range(bounds[segment], high):
            if end < start:
                end = start
            while end < high and nulls[end] == 0 and nulls[start] == 0:
                # As floats first: a difference too large for 64 bits would come out small.
                if abs(float(values[end]) - float(values[start])) > 9.2e18:
                    break
                if not abs(values[end] - values[start]) <= bound:
                    break
                end += 1
            limits[start] = end if nulls[start] == 0 else start
    return 0
