"""Motif: patterns of events over tables, in SQL MATCH_RECOGNIZE or the event language, in process or on Spark.

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

The event language, as text or built in Python (`seq`, `ev`, ...), is answered by `match`:

>>> import datetime as dt
>>> logins = pa.table({
...     "ts": [dt.datetime(2026, 1, 1, 12, minute) for minute in range(3)],
...     "type": ["Login", "Login", "Logout"], "user": ["ann", "bob", "ann"]})
>>> query = "SELECT a.user, b.ts AS until FROM SEQ(Login a; Logout b) WHERE [user] WITHIN 1 h"
>>> motif.match(logins, query).column("user").to_pylist()
['ann']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    from motif.lang.builder import (
        ALL,
        all_of,
        any_of,
        at_end,
        at_start,
        case,
        classifier,
        col,
        each,
        ev,
        exclude,
        first,
        fn,
        last,
        lit,
        match_number,
        no,
        one_of,
        permute,
        row,
        seq,
        subset,
        tseq,
        whole,
    )
    from motif.lang.builder.rows import rows
    from motif.options import vectorized

__version__ = "0.1.0"
__all__ = [
    "ALL",
    "Diagnostic",
    "LimitExceeded",
    "MotifError",
    "QueryBindError",
    "QueryDataError",
    "QuerySyntaxError",
    "UnsupportedQuery",
    "all_of",
    "any_of",
    "at_end",
    "at_start",
    "case",
    "check",
    "classifier",
    "col",
    "each",
    "ev",
    "exclude",
    "explain",
    "first",
    "fn",
    "last",
    "lit",
    "match",
    "match_number",
    "no",
    "one_of",
    "permute",
    "row",
    "rows",
    "seq",
    "sql",
    "subset",
    "tseq",
    "vectorized",
    "whole",
]

# The work is imported when it is first asked for: `import motif` loads no engine, no host and no builder.


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'motif' has no attribute {name!r}")
    if name == "vectorized":
        from motif import options as home
    else:
        from motif.lang import builder as home  # type: ignore[no-redef]
    globals()[name] = found = getattr(home, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def sql(query: str, *, tables: Mapping[str, Any] | None = None, spark: Any = None) -> Any:
    """Answer a whole SQL statement with MATCH_RECOGNIZE clauses in it.

    With `tables` (name -> path, or Arrow, pandas or Polars table) DuckDB is the host and a `pyarrow.Table` comes
    back; with `spark` (a session) its tables and views are used and a lazy DataFrame comes back.
    """
    from motif import api

    return api.sql(query, tables=tables, spark=spark)


def match(
    data: Any,
    query: Any,
    *,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    order_by: str | Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Matches of one query over `data`, as the kind of table that `data` is.

    `data` is an Arrow, pandas or Polars table, a path (which gives a `pyarrow.Table`), or a Spark DataFrame. `query` is
    a `MATCH_RECOGNIZE ( ... )` clause, a query of the event language, one made with the builder, or several event
    queries (a list, or one text with `;` between them), each of which sees the matches of those before it as events;
    the result is that of the last.

    The rest is for event queries. `data` may then be a mapping of several inputs; one without a class column has the
    class of its name. `time` (default `ts`) and `type` (default `type`) name the columns with the time and the class of
    an event, `order_by` what orders events of equal time, `functions` are Python functions for conditions by name.
    """
    from motif import api, options

    return api.match(data, query, options.EventOptions(time, type, order_by, functions or {}))


def explain(
    query: Any,
    *,
    tables: Mapping[str, Any] | None = None,
    spark: Any = None,
    data: Any = None,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    order_by: str | Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Explanation:
    """How a query will be answered: print it, or let a notebook draw it. No row is read.

    A statement takes `tables` or `spark`, an event query `data` and what `match` takes with it. Without any of them the
    text alone is explained.
    """
    from motif import api, options

    given = options.EventOptions(time, type, order_by, functions or {})
    return api.explain(query, tables=tables, spark=spark, data=data, options=given)


def check(
    query: Any,
    *,
    tables: Mapping[str, Any] | None = None,
    spark: Any = None,
    data: Any = None,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    order_by: str | Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong with a query; an empty list if it is fine.

    A statement takes `tables` or `spark`, an event query `data` and what `match` takes with it. Without any of them
    only what the text itself tells is checked.
    """
    from motif import api, options

    given = options.EventOptions(time, type, order_by, functions or {})
    return api.check(query, tables=tables, spark=spark, data=data, options=given)
