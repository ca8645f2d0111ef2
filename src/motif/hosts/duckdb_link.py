"""One query of a stream on DuckDB: what it is planned as, its session, and the host around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from motif.engine.events.functions import Functions
from motif.engine.events.run import match_sorted
from motif.engine.execution import Execution
from motif.engine.local import LocalColumns
from motif.engine.order import crossing, layout
from motif.engine.stream.session import Planned, StreamSession
from motif.engine.watermark import BEGINNING, FOREVER
from motif.errors import MotifError
from motif.hosts.duckdb import DuckSource, columns_sql, empty_result, final_columns, user_errors
from motif.hosts.duckdb_database import Database, quoted
from motif.hosts.duckdb_events import BASE, Stack, input_sql
from motif.hosts.given import check_schema
from motif.hosts.united import United
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.options import EventOptions, StreamOptions
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import PLAIN
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.stream import time_column


@dataclass(slots=True)
class Link:
    """One query of a stack."""

    planned: Planned
    source: DuckSource
    sql: str
    time: str
    tables: list[str]
    """Names under which matches of the queries before are seen."""
    empty: pa.Table
    """What the session takes, without a row; `nothing`: its result over that."""
    nothing: pa.Table
    session: StreamSession
    local: LocalColumns | None
    """Computes what the session takes without the host, where that is possible."""
    united: United | None
    """Of a later query of a stack: makes its events without the host, for `local`."""
    classes: list[str]
    """Those of the matches of the queries before."""

    def taken(self, name: str, table: pa.Table, schemas: Mapping[str, pa.Schema]) -> pa.Table:
        """What the session takes of new rows of an input."""
        if self.local is not None and self.local.takes(table.num_rows):
            with suppress(OverflowError, pa.ArrowInvalid):  # the host has a say on what is too large
                return self.local.table(table)
        self.show(name, table, schemas)
        return self.rows()

    def after(
        self, name: str, table: pa.Table | None, schemas: Mapping[str, pa.Schema], matches: Mapping[int, pa.Table]
    ) -> pa.Table:
        """What the session of a later query takes of new rows of an input, and of new matches of queries before."""
        if self.local is not None and self.united is not None:
            with suppress(OverflowError, pa.ArrowInvalid):
                events = self.united.events(table, [(self.classes[n], found) for n, found in matches.items()])
                if self.local.takes(events.num_rows):
                    return self.local.table(events)
        self.show(name, table, schemas, matches)
        return self.rows()

    def show(
        self,
        name: str,
        table: pa.Table | None,
        schemas: Mapping[str, pa.Schema],
        matches: Mapping[int, pa.Table] | None = None,
    ) -> None:
        """Let the host see the new rows of an input, and new matches of queries before."""
        database = self.source.database
        for other, schema in schemas.items():
            shown = table if other == name and table is not None else schema.empty_table()
            database.add(other, shown, is_fixed=True)
        for number, found in (matches or {}).items():
            database.add(self.tables[number], found, is_fixed=True)

    def rows(self) -> pa.Table:
        with user_errors(self.planned.program.query.source):
            return self.source.database.table(self.sql).combine_chunks()

    def finished(self, leaves: Sequence[pa.Table]) -> pa.Table:
        """Output columns of what the session gave."""
        if not leaves:
            return self.nothing
        return final_columns(self.planned.program, self.source, pa.concat_tables(leaves))

    def held_back(self, watermark: int) -> int:
        """The watermark of what comes out: matches that end at or before it have all come."""
        hold = self.session.patterns.hold
        return BEGINNING if hold is None and watermark < FOREVER else watermark - (hold or 0) * (watermark < FOREVER)


def linked(
    queries: Sequence[EventQuery] | Sequence[RowQuery],
    schemas: dict[str, pa.Schema],
    events: EventOptions,
    options: StreamOptions,
) -> list[Link]:
    """The queries of a stack, each seeing the matches of those before it."""
    for name, schema in schemas.items():
        check_schema(name, schema)
    empty = {name: schema.empty_table() for name, schema in schemas.items()}
    data = empty[BASE] if list(empty) == [BASE] else empty
    if isinstance(queries[0], RowQuery):
        return [_row_link(queries[0], data, options)]
    functions = Functions(events.functions, skips_errors=options.on_error == "skip")
    patterns = [query for query in queries if isinstance(query, EventQuery)]
    links: list[Link] = []
    for number, query in enumerate(patterns):
        stack = Stack(data, events.stream, patterns)
        for link, before in zip(links, patterns, strict=False):
            stack.add(before, link.nothing)
        program, source = stack.plan(query, functions.registered)
        classes, tables = [name for name, _ in stack.composites], [table for _, table in stack.composites]
        links.append(
            _link(
                program,
                source,
                input_sql(program, source),
                tables[:number],
                functions,
                options,
                classes,
                is_named=stack.named,
            )
        )
    return links


def _row_link(query: RowQuery, data: Any, options: StreamOptions) -> Link:
    if isinstance(data, Mapping):
        raise MotifError("a MATCH_RECOGNIZE clause has one input", hint="give one schema")
    source = DuckSource(Database({BASE: data}), "", quoted(BASE))
    program = plan(query, source)
    sql = source.select(columns_sql(crossing(program)))
    return _link(program, source, sql, [], Functions({}), options, [], is_named=False)


def _link(
    program: Program | EventProgram,
    source: DuckSource,
    sql: str,
    tables: list[str],
    functions: Functions,
    options: StreamOptions,
    classes: list[str],
    *,
    is_named: bool,
) -> Link:
    time = time_column(program, source.schema)
    with user_errors(program.query.source):
        empty = source.database.table(sql).slice(0, 0)
    planned = Planned(program, layout(program, source.types_of(crossing(program))), functions, empty.schema)
    session = StreamSession(planned, timeouts=options.emits("timeout"))
    local = None
    if source.relation == quoted(BASE):
        chosen = program.admitted if isinstance(program, EventProgram) else None
        local = LocalColumns.of(planned.layout.exprs, chosen, source.schema, source.dialect, empty.schema)
        if local is not None and not local.takes_rows_of(source.database.original(BASE)):
            local = None
    united = None
    if tables and isinstance(program, EventProgram) and not is_named:
        united = United.of(source.database.table(source.select("*")).schema, program.stream)
        local = LocalColumns.of(planned.layout.exprs, program.admitted, source.schema, source.dialect, empty.schema)
        if united is None or local is None or not local.takes_rows_of(united.schema.empty_table()):
            local = None
    nothing = _nothing(program, source, empty)
    return Link(planned, source, sql, time, tables, empty, nothing, session, local, united, classes)


def _nothing(program: Program | EventProgram, source: DuckSource, empty: pa.Table) -> pa.Table:
    """The result over no rows: lets DuckDB look at the measures before any row comes."""
    if isinstance(program, Program):
        return empty_result(program, source)
    rows = empty.select(range(len(program.columns)))
    return final_columns(program, source, match_sorted(program, rows, Execution.of(program, PLAIN)))
