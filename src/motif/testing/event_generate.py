"""Random event queries and streams, the same for the same seed.

Queries are IR and legal by construction. What the page and ADR 9 leave unclear is not drawn: see
`event_random_pattern.is_legal`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

from motif.ir.event import Attribute, Duration, Event, EventCount, EventQuery, Item, Pick, PickMode, Quantifier
from motif.ir.expr import Aggregate, Column, Expr
from motif.testing.event_features import event_features
from motif.testing.event_random_conditions import ConditionWriter, col
from motif.testing.event_random_pattern import (
    CLASSES,
    SECOND,
    has_open_end,
    is_list_in_or,
    random_event_pattern,
)

__all__ = [
    "COLUMNS",
    "event_features",
    "random_event_example",
    "random_event_query",
    "random_events",
    "random_stream",
]

COLUMNS = {"ts": "TIMESTAMP", "type": "VARCHAR", "k": "BIGINT", "x": "BIGINT", "y": "BIGINT", "s": "VARCHAR"}
"""The stream that random queries read; `random_events` may add `start` (TIMESTAMP) and `id` (BIGINT)."""

EPOCH = datetime(2024, 1, 1)  # noqa: DTZ001  TIMESTAMP has no zone


def random_event_example(rng: random.Random) -> tuple[EventQuery, list[dict[str, object]]]:
    """A query and a stream for it; streams are short where the query has EACH of a list, or variables of any class."""
    query = random_event_query(rng)
    return query, random_stream(rng, query)


def random_stream(rng: random.Random, query: EventQuery, *, starts: bool = False) -> list[dict[str, object]]:
    """A stream in which the query may find something; now and then with events that have no time.

    `starts`: some events are matches themselves, with a beginning of their own.
    """
    each = any(event.repeat is not None and query.pick(event.var) is PickMode.EACH for event in query.events())
    wide = sum(event.type is None for event in query.events()) > 1
    count = rng.randint(7, 10 if each or wide else 16)
    return random_events(rng, count, classes=_classes(query), null_times=rng.random() < 0.05, starts=starts)


def _classes(query: EventQuery) -> list[str]:
    """The classes of a query, those of NOT less often: a stream of them has few matches."""
    named = [event.type for event in query.events() if event.type is not None]
    return named * 4 + [event.type for event in query.negated() if event.type is not None] + list(CLASSES)


# --- queries --------------------------------------------------------------------------------------------------------


def random_event_query(rng: random.Random) -> EventQuery:
    """A query over `COLUMNS`."""
    query = EventQuery(random_event_pattern(rng))
    query = replace(query, picks=_picks(rng, query))
    query = replace(query, within=_within(rng, query), same=_same(rng), consuming=_consuming(rng, query))
    query = replace(query, conditions=ConditionWriter(rng, query).conditions())
    return replace(query, items=_items(rng, query))


def _picks(rng: random.Random, query: EventQuery) -> tuple[Pick, ...]:
    chance = rng.choice((0.0, 0.3, 0.3, 0.6))
    modes = {event.var: _mode(rng, event) for event in query.events() if rng.random() < chance}
    single = [event.var for event in query.events() if event.repeat is None or _is_one(modes.get(event.var))]
    picks = [_pick(rng, mode, var, [name for name in single if name != var]) for var, mode in modes.items()]
    rng.shuffle(picks)
    return tuple(picks)


def _mode(rng: random.Random, event: Event) -> PickMode:
    modes = [PickMode.FIRST, PickMode.FIRST, PickMode.LAST, PickMode.LAST, PickMode.EACH, PickMode.ALL]
    quantifier = event.repeat or Quantifier(1, 1)
    return rng.choice(modes if quantifier.allows(1) else modes[-2:])


def _is_one(mode: PickMode | None) -> bool:
    return mode in (PickMode.FIRST, PickMode.LAST)


def _pick(rng: random.Random, mode: PickMode, var: str, single: list[str]) -> Pick:
    if rng.random() < 0.65:
        return Pick(mode, var)
    within = rng.choice((1, 2, 3, 3, 4, 5, 6)) * SECOND
    return Pick(mode, var, within, rng.choice(single) if single and rng.random() < 0.6 else None)


def _within(rng: random.Random, query: EventQuery) -> Duration | EventCount | None:
    if rng.random() < 0.2 and not has_open_end(query) and not is_list_in_or(query.pattern):
        return None
    if rng.random() < 0.3:
        return EventCount(rng.choice((2, 3, 4, 5, 5, 6, 6, 7, 8, 9, 10)))
    return Duration(rng.choice((2, 3, 4, 5, 6, 6, 8, 8, 10, 10, 15)) * SECOND)


def _same(rng: random.Random) -> tuple[Attribute, ...]:
    names = rng.choice(((), (), (), (), ("k",), ("k",), ("k",), ("s",), ("k", "s")))
    return tuple(Attribute(name) for name in names)


def _consuming(rng: random.Random, query: EventQuery) -> tuple[str, ...]:
    names = [event.var for event in query.events()]
    chance = rng.random()
    if chance < 0.5:
        return ()
    if chance < 0.7:
        return tuple(names)
    return tuple(name for name in names if rng.random() < 0.5) or (rng.choice(names),)


def _items(rng: random.Random, query: EventQuery) -> tuple[Item, ...] | None:
    if rng.random() < 0.75:
        return None
    chosen = rng.sample(query.events(), rng.randint(1, len(query.events())))
    return tuple(Item(_item(rng, event), f"o{number}") for number, event in enumerate(chosen))


def _item(rng: random.Random, event: Event) -> Expr:
    name = rng.choice(("k", "x", "y", "s"))
    if event.repeat is None or rng.random() < 0.4:
        return col(event.var, name)
    if rng.random() < 0.3:
        return Aggregate("count", None, event.var)
    return Aggregate(rng.choice(("count", "min", "max")), Column(name), event.var)


# --- streams ----------------------------------------------------------------------------------------------------------


def random_events(
    rng: random.Random,
    count: int,
    *,
    classes: list[str] | None = None,
    null_times: bool = False,
    starts: bool = False,
    ids: bool = False,
) -> list[dict[str, object]]:
    """A stream in the order of time: ties, exact duplicates, NULLs in every column but the time.

    `null_times` adds events without time (at the end, as NULLs are ordered), `starts` the column of events that are
    matches themselves, `ids` a number that tells duplicates apart. What `in_total_order` of the reference makes of ties
    depends on the query.
    """
    events: list[dict[str, object]] = []
    clock = 0.0
    keys = rng.choice(((1,), (1, 1, 1, 2), (1, 1, 2), (1, 2, 3)))
    for _ in range(count):
        clock += rng.choice((0, 0, 0.5, 1, 1, 1, 1, 1, 2, 2, 3))
        repeated = bool(events) and rng.random() < 0.08
        events.append(dict(events[-1]) if repeated else _event(rng, clock, classes or list(CLASSES), keys))
        if repeated:
            clock = (_time(events[-1]) - EPOCH).total_seconds()
        elif starts:
            back = rng.choice((None, None, 0, 0.5, 1, 2))
            events[-1]["start"] = None if back is None else _time(events[-1]) - timedelta(seconds=back)
    if null_times:
        lost = rng.sample(events, rng.randint(0, min(2, count)))
        events += [{**event, "ts": None} for event in lost]
    if ids:
        events = [{**event, "id": number} for number, event in enumerate(events)]
    return events


def _time(event: dict[str, object]) -> datetime:
    time = event["ts"]
    assert isinstance(time, datetime), "the time is not NULL yet"
    return time


def _event(rng: random.Random, clock: float, classes: list[str], keys: tuple[int, ...]) -> dict[str, object]:
    return {
        "ts": EPOCH + timedelta(seconds=clock),
        "type": _or_null(rng, 0.03, rng.choice(classes)),
        "k": _or_null(rng, 0.04, rng.choice(keys)),
        "x": _or_null(rng, 0.07, rng.randint(0, 4)),
        "y": _or_null(rng, 0.07, rng.randint(0, 4)),
        "s": _or_null(rng, 0.05, rng.choice("uuuvvw")),
    }


def _or_null(rng: random.Random, chance: float, value: object) -> object:
    return None if rng.random() < chance else value
