"""What there is to know about an event query: key, filters, order, decision, parallel work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from motif.explanation.event_graph import graph_of_events
from motif.explanation.event_ways import way_facts
from motif.explanation.facts import ClauseFacts, Part, Variable
from motif.ir.event import Duration, Event, EventCount, EventQuery, PickMode, walk
from motif.ir.expr import Call, Expr
from motif.ir.expr import walk as walk_expr
from motif.ir.render import Dialect
from motif.ir.render_event import render_duration, render_event_expr, render_event_pattern, render_events
from motif.lang.snoop import event_slips
from motif.plan.conditions import HostColumns
from motif.plan.events.conditions import Condition, EventLifter
from motif.plan.events.decision import is_eager, waits, windows
from motif.plan.events.functions import VECTORIZED
from motif.plan.events.keys import is_implied
from motif.plan.events.program import KeyPart, Stream
from motif.plan.events.steps import Estimates
from motif.plan.events.ways import Role, Way
from motif.plan.physical.text import Step

KIND = "Event query"
NO_DATA = (
    "names and types are checked once the events are known: give them (data=, --table on the command line); the steps "
    "below are for equal counts of candidates"
)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What explanations read of a planned event query; without data it is made from the text alone."""

    query: EventQuery
    stream: Stream
    dialect: Dialect
    key_parts: tuple[KeyPart, ...]
    conditions: tuple[Condition, ...]
    ways: tuple[Way, ...]
    estimates: Estimates
    functions: Mapping[str, Callable[..., Any]]
    parallel: str
    masks: Mapping[str, str | None] = field(default_factory=dict)
    """Per variable: what the host is asked to compute, where it is known."""

    def text(self, expr: Expr) -> str:
        return render_event_expr(expr, self.dialect)


def event_facts(number: int, sketch: Sketch, steps: Sequence[Step] = (), cost: str = NO_DATA) -> ClauseFacts:
    """All of one event query."""
    return ClauseFacts(
        number,
        render_event_pattern(sketch.query.pattern, sketch.dialect),
        render_events(sketch.query, sketch.dialect),
        tuple(_facts(sketch)),
        tuple(_variables(sketch)),
        cost,
        (),
        graph_of_events(sketch.query),
        tuple(steps),
        KIND,
        tuple(way_facts(sketch)),
    )


def _facts(sketch: Sketch) -> Iterator[tuple[str, str]]:
    query = sketch.query
    if query.name is not None:
        yield "name", f"{query.name}: its matches are events of this class"
    yield "result", _result(query)
    yield "partition", _partition(sketch)
    yield "order", _order(sketch.stream)
    yield "within", _within(query)
    if query.picks:
        yield "pick", "; ".join(_pick(sketch, pick.mode, pick.var) for pick in query.picks)
    if query.consuming:
        yield "consuming", f"events of {', '.join(query.consuming)} are part of one match at most"
    yield "decided", _decided(sketch)
    yield "in a stream", _in_a_stream(sketch)
    yield "parallel", sketch.parallel
    for name in called_functions(sketch):
        yield f"{name}( )", _function(sketch, name)
    for slip in event_slips(query):
        yield "note", f"{slip.message}; {slip.hint}"


def _result(query: EventQuery) -> str:
    shown = [item.name for item in query.measures]
    if query.items is None:
        whole = [f"{event.var} ({'a list of events' if event.repeat else 'the event'})" for event in query.events()]
        shown = [*whole, *shown]
    return f"one row per match: match_id, match_start, match_end, {', '.join(shown)}"


# -- partition, order


def _partition(sketch: Sketch) -> str:
    written = ", ".join(sketch.text(part.expr) for part in sketch.key_parts if part.written)
    parts = [f"{written}, written as [{written}]"] if written else []
    parts += [_found_key(sketch, part) for part in sketch.key_parts if not part.written]
    if parts:
        return "; ".join(parts)
    if isinstance(sketch.query.within, EventCount):
        return "none: no [attribute] is written, and WITHIN n EVENTS counts the events of what is written"
    return "none: no [attribute] is written, and the conditions do not make all variables agree on one"


def _found_key(sketch: Sketch, part: KeyPart) -> str:
    own = dict(part.by_variable)
    shown = sketch.text(part.expr)
    if len(set(own.values())) > 1:
        names = [node.var for node in walk(sketch.query.pattern) if isinstance(node, Event)]
        shown = ", ".join(f"{sketch.text(own[var])} of {var}" for var in names)
    lifter = EventLifter(sketch.query, HostColumns(), sketch.dialect)
    # Which conditions say so does not depend on whether they are still tested.
    parts = [replace(part, is_required=True)]
    found = [sketch.text(c) for c in sketch.query.conditions if is_implied(c, parts, lifter, sketch.ways)]
    return f"{shown}, found from {' AND '.join(found)}" if found else f"{shown}, found from the conditions"


def _order(stream: Stream) -> str:
    order = ", ".join((stream.time, *stream.order_by))
    return f"{order}; equal ones by the columns that conditions read, then by those that only outputs read"


