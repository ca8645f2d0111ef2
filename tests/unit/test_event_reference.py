"""The reference of the event language on the shared cases, and the random queries that go with it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from motif.errors import MotifError
from motif.ir.event import EventQuery
from motif.lang.snoop import parse_events
from motif.lang.snoop.check import check_events
from motif.testing.event_bindings import Bindings, Budget
from motif.testing.event_cases import FUNCTIONS, EventCase, LabelledMatch, load_event_cases
from motif.testing.event_generate import (
    COLUMNS,
    event_features,
    random_event_example,
    random_event_query,
    random_events,
)
from motif.testing.event_reference import TooLong, fire_events, in_total_order, match_events
from motif.testing.event_roles import Stream
from motif.testing.event_ways import Binding, Way, ways

CASES = load_event_cases(Path(__file__).parent.parent / "event_cases")
ACCEPTED = [case for case in CASES if case.refused is None]


def answer(case: EventCase) -> list[LabelledMatch]:
    functions = {name: FUNCTIONS[name] for name in case.functions}
    matches = match_events(parse_events(case.query), case.events, start_column=case.start, functions=functions)
    return case.labelled(matches)


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_matches(case: EventCase) -> None:
    assert answer(case) == list(case.expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.refused is not None], ids=str)
def test_refused(case: EventCase) -> None:
    with pytest.raises(MotifError):
        answer(case)


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_events_stand_in_their_total_order(case: EventCase) -> None:
    query = parse_events(case.query)
    ordered = in_total_order(query, case.events, list(case.columns), start_column=case.start, order_by=case.order_by)
    assert ordered == list(case.events)


def test_every_trap_has_a_case() -> None:
    assert {trap for case in CASES for trap in case.traps} == {f"C{number}" for number in range(1, 17)}


def test_names_are_unique() -> None:
    names = [str(case) for case in CASES]
    assert len(set(names)) == len(names)


def test_what_would_take_for_ever_has_a_name() -> None:
    events = [{"ts": time, "type": "B"} for time in range(40)]
    with pytest.raises(TooLong):
        match_events(parse_events("SELECT * FROM SEQ(a; b+; c) PICK EACH b"), events, steps=1000)


def test_moments_are_in_order() -> None:
    events = [{"ts": time, "type": kind} for time, kind in ((0, "A"), (1, "B"), (1, "B"), (5_000_000, "X"))]
    query = parse_events("SELECT * FROM OR(SEQ(A a; NOT Y n), B b, X x) WITHIN 5 s")
    fired = fire_events(query, events)
    assert [fire.match for fire in fired] == [
        {"a": None, "b": 1, "x": None},
        {"a": None, "b": 2, "x": None},
        {"a": None, "b": None, "x": 3},
        {"a": 0, "b": None, "x": None},
    ]
    assert [fire.moment.deadline for fire in fired] == [False, False, False, True]


# --- the candidates lose nothing --------------------------------------------------------------------------------------


def labellings(way: Way, size: int) -> Iterator[Binding]:
    """Every way to give each event to one variable or none."""
    names = [event.var for event in way.events()]
    for labels in itertools.product([None, *names], repeat=size):
        binding: dict[str, tuple[int, ...]] = {}
        for place, name in enumerate(labels):
            if name is not None:
                binding[name] = (*binding.get(name, ()), place)
        yield binding


def is_possible(binding: Binding, single: frozenset[str]) -> bool:
    counts = [len(binding.get(name, ())) for name in single]
    return any(counts) and max(counts) <= 1


def stream_of(events: list[dict[str, object]]) -> Stream:
    times = list(range(0, 1_000_000 * len(events), 1_000_000))
    begins = [time - (500_000 if event["start"] is not None else 0) for time, event in zip(times, events, strict=True)]
    return Stream(events, range(len(events)), times, begins, [event["type"] for event in events])


@pytest.mark.parametrize("seed", range(60))
def test_candidates_lose_nothing(seed: int) -> None:
    rng = random.Random(seed)
    query = random_event_query(rng)
    size = 6 if len(query.events()) <= 3 else 4
    stream = stream_of(random_events(rng, size, starts=True))
    bindings = Bindings(query, stream, range(size), {}, Budget(None))
    found = sorted(sorted(binding.items()) for _, binding in bindings.all())
    expected = [
        sorted(binding.items())
        for way in ways(query.pattern)
        for binding in labellings(way, size)
        if is_possible(binding, bindings.roles.single) and bindings.is_match(way, binding)
    ]
    assert found == sorted(expected)


# --- random queries ---------------------------------------------------------------------------------------------------


def test_random_queries_are_legal_and_reproducible() -> None:
    for seed in range(300):
        example = random_event_example(random.Random(seed))
        assert example == random_event_example(random.Random(seed))
        assert check_events(example[0]) == []


def test_most_random_queries_match() -> None:
    assert sum(bool(_matches(*random_event_example(random.Random(seed)))) for seed in range(200)) > 100


def _matches(query: EventQuery, events: list[dict[str, object]]) -> list[object]:
    try:
        return list(match_events(query, in_total_order(query, events, list(COLUMNS)), steps=100_000))
    except TooLong:
        return []


def test_random_streams() -> None:
    rng = random.Random(1)
    streams = [random_events(rng, 12, null_times=True, starts=True, ids=True) for _ in range(50)]
    events = [event for stream in streams for event in stream]
    assert all(event.keys() == {*COLUMNS, "start", "id"} for event in events)
    assert all(any(event[name] is None for event in events) for name in (*COLUMNS, "start"))
    plain = [str(event) for event in random_events(rng, 200)]
    assert len(set(plain)) < len(plain)


def test_random_queries_cover_the_language() -> None:
    rng = random.Random(0)
    found = set().union(*(event_features(random_event_query(rng)) for _ in range(3000)))
    operators = ("SEQ", "ALL", "ANY", "OR", "TSEQ")
    missing = {
        *operators,
        *(f"{inner} in {outer}" for inner in operators for outer in operators),
        *(f"quantifier {sign}" for sign in ("*", "+", "?", "{n}", "{n,}", "{n,m}", "{,m}")),
        *("list first", "list in the middle", "list last", "adjacent lists", "list in OR", "list in TSEQ"),
        *("NOT in the middle", "NOT last", "event without class", "event of a class"),
        *(f"PICK {mode} {kind}" for mode in ("FIRST", "LAST", "EACH", "ALL") for kind in ("single", "list")),
        *("PICK FIRST list that may be empty", "PICK LAST list that may be empty", "several picks"),
        *("PICK WITHIN FROM single", "PICK WITHIN FROM list", "PICK WITHIN of the last event list"),
        *("CONSUMING none", "CONSUMING some", "CONSUMING all", "PICK and CONSUMING"),
        *("WITHIN none", "WITHIN time", "WITHIN n EVENTS", "[attr] none", "[attr] one", "[attr] two"),
        *("condition of NOT alone", "condition of NOT, correlated", "condition on two lists"),
        *("condition on one variables", "condition on two variables", "condition on many variables"),
        *(f"condition {name}" for name in ("PREV", "PREV with offset", "FIRST", "count", "sum", "avg", "min", "max")),
        *(f"condition {name}" for name in ("between", "in", "is null", "or", "not", "+", "-", "*", "%", "coalesce")),
    } - found
    assert not missing
