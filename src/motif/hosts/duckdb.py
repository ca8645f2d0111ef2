"""DuckDB as the host: scan, sort and scalars in process, the matching between two of its queries."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from motif.engine.arrays import flat
from motif.engine.order import Layout, crossing, groups, layout
from motif.engine.parallel import match_rows
from motif.engine.session import Session
from motif.errors import (
    MotifError,
    QueryBindError,
    QueryDataError,
    QuerySyntaxError,
    Span,
    UnsupportedQuery,
    did_you_mean,
)
from motif.hosts.frames import is_path, reader_of, to_arrow
from motif.hosts.prefetch import ahead
from motif.ir.expr import Expr
from motif.ir.query import RowQuery
from motif.ir.render import render_row_sql
from motif.ir.types import Kind, Schema, Type
from motif.lang.statement import Clause, Statement
from motif.plan.bind import bind_errors
from motif.plan.events.program import EventProgram
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.source import HostRefusal

BATCH_ROWS = 1 << 18
MEMORY_BYTES = 1 << 30
"""Rows of a clause up to this size are sorted in memory."""
MANY_KEYS = 0.6
"""Partitions per row in the first batch from which on DuckDB sorts them all."""
Progress = Callable[[int], None]
"""Called with the number of rows taken in since the last call."""
_LEAVES = "__motif_leaves"
_KINDS = {
    "boolean": Kind.BOOLEAN,
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "varchar": Kind.STRING,
    "enum": Kind.STRING,
    "uuid": Kind.STRING,
    "blob": Kind.BINARY,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.TIMESTAMP,
    "timestamp_s": Kind.TIMESTAMP,
    "timestamp_ms": Kind.TIMESTAMP,
    "timestamp_ns": Kind.TIMESTAMP,
    "timestamp with time zone": Kind.TIMESTAMP_TZ,
    '"null"': Kind.NULL,
    "null": Kind.NULL,
}
_COMING_BACK = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_float64,
    pa.types.is_string,
    pa.types.is_timestamp,
    pa.types.is_date32,
    pa.types.is_decimal128,
)
_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}


def type_of(name: str) -> Type:
    """A DuckDB type as Motif knows it."""
    name = name.lower()
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name):
        return Type(Kind.DECIMAL, precision=int(decimal[1]), scale=int(decimal[2]))
    if name in _INTEGERS:
        return Type(Kind.INTEGER, _INTEGERS[name])
    if name.startswith("u") and name[1:] in _INTEGERS:
        return Type(Kind.INTEGER, _INTEGERS[name[1:]], signed=False)
    if name.startswith("enum("):
        return Type(Kind.STRING, ordered=False)
    return Type(_KINDS.get(name, Kind.OTHER), scale=3 if name == "timestamp_ns" else 0)


Planned = Program | EventProgram
"""A program of either language: their outputs look alike to a host."""


def quoted(name: str) -> str:
    """An identifier that DuckDB takes as it is."""
    return '"' + name.replace('"', '""') + '"'


def row_sql(expr: Expr) -> str:
    """A row expression in DuckDB's dialect."""
    return render_row_sql(expr, quoted, "duckdb")


