"""Scalar expressions of DEFINE and MEASURES.

A *row expression* is made of `Column`, `Label`, `Literal`, `Call` and `Verbatim`: it speaks of one
row. `At` and `Aggregate` lift a row expression to a match: they say which rows it is read from.
Front ends leave no sugar: `A.price` arrives as `At(Column("price"), var="A")`, a bare `price` as
`At(Column("price"))`, `PREV(LAST(A.price, 2), 3)` as `At(Column("price"), "A", index=2, shift=-3)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias, assert_never

from motif.errors import Span


class End(StrEnum):
    """From which end of a variable's rows `At` counts."""

    FIRST = "FIRST"
    LAST = "LAST"


class Mode(StrEnum):
    """RUNNING sees the match up to the current row, FINAL all of it."""

    RUNNING = "RUNNING"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class Interval:
    """A length of time, a day of which is 24 hours."""

    microseconds: int
    days: int = 0
    """How many days of it were written as such: a host that moves a time by them keeps the time of the day."""


LiteralValue: TypeAlias = int | float | Decimal | str | bool | Interval | None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Decimal text such as 1.5 is a `Decimal`, 1e0 a float."""

    value: LiteralValue
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the row the surrounding `At` or `Aggregate` points to."""

    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Label:
    """The variable the row was matched to: CLASSIFIER() of that row."""

    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """MATCH_NUMBER(): counts matches inside the partition from 1."""

    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (`OPERATORS`) or a function of the host, by lower-case name."""

    name: str
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Host syntax that Motif only carries (casts, EXTRACT, lambdas): text around arguments.

    `parts` has one element more than `args`; the SQL is parts[0] args[0] parts[1] ... parts[-1].
    """

    parts: tuple[str, ...]
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A query of the host that reads nothing of the match: `(SELECT ...)`, or `EXISTS (SELECT ...)`."""

    text: str
    """Without its brackets."""
    exists: bool = False
    gives_rows: bool = False
    """It stands behind IN, ANY or ALL, and is no value by itself."""
    start: int = field(default=0, compare=False)
    """Where the text begins that was written."""
    span: Span | None = field(default=None, compare=False)

    def sql(self) -> str:
        """In the words of its host, which are also those of the query that holds it."""
        return f"{'EXISTS ' if self.exists else ''}({self.text})"


@dataclass(frozen=True, slots=True)
class At:
    """A row expression read at one row of the match.

    The row is the `index`-th from `end` among the rows matched to `var` (None: all rows), moved by
    `shift` rows of the partition (PREV is negative). NULL where there is no such row, whatever `arg`
    makes of NULLs: `LAST(coalesce(A.v, 1))` is NULL without A rows, `coalesce(LAST(A.v), 1)` is 1.
    """

    arg: Expr
    var: str | None = None
    end: End = End.LAST
    index: int = 0
    shift: int = 0
    mode: Mode | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """count, sum, avg, min, max or array_agg of a row expression over rows of a variable.

    `arg` is None for COUNT(*) and COUNT(A.*): rows are counted.
    """

    name: str
    arg: Expr | None
    var: str | None = None
    distinct: bool = False
    mode: Mode | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """An aggregate that only the host knows, over rows of a variable; FILTER takes those for which `filter` holds.

    `call` holds the arguments, and whatever else stands in its brackets. Before binding these are read from the match
    (`At`), since no one but the host knows that it is an aggregate; afterwards they are row expressions.
    """

    call: Expr
    filter: Expr | None = None
    var: str | None = None
    mode: Mode | None = None
    span: Span | None = field(default=None, compare=False)


Expr: TypeAlias = Literal | Column | Label | MatchNumber | Call | Verbatim | SubQuery | At | Aggregate | HostAggregate

COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "neg"})
LOGIC = frozenset({"and", "or", "not", "is null", "is not null", "is true", "is false"})
NULL_SAFE = frozenset({"is distinct from", "is not distinct from"})
OPERATORS = COMPARISONS | ARITHMETIC | LOGIC | NULL_SAFE | {"||", "in", "between", "case", "like", "coalesce", "nullif"}
"""`in`: value, then the list. `case`: condition, result, condition, result, ..., default."""

AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "array_agg"})


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions, in the order they were written."""
    match expr:
        case Literal() | Column() | Label() | MatchNumber() | SubQuery():
            return ()
        case Call(args=args) | Verbatim(args=args):
            return args
        case At(arg=arg):
            return (arg,)
        case Aggregate(arg=arg):
            return () if arg is None else (arg,)
        case HostAggregate(call=call, filter=condition):
            return (call,) if condition is None else (call, condition)
        case _:
            assert_never(expr)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same node over other sub-expressions."""
    match expr:
        case Literal() | Column() | Label() | MatchNumber() | SubQuery():
            return expr
        case Call() | Verbatim():
            return replace(expr, args=new)
        case At():
            return replace(expr, arg=new[0])
        case Aggregate():
            return replace(expr, arg=new[0]) if new else expr
        case HostAggregate():
            return replace(expr, call=new[0], filter=new[1] if len(new) > 1 else None)
        case _:
            assert_never(expr)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, outermost first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def transform(expr: Expr, visit: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild the tree; where `visit` returns a node, that stands instead and is not entered."""
    replaced = visit(expr)
    if replaced is not None:
        return replaced
    below = children(expr)
    if not below:
        return expr
    return with_children(expr, tuple(transform(child, visit) for child in below))
