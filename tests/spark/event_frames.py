"""What the tests of event queries on Spark share: many queries in one job, and matches as numbers of events.

A Spark job costs far more than the few events of a test, so most tests ask for many results at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from motif.ir.event import EventQuery
from motif.ir.expr import Column
from motif.ir.types import Kind, Type
from motif.plan.events.outputs import EventOutputs, Whole
from motif.plan.events.program import EventProgram, Stream
from motif.plan.outputs import leaf_name
from motif.testing.event_engines import Engine
from motif.testing.event_generate import COLUMNS
from motif.testing.tables import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBER = "event_number"
PLAIN = Stream()
TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
AT_ONCE = 30
"""Queries in one job; planning more of them together takes Spark longer than a job."""


def together(frames: Mapping[Any, DataFrame]) -> dict[Any, list[Any]]:
    """The rows of each, as JSON."""
    answers: dict[Any, list[Any]] = {name: [] for name in frames}
    names = list(frames)
    for low in range(0, len(names), AT_ONCE):
        chosen = names[low : low + AT_ONCE]
        parts = [
            frames[name].selectExpr(
                f"{names.index(name)} AS n",
                f"to_json(struct(*), map('timestampFormat', \"{TIME_FORMAT}\", 'timestampNTZFormat',"
                f" \"{TIME_FORMAT}\", 'ignoreNullFields', 'false')) AS row",
            )
            for name in chosen
        ]
        for number, row in reduce(lambda one, other: one.unionAll(other), parts).collect():
            answers[names[number]].append(json.loads(row))
    return answers


def plain(value: Any) -> Any:
    """A value in process as JSON would show it."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def in_some_order(rows: Iterable[Any]) -> list[str]:
    return sorted(map(repr, rows))


def numbered(
    spark: SparkSession,
    query: EventQuery,
    events: Sequence[Mapping[str, object]],
    columns: Mapping[str, str],
    *,
    stream: Stream = PLAIN,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    hidden_key: str | None = None,
) -> DataFrame:
    """Matches as numbers of events: [{NUMBER: 3}] under each variable. `hidden_key` keeps streams apart."""
    from motif.hosts.spark.events import Stack, answered, run_program

    rows = [{**event, NUMBER: number} for number, event in enumerate(events)]
    frame = spark.createDataFrame(to_arrow(rows, {**columns, NUMBER: "BIGINT"}))
    stack = Stack(frame, stream, [query])
    program, source = stack.plan(stack.dag.last, functions or {})
    program = carrying(program, NUMBER)
    if hidden_key is not None:
        program = carrying(program, hidden_key)
        program = replace(program, keys=(program.columns.index(Column(hidden_key)), *program.keys))
    own = ((NUMBER, program.columns.index(Column(NUMBER))),)
    leaves = tuple(Whole(event.var, event.repeat is not None, own) for event in query.events())
    shown = tuple((event.var, Column(leaf_name(i))) for i, event in enumerate(query.events()))
    program = replace(program, outputs=EventOutputs(leaves, shown))
    return run_program(*answered(program, source, functions or {}), functions or {})


def carrying(program: EventProgram, column: str) -> EventProgram:
    if Column(column) in program.columns:
        return program
    return replace(program, columns=(*program.columns, Column(column)), types=(*program.types, Type(Kind.INTEGER)))


def numbers(match: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for an event, without its struct."""
    return in_place(match, lambda event: event[NUMBER])


def in_place(match: Mapping[str, Any], shown: Callable[[Any], object]) -> dict[str, Any]:
    """Events as `shown` shows them; an empty list is as good as nothing."""
    return {
        var: None if bound is None or bound == [] else [*map(shown, bound)] if isinstance(bound, list) else shown(bound)
        for var, bound in match.items()
    }


def readable(query: EventQuery, events: Sequence[Mapping[str, object]]) -> Callable[[Any], object]:
    """An event by its number as the query sees it: those that it cannot tell apart have no order."""
    program = Engine(query, events[:1], COLUMNS).program
    names = [name for name in COLUMNS if Column(name) in program.columns]
    return lambda number: [events[number][name] for name in names]
