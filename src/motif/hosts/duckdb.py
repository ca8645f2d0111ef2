"""DuckDB as the host: scan, sort and scalars in process, the matching between two of its queries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from motif.engine.analysis import Analysis
from motif.engine.arrays import flat, taken
from motif.engine.budget import Budget
from motif.engine.execution import Execution
from motif.engine.ledger import SILENT
from motif.engine.local import LocalColumns
from motif.engine.order import crossing, layout
from motif.engine.parallel import match_rows
from motif.engine.partitions import by_partition
from motif.engine.session import Session
from motif.errors import MotifError, QueryDataError, Span
from motif.hosts.constants import value_of
from motif.hosts.duckdb_answers import answers
from motif.hosts.duckdb_database import Database, Progress, quoted
from motif.hosts.duckdb_files import OwnRows, Wanted, footer_of, has_codes
from motif.hosts.duckdb_plans import crossing_of, execution_of
from motif.hosts.duckdb_refused import Refused
from motif.hosts.duckdb_rows import rows_in_memory
from motif.hosts.duckdb_types import type_of
from motif.hosts.given import Lookup, finished, given_column, given_in_file
from motif.hosts.given_leaves import given_leaf
from motif.hosts.kept_plans import kept, text_key
from motif.hosts.prefetch import ahead
from motif.ir.expr import Column, Expr, SubQuery, walk
from motif.ir.query import RowQuery
from motif.ir.render import render_row_sql
from motif.ir.types import Schema, Type
from motif.lang.statement import Clause, Statement
from motif.plan.bind import bind_errors
from motif.plan.constants import words_of
from motif.plan.events.program import EventProgram
from motif.plan.outputs import Grouped, is_leaf, leaf_number
from motif.plan.overlaps import tell_overlaps
from motif.plan.physical.costs import COSTS, PLAIN, Costs
from motif.plan.physical.facts import Asked
from motif.plan.physical.plan import Place, Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.ran import Work
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.source import HostRefusal, QueryRefusal, Verdict
from motif.plan.text_times import tell_text_times
from motif.plan.unmet import MOST_VALUES, row_tests, tell_of_rows, tell_unmet

LEAVES = "__motif_leaves"
"""The table of what the engine returned."""
_ROW = "__motif_row"
"""The number of a row, where DuckDB might bring it to another place."""
_VERDICTS = {"cannot contain aggregates": Verdict.AGGREGATE, "UNNEST": Verdict.ROWS}
"""By what DuckDB says of an expression that it does not take in WHERE."""

Planned = Program | EventProgram
"""A program of either language: their outputs look alike to a host."""
P = TypeVar("P", bound=Planned)
T = TypeVar("T")


def row_sql(expr: Expr) -> str:
    """A row expression in DuckDB's dialect."""
    return render_row_sql(expr, quoted, "duckdb")


@dataclass(slots=True)
class Told:
    """What DuckDB said of an input of one query, and what was found out about its file."""

    schema: Schema = field(default_factory=dict)
    types: dict[Expr, Type] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)
    is_lasting: bool = True
    """Types are what they are; a value may be another one the next time."""

    def once(self, what: str, find: Callable[[], T]) -> T:
        """What `find` gives, asked for the first time only."""
        if what not in self.found:
            self.found[what] = find()
        found: T = self.found[what]
        return found


