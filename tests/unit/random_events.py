"""Random event queries as data, the same for the same seed; valid by the checks of the language itself."""

from __future__ import annotations

import random
from decimal import Decimal

from motif.ir.event import (
    AnyOf,
    Attribute,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    EventCount,
    EventQuery,
    Item,
    Not,
    Pattern,
    Pick,
    PickMode,
    Quantifier,
    Sequence,
    TimedSequence,
    walk,
)
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Interval, Literal, Verbatim
from motif.lang.snoop import check_events

CLASSES = (None, "Login", "Order", "Return", "credit card", "NOT", "seq", "Zürich", 'a"b', "within")
VARIABLES = ("a", "b", "E1", "order", "x y", "count", "All", "first", "WITHIN", "é", "From", "end", "pick", "n1", "n2")
ATTRIBUTES = ("amount", "from", "Select", 'we"ird', "in", "user name", "events", "x1")
QUANTIFIERS = ((1, None), (0, None), (0, 1), (2, 2), (2, None), (1, 3), (0, 2))
LITERALS = (0, 7, -3, Decimal("1.50"), 2.5, "it's", "", True, False, None, Interval(90_000_000))
DURATIONS = (0, 1, 1_500, 5_000_000, 5_400_000_000, 259_200_000_000, 90_061_001_001)


def random_event_query(rng: random.Random) -> EventQuery:
    """A query that the language accepts, with conditions between which there is no AND left."""
    while True:
        query = _query(rng)
        if query.input is not None and isinstance(query.pattern, Event) and query.pattern.type is None:
            continue  # `FROM orders e` is an event of class orders
        if not check_events(query):
            return query


def _query(rng: random.Random) -> EventQuery:
    names = iter(rng.sample(VARIABLES, len(VARIABLES)))
    pattern = _pattern(rng, names, rng.choice((0, 1, 2, 2, 3)), in_seq=False)
    query = EventQuery(pattern)
    bound = [event.var for event in query.events()]
    anything = [node.var for node in walk(pattern) if isinstance(node, Event)]
    if not bound:
        return query
    named = rng.random() < 0.5
    return EventQuery(
        pattern,
        conditions=tuple(_condition(rng, anything, 2) for _ in range(rng.choice((0, 0, 1, 2, 3)))),
        same=tuple(Attribute(name) for name in rng.sample(ATTRIBUTES, rng.choice((0, 0, 1, 2)))),
        picks=tuple(_pick(rng, var, bound) for var in rng.sample(bound, rng.randint(0, min(2, len(bound))))),
        within=rng.choice((None, Duration(rng.choice(DURATIONS)), EventCount(rng.randint(1, 9)))),
        items=None if rng.random() < 0.4 else _items(rng, bound, "s"),
        name=rng.choice(("Fraud", "my event", "Select")) if named else None,
        returned=_items(rng, bound, "r") if named and rng.random() < 0.5 else (),
        consuming=tuple(rng.sample(bound, rng.randint(0, len(bound)))),
        input=rng.choice((None, None, "events", "db.events", "a file.parquet", "order")),
    )


def _pattern(rng: random.Random, names: object, depth: int, in_seq: bool) -> Pattern:
    if depth == 0:
        return _event(rng, names, repeat=rng.random() < 0.3)
    kind = rng.choice(("seq", "seq", "seq", "all", "any", "or", "tseq"))
    items = tuple(_pattern(rng, names, depth - 1 if rng.random() < 0.5 else 0, kind == "seq") for _ in range(2))
    if kind == "seq":
        parts: list[Pattern] = []
        for item in (*items, *((_event(rng, names),) if rng.random() < 0.4 else ())):
            parts.append(item)
            if rng.random() < 0.2:
                parts.append(Not(_event(rng, names)))
        return Sequence(tuple(parts))
    low = rng.choice(DURATIONS)
    return {
        "all": Conjunction(items),
        "any": AnyOf(rng.randint(1, 2), items),
        "or": Disjunction(items),
        "tseq": TimedSequence(items[0], items[1], low, low + rng.choice(DURATIONS)),
    }[kind]


def _event(rng: random.Random, names: object, repeat: bool = False) -> Event:
    quantifier = Quantifier(*rng.choice(QUANTIFIERS)) if repeat else None
    return Event(next(names, f"v{rng.random()}"[:12]), rng.choice(CLASSES), quantifier)


def _pick(rng: random.Random, var: str, bound: list[str]) -> Pick:
    within = rng.choice((None, rng.choice(DURATIONS)))
    origin = rng.choice((None, rng.choice(bound))) if within is not None else None
    return Pick(rng.choice(tuple(PickMode)), var, within, origin)


def _items(rng: random.Random, bound: list[str], prefix: str) -> tuple[Item, ...]:
    exprs = [_value(rng, bound, 2) for _ in range(rng.randint(1, 3))]
    plain = At(Column(f"{prefix} plain"), rng.choice(bound))
    return (Item(plain, f"{prefix} plain"), *(Item(expr, f"{prefix}{i}") for i, expr in enumerate(exprs)))


# -- expressions --------------------------------------------------------------------------------------


def _condition(rng: random.Random, names: list[str], depth: int) -> Expr:
    a, b, c = (_value(rng, names, depth - 1) for _ in range(3))
    forms = [
        Call(rng.choice(("=", "<>", "<", "<=", ">", ">=")), (a, b)),
        Call(rng.choice(("is null", "is not null", "is true", "is false")), (a,)),
        Call(rng.choice(("is distinct from", "is not distinct from")), (a, b)),
        Call("between", (a, b, c)),
        Call("in", (a, b, c)),
        Call("like", (a, Literal("x%"))),
        Call("matches", (a, b)),
    ]
    if depth > 0:
        x, y = (_condition(rng, names, depth - 1) for _ in range(2))
        forms += [Call("or", (x, y)), Call("not", (x,)), Call("or", (Call("and", (x, y)), x))]
    return rng.choice(forms)


def _value(rng: random.Random, names: list[str], depth: int) -> Expr:
    column = Column(rng.choice(ATTRIBUTES))
    var = rng.choice(names)
    read = At(column, var)
    if depth <= 0:
        return rng.choice((read, read, Literal(rng.choice(LITERALS))))
    x, y = (_value(rng, names, depth - 1) for _ in range(2))
    row = rng.choice((column, Call("+", (column, Literal(1))), Call("upper", (column,))))
    forms = [
        read,
        At(row, var, rng.choice(tuple(End)), rng.choice((0, 1, 2))),
        Aggregate(rng.choice(("sum", "avg", "min", "max", "count")), row, var),
        Aggregate("count", None, var),
        Call(rng.choice(("+", "-", "*", "/", "%", "||")), (x, y)),
        Call("neg", (x,)),
        Call("coalesce", (x, y)),
        Call("case", (Call("=", (x, y)), x, y)),
        Verbatim(("CAST(", " AS DOUBLE)"), (x,)),
    ]
    return rng.choice(forms)
