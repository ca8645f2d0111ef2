"""What planning needs to know of the host; each host implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

from motif.errors import HostError, MotifError, Span
from motif.ir.expr import Expr, walk
from motif.ir.types import Schema, Type

Answers: TypeAlias = "Callable[[Expr, Sequence[Any]], Sequence[Any]]"
"""Whether a condition over columns a0, a1, ... holds (TRUE, FALSE, None, or an error) for each row of arguments."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition over columns a0, a1, ..., and how the host is asked."""

    expr: Expr
    answers: Answers | None = field(repr=False)
    """None where only the text of a query is known."""


class Verdict(Enum):
    """What the host makes of an expression over the rows of a table."""

    VALUE = "one value for each row"
    AGGREGATE = "one value for all rows"
    ROWS = "several rows for each"


@dataclass(frozen=True, slots=True)
class QueryRefusal:
    """What the host has against a query, and where in its text."""

    error: MotifError
    position: int | None = None
    length: int = 1


class Source(Protocol):
    """The input of one clause, as its host sees it."""

    dialect: str

    @property
    def answers(self) -> Answers | None:
        """How the host is asked while matches are searched; None where it can not be."""
        ...

    @property
    def schema(self) -> Schema:
        """Columns of the input in order."""
        ...

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        """Types of row expressions, by the host's own rules; raises MotifError where the host refuses one."""
        ...

    def verdict(self, exprs: Sequence[Expr]) -> Verdict:
        """What the host says of the first of them that is not a value; raises `HostRefusal` where it has no answer."""
        ...

    def type_name(self, expr: Expr) -> str:
        """The host's own name of the type of an expression, which may be an aggregate."""
        ...

    def query_refusal(self, text: str) -> QueryRefusal | None:
        """What is wrong with a sub-query that stands alone; None if it reads tables that are there, and only them."""
        ...

    def leaves_texts(self, column: str) -> bool:
        """Whether texts of a column are better compared with constants by Motif than by the host."""
        ...

    def constant(self, expr: Expr) -> tuple[object] | None:
        """The value of an expression that reads no column; None where it may be another one the next time.

        An interval is a fixed length of time. Raises HostRefusal where the host can not compute it.
        """
        ...

    def is_steady(self, expr: Expr) -> bool:
        """Whether functions in an expression give the same each time they are computed."""
        ...

    def on_nulls(self, exprs: Sequence[Expr]) -> list[object]:
        """Values of row expressions on a row of which every column is NULL."""
        ...


class HostRefusal(HostError):
    """The host cannot make sense of an expression; the text is its own, without our wrapping."""


def host_types(text: str, exprs: Sequence[Expr], source: Source) -> tuple[Type, ...]:
    """Ask for all types at once; if the host refuses, find the expression to blame in the text of the query."""
    try:
        return tuple(source.types_of(exprs))
    except HostRefusal as refusal:
        for expr in exprs:
            try:
                source.types_of([expr])
            except HostRefusal as culprit:
                raise culprit.as_error(text, extent(expr)) from None
        raise refusal.as_error() from None


def extent(expr: Expr) -> Span | None:
    """The piece of text an expression was written as."""
    spans = [node.span for node in walk(expr) if node.span is not None]
    if not spans:
        return None
    return Span(min(span.start for span in spans), max(span.end for span in spans))
