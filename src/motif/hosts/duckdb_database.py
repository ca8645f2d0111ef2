"""A DuckDB database that can reach the given tables and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from motif import limits
from motif.arguments import columns_alike
from motif.engine.budget import Budget
from motif.errors import LimitExceeded, MotifError, QueryDataError
from motif.hosts.csv_dates import ambiguous_dates
from motif.hosts.duckdb_lineage import Columns, unchanged
from motif.hosts.duckdb_refused import Refused, Room, beyond_limits, first_line, room
from motif.hosts.duckdb_safety import Unsafe, judged
from motif.hosts.frames import dataset_of, is_dataset, is_path, stays, to_arrow
from motif.hosts.given import given_column, is_kept, readable, zones_of
from motif.hosts.given_files import Files, files_of, is_remote, literal, reader_of
from motif.hosts.interrupt import answered, heard
from motif.hosts.kept_plans import kept, version_of
from motif.hosts.temporary import fresh_folder
from motif.slips import tell

BATCH_ROWS = 1 << 18
_LONGEST_HEADER = 1 << 24
State = tuple[tuple[str, Hashable], ...]
"""Of tables by name: what is different once one of them is another one."""
Progress = Callable[[int], None]
"""Called with the number of rows taken in since the last call."""


class Database:
    """A connection that holds the given tables and can reach nothing else."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = list(tables)
        self.budget = Budget(limits.LIMITS)
        """Of the query that the database is for; what is asked again and again, as by a stream, is none of it."""
        named = {name: files_of(data) for name, data in tables.items() if is_path(data)}
        tables = {name: _elsewhere(named[name]) if name in named else data for name, data in tables.items()}
        files = {name: each for name, each in named.items() if tables[name] is each}
        only = {name: each.only_path for name, each in files.items()}
        self._given: dict[str, str | pa.Table] = {name: path for name, path in only.items() if path is not None}
        for each in files.values():
            for path in each.paths:
                _check_width(path)
        self._originals: dict[str, pa.Table] = {}
        self.files = tuple(sorted({path for each in files.values() for path in each.paths}))
        self._states = {name: _state_of(path) for name, path in files.items()}
        self._here = {name.casefold() for name in files}
        self._only_files = len(files) == len(tables)
        views = self.state if self._only_files else None
        self._key: Key = os.getpid(), str(Path.cwd()), room(), self.files, views
        self.connection = _instance(self._key, {} if views is None else files).cursor()
        for name, data in tables.items():
            if is_dataset(data):
                self._register(name, data)
            elif name not in files:
                self.add(name, to_arrow(data), stays=stays(data))
            elif views is None:
                _show(self.connection, "TEMP VIEW", name, files[name])
        for name, each in files.items():
            if each.reader == "read_csv" and not each.says_dates:
                self._tell_dates(name, each)

    def _tell_dates(self, name: str, files: Files) -> None:
        """Of a file that has not changed DuckDB is asked once."""

        def ask(sql: str) -> list[Any]:
            return answered(self.connection, sql)

        state = self._states[name]
        for slip in kept(state, "dates", lambda: (ambiguous_dates(ask, quoted(name), files), True)):
            tell(slip)

    def given(self, relation: str) -> str | pa.Table | None:
        """The file or table that a relation in a statement is; None of anything else."""
        text = relation.strip()
        return next(
            (data for name, data in self._given.items() if text == quoted(name) or text.casefold() == name.casefold()),
            None,
        )

    @cached_property
    def zone(self) -> str:
        """The zone in which times with one are shown."""
        return str(answered(self.connection, "SELECT current_setting('TimeZone')")[0][0])

    @property
    def unsteady(self) -> frozenset[str]:
        """Names of functions whose value may be another one the next time."""
        return _unsteady(self.connection)

    @property
    def is_parquet(self) -> bool:
        """Whether all tables are files whose metadata answer simple questions without reading them."""
        return self._only_files and all(reader_of(path) == "read_parquet" for path in self.files)

    @property
    def state(self) -> State | None:
        """Equal for tables over which the same is planned; None where a change of theirs could be missed."""
        known = tuple((name, state) for name, state in self._states.items() if state is not None)
        return known if len(known) == len(self._states) else None

    @property
    def content(self) -> State | None:
        """Equal for tables with the same rows; None where that is not known: of tables in memory, it never is."""
        *_, views = self._key
        return views if views and views == self.state else None

    def original(self, relation: str) -> pa.Table | None:
        """The table in memory that a relation in a statement is, as it was given."""
        return self._originals.get(relation.strip().strip('"').casefold())

    def unchanged(self, select: str) -> Columns:
        """Columns of a query that come out of tables in memory as they are; see `duckdb_lineage`."""
        if all(is_kept(kind) for table in self._originals.values() for kind in table.schema.types):
            return {}
        return unchanged(judged(select, self.connection).tree, self._columns)

    def _columns(self, name: str) -> Columns:
        table = self._originals.get(name.casefold())
        names = [] if table is None else table.schema.names
        return {column.casefold(): given_column(table, column) for column in names}

    @property
    def common_zone(self) -> str | None:
        """The zone of all times that have one, if it is one."""
        kinds = [kind for table in self._originals.values() for kind in table.schema.types]
        zones = frozenset[str]().union(*map(zones_of, kinds))
        return next(iter(zones)) if len(zones) == 1 else None

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one query; DuckDB's refusal comes as `Refused`."""
        self._check(sql)
        try:
            return heard(lambda: self.connection.execute(sql), self.connection.interrupt)
        except duckdb.Error as error:
            raise self._refused(error) from None

    def describe(self, select: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns."""
        self._check(select)
        try:
            found = heard(lambda: self.connection.execute(f"DESCRIBE {select}").fetchall(), self.connection.interrupt)
        except duckdb.Error as error:
            raise self._refused(error, before=len("DESCRIBE ")) from None
        return [(row[0], row[1]) for row in found]

    def reader(self, sql: str) -> pa.RecordBatchReader:
        """The result of a query, batch by batch."""
        self._check(sql)
        try:
            connection = self.connection
            return heard(lambda: connection.sql(sql).to_arrow_reader(BATCH_ROWS), connection.interrupt)
        except duckdb.Error as error:
            self.describe(sql)  # says the same with its place, unless it is a row that is to blame
            raise self._refused(error) from None

    def table(self, sql: str, budget: Budget | None = None) -> pa.Table:
        """The result of a query, which is counted in the budget."""
        reader = self.reader(sql)
        found = (budget or Budget(limits.LIMITS)).counted(self.batches(reader))
        return pa.Table.from_batches(found, reader.schema)

    def batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """What a query gives; a row that it fails on is an error of the data."""
        try:
            while True:
                yield heard(reader.read_next_batch, self.connection.interrupt)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, duckdb.Error) as error:
            text = first_line(error)
            raise beyond_limits(text) or QueryDataError(text) from None

    def _check(self, sql: str) -> None:
        """Nothing runs here but a query over the tables that are here, as DuckDB understands it."""
        try:
            judged(sql, self.connection).check_tables(self._here)
        except Unsafe as unsafe:
            raise Refused(unsafe, self.tables) from None
        except duckdb.Error as error:
            raise self._refused(error) from None

    @contextmanager
    def lent(self, name: str, table: pa.Table) -> Iterator[None]:
        """A table that is none of those given."""
        self.connection.register(name, table)
        self._here.add(name)
        try:
            yield
        finally:
            self._here.discard(name)
            self.remove(name)

    def add(self, name: str, table: pa.Table, *, stays: bool = True, is_fixed: bool = False) -> None:
        """Make a result a table of its own; `stays`: its values are never changed; `is_fixed`: see `readable`."""
        if not table.num_columns:
            raise MotifError("a table without columns can not be matched", hint="give one that has rows and columns")
        self._given.pop(name, None)
        self._originals[name.casefold()] = table
        table = readable(name, table, is_fixed=is_fixed)
        if stays:
            self._given[name] = table
        self.connection.register(name, table)
        self._here.add(name.casefold())
        self._states[name] = table.schema.serialize().to_pybytes()

    def remove(self, name: str) -> None:
        """Let go of a table; a connection that still works at what nobody waits for lets go of all with its end."""
        with suppress(duckdb.Error):
            self.connection.unregister(name)

    def seen_in(self, files: Files) -> dict[str, str]:
        """How a CSV file looks to be written."""
        wanted = {"delimiter": "Delimiter", "quote": "Quote", "header": "HasHeader"}
        wanted |= {"dates": "DateFormat", "times": "TimestampFormat"}
        [row] = answered(self.connection, f"SELECT {', '.join(wanted.values())} FROM {files.sniffed}")
        told = {word: str(value) for word, value in zip(wanted, row, strict=True) if value is not None}
        return {word: value for word, value in told.items() if value and value != "(empty)"}

    def _register(self, name: str, dataset: Any) -> None:
        """Let DuckDB read what Arrow reads, as far as a query needs it."""
        self.connection.register(name, dataset)
        self._here.add(name.casefold())
        self._states[name] = None

    def _refused(self, error: duckdb.Error, before: int = 0) -> Refused:
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            _INSTANCES.pop(self._key, None)  # it refuses everything from now on
        return Refused(error, self.tables, before)


_UNSTEADY: set[str] = {"current_time", "current_timestamp", "localtime", "localtimestamp", "current_user"}
"""Those that are written without brackets; the catalogue has others, and is asked once (it takes a while)."""


def _unsteady(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    if "random" not in _UNSTEADY:
        found = "SELECT lower(function_name) FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
        _UNSTEADY.update(name for (name,) in answered(connection, found))
    return frozenset(_UNSTEADY)


Key = tuple[int, str, Room, tuple[str, ...], State | None]
"""Process, folder, room, files, and what the files were when views of them were made."""
_INSTANCES: dict[Key, duckdb.DuckDBPyConnection] = {}
MOST_INSTANCES = 4


def _instance(key: Key, views: Mapping[str, Files]) -> duckdb.DuckDBPyConnection:
    """A database that can open the files of its key and nothing else, with views of files by name.

    It takes longer to open than most queries over a few thousand rows, so the last ones are kept. A process that was
    forked opens its own: the threads of its parent's are not there. Relative paths are those of the folder we are in.
    """
    instance = _INSTANCES.get(key)
    if instance is None:
        for old in [one for one in list(_INSTANCES) if one[0] == key[0]][: 1 - MOST_INSTANCES]:
            _INSTANCES.pop(old, None)
        instance = _opened(key[2], key[3])
        for name, each in views.items():
            _show(instance, "VIEW", name, each)
        _INSTANCES[key] = instance
    return instance


def _elsewhere(files: Files) -> Any:
    """What Arrow reads of an object store; files of this machine as they are."""
    return dataset_of(files) if any(map(is_remote, files.given)) else files


def _state_of(files: Files) -> Hashable | None:
    versions = tuple(map(version_of, files.paths))
    return None if None in versions else (files, files.paths, versions)


def _show(connection: duckdb.DuckDBPyConnection, kind: str, name: str, files: Files) -> None:
    """Let statements read files by a name."""
    select = f"SELECT * FROM {files.sql}"
    try:
        heard(lambda: connection.execute(f"CREATE {kind} {quoted(name)} AS {select}"), connection.interrupt)
    except duckdb.Error as error:
        told = Refused(error).message
        raise beyond_limits(told) or _unreadable(files, told) from None
    _check_capitals(connection, name, str(files))


def _unreadable(files: Files, told: str) -> MotifError:
    if "not utf-8" in told.lower():
        hint = "say what it is, encoding=latin-1 for one: --csv on the command line, motif.files(...) in Python"
        return MotifError(f"{files} is not UTF-8", hint=hint)
    hint = "is it the right file, and is it whole?"
    if files.reader == "read_csv":
        hint = "say how it is written: motif.files(path, delimiter=..., ...) in Python, --csv on the command line"
    first = told.splitlines()[0] if told else "it is damaged"
    return MotifError(f"cannot read {files}: {first}", hint=hint)


def _check_capitals(connection: duckdb.DuckDBPyConnection, view: str, path: str) -> None:
    """Of the columns a and A of a file DuckDB makes a and A_1, and reads a where a query says A."""
    question = f"SELECT column_name FROM duckdb_columns() WHERE table_name = {literal(view)}"
    names = [str(row[0]) for row in answered(connection, question)]
    folded = {name.casefold(): name for name in reversed(names)}
    for name in names:
        own, _, number = name.rpartition("_")
        if number.isdecimal() and own not in names and own.casefold() in folded:
            raise columns_alike(path, folded[own.casefold()], own)


def _check_width(path: str) -> None:
    """DuckDB reads a wide CSV file again and again to find out what it holds; its first line says how wide it is."""
    limit = limits.LIMITS.csv_columns
    if not path.lower().endswith((".csv", ".tsv")) or not Path(path).is_file():
        return
    with Path(path).open("rb") as file:
        first = file.readline(_LONGEST_HEADER)
    columns = 1 + max(first.count(delimiter) for delimiter in (b",", b";", b"\t", b"|"))
    if columns > limit:
        raise LimitExceeded(
            f"{path} has about {columns:,} columns, more than the limit csv_columns = {limit:,}",
            hint="leave columns out, or write it as Parquet",
        )


def _opened(allowance: Room, files: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    # DuckDB also asks for the pattern under which it would look into a folder of that name.
    endings = {path: (reader_of(path).removeprefix("read_"), "jsonl", "ndjson", "tsv") for path in files}
    allowed = [*files, *(f"{path}/**/*.{ending}" for path in files for ending in endings[path])]
    memory, disk, chosen = allowance
    folder = fresh_folder(chosen)
    disk = shutil.disk_usage(folder.parent).free // 2 if disk is None else disk
    instance = duckdb.connect(":memory:")
    for setting in (
        "SET GLOBAL errors_as_json = true",
        "SET GLOBAL python_enable_replacements = false",
        f"SET GLOBAL memory_limit = '{memory}B'",
        f"SET GLOBAL max_temp_directory_size = '{disk}B'",
        f"SET GLOBAL temp_directory = {literal(str(folder))}",
        f"SET GLOBAL allowed_paths = [{', '.join(literal(path) for path in allowed)}]",
        "SET GLOBAL autoinstall_known_extensions = false",
        "SET GLOBAL autoload_known_extensions = false",
        "SET GLOBAL enable_external_access = false",
        "SET GLOBAL lock_configuration = true",
    ):
        answered(instance, setting)
    return instance


def quoted(name: str) -> str:
    """An identifier that DuckDB takes as it is."""
    return '"' + name.replace('"', '""') + '"'


def counted(found: Iterator[pa.RecordBatch], progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """The same, telling how many rows came."""
    for batch in found:
        if progress is not None:
            progress(batch.num_rows)
        yield batch
