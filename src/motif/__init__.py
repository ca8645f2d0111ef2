"""Motif: patterns of events over tables, in SQL MATCH_RECOGNIZE, in process or on Spark.

>>> import pyarrow as pa, motif
>>> trades = pa.table({"ts": [1, 2, 3, 4], "price": [10, 8, 9, 12]})
>>> query = '''
... SELECT * FROM trades MATCH_RECOGNIZE (
...   ORDER BY ts
...   MEASURES FIRST(DOWN.price) AS low, LAST(UP.price) AS high
...   PATTERN (DOWN UP+)
...   DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))
... '''
>>> motif.sql(query, tables={"trades": trades}).to_pylist()
[{'low': 8, 'high': 12}]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from motif.errors import (
    Diagnostic,
    LimitExceeded,
    MotifError,
    QueryBindError,
    QueryDataError,
    QuerySyntaxError,
    UnsupportedQuery,
)

if TYPE_CHECKING:
    from motif.explanation import Explanation

__version__ = "0.1.0"
__all__ = [
    "Diagnostic",
    "LimitExceeded",
    "MotifError",
    "QueryBindError",
    "QueryDataError",
    "QuerySyntaxError",
    "UnsupportedQuery",
    "check",
    "explain",
    "match",
    "sql",
]

# The work is imported when it is first asked for: `import motif` loads no engine and no host.


def sql(query: str, *, tables: Mapping[str, Any] | None = None, spark: Any = None) -> Any:
    """Answer a whole SQL statement with MATCH_RECOGNIZE clauses in it.

    With `tables` (name -> path, or Arrow, pandas or Polars table) DuckDB is the host and a `pyarrow.Table` comes
    back; with `spark` (a session) its tables and views are used and a lazy DataFrame comes back.
    """
    from motif import api

    return api.sql(query, tables=tables, spark=spark)


def match(data: Any, clause: str, **options: Any) -> Any:
    """Matches of one `MATCH_RECOGNIZE ( ... )` over `data`, as the kind of table that `data` is.

    `data` is an Arrow, pandas or Polars table, a path, or a Spark DataFrame. A path gives a `pyarrow.Table`.
    """
    from motif import api

    return api.match(data, clause, **options)


def explain(query: str, *, tables: Mapping[str, Any] | None = None, spark: Any = None) -> Explanation:
    """How a statement will be answered: print it, or let a notebook draw it."""
    from motif import api

    return api.explain(query, tables=tables, spark=spark)


def check(query: str, *, tables: Mapping[str, Any] | None = None, spark: Any = None) -> list[Diagnostic]:
    """Everything that is wrong with a statement or a clause; an empty list if it is fine.

    Without `tables` only what the text itself tells is checked.
    """
    from motif import api

    return api.check(query, tables=tables, spark=spark)
