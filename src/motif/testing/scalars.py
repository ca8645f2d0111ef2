"""SQL scalars in plain Python: order, three-valued logic, arithmetic.

NULL is None, an INTERVAL is `ir.expr.Interval`, DECIMAL is `Decimal`, TIMESTAMP is `datetime`, DATE is `date`.
Used by the reference only: it shares no code with the engines it judges.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any

from motif.ir.expr import Interval

Function = Callable[..., Any]

DAY = 86_400_000_000
"""Microseconds."""

_EXACT = Context(prec=200)
"""The default context would round long decimals."""


def sort_key(value: Any) -> tuple[bool, Any]:
    """Order of the values of one column, NULLs aside: NaN after all numbers, strings by UTF-8 bytes.

    Nested values by one part after the other, NULLs last, the shorter list first.
    """
    if is_nan(value):
        return (True, 0)
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return (False, tuple((part is None, () if part is None else sort_key(part)) for part in value))
    if isinstance(value, Interval):
        return (False, value.microseconds)
    # Python orders strings by code point, which is the order of their UTF-8 bytes.
    return (False, value)


def identity(value: Any) -> Hashable:
    """Equal for values that GROUP BY and DISTINCT hold to be one: NULLs are, and so are NaNs."""
    if isinstance(value, dict | list | tuple):
        return ("nested", *map(identity, value.values() if isinstance(value, dict) else value))
    return ("NaN",) if is_nan(value) else value


def is_nan(value: Any) -> bool:
    """Only numbers can be NaN."""
    return isinstance(value, (float, Decimal)) and math.isnan(value)


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive, for two values that are not NULL."""
    left_key, right_key = (sort_key(value) for value in _alike(left, right))
    return (left_key > right_key) - (left_key < right_key)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both in the wider of their types: exact numbers meet floats as floats, dates meet timestamps at midnight."""
    if isinstance(left, float) != isinstance(right, float):
        return float(left), float(right)
    if isinstance(left, datetime) != isinstance(right, datetime) and isinstance(left, date):
        return _timestamp(left), _timestamp(right)
    return left, right


def _timestamp(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _interval(delta: timedelta) -> Interval:
    return Interval(delta // timedelta(microseconds=1))


def _moved(moment: date, by: Interval | int, sign: int) -> date:
    """A DATE moves by whole days; by an INTERVAL it becomes a TIMESTAMP."""
    if isinstance(by, Interval):
        return _timestamp(moment) + sign * timedelta(microseconds=by.microseconds)
    return moment + sign * timedelta(days=by)


def add(left: Any, right: Any) -> Any:
    """`+` of numbers, intervals, and a moment with an interval (or days), in either order."""
    if isinstance(left, date):
        return _moved(left, right, 1)
    if isinstance(right, date):
        return _moved(right, left, 1)
    if isinstance(left, Interval):
        return Interval(left.microseconds + right.microseconds)
    return _exactly(operator.add, _EXACT.add, left, right)


def subtract(left: Any, right: Any) -> Any:
    """`-`: two timestamps are an INTERVAL apart, two dates a number of days."""
    if isinstance(left, date) and isinstance(right, date):
        if isinstance(left, datetime) or isinstance(right, datetime):
            return _interval(_timestamp(left) - _timestamp(right))
        return (left - right).days
    if isinstance(left, date):
        return _moved(left, right, -1)
    if isinstance(left, Interval):
        return Interval(left.microseconds - right.microseconds)
    return _exactly(operator.sub, _EXACT.subtract, left, right)


def multiply(left: Any, right: Any) -> Any:
    """`*` of numbers, or of an interval and a whole number."""
    if isinstance(left, Interval):
        return Interval(left.microseconds * right)
    if isinstance(right, Interval):
        return Interval(right.microseconds * left)
    return _exactly(operator.mul, _EXACT.multiply, left, right)


def divide(left: Any, right: Any) -> float | None:
    """`/` is true division in floats; by zero it is NULL."""
    return None if right == 0 else float(left) / float(right)


def remainder(left: Any, right: Any) -> Any:
    """`%` has the sign of the dividend; by zero it is NULL."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return _EXACT.remainder(left, right)