class _Refused(Exception):
    """DuckDB's own error, taken apart."""

    def __init__(self, error: BaseException, tables: Sequence[str] = (), before: int = 0) -> None:
        kind, _, text = str(error).partition(": ")
        facts: dict[str, str] = {}
        if text.startswith("{"):
            facts = json.loads(text)
            text = facts["exception_message"]
        self.kind = type(error).__name__
        self.message = text.split("\n\nLINE ")[0].strip() or kind
        if facts.get("error_subtype") == "MISSING_ENTRY" and facts.get("type") == "Table":
            hint = did_you_mean(facts["name"], tables) or "pass it in tables="
            self.message = f"there is no table {facts['name']}\n{hint}"
        self.position = int(facts["position"]) - before if "position" in facts else None
        location = json.loads(facts.get("location", "[0,1]"))
        self.length = max(1, int(location[1]))
        super().__init__(self.message)
        if self.kind in ("FatalException", "InternalException"):  # such a database can not be used any more
            _INSTANCES.clear()

    def as_error(self, source: str | None = None, span: Span | None = None) -> MotifError:
        """The same as one of ours, pointing at the user's text."""
        first, _, rest = self.message.partition("\n")
        hint = " ".join(rest.split())[:200] or None
        place: dict[str, Any] = {"source": source, "span": span, "hint": hint}
        match self.kind:
            case "ParserException":
                return QuerySyntaxError(first, **place)
            case "PermissionException":
                place["hint"] = "pass the file as a table"
                return UnsupportedQuery("query text can not open files or sockets", **place)
            case "BinderException" | "CatalogException" | "InvalidInputException" | "NotImplementedException":
                return QueryBindError(first, **place)
            case "IOException" | "HTTPException":
                return MotifError(self.message)
            case _:
                return QueryDataError(first, **place)


