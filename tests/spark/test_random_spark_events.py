"""Random event queries through real Spark: against the reference, and in time slices against the engine in process."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from event_frames import NUMBER, in_place, in_some_order, numbered, numbers, readable, together

from motif.errors import MotifError, UnsupportedQuery
from motif.ir.event import EventQuery
from motif.plan.physical.exact import why_not_slices
from motif.testing.event_bindings import TooLong
from motif.testing.event_engines import Engine
from motif.testing.event_generate import COLUMNS, random_event_query, random_events, random_stream
from motif.testing.event_reference import in_total_order, match_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.random]

STREAM = "stream_number"
STREAMS = 25
RANDOM_QUERIES = 30


def test_random_queries_agree_with_the_reference(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    check(spark, 7000, RANDOM_QUERIES)


@pytest.mark.usefixtures("small_tables")
def test_random_queries_in_one_task(spark: SparkSession) -> None:
    check(spark, 8000, RANDOM_QUERIES // 2)


def check(spark: SparkSession, first_seed: int, queries: int) -> None:
    """Many streams in one run, kept apart by a key of which the query knows nothing."""
    frames, expected, shown = {}, {}, {}
    for seed in count(first_seed):
        rng = random.Random(seed)
        query = random_event_query(rng)
        events = [{**event, STREAM: number} for number in range(STREAMS) for event in random_stream(rng, query)]
        try:
            expected[seed] = reference(query, events)
            shown[seed] = readable(query, events)
            frames[seed] = numbered(spark, query, events, {**COLUMNS, STREAM: "BIGINT"}, hidden_key=STREAM)
        except (TooLong, UnsupportedQuery):
            continue
        if len(frames) == queries:
            break
    found = together(frames)
    assert sum(map(len, found.values())) > 500
    for seed, rows in found.items():
        wanted = in_some_order(in_place(match, shown[seed]) for match in expected[seed])
        assert in_some_order(in_place(numbers(match), shown[seed]) for match in rows) == wanted, f"seed {seed}"


def reference(query: EventQuery, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Matches of all streams, one after the other, as numbers of events."""
    matches: list[dict[str, Any]] = []
    for number in range(STREAMS):
        own = [{**event, NUMBER: at} for at, event in enumerate(events) if event[STREAM] == number]
        own = list(in_total_order(query, [event for event in own if event["ts"] is not None], list(COLUMNS)))
        names = [event[NUMBER] for event in own]
        matches += [in_place(match, names.__getitem__) for match in match_events(query, own, steps=20_000)]
    return matches


def test_random_queries_in_time_slices(spark: SparkSession) -> None:
    """Slices as short as can be, so that most matches reach over several."""
    spark.conf.set("spark.motif.costs", '{"one_task_bytes": 0, "slice_windows": 1, "shortest_slice": 1}')
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    frames, expected, shown = {}, {}, {}
    for seed in count(9000):
        rng = random.Random(seed)
        query = replace(random_event_query(rng), consuming=(), same=())
        events = random_events(rng, 60)
        try:
            engine = Engine(query, events, COLUMNS)
            if engine.has_key or why_not_slices(engine.program) is not None:
                continue
            expected[seed] = engine.matches()
            shown[seed] = readable(query, events)
            frames[seed] = numbered(spark, query, events, COLUMNS)
        except MotifError:
            continue
        if len(frames) == 20:
            break
    for seed, rows in together(frames).items():
        wanted = in_some_order(in_place(match, shown[seed]) for match in expected[seed])
        assert in_some_order(in_place(numbers(match), shown[seed]) for match in rows) == wanted, f"seed {seed}"
