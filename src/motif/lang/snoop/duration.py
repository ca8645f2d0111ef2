"""Lengths of time: `10 min`, `1 h 30 min`, `1.5 h`, `10min`, INTERVAL literals; in microseconds."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal

from motif.errors import LimitExceeded, UnsupportedQuery
from motif.lang.cursor import Cursor, describe
from motif.lang.interval import CALENDAR, FIXED, Calendar, at_interval, read_interval, short_unit
from motif.lang.lexer import Kind, tokenize
from motif.lang.misspelt import meant_for

_LONGEST = 2**63 - 1
_SECOND = FIXED["SECOND"]
_GLUED = re.compile(r"([0-9.]+)([A-Za-z]+)")
_AMOUNTS = re.compile(r"[0-9. ]+[A-Za-z]+( [0-9. ]+[A-Za-z]+)*")
_DIGITS = re.compile(r"[0-9]{1,19}(?:\.[0-9]*)?|\.[0-9]+")
_HINT = "write a number and a unit: 10 min, 1 h 30 min, 500 ms"
GLUED_UNITS = frozenset(
    """M US MICROSECOND MICROSECONDS MS MILLISECOND MILLISECONDS S SEC SECS SECOND SECONDS MIN MINS MINUTE MINUTES H HR
    HRS HOUR HOURS D DAY DAYS W WEEK WEEKS""".split()
)
"""Units that may touch their number."""
_UNITS = tuple(sorted(GLUED_UNITS - {"M", "S", "H", "D", "W"}))


def read_duration(cursor: Cursor, what: str, bare_seconds: bool = False) -> int:
    """Step over a duration; `what` is how messages call it. A number without unit is refused or means seconds."""
    start = cursor.pos
    if cursor.at_op("-"):
        cursor.fail(f"{what} can not be negative", hint="leave the minus out")
    total = _interval(cursor, what) if at_interval(cursor) else _amounts(cursor, what, bare_seconds)
    if total > _LONGEST:
        message = f"{what} is longer than 2^63 microseconds"
        cursor.fail(message, cursor.span_from(start), "leave it out where any time will do", LimitExceeded)
    return total


def parse_duration(text: str, what: str) -> int:
    """A text that is just a duration."""
    tokens = tokenize(text, units=GLUED_UNITS)
    cursor = Cursor(tokens, 0, len(tokens) - 1)
    total = read_duration(cursor, what)
    if not cursor.done:
        cursor.fail_expected("another number with its unit, or the end", _HINT)
    return total


def at_number(cursor: Cursor) -> bool:
    """Whether a number stands here; in Spark `10min` is a name."""
    token = cursor.peek()
    return token.kind is Kind.NUMBER or (
        token.kind is Kind.NAME and not token.quoted and _GLUED.fullmatch(token.value) is not None
    )


def _amounts(cursor: Cursor, what: str, bare_seconds: bool) -> int:
    if not at_number(cursor):
        quoted = cursor.peek().value.strip() if cursor.peek().kind is Kind.STRING else ""
        is_amount = _AMOUNTS.fullmatch(quoted) is not None
        cursor.fail_expected(f"a duration for {what}", f"without quotes: {quoted}" if is_amount else _HINT)
    total = 0
    while at_number(cursor):
        start = cursor.pos
        number, unit = _amount(cursor)
        if unit is None:
            if bare_seconds and total == 0:
                return int((number * _SECOND).to_integral_value())
            text = cursor.previous.text
            counts = not bare_seconds and what.isupper()  # WITHIN
            hint = f"write {text} min, or {text} EVENTS" if counts else f"write {text} s or {text} min"
            if meant := _unit_meant(cursor):
                cursor.fail(f"{describe(cursor.peek())} is not a unit of time", hint=meant)
            cursor.fail(f"{describe(cursor.previous)} has no unit of time", cursor.span_from(start), hint)
        if unit in CALENDAR:
            message = f"{what} needs a fixed length of time, and a {unit.lower()} has none"
            cursor.fail(message, cursor.span_from(start), "count in days: 30 days", UnsupportedQuery)
        total += int((number * FIXED[unit]).to_integral_value())
    return total


def _unit_meant(cursor: Cursor) -> str | None:
    """A hint where the word behind a number is much like a unit."""
    token = cursor.peek()
    if token.kind is not Kind.NAME or token.quoted:
        return None
    word = token.value.upper()
    near = meant_for(token, _UNITS) or difflib.get_close_matches(
        word, _UNITS, n=1, cutoff=0.75 if len(word) > 3 else 0.66
    )
    return f"did you mean {near[0].lower()}?" if near else None


def _amount(cursor: Cursor) -> tuple[Decimal, str | None]:
    token = cursor.next()
    digits, word = token.value, ""
    if glued := _GLUED.fullmatch(token.value):
        digits, word = glued.groups()
    if not _DIGITS.fullmatch(digits):
        cursor.fail(f"{describe(token)} can not be read as a number of units", token.span, _HINT)
    if not word and cursor.peek().kind is Kind.NAME and not cursor.peek().quoted and short_unit(cursor.peek().value):
        word = cursor.next().value
    return Decimal(digits), short_unit(word) if word else None


def _interval(cursor: Cursor, what: str) -> int:
    start = cursor.pos
    reading = read_interval(cursor)
    span = cursor.span_from(start)
    if isinstance(reading, Calendar):
        message = f"{what} needs a fixed length of time, and a {reading.unit.lower()} has none"
        cursor.fail(message, span, "count in days: 30 days", UnsupportedQuery)
    if reading is None:
        cursor.fail("this INTERVAL can not be read", span, _HINT)
    if reading.microseconds < 0:
        cursor.fail(f"{what} can not be negative", span, "leave the minus out")
    return reading.microseconds
