"""Expressions that read no row: the host computes them once, when the query is planned."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal

from motif.ir.expr import OPERATORS, Call, Expr, Interval, Literal, Verbatim, walk
from motif.ir.types import Kind, Type
from motif.plan.scalar import NARROW, NULL, Const
from motif.plan.source import HostRefusal, Source, extent

_TYPES = {bytes: Kind.BINARY, dt.date: Kind.DATE, dt.time: Kind.TIME, dt.datetime: Kind.TIMESTAMP}
_IN_QUOTES = re.compile(r"'(?:[^']|'')*'")
_LARGEST = 2**63


def reads_nothing(expr: Expr) -> bool:
    """Whether no row and no match has a part in it."""
    return all(isinstance(node, Literal | Call | Verbatim) for node in walk(expr))


def words_of(expr: Expr) -> Iterator[str]:
    """Lower-case words that may be names of functions."""
    for node in walk(expr):
        if isinstance(node, Call) and node.name not in OPERATORS:
            yield node.name
        elif isinstance(node, Verbatim):
            for part in node.parts:
                yield from re.findall(r"\w+", _IN_QUOTES.sub("", part).lower())


def constant(expr: Expr, source: Source, text: str) -> Const | None:
    """Its value; None where that may be another one the next time, or is of a type that only the host has."""
    if isinstance(expr, Literal):
        return Const(expr.value)
    try:
        known = source.constant(expr)
    except HostRefusal as refusal:
        raise refusal.as_error(text, extent(expr)) from None
    return None if known is None else _const(known[0])


def _const(value: object) -> Const | None:
    match value:
        case int() if not -_LARGEST <= value < _LARGEST:
            return None
        case Decimal() if value == value.to_integral_value() and abs(value) < _LARGEST:
            return Const(int(value))
        case Decimal():
            return Const(value) if value.is_finite() and len(value.as_tuple().digits) <= NARROW else None
        case None | bool() | int() | float() | str() | Interval():
            return Const(value)
        case bytes() | dt.date() | dt.time():
            return Const(value, _type(value))
        case _:
            return None


def _type(value: bytes | dt.date | dt.time) -> Type:
    zoned = isinstance(value, dt.datetime) and value.tzinfo is not None
    return Type(Kind.TIMESTAMP_TZ if zoned else _TYPES.get(type(value), NULL.kind))
