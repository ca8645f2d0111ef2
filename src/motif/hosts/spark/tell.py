"""How tasks of Spark tell the driver what they have counted: beside their rows, so that nothing is run twice for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from statistics import median_low
from typing import Any

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam

from motif.engine.execution import Execution
from motif.engine.ledger import Ledger, Silent
from motif.plan.physical.ran import Counted, Level, Tasks, Work

Task = tuple[tuple[Counted, ...], tuple[Level, ...]]
"""What one task has counted: of its steps, and of the levels of its joins."""
Tell = Callable[[Task], None]


class OfTasks(AccumulatorParam[list[Task]]):
    """Counters of tasks, one after the other."""

    def zero(self, value: list[Task]) -> list[Task]:  # noqa: ARG002 - as Spark asks for it
        return []

    def addInPlace(self, value1: list[Task], value2: list[Task]) -> list[Task]:  # noqa: N802 - Spark's name
        return [*value1, *value2]


class Telling:
    """Sent to the workers with their work."""

    def __init__(self, told: Any) -> None:
        """`told`: an accumulator of Spark."""
        self.told = told

    def __call__(self, counted: Task) -> None:
        self.told.add([counted])


@contextmanager
def counting(execution: Execution, tell: Tell | None) -> Iterator[None]:
    """Write down what a task does, and tell it once the task is done; nothing where nobody asks."""
    if tell is None:
        yield
        return
    execution.ledger = ledger = Ledger()
    yield
    tell((ledger.counted(), ledger.levels()))


def arriving(batches: Iterable[pa.RecordBatch], ledger: Silent) -> Iterator[pa.RecordBatch]:
    """What a task is sent; the time it waits for that is counted."""
    for batch in ledger.each(Work.READ, batches):
        ledger.gave(Work.READ, batch)
        yield batch


def together(tasks: list[Task]) -> Task:
    """What all tasks have counted."""
    steps = [counted for task, _ in tasks for counted in task]
    sums = Ledger()
    for _, levels in tasks:
        for one in levels:
            sums.level((one.way, one.level, one.variable), one.candidates, one.tried, one.passed)
    by_work = [(work, [counted for counted in steps if counted.work is work]) for work in Work]
    return tuple(_sum(work, found) for work, found in by_work if found), sums.levels()


def _sum(work: Work, parts: list[Counted]) -> Counted:
    def total(name: str) -> int | None:
        found = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(found) if found else None

    counts = [part.candidates for part in parts]
    return Counted(
        work,
        rows_in=total("rows_in"),
        rows_out=total("rows_out"),
        bytes=total("bytes"),
        seconds=sum(part.seconds for part in parts),
        wall_seconds=max(part.wall_seconds for part in parts),
        tried=total("tried"),
        candidates={name: sum(one.get(name, 0) for one in counts) for one in counts for name in one},
        tasks=_tasks([part.rows_out or 0 for part in parts]),
    )


def _tasks(rows: list[int]) -> Tasks:
    return Tasks(len(rows), min(rows), median_low(rows), max(rows))
