"""What an expression of DEFINE or MEASURES means at one moment of a match."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple, assert_never

from motif.errors import QueryDataError
from motif.ir.expr import (
    Aggregate,
    At,
    Call,
    Column,
    End,
    Expr,
    HostAggregate,
    Label,
    Literal,
    MatchNumber,
    Mode,
    SubQuery,
    Verbatim,
    transform,
    walk,
)
from motif.testing.scalars import NULL_AWARE, STRICT, Function, add, cast, identity, largest, smallest

Row = Mapping[str, Any]
"""Column values by case-folded name."""


@dataclass(frozen=True, slots=True)
class OverRows:
    """An aggregate among the functions of a query: `of` takes the arguments of each row, in order."""

    of: Callable[[list[tuple[Any, ...]]], Any]

    def __call__(self, rows: list[tuple[Any, ...]]) -> Any:
        return self.of(rows)


class View(NamedTuple):
    """A partition, and as much of a match as the expression may know."""

    rows: Sequence[Row]
    start: int
    labels: tuple[str, ...]
    """One per row of the match from `start` on; in DEFINE the candidate's label is the last."""
    seen: int
    """How many of the labels RUNNING sees: the current row is the last of them."""
    number: int | None


class Evaluator:
    """Evaluates the expressions of one query."""

    def __init__(
        self,
        members: Callable[[str | None], tuple[str, ...]],
        functions: Mapping[str, Function],
        queries: Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
    ) -> None:
        """`queries`: the rows that sub-queries give, by their text."""
        self._members = members
        self._functions = functions
        self._queries = queries or {}

    def value(self, expr: Expr, view: View, row: int | None = None) -> Any:
        """The value of `expr`; `row` is the row that a surrounding `At` or `Aggregate` points to."""
        match expr:
            case Call():
                return self._call(expr, view, row)
            case Column(name=name):
                assert row is not None, f"column {name} outside of At or Aggregate"
                return view.rows[row][name.casefold()]
            case Literal(value=value):
                return value
            case At():
                return self._at(expr, view)
            case Aggregate():
                return self._aggregate(expr, view)
            case HostAggregate(call=call, filter=condition, mode=mode):
                return self._host_aggregate(call, condition, view, mode)
            case Label():
                assert row is not None, "Label outside of At or Aggregate"
                position = row - view.start
                return view.labels[position] if 0 <= position < len(view.labels) else None
            case MatchNumber():
                return view.number
            case SubQuery():
                return self._sub_query(expr)
            case Verbatim(args=(left, SubQuery(gives_rows=True) as query)):
                return self._among(expr.parts[1].split(), left, query, view, row)
            case Verbatim():
                return self._host_syntax(expr, view, row)
            case _:
                assert_never(expr)

    def positions(self, var: str | None, view: View, mode: Mode | None) -> list[int]:
        """Rows of the partition that are matched to `var`, in order."""
        known = view.labels if mode is Mode.FINAL else view.labels[: view.seen]
        if var is None:
            return list(range(view.start, view.start + len(known)))
        members = self._members(var)
        return [view.start + i for i, label in enumerate(known) if label in members]

    def _at(self, at: At, view: View) -> Any:
        positions = self.positions(at.var, view, at.mode)
        if at.index >= len(positions):
            return None
        row = positions[at.index if at.end is End.FIRST else -1 - at.index] + at.shift
        return self.value(at.arg, view, row) if 0 <= row < len(view.rows) else None

    def _aggregate(self, aggregate: Aggregate, view: View) -> Any:
        positions = self.positions(aggregate.var, view, aggregate.mode)
        if aggregate.arg is None:
            return len(positions)
        values = [self.value(aggregate.arg, view, row) for row in positions]
        if aggregate.distinct:
            values = distinct(values)
        return aggregated(aggregate.name, values)

    def _host_aggregate(self, call: Expr, condition: Expr | None, view: View, mode: Mode | None) -> Any:
        """A function of the values of rows, which are those of the one variable that its arguments name."""
        name, quantifier, args, keys = _shape(call)
        named = dict.fromkeys(
            node.var for part in (call, condition) if part for node in walk(part) if isinstance(node, At)
        )
        assert len(named) <= 1, "one variable"
        rows = self.positions(next(iter(named), None), view, mode)
        if condition is not None:
            rows = [row for row in rows if self.value(_of_row(condition), view, row) is True]
        for key, words in reversed(keys):  # sorting keeps the order of what is equal
            sorted_by = {row: self.value(_of_row(key), view, row) for row in rows}
            given = [row for row in rows if sorted_by[row] is not None]
            known = sorted(given, key=sorted_by.__getitem__, reverse="DESC" in words)
            unknown = [row for row in rows if sorted_by[row] is None]
            rows = unknown + known if "FIRST" in words else known + unknown
        values = [tuple(self.value(_of_row(arg), view, row) for arg in args) for row in rows]
        values = distinct(values) if quantifier == "DISTINCT" else values
        return (
            aggregated(name, [value for (value,) in values]) if name == "array_agg" else self._functions[name](values)
        )

    def _call(self, call: Call, view: View, row: int | None) -> Any:
        if isinstance(self._functions.get(call.name), OverRows):
            return self._host_aggregate(call, None, view, None)
        if call.name == "case":
            return self._case(call.args, view, row)
        if call.name in ("and", "or"):
            return self._logic(call, view, row)
        values = [self.value(arg, view, row) for arg in call.args]
        if call.name in NULL_AWARE:
            return NULL_AWARE[call.name](*values)
        if call.name in STRICT:
            return None if None in values else STRICT[call.name](*values)
        if call.name in self._functions:
            return self._functions[call.name](*values)
        raise NotImplementedError(f"the reference has no function {call.name}")

    def _logic(self, call: Call, view: View, row: int | None) -> Any:
        """From left to right; nothing is computed once the answer is known."""
        values = []
        for arg in call.args:
            values.append(self.value(arg, view, row))
            if values[-1] is (call.name == "or"):
                return values[-1]
        return NULL_AWARE[call.name](*values)

    def _case(self, args: tuple[Expr, ...], view: View, row: int | None) -> Any:
        for condition, result in zip(args[:-1:2], args[1::2], strict=True):
            if self.value(condition, view, row) is True:
                return self.value(result, view, row)
        return self.value(args[-1], view, row)

    def _sub_query(self, query: SubQuery) -> Any:
        rows = self._queries[query.text]
        if query.exists:
            return bool(rows)
        if len(rows) > 1:
            raise QueryDataError("a sub-query gives more than one row")
        return rows[0][0] if rows else None

    def _among(self, words: list[str], left: Expr, query: SubQuery, view: View, row: int | None) -> Any:
        """`x IN (...)`, `x < ALL (...)`: as ORs or ANDs of comparisons with each row, one after the other."""
        operator, joined = ("=", "or") if words == ["IN"] else (words[0], "and" if words[1] == "ALL" else "or")
        parts = left.args if isinstance(left, Verbatim) else (left,)
        values = [self.value(part, view, row) for part in parts]
        found: Any = joined == "and"
        for other in self._queries[query.text]:
            test: Any = True
            for one, two in zip(values, other, strict=True):
                equal = None if one is None or two is None else STRICT[operator](one, two)
                test = NULL_AWARE["and"](test, equal)
            found = NULL_AWARE[joined](found, test)
        return found

    def _host_syntax(self, verbatim: Verbatim, view: View, row: int | None) -> Any:
        """The few pieces of host syntax whose meaning is beyond doubt: CAST, DATE and TIMESTAMP literals."""
        text = " ? ".join(verbatim.parts)
        if found := re.fullmatch(r"\s*CAST\s*\(\s*\?\s*AS\s+(\w+)\s*\)", text, re.IGNORECASE):
            return cast(self.value(verbatim.args[0], view, row), found[1])
        if found := re.fullmatch(r"DATE\s*'(.*)'", text, re.IGNORECASE):
            return date.fromisoformat(found[1])
        if found := re.fullmatch(r"TIMESTAMP\s*'(.*)'", text, re.IGNORECASE):
            return datetime.fromisoformat(found[1])
        raise NotImplementedError(f"the reference can not read {text}")