class DuckSource:
    """The input of one clause."""

    dialect = "duckdb"
    answers = staticmethod(answers)

    def __init__(self, database: Database, ctes: str, relation: str, told: Told | None = None) -> None:
        self.database = database
        self.ctes = ctes
        self.relation = relation
        self.told = told or Told()

    def select(self, items: str, rest: str = "") -> str:
        """A query over the input."""
        return f"{self.ctes} SELECT {items} FROM {self.relation} {rest}".strip()

    @property
    def schema(self) -> Schema:
        if not self.told.schema:
            self.told.schema = {name: type_of(kind) for name, kind in self.database.describe(self.select("*"))}
            self.told.types = {Column(name): kind for name, kind in self.told.schema.items()}
        return self.told.schema

    def empty(self) -> DuckSource:
        """The same columns without a row."""
        return DuckSource(self.database, self.ctes, f"(SELECT * FROM {self.relation} LIMIT 0) AS nothing")

    @property
    def elsewhere(self) -> Callable[[Database], DuckSource]:
        """The same input in another database with tables that are alike."""
        return partial(DuckSource, ctes=self.ctes, relation=self.relation, told=self.told)

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        # To ask takes half a millisecond.
        unknown = [expr for expr in dict.fromkeys(exprs) if expr not in self.told.types]
        try:
            kinds = self.database.describe(self.select(columns_sql(unknown))) if unknown else []
        except Refused as refused:
            raise HostRefusal(refused.message) from None
        self.told.types |= {expr: type_of(kind) for expr, (_, kind) in zip(unknown, kinds, strict=True)}
        return [self.told.types[expr] for expr in exprs]

    def verdict(self, exprs: Sequence[Expr]) -> Verdict:
        # WHERE takes values only, and DuckDB says what else it has found.
        tested = " OR ".join(f"{row_sql(expr)} IS NULL" for expr in exprs)
        try:
            self.database.describe(self.select("1", f"WHERE {tested}"))
        except Refused as refused:
            verdict = next((verdict for said, verdict in _VERDICTS.items() if said in refused.message), None)
            if verdict is None:
                raise HostRefusal(refused.message) from None
            return verdict
        return Verdict.VALUE

    def query_refusal(self, text: str) -> QueryRefusal | None:
        try:
            self.database.describe(text)
        except Refused as refused:
            return QueryRefusal(refused.as_error(), refused.position, refused.length)
        return None

    def type_name(self, expr: Expr) -> str:
        try:
            return self.database.describe(self.select(row_sql(expr)))[0][1]
        except Refused as refused:
            raise HostRefusal(refused.message) from None

    @property
    def given(self) -> str | pa.Table | None:
        """The file or table that it is, if it is one and nothing else."""
        return None if self.ctes else self.database.given(self.relation)

    @property
    def lookup(self) -> Lookup:
        """What columns were given as, where DuckDB hands them over in another type."""
        table = None if self.ctes else self.database.original(self.relation)
        if table is not None:
            return lambda name: given_column(table, name) if name in table.schema.names else None
        if self.footer is not None:
            return lambda name: given_in_file(self.told.once("arrow schema", self.footer.schema.to_arrow_schema), name)
        known = self.database.unchanged(self.select("*"))
        return lambda name: known.get(name.casefold())

    @property
    def footer(self) -> Any:
        """What its file says of itself, if it is one that Arrow may read."""
        return self.told.once("footer", lambda: footer_of(self.given))

    def own_rows(self, program: Planned) -> OwnRows | None:
        """What Arrow reads of the file or table that it is; None where DuckDB has to."""
        given = self.given
        if given is None:
            return None
        wanted = self.told.once("wanted", lambda: Wanted.of(program, self))
        if wanted is None:
            return None
        if isinstance(given, pa.Table):
            return wanted.in_table(given)
        return self.told.once("own rows", lambda: wanted.in_file(given, self.footer))

    def leaves_texts(self, column: str) -> bool:
        """DuckDB compares texts faster than it hands them over, but not where they are read as codes."""
        return self.footer is not None and has_codes(self.footer, column)

    def constant(self, expr: Expr) -> tuple[object] | None:
        if not self.is_steady(expr):
            return None
        try:
            return self.told.once(f"constant {expr}", lambda: value_of(self.database.table(f"SELECT {row_sql(expr)}")))
        except Refused as refused:
            raise HostRefusal(refused.message) from None
        except QueryDataError as error:
            raise HostRefusal(error.message) from None

    def totals(self, exprs: Sequence[Expr]) -> list[object]:
        """Values of aggregates over all rows."""
        return list(self._asked(self.select(", ".join(map(row_sql, exprs))))[0])

    def values(self, expr: Expr, where: Expr | None = None) -> list[tuple[str, int]]:
        """The most frequent values as texts, and how often they are there."""
        value = row_sql(expr)
        chosen = f"{value} IS NOT NULL" if where is None else f"{value} IS NOT NULL AND {row_sql(where)}"
        rest = f"WHERE {chosen} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}"
        return self._asked(self.select(f"CAST({value} AS VARCHAR), count(*)", rest))

    def sample(self, expr: Expr, rows: int) -> list[str]:
        """Some values that are not NULL, as texts."""
        value = row_sql(expr)
        text = f"CAST({value} AS VARCHAR)"  # values of a UUID come as such
        return [text for (text,) in self._asked(self.select(text, f"WHERE {value} IS NOT NULL LIMIT {rows}"))]

    def _asked(self, sql: str) -> list[Any]:
        """Rows that DuckDB gives; of files that have not changed it is asked once."""
        try:
            return kept(self.database.content, sql, lambda: (self.database.execute(sql).fetchall(), True))
        except Refused as refused:
            raise HostRefusal(refused.message) from None

    def is_steady(self, expr: Expr) -> bool:
        return not any(word in self.database.unsteady for word in words_of(expr))

    def on_nulls(self, exprs: Sequence[Expr]) -> list[object]:
        self.told.is_lasting = False
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


