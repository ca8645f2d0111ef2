"""Random queries over random streams through real Spark: micro-batches give what the table of all events gives.

Many streams are packed as keys into one job, and several queries of a language run in it side by side. What a stream
cannot know yet at its end (an open repetition without WITHIN) is told apart by a session in process.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from stream_frames import Folder, Run, in_some_order, rows_of

import motif
from motif.engine.events.functions import Functions
from motif.engine.stream import container
from motif.engine.stream.session import StreamSession
from motif.errors import LimitExceeded, MotifError, QueryDataError
from motif.ir.render_event import render_events
from motif.lang.statement import parse_clause
from motif.options import LiveOptions
from motif.plan.events.program import Stream
from motif.plan.planner import plan
from motif.testing import event_generate, generate
from motif.testing.event_engines import with_hidden_key
from motif.testing.tables import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from motif.hosts.spark.stream import Stage

pytestmark = [pytest.mark.spark, pytest.mark.random]

STREAM, CASE = "stream_number", "case_number"
STREAMS, FILES, QUERIES = 30, 4, 6
END = datetime(2024, 6, 1)
Row = dict[str, Any]
Make = Callable[["SparkSession", int, random.Random, LiveOptions], "Case"]


@dataclass
class Case:
    """A query, its events, and the same plan over a table and over a stream."""

    number: int
    text: str
    rows: list[Row]
    batch: Callable[[DataFrame], DataFrame]
    stage: Callable[[DataFrame], Stage]
    decided: list[pa.Table] = field(default_factory=list)
    rest: list[pa.Table] = field(default_factory=list)

    def own(self, frame: DataFrame) -> DataFrame:
        return frame.filter(f"{CASE} = {self.number}").drop(CASE)

    def finished(self, spark: SparkSession, stage: Stage, tables: list[pa.Table]) -> DataFrame:
        """Leaves as the columns that the query puts out."""
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = stage.schema(with_kinds=False)
        table = pa.concat_tables([to_arrow_schema(schema, timezone="UTC").empty_table(), *tables])
        # Of a table in several chunks, Spark 4.3 loses the rows after an empty one.
        return stage.with_scalars(spark.createDataFrame(table.combine_chunks(), schema), with_kinds=False)


# --- queries of both languages ---


def row_case(spark: SparkSession, number: int, rng: random.Random, live: LiveOptions) -> Case:
    from motif.hosts.spark import batch
    from motif.hosts.spark.plans import stream_plan
    from motif.hosts.spark.stream import Chain

    text = by_time(generate.random_clause(rng), rng)
    query = parse_clause(text, "spark")
    rows = generate.random_rows(rng, STREAMS if query.partition else 1)

    def stage(frame: DataFrame) -> Stage:
        source = batch.SparkSource(frame)
        program = plan(query, source)
        chosen = stream_plan(program, source, buckets=live.buckets)
        return Chain(live).stage(program, source, Functions({}), chosen, ("match",))

    return Case(number, text, rows, lambda frame: batch.match_frame(frame, query), stage)


def by_time(clause: str, rng: random.Random) -> str:
    """The clause with an order by time."""
    order = rng.choice(("ts", "ts", "ts, t", "ts, v DESC"))
    lengths = ("'2' MINUTE", "'90' SECOND", "'10' MINUTE")
    within = f"\n  WITHIN INTERVAL {rng.choice(lengths)}" if rng.random() < 0.6 else ""
    clause = re.sub(r"\n  WITHIN [^\n]*", "", clause)
    clause = re.sub(r"ORDER BY [^\n]*", f"ORDER BY {order}", clause)
    return re.sub(r"\n  PATTERN [^\n]*", lambda found: found[0] + within, clause)


def event_case(spark: SparkSession, number: int, rng: random.Random, live: LiveOptions) -> Case:
    from motif.hosts.spark.batch import SparkSource
    from motif.hosts.spark.events import run_program
    from motif.hosts.spark.plans import stream_plan
    from motif.hosts.spark.stream import Chain
    from motif.plan.events.planner import plan_events

    query = event_generate.random_event_query(rng)
    streams = [event_generate.random_stream(rng, query) for _ in range(STREAMS)]
    rows = [{**event, STREAM: at} for at, stream in enumerate(streams) for event in stream]

    def program(frame: DataFrame) -> Any:
        return with_hidden_key(plan_events(query, SparkSource(frame), Stream()), STREAM)

    def stage(frame: DataFrame) -> Stage:
        planned, source = program(frame), SparkSource(frame)
        chosen = stream_plan(planned, source, buckets=live.buckets)
        return Chain(live).stage(planned, source, Functions({}), chosen, ("match",))

    return Case(
        number,
        render_events(query),
        rows,
        lambda frame: run_program(program(frame), SparkSource(frame), {}),
        stage,
    )


# --- how events arrive, and what must come out ---


def write(folder: Folder, cases: list[Case], lateness: timedelta, rng: random.Random) -> None:
    """Events of all queries, up to `lateness` out of order, in a few files; and one of each that moves time on."""
    rows = [{**row, CASE: case.number} for case in cases for row in case.rows]
    rng.shuffle(rows)
    rows.sort(key=lambda row: arrival(row["ts"], lateness * rng.random()))
    size = -(-len(rows) // FILES)
    for low in range(0, len(rows), size):
        folder.put(rows[low : low + size])
    folder.put([{CASE: case.number, "ts": END} for case in cases])


def arrival(time: datetime | None, delay: timedelta) -> datetime:
    """Times as far as there can be come as they are; those without one come first."""
    if time is None:
        return datetime.min
    return time + delay if time < END else time


def last_watermark(cases: list[Case], lateness: timedelta) -> int:
    """That of the query which is furthest behind, in microseconds."""
    latest = min(max([END, *(row["ts"] for row in case.rows if row["ts"] is not None)]) for case in cases)
    milliseconds = (latest - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
    return (milliseconds - lateness // timedelta(milliseconds=1) - 1) * 1000


def answered(cases: list[Case], stages: Mapping[int, Stage], table: DataFrame, watermark: int) -> list[Case]:
    """With what a session in process decides up to the watermark, and what at the end; those that have no answer go."""
    from motif.hosts.spark import stream_worker
    from motif.hosts.spark.batch import SparkSource

    parts = []
    for case in cases:
        rows, pack = stages[case.number].rows(SparkSource(case.own(table))), stream_worker.packer
        packed = rows.mapInArrow(pack(stages[case.number].operator), stream_worker.PACKED)
        parts.append(packed.selectExpr(f"{case.number} AS number", "payload"))
    payloads: dict[int, list[pa.Table]] = {case.number: [] for case in cases}
    for number, payload in reduce(lambda one, other: one.unionAll(other), parts).collect():
        payloads[number].append(container.bytes_table(bytes(payload)))
    found = []
    for case in cases:
        session = StreamSession(stages[case.number].operator.planned)
        try:
            pushed = session.push(pa.concat_tables(payloads[case.number]).combine_chunks())
            case.decided = list(pushed.and_then(session.advance(watermark)).matches)
            case.rest = list(session.close().matches)
        except (LimitExceeded, QueryDataError):
            continue
        if not session.counts.limited and (case.decided or case.rest):
            found.append(case)
    return found


def candidates(spark: SparkSession, make: Make, schema: str, seed: int, live: LiveOptions) -> Iterator[Case]:
    """Random queries that Spark takes."""
    empty = spark.createDataFrame([], schema)
    for number in count():
        case = make(spark, number, random.Random(1000 * seed + number), live)
        try:
            case.stage(case.own(empty))
        except MotifError:
            continue
        yield case


LANGUAGES: dict[str, tuple[Make, Mapping[str, str], str]] = {
    "row patterns": (row_case, generate.COLUMNS, "TIMESTAMP_NTZ"),
    "event patterns": (event_case, {**event_generate.COLUMNS, STREAM: "BIGINT"}, "TIMESTAMP"),
}
SEEDS = range(1, 1 + int(os.environ.get("MOTIF_STREAM_SEEDS", "1")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_stream_gives_what_the_table_gives(language: str, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    from motif.hosts.spark.batch import SparkSource
    from motif.hosts.spark.stream_watermark import watched

    make, columns, kind = LANGUAGES[language]
    rng = random.Random(seed)
    lateness = timedelta(seconds=rng.choice((0, 1, 30)))
    live = LiveOptions(lateness, buckets=rng.choice((1, 3, 16)))
    folder = folder_of(tmp_path / "events", {**columns, CASE: "BIGINT"}, kind)
    cases = list(islice(candidates(spark, make, folder.schema, seed, live), QUERIES))
    write(folder, cases, lateness, rng)
    table, stream = folder.table(spark), folder.stream(spark)
    stages = {case.number: case.stage(case.own(table)) for case in cases}
    cases = answered(cases, stages, table, last_watermark(cases, lateness))
    cases = answered(cases, stages, table, last_watermark(cases, lateness))

    def live_frame(case: Case) -> DataFrame:
        source = SparkSource(watched(case.own(stream), "ts", live))
        return stages[case.number].result(source, None, with_kinds=False)

    run = Run().of({str(case.number): live_frame(case) for case in cases}, tmp_path / "checkpoint")
    assert run.watermark == last_watermark(cases, lateness)
    decided = rows_of({str(c.number): c.finished(spark, stages[c.number], c.decided) for c in cases})
    whole = rows_of({str(c.number): c.finished(spark, stages[c.number], c.decided + c.rest) for c in cases})
    batch = rows_of({str(c.number): c.batch(c.own(table).filter("ts IS NOT NULL")) for c in cases})
    assert sum(map(len, decided.values())) > 100
    for case in cases:
        name, shown = str(case.number), f"seed {1000 * seed + case.number}\n{case.text}"
        assert in_some_order(run.rows(name)) == in_some_order(decided[name]), shown
        assert in_some_order(whole[name]) == in_some_order(batch[name]), shown
    assert motif.status(run.query).late == 0


def folder_of(path: Path, columns: Mapping[str, str], kind: str) -> Folder:
    """Times with or without a zone."""
    zone = "UTC" if kind == "TIMESTAMP" else None
    types = {name: pa.timestamp("us", zone) if sql == "TIMESTAMP" else arrow_type(sql) for name, sql in columns.items()}
    schema = ", ".join(f"{name} {kind if sql == 'TIMESTAMP' else sql}" for name, sql in columns.items())
    return Folder(path, schema.replace("VARCHAR", "STRING"), pa.schema(list(types.items())))
