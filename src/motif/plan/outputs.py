"""MEASURES and output columns -> *leaves*, values the engine picks from the matched rows, and scalar
expressions over leaves, which the host computes after the matching.

An aggregate of the host reads a leaf that lists the rows of the match: the host groups these lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeGuard

from motif.errors import QueryBindError, UnsupportedQuery
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
    transform,
    walk,
)
from motif.ir.query import Measure, RowQuery, Rows
from motif.ir.types import Schema
from motif.plan.conditions import HostColumns


@dataclass(frozen=True, slots=True)
class RowValue:
    """A host column of the output row itself (ONE ROW: of any row of the partition)."""

    column: int


@dataclass(frozen=True, slots=True)
class Gather:
    """A host column (None: the label) at one row of the match."""

    column: int | None
    members: tuple[str, ...]
    end: End
    index: int
    shift: int
    final: bool


@dataclass(frozen=True, slots=True)
class Folded:
    """An aggregate of a host column (None: of rows, or of labels) over the rows of some variables."""

    name: str
    column: int | None
    of_labels: bool
    members: tuple[str, ...]
    distinct: bool
    final: bool

    @property
    def counts_rows(self) -> bool:
        """COUNT(*), which no value matters to."""
        return self.name == "count" and self.column is None and not self.distinct

    @property
    def takes_all_values(self) -> bool:
        """Not to be had one value after the other."""
        return self.distinct or self.name == "array_agg"


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of some variables as a list of structs, each of host columns (None: of the label)."""

    members: tuple[str, ...]
    final: bool
    fields: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """What the host computes over a list of rows, as a column called `name`; it reads fields of the structs."""

    name: str
    rows: str
    """The leaf that is the list."""
    aggregate: HostAggregate


@dataclass(frozen=True, slots=True)
class Number:
    """MATCH_NUMBER()."""


@dataclass(frozen=True, slots=True)
class IsMatched:
    """FALSE on rows that are in no match."""


Leaf: TypeAlias = RowValue | Gather | Folded | Listed | Number | IsMatched


@dataclass(frozen=True)
class Outputs:
    """What the engine returns (leaf i is column `leaf_name(i)`), and the final columns over it."""

    leaves: tuple[Leaf, ...]
    columns: tuple[tuple[str, Expr], ...]
    grouped: tuple[Grouped, ...] = ()
    """What the columns read beside leaves."""

    @cached_property
    def is_plain(self) -> bool:
        """No arithmetic is left for the host: every final column is a leaf."""
        return not self.grouped and all(isinstance(expr, Column) for _, expr in self.columns)


_LEAF = "__leaf_"


def leaf_name(index: int) -> str:
    """Name of a leaf between engine and host."""
    return f"{_LEAF}{index}"


def is_leaf(expr: Expr) -> TypeGuard[Column]:
    """Whether it is a leaf and nothing else."""
    return isinstance(expr, Column) and expr.name.startswith(_LEAF)


def leaf_number(name: str) -> int:
    """The leaf of a name."""
    return int(name.removeprefix(_LEAF))


class Groups:
    """The aggregates of the host that outputs need, over lists of rows."""

    def __init__(self) -> None:
        self.found: list[Grouped] = []

    def add(self, node: HostAggregate, rows: str, own: Callable[[Expr], Expr | None]) -> Column:
        """The column that holds it. `own`: what stands for a column, a label or a number in the list."""
        condition = None if node.filter is None else transform(node.filter, own)
        aggregate = HostAggregate(transform(node.call, own), condition, span=node.span)
        alike = next((g for g in self.found if (g.rows, g.aggregate) == (rows, aggregate)), None)
        if alike is None:
            alike = Grouped(f"__group_{len(self.found)}", rows, aggregate)
            self.found.append(alike)
        return Column(alike.name)


def fields_of(node: HostAggregate) -> tuple[Column | Label, ...]:
    """What it reads of each row."""
    parts = (node.call,) if node.filter is None else (node.call, node.filter)
    return tuple(dict.fromkeys(n for part in parts for n in walk(part) if isinstance(n, Column | Label)))


FIELD = "__field_"
"""How the names of fields of the rows in a list begin."""


def field_name(number: int) -> str:
    """Name of a field of the rows in a list."""
    return f"{FIELD}{number}"


