"""Which event query feeds which, and what each sees: worked out here, once for all hosts and modes.

A list of queries over an input, or over several with names, is a graph: every query sees the events of the inputs that
it reads, and as events the matches of all queries before it. `dag_of` checks that graph, and `seen_by` says out of
which columns the events of one query are made. A host knows the columns of a table, joins tables by the names of their
columns, and keeps matches as a table. It decides nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from motif.arguments import check_capitals, check_tables
from motif.errors import MotifError, QueryBindError, did_you_mean
from motif.ir.event import EventQuery
from motif.ir.expr import Column, Expr, Literal
from motif.ir.types import Kind, Type
from motif.plan.events.places import RANK, START, first_names, last_names, total_order
from motif.plan.events.program import Stream

BASE = "__motif_events"
"""What an input without a name is called in a host."""
_CLASS = "type"
"""The column of the class where inputs have names, and none was asked for."""
_NO_ATTRIBUTES = frozenset({"event", "match_start", "match_end"})
"""Columns of matches that are no attributes of the event that a match is."""
_NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of an input or of matches, with the host's own name of its type."""

    name: str
    type: Type
    host_type: str


Columns = tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One query of a graph, and what it is over."""

    query: EventQuery
    number: int
    inputs: tuple[str, ...]
    """The inputs whose events it sees."""
    before: tuple[str, ...]
    """The classes of the matches that it sees: those of the queries before it, in their order."""
    classes: frozenset[str]
    """Classes that exist even if no event has them."""
    is_followed: bool
    """Whether its matches are events for queries after it."""
    stream: Stream
    """The columns that say when, what and in which order its events are."""


@dataclass(frozen=True, slots=True)
class Dag:
    """Event queries in the order in which they run, and the inputs that they read."""

    nodes: tuple[Node, ...]
    columns: tuple[tuple[str, Columns], ...]
    """Columns of each input that some query reads, with the class that its name gives to its events."""
    classed: frozenset[str]
    """Inputs whose name is the class of their events."""
    is_named: bool
    """Whether the inputs have names."""

    @property
    def last(self) -> Node:
        """The query whose matches are the result."""
        return self.nodes[-1]

    @property
    def read(self) -> tuple[str, ...]:
        """Inputs that some query reads."""
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that become events: of which table, and out of which of its columns."""

    kept: tuple[str, ...]
    """Columns that stay as they are."""
    given: tuple[tuple[str, Expr], ...]
    """Columns that are computed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The events of one query: all parts under each other, by the names of their columns."""

    inputs: tuple[tuple[str, Part], ...]
    lacking: tuple[str, ...]
    """Columns that only inputs have which this query does not read: NULL, of the type that they have there."""
    placed: tuple[tuple[str, Expr], ...]
    """What says where events that are no matches stand among matches; computed over all inputs together."""
    matches: tuple[Part, ...]
    """The matches of each query before."""

    @property
    def is_one_table(self) -> bool:
        """Whether these are the rows of one input as they are."""
        return len(self.inputs) == 1 and not (self.inputs[0][1].given or self.lacking or self.placed or self.matches)


# -- the graph


def named_inputs(data: Any) -> dict[str, Any]:
    """The inputs by name; of one without a name, by `BASE`."""
    inputs = dict(data) if isinstance(data, Mapping) else {BASE: data}
    if not inputs:
        raise MotifError("there are no events: the mapping is empty", hint='give an input: {"payments": payments}')
    check_tables("the events", inputs)
    return inputs


def dag_of(queries: Sequence[EventQuery], inputs: Mapping[str, Columns], stream: Stream, *, is_named: bool) -> Dag:
    """Check a list of queries against the columns of its inputs; raises `MotifError` for what no host takes."""
    check_followed(queries)
    for name, own in inputs.items():
        check_capitals(f"table {name}" if is_named else "the table", [column.name for column in own])
    if is_named and stream.type is None:
        stream = replace(stream, type=_CLASS)
    read = [_read(query, inputs, is_named=is_named) for query in queries]
    chosen = {name: inputs[name] for name in inputs if any(name in names for names in read)}
    classed = frozenset(name for name in chosen if is_named and not _has(chosen[name], stream.type or _CLASS))
    columns = tuple(
        (name, own if name not in classed else (*own, _class_column(stream))) for name, own in chosen.items()
    )
    merged = _merged([(_label(name, is_named=is_named), own) for name, own in columns])
    if len(queries) > 1:
        schema = {column.name: column.type for column in merged.values()}
        stream = replace(stream, total=total_order(queries, stream, schema))
    nodes = []
    for number, query in enumerate(queries):
        before = tuple(str(earlier.name) for earlier in queries[:number])
        nodes.append(
            Node(
                query=query,
                number=number,
                inputs=read[number],
                before=before,
                classes=frozenset((*(inputs if is_named else ()), *before)),
                is_followed=number + 1 < len(queries),
                stream=replace(stream, start=START) if before else stream,
            )
        )
    return Dag(tuple(nodes), columns, classed, is_named)


