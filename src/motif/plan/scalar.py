"""Typed expressions over values of *different* rows: what is left of a condition once the host has done its part.

A value travels in one of three lanes: INT (64-bit: integers, narrow decimals as scaled integers, booleans, dates,
times), FLOAT, or CODE (strings and other ordered values as their rank among all values of one run).
`typer` gives every node its type and inserts conversions, so that arguments of an operator always agree.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from motif.errors import Span
from motif.ir.expr import ARITHMETIC, COMPARISONS, LOGIC, NULL_SAFE, End, Interval, LiteralValue
from motif.ir.types import Kind, Type

BOOLEAN = Type(Kind.BOOLEAN)
INTEGER = Type(Kind.INTEGER)
FLOAT = Type(Kind.FLOAT)
STRING = Type(Kind.STRING)
NULL = Type(Kind.NULL)
INTERVAL = Type(Kind.INTERVAL)
TIMESTAMP = Type(Kind.TIMESTAMP)
DAY = 86_400_000_000
NARROW = 18
"""Decimals up to this many digits fit the INT lane."""


class Lane(StrEnum):
    """How a value is held by the kernels."""

    INT = "int"
    FLOAT = "float"
    CODE = "code"


class Base(StrEnum):
    """What a place is counted from: the current row, the whole match so far, or the rows of some variables."""

    ROW = "row"
    MATCH = "match"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the match: the index-th from an end of its base, moved by `shift` rows."""

    base: Base
    members: tuple[str, ...] = ()
    end: End = End.LAST
    index: int = 0
    shift: int = 0

    @property
    def is_current(self) -> bool:
        """The row under test itself, which is always there."""
        return self.base is Base.ROW and self.shift == 0


@dataclass(frozen=True, slots=True)
class Read:
    """A host column read at a place; `absent` stands in where there is no such row."""

    column: int
    place: Place
    absent: Const | None = None
    type: Type = NULL


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: LiteralValue | dt.date | dt.time | bytes
    type: Type = NULL


@dataclass(frozen=True, slots=True)
class Fold:
    """Running aggregate of a host column (None: rows) over the rows of some variables."""

    name: str
    column: int | None
    members: tuple[str, ...]
    type: Type = INTEGER
    distinct: bool = False
    """Each value counts once, where it first is."""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LabelAt:
    """The variable that the row at a place was matched to."""

    place: Place
    type: Type = STRING


@dataclass(frozen=True, slots=True)
class Trying:
    """The number of the match being tried."""

    type: Type = INTEGER


@dataclass(frozen=True, slots=True)
class Op:
    """An operator whose arguments agree in type; besides SQL's: rescale, to_float, days_to_us."""

    name: str
    args: tuple[Scalar, ...]
    type: Type = NULL
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """A whole condition that only the host can decide: its number, and what of the match it is decided by.

    Rows are given as they are (a `Read` stands for its row), everything else as a value.
    """

    number: int
    args: tuple[Scalar, ...]
    type: Type = BOOLEAN


Scalar: TypeAlias = Read | Const | Fold | LabelAt | Trying | Op | Ask

NATIVE = (
    COMPARISONS
    | ARITHMETIC
    | LOGIC
    | NULL_SAFE
    | frozenset({"abs", "case", "coalesce", "nullif", "greatest", "least", "in", "between"})
)
"""What Motif itself can compute across rows; everything else only the host can, on one row."""
STRICT = COMPARISONS | frozenset("+ - * / % neg abs || like not".split())
"""NULL in, NULL out: may be computed by the host before the row is known to exist."""


def lane(kind: Type) -> Lane:
    """The lane a type travels in."""
    match kind.kind:
        case Kind.FLOAT:
            return Lane.FLOAT
        case Kind.INTEGER:
            return Lane.INT if kind.bits < 64 or (kind.bits == 64 and kind.signed) else Lane.CODE
        case Kind.DECIMAL:
            return Lane.INT if kind.precision <= NARROW else Lane.CODE
        case Kind.STRING | Kind.BINARY | Kind.OTHER:
            return Lane.CODE
        case _:
            return Lane.INT


def exact(digits: int) -> Type:
    """The exact number type of the INT lane with that many digits after the point."""
    return Type(Kind.DECIMAL, precision=NARROW, scale=digits) if digits else INTEGER


_SCALED = frozenset({Kind.DECIMAL, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.TIME, Kind.INTERVAL})


def scale(kind: Type) -> int:
    """Digits after the point that the INT lane holds as part of the integer; of times, beyond microseconds."""
    return kind.scale if kind.kind in _SCALED else 0


def scalars(node: Scalar) -> list[Scalar]:
    """The expression and everything in it."""
    below = node.args if isinstance(node, Op | Ask) else ()
    return [node, *(inner for arg in below for inner in scalars(arg))]


def held(node: Scalar) -> list[Scalar]:
    """The same but for rows that the host is asked about, whose values are in no lane."""
    below = node.args if isinstance(node, Op) else ()
    if isinstance(node, Ask):
        below = tuple(arg for arg in node.args if not isinstance(arg, Read))
    return [node, *(inner for arg in below for inner in held(arg))]


def as_int(value: object, kind: Type) -> int:
    """A constant as the INT lane holds it."""
    match value:
        case None:
            return 0
        case bool() | int():
            return int(value * 10 ** scale(kind))
        case Decimal():
            return int(value * 10 ** scale(kind))
        case Interval(microseconds=us):
            return us
        case dt.datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
            since: int = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
            return int(since * 10 ** scale(kind))
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case dt.time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case dt.timedelta():
            return value // dt.timedelta(microseconds=1)
        case _:
            raise TypeError(f"{type(value).__name__} is not an integer")
