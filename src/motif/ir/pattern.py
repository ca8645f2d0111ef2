"""Row patterns: a regular language over variables, with preference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from motif.errors import Span


@dataclass(frozen=True, slots=True)
class Var:
    """One row that satisfies the variable's condition."""

    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Seq:
    """Adjacent parts, one after the other."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives; an earlier one is preferred to a later one, whatever its length."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` repetitions (None: no bound), more preferred if greedy, else fewer.

    Iterations up to `low` may be empty; a further empty iteration ends the loop.
    """

    body: Pattern
    low: int
    high: int | None
    greedy: bool = True
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Permute:
    """All items in any order; the order in which they are listed is preferred, then lexicographic."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Exclude:
    """`{- ... -}`: matched, but its rows are left out of ALL ROWS PER MATCH."""

    body: Pattern
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Anchor:
    """`^` (start) or `$`: the edge of the partition, no row."""

    at_start: bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """`()`: matches no rows, always."""

    span: Span | None = field(default=None, compare=False)


Pattern: TypeAlias = Var | Seq | Choice | Repeat | Permute | Exclude | Anchor | Empty


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """Direct sub-patterns, left to right."""
    match pattern:
        case Var() | Anchor() | Empty():
            return ()
        case Seq(items=items) | Choice(items=items) | Permute(items=items):
            return items
        case Repeat(body=body) | Exclude(body=body):
            return (body,)
        case _:
            assert_never(pattern)


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, left to right."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


def variables(pattern: Pattern) -> tuple[str, ...]:
    """Names of the primary variables in the order of first use."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Var)))
