"""Event query + source -> EventProgram, one step after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from motif import limits
from motif.errors import MotifError, QueryBindError, UnsupportedQuery, did_you_mean
from motif.ir.event import Attribute, Event, EventQuery, Item
from motif.ir.expr import Call, Column, Expr, walk
from motif.ir.types import Kind, Schema, Type
from motif.plan.bind import Names
from motif.plan.calls import judge_events
from motif.plan.conditions import HostColumns
from motif.plan.elapsed import elapsed_outputs, with_elapsed
from motif.plan.events.conditions import Condition, EventLifter, Typed, not_where, split_conditions
from motif.plan.events.keys import is_implied, key_parts
from motif.plan.events.outputs import Edge, EventLeaf, Rank, plan_outputs
from motif.plan.events.places import RANK, first_names, last_names, sortable, visible
from motif.plan.events.program import EventProgram, KeyPart, Places, Stream
from motif.plan.events.roles import are_told_by_class, class_number, filter_of, masks_of, tests_of
from motif.plan.events.ways import Role, Way, ways_of
from motif.plan.outputs import check_folds
from motif.plan.program import SortKey
from motif.plan.source import Source, extent, host_types
from motif.plan.typer import Typer

TIMES = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.DATE})

_A_TIME = {
    Kind.STRING: "make it one where the events come from, and say how it is written: times=%d/%m/%Y %H:%M for CSV "
    "(--csv, motif.files), strptime(ts, '%d/%m/%Y') in DuckDB, to_timestamp(ts, 'dd/MM/yyyy') in Spark, "
    "pd.to_datetime(..., format=...) in pandas",
    Kind.INTEGER: "make it one where the events come from, such as to_timestamp(seconds)",
    Kind.FLOAT: "make it one where the events come from, such as to_timestamp(seconds)",
}
"""How a column becomes a time."""


def plan_events(
    query: EventQuery, source: Source, stream: Stream, functions: Collection[str] = (), *, is_followed: bool = False
) -> EventProgram:
    """Check the query against its input and compile it. `is_followed`: its matches are events for other queries."""
    schema = {name: kind for name, kind in visible(source.schema).items() if name != stream.start}
    stream = _bind_stream(stream, schema, query)
    query = judge_events(bind_events(query, schema), source)
    columns = HostColumns()
    lifter = EventLifter(query, columns, source.dialect)
    every_way = ways_of(query)
    parts = _same_types(key_parts(query, stream, lifter, every_way), source, query)
    keys = tuple(columns.index(part.expr) for part in parts)
    kept = tuple(c for c in query.conditions if not is_implied(c, parts, lifter, every_way))
    conditions = split_conditions(replace(query, conditions=kept), columns, source.dialect, functions, source)
    time = columns.index(Column(stream.time))
    start = None if stream.start is None else columns.index(Column(stream.start))
    plan_outputs(query, source, schema, columns)
    tests = tests_of(query, stream, schema, conditions)
    masks = masks_of(tests, query, stream, schema, columns)
    ties = _ties(query, stream, source.schema)
    identity = _identity(query, stream, schema, columns)
    places = _places(stream, columns) if is_followed or stream.start is not None else None
    outputs = plan_outputs(query, source, schema, columns, _placed(stream, places) if is_followed else {})
    _check_rows(query, conditions, source)
    types = host_types(query.source, columns.exprs, source)
    check_folds((item.expr for item in query.measures), columns, types, query.source)
    typer = Typer(types, source.dialect, query.source, "WHERE")
    typed = tuple(Typed(query, columns, typer, source).conditions(conditions))
    ways = tuple(way for way in every_way if _is_possible(way, query, typed, source))
    _check_functions(query, typed, ways)
    return EventProgram(
        query=query,
        stream=stream,
        dialect=source.dialect,
        columns=tuple(with_elapsed(columns.exprs, source.schema, source.dialect)),
        types=types,
        filter=filter_of(tests, query, stream, schema, parts, source.dialect),
        keys=keys,
        key_parts=parts,
        order=_order(stream),
        ties=ties,
        time=time,
        start=start,
        masks=masks,
        ways=ways,
        conditions=typed,
        outputs=elapsed_outputs(outputs, types, source.dialect),
        identity=(*identity, *_told_apart(places, identity, types)),
        limits=limits.LIMITS,
        places=places if stream.start is not None else None,
    )


# -- names


def _bind_stream(stream: Stream, schema: Schema, query: EventQuery) -> Stream:
    needs_type = any(event.type is not None for event in (*query.events(), *query.negated()))
    folded = {name.casefold(): name for name in reversed(schema)}

    def known(name: str, option: str) -> str:
        if name in schema:
            return name
        if name.casefold() in folded:
            return folded[name.casefold()]
        raise QueryBindError(f"{option}{name!r} is not a column of the events", hint=did_you_mean(name, schema))

    time = known(stream.time, "time=")
    if schema[time].kind not in TIMES:
        raise QueryBindError(
            f"time={time!r} is of type {schema[time]}, not a time",
            hint=_A_TIME.get(schema[time].kind, "name a timestamp or date column"),
        )
    kind = stream.type
    if kind is not None and kind not in schema and kind.casefold() not in folded and not needs_type:
        kind = None
    classed = next((event for event in (*query.events(), *query.negated()) if event.type is not None), None)
    if kind is None and classed is not None:
        raise _no_type(query, classed)
    if kind is not None:
        try:
            kind = known(kind, "type=")
        except QueryBindError:
            assert classed is not None
            raise _no_type(query, classed, kind, schema) from None
    return replace(stream, time=time, type=kind, order_by=tuple(known(n, "order_by=") for n in stream.order_by))


def _no_type(query: EventQuery, event: Event, name: str | None = None, schema: Schema | None = None) -> MotifError:
    missing = "type=None was given" if name is None else f"the events have no column {name}"
    near = did_you_mean(name, schema) if name is not None and schema is not None else None
    return QueryBindError(
        f"{event.type} {event.var} needs the class of events, but {missing}",
        source=query.source,
        span=event.span,
        hint=f"say which column holds it: type=...{f'; {near}' if near else ''}",
    )


def bind_events(query: EventQuery, schema: Schema) -> EventQuery:
    """The query with the schema's own column names; raises the first unknown one."""
    bound, errors = _bind(query, schema)
    if errors:
        raise errors[0]
    return bound


