"""One query of a stream on DuckDB: what it is planned as, its session, and the host around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from motif.hosts.duckdb import DuckSource, final_columns, no_leaves, user_errors
from motif.hosts.duckdb import asked_of as asked_of_rows
from motif.hosts.duckdb_database import Database, quoted
from motif.hosts.duckdb_events import Stack, asked_of, match_table
from motif.hosts.duckdb_measures import computed_here
from motif.hosts.given import check_schema
from motif.hosts.united import United
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.options import EventOptions, StreamOptions
from motif.plan.dag import BASE, Node
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import PLAIN
from motif.plan.physical.facts import Asked
from motif.plan.physical.plan import Strategy
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
    empty: pa.Table
    """What the session takes, without a row; `nothing`: its result over that, which DuckDB has looked at, too."""
    nothing: pa.Table
    session: StreamSession
    local: LocalColumns | None
    """Computes what the session takes without the host, where that is possible."""
    measured: LocalColumns | None
    """The same of what comes out."""
    united: United | None
    """Of a later query of a stack: its events without the host, for `local`."""

    def taken(self, name: str, table: pa.Table, schemas: Mapping[str, pa.Schema]) -> pa.Table:
        """What the session takes of new rows of an input."""
        if self.local is not None:
            found = self.local.without_host(table)
            if found is not None:
                return found
        self.show(name, table, schemas)
        return self.rows()

    def after(
        self, name: str, table: pa.Table | None, schemas: Mapping[str, pa.Schema], matches: Mapping[int, pa.Table]
    ) -> pa.Table:
        """What the session of a later query takes of new rows of an input, and of new matches of queries before."""
        if self.local is not None and self.united is not None:
            found = self.local.without_host(self.united.events(table, matches))
            if found is not None:
                return found
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
            database.add(match_table(number), found, is_fixed=True)

    def rows(self) -> pa.Table:
        with user_errors(self.planned.program.query.source):
            return self.source.database.table(self.sql).combine_chunks()

    def finished(self, leaves: Sequence[pa.Table]) -> pa.Table:
        """Output columns of what the session gave."""
        if not leaves:
            return self.nothing
        return final_columns(self.planned.program, self.source, pa.concat_tables(leaves), local=self.measured)

    def held_back(self, watermark: int) -> int:
        """The watermark of what comes out: matches that end at or before it have all come."""
        hold = self.session.patterns.hold
        return BEGINNING if hold is None and watermark < FOREVER else watermark - (hold or 0) * (watermark < FOREVER)


def linked(
    queries: Sequence[EventQuery] | Sequence[RowQuery],
    schemas: dict[str, pa.Schema],
    events: EventOptions,
    options: StreamOptions,
    wanted: Strategy | None = None,
) -> list[Link]:
    """The queries of a stack, each seeing the matches of those before it."""
    for name, schema in schemas.items():
        check_schema(name, schema)
    empty = {name: schema.empty_table() for name, schema in schemas.items()}
    data = empty[BASE] if list(empty) == [BASE] else empty
    if isinstance(queries[0], RowQuery):
        return [_row_link(queries[0], data, options, wanted)]
    functions = Functions(events.functions, skips_errors=options.on_error == "skip")
    patterns = [query for query in queries if isinstance(query, EventQuery)]
    stack = Stack(data, events.stream, patterns)
    links: list[Link] = []
    for node in stack.dag.nodes:
        program, source = stack.plan(node, functions.registered)
        asked, own = asked_of(program, source), None if node.is_followed else wanted
        united = _united(stack, node, source)
        links.append(_link(program, source, asked, functions, options, united, own))
        if node.is_followed:
            stack.add(links[-1].nothing)
    return links


def _row_link(query: RowQuery, data: Any, options: StreamOptions, wanted: Strategy | None) -> Link:
    if isinstance(data, Mapping):
        raise MotifError("a MATCH_RECOGNIZE clause has one input", hint="give one schema")
    source = DuckSource(Database({BASE: data}), "", quoted(BASE))
    program = plan(query, source)
    return _link(program, source, asked_of_rows(program, source), Functions({}), options, None, wanted)


def _link(
    program: Program | EventProgram,
    source: DuckSource,
    asked: Asked,
    functions: Functions,
    options: StreamOptions,
    united: United | None,
    wanted: Strategy | None,
) -> Link:
    time = time_column(program, source.schema)
    with user_errors(program.query.source):
        empty = source.database.table(asked.rows).slice(0, 0)
    arranged = layout(program, source.types_of(crossing(program)))
    planned = Planned(program, arranged, functions, empty.schema, asked, wanted)
    session = StreamSession(planned, timeouts=options.emits("timeout"))
    rows = source.database.original(BASE) if source.relation == quoted(BASE) else None
    if united is not None:
        rows = united.schema.empty_table()
    chosen = program.admitted if isinstance(program, EventProgram) else None
    local = None
    if rows is not None:
        local = LocalColumns.of(planned.layout.exprs, chosen, source.schema, source.dialect, empty.schema)
        if local is not None and not local.takes_rows_of(rows):
            local = None
    leaves = _no_leaves(program, source, empty)
    nothing = final_columns(program, source, leaves)
    return Link(
        planned,
        source,
        asked.rows,
        time,
        empty,
        nothing,
        session,
        local,
        computed_here(program, source, leaves, nothing),
        united,
    )


def _united(stack: Stack, node: Node, source: DuckSource) -> United | None:
    """How events are made without the host, of a later query over an input without a name."""
    if stack.dag.is_named or not node.before:
        return None
    return United.of(source.database.table(source.select("*")).schema, stack.seen(node))


def _no_leaves(program: Program | EventProgram, source: DuckSource, empty: pa.Table) -> pa.Table:
    """What the engine returns over no rows."""
    if isinstance(program, Program):
        return no_leaves(program, source)
    rows = empty.select(range(len(program.columns)))
    return match_sorted(program, rows, Execution.of(program, PLAIN))
