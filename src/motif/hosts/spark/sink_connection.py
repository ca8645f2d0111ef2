"""Connections to databases, whatever their driver: transactions, placeholders, types, and what they refuse."""

from __future__ import annotations

import datetime as dt
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import types as t

from motif.errors import MotifError
from motif.hosts.spark.sink_rows import SQL_TYPES, values

T = TypeVar("T")
_CHUNK = 10_000


def quoted_name(name: str) -> str:
    """An identifier that the database takes as it is."""
    if MARK in name:
        raise MotifError(f"{name!r} is not a name that a database takes", hint="leave out the character with code 0")
    return '"' + name.replace('"', '""') + '"'


def dotted(table: str) -> str:
    """The name of a table, which may have its schema in front."""
    return ".".join(map(quoted_name, table.split(".")))


MARK = "\0"
"""Stands for a value in the text of a statement, as no name has it in it."""
_MARKS = {"qmark": "?", "format": "%s", "numeric": ":{}", "named": ":p{}", "pyformat": "%(p{})s"}
_BEGIN = {"sqlite3": "BEGIN IMMEDIATE", "duckdb": "BEGIN"}
"""Drivers that do not begin a transaction by themselves, or not with the first statement."""


@dataclass(frozen=True)
class Link:
    """A connection of any driver, spoken to in one way."""

    connection: Any
    cursor: Any
    """The one cursor of all that is done, as a driver may have cursors that are connections of their own."""
    driver: str
    style: str
    error: type[Exception]
    refusals: tuple[type[Exception], ...]
    """What is raised for the values of a row, where another row may be fine."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        try:
            self._begin()
            yield
            self.connection.commit()
        except BaseException:
            with suppress(self.error):
                self.connection.rollback()
            raise

    @contextmanager
    def trial(self) -> Iterator[None]:
        """All of it is taken back."""
        try:
            self._begin()
            yield
        finally:
            self.connection.rollback()

    def _begin(self) -> None:
        if self.driver in _BEGIN and not getattr(self.connection, "in_transaction", False):
            self.run(_BEGIN[self.driver])

    def run(self, text: str, *values: object) -> None:
        if values:
            self.cursor.execute(self._marked(text), self._bound(values))
        else:
            self.cursor.execute(text)

    def rows(self, text: str, *values: object) -> list[Any]:
        with self.transaction():
            self.run(text, *values)
            return list(self.cursor.fetchall())

    def created(self, text: str, what: str, read: Callable[[], T]) -> T:
        """What is read from a table, which is created if it is not there; meanwhile another process may do it, too."""
        with suppress(self.error):
            return read()
        try:
            with self.transaction():
                self.run(text)
        except self.error as error:
            with suppress(self.error):
                return read()
            raise MotifError(
                f"{what} cannot be created: {first_line(error)}", hint="create it by hand, or ask for the right to"
            ) from None
        return read()

    def columns(self, table: str) -> list[str]:
        """The columns of a table; the driver's error if there is none."""
        with self.transaction():
            self.run(f"SELECT * FROM {dotted(table)} WHERE 1 = 0")
            names = [column[0] for column in self.cursor.description]
            self.cursor.fetchall()
            return names

    def insert(self, text: str, table: pa.Table) -> None:
        marked = self._marked(text)
        for batch in table.to_batches(max_chunksize=_CHUNK):
            if bound := [self._bound(row) for row in values(batch)]:
                self.cursor.executemany(marked, bound)

    def sql_type(self, kind: t.DataType) -> str:
        """The type of a column that is created."""
        chosen = SQL_TYPES.get(type(kind), ("TEXT", "TEXT"))[self.driver == "sqlite3"]
        if isinstance(kind, t.DecimalType) and chosen == "NUMERIC":
            return f"NUMERIC({kind.precision}, {kind.scale})"
        return chosen

    def _marked(self, text: str) -> str:
        """With the driver's own marks for values."""
        if self.style in ("format", "pyformat"):
            text = text.replace("%", "%%")
        first, *rest = text.split(MARK)
        return first + "".join(_MARKS[self.style].format(i) + piece for i, piece in enumerate(rest, 1))

    def _bound(self, values: Sequence[object]) -> Any:
        """Values as the driver takes them."""
        if self.driver == "sqlite3":
            values = [_for_sqlite(value) for value in values]
        if self.style in ("named", "pyformat"):
            return {f"p{i}": value for i, value in enumerate(values, 1)}
        return tuple(values)


def _for_sqlite(value: object) -> object:
    """SQLite has numbers and texts: instants in UTC, so that texts are in the order of time; durations in seconds."""
    match value:
        case dt.datetime():
            utc = value if value.tzinfo is None else value.astimezone(dt.UTC)
            return utc.isoformat(" ", "microseconds")
        case dt.date():
            return value.isoformat()
        case dt.timedelta():
            return value.total_seconds()
        case Decimal():
            return format(value, "f")
        case _:
            return value


@contextmanager
def connected(connect: Callable[[], Any]) -> Iterator[Link]:
    """A connection that is closed in the end."""
    try:
        connection = connect()
    except MotifError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the driver, or the user's own function, raises
        raise MotifError(f"the database cannot be reached: {first_line(error)}") from None
    link = _link(connection)
    try:
        _take_over(link)
        yield link
    finally:
        with suppress(link.error):
            connection.close()


def _take_over(link: Link) -> None:
    """What the caller's function has set stays; from here on, transactions begin and end where we say so."""
    with suppress(link.error):  # Some drivers refuse to end a transaction where none is open.
        link.connection.commit()
    commits_alone = getattr(link.connection, "autocommit", None)
    with suppress(link.error):  # Whether transactions work is tried before the first batch is written.
        if callable(commits_alone):
            commits_alone(False)
        elif commits_alone is True:
            link.connection.autocommit = False


def _link(connection: Any) -> Link:
    """What the driver says about itself."""
    for base in type(connection).__mro__:
        driver = base.__module__.partition(".")[0].lstrip("_")
        module = sys.modules.get(driver)
        if getattr(module, "paramstyle", None) in _MARKS and hasattr(connection, "cursor"):
            assert module is not None
            cursor = connection.cursor()
            used = connection if isinstance(cursor, type(connection)) else cursor
            error = getattr(module, "Error", Exception)
            named = [getattr(module, name, None) for name in ("DataError", "IntegrityError")]
            refusals = (ValueError, OverflowError, *(kind for kind in named if kind is not None))
            return Link(connection, used, driver, module.paramstyle, error, refusals)
    raise MotifError(
        f"connect= gave {type(connection).__name__}, which is not a connection of a DB-API driver",
        hint="such as connect=lambda: sqlite3.connect('alerts.db')",
    )


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def postgres(url: str) -> Callable[[], Any]:
    """Opens connections to PostgreSQL."""
    _psycopg()
    return partial(_open_postgres, url.removeprefix("jdbc:"))


def _open_postgres(url: str) -> Any:
    return _psycopg().connect(url)


def _psycopg() -> Any:
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise MotifError(
            "a postgresql:// address needs the package psycopg, which is not installed",
            hint="pip install 'psycopg[binary]', or give a connection of another driver: connect=...",
        ) from None
