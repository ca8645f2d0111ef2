"""Random stacks of queries: a match that is an event stands right behind its last event.

So a stack means what the pattern means in which its queries stand in each other. That pattern is judged by the
reference; the stack is run over a table and over a stream, on events of which many have the same time. Order counts.
`python -m motif.testing.stack_fuzz --cases 10000` runs a campaign; a case is one stack over one stream of events.
"""

from __future__ import annotations

import random
import sys
import traceback
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from motif.hosts.duckdb_events import match_stack
from motif.hosts.duckdb_stream import Stream
from motif.lang.snoop import parse_events
from motif.plan.events import program
from motif.plan.physical.costs import COMPILED, COSTS, Costs
from motif.testing.event_bindings import TooLong
from motif.testing.event_reference import Listed, in_result_order, in_total_order, match_events
from motif.testing.fuzz import Tally, run_campaign
from motif.testing.stream_order import fault_of_events
from motif.testing.tables import to_arrow

COLUMNS = {"ts": "TIMESTAMP", "type": "VARCHAR", "k": "BIGINT", "x": "BIGINT", "id": "BIGINT"}
ORDERS = ((), (), ("x",), ("id",), ("x", "id"))
STREAMS = 4
"""Streams of events that a stack is tried on."""
STEPS = 200_000
EPOCH = datetime(2026, 1, 1)  # noqa: DTZ001 - TIMESTAMP has no zone
Event = Mapping[str, Any]
Answer = list[tuple[object, ...]]


@dataclass
class Node:
    """A part of a pattern: an event, or an operator over parts; one that is not the whole becomes a query."""

    name: str
    kind: str
    parts: list[Node] = field(default_factory=list)
    conditions: list[tuple[str, str, str]] = field(default_factory=list)
    """Of two variables below, in different parts, and how they compare."""

    @property
    def is_event(self) -> bool:
        return not self.parts

    def events(self) -> Iterator[Node]:
        """All events below, but those of NOT."""
        if self.is_event and not self.name.startswith("n"):
            yield self
        for part in self.parts:
            yield from part.events()

    def inner(self) -> Iterator[Node]:
        """Operators below, each after those below it."""
        for part in self.parts:
            if not part.is_event:
                yield from part.inner()
                yield part


