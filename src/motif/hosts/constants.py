"""A value that a host has computed, as planning takes it."""

from __future__ import annotations

import pyarrow as pa

from motif.ir.expr import Interval

_DAY = 86_400_000_000


def value_of(table: pa.Table) -> tuple[object] | None:
    """The one value of a table; None if nothing but the host can hold it (an interval of months)."""
    scalar = table.column(0)[0]
    kind = scalar.type
    if not scalar.is_valid:
        return (None,)
    if pa.types.is_interval(kind):
        months, days, nanoseconds = scalar.as_py()
        return None if months or nanoseconds % 1000 else (Interval(days * _DAY + nanoseconds // 1000, days),)
    if pa.types.is_duration(kind):
        return (Interval(scalar.cast(pa.duration("us")).value),)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return None if scalar.value % 1000 else (scalar.cast(pa.timestamp("us", kind.tz)).as_py(),)
    return (scalar.as_py(),)
