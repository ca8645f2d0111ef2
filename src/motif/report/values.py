"""Values of tables as a page shows them: numbers for axes, short texts for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from motif.ir.types import Kind, Type

NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
_PER_MILLISECOND = {"s": 1e-3, "ms": 1.0, "us": 1e3, "ns": 1e6}
_DAY_MS = 86_400_000
_LONGEST = 80


def is_number(kind: Type) -> bool:
    """Can be drawn on an axis as it is."""
    return kind.kind in NUMBERS


def axis_kind(kind: pa.DataType) -> str | None:
    """`time`, `date` or `number` for an axis; None where there is no such axis."""
    t = pa.types
    if t.is_timestamp(kind):
        return "time"
    if t.is_date(kind):
        return "date"
    return "number" if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) else None


def on_axis(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Milliseconds since 1970 or plain numbers; NaN for NULL and for what is no finite number."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _floats(column.cast(pa.int64())) / _PER_MILLISECOND[kind.unit]
    if pa.types.is_date(kind):
        return _floats(column.cast(pa.date32()).cast(pa.int32())) * _DAY_MS
    if pa.types.is_decimal(kind):
        return np.array([math.nan if v is None else float(v) for v in column.to_pylist()])
    return _floats(column)


def _floats(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def json_numbers(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    """Numbers as JSON has them: no NaN, no digits that nobody sees."""
    return [None if math.isnan(v) else int(v) if v == int(v) else float(f"{v:.15g}") for v in values.tolist()]


def texts(values: Sequence[object]) -> list[str | None]:
    """Short texts, None for NULL."""
    return [text(value) for value in values]


def text(value: object) -> str | None:
    """One value as people read it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    shown = value.hex() if isinstance(value, bytes) else str(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def histogram(values: np.ndarray[Any, np.dtype[np.float64]], bins: int) -> dict[str, Any] | None:
    """Counts in equal steps from the least to the greatest; None where there is nothing to count."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = float(known.min()), float(known.max())
    if low == high:
        low, high, bins = low - 0.5, high + 0.5, 1
    counts, _ = np.histogram(known, bins, (low, high))
    return {"low": low, "high": high, "counts": counts.tolist()}


def lengths(values: np.ndarray[Any, np.dtype[np.int64]], bins: int) -> dict[str, Any] | None:
    """How many matches have how many rows; whole numbers get a bar each where there is room."""
    if not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    step = max(1, math.ceil((high - low + 1) / bins))
    count = math.ceil((high - low + 1) / step)
    counts = np.bincount((values - low) // step, minlength=count)
    return {"low": low - 0.5, "high": low - 0.5 + step * count, "counts": counts.tolist()}
