"""Random queries that change while a stream is saved: what goes on gives what it would have given from the beginning.

A stream takes some events of a random query, is saved, and is loaded with a query that was changed at random. It is
refused, by name, or from then on it gives what a stream gives that had the changed query all along.
`python -m motif.testing.change_fuzz --cases 10000` runs a campaign; a case is one change.
"""

from __future__ import annotations

import random
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard

from motif.errors import LimitExceeded, MotifError, UnsupportedQuery
from motif.hosts.duckdb_stream import Stream
from motif.ir.event import Duration, EventCount, EventQuery, Not, Pattern, Pick, PickMode
from motif.ir.event import Sequence as Seq
from motif.ir.expr import Aggregate, At, Expr, walk
from motif.ir.render_event import render_events
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.event_random_conditions import ConditionWriter
from motif.testing.event_random_pattern import SECOND
from motif.testing.fuzz import Tally, run_campaign
from motif.testing.tables import to_arrow

CHANGES = 4
"""Changes of one query."""
BELONGS = "the saved session belongs to another query: "


def check_seed(seed: int, *, compiled: bool = False) -> Tally:  # noqa: ARG001 - streams choose for themselves
    """One random query, a few changes of it."""
    rng = random.Random(seed)
    tally = Tally(queries=1)
    query = random_event_query(rng)
    events = [event for event in random_stream(rng, query) if event["ts"] is not None]
    for _ in range(CHANGES):
        changed = query
        for _ in range(rng.choice((1, 1, 2))):
            changed = rng.choice(_CHANGES)(rng, changed)
        try:
            _compare(rng, query, changed, events, tally)
        except (UnsupportedQuery, LimitExceeded):
            tally.refused += 1
        except Exception:  # noqa: BLE001 - whatever goes wrong is a finding
            texts = f"{render_events(query)}\n-- changed to\n{render_events(changed)}"
            tally.differences.append(f"seed {seed}: {traceback.format_exc(limit=-6)}\n{texts}")
    return tally


def _compare(
    rng: random.Random, query: EventQuery, changed: EventQuery, events: Sequence[Mapping[str, object]], tally: Tally
) -> None:
    schema = to_arrow([], COLUMNS).schema
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        stream, always = Stream(query, schema), Stream(changed, schema)
        rows = sorted(events, key=_time)
        cut = rng.randint(0, len(rows))
        for row in rows[:cut]:
            stream.push(row)
            always.push(row)
        rest = rows[cut:]
        if cut and (rng.random() < 0.7 or _is_eager(stream) != _is_eager(always)):
            moment = _time(rows[cut - 1])
            stream.advance(moment)
            always.advance(moment)
            rest = [row for row in rest if _time(row) > moment]
        stream.save(Path(folder) / "saved")
        try:
            stream = Stream.load(Path(folder) / "saved", query=changed)
        except MotifError as error:
            if not error.message.startswith(BELONGS):
                raise
            tally.features["refused: " + error.message.removeprefix(BELONGS).split("\n")[0][:50]] += 1
            return
        expected, found = _given(always, rest), _given(stream, rest)
    tally.cases += 1
    tally.matched += any(expected)
    tally.features["accepted"] += 1
    if expected != found:
        raise AssertionError(f"after {cut} events\n  expected {expected}\n  found    {found}")


def _time(event: Mapping[str, object]) -> datetime:
    time = event["ts"]
    assert isinstance(time, datetime)
    return time


def _is_eager(stream: Stream) -> bool:
    return stream.links[0].session.patterns.is_eager


def _given(stream: Stream, rows: Sequence[Mapping[str, object]]) -> list[list[Any]]:
    """What comes out with each row, and at the end."""
    return [table.to_pylist() for table in (*map(stream.push, rows), stream.close())]


# -- changes


def _reordered(rng: random.Random, query: EventQuery) -> EventQuery:
    if not isinstance(query.pattern, Seq):
        return query
    items = rng.sample(query.pattern.items, len(query.pattern.items))
    return replace(query, pattern=Seq(tuple(items)))


def _without_a_part(rng: random.Random, query: EventQuery) -> EventQuery:
    """Of those that nothing else names."""
    named = {
        node.var
        for e in (*query.conditions, *(i.expr for i in query.items or ()))
        for node in walk(e)
        if _has_var(node)
    }
    named |= {pick.var for pick in query.picks} | {pick.origin for pick in query.picks} | set(query.consuming)
    if not isinstance(query.pattern, Seq):
        return query
    free = [item for item in query.pattern.items if _names(item).isdisjoint(named)]
    if not free or len(query.pattern.items) < 3:
        return query
    gone = rng.choice(free)
    return replace(query, pattern=Seq(tuple(item for item in query.pattern.items if item is not gone)))


def _names(item: Pattern) -> set[str]:
    if isinstance(item, Not):
        return {item.event.var}
    return {event.var for event in EventQuery(item).events()}


def _has_var(node: Expr) -> TypeGuard[At | Aggregate]:
    return isinstance(node, At | Aggregate) and isinstance(node.var, str)


def _other_window(rng: random.Random, query: EventQuery) -> EventQuery:
    match query.within:
        case Duration(microseconds=length):
            return replace(query, within=rng.choice((None, Duration(max(length // 2, 1)), Duration(2 * length))))
        case EventCount(count=count):
            return replace(query, within=EventCount(max(count + rng.choice((-2, -1, 1)), 1)))
        case _:
            return replace(query, within=Duration(rng.choice((2, 5, 20)) * SECOND))


def _other_picks(rng: random.Random, query: EventQuery) -> EventQuery:
    if query.picks and rng.random() < 0.5:
        return replace(query, picks=query.picks[1:])
    single = [event.var for event in query.events() if event.repeat is None]
    single = [var for var in single if var not in {pick.var for pick in query.picks}]
    if not single:
        return query
    pick = Pick(rng.choice((PickMode.FIRST, PickMode.LAST)), rng.choice(single))
    return replace(query, picks=(*query.picks, pick))


def _other_conditions(rng: random.Random, query: EventQuery) -> EventQuery:
    if query.conditions and rng.random() < 0.5:
        return replace(query, conditions=tuple(rng.sample(query.conditions, len(query.conditions) - 1)))
    return replace(query, conditions=ConditionWriter(rng, query).conditions())


def _other_consumption(rng: random.Random, query: EventQuery) -> EventQuery:
    names = tuple(event.var for event in query.events())
    return replace(query, consuming=() if query.consuming else tuple(rng.sample(names, rng.randint(1, len(names)))))


def _other_items(rng: random.Random, query: EventQuery) -> EventQuery:
    """Fewer: more read what was not kept."""
    return (
        query
        if not query.items
        else replace(query, items=tuple(rng.sample(query.items, rng.randint(1, len(query.items)))))
    )


_CHANGES: tuple[Callable[[random.Random, EventQuery], EventQuery], ...] = (
    _reordered,
    _reordered,
    _without_a_part,
    _other_window,
    _other_picks,
    _other_conditions,
    _other_conditions,
    _other_consumption,
    _other_items,
)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    return run_campaign(check_seed, 1, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
