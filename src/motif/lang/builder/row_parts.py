"""What row patterns are made of: variables, quantifiers, alternatives, PERMUTE, exclusion, anchors."""

from __future__ import annotations

from types import EllipsisType
from typing import NoReturn

from motif.errors import MotifError
from motif.ir import pattern as ir
from motif.ir.expr import Aggregate, At, Column, Expr, Label
from motif.lang.builder.arguments import bounds, is_a, is_text
from motif.lang.builder.keys import new_key, shown
from motif.lang.builder.value import Value, node_of


class RowPart:
    """A part of a row pattern: `a`, `b.plus()`, `a | b`, `rows(a, b)`; conditions of its variables come along."""

    __slots__ = ("_conditions", "_pattern")
    _pattern: ir.Pattern
    _conditions: dict[str, Expr]

    def __init__(self, pattern: ir.Pattern, conditions: dict[str, Expr]) -> None:
        object.__setattr__(self, "_pattern", pattern)
        object.__setattr__(self, "_conditions", conditions)

    def __setattr__(self, name: str, given: object) -> NoReturn:
        raise MotifError("a pattern can not be changed", hint="its methods return new ones")

    def __or__(self, other: RowPart) -> RowPart:
        """`a | b`: the first that matches is preferred."""
        left = self._pattern.items if isinstance(self._pattern, ir.Choice) else (self._pattern,)
        return RowPart(ir.Choice((*left, part(other)._pattern)), self._conditions | other._conditions)

    def __bool__(self) -> NoReturn:
        raise MotifError("a pattern has no truth", hint="write a | b for alternatives")

    # -- quantifiers ----------------------------------------------------------------------------

    def times(self, low: int, high: int | EllipsisType | None = ...) -> RowPart:
        """`{low}`; with `high` `{low,high}`, where None is no bound."""
        return self._repeated(*bounds(low, high))

    def plus(self) -> RowPart:
        """One or more."""
        return self._repeated(1, None)

    def star(self) -> RowPart:
        """Any number, also none."""
        return self._repeated(0, None)

    def opt(self) -> RowPart:
        """One or none."""
        return self._repeated(0, 1)

    def reluctant(self) -> RowPart:
        """The quantifier prefers fewer rows: `b.plus().reluctant()` is `B+?`."""
        loop = self._pattern
        if not isinstance(loop, ir.Repeat):
            raise MotifError("reluctant() follows a quantifier", hint="write b.plus().reluctant()")
        return self._around(ir.Repeat(loop.body, loop.low, loop.high, greedy=False))

    def _repeated(self, low: int, high: int | None) -> RowPart:
        return self._around(ir.Repeat(part(self)._pattern, low, high))

    def _around(self, pattern: ir.Pattern) -> RowPart:
        return RowPart(pattern, self._conditions)

    def _check_part(self) -> None:
        """Complain if this can not be a part of another pattern."""


class RowVar(RowPart):
    """A variable of a row pattern with its quantifiers, or a subset: `b.price` is a column of its last row."""

    __slots__ = ("_key", "_members")
    _key: str
    _members: tuple[str, ...]
    """Of a subset: the variables it is made of."""

    def __init__(
        self,
        key: str,
        conditions: dict[str, Expr],
        members: tuple[str, ...] = (),
        pattern: ir.Pattern | None = None,
    ) -> None:
        super().__init__(pattern or ir.Var(key), conditions)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_members", members)

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or name in (*RowVar.__slots__, *RowPart.__slots__):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Value:
        if not is_text(name):
            raise MotifError("a column is named by a string", hint='write b["price"] or b.price')
        return Value(At(Column(name), self._key))

    def __repr__(self) -> str:
        if self._members:
            return f"<subset {shown(self._key)}>"
        return f"<row {shown(self._key)}>"

    def _around(self, pattern: ir.Pattern) -> RowPart:
        # Still the same variable, so that `b := row("B").plus()` can be used in conditions.
        return RowVar(self._key, self._conditions, self._members, pattern)

    def count(self) -> Value:
        """`COUNT(B.*)`: how many rows it has."""
        return Value(Aggregate("count", None, self._key))


def row(name: str | None = None, condition: Value | None = None) -> RowVar:
    """A variable over rows; without a name it gets A, B, ... from its place, without a condition any row will do.

    In the condition `col.price` is a column of the row itself: `row("DOWN", col.price < col.price.prev())`.
    """
    if name is not None and not is_text(name):
        raise MotifError(f"the name of a variable is a string, not {name!r}", hint='write row("A")')
    if not is_a(condition, Value, type(None)):
        raise MotifError(f"{condition!r} is not a condition", hint="write row('A', col.price > 10)")
    key = name or new_key("row")
    return RowVar(key, {} if condition is None else {key: node_of(condition)})


def subset(name: str, *members: RowVar) -> RowVar:
    """SUBSET: the rows of several variables under one name; pass it to `subsets(...)` of the pattern."""
    if not is_text(name) or not members or not all(is_a(member, RowVar) for member in members):
        raise MotifError("a subset has a name and variables", hint='write u = subset("U", a, b)')
    return RowVar(name, {}, tuple(member._key for member in members))


def part(given: RowPart) -> RowPart:
    """A part, or a complaint about what came instead."""
    if not is_a(given, RowPart):
        raise MotifError(f"{given!r} is not a part of a row pattern", hint="write rows(a := row('A'), b.plus())")
    if isinstance(given, RowVar) and given._members:
        raise MotifError(f"{given!r} can not stand in the pattern", hint="use the variables it is made of")
    given._check_part()
    return given


def permute(*parts: RowPart) -> RowPart:
    """PERMUTE: all parts in any order."""
    if not parts:
        raise MotifError("permute() of nothing", hint="write permute(a, b, c)")
    return RowPart(ir.Permute(tuple(part(each)._pattern for each in parts)), gathered(parts))


def exclude(*parts: RowPart) -> RowPart:
    """`{- ... -}`: matched, but its rows are left out of all_rows()."""
    return RowPart(ir.Exclude(joined(parts)), gathered(parts))


def joined(parts: tuple[RowPart, ...]) -> ir.Pattern:
    """The parts one after the other."""
    if not parts:
        raise MotifError("a pattern of nothing", hint="write rows(a := row('A'), b := row('B').plus())")
    patterns = tuple(part(each)._pattern for each in parts)
    return patterns[0] if len(patterns) == 1 else ir.Seq(patterns)


def gathered(parts: tuple[RowPart, ...]) -> dict[str, Expr]:
    """The conditions that the parts bring along."""
    return {key: condition for each in parts for key, condition in each._conditions.items()}


def classifier(var: RowVar | None = None) -> Value:
    """CLASSIFIER(): the variable of the current row, or of the last row of a subset."""
    return Value(At(Label(), None if var is None else var._key))


at_start = RowPart(ir.Anchor(at_start=True), {})
"""`^`: the start of the partition."""
at_end = RowPart(ir.Anchor(at_start=False), {})
"""`$`: the end of the partition."""
