"""What an expression may refer to, and what was referred to inside FIRST( ), SUM( ) and their kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from motif.errors import Span


class Place(Enum):
    """Which sub-clause an expression stands in; the value is how messages call it."""

    PARTITION = "PARTITION BY"
    ORDER = "ORDER BY"
    MEASURES = "MEASURES"
    DEFINE = "DEFINE"
    WHERE = "WHERE"
    SELECT = "SELECT"
    RETURN = "RETURN"

    @property
    def row_only(self) -> bool:
        """PARTITION BY and ORDER BY are read before there is any match."""
        return self in (Place.PARTITION, Place.ORDER)

    @property
    def is_condition(self) -> bool:
        """DEFINE and WHERE are decided while a match grows."""
        return self in (Place.DEFINE, Place.WHERE)


@dataclass(frozen=True, slots=True)
class Scope:
    """Names of pattern variables and subsets, and the place."""

    place: Place
    variables: frozenset[str] = frozenset()
    table: str | None = None
    """The name or alias of the table in front of the clause."""


@dataclass(slots=True)
class Argument:
    """The inside of a navigation or an aggregate: which variables its columns were qualified with."""

    function: str
    references: list[tuple[str | None, Span]] = field(default_factory=list)
