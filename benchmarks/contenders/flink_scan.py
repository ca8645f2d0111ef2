"""What Flink costs before anything is matched: it reads the rows and throws them away."""

from __future__ import annotations

from contenders import Task, Work
from contenders.flink_match import prepared


def prepare(task: Task) -> Work:
    """A floor: its answer is all rows."""
    return prepared(task, f"SELECT * FROM {task.table}")