def bind_event_errors(query: EventQuery, schema: Schema) -> list[MotifError]:
    """Every unknown name."""
    return _bind(query, visible(schema))[1]


def _bind(query: EventQuery, schema: Schema) -> tuple[EventQuery, list[MotifError]]:
    names = Names(schema, query.source, (event.var for event in query.events()))

    def items(given: Iterable[Item]) -> tuple[Item, ...]:
        return tuple(replace(item, expr=names.expr(item.expr)) for item in given)

    def attribute(item: Attribute) -> Attribute:
        column = names.expr(Column(item.name, item.span))
        return replace(item, name=column.name) if isinstance(column, Column) else item

    bound = replace(
        query,
        conditions=tuple(names.expr(condition) for condition in query.conditions),
        same=tuple(attribute(item) for item in query.same),
        items=None if query.items is None else items(query.items),
        returned=items(query.returned),
    )
    return bound, names.errors


# -- what the host does


def _same_types(parts: tuple[KeyPart, ...], source: Source, query: EventQuery) -> tuple[KeyPart, ...]:
    """A key found from equalities must be of one type; otherwise the equality is tested by the join."""
    kept = []
    for part in parts:
        exprs = list(dict.fromkeys(expr for _, expr in part.by_variable))
        if part.written or len(set(host_types(query.source, exprs, source))) == 1:
            kept.append(part)
    return tuple(kept)


def _order(stream: Stream) -> tuple[SortKey, ...]:
    """By time, then as asked for."""
    if stream.start is None:
        names: Sequence[str] = stream.order_by
    else:
        names = last_names(stream)[: len(stream.order_by)]
    behind = () if stream.start is None or stream.total else (SortKey(_is_composite(stream.start)),)
    return (SortKey(Column(stream.time)), *behind, *(SortKey(Column(name)) for name in names))


def _is_composite(start: str) -> Expr:
    return Call("is not null", (Column(start),))


def _ties(query: EventQuery, stream: Stream, schema: Schema) -> tuple[Expr, ...]:
    """Those of the stack, then those of the query; a match right behind its last event, several in canonical order."""
    asked = len(stream.order_by)
    if not stream.total:
        return _own_ties(query, stream, schema)
    if stream.start is None:
        return stream.total[asked:]
    last, first = last_names(stream)[asked:], first_names(stream)
    of_match = (_is_composite(stream.start), *map(Column, (stream.start, *first, RANK)))
    return (*map(Column, last), *of_match, *_own_ties(query, stream, schema))


def _places(stream: Stream, columns: HostColumns) -> Places | None:
    """Columns that events are ordered by."""
    if not stream.total:
        return None
    if stream.start is None:
        own = tuple(columns.index(expr) for expr in stream.total)
        return Places(own, own)
    last, first = (
        tuple(columns.index(Column(n)) for n in names) for names in (last_names(stream), first_names(stream))
    )
    return Places(last, first)