def _of_row(expr: Expr) -> Expr:
    """What an aggregate reads of one row."""
    return transform(expr, lambda node: node.arg if isinstance(node, At) else None)


def _shape(call: Expr) -> tuple[str, str | None, list[Expr], list[tuple[Expr, str]]]:
    """Name, DISTINCT or ALL, arguments, and keys of ORDER BY with what is said of them."""
    if isinstance(call, Call):
        return call.name, None, list(call.args), []
    assert isinstance(call, Verbatim)
    found = re.fullmatch(r"\s*(\w+)\s*\(\s*(DISTINCT|ALL)?\s*", call.parts[0], re.IGNORECASE)
    if found is None or not call.parts[-1].endswith(")"):
        raise NotImplementedError(f"the reference can not read {' ? '.join(call.parts)}")
    args: list[Expr] = []
    keys: list[tuple[Expr, str]] = []
    for before, arg, behind in zip(call.parts, call.args, call.parts[1:], strict=False):
        if keys or "ORDER BY" in before.upper():
            keys.append((arg, behind.upper()))
        else:
            args.append(arg)
    return found[1].lower(), (found[2] or "").upper() or None, args, keys


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, where it first occurs."""
    first: dict[Hashable, Any] = {}
    for value in values:
        first.setdefault(identity(value), value)
    return list(first.values())


def aggregated(name: str, values: list[Any]) -> Any:
    """The aggregate of the values of some rows; all but ARRAY_AGG pass over NULLs."""
    if name == "array_agg":
        return values or None
    present = [value for value in values if value is not None]
    match name:
        case "count":
            return len(present)
        case "sum":
            return total(present)
        case "avg":
            return float(total(present)) / len(present) if present else None
        case "min":
            return smallest(present)
        case "max":
            return largest(present)
        case _:
            raise NotImplementedError(f"the reference has no aggregate {name}")


def total(values: list[Any]) -> Any:
    """The sum in the order of the rows; NULL over none."""
    if not values:
        return None
    result = values[0]
    for value in values[1:]:
        result = add(result, value)
    return result