class Drawn:
    """A random stack."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.has_key = rng.random() < 0.3
        self.classes = rng.choice(("ABCDEFGHIJKL", "AB", "ABC"))
        self.within = f" WITHIN {rng.choice((2, 3, 6))} s" if rng.random() < 0.5 else ""
        self.root = self._operator(rng.choice((1, 2, 2)))
        if not any(True for _ in self.root.inner()):
            self.root.parts[0] = self._operator(0)
        for node in (*self.root.inner(), self.root):
            self._compare(node)
        nodes = [*self.root.inner(), self.root]
        self.read = {name for node in nodes for one, _, other in node.conditions for name in (one, other)}
        """Events whose `x` is compared: what is read decides the order of events of one time."""

    @property
    def has_ties(self) -> bool:
        """Whether matches of an inner query may differ in events between the first and the last only.

        As events of the next query they are ordered by their number, which a stream gives them as it decides them.
        """
        return any(len(list(node.events())) > 2 for node in self.root.inner())

    def agree_on_x(self) -> bool:
        """Whether all parts of the last query have the same `x`, which is a key then."""
        joined = [{part.name} for part in self.root.parts]
        for one, operator, other in self.root.conditions:
            if operator == "=":
                ends = [
                    next(p.name for p in self.root.parts if any(e.name == end for e in p.events()))
                    for end in (one, other)
                ]
                together = set().union(*(group for group in joined if group & set(ends)))
                joined = [group for group in joined if not group & together] + [together]
        return len(joined) == 1

    def _operator(self, depth: int) -> Node:
        # In ALL an event of one part may not be one of another, which queries of a stack do not know of each other.
        kind = "ALL" if len(self.classes) > 9 and self.rng.random() < 0.3 else "SEQ"
        count = self.rng.choice((2, 2, 3))
        parts = [
            self._operator(depth - 1) if depth and self.rng.random() < 0.6 else self._event() for _ in range(count)
        ]
        node = Node(self._name("P"), kind, parts)
        if kind == "SEQ" and self.rng.random() < 0.2:
            parts.insert(1, Node(self._name("n"), self.rng.choice(self.classes)))
        return node

    def _event(self) -> Node:
        name = self._name("v")
        return Node(
            name,
            self.classes[self.count % len(self.classes)] if len(self.classes) > 9 else self.rng.choice(self.classes),
        )

    def _name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def _compare(self, node: Node) -> None:
        sides = [list(part.events()) for part in node.parts]
        sides = [side for side in sides if side]
        while self.rng.random() < 0.3:
            one, other = (self.rng.choice(side).name for side in self.rng.sample(sides, 2))
            node.conditions.append((one, self.rng.choice(("<=", ">=", "<", "=")), other))

    # -- as text

    def nested(self) -> str:
        """One query."""
        conditions = [f"{a}.x {op} {b}.x" for node in (*self.root.inner(), self.root) for a, op, b in node.conditions]
        items = ", ".join(f"{event.name}.id AS {event.name}" for event in self.root.events())
        return f"SELECT {items} FROM {_pattern(self.root)}{self._where(conditions)}{self.within}"

    def stack(self) -> list[str]:
        """A query for each operator."""
        queries = [f"DEFINE {node.name} {self._query(node)}" for node in self.root.inner()]
        return [*queries, self._query(self.root) + self.within]

    def _query(self, node: Node) -> str:
        parts = (
            "; ".join(_part(part) for part in node.parts) if node.kind == "SEQ" else ", ".join(map(_part, node.parts))
        )
        items = [f"{_value(node, event.name, 'id')} AS {event.name}" for event in node.events()]
        if node is not self.root:
            items += [
                f"{_value(node, event.name, 'x')} AS {event.name}_x"
                for event in node.events()
                if event.name in self.read
            ]
            items += [f"{_own(node.parts[0])}.k AS k"] if self.has_key else []
        conditions = [f"{_value(node, a, 'x')} {op} {_value(node, b, 'x')}" for a, op, b in node.conditions]
        return f"SELECT {', '.join(items)} FROM {node.kind}({parts}){self._where(conditions)}"

    def _where(self, conditions: Sequence[str]) -> str:
        everything = [*(["[k]"] if self.has_key else []), *conditions]
        return f" WHERE {' AND '.join(everything)}" if everything else ""


def _pattern(node: Node) -> str:
    if node.is_event:
        return f"{'NOT ' * node.name.startswith('n')}{node.kind} {node.name}"
    return f"{node.kind}({('; ' if node.kind == 'SEQ' else ', ').join(map(_pattern, node.parts))})"


def _own(part: Node) -> str:
    """The variable of a part in its query."""
    return part.name if part.is_event else part.name.lower()


def _part(part: Node) -> str:
    return _pattern(part) if part.is_event else f"{part.name} {_own(part)}"


def _value(node: Node, name: str, column: str) -> str:
    """An attribute of an event, as the query of an operator above it sees it."""
    part = next(part for part in node.parts if any(event.name == name for event in part.events()))
    if part.is_event:
        return f"{name}.{column}"
    return f"{_own(part)}.{name}" + ("_x" if column == "x" else "")


# -- events


def _events(rng: random.Random, drawn: Drawn) -> list[Event]:
    """Many at the same time, none like another."""
    kinds = [event.kind for event in drawn.root.events()] * 3 + list(drawn.classes)
    clock = 0.0
    found: list[Event] = []
    for number in rng.sample(range(100), rng.randint(5, 14)):
        clock += rng.choice((0, 0, 0, 1, 1, 2))
        key = rng.choice((1, 1, 2)) if drawn.has_key else 1
        time = EPOCH + timedelta(seconds=clock)
        found.append({"ts": time, "type": rng.choice(kinds), "k": key, "x": rng.randint(1, 3), "id": number})
    return found


def check_seed(seed: int, *, compiled: bool = False) -> Tally:
    """One random stack over a few streams of events."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class that no event has
        return _checked(seed, compiled=compiled)


def _checked(seed: int, *, compiled: bool) -> Tally:
    rng = random.Random(seed)
    drawn, order = Drawn(rng), rng.choice(ORDERS)
    tally = Tally(queries=1)
    kinds = {node.kind for node in (*drawn.root.inner(), drawn.root)}
    tally.features.update([*kinds, f"{len(drawn.stack())} queries", f"order by {', '.join(order) or 'time'}"])
    for _ in range(STREAMS):
        events = _events(rng, drawn)
        try:
            wanted = _nested(drawn, events, order)
            answers = {
                "table": _batch(drawn, events, order, COMPILED if compiled else COSTS),
                "stream": _live(rng, drawn, events, order),
            }
        except TooLong:
            tally.too_long += 1
            continue
        except Exception:  # noqa: BLE001 - whatever goes wrong is a finding
            tally.differences.append(f"seed {seed}: {traceback.format_exc(limit=-8)}\n{drawn.stack()}")
            return tally
        tally.cases += 1
        tally.matched += bool(wanted)
        for name, steps in answers.items():
            listed = _as_listed(drawn, wanted, events, steps)
            if name == "stream" and drawn.has_ties:
                steps = [[one for step in steps for one in step]]
                steps[0].sort(key=lambda one: listed.index(one) if one in listed else len(listed))
            fault = fault_of_events(listed, steps, in_time=False)
            if fault is not None:
                shown = "\n".join(map(str, [drawn.nested(), drawn.stack(), *events]))
                tally.differences.append(f"seed {seed}: a {name} differs, order by {order}\n{shown}\n{fault}")
                return tally
    return tally


