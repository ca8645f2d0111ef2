"""DuckDB's own MATCH_RECOGNIZE, for the release that will have it."""

from __future__ import annotations

import duckdb

from contenders import Done, Refused, Task, Work


def prepare(task: Task) -> Work:
    """Motif's text is standard SQL and given as it is."""
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE VIEW {task.table} AS SELECT * FROM read_parquet('{task.file}')")
    text = task.text("duckdb_native.sql") or task.motif_text()
    try:
        connection.execute(f"EXPLAIN {text}")
    except duckdb.Error as error:
        raise Refused(f"DuckDB {duckdb.__version__}: {str(error).splitlines()[0]}") from None
    return lambda: Done(connection.sql(text).to_arrow_table().num_rows)