def output_sql(program: Planned, leaves: str) -> str:
    """What comes after it, as one query: DuckDB does the scalars of the measures."""
    return _items_sql(program, program.outputs.columns, leaves)


def _items_sql(program: Planned, columns: Sequence[tuple[str, Expr]], leaves: str) -> str:
    items = [f"{row_sql(expr)} AS {quoted(name)}" for name, expr in columns]
    groups = [f"{_group_sql(group)} AS {quoted(group.name)}" for group in program.outputs.grouped]
    given = f"(SELECT *, {', '.join(groups)} FROM {leaves})" if groups else leaves
    return f"SELECT {', '.join(items)} FROM {given}"


def _group_sql(group: Grouped) -> str:
    """An aggregate over the rows of one list, whose fields become columns."""
    return f"(SELECT {row_sql(group.aggregate)} FROM (SELECT unnest({quoted(group.rows)}, max_depth := 2)))"


def asked_of(program: Program, source: DuckSource) -> Asked:
    """What DuckDB is asked for around the matching."""

    def asked() -> Asked:
        exprs = crossing(program)
        return Asked(
            rows=source.select(columns_sql(exprs)),
            sorted_rows=input_sql(program, source),
            result="" if program.outputs.is_plain else output_sql(program, "matches"),
            crossing=crossing_of(program, source, list(map(row_sql, exprs))),
        )

    return source.told.once("asked", asked)


def run_program(
    program: Program,
    source: DuckSource,
    *,
    costs: Costs = COSTS,
    wanted: Strategy | None = None,
    progress: Progress | None = None,
    analysis: Analysis | None = None,
) -> pa.Table:
    """Matches of one planned clause: sorted here if the rows fit into memory, else by DuckDB."""
    tell_overlaps(program.query)
    tell_text_times(program, source)
    with user_errors(program.query.source):
        execution = execution_of(program, source, asked_of(program, source), costs=costs, wanted=wanted)
        if analysis is not None:
            analysis.follow(execution)
        return matched(program, source, execution, progress)


def matched(program: Program, source: DuckSource, execution: Execution, progress: Progress | None) -> pa.Table:
    """Matches of one clause, as its run goes."""
    with user_errors(program.query.source):
        parts = _leaves(program, source, execution, progress)
    budget = execution.budget
    budget.check(sum(part.num_rows for part in parts))
    if not any(part.num_rows for part in parts):
        tell_unmet(row_tests(program), source, program.query.source)
    with execution.ledger.step(Work.GATHER):
        leaves = by_partition(pa.concat_tables(parts), program.key_leaves)
    return finish(program, source, leaves, execution)


def finish(program: Planned, source: DuckSource, leaves: pa.Table, execution: Execution) -> pa.Table:
    """The result of a run from what its matching returned."""
    ledger = execution.ledger
    ledger.took(Work.FINISH, leaves)
    with ledger.step(Work.FINISH):
        result = final_columns(program, source, leaves, execution.budget)
    ledger.gave(Work.FINISH, result)
    return result


def _leaves(program: Program, source: DuckSource, execution: Execution, progress: Progress | None) -> list[pa.Table]:
    if execution.plan.arrange.place is Place.MEMORY:
        rows = rows_in_memory(program, source, execution, progress)
        if rows:
            arranged = layout(program, source.types_of(crossing(program)))
            return match_rows(program, rows.pop(), arranged, execution)
    reader = source.database.reader(execution.plan.read.sql)
    found = _drive(Session(program, execution), source.database, reader, progress)
    return list(execution.budget.counted(found))


def final_columns(
    program: Planned,
    source: DuckSource,
    leaves: pa.Table,
    budget: Budget | None = None,
    *,
    local: LocalColumns | None = None,
) -> pa.Table:
    """The output columns from what the engine returned, of which `budget` has counted all before.

    What is a value of a row is of the type of its column. `local`: computes the rest of a few without DuckDB.
    """
    computed = iter([] if program.outputs.is_plain else _scalars(program, source, leaves, budget, local).columns)
    lookup, zone = source.lookup, source.database.common_zone
    columns, fields = [], []
    for name, expr in program.outputs.columns:
        if is_leaf(expr):
            found = leaves.column(expr.name)
            given = given_leaf(program, leaf_number(expr.name), found.type, lookup)
        else:
            found, given = next(computed), None
        columns.append(finished(found, given, zone))
        fields.append(pa.field(name, columns[-1].type, metadata=None if given is None else given.metadata))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _drive(
    session: Session, database: Database, reader: pa.RecordBatchReader, progress: Progress | None
) -> Iterator[pa.Table]:
    yield from session.feed(pa.Table.from_batches([], reader.schema))
    ledger = session.execution.ledger
    for batch in ledger.each(Work.READ, ahead(database.batches(reader), database.connection.interrupt)):
        ledger.gave(Work.READ, batch)
        yield from session.feed(batch)
        if progress is not None:
            progress(batch.num_rows)
    yield from session.finish()


