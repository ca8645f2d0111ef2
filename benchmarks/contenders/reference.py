"""The naive baseline: Motif's reference matcher, which tries every way and remembers nothing. Tiny tables only."""

from __future__ import annotations

import pyarrow.parquet as pq

from contenders import Done, Task, Work
from motif.ir.query import RowQuery
from motif.lang.snoop import is_event_query, parse_events
from motif.lang.statement import parse_statement
from motif.testing.event_reference import match_events
from motif.testing.reference import match_rows


def prepare(task: Task) -> Work:
    """The query is parsed once."""
    text = task.motif_text()
    query = parse_events(text) if is_event_query(text) else parse_statement(text).clauses[0].query

    def work() -> Done:
        table = pq.read_table(task.file)
        rows = table.to_pylist()
        if isinstance(query, RowQuery):
            return Done(len(match_rows(query, rows, table.column_names)))
        return Done(len(match_events(query, rows, time_column=task.time, class_column=task.type)))

    return work
