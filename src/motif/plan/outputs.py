"""MEASURES and output columns -> *leaves*, values the engine picks from the matched rows, and scalar
expressions over leaves, which the host computes after the matching.

An aggregate of the host reads a leaf that lists the rows of the match: the host groups these lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeGuard

from motif.errors import QueryBindError
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
    Verbatim,
    transform,
    walk,
)
from motif.ir.query import Measure, RowQuery, Rows
from motif.ir.types import Kind, Schema, Type
from motif.plan.certain import is_certain
from motif.plan.conditions import HostColumns
from motif.plan.lists import ArrayAgg, field, folded, values
from motif.plan.source import HostRefusal, Source, Verdict, host_types


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
class Found:
    """Whether there is such a row of the match."""

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


Leaf: TypeAlias = RowValue | Gather | Found | Folded | Listed | Number | IsMatched


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


def fields_of(node: Expr) -> tuple[Column | Label, ...]:
    """What it reads of each row."""
    return tuple(dict.fromkeys(part for part in walk(node) if isinstance(part, Column | Label)))


FIELD = "__field_"
"""How the names of fields of the rows in a list begin."""


def field_name(column: int | None) -> str:
    """Name of a field of the rows in a list; None: of the label."""
    return f"{FIELD}{'label' if column is None else column}"


class Lazy:
    """What must be computed for the rows of an aggregate only; asks the host what it is."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text

    def is_lazy(self, arg: Expr) -> bool:
        """Whether it may fail on some row, and the host can compute it where it is read."""
        if isinstance(arg, Label) or is_certain(arg, self.source.schema, self.source.dialect):
            return False
        if any(isinstance(part, Label | MatchNumber) for part in walk(arg)):
            return True
        try:
            list_of_one = Verbatim(("array(1)" if self.source.dialect == "spark" else "[1]",), ())
            return self.source.verdict([values(list_of_one, arg, self.source.dialect)]) is Verdict.VALUE
        except HostRefusal:
            return False

    def folded(self, node: Aggregate, rows: Expr, own: Callable[[Expr], Expr | None]) -> Expr:
        """An aggregate of ours over a list of rows. `own`: see `Groups`; of the row at hand."""
        assert node.arg is not None
        known = transform(node.arg, _stand_in)
        kind = host_types(self.text, [known], self.source)[0]
        check_fold(node, kind, self.text)
        dialect = self.source.dialect
        return folded(
            node.name, rows, values(rows, transform(node.arg, own), dialect), kind, dialect, distinct=node.distinct
        )

    def array_agg(self, node: HostAggregate) -> ArrayAgg | None:
        """One that the host has no words for; one of Spark's leaves NULLs out."""
        return ArrayAgg.of(node.call) if self.source.dialect == "spark" else None

    def field(self, column: int | None) -> Expr:
        return field(field_name(column), self.source.dialect)


def _stand_in(node: Expr) -> Expr | None:
    """Of the type of what only a match has."""
    return Literal("A") if isinstance(node, Label) else Literal(1) if isinstance(node, MatchNumber) else None


def check_folds(exprs: Iterable[Expr], columns: HostColumns, types: Sequence[Type], text: str) -> None:
    """Aggregates of ours over host columns fit their arguments."""
    for node in (node for expr in exprs for node in walk(expr) if isinstance(node, Aggregate)):
        if node.arg in columns.exprs:
            check_fold(node, types[columns.exprs.index(node.arg)], text)


def check_fold(node: Aggregate, kind: Type, text: str) -> None:
    """SUM and AVG take numbers, MIN and MAX what has an order."""
    summed = node.name in ("sum", "avg") and kind.kind not in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.NULL)
    if summed or (node.name in ("min", "max") and (kind.kind is Kind.OTHER or not kind.ordered)):
        raise QueryBindError(
            f"{node.name.upper()} does not work on values of type {kind}",
            source=text,
            span=node.span,
            hint="CAST the argument to a number" if summed else "take MIN or MAX of a part of it that has an order",
        )


class _Collector:
    def __init__(self, query: RowQuery, source: Source, columns: HostColumns) -> None:
        self.query = query
        self.columns = columns
        self.lazy = Lazy(source, query.source)
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
            case At(arg=arg) if self.lazy.is_lazy(arg):
                return self.navigated(node)
            case At(arg=arg, var=var, end=end, index=index, shift=shift, mode=mode):
                column = None if isinstance(arg, Label) else self.columns.index(arg)
                return self.leaf(Gather(column, self.query.members(var), end, index, shift, self.is_final(mode)))
            case Aggregate(arg=arg) if arg is not None and self.lazy.is_lazy(arg):
                rows = self.rows(arg, node.var, node.mode)
                return self.lazy.folded(node, rows, lambda part: self.of_row(part, self.lazy.field))
            case Aggregate(name=name, arg=arg, var=var, distinct=distinct, mode=mode):
                of_labels = isinstance(arg, Label)
                column = None if arg is None or of_labels else self.columns.index(arg)
                members = self.query.members(var)
                return self.leaf(Folded(name, column, of_labels, members, distinct, self.is_final(mode)))
            case HostAggregate():
                return self.grouped(node)
            case MatchNumber():
                return self.leaf(Number())
            case _:
                return None

    def navigated(self, at: At) -> Expr:
        """Computed at the row that is found, if there is one."""
        members, final = self.query.members(at.var), self.is_final(at.mode)

        def value(column: int | None) -> Expr:
            return self.leaf(Gather(column, members, at.end, at.index, at.shift, final))

        found = self.leaf(Found(members, at.end, at.index, at.shift, final))
        return Call("case", (found, transform(at.arg, lambda part: self.of_row(part, value)), Literal(None)))

    def grouped(self, node: HostAggregate) -> Expr:
        rows = self.rows(node, node.var, node.mode)
        if listed := self.lazy.array_agg(node):
            return listed.over(rows, node.filter, self.of_named)
        return self.groups.add(node, rows.name, lambda part: self.of_row(part, lambda c: Column(field_name(c))))

    def rows(self, node: Expr, var: str | None, mode: Mode | None) -> Column:
        """The rows that an aggregate reads, with what it reads of them."""
        read = fields_of(node) or (Label(),)  # a struct has something in it
        columns = [None if isinstance(part, Label) else self.columns.index(part) for part in read]
        fields = tuple((field_name(column), column) for column in columns)
        return self.leaf(Listed(self.query.members(var), self.is_final(mode), fields))

    def of_named(self, row: str) -> Callable[[Expr], Expr | None]:
        return lambda part: self.of_row(part, lambda column: field(field_name(column), "spark", row))

    def of_row(self, part: Expr, value: Callable[[int | None], Expr]) -> Expr | None:
        """What stands for a part of a row expression; `value`: of a host column, or of the label."""
        match part:
            case Column():
                return value(self.columns.index(part))
            case Label():
                return value(None)
            case MatchNumber():
                return self.leaf(Number())
            case _:
                return None


def plan_outputs(query: RowQuery, source: Source, columns: HostColumns) -> Outputs:
    """Leaves and final columns, in the standard's order.

    ONE ROW: partition columns, measures. ALL ROWS: partition columns, order columns, measures, the other columns.
    """
    schema = source.schema
    collector = _Collector(query, source, columns)
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
