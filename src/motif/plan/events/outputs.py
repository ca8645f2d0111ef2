"""SELECT and RETURN -> *leaves*, values the engine picks from matched events, and scalars over them for the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from motif.ir.event import EventQuery, Item
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, HostAggregate, Literal, transform
from motif.ir.types import Schema
from motif.plan.conditions import HostColumns
from motif.plan.lists import field, no_rows
from motif.plan.outputs import Grouped, Groups, Lazy, field_name, fields_of, leaf_name
from motif.plan.source import Source


@dataclass(frozen=True, slots=True)
class MatchId:
    """A number made from the query and the matched events."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When the match ends, or begins."""

    at_end: bool


@dataclass(frozen=True, slots=True)
class Value:
    """A host column at one event of a variable."""

    column: int
    var: str
    end: End
    index: int


@dataclass(frozen=True, slots=True)
class Found:
    """Whether there is such an event of a variable."""

    var: str
    end: End
    index: int


@dataclass(frozen=True, slots=True)
class Folded:
    """An aggregate of a host column (None: of events) over the events of a variable."""

    name: str
    column: int | None
    var: str
    distinct: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """The events of a variable with all their columns: a struct, or a list of structs."""

    var: str
    is_list: bool
    columns: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A host column at the event with which the match begins, or at its last."""

    column: int
    at_end: bool


@dataclass(frozen=True, slots=True)
class Rank:
    """The number of the match in canonical order."""


EventLeaf: TypeAlias = MatchId | Moment | Value | Found | Folded | Whole | Edge | Rank


@dataclass(frozen=True)
class EventOutputs:
    """What the engine returns (leaf i is column `leaf_name(i)`), and the final columns over it."""

    leaves: tuple[EventLeaf, ...]
    columns: tuple[tuple[str, Expr], ...]
    grouped: tuple[Grouped, ...] = ()
    """What the columns read beside leaves."""

    @cached_property
    def is_plain(self) -> bool:
        """No arithmetic is left for the host: every final column is a leaf."""
        return not self.grouped and all(isinstance(expr, Column) for _, expr in self.columns)


class _Collector:
    def __init__(self, query: EventQuery, source: Source, columns: HostColumns) -> None:
        self.columns = columns
        self.lazy = Lazy(source, query.source)
        self.leaves: list[EventLeaf] = []
        self.groups = Groups()

    def leaf(self, leaf: EventLeaf) -> Column:
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        return Column(leaf_name(self.leaves.index(leaf)))

    def item(self, item: Item) -> tuple[str, Expr]:
        return item.name, transform(item.expr, self.lifted)

    def lifted(self, node: Expr) -> Expr | None:
        match node:
            case At(arg=arg, var=str(var), end=end, index=index) if self.lazy.is_lazy(arg):
                found = self.leaf(Found(var, end, index))
                value = transform(arg, lambda part: self.of_event(part, lambda c: self.leaf(Value(c, var, end, index))))
                return Call("case", (found, value, Literal(None)))
            case Aggregate(arg=arg, var=str(var)) if arg is not None and self.lazy.is_lazy(arg):
                rows = Call("coalesce", (self.events(arg, var), no_rows(self.lazy.source.dialect)))
                return self.lazy.folded(node, rows, lambda part: self.of_event(part, self.lazy.field))
            case At(arg=arg, var=str(var), end=end, index=index):
                return self.leaf(Value(self.columns.index(arg), var, end, index))
            case Aggregate(name=name, arg=arg, var=str(var), distinct=distinct):
                column = None if arg is None else self.columns.index(arg)
                return self.leaf(Folded(name, column, var, distinct))
            case HostAggregate(var=str(var)):
                return self.grouped(node, var)
            case _:
                return None

    def grouped(self, node: HostAggregate, var: str) -> Expr:
        rows = self.events(node, var)
        if listed := self.lazy.array_agg(node):
            return listed.over(Call("coalesce", (rows, no_rows("spark"))), node.filter, self.of_named)
        return self.groups.add(node, rows.name, lambda part: self.of_event(part, lambda c: Column(field_name(c))))

    def events(self, node: Expr, var: str) -> Column:
        """The events that an aggregate reads, with what it reads of them."""
        columns = [self.columns.index(part) for part in fields_of(node)]
        return self.leaf(Whole(var, True, tuple((field_name(column), column) for column in columns)))

    def of_named(self, row: str) -> Callable[[Expr], Expr | None]:
        return lambda part: self.of_event(part, lambda column: field(field_name(column), "spark", row))

    def of_event(self, part: Expr, value: Callable[[int], Expr]) -> Expr | None:
        """What stands for a column of an event."""
        return value(self.columns.index(part)) if isinstance(part, Column) else None


def plan_outputs(
    query: EventQuery,
    source: Source,
    schema: Schema,
    columns: HostColumns,
    placed: Mapping[str, EventLeaf] = MappingProxyType({}),
) -> EventOutputs:
    """Leaves and final columns: the name, match_id, match_start, match_end, then what SELECT and RETURN ask for.

    `placed`: columns that say where a match stands as an event.
    """
    collector = _Collector(query, source, columns)
    final: list[tuple[str, Expr]] = []
    if query.name is not None:
        final.append(("event", Literal(query.name)))
    final.append(("match_id", collector.leaf(MatchId())))
    final.append(("match_start", collector.leaf(Moment(at_end=False))))
    final.append(("match_end", collector.leaf(Moment(at_end=True))))
    if query.items is None:
        for event in query.events():
            own = tuple((name, columns.index(Column(name))) for name in schema)
            final.append((event.var, collector.leaf(Whole(event.var, event.repeat is not None, own))))
    final += [collector.item(item) for item in query.measures]
    final += [(name, collector.leaf(leaf)) for name, leaf in placed.items()]
    return EventOutputs(tuple(collector.leaves), tuple(final), tuple(collector.groups.found))
