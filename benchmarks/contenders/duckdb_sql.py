"""DuckDB as people use it today: window functions, gaps and islands, self joins."""

from __future__ import annotations

import duckdb

from contenders import Done, Task, Work


def prepare(task: Task) -> Work:
    """The table is a view of the file: each call reads it."""
    text = task.text("duckdb.sql", "plain.sql")
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE VIEW {task.table} AS SELECT * FROM read_parquet('{task.file}')")
    return lambda: Done(connection.sql(text).to_arrow_table().num_rows)
