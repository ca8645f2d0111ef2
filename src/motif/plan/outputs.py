"""MEASURES and output columns -> *leaves*, values the engine picks from the matched rows, and scalar
expressions over leaves, which the host computes after the matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from motif.errors import QueryBindError, UnsupportedQuery
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Label, Literal, MatchNumber, Mode, transform, walk
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
class Number:
    """MATCH_NUMBER()."""


@dataclass(frozen=True, slots=True)
class IsMatched:
    """FALSE on rows that are in no match."""


Leaf: TypeAlias = RowValue | Gather | Folded | Number | IsMatched


@dataclass(frozen=True)
class Outputs:
    """What the engine returns (leaf i is column `leaf_name(i)`), and the final columns over it."""

    leaves: tuple[Leaf, ...]
    columns: tuple[tuple[str, Expr], ...]

    @cached_property
    def is_plain(self) -> bool:
        """No arithmetic is left for the host: every final column is a leaf."""
        return all(isinstance(expr, Column) for _, expr in self.columns)


def leaf_name(index: int) -> str:
    """Name of a leaf between engine and host."""
    return f"__leaf_{index}"


class _Collector:
    def __init__(self, query: RowQuery, columns: HostColumns) -> None:
        self.query = query
        self.columns = columns
        self.leaves: list[Leaf] = []
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
        if self.query.rows is not Rows.ALL_WITH_UNMATCHED or isinstance(expr, Column):
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
            case MatchNumber():
                return self.leaf(Number())
            case _:
                return None

    def column(self, arg: Expr, node: At | Aggregate) -> int:
        if any(isinstance(part, Label) for part in walk(arg)):
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
        return Outputs(tuple(collector.leaves), (*keys, *measures))
    _check_names(query, schema)
    shown = {key.expr.name for key in query.partition if isinstance(key.expr, Column)}
    ordered = dict.fromkeys(item.expr.name for item in query.order if isinstance(item.expr, Column))
    order = [name for name in ordered if name not in shown]
    rest = [name for name in schema if name not in shown and name not in ordered]
    before = [(name, collector.row_value(Column(name))) for name in order]
    after = [(name, collector.row_value(Column(name))) for name in rest]
    return Outputs(tuple(collector.leaves), (*keys, *before, *measures, *after))


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
