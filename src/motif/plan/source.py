"""What planning needs to know of the host; each host implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motif.ir.expr import Expr
from motif.ir.types import Schema, Type


class Source(Protocol):
    """The input of one clause, as its host sees it."""

    dialect: str

    @property
    def schema(self) -> Schema:
        """Columns of the input in order."""
        ...

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        """Types of row expressions, by the host's own rules; raises MotifError where the host refuses one."""
        ...

    def on_nulls(self, exprs: Sequence[Expr]) -> list[object]:
        """Values of row expressions on a row of which every column is NULL."""
        ...


class HostRefusal(Exception):
    """The host cannot make sense of an expression; the text is its own, without our wrapping."""
