"""Which constructs of the event language a query uses: the coverage of random tests is counted with it."""

from __future__ import annotations

from collections.abc import Iterator

from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    EventQuery,
    Not,
    Pattern,
    PickMode,
    Quantifier,
    Sequence,
    TimedSequence,
    parts,
    walk,
)
from motif.ir.expr import Aggregate, At, Call, End, Expr
from motif.ir.expr import walk as walk_expr
from motif.testing.event_ways import ways


def event_features(query: EventQuery) -> set[str]:
    """Names of the constructs in the query, such as `b+ last` or `PICK LAST list`."""
    found = set(_layout(query)) | set(_of_picks(query))
    for node in walk(query.pattern):
        found.update(_of_node(node))
    for way in ways(query.pattern):
        for sequence in way.sequences:
            found.update(_of_sequence(sequence))
    for condition in query.conditions:
        found.update(_of_condition(query, condition))
    return found


def _layout(query: EventQuery) -> Iterator[str]:
    within = query.within
    yield "WITHIN none" if within is None else "WITHIN time" if isinstance(within, Duration) else "WITHIN n EVENTS"
    yield f"[attr] {('none', 'one', 'two')[min(2, len(query.same))]}"
    consumed = len(query.consuming)
    yield f"CONSUMING {'none' if not consumed else 'all' if consumed == len(query.events()) else 'some'}"
    yield "SELECT *" if query.items is None else "SELECT items"
    yield f"conditions {min(3, len(query.conditions))}"
    yield f"variables {len(query.events())}"


def _of_picks(query: EventQuery) -> Iterator[str]:
    repeated = {event.var: event.repeat for event in query.events()}
    for pick in query.picks:
        quantifier = repeated[pick.var]
        yield f"PICK {pick.mode} {'single' if quantifier is None else 'list'}"
        if quantifier is not None and quantifier.allows(0) and pick.mode in (PickMode.FIRST, PickMode.LAST):
            yield f"PICK {pick.mode} list that may be empty"
        if pick.within is not None:
            kind = "single" if quantifier is None else "list"
            yield f"PICK WITHIN {'FROM' if pick.origin else 'of the last event'} {kind}"
    if len(query.picks) > 1:
        yield "several picks"
    if query.picks and query.consuming:
        yield "PICK and CONSUMING"


def _of_node(node: Pattern) -> Iterator[str]:
    words = {Conjunction: "ALL", AnyOf: "ANY", Disjunction: "OR", TimedSequence: "TSEQ", Sequence: "SEQ"}
    word = words.get(type(node), "")
    if word:
        yield word
    for part in parts(node):
        inner = words.get(type(part), "")
        if word and inner:
            yield f"{inner} in {word}"
        if isinstance(node, Disjunction | TimedSequence) and isinstance(part, Event) and part.repeat is not None:
            yield f"list in {word}"
    if isinstance(node, Event):
        yield "event without class" if node.type is None else "event of a class"
        if node.repeat is not None:
            yield f"quantifier {_quantifier(node.repeat)}"


def _quantifier(quantifier: Quantifier) -> str:
    names = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    low, high = quantifier.low, quantifier.high
    braces = "{n}" if low == high else "{n,}" if high is None else "{,m}" if low == 0 else "{n,m}"
    return names.get((low, high), braces)


def _of_sequence(sequence: Sequence) -> Iterator[str]:
    """Places in a SEQ of a way through the pattern; NOTs are no neighbours."""
    items = [item for item in sequence.items if not isinstance(item, Not)]
    for place, item in enumerate(items):
        if isinstance(item, Event) and item.repeat is not None:
            yield f"list {'first' if place == 0 else 'last' if place == len(items) - 1 else 'in the middle'}"
            after = items[place + 1] if place + 1 < len(items) else None
            if isinstance(after, Event) and after.repeat is not None:
                yield "adjacent lists"
    for place, element in enumerate(sequence.items):
        if isinstance(element, Not):
            last = all(isinstance(other, Not) for other in sequence.items[place:])
            yield f"NOT {'last' if last else 'in the middle'}"


def _of_condition(query: EventQuery, condition: Expr) -> Iterator[str]:
    named = {node.var for node in walk_expr(condition) if isinstance(node, At | Aggregate)}
    lists = named & {event.var for event in query.events() if event.repeat is not None}
    if named & {event.var for event in query.negated()}:
        yield "condition of NOT, correlated" if len(named) > 1 else "condition of NOT alone"
    elif len(lists) > 1:
        yield "condition on two lists"
    else:
        yield f"condition on {('no', 'one', 'two', 'many')[min(3, len(named))]} variables"
    for node in walk_expr(condition):
        match node:
            case At(index=index, end=end) if index or end is End.FIRST:
                yield f"condition {'FIRST' if end is End.FIRST else 'PREV'}{' with offset' if index > 1 else ''}"
            case Aggregate(name=name):
                yield f"condition {name}"
            case Call(name=name):
                yield f"condition {name}"
            case _:
                pass
