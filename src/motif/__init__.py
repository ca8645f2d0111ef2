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
from typing import TYPE_CHECKING, Any, Literal

from motif.errors import (
    Diagnostic,
    LimitExceeded,
    MotifError,
    MotifWarning,
    QueryBindError,
    QueryDataError,
    QuerySyntaxError,
    UnsupportedQuery,
    only_ours,
)
from motif.version import VERSION

if TYPE_CHECKING:
    from datetime import timedelta
    from os import PathLike

    from pyspark.sql.streaming.query import StreamingQuery

    from motif.engine.stream.status import Status
    from motif.explanation import Explanation
    from motif.hosts.duckdb_stream import Stream
    from motif.hosts.given_files import Files
    from motif.hosts.spark.sink import Sink
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
    from motif.report import Report

__version__ = VERSION
__all__ = [
    "ALL",
    "Diagnostic",
    "LimitExceeded",
    "MotifError",
    "MotifWarning",
    "QueryBindError",
    "QueryDataError",
    "QuerySyntaxError",
    "Stream",
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
    "files",
    "first",
    "fn",
    "funnel",
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
    "sequences",
    "sessionize",
    "ship",
    "show",
    "sink",
    "sql",
    "status",
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
    elif name == "Stream":
        from motif.hosts import duckdb_stream as home  # type: ignore[no-redef]
    else:
        from motif.lang import builder as home  # type: ignore[no-redef]
    globals()[name] = found = getattr(home, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@only_ours
def sql(
    query: str,
    *,
    tables: Mapping[str, Any] | None = None,
    spark: Any = None,
    lateness: str | timedelta | None = None,
    emit: Sequence[str] | str | None = None,
    buckets: int = 16,
    strict: bool = False,
    strategy: str | None = None,
) -> Any:
    """Answer a whole SQL statement with MATCH_RECOGNIZE clauses in it.

    With `tables` (name -> path, or Arrow, pandas or Polars table) DuckDB is the host and a `pyarrow.Table` comes
    back; with `spark` (a session) its tables and views are used and a lazy DataFrame comes back.

    A clause over a stream (a view of `spark.readStream`) makes the result a streaming DataFrame; `lateness`, `emit` and
    `buckets` are as for `match`.

    A likely slip is a `MotifWarning`, and with `strict` an error. `strategy` overrules how it is matched: "sequential",
    "partitions" or "pieces"; `motif.explain` shows what is chosen without it, and why.
    """
    from motif import api, options, slips

    live = options.LiveOptions(lateness, emit, buckets=buckets)
    with slips.told(strict=strict):
        return api.sql(query, tables=tables, spark=spark, live=live, strategy=strategy)


@only_ours
def match(
    data: Any,
    query: Any,
    *,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    order_by: str | Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
    lateness: str | timedelta | None = None,
    emit: Sequence[str] | str | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    archive: Any = None,
    buckets: int = 16,
    strict: bool = False,
    strategy: str | None = None,
) -> Any:
    """Matches of one query over `data`, as the kind of table that `data` is.

    `data` is an Arrow, pandas or Polars table, a path (which gives a `pyarrow.Table`), or a Spark DataFrame. `query` is
    a `MATCH_RECOGNIZE ( ... )` clause, a query of the event language, one made with the builder, or several event
    queries (a list, or one text with `;` between them), each of which sees the matches of those before it as events;
    the result is that of the last. A likely slip is a `MotifWarning`, and with `strict` an error. `strategy` overrules
    how it is matched ("sequential", "partitions", "pieces", "shared", "slices", "buckets"); one that cannot give the
    exact answer says why. `motif.explain` shows what is chosen without it.

    The next are for event queries. `data` may then be a mapping of several inputs; one without a class column has the
    class of its name. `time` (default `ts`) and `type` (default `type`) name the columns with the time and the class of
    an event, `order_by` what orders events of equal time, `functions` are Python functions for conditions by name.

    The rest is for streaming DataFrames, whose matches are a streaming DataFrame. `lateness` ("10 seconds") says how
    much earlier than the latest event one may be and still count, where the stream has no `withWatermark` of its own.
    `emit` adds a column `kind` and chooses what comes out: "match", "timeout" (partial matches whose time is over),
    "late" (events that came too late). `on_error="skip"` leaves out events on which one of `functions` fails.
    `archive` is a table of what came before the stream, in which matches may begin. `buckets`: in how many parts the
    state is kept, and so the most tasks that work at once; fixed once a checkpoint is there.
    """
    from motif import api, options, slips

    given = options.EventOptions(time, type, order_by, functions or {})
    with slips.told(strict=strict):
        live = options.LiveOptions(lateness, emit, on_error, archive, buckets)
        return api.match(data, query, given, live, strategy=strategy)


@only_ours
def sessionize(
    data: Any = None,
    *,
    by: str | Sequence[str],
    gap: str | timedelta | float,
    longest: str | timedelta | float | None = None,
    per: Literal["session", "row"] = "session",
    time: str = "ts",
) -> Any:
    """Sessions: rows of one key, each at most `gap` after the one before, together no longer than `longest`.

    The result has a row per session (its number, start, end and events) or, with `per="row"`, every row of `data` with
    the number of its session; it is the kind of table that `data` is. `gap="30 min"` may be a timedelta, or a number
    where the time column is one. Without `data` the query itself comes back: print it, or give it to `motif.match`.

    >>> print(sessionize(by="user", gap="30 min"))  # doctest: +ELLIPSIS
    MATCH_RECOGNIZE (
      PARTITION BY user
    ...
    """
    from motif import api, recipes

    query = recipes.session_query(by, gap, longest, time, per)
    return query if data is None else api.match(data, query)


@only_ours
def funnel(
    data: Any = None,
    *,
    by: str | Sequence[str],
    steps: Sequence[str] | Mapping[str, Any],
    within: str | timedelta | float | None = None,
    per: Literal["step", "try"] = "step",
    time: str = "ts",
    type: str = "type",  # noqa: A002 - the word for it
) -> Any:
    """A funnel: how many keys reach each of the steps, in this order, `within` a time, with anything in between.

    Each event of the first step begins a try, which goes on with the earliest event of each next step. The result has a
    row per step: the keys that reached it in any of their tries, as a share of all and of the step before. With
    `per="try"` it has a row per try: how many steps it reached, and when. `steps` are classes (values of the column
    `type`), or conditions by name: `steps={"viewed": col.page == "/shop", "paid": "pay"}`.

    Without `data` the query itself comes back: print it, or give it to `motif.sql` (as the table `events`) or, with
    `per="try"`, to `motif.match`.
    """
    from motif import api, arguments, recipes

    arguments.check_choice("per", per, ("step", "try"))
    question = recipes.funnel_of(by, steps, within, time, type)
    if data is None:
        return question.tries() if per == "try" else question.statement("duckdb")
    return api.match(data, question.tries()) if per == "try" else api.funnel_counts(data, question)


@only_ours
def sequences(
    data: Any = None,
    *,
    by: str | Sequence[str] = (),
    of: Sequence[Any],
    within: str | timedelta | None = None,
    time: str = "ts",
    type: str = "type",  # noqa: A002 - the word for it
) -> Any:
    """Events of the classes `of`, one after the other, of one key and `within` a time, with others between them.

    `of=["view", "cart"]` names values of the column `type`; parts of the builder may stand among them, such as
    `motif.no(motif.ev("pay"))`. The result has a row per match with the events themselves, e1, e2, ...

    Without `data` the query itself comes back: print it, add to it, or give it to `motif.match`.

    >>> print(sequences(by="user", of=["view", "cart"], within="1 h"))
    SELECT *
    FROM SEQ(view e1; cart e2)
    WHERE [user]
    WITHIN 1 h
    """
    from motif import api, options, recipes

    query = recipes.sequence_query(by, of, within)
    return query if data is None else api.match(data, query, options.EventOptions(time, type))


@only_ours
def show(
    query: Any,
    data: Any,
    *,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    order_by: str | Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
    title: str = "Matches",
) -> Report:
    """A page that draws the matches on their time line: a notebook shows it, `.save("report.html")` writes it.

    `query` is a query of either language, as for `match`, or the result of an event query with `SELECT *`. A whole
    statement takes `data` as a mapping of its tables. The query is run for it, in process.
    """
    from motif import api, options

    given = options.EventOptions(time, type, order_by, functions or {})
    return api.show(query, data, given, title)


@only_ours
def files(paths: str | PathLike[str] | Sequence[str | PathLike[str]], **csv: Any) -> Files:
    """Files that are one table, where a path alone does not say how to read them.

    A folder and a pattern (`"logs/*.csv"`) may also be given as they are. Of CSV files it can be said: `delimiter`,
    `quote`, `escape`, `header`, `skip`, `comment`, `null`, `encoding`, `decimal`, `thousands`, and how `dates` and
    `times` are written (`dates="%d/%m/%Y"`).

    >>> motif.sql(query, tables={"sales": files("sales.csv", delimiter=";", decimal=",")})  # doctest: +SKIP
    """
    from motif.hosts import given_files

    return given_files.files(paths, csv)


@only_ours
def sink(
    target: str | PathLike[str] | None = None,
    *,
    connect: Callable[[], Any] | None = None,
    table: str | None = None,
    key: str | Sequence[str] = (),
    create: bool = False,
    dead_letters: str | None = None,
    query_name: str | None = None,
) -> Sink:
    """What `writeStream.foreachBatch` takes to write every match exactly once, also after crashes.

    `sink("alerts")` writes Parquet files to a folder. `sink(connect=open, table="alerts")` writes to a table of a
    database: `open` gives a new DB-API connection, and a `postgresql://` address may stand in its place. `key` names
    columns with a unique index: a match that is there already is updated. `create` makes the table. A row
    that the table does not take ends the stream with an error that names it; `dead_letters` names a table that is given
    such rows instead. `query_name` tells streams apart that share a session of Spark Connect.
    """
    try:
        from motif.hosts.spark import sink as home
    except ImportError:
        raise MotifError("a sink needs PySpark", hint="pip install 'motif-cep[spark]'") from None

    return home.sink(
        target,
        connect=connect,
        table=table,
        key=key,
        create=create,
        dead_letters=dead_letters,
        query_name=query_name,
    )


@only_ours
def ship(spark: Any) -> None:
    """Add Motif to the Python workers of a Spark session that lack it, for as long as the session lives.

    Numba, NumPy, pyarrow and DuckDB have to be there: they are compiled for the machine, and cannot travel.
    """
    from motif.hosts.spark import shipping

    shipping.ship(spark)


@only_ours
def status(query: StreamingQuery) -> Status:
    """What a running query over a stream has done and what it keeps: print it, or let Prometheus have it."""
    from motif.hosts.spark import stream_status

    return stream_status.status(query)


@only_ours
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
    strategy: str | None = None,
    analyze: bool = False,
) -> Explanation:
    """How a query will be answered: print it, or let a notebook draw it. No row is read, unless `analyze` is set.

    `.plan` is the physical plan as a value: what is read, moved, arranged, matched, gathered and finished.

    A statement takes `tables` or `spark`, a clause takes `data`, an event query `data` and what `match` takes with it.
    Without any of them the text alone is explained.

    `analyze` runs the query, throws its result away, and shows beside each step of the plan what it took, gave and
    cost. `.ran` is the plan that ran in the end, `.changes` says what was decided again and why, and `.steps` has the
    counters as a table. On Linux, the peak memory of the process is counted anew from there on.
    """
    from motif import api, options

    given = options.EventOptions(time, type, order_by, functions or {})
    return api.explain(query, tables=tables, spark=spark, data=data, options=given, strategy=strategy, analyze=analyze)


@only_ours
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
    strict: bool = False,
    rows: bool = False,
) -> list[Diagnostic]:
    """Everything that is wrong with a query, and likely slips (of `severity` "warning"); an empty list if it is fine.

    A statement takes `tables` or `spark`, a clause takes `data`, an event query `data` and what `match` takes with it.
    Without any of them only what the text itself tells is checked. With `strict` slips are mistakes.

    No row is read, unless `rows` is set: then it also tells of classes that no event has and of conditions that no row
    meets (on Spark by a job or two).
    """
    from motif import api, options

    given = options.EventOptions(time, type, order_by, functions or {})
    return api.check(query, tables=tables, spark=spark, data=data, options=given, strict=strict, rows=rows)
