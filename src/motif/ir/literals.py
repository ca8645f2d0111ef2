"""Constants as SQL text that means the same in DuckDB and in Spark."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import assert_never

from motif.ir.expr import Interval, LiteralValue

DAY = 86_400_000_000
_UNSAFE = re.compile(r"[$\x00-\x1f\x7f]")


def literal(value: LiteralValue, dialect: str) -> str:
    """A constant; numbers keep their kind: 1 is an integer, 1.0 a decimal, 1e0 a double."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _double(value)
        case Decimal():
            text = format(value, "f")
            return text if "." in text else f"{text}."
        case str():
            return string(value, dialect)
        case Interval():
            return interval(value, dialect)
        case _:
            assert_never(value)


def interval(value: Interval, dialect: str) -> str:
    """Days as days, the rest in the one unit that both hosts read exactly (DuckDB reads seconds as a double).

    Hosts move a time with a zone by a day of the calendar, which need not have 24 hours, and Spark moves a DATE by days
    to a DATE, but by anything else to a TIMESTAMP.
    """
    rest = value.microseconds - value.days * DAY
    if not value.days:
        return f"INTERVAL '{rest}' MICROSECOND"
    if not rest:
        return f"INTERVAL '{value.days}' DAY"
    if dialect == "spark":
        return f"INTERVAL '{value.days}' DAY '{rest}' MICROSECOND"
    return f"INTERVAL '{value.days} day {rest} microsecond'"


def string(value: str, dialect: str) -> str:
    """A string literal from which no value can escape."""
    if dialect != "spark":
        return "'" + value.replace("'", "''") + "'"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    # Spark replaces ${...} in the whole text before it parses, even inside of strings.
    return "'" + _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped) + "'"


def _double(value: float) -> str:
    if math.isnan(value):
        return "CAST('NaN' AS DOUBLE)"
    if math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    text = repr(value)
    return text if "e" in text else f"{text}e0"
