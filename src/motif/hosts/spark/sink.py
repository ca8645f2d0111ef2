"""Matches of a stream written exactly once: to a folder of Parquet files, or to a table of a database.

Spark hands every batch of a stream to `foreachBatch` at least once: one that was cut off comes again, under the same
number. So a batch is written whole or not at all, together with a note that it was, and one with a note is left out:
it is only computed, as without that Spark would not have the state that the next batch goes on from.
The numbers belong to a checkpoint; the id of the query, which Spark keeps in it, tells one from another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from motif.errors import MotifError
from motif.hosts.spark.sink_connection import postgres
from motif.hosts.spark.sink_folder import Folder
from motif.hosts.spark.sink_identity import Home, is_connect, query_id
from motif.hosts.spark.sink_table import Table


def sink(
    target: str | os.PathLike[str] | None = None,
    *,
    connect: Callable[[], Any] | None = None,
    table: str | None = None,
    key: str | Sequence[str] = (),
    create: bool = False,
    dead_letters: str | None = None,
    query_name: str | None = None,
) -> Sink:
    """What `DataStreamWriter.foreachBatch` takes to write every match exactly once, also after crashes.

    `motif.sink("alerts")` writes Parquet files to a folder, which belongs to one stream. `motif.sink(connect=open,
    table="alerts")` writes to a table of a database, each batch in one transaction; `open` gives a new DB-API
    connection, and a `postgresql://` address may stand in its place. `key` names columns with a unique index: a match
    that is there already is updated. `create` makes the table where there is none. A row that the table does not take
    ends the stream with an error that names it; `dead_letters` names a table that is given such rows instead.
    `query_name` is needed only on Spark Connect with several streams in one session: the name that `queryName` gave to
    this one.
    """
    url = target if isinstance(target, str) and target.startswith(_POSTGRES) else None
    _check_target(target, connect, table, is_database=url is not None or connect is not None)
    if url is None and connect is None:
        if key or create or dead_letters is not None:
            raise MotifError(
                "key=, create= and dead_letters= are for tables", hint="a folder needs none: motif.sink('alerts')"
            )
        return Sink(Folder(os.fspath(cast("str", target))), query_name)
    opener = connect if url is None else postgres(url)
    assert opener is not None
    assert table is not None
    if dead_letters is not None and (not _is_name(dead_letters) or dead_letters == table):
        raise MotifError(
            f"dead_letters= takes the name of another table, not {dead_letters!r:.80}",
            hint="such as dead_letters='alerts_refused'",
        )
    return Sink(Table(opener, table, _key(key), create, dead_letters), query_name)


@dataclass(frozen=True)
class Sink:
    """A function of a batch and its number that writes the batch once."""

    place: Folder | Table
    query_name: str | None = None
    home: Home | None = field(default=None, repr=False, compare=False)
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Streams call from threads of their own, and two that were given one sink would be in each other's way."""

    def __call__(self, batch_df: DataFrame, batch_id: int) -> None:
        _check_batch(batch_df, batch_id)
        session = batch_df.sparkSession
        query = self._connect_query() if is_connect(session) else query_id(session)
        with self.lock:
            was_written = self.place.write(batch_df, batch_id, query)
        if not was_written:
            batch_df.write.format("noop").mode("overwrite").save()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self.place, self.query_name)

    def _connect_query(self) -> str:
        if self.home is None:
            raise MotifError(
                "on Spark Connect this sink does not know its stream",
                hint="let a stream call it, and make it outside of the function that foreachBatch takes",
            )
        return self.home.query


# --- mistakes ---

_POSTGRES = ("postgresql://", "postgres://", "jdbc:postgresql://")


def _check_target(target: Any, connect: Any, table: Any, *, is_database: bool) -> None:
    wanted = "motif.sink('alerts') for a folder, motif.sink(connect=..., table='alerts') for a table of a database"
    if target is None and connect is None:
        raise MotifError("motif.sink is not told where to write", hint=wanted)
    if target is not None and connect is not None:
        raise MotifError("a path and connect= do not go together", hint=wanted)
    if target is not None and (not isinstance(target, str | os.PathLike) or not os.fspath(target)):
        raise MotifError(f"{target!r:.80} is not a path", hint=wanted)
    if str(target).startswith("jdbc:") and not is_database:
        raise MotifError(
            "this database is not written through JDBC",
            hint="give a function that opens a connection of its Python driver: motif.sink(connect=..., table=...)",
        )
    if connect is not None and not callable(connect):
        raise MotifError(
            f"connect= takes a function that opens a connection, not {type(connect).__name__}",
            hint="such as connect=lambda: sqlite3.connect('alerts.db')",
        )
    if is_database and not _is_name(table):
        raise MotifError("the table to write to is not named", hint="table='alerts', or table='schema.alerts'")
    if table is not None and not is_database:
        raise MotifError(
            "table= is for databases", hint="give the database too: connect=..., or a postgresql:// address"
        )


def _is_name(table: Any) -> bool:
    return isinstance(table, str) and all(table.split("."))


def _key(key: Any) -> tuple[str, ...]:
    names = tuple(key) if isinstance(key, Sequence) and not isinstance(key, str) else (key,)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise MotifError(f"key= takes different names of columns, not {key!r:.80}", hint="such as key='match_id'")
    return names


def _check_batch(batch_df: Any, batch_id: Any) -> None:
    wanted = "matches.writeStream.foreachBatch(motif.sink(...)).start()"
    if not isinstance(batch_df, DataFrame):
        raise MotifError(f"a batch is a DataFrame, not {type(batch_df).__name__}", hint=wanted)
    if batch_df.isStreaming:
        raise MotifError("this is the stream itself, not a batch of it", hint=wanted)
    if not isinstance(batch_id, int) or isinstance(batch_id, bool) or batch_id < 0:
        raise MotifError(f"the number of a batch is 0 or more, not {batch_id!r:.80}", hint=wanted)
    folded = [name.casefold() for name in batch_df.columns]
    if twice := next((name for name in batch_df.columns if folded.count(name.casefold()) > 1), None):
        raise MotifError(f"two columns are called {twice}", hint="name one of them otherwise, with AS")


def _revived(place: Folder | Table, query_name: str | None) -> Sink:
    """A sink that came to the process where a Connect server runs it; only now the session there is the user's own."""
    return Sink(place, query_name, Home(SparkSession.getActiveSession(), query_name))