def _scalars(
    program: Planned, source: DuckSource, leaves: pa.Table, budget: Budget | None, local: LocalColumns | None
) -> pa.Table:
    found = None if local is None else local.without_host(leaves)
    if found is not None:
        return found
    computed = _computed(program)
    if not _loses_order(program, computed):
        with source.database.lent(LEAVES, leaves), user_errors(program.query.source, program):
            return source.database.table(_items_sql(program, computed, LEAVES), budget)
    numbered = leaves.append_column(_ROW, pa.array(np.arange(leaves.num_rows)))
    with source.database.lent(LEAVES, numbered), user_errors(program.query.source, program):
        asked = _items_sql(program, [*computed, (_ROW, Column(_ROW))], LEAVES)
        return _in_order(source.database.table(asked, budget))


def _loses_order(program: Planned, computed: Sequence[tuple[str, Expr]]) -> bool:
    """Whether DuckDB may give rows in another order: it makes joins of queries inside of others, on many threads."""
    inner = (isinstance(node, SubQuery) for _, expr in computed for node in walk(expr))
    return bool(program.outputs.grouped) or any(inner)


def _in_order(found: pa.Table) -> pa.Table:
    """What was computed for numbered rows, in their order."""
    numbers = flat(found.column(_ROW)).to_numpy()
    found = found.drop_columns([_ROW])
    return found if (numbers[1:] > numbers[:-1]).all() else taken(found, np.argsort(numbers))


def _computed(program: Planned) -> list[tuple[str, Expr]]:
    """Columns that are more than a value which the matching has picked."""
    return [(name, expr) for name, expr in program.outputs.columns if not is_leaf(expr)]


@contextmanager
def user_errors(source: str, program: Planned | None = None) -> Iterator[None]:
    """DuckDB's refusals as ours; of a measure, pointing at the measure."""
    try:
        yield
    except Refused as refused:
        span = _blamed(refused, program) if program is not None else None
        raise refused.as_error(source, span) from None


def _blamed(refused: Refused, program: Planned) -> Span | None:
    """The measure in which DuckDB's error lies."""
    if refused.position is None:
        return None
    end = len("SELECT ")
    for name, expr in _computed(program):
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
    except Refused as refused:
        raise refused.as_error(statement.text, _input_span(refused, clause)) from None


def empty_result(program: Program, source: DuckSource) -> pa.Table:
    """The result over no rows: lets DuckDB look at the measures before any row is read."""
    return final_columns(program, source, no_leaves(program, source))


def no_leaves(program: Program, source: DuckSource) -> pa.Table:
    """What the engine returns over no rows."""
    session = Session(program, Execution.of(program, PLAIN))
    rows = source.database.table(f"SELECT * FROM ({input_sql(program, source)}) LIMIT 0")
    return pa.concat_tables([*session.feed(rows), *session.finish()])


def _input_span(refused: Refused, clause: Clause) -> Span:
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
    statement: Statement,
    tables: Mapping[str, Any],
    *,
    costs: Costs = COSTS,
    wanted: Strategy | None = None,
    progress: Progress | None = None,
    analysis: Analysis | None = None,
) -> pa.Table:
    """The answer to a whole statement; `analysis` follows the runs of its clauses."""
    database = Database(tables)
    for clause, (program, source) in zip(statement.clauses, plan_statement(database, statement), strict=True):
        found = run_program(program, source, costs=costs, wanted=wanted, progress=progress, analysis=analysis)
        if statement.is_all_of_one_clause():
            return found
        database.add(clause.name, found)
    ledger = SILENT if analysis is None else analysis.around
    with _outer_errors(statement), ledger.step(Work.FINISH):
        result = _outer(database, statement.outer_sql)
    ledger.gave(Work.FINISH, result)
    return result