def _exactly(plain: Function, decimal: Function, left: Any, right: Any) -> Any:
    left, right = _alike(left, right)
    return decimal(left, right) if isinstance(left, Decimal) or isinstance(right, Decimal) else plain(left, right)


def negate(value: Any) -> Any:
    """Unary minus."""
    return Interval(-value.microseconds) if isinstance(value, Interval) else -value


def logical_not(value: bool | None) -> bool | None:
    """NOT unknown is unknown."""
    return None if value is None else not value


def logical_and(left: bool | None, right: bool | None) -> bool | None:
    """FALSE wins over unknown."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def logical_or(left: bool | None, right: bool | None) -> bool | None:
    """TRUE wins over unknown."""
    return logical_not(logical_and(logical_not(left), logical_not(right)))


def equal(left: Any, right: Any) -> bool | None:
    """`=`: unknown where a side is NULL."""
    return None if left is None or right is None else compare(left, right) == 0


def _less_or_equal(left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else compare(left, right) <= 0


def _distinct(left: Any, right: Any) -> bool:
    return (left is None) != (right is None) if left is None or right is None else compare(left, right) != 0


def _is_in(value: Any, *candidates: Any) -> bool | None:
    answers = [equal(value, candidate) for candidate in candidates]
    return True if True in answers else None if None in answers else False


def _between(value: Any, low: Any, high: Any) -> bool | None:
    return logical_and(_less_or_equal(low, value), _less_or_equal(value, high))


def _like(text: str, pattern: str) -> bool:
    wildcards = {"%": ".*", "_": "."}
    return re.fullmatch("".join(wildcards.get(c, re.escape(c)) for c in pattern), text, re.DOTALL) is not None


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def largest(values: Sequence[Any]) -> Any:
    """The greatest value that is not NULL, or NULL."""
    return max((value for value in values if value is not None), key=sort_key, default=None)


def smallest(values: Sequence[Any]) -> Any:
    """The least value that is not NULL, or NULL."""
    return min((value for value in values if value is not None), key=sort_key, default=None)


def _rounded(value: Any) -> Any:
    """Half away from zero, in the argument's type."""
    if isinstance(value, int) or (isinstance(value, float) and not math.isfinite(value)):
        return value
    return type(value)(Decimal(value).quantize(Decimal(1), rounding=ROUND_HALF_UP, context=_EXACT))


def _sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def _whole(direction: Function, value: Any) -> Any:
    """FLOOR and CEIL; there is no integer for NaN and the infinities."""
    return direction(value) if math.isfinite(value) else value


STRICT: Mapping[str, Function] = {
    "=": lambda left, right: compare(left, right) == 0,
    "<>": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "neg": negate,
    "not": operator.not_,
    "||": operator.add,
    "like": _like,
    "abs": abs,
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "sign": _sign,
    "floor": partial(_whole, math.floor),
    "ceil": partial(_whole, math.ceil),
    "round": _rounded,
}
"""Operators and functions that are NULL as soon as one argument is."""

NULL_AWARE: Mapping[str, Function] = {
    "and": logical_and,
    "or": logical_or,
    "is null": lambda value: value is None,
    "is not null": lambda value: value is not None,
    "is true": lambda value: value is True,
    "is false": lambda value: value is False,
    "is distinct from": _distinct,
    "is not distinct from": lambda left, right: not _distinct(left, right),
    "in": _is_in,
    "between": _between,
    "coalesce": _coalesce,
    "nullif": lambda left, right: None if equal(left, right) else left,
    "greatest": lambda *values: largest(values),
    "least": lambda *values: smallest(values),
}
"""Those that make something of a NULL."""


def cast(value: Any, type_name: str) -> Any:
    """CAST, only where every host agrees on the answer."""
    if value is None:
        return None
    match type_name.strip().lower():
        case "integer" | "int" | "bigint" if isinstance(value, (int, str)) or value == int(value):
            return int(value)
        case "double":
            return float(value)
        case "varchar" | "string" if isinstance(value, (int, str)) and not isinstance(value, bool):
            return str(value)
        case _:
            raise NotImplementedError(f"CAST of {value!r} to {type_name}")