def _nested(drawn: Drawn, events: Sequence[Event], order: Sequence[str]) -> Answer:
    """What the nested pattern finds, in the order of the last query of the stack."""
    query = parse_events(drawn.nested())
    ordered = in_total_order(query, events, list(COLUMNS), order_by=order)
    names = [event.name for event in drawn.root.events()]
    found = []
    for match in match_events(query, ordered, steps=STEPS):
        numbers = {name: number for name, number in match.items() if isinstance(number, int)}
        ids = tuple(ordered[numbers[name]]["id"] for name in names)
        found.append((_canonical(drawn.root, numbers), ids))
    return [ids for _, ids in sorted(found)]


def _canonical(node: Node, numbers: Mapping[str, int]) -> tuple[Any, ...]:
    """By the last part of a match, the first one, then the others one by one."""
    places = [_place(part, numbers) for part in node.parts if any(True for _ in part.events())]
    ordered = sorted(places)
    return (ordered[-1], ordered[0], ordered[1:], places)


def _place(part: Node, numbers: Mapping[str, int]) -> tuple[Any, ...]:
    """A match stands behind its last event; several behind one by their first event, then in canonical order."""
    own = [numbers[event.name] for event in part.events()]
    return (max(own), 0) if part.is_event else (max(own), 1, min(own), _canonical(part, numbers))


def _as_listed(
    drawn: Drawn, wanted: Answer, events: Sequence[Event], steps: Sequence[Sequence[Listed]]
) -> list[Listed]:
    """What the reference wants, as the result of a stack should list it."""
    ids = {one.shown: one.match_id for step in steps for one in step}
    of = {event["id"]: event for event in events}
    return in_result_order(
        Listed(max(of[number]["ts"] for number in match), _key(drawn, of, match), ids.get(match, 0), match)
        for match in wanted
    )


def _key(drawn: Drawn, of: Mapping[Any, Event], match: tuple[object, ...]) -> tuple[Hashable, ...]:
    """What all events of the last query agree on."""
    key: list[Hashable] = [of[match[0]]["k"]] if drawn.has_key else []
    if drawn.agree_on_x():
        compared = next(one for one, operator, _ in drawn.root.conditions if operator == "=")
        place = [event.name for event in drawn.root.events()].index(compared)
        key.append(of[match[place]]["x"])
    return tuple(key)


def _batch(drawn: Drawn, events: Sequence[Event], order: tuple[str, ...], costs: Costs) -> list[list[Listed]]:
    queries = [parse_events(text) for text in drawn.stack()]
    stream = program.Stream(order_by=order)
    return [_listed(drawn, events, match_stack(to_arrow(events, COLUMNS), queries, stream, {}, costs=costs))]


def _live(rng: random.Random, drawn: Drawn, events: Sequence[Event], order: tuple[str, ...]) -> list[list[Listed]]:
    """Late by some seconds, in pieces; what comes of each."""
    lateness = rng.choice((0, 0, 1, 3))
    schema = to_arrow([], COLUMNS).schema
    stream = Stream(drawn.stack(), schema, order_by=order, lateness=timedelta(seconds=lateness))

    def arrival(event: Event) -> tuple[datetime, float]:
        time = event["ts"]
        assert isinstance(time, datetime)
        return time + timedelta(seconds=rng.random() * lateness), rng.random()

    arriving, found, at = sorted(events, key=arrival), [], 0
    while at < len(arriving):
        size = rng.choice((1, 1, 2, 4))
        found.append(stream.push(arriving[at : at + size]))
        at += size
    found.append(stream.close())
    return [_listed(drawn, events, step) for step in found]


def _listed(drawn: Drawn, events: Sequence[Event], found: pa.Table) -> list[Listed]:
    of = {event["id"]: event for event in events}
    ids = list(zip(*(found.column(event.name).to_pylist() for event in drawn.root.events()), strict=True))
    facts = zip(found.column("match_end").to_pylist(), found.column("match_id").to_pylist(), ids, strict=True)
    return [Listed(end, _key(drawn, of, match), number, match) for end, number, match in facts]


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    return run_campaign(check_seed, STREAMS, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
