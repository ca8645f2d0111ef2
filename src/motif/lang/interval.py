"""INTERVAL literals of a fixed length.

Years and months have no fixed length; a reading that needs them is `Calendar`, one that is no
interval at all is None, and the caller decides what that means where it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from motif.ir.expr import Interval
from motif.lang.cursor import Cursor
from motif.lang.lexer import Kind

_SECOND = 1_000_000
FIXED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "WEEK": 7 * 86_400 * _SECOND,
}
"""Units of a fixed length, in microseconds."""
_OF_DAYS = ("DAY", "WEEK")
CALENDAR = frozenset({"MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "CENTURIE", "MILLENNIUM", "MILLENNIA"})
_SHORT = {
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "SEC": "SECOND",
    "S": "SECOND",
    "MIN": "MINUTE",
    "M": "MINUTE",
    "HR": "HOUR",
    "H": "HOUR",
    "D": "DAY",
    "W": "WEEK",
    "MON": "MONTH",
    "YR": "YEAR",
    "Y": "YEAR",
}
_AMOUNT = re.compile(r"([+-]?)\s*([0-9]{1,19}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")
_CLOCK = re.compile(r"([+-]?)(?:([0-9]{1,9})[ ])?([0-9]{1,9}):([0-9]{1,2})(?::([0-9]{1,2}(?:\.[0-9]{1,9})?))?")
_WORD = re.compile(r"\s*([A-Za-z]+)[\s,]*")
_LONGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Calendar:
    """An interval of months or years."""

    unit: str


Reading = Interval | Calendar | None
NONE = Interval(0)


def at_interval(cursor: Cursor) -> bool:
    """Whether the word INTERVAL begins a literal here; it may also be a column."""
    if not cursor.at_word("INTERVAL"):
        return False
    if cursor.peek(1).kind is Kind.STRING:
        return True
    sign = 1 if cursor.peek(1).is_op("-") or cursor.peek(1).is_op("+") else 0
    return cursor.peek(1 + sign).kind is Kind.NUMBER and unit_name(cursor.peek(2 + sign).value) is not None


def read_interval(cursor: Cursor) -> Reading:
    """Step over an INTERVAL literal; `at_interval` has said that there is one."""
    cursor.next()
    reading = _string_interval(cursor) if cursor.peek().kind is Kind.STRING else _pairs_interval(cursor)
    too_long = isinstance(reading, Interval) and abs(reading.microseconds) > _LONGEST
    return None if too_long else reading


def _string_interval(cursor: Cursor) -> Reading:
    text = cursor.next().value.strip()
    unit = unit_name(cursor.peek().value) if cursor.peek().kind is Kind.NAME and not cursor.peek().quoted else None
    if unit is None:
        return _free_text(text)
    cursor.next()
    smallest = unit_name(cursor.peek(1).value) if cursor.at_word("TO") else None
    if smallest is not None:
        cursor.pos += 2
        return _range(text, unit, smallest)
    return _amount(text, unit)


def _pairs_interval(cursor: Cursor) -> Reading:
    """`5 MINUTE`, and Spark's `1 DAY 2 HOURS`."""
    total = NONE
    problem: Reading = NONE
    while _at_pair(cursor):
        sign = cursor.next().text if cursor.peek().kind is Kind.OP else ""
        reading = _amount(sign + cursor.next().value, unit_name(cursor.next().value) or "")
        if isinstance(reading, Interval):
            total = _sum(total, reading)
        else:
            problem = reading
        if cursor.tokens.dialect != "spark":
            break
    return total if problem == NONE else problem


def _at_pair(cursor: Cursor) -> bool:
    # A sign only follows the word INTERVAL; later it would be an operator between operands.
    sign = 1 if cursor.previous.is_word("INTERVAL") and cursor.peek().kind is Kind.OP else 0
    return cursor.peek(sign).kind is Kind.NUMBER and unit_name(cursor.peek(sign + 1).value) is not None


def unit_name(word: str) -> str | None:
    """The singular, upper-case name of a unit."""
    name = word.upper()
    known = FIXED.keys() | CALENDAR
    for candidate in (name, name.removesuffix("S")):
        if candidate in known:
            return candidate
    return None


def short_unit(word: str) -> str | None:
    """The same, abbreviations included: `min`, `h`, `us`."""
    name = word.upper()
    return unit_name(name) or _SHORT.get(name) or _SHORT.get(name.removesuffix("S"))


def _amount(text: str, unit: str) -> Reading:
    found = _AMOUNT.fullmatch(text.strip())
    if unit in CALENDAR:
        return Calendar(unit)
    if found is None or unit not in FIXED:
        return _clock(text) if unit in FIXED else None
    return _length(found[1] + found[2], unit)


def _length(number: str, unit: str) -> Interval:
    length = _scaled(number, FIXED[unit])
    return Interval(length, int(Decimal(length) / FIXED["DAY"]) if unit in _OF_DAYS else 0)


def _scaled(number: str, factor: int) -> int:
    return int((Decimal(number) * factor).to_integral_value())


def _sum(left: Interval, right: Interval) -> Interval:
    return Interval(left.microseconds + right.microseconds, left.days + right.days)


def _clock(text: str) -> Interval | None:
    """`[days] hours:minutes[:seconds]`; a leading minus holds for all of it."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    sign, days, hours, minutes, seconds = found.groups()
    total = int(days or 0) * FIXED["DAY"] + int(hours) * FIXED["HOUR"] + int(minutes) * FIXED["MINUTE"]
    total += _scaled(seconds or "0", _SECOND)
    return Interval(-total, -int(days or 0)) if sign == "-" else Interval(total, int(days or 0))


def _range(text: str, largest: str, smallest: str) -> Reading:
    """`'1:30' MINUTE TO SECOND` and the like."""
    if largest in CALENDAR or smallest in CALENDAR:
        return Calendar(largest)
    if (largest, smallest) == ("MINUTE", "SECOND") and text.count(":") == 1:
        sign = "-" if text.startswith("-") else ""
        return _clock(f"{sign}0:{text.lstrip('+-')}")
    if (largest, smallest) == ("DAY", "HOUR") and " " in text:
        return _clock(f"{text}:00")
    return _clock(text)


def _free_text(text: str) -> Reading:
    """`1 hour 30 minutes`, `5m`, `0 00:05:00`."""
    total = NONE
    pos = 0
    if not text or len(text) > 200:
        return None
    while pos < len(text):
        clock = _clock(text[pos:])
        if clock is not None:
            return _sum(total, clock)
        amount = _AMOUNT.match(text, pos)
        word = _WORD.match(text, amount.end()) if amount else None
        unit = short_unit(word[1]) if word else None
        if amount is None or word is None or unit is None:
            return None
        if unit in CALENDAR:
            return Calendar(unit)
        total = _sum(total, _length(amount[1] + amount[2], unit))
        pos = word.end()
    return total