class _Collector:
    def __init__(self, query: RowQuery, columns: HostColumns) -> None:
        self.query = query
        self.columns = columns
        self.leaves: list[Leaf] = []
        self.groups = Groups()
        # ONE ROW PER MATCH is evaluated at the last row, where RUNNING and FINAL are the same.
        self.always_final = query.rows is Rows.ONE

    def leaf(self, leaf: Leaf) -> Column:
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        return Column(leaf_name(self.leaves.index(leaf)))

    def row_value(self, expr: Expr) -> Column:
        return self.leaf(RowValue(self.columns.index(expr)))

    def is_final(self, mode: Mode | None) -> bool:
        return self.always_final or mode is Mode.FINAL

    def measure(self, measure: Measure) -> Expr:
        expr = transform(measure.expr, self.lifted)
        is_leaf = isinstance(expr, Column) and expr.name not in {group.name for group in self.groups.found}
        if self.query.rows is not Rows.ALL_WITH_UNMATCHED or is_leaf:
            return expr
        # Of an unmatched row every measure is NULL, also one that would turn NULL into something else.
        return Call("case", (self.leaf(IsMatched()), expr, Literal(None)))

    def lifted(self, node: Expr) -> Expr | None:
        match node:
            case At(arg=arg, var=var, end=end, index=index, shift=shift, mode=mode):
                column = None if isinstance(arg, Label) else self.column(arg, node)
                return self.leaf(Gather(column, self.query.members(var), end, index, shift, self.is_final(mode)))
            case Aggregate(name=name, arg=arg, var=var, distinct=distinct, mode=mode):
                of_labels = isinstance(arg, Label)
                column = None if arg is None or of_labels else self.column(arg, node)
                members = self.query.members(var)
                return self.leaf(Folded(name, column, of_labels, members, distinct, self.is_final(mode)))
            case HostAggregate():
                return self.grouped(node)
            case MatchNumber():
                return self.leaf(Number())
            case _:
                return None

    def grouped(self, node: HostAggregate) -> Column:
        read = fields_of(node) or (Label(),)  # a struct has something in it
        columns = [None if isinstance(part, Label) else self.columns.index(part) for part in read]
        names = {column: field_name(-1 if column is None else column) for column in columns}
        fields = tuple((names[column], column) for column in columns)
        rows = self.leaf(Listed(self.query.members(node.var), self.is_final(node.mode), fields))

        def own(part: Expr) -> Expr | None:
            match part:
                case Column():
                    return Column(names[self.columns.index(part)])
                case Label():
                    return Column(names[None])
                case MatchNumber():
                    return self.leaf(Number())
                case _:
                    return None

        return self.groups.add(node, rows.name, own)

    def column(self, arg: Expr, node: At | Aggregate) -> int:
        if any(isinstance(part, Label | MatchNumber) for part in walk(arg)):
            raise UnsupportedQuery(
                "not supported: CLASSIFIER() inside a larger expression that is navigated or aggregated",
                source=self.query.source,
                span=node.span,
                hint="navigate CLASSIFIER() by itself, and combine the results",
            )
        return self.columns.index(arg)


def plan_outputs(query: RowQuery, schema: Schema, columns: HostColumns) -> Outputs:
    """Leaves and final columns, in the standard's order.

    ONE ROW: partition columns, measures. ALL ROWS: partition columns, order columns, measures, the other columns.
    """
    collector = _Collector(query, columns)
    keys = [(key.name, collector.row_value(key.expr)) for key in query.partition]
    measures = [(measure.name, collector.measure(measure)) for measure in query.measures]
    if not collector.leaves:
        collector.leaf(IsMatched())  # something must say how many rows there are
    if query.rows is Rows.ONE:
        if not (keys or measures):
            raise QueryBindError(
                "the result would have no columns",
                source=query.source,
                span=query.pattern.span,
                hint="add MEASURES, PARTITION BY, or ALL ROWS PER MATCH",
            )
        return Outputs(tuple(collector.leaves), (*keys, *measures), tuple(collector.groups.found))
    _check_names(query, schema)
    shown = {key.expr.name for key in query.partition if isinstance(key.expr, Column)}
    ordered = dict.fromkeys(item.expr.name for item in query.order if isinstance(item.expr, Column))
    order = [name for name in ordered if name not in shown]
    rest = [name for name in schema if name not in shown and name not in ordered]
    before = [(name, collector.row_value(Column(name))) for name in order]
    after = [(name, collector.row_value(Column(name))) for name in rest]
    final = (*keys, *before, *measures, *after)
    return Outputs(tuple(collector.leaves), final, tuple(collector.groups.found))


def _check_names(query: RowQuery, schema: Schema) -> None:
    """ALL ROWS has the input's columns beside the measures, so their names must differ."""
    taken = {name.casefold() for name in schema}
    for measure in query.measures:
        if measure.name.casefold() in taken:
            raise QueryBindError(
                f"the measure {measure.name} has the name of an input column",
                source=query.source,
                span=measure.span,
                hint="ALL ROWS PER MATCH gives out the input's columns too: give the measure another name",
            )