def _within(query: EventQuery) -> str:
    match query.within:
        case None:
            return "no bound: a match may reach over the whole input"
        case Duration(microseconds=microseconds):
            return f"{render_duration(microseconds)} from the first to the last event, inclusive"
        case EventCount(count=count):
            return f"at most {count:,} consecutive events of the partition from first to last"


# -- picks, decision


def _pick(sketch: Sketch, mode: PickMode, var: str) -> str:
    if mode is PickMode.ALL:
        return f"ALL {var}: the whole list"
    if mode is PickMode.EACH:
        return f"EACH {var}: every one of them"
    word = "earliest" if mode is PickMode.FIRST else "latest"
    where = "while joining" if picks_while_joining(sketch, var) else "once all matches are there"
    return f"{mode} {var}: of matches that agree on all else, the one with the {word} {var}; chosen {where}"


def picks_while_joining(sketch: Sketch, var: str) -> bool:
    """Whether the join itself makes the pick: the first that chooses, where nothing is tested or fired later."""
    query = sketch.query
    first = next((p.var for p in query.picks if p.mode in (PickMode.FIRST, PickMode.LAST)), None)
    lists = any(element.role is Role.LIST for way in sketch.ways for element in way.elements)
    later = bool(query.consuming) or any(c.function and len(c.names) > 1 for c in sketch.conditions)
    return var == first and not lists and not later


def _decided(sketch: Sketch) -> str:
    query = sketch.query
    waiting = [way for way in sketch.ways if way.waits]
    if not waiting:
        return "at its last event"
    reasons = dict.fromkeys(reason for way in waiting for reason in _reasons(query, way))
    text = f"at the deadline, {_deadline(query)}: {', '.join(reasons)}"
    return text if len(waiting) == len(sketch.ways) else f"{text}; other ways at their last event"


def _deadline(query: EventQuery) -> str:
    match query.within:
        case Duration(microseconds=microseconds):
            return f"{render_duration(microseconds)} after its first event"
        case EventCount(count=count):
            return f"the {count:,}th event counted from its first"
        case None:
            return "the end of the input"


def _in_a_stream(sketch: Sketch) -> str:
    """When a match comes out there, and for how long events are kept."""
    if is_eager(sketch):
        out = "a match comes out when its last event arrives, in whatever order events come"
    elif any(waits(sketch, way) for way in sketch.ways):
        out = "a match comes out when the watermark reaches its deadline"
    else:
        out = "a match comes out when the watermark reaches its last event"
    return f"{out}; {_retention(sketch)}"


def _retention(sketch: Sketch) -> str:
    count, within = windows(sketch), sketch.query.within
    if within is None:
        return "every event that may begin or continue a match is kept for ever: give a WITHIN"
    if count is None:
        return "every event is kept for ever, since PICK chooses among all matches: let it choose a part of a match"
    if isinstance(within, EventCount):
        return f"the last {count * within.count:,} events of each partition are kept"
    return f"events are kept for {render_duration(count * within.microseconds)}"


def _reasons(query: EventQuery, way: Way) -> Iterator[str]:
    for number, element in enumerate(way.elements):
        if element.role is Role.ABSENT and not way.is_closed(number):
            yield f"no {element.var} may come until then"
        if element.role is Role.LIST and not way.is_closed(number):
            yield f"{element.var} collects events until then"
        if way.can_be_last(number) and query.pick(element.var) is PickMode.LAST:
            yield f"a later {element.var} may still come"


# -- conditions, functions


def _variables(sketch: Sketch) -> Iterator[Variable]:
    for event in (node for node in walk(sketch.query.pattern) if isinstance(node, Event)):
        own = [condition for condition in sketch.conditions if condition.names == {event.var}]
        conjuncts = [f"class {event.type}"] if event.type is not None else []
        conjuncts += [sketch.text(condition.expr) for condition in own if condition.row is not None]
        called = [sketch.text(condition.expr) for condition in own if condition.function is not None]
        parts = [
            Part("the event", tuple(conjuncts), sketch.masks.get(event.var)),
            Part("your function", tuple(called)),
        ]
        name = f"NOT {event.var}" if event in sketch.query.negated() else event.var
        yield Variable(name, tuple(part for part in parts if part.conjuncts), "any event")


def called_functions(sketch: Sketch) -> list[str]:
    """Functions of the user that the conditions call."""
    calls = (n.name for c in sketch.query.conditions for n in walk_expr(c) if isinstance(n, Call))
    return list(dict.fromkeys(name for name in calls if name in sketch.functions))


def _function(sketch: Sketch, name: str) -> str:
    style = getattr(sketch.functions[name], VECTORIZED, None)
    how = {None: "called with the values of one candidate at a time", "numpy": "called with NumPy arrays"}
    several = any(
        len(condition.names) > 1
        for condition in sketch.conditions
        if condition.function is not None and any(call.name == name for call in condition.function.calls)
    )
    where = "of matches that pass all other conditions" if several else "of candidate events, before the join"
    return f"your function, {how.get(style, 'called with Arrow arrays')}, {where}"
