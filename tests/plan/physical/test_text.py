"""A plan for people says what the plan says, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from planned_queries import ALL_EVENTS, ALL_ROWS, BY_KEY, ENDLESS, ROWS_BY_KEY, TABLE, program_of

import motif
from motif.plan.physical.choose import choose
from motif.plan.physical.facts import Asked, Crossing, Facts, Host, Mode, Reader
from motif.plan.physical.plan import Strategy
from motif.plan.physical.text import NO_COLUMN, work

ASKED = Asked("rows", "sorted rows", "", "result", (Crossing("k", "integer"), Crossing("upper(c)", "text")))
FILTERED = Asked("rows", "", "type = 'A'", "result")
STREAM = Facts(host=Host.SPARK, mode=Mode.STREAM, asked=ASKED, buckets=16)
BATCH = Facts(host=Host.SPARK, asked=ASKED)

TITLES: dict[str, tuple[str, Facts, list[str]]] = {
    "rows by DuckDB": (
        ROWS_BY_KEY,
        Facts(asked=ASKED),
        ["DuckDB reads", "Motif matches rows", "DuckDB computes the outputs"],
    ),
    "rows sorted by DuckDB": (
        ROWS_BY_KEY,
        Facts(asked=ASKED, bytes=1 << 40),
        ["DuckDB reads and sorts", "Motif matches rows", "DuckDB computes the outputs"],
    ),
    "rows of a file": (
        ROWS_BY_KEY,
        Facts(asked=ASKED, reader=Reader.ARROW, files=1),
        ["Arrow reads the file", "Motif matches rows", "DuckDB computes the outputs"],
    ),
    "events in memory, and nothing to compute": (
        BY_KEY,
        Facts(reader=Reader.MEMORY),
        ["Columns are taken as they are", "Motif joins events"],
    ),
    "events that are pushed": (
        BY_KEY,
        Facts(mode=Mode.STREAM, reader=Reader.PUSH),
        ["Rows are pushed", "Motif joins events"],
    ),
    "rows on Spark": (
        ROWS_BY_KEY,
        BATCH,
        ["Spark selects", "Spark exchanges", "Motif matches rows, inside mapInArrow", "Spark selects the result"],
    ),
    "events on Spark": (
        BY_KEY,
        Facts(host=Host.SPARK, asked=FILTERED),
        [
            "Spark filters",
            "Spark selects",
            "Spark exchanges",
            "Motif joins events, inside mapInArrow",
            "Spark selects the result",
        ],
    ),
    "files that a task of Spark reads": (
        ROWS_BY_KEY,
        Facts(host=Host.SPARK, asked=ASKED, reader=Reader.ARROW, files=2, bytes=1),
        ["One task reads", "Motif matches rows, inside mapInArrow", "Spark selects the result"],
    ),
    "a stream on Spark": (
        BY_KEY,
        STREAM,
        [
            "Spark selects",
            "Motif packs rows, inside mapInArrow",
            "Spark exchanges",
            "Motif joins events, inside transformWithState",
            "Motif unpacks the matches, inside mapInArrow",
            "Spark selects the result",
        ],
    ),
}


@pytest.mark.parametrize("name", TITLES)
def test_steps_in_their_order(name: str) -> None:
    query, facts, titles = TITLES[name]
    assert [step.title for step in work(choose(program_of(query), facts))] == titles


def notes(query: str, facts: Facts, wanted: Strategy | None = None) -> str:
    """All that is said of the steps."""
    steps = work(choose(program_of(query), facts, wanted=wanted))
    return "\n".join(note for step in steps for note in step.notes)


@pytest.mark.parametrize(
    ("query", "facts", "note"),
    [
        (ROWS_BY_KEY, Facts(cores=4), "strategy partitions, as many parts as pay: each core has whole partitions"),
        (ROWS_BY_KEY, Facts(cores=4, rows=10**6), "strategy partitions, 6 parts: each core has whole partitions"),
        (ROWS_BY_KEY, Facts(cores=4, rows=10**6), "loops: compiled (1,000,000 rows; from 200,000 on it is compiled)"),
        (ROWS_BY_KEY, Facts(), "loops: compiled from 200,000 rows on"),
        (ALL_ROWS, Facts(cores=1), "strategy sequential: one core does all the work"),
        (ALL_ROWS, Facts(cores=4, rows=10**6), "strategy pieces, 4 parts: "),
        (BY_KEY, Facts(cores=4), "events of partitions that lack what every match must have are left out"),
        (BY_KEY, Facts(cores=4), "candidates are counted when events are read: then the join is ordered again"),
        (ROWS_BY_KEY, Facts(), "rows are counted when they are read: then strategy, parts and loops are chosen again"),
        (ROWS_BY_KEY, Facts(asked=ASKED), "up to 1,024 MiB are sorted in memory; DuckDB sorts what is more"),
        (ROWS_BY_KEY, Facts(asked=ASKED, bytes=1 << 40), "rows come in order: more than 1,024 MiB are sorted with"),
        (ROWS_BY_KEY, Facts(), "sorted in memory"),
        (ROWS_BY_KEY, Facts(), "columns of picked values and aggregates per output row; order: by key"),
        (BY_KEY, Facts(), "columns of picked values and aggregates per output row; order: canonical"),
        (f"{ALL_EVENTS} CONSUMING a", Facts(), "order: in the order in which they fire"),
        (ROWS_BY_KEY, BATCH, "repartition by c"),
        (ROWS_BY_KEY, BATCH, "sorted in the worker, up to 512 MiB per task in memory, more with the help of its disk"),
        (ROWS_BY_KEY, BATCH, "order: none (Spark keeps no order of rows)"),
        (ALL_ROWS, BATCH, "one partition: there is no PARTITION BY, so one task does all the work"),
        (ENDLESS, BATCH, "one partition: there is no key, and without WITHIN a match may reach over the whole input"),
        (ALL_EVENTS, BATCH, "repartition by slice of time, 72 seconds each: a slice is 8 times WITHIN long"),
        (
            BY_KEY,
            Facts(host=Host.SPARK, asked=ASKED, bytes=1),
            "nothing: one task does all the work; the table is small",
        ),
        (
            ROWS_BY_KEY,
            Facts(host=Host.SPARK, reader=Reader.ARROW, files=2, bytes=1),
            "2 Parquet files, by itself: Spark hands no row over and exchanges none",
        ),
        (
            ROWS_BY_KEY,
            Facts(host=Host.SPARK, reader=Reader.ARROW, files=1, bytes=1),
            "1 Parquet file, by itself: Spark hands no row over and exchanges none",
        ),
        (BY_KEY, STREAM, "16 of them (buckets=): each is matched by one task at a time"),
        (ALL_EVENTS, STREAM, "in sequence, by one task: there is no key, so there is one bucket"),
        (BY_KEY, STREAM, "once per bucket and batch; what is kept is in Spark's state"),
        (BY_KEY, Facts(mode=Mode.STREAM, reader=Reader.PUSH), "rows wait until the watermark tells their order"),
    ],
)
def test_what_is_said_of_a_step(query: str, facts: Facts, note: str) -> None:
    assert note in notes(query, facts)


def test_a_strategy_that_was_asked_for_is_said_to_be() -> None:
    assert "strategy sequential: asked for" in notes(BY_KEY, Facts(cores=4), Strategy.SEQUENTIAL)


def test_what_crosses() -> None:
    lines = notes(ROWS_BY_KEY, Facts(asked=ASKED)).splitlines()
    at = lines.index("crosses as Arrow:")
    assert lines[at + 1 : at + 3] == ["  c0: k, integer", "  c1: upper(c), text"]
    assert NO_COLUMN in notes(ROWS_BY_KEY, Facts())


def test_engines_are_given_what_the_plan_says() -> None:
    steps = work(choose(program_of(ROWS_BY_KEY), Facts(asked=ASKED)))
    assert [step.code for step in steps] == ["rows", "", "result"]
    steps = work(choose(program_of(ROWS_BY_KEY), Facts(asked=ASKED, bytes=1 << 40)))
    assert [step.code for step in steps] == ["sorted rows", "", "result"]
    steps = work(choose(program_of(BY_KEY), Facts(host=Host.SPARK, asked=FILTERED)))
    assert steps[0].code == "type = 'A'"


@pytest.mark.parametrize("strategy", [None, "sequential"])
@pytest.mark.parametrize("query", [ROWS_BY_KEY, ALL_ROWS, BY_KEY, ALL_EVENTS])
def test_explain_shows_the_plan(query: str, strategy: str | None) -> None:
    given: dict[str, Any] = {"data": TABLE}
    if query.startswith("MATCH_RECOGNIZE"):
        query, given = f"SELECT * FROM data {query}", {"tables": {"data": TABLE}}
    shown = motif.explain(query, **given, strategy=strategy)
    assert shown.plan is not None
    text = " ".join(str(shown).split())
    for step in work(shown.plan):
        assert step.title in text
        for part in (step.code, *step.notes):
            assert " ".join(part.split()) in text
    if strategy is not None:
        assert (str(shown.plan.match.strategy), shown.plan.match.why) == (strategy, "asked for")
