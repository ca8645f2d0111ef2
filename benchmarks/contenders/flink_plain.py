"""Apache Flink without MATCH_RECOGNIZE: interval joins and session windows."""

from __future__ import annotations

from contenders import Task, Work
from contenders.flink_match import prepared


def prepare(task: Task) -> Work:
    """The same tables and sinks, another text."""
    return prepared(task, task.text("flink_plain.sql"))