def _outer(database: Database, sql: str) -> pa.Table:
    """The result of the text around the clauses."""
    table, zone = database.table(sql, database.budget), database.common_zone
    known = database.unchanged(sql)
    given = [known.get(name.casefold()) if table.column_names.count(name) == 1 else None for name in table.column_names]
    columns = [finished(*pair, zone) for pair in zip(table.columns, given, strict=True)]
    fields = [
        pa.field(name, column.type, metadata=None if was is None else was.metadata)
        for name, column, was in zip(table.column_names, columns, given, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def plan_statement(database: Database, statement: Statement) -> list[tuple[Program, DuckSource]]:
    """Check and compile every clause, and let DuckDB look at the text around them, before any row is read."""
    return planned(database, statement.text, lambda: _plans(database, statement))


def planned(
    database: Database, query: Hashable | None, plan: Callable[[], list[tuple[P, DuckSource]]]
) -> list[tuple[P, DuckSource]]:
    """Programs and their inputs as `plan` gives them, or gave them for the same query over tables that are alike."""

    def lasting() -> tuple[list[tuple[P, Callable[[Database], DuckSource]]], bool]:
        plans = plan()
        return [(program, source.elsewhere) for program, source in plans], all(s.told.is_lasting for _, s in plans)

    return [(program, source(database)) for program, source in kept(database.state, query, lasting)]


def _plans(database: Database, statement: Statement) -> list[tuple[Program, DuckSource]]:
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
    except Refused as refused:
        span = None
        if refused.position is not None:
            start = statement.outer.source_offset(refused.position)
            span = Span(start, start + refused.length)
        raise refused.as_error(statement.text, span) from None


def statement_errors(statement: Statement, tables: Mapping[str, Any], *, rows: bool = False) -> list[MotifError]:
    """What is wrong with a statement whose text is fine, found without reading a row unless `rows` is set."""
    try:
        database = Database(tables)
        for clause in statement.clauses:
            source = DuckSource(database, clause.ctes_sql, clause.input_sql)
            if unknown := bind_errors(clause.query, _schema(source, statement, clause)):
                return unknown
            program, source = plan_clause(database, statement, clause)
            tell_overlaps(clause.query)
            if rows:
                tell_of_rows(program, source)
            database.add(clause.name, empty_result(program, source))
        _check_outer(database, statement)
    except MotifError as error:
        return [error]
    return []


def statement_plans(
    statement: Statement, tables: Mapping[str, Any], *, wanted: Strategy | None = None, costs: Costs = COSTS
) -> list[PlannedQuery]:
    """How every clause of a statement will run; no row is read."""
    if errors := statement_errors(statement, tables):
        raise errors[0]
    database = Database(tables)
    plans = []
    for clause, (program, source) in zip(statement.clauses, plan_statement(database, statement), strict=False):
        execution = execution_of(program, source, asked_of(program, source), costs=costs, wanted=wanted)
        plans.append(PlannedQuery(program, execution.planned))
        database.add(clause.name, empty_result(program, source))
    return plans


def clause_errors(data: Any, query: RowQuery, *, rows: bool = False) -> list[MotifError]:
    """What is wrong with a clause over one table or file, found without reading a row unless `rows` is set."""
    try:
        source = DuckSource(Database({"data": data}), "", quoted("data"))
        if unknown := bind_errors(query, source.schema):
            return unknown
        program = plan(query, source)
        tell_overlaps(query)
        if rows:
            tell_of_rows(program, source)
        empty_result(program, source)
    except MotifError as error:
        return [error]
    return []


def clause_plan(data: Any, query: RowQuery, *, wanted: Strategy | None = None, costs: Costs = COSTS) -> PlannedQuery:
    """How a clause over one table or file will run; no row is read."""
    if errors := clause_errors(data, query):
        raise errors[0]
    source = DuckSource(Database({"data": data}), "", quoted("data"))
    program = plan(query, source)
    execution = execution_of(program, source, asked_of(program, source), costs=costs, wanted=wanted)
    return PlannedQuery(program, execution.planned)


def match_table(
    data: Any,
    query: RowQuery,
    *,
    costs: Costs = COSTS,
    wanted: Strategy | None = None,
    analysis: Analysis | None = None,
) -> pa.Table:
    """Matches of one clause over one table or file; `analysis` follows its run."""
    database = Database({"data": data})
    [(program, source)] = planned(database, text_key(query), lambda: [_checked(query, database)])
    return run_program(program, source, costs=costs, wanted=wanted, analysis=analysis)


def _checked(query: RowQuery, database: Database) -> tuple[Program, DuckSource]:
    source = DuckSource(database, "", quoted("data"))
    program = plan(query, source)
    if not program.outputs.is_plain:
        empty_result(program, source)
    return program, source