class Database:
    """A connection that holds the given tables and can reach nothing else."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = list(tables)
        files = {name: str(data) for name, data in tables.items() if is_path(data)}
        for name, path in files.items():
            if not Path(path).exists():
                raise MotifError(f"there is no file {path} (table {name})", hint="paths are relative to where you are")
        self.connection = _instance(tuple(sorted(set(files.values())))).cursor()
        for name, data in tables.items():
            if name in files:
                self._add_file(name, files[name])
            else:
                self.connection.register(name, to_arrow(data))

    def _add_file(self, name: str, path: str) -> None:
        select = f"SELECT * FROM {reader_of(path)}({literal(path)})"
        try:
            self.connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS {select}")
        except duckdb.Error as error:
            raise MotifError(f"cannot read {path}: {_Refused(error).message}") from None

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement; DuckDB's refusal comes as `_Refused`."""
        try:
            return self.connection.execute(sql)
        except duckdb.Error as error:
            raise _Refused(error, self.tables) from None

    def describe(self, select: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns."""
        try:
            return [(row[0], row[1]) for row in self.connection.execute(f"DESCRIBE {select}").fetchall()]
        except duckdb.Error as error:
            raise _Refused(error, self.tables, before=len("DESCRIBE ")) from None

    def reader(self, sql: str) -> pa.RecordBatchReader:
        """The result of a query, batch by batch."""
        try:
            return self.connection.sql(sql).to_arrow_reader(BATCH_ROWS)
        except duckdb.Error as error:
            self.describe(sql)  # says the same with its place, unless it is a row that is to blame
            raise _Refused(error, self.tables) from None

    def table(self, sql: str, progress: Progress | None = None) -> pa.Table:
        """The result of a query."""
        reader = self.reader(sql)
        return pa.Table.from_batches(_counted(_batches(reader), progress), reader.schema)

    def add(self, name: str, table: pa.Table) -> None:
        """Make a result a table of its own."""
        self.connection.register(name, table)


_INSTANCES: dict[tuple[int, str, tuple[str, ...]], duckdb.DuckDBPyConnection] = {}
MOST_INSTANCES = 4


def _instance(files: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    """A database that can open these files and nothing else; tables and views are those of its cursors.

    It takes longer to open than most queries over a few thousand rows, so the last ones are kept. A process that was
    forked opens its own: the threads of its parent's are not there. Relative paths are those of the folder we are in.
    """
    own, key = os.getpid(), (os.getpid(), str(Path.cwd()), files)
    if key not in _INSTANCES:
        for old in [one for one in list(_INSTANCES) if one[0] == own][: 1 - MOST_INSTANCES]:
            _INSTANCES.pop(old, None)
        _INSTANCES[key] = _opened(files)
    return _INSTANCES[key]


def _opened(files: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    # DuckDB also asks for the pattern under which it would look into a folder of that name.
    endings = {path: (reader_of(path).removeprefix("read_"), "jsonl", "ndjson", "tsv") for path in files}
    allowed = [*files, *(f"{path}/**/*.{ending}" for path in files for ending in endings[path])]
    instance = duckdb.connect(":memory:")
    for setting in (
        "SET GLOBAL errors_as_json = true",
        "SET GLOBAL python_enable_replacements = false",
        f"SET GLOBAL allowed_paths = [{', '.join(literal(path) for path in allowed)}]",
        "SET GLOBAL enable_external_access = false",
        "SET GLOBAL lock_configuration = true",
    ):
        instance.execute(setting)
    return instance


def literal(text: str) -> str:
    """A string literal from which nothing escapes."""
    return "'" + text.replace("'", "''") + "'"


class DuckSource:
    """The input of one clause."""

    dialect = "duckdb"

    def __init__(self, database: Database, ctes: str, relation: str) -> None:
        self.database = database
        self.ctes = ctes
        self.relation = relation
        self._schema: Schema | None = None

    def select(self, items: str, rest: str = "") -> str:
        """A query over the input."""
        return f"{self.ctes} SELECT {items} FROM {self.relation} {rest}".strip()

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = {name: type_of(kind) for name, kind in self.database.describe(self.select("*"))}
        return self._schema

    def empty(self) -> DuckSource:
        """The same columns without a row."""
        return DuckSource(self.database, self.ctes, f"(SELECT * FROM {self.relation} LIMIT 0) AS nothing")

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        if not exprs:
            return []
        items = ", ".join(f"{row_sql(expr)} AS c{i}" for i, expr in enumerate(exprs))
        try:
            return [type_of(kind) for _, kind in self.database.describe(self.select(items))]
        except _Refused as refused:
            raise HostRefusal(refused.message) from None

    def on_nulls(self, exprs: Sequence[Expr]) -> list[object]:
        items = ", ".join(row_sql(expr) for expr in exprs)
        nothing = f"(SELECT * FROM {self.relation} WHERE FALSE) AS nothing RIGHT JOIN (SELECT 1) AS one ON TRUE"
        return list(self.database.execute(f"{self.ctes} SELECT {items} FROM {nothing}").fetchall()[0])


def input_sql(program: Program, source: DuckSource) -> str:
    """What DuckDB does before the matching: needed columns, in the matching order."""
    order = [f"{row_sql(program.columns[key])} ASC NULLS LAST" for key in program.keys]
    for item in program.order:
        direction = "DESC" if item.descending else "ASC"
        order.append(f"{row_sql(item.expr)} {direction} NULLS {'FIRST' if item.nulls_first else 'LAST'}")
    order += [f"{row_sql(expr)} ASC NULLS LAST" for expr in program.ties if not program.windowed]
    return source.select(columns_sql(program.columns), f"ORDER BY {', '.join(order)}" if order else "")


def columns_sql(exprs: Sequence[Expr]) -> str:
    """Row expressions as columns c0, c1, ..."""
    return ", ".join(f"{row_sql(expr)} AS c{i}" for i, expr in enumerate(exprs))


def output_sql(program: Planned, leaves: str = _LEAVES) -> str:
    """What DuckDB does after it: the scalars of the measures."""
    items = [f"{row_sql(expr)} AS {quoted(name)}" for name, expr in program.outputs.columns]
    return f"SELECT {', '.join(items)} FROM {leaves}"


def run_program(
    program: Program, source: DuckSource, *, compiled: bool | None = None, progress: Progress | None = None
) -> pa.Table:
    """Matches of one planned clause: sorted here if the rows fit into memory, else by DuckDB."""
    with user_errors(program.query.source):
        parts = _in_memory(program, source, compiled, progress)
        if parts is None:
            parts = _streamed(program, source, compiled, progress)
    return final_columns(program, source, pa.concat_tables(parts))


def _in_memory(
    program: Program, source: DuckSource, compiled: bool | None, progress: Progress | None
) -> list[pa.Table] | None:
    """Numbers sort faster here, on all cores, than rows do in a query; None where they, or their keys, are too many."""
    exprs = crossing(program)
    plan = layout(program, source.types_of(exprs))
    rows = _held(source.database.reader(source.select(columns_sql(exprs))), plan, progress)
    return None if rows is None else match_rows(program, rows, plan, compiled=compiled)


def _held(reader: pa.RecordBatchReader, plan: Layout, progress: Progress | None) -> pa.Table | None:
    held, size = [pa.Table.from_batches([], reader.schema)], 0
    for batch in _counted(_batches(reader), progress):
        held.append(pa.Table.from_batches([batch]))
        size += batch.nbytes
        if size > MEMORY_BYTES or (len(held) == 3 and _has_many_keys(held[1], plan)):
            if progress is not None:
                progress(-sum(table.num_rows for table in held))  # they will come again
            return None
    return pa.concat_tables(held).combine_chunks()


def _has_many_keys(rows: pa.Table, plan: Layout) -> bool:
    """Whether most rows begin a partition: to number a million keys takes longer than to sort them."""
    if not plan.keys or not rows.num_rows:
        return False
    group = groups([flat(rows.column(key)) for key in plan.keys], rows.num_rows)
    return bool(group.max() + 1 > MANY_KEYS * rows.num_rows)


def _streamed(program: Program, source: DuckSource, compiled: bool | None, progress: Progress | None) -> list[pa.Table]:
    session = Session(program, compiled=compiled)
    reader = source.database.reader(input_sql(program, source))
    return list(_drive(session, reader, progress))


def final_columns(program: Planned, source: DuckSource, leaves: pa.Table) -> pa.Table:
    """The output columns from what the engine returned."""
    if not program.outputs.is_plain:
        return _scalars(program, source, leaves)
    columns = [leaves.column(expr.name) for _, expr in program.outputs.columns]  # type: ignore[union-attr]
    return pa.Table.from_arrays(columns, names=[name for name, _ in program.outputs.columns])


def _drive(session: Session, reader: pa.RecordBatchReader, progress: Progress | None) -> Iterator[pa.Table]:
    yield from session.feed(pa.Table.from_batches([], reader.schema))
    for batch in _batches(reader):
        yield from session.feed(batch)
        if progress is not None:
            progress(batch.num_rows)
    yield from session.finish()


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from ahead(reader)
    except (pa.ArrowException, OSError, duckdb.Error) as error:
        raise QueryDataError(_first_line(error)) from None


def _counted(batches: Iterator[pa.RecordBatch], progress: Progress | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if progress is not None:
            progress(batch.num_rows)
        yield batch


def _first_line(error: BaseException) -> str:
    text = str(error)
    if "{" in text:
        with suppress(ValueError, KeyError):
            text = json.loads(text[text.index("{") : text.rindex("}") + 1])["exception_message"]
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def _scalars(program: Planned, source: DuckSource, leaves: pa.Table) -> pa.Table:
    database = source.database
    database.add(_LEAVES, leaves)
    try:
        with user_errors(program.query.source, program):
            return database.table(output_sql(program))
    finally:
        database.connection.unregister(_LEAVES)


@contextmanager
def user_errors(source: str, program: Planned | None = None) -> Iterator[None]:
    """DuckDB's refusals as ours; of a measure, pointing at the measure."""
    try:
        yield
    except _Refused as refused:
        span = _blamed(refused, program) if program is not None else None
        raise refused.as_error(source, span) from None


def _blamed(refused: _Refused, program: Planned) -> Span | None:
    """The measure in which DuckDB's error lies."""
    if refused.position is None:
        return None
    end = len("SELECT ")
    for name, expr in program.outputs.columns:
        end += len(f"{row_sql(expr)} AS {quoted(name)}, ")
        if refused.position < end:
            return next((m.span for m in program.query.measures if m.name == name), None)
    return None


def plan_clause(database: Database, statement: Statement, clause: Clause) -> tuple[Program, DuckSource]:
    """Check and compile one clause of a statement against its input."""
    source = DuckSource(database, clause.ctes_sql, clause.input_sql)
    _schema(source, statement, clause)
    return plan(clause.query, source), source


def _schema(source: DuckSource, statement: Statement, clause: Clause) -> Schema:
    """The input's columns; mistakes in the input are told before those in the clause."""
    try:
        return source.schema
    except _Refused as refused:
        raise refused.as_error(statement.text, _input_span(refused, clause)) from None


def empty_result(program: Program, source: DuckSource) -> pa.Table:
    """The result over no rows: lets DuckDB look at the measures before any row is read."""
    session = Session(program, compiled=False)
    rows = source.database.table(f"SELECT * FROM ({input_sql(program, source)}) LIMIT 0")
    return final_columns(program, source, pa.concat_tables([*session.feed(rows), *session.finish()]))


def _input_span(refused: _Refused, clause: Clause) -> Span:
    """Where in the user's text the input of a clause is wrong."""
    if refused.position is None:
        return clause.input_span
    before_input = len(f"{clause.ctes_sql} SELECT * FROM " if clause.ctes_sql else "SELECT * FROM ")
    if refused.position >= before_input:
        start = clause.input.source_offset(refused.position - before_input)
    else:
        start = clause.ctes.source_offset(refused.position)
    return Span(start, start + refused.length)


def run_statement(
    statement: Statement, tables: Mapping[str, Any], *, compiled: bool | None = None, progress: Progress | None = None
) -> pa.Table:
    """The answer to a whole statement."""
    database = Database(tables)
    for clause, (program, source) in zip(statement.clauses, plan_statement(database, statement), strict=True):
        found = run_program(program, source, compiled=compiled, progress=progress)
        if statement.is_all_of_one_clause() and all(map(_comes_back, found.schema.types)):
            return found
        database.add(clause.name, found)
    with _outer_errors(statement):
        return database.table(statement.outer_sql)


def _comes_back(kind: pa.DataType) -> bool:
    """Whether DuckDB gives back the type that it was given."""
    return any(is_such(kind) for is_such in _COMING_BACK)


def plan_statement(database: Database, statement: Statement) -> list[tuple[Program, DuckSource]]:
    """Check and compile every clause, and let DuckDB look at the text around them, before any row is read."""
    plans = []
    for clause in statement.clauses:
        program, source = plan_clause(database, statement, clause)
        plans.append((program, source))
        if statement.is_all_of_one_clause() and program.outputs.is_plain:
            return plans  # there is nothing for DuckDB to look at
        database.add(clause.name, empty_result(program, source))
    _check_outer(database, statement)
    return plans


def _check_outer(database: Database, statement: Statement) -> None:
    with _outer_errors(statement):
        database.describe(statement.outer_sql)


@contextmanager
def _outer_errors(statement: Statement) -> Iterator[None]:
    """DuckDB's refusals of the text around the clauses, pointing at the user's text."""
    try:
        yield
    except _Refused as refused:
        span = None
        if refused.position is not None:
            start = statement.outer.source_offset(refused.position)
            span = Span(start, start + refused.length)
        raise refused.as_error(statement.text, span) from None


def statement_errors(statement: Statement, tables: Mapping[str, Any]) -> list[MotifError]:
    """What is wrong with a statement whose text is fine, found without reading a row."""
    try:
        database = Database(tables)
        for clause in statement.clauses:
            source = DuckSource(database, clause.ctes_sql, clause.input_sql)
            if unknown := bind_errors(clause.query, _schema(source, statement, clause)):
                return unknown
            program, source = plan_clause(database, statement, clause)
            database.add(clause.name, empty_result(program, source))
        _check_outer(database, statement)
    except MotifError as error:
        return [error]
    return []


def match_table(data: Any, query: RowQuery, *, compiled: bool | None = None) -> pa.Table:
    """Matches of one clause over one table or file."""
    source = DuckSource(Database({"data": data}), "", quoted("data"))
    program = plan(query, source)
    if not program.outputs.is_plain:
        empty_result(program, source)
    return run_program(program, source, compiled=compiled)
