"""Random event queries over random streams: every engine must give what the reference gives.

`python -m motif.testing.event_fuzz --cases 100000` runs a campaign; a case is one query over one stream. Many streams
are packed into one run as partitions of a hidden key. A difference is printed with the seed that makes it again.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from motif.errors import UnsupportedQuery
from motif.ir.event import EventQuery
from motif.ir.expr import Column, Expr
from motif.ir.render_event import render_events
from motif.lang.snoop import parse_events
from motif.plan.events.program import Stream
from motif.plan.physical.costs import COMPILED, HASTY, PLAIN, Costs
from motif.testing.event_bindings import TooLong
from motif.testing.event_engines import Bound, Engine, without_hidden_key
from motif.testing.event_features import event_features
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.event_reference import Listed, fire_events, in_result_order, in_total_order
from motif.testing.fuzz import Tally, run_campaign

STREAMS = 40
REFERENCE_STEPS = 60_000
COMPOSITE = 0.15
"""Share of queries whose streams have composite events."""
_STREAM = "stream"
Event = Mapping[str, object]
Answer = list[tuple[object, ...]]
"""Matches as tuples of what each variable binds: values of events, lists of them, or None."""


def check_seed(seed: int, *, compiled: bool = False) -> Tally:
    """One random query over many streams, by every engine."""
    rng = random.Random(seed)
    query = random_event_query(rng)
    start = "start" if rng.random() < COMPOSITE else None
    streams = [random_stream(rng, query, starts=start is not None) for _ in range(STREAMS)]
    tally = Tally(queries=1)
    tally.features.update(event_features(query))
    tally.features.update(["composite events"] if start else [])
    text = render_events(query)
    try:
        if parse_events(text) != query:
            tally.differences.append(f"seed {seed}: the text does not give the query back\n{text}\n{query}")
        _compare(seed, query, streams, tally, start, compiled=compiled)
    except UnsupportedQuery:
        tally.refused += 1
    except Exception:  # noqa: BLE001 - whatever goes wrong is a finding
        tally.differences.append(f"seed {seed}: {traceback.format_exc()}\n{text}")
    return tally


def _compare(
    seed: int,
    query: EventQuery,
    streams: Sequence[Sequence[Event]],
    tally: Tally,
    start: str | None,
    *,
    compiled: bool,
) -> None:
    engines = _Engines(query, streams, start)
    expected = []
    for number, stream in enumerate(streams):
        try:
            expected.append((number, events_by_reference(query, stream, engines.read, start)))
        except TooLong:
            tally.too_long += 1
    tally.cases += len(expected)
    tally.matched += any(answer for _, answer in expected)
    answers = {"plain": engines.answers(PLAIN, all_events=seed % 2 == 0, threads=1 + seed % 3)}
    if compiled:
        # Otherwise than the plain ones, as it may be that only even seeds, or multiples of three, come here.
        answers["compiled"] = engines.answers(COMPILED, all_events=seed % 4 < 2, threads=3 - seed % 3)
        answers["compiled after a while"] = engines.answers(HASTY, all_events=seed % 4 > 1, threads=1 + seed % 2)
    answers["alone"] = engines.alone(COMPILED if compiled else PLAIN)
    for name, got in answers.items():
        for number, wanted in expected:
            if name == "alone" and number not in got:
                continue
            if engines.listed(wanted, got[number]) != got[number]:
                found = [one.shown for one in got[number]]
                tally.differences.append(_difference(seed, name, query, streams[number], wanted, found))
                return


def _difference(seed: int, name: str, query: EventQuery, stream: Sequence[Event], wanted: Answer, got: Answer) -> str:
    events = "\n".join(f"  {' '.join(str(value) for value in event.values())}" for event in stream)
    missing = [match for match in wanted if match not in got]
    extra = [match for match in got if match not in wanted]
    return (
        f"seed {seed}: {name} differs from the reference\n{render_events(query)}\n{events}\n"
        f"  expected {len(wanted)}, got {len(got)}\n  missing {missing[:3]}\n  extra {extra[:3]}"
        + ("" if missing or extra else f"\n  in another order: {wanted[:5]}, got {got[:5]}")
    )


def events_by_reference(
    query: EventQuery, stream: Sequence[Event], read: list[str], start: str | None = None
) -> Answer:
    """What the reference gives, in canonical order, or as it fires."""
    timed = [event for event in stream if event["ts"] is not None]
    schema = list(COLUMNS) + ([start] if start else [])
    events = in_total_order(query, timed, schema, start_column=start)
    fired = fire_events(query, events, ("ts", "type", start), steps=REFERENCE_STEPS)
    if not query.consuming:
        fired.sort(key=lambda one: one.rank)
    return by_values([one.match for one in fired], events, read)


def by_values(matches: Iterable[Any], events: Sequence[Event], read: list[str]) -> Answer:
    """Events that the query cannot tell apart are the same here."""

    def shown(bound: Bound) -> object:
        if isinstance(bound, list):
            return tuple(shown(number) for number in bound)
        return None if bound is None else tuple(events[bound][name] for name in read)

    return [tuple(map(shown, match.values())) for match in matches]


class _Engines:
    """One program over all streams; a hidden key keeps them apart."""

    def __init__(self, query: EventQuery, streams: Sequence[Sequence[Event]], start: str | None) -> None:
        self.events = [{**event, _STREAM: number} for number, stream in enumerate(streams) for event in stream]
        columns = {**COLUMNS, **({start: "TIMESTAMP"} if start else {}), _STREAM: "BIGINT"}
        self.engine = Engine(query, self.events, columns, stream=Stream(start=start), hidden_key=_STREAM)
        self.query = query
        self.program = self.engine.program
        self.read = [name for name in (*COLUMNS, start) if name and Column(name) in self.program.columns]
        self.streams = len(streams)

    def listed(self, wanted: Answer, got: Sequence[Listed]) -> list[Listed]:
        """What the reference wants, as the result of one stream should list it."""
        return as_listed(wanted, got, self.read, [self.program.columns[key] for key in self.program.keys[1:]])

    def answers(self, costs: Costs, *, all_events: bool, threads: int) -> dict[Hashable, list[Listed]]:
        """`all_events`: those without a chance are not left out before; `threads`: that share a join."""
        table = None if all_events else self.engine.near(compiled=costs.compile_rows == 0)
        return self._by_stream(self.engine.result(costs, table=table, threads=threads))

    def alone(self, costs: Costs) -> dict[Hashable, list[Listed]]:
        """The first streams, each by itself, so that what threads share is one partition wherever there is no key."""
        table = self.engine.table
        column = table.column(self.program.keys[0]).to_numpy()
        program = without_hidden_key(self.program)
        answers: dict[Hashable, list[Listed]] = {}
        for number in range(min(5, self.streams)):
            own = table.filter(pa.array(column == number))
            found = self.engine.result(costs, table=own, threads=3, program=program)
            answers[number] = [self._shown(one, one.key) for one in found]
        return answers

    def _by_stream(self, matches: list[Listed]) -> dict[Hashable, list[Listed]]:
        if matches != in_result_order(matches):
            raise AssertionError(f"the result of all streams is not in order: {matches[:10]}")
        answers: dict[Hashable, list[Listed]] = {number: [] for number in range(self.streams)}
        for one in matches:
            stream, *key = one.key
            answers[stream].append(self._shown(one, tuple(key)))
        return answers

    def _shown(self, one: Listed, key: tuple[Hashable, ...]) -> Listed:
        return one._replace(key=key, shown=by_values([one.shown], self.events, self.read)[0])


def as_listed(wanted: Answer, got: Sequence[Listed], read: Sequence[str], keys: Sequence[Expr]) -> list[Listed]:
    """What the reference wants, as a result should list it; `read`: the columns that events are told apart by.

    Matches are known by what they bind, for their ids; those that look alike have each one of its own.
    """
    ids: dict[object, list[int]] = {}
    for one in got:
        ids.setdefault(one.shown, []).append(one.match_id)
    places, time = [read.index(key.name) for key in keys if isinstance(key, Column)], read.index("ts")
    # Of a key that the host computes of several columns, only the result tells.
    computed = {one.shown: one.key for one in got} if len(places) < len(keys) else {}
    found = []
    for match in wanted:
        events = [event for bound in match if bound is not None for event in _events_of(bound)]
        own = ids.get(match) or [0]
        key = computed.get(match) or tuple(events[0][place] for place in places)
        found.append(Listed(max(event[time] for event in events), key, own.pop(0) if own[1:] else own[0], match))
    return in_result_order(found)


def _events_of(bound: Any) -> Sequence[Any]:
    """A bound event, or those of a list."""
    return bound if isinstance(bound[0], tuple) else [bound]


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    return run_campaign(check_seed, STREAMS, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
