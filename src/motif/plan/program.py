"""A planned clause: all that a Session needs, and what the host computes before and after it.

Flat, frozen, printable and versioned. This is what Spark ships to its workers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from motif.ir.expr import Column, Expr
from motif.ir.query import RowQuery
from motif.ir.render import render_query
from motif.ir.types import Type
from motif.limits import Limits
from motif.plan.automaton import Automaton
from motif.plan.codegen import Environment
from motif.plan.conditions import Condition
from motif.plan.markers import Markers
from motif.plan.outputs import Outputs
from motif.plan.scalar import Ask, Fold, Read, Scalar, scalars
from motif.plan.source import Asked

VERSION = 1


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY item of the host query; `column` where the sorted value is also handed over."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """WITHIN: a host column and the largest difference in its lane's unit."""

    column: int
    bound: int | float


@dataclass(frozen=True, slots=True)
class Memory:
    """Per state: what is remembered of dead ends."""

    slots: tuple[int, ...]
    """Number of a SPLIT whose dead ends are remembered, or -1."""
    fleeting: tuple[bool, ...]
    """They hold for one search only."""
    signed: tuple[bool, ...]
    """They hold only for paths with the same signature."""


@dataclass(frozen=True)
class Program:
    """See the module; without slots, so that what follows from it is worked out once."""

    query: RowQuery
    dialect: str
    columns: tuple[Expr, ...]
    """Row expressions the host hands over, sorted; a plain column is one of the input's own."""
    types: tuple[Type, ...]
    keys: tuple[int, ...]
    """Columns that tell partitions apart."""
    order: tuple[SortKey, ...]
    ties: tuple[Expr, ...]
    """What orders rows that are equal in ORDER BY."""
    windowed: bool
    """The host reads neighbouring rows for some columns, and numbers the rows to keep equal ones in place."""
    variables: tuple[str, ...]
    automaton: Automaton
    conditions: tuple[Condition, ...]
    row_columns: tuple[int | None, ...]
    """Per variable: the boolean host column of its row-only part."""
    neighbours: tuple[tuple[Scalar, ...], ...]
    """Per variable: conditions on rows at a fixed distance, typed."""
    dependent: tuple[tuple[Scalar, ...], ...]
    """Per variable: conditions on the match, typed."""
    markers: Markers
    environment: Environment
    memory: Memory
    lookback: int
    lookahead: int
    within: Span | None
    outputs: Outputs
    limits: Limits
    asks: tuple[Asked, ...] = ()
    """Conditions that the host decides while matches are searched, by number."""
    version: int = VERSION

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """Columns that tell partitions apart, or that conditions across rows read."""
        scalars_of_all = (part for parts in (*self.neighbours, *self.dependent) for part in parts)
        nodes = (node for part in scalars_of_all for node in scalars(part))
        read = {node.column for node in nodes if isinstance(node, Read | Fold) and node.column is not None}
        return tuple(sorted({*self.keys, *read}))

    @cached_property
    def key_leaves(self) -> tuple[str, ...]:
        """The leaves that the partition columns of the result are."""
        own = self.outputs.columns[: len(self.query.partition)]
        return tuple(expr.name for _, expr in own if isinstance(expr, Column))

    @cached_property
    def questions(self) -> tuple[Ask, ...]:
        """What of a match decides each of `asks`."""
        nodes = (node for parts in self.dependent for part in parts for node in scalars(part) if isinstance(node, Ask))
        return tuple(sorted(dict.fromkeys(nodes), key=lambda ask: ask.number))

    @property
    def is_row_only(self) -> bool:
        """No condition depends on the match: linear time is guaranteed."""
        return not any(self.dependent)

    @cached_property
    def fingerprint(self) -> str:
        """Names the query in saved state: equal for equal meaning."""
        text = f"{self.version}\n{self.dialect}\n{render_query(self.query)}\n{self.types}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]
