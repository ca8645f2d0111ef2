"""One MATCH_RECOGNIZE clause as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from motif.errors import Span
from motif.ir.expr import Expr, Interval
from motif.ir.pattern import Pattern, variables


class Rows(StrEnum):
    """What comes out of a match."""

    ONE = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(StrEnum):
    """Where the search goes on after a match that is not empty."""

    PAST_LAST = "PAST LAST ROW"
    NEXT = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


class MatchMode(StrEnum):
    """MAXIMAL reports the preferred match; INCREMENTAL also each earlier row where it was complete."""

    MAXIMAL = "MAXIMAL MATCH"
    INCREMENTAL = "INCREMENTAL MATCH"


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP; `var` for TO FIRST and TO LAST (a primary variable or a subset)."""

    to: SkipTo = SkipTo.PAST_LAST
    var: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """A PARTITION BY item: a row expression and the name it has in the output."""

    expr: Expr
    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Order:
    """An ORDER BY item; NULLs come last unless said otherwise."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Measure:
    """`expr AS name`."""

    expr: Expr
    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Define:
    """`var AS condition`."""

    var: str
    condition: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Subset:
    """A union variable: its rows are the rows of its members."""

    name: str
    members: tuple[str, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Within:
    """Longest span from the first to the last row, inclusive, on the first ORDER BY column."""

    bound: Interval | int | float
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """PARTITION BY ... DEFINE ..., with the standard's defaults filled in."""

    pattern: Pattern
    defines: tuple[Define, ...] = ()
    measures: tuple[Measure, ...] = ()
    partition: tuple[Key, ...] = ()
    order: tuple[Order, ...] = ()
    subsets: tuple[Subset, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = Skip()
    within: Within | None = None
    match_mode: MatchMode = MatchMode.MAXIMAL
    source: str = field(default="", compare=False)
    """The text the spans point into."""

    def variables(self) -> tuple[str, ...]:
        """Primary variables in the order of first use in the pattern."""
        return variables(self.pattern)

    def members(self, var: str | None) -> tuple[str, ...]:
        """The primary variables behind a variable, a subset, or all (None)."""
        if var is None:
            return self.variables()
        for subset in self.subsets:
            if subset.name == var:
                return subset.members
        return (var,)