def _told_apart(places: Places | None, identity: Sequence[int], types: Sequence[Type]) -> list[int]:
    """What events of a stack are ordered by, too: events alike would be numbered as they come."""
    columns = dict.fromkeys((*places.last, *places.first)) if places is not None else {}
    return [column for column in columns if column not in identity and types[column].kind is not Kind.OTHER]


def _placed(stream: Stream, places: Places | None) -> dict[str, EventLeaf]:
    """What a match takes along as an event."""
    if places is None:
        return {}
    found: dict[str, EventLeaf] = {RANK: Rank()}
    found |= {name: Edge(column, True) for name, column in zip(last_names(stream), places.last, strict=True)}
    return found | {name: Edge(column, False) for name, column in zip(first_names(stream), places.first, strict=True)}


def _own_ties(query: EventQuery, stream: Stream, schema: Schema) -> tuple[Expr, ...]:
    """Columns the conditions read, then those only the outputs read, each in the schema's order."""
    decided = {n.name for c in query.conditions for n in walk(c) if isinstance(n, Column)}
    decided |= {item.name for item in query.same}
    if stream.type is not None and any(event.type for event in (*query.events(), *query.negated())):
        decided.add(stream.type)
    if stream.start is not None:
        decided.add(stream.start)
    shown = {n.name for item in query.measures for n in walk(item.expr) if isinstance(n, Column)}
    if query.items is None:
        shown = set(schema)
    alike = {stream.time, *stream.order_by}
    ranked = [n for n in schema if n in decided] + [n for n in schema if n in shown and n not in decided]
    ties: list[Expr] = []
    for name in ranked:
        if name == stream.type and name not in shown and are_told_by_class(query):
            ties.append(class_number(query, stream, schema))
        elif name not in alike:
            ties.append(sortable(name, schema[name].kind))
    return tuple(ties)


def _identity(query: EventQuery, stream: Stream, schema: Schema, columns: HostColumns) -> tuple[int, ...]:
    """Columns of which `match_id` is made: those that the query reads and that are here anyway."""
    names = {n.name for expr in columns.exprs for n in walk(expr) if isinstance(n, Column)}
    if all(event.type is not None for event in query.events()):
        names.discard(stream.type or "")  # the variable says it
    wanted = [name for name in schema if name in names and schema[name].kind is not Kind.OTHER]
    begins = () if stream.start is None else (stream.start,)
    names_in_order = dict.fromkeys((stream.time, *begins, *stream.order_by, *wanted))
    return tuple(columns.index(Column(name)) for name in names_in_order)


# -- checks


def _check_rows(query: EventQuery, conditions: Sequence[Condition], source: Source) -> None:
    """What one event decides is a condition; asked before it becomes a part of something larger."""
    rows = [condition for condition in conditions if condition.row is not None]
    kinds = host_types(query.source, [condition.row for condition in rows if condition.row is not None], source)
    for condition, kind in zip(rows, kinds, strict=True):
        if kind.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise not_where(query, condition.expr, kind)


def _is_possible(way: Way, query: EventQuery, conditions: Sequence[Condition], source: Source) -> bool:
    """A condition on one variable that this way does not bind must be true of NULL."""
    negated = {event.var for event in query.negated()}
    for condition in conditions:
        if condition.row is None or condition.names & negated:
            continue
        number = way.number(next(iter(condition.names)))
        if number is None and source.on_nulls([condition.row])[0] is not True:
            return False
    return True


def _check_functions(query: EventQuery, conditions: Sequence[Condition], ways: Sequence[Way]) -> None:
    negated = {event.var for event in query.negated()}
    absent = {e.var for way in ways for e in way.elements if e.role is Role.ABSENT}
    lists = {e.var for way in ways for e in way.elements if e.role is Role.LIST}
    for condition in conditions:
        if condition.function is None or len(condition.names) < 2:
            continue
        name = condition.function.calls[0].name
        if condition.names & (negated | absent):
            raise UnsupportedQuery(
                f"not supported: {name} on the event of a NOT together with other events",
                source=query.source,
                span=extent(condition.expr),
                hint="use a condition without such a function, or one that sees only the event of the NOT",
            )
        if query.consuming and (lists or absent):
            raise UnsupportedQuery(
                f"not supported: CONSUMING with {name} on several events and NOT or a repeated variable",
                source=query.source,
                span=extent(condition.expr),
                hint="let the function see one event only, or leave CONSUMING out",
            )
