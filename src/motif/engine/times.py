"""Times as whole numbers, so far from the end of 64 bits that a span can be added to them."""

from __future__ import annotations

import numpy as np

from motif.engine.arrays import Array, Lanes
from motif.errors import QueryDataError
from motif.ir.types import Kind, Type
from motif.plan.scalar import DAY, Lane, lane, scale

NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
FURTHEST = 1 << 61
"""Microseconds: 73,000 years; nanoseconds: 73."""


def moments(lanes: Lanes, kind: Type) -> Array:
    """Times in microseconds, or in nanoseconds if they are; dates as their midnights."""
    unit = DAY if kind.kind is Kind.DATE else 1
    check_times(lanes, kind, FURTHEST // unit)
    return lanes.values * unit if unit > 1 else np.ascontiguousarray(lanes.values)


def check_times(lanes: Lanes, kind: Type, furthest: int = FURTHEST) -> None:
    """No time is further away than can be counted with; raises `QueryDataError`. Of numbers, none is too far."""
    if lane(kind) is not Lane.INT or kind.kind in NUMBERS or not len(lanes.values):
        return
    values = lanes.values
    if -furthest < int(values.min()) and int(values.max()) < furthest:
        return
    known = values[lanes.nulls == 0]
    if len(known) and not (-furthest < int(known.min()) and int(known.max()) < furthest):
        in_years = "1970 +/- 73 years, as they count nanoseconds" if scale(kind) else "73,000 years"
        raise QueryDataError(
            f"a time is infinite or too far away: times that a query counts with lie within {in_years}",
            hint="leave out such rows" + (", or CAST the column AS TIMESTAMP" if scale(kind) else ""),
        )