def check_followed(queries: Sequence[EventQuery]) -> None:
    """Raise unless every query has a name that is followed by another one."""
    for query in queries[:-1]:
        if query.name is None:
            raise QueryBindError(
                "a query that is followed by another one needs a name, or nothing can use its matches",
                source=query.source,
                span=query.pattern.span,
                hint="begin it with DEFINE name, or end it with RETURN name(...)",
            )


def _read(query: EventQuery, inputs: Mapping[str, Columns], *, is_named: bool) -> tuple[str, ...]:
    """The inputs that a query reads: the one after FROM; an input without a name is read whatever FROM says."""
    if not is_named or query.input is None:
        return tuple(inputs)
    known = {name.casefold(): name for name in inputs}
    if query.input.casefold() not in known:
        raise QueryBindError(
            f"there is no input {query.input}", hint=did_you_mean(query.input, inputs) or "leave it out"
        )
    return (known[query.input.casefold()],)


def _has(columns: Columns, name: str) -> bool:
    return name.casefold() in {column.name.casefold() for column in columns}


def _class_column(stream: Stream) -> TableColumn:
    return TableColumn(stream.type or _CLASS, Type(Kind.STRING), "string")


def _label(name: str, *, is_named: bool) -> str:
    return name if is_named else "the events"


# -- what one query sees


def seen_by(dag: Dag, node: Node, matches: Sequence[Columns]) -> Seen:
    """The events of a query; `matches`: the columns of the matches of each query before it."""
    stream = node.stream
    columns = dict(dag.columns)
    parts = [_of_matches(name, own, stream) for name, own in zip(node.before, matches, strict=True)]
    labelled = [(_label(name, is_named=dag.is_named), own) for name, own in dag.columns]
    found = zip(node.before, parts, matches, strict=True)
    labelled += [(name, _columns_of(part, own, stream)) for name, part, own in found]
    _merged(labelled)
    own_names = {column.name.casefold() for name in node.inputs for column in columns[name]}
    known = _merged([(name, columns[name]) for name in columns])
    return Seen(
        inputs=tuple((name, _of_input(name, dag, columns[name])) for name in node.inputs),
        lacking=tuple(column.name for folded, column in known.items() if folded not in own_names),
        placed=_placed(stream) if node.before else (),
        matches=tuple(parts),
    )


def _of_input(name: str, dag: Dag, columns: Columns) -> Part:
    """Rows of an input; its name is their class if nothing else says it."""
    if name not in dag.classed:
        return Part(tuple(column.name for column in columns), ())
    *own, kind = columns
    return Part(tuple(column.name for column in own), ((kind.name, Literal(name)),))


def _of_matches(name: str, columns: Columns, stream: Stream) -> Part:
    """Matches as events: of the class that their query names, at their end."""
    given: dict[str, Expr] = {
        stream.type or _CLASS: Literal(name),
        stream.time: Column("match_end"),
        START: Column("match_start"),
    }
    dropped = {*map(str.casefold, given), *_NO_ATTRIBUTES}
    kept = tuple(column.name for column in columns if column.name.casefold() not in dropped)
    return Part(kept, tuple(given.items()))


def _columns_of(part: Part, columns: Columns, stream: Stream) -> Columns:
    """The columns that matches have as events."""
    known = {column.name: column for column in columns}
    time = replace(known["match_end"], name=stream.time)
    return (*(known[name] for name in part.kept), _class_column(stream), time)


def _placed(stream: Stream) -> tuple[tuple[str, Expr], ...]:
    names = (*last_names(stream), *first_names(stream))
    nothing = Literal(None)
    return ((START, nothing), (RANK, nothing), *zip(names, stream.total * 2, strict=True))


# -- columns of one name


def _merged(tables: Sequence[tuple[str, Columns]]) -> dict[str, TableColumn]:
    """The columns that tables have together, by folded name; one name must mean one family of types in all of them.

    A host would make both text, or cast one of them, without a word.
    """
    found: dict[str, tuple[str, TableColumn]] = {}
    for label, columns in tables:
        for column in columns:
            folded = column.name.casefold()
            other, known = found.setdefault(folded, (label, column))
            if known.type.kind is Kind.NULL:
                found[folded] = (label, replace(column, name=known.name))
            elif column.type.kind is not Kind.NULL and _family(column) != _family(known):
                raise QueryBindError(
                    f"column {column.name} is {_shown(column)} in {label} and {_shown(known)} in {other}",
                    hint="rename or CAST one of them, so that events can be merged",
                )
    return {folded: column for folded, (_, column) in found.items()}


def _family(column: TableColumn) -> tuple[str, int]:
    """Equal for columns whose values may stand in one column: all numbers, and otherwise what is of one type."""
    kind = column.type.kind
    if kind in _NUMBERS:
        return "number", 0
    if kind is Kind.OTHER:
        return column.host_type.casefold(), 0
    return str(kind), 0 if kind is Kind.STRING else column.type.scale


def _shown(column: TableColumn) -> str:
    if column.type.kind is Kind.OTHER:
        return column.host_type.lower()
    is_nanoseconds = column.type.kind not in _NUMBERS and column.type.scale == 3
    return f"{column.type.kind}{' in nanoseconds' if is_nanoseconds else ''}"
