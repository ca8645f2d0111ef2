"""A column of every type that hosts and Arrow read alike: its type, two values that are hard on it, and NULL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

UTC = dt.UTC
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-32768, 32767, None]),
    "whole": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "large": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "single": (pa.float32(), [0.5, float("-inf"), None]),
    "double": (pa.float64(), [-0.0, 1e300, None]),
    "text": (pa.string(), ["", "ä\u0301\U0001f40d", None]),
    "long_text": (pa.large_string(), ["one", "two", None]),
    "coded": (pa.dictionary(pa.int8(), pa.string()), ["one", "two", None]),
    "bytes": (pa.binary(), [b"", b"\x00\xff", None]),
    "amount": (pa.decimal128(12, 3), [Decimal("-1.500"), Decimal("999999999.999"), None]),
    "wide": (pa.decimal128(38, 10), [Decimal("1.0000000001"), Decimal("-9999999999999999999999999999.5"), None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1583, 1, 1, tzinfo=UTC), dt.datetime(2026, 5, 1, tzinfo=UTC), None],
    ),
    "berlin": (
        pa.timestamp("ms", "Europe/Berlin"),
        [dt.datetime(2026, 3, 29, 1, tzinfo=UTC), dt.datetime(1970, 1, 1, tzinfo=UTC), None],
    ),
    "milli": (pa.timestamp("ms"), [dt.datetime(1583, 1, 1), dt.datetime(2026, 3, 29, 2, 30), None]),
    "local": (pa.timestamp("us"), [dt.datetime(1583, 1, 1), dt.datetime(2026, 3, 29, 2, 30), None]),
}
