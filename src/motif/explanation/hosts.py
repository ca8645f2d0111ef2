"""The steps of a host around the matching, as the host is really told to take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motif.engine.order import crossing
from motif.engine.parallel import ROWS_PER_PIECE
from motif.engine.pieces import is_for_pieces
from motif.explanation.facts import ClauseFacts, Step, program_facts
from motif.ir.expr import Expr
from motif.ir.query import RowQuery
from motif.ir.types import Type
from motif.lang.statement import Statement
from motif.plan.events.program import EventProgram
from motif.plan.planner import plan
from motif.plan.program import Program

NO_EXCHANGE = "nothing: the table is small, so one task reads it and does all the work"


def duckdb_facts(statement: Statement, tables: Mapping[str, Any]) -> list[ClauseFacts]:
    """Every clause, planned against tables in process; no row is read."""
    from motif.hosts import duckdb
    from motif.hosts.duckdb_database import Database

    raise_first(duckdb.statement_errors(statement, tables))
    database = Database(tables)
    clauses = []
    for clause in statement.clauses:
        program, source = duckdb.plan_clause(database, statement, clause)
        clauses.append(_duckdb_clause(clause.index + 1, program, source))
        database.add(clause.name, duckdb.empty_result(program, source))
    return clauses


def duckdb_clause(query: RowQuery, data: Any) -> ClauseFacts:
    """One clause, planned against a table or file in process; no row is read."""
    from motif.hosts import duckdb
    from motif.hosts.duckdb_database import Database

    raise_first(duckdb.clause_errors(data, query))
    source = duckdb.DuckSource(Database({"data": data}), "", "data")
    return _duckdb_clause(1, plan(query, source), source)


def _duckdb_clause(number: int, program: Program, source: Any) -> ClauseFacts:
    from motif.hosts import duckdb
    from motif.hosts.duckdb_rows import MEMORY_BYTES

    columns = crossing_notes([duckdb.row_sql(expr) for expr in program.columns], program.types)
    steps = [
        Step(_reads(program, source), duckdb.input_sql(program, source), columns),
        Step("Motif matches", "", (_in_memory(program, MEMORY_BYTES), _what_comes_out(program))),
    ]
    if not program.outputs.is_plain:
        steps.append(Step("DuckDB computes the measures", duckdb.output_sql(program, "matches")))
    return program_facts(number, program, steps, duckdb.row_sql)


def _reads(program: Program, source: Any) -> str:
    own = source.own_rows(program)
    who = "DuckDB reads, and sorts" if own is None else f"{reader(own)}, and DuckDB sorts"
    return f"{who} what does not fit into memory"


def reader(own: Any) -> str:
    """Where rows come from that DuckDB does not read."""
    return "Columns are taken as they are" if own.are_of_memory else "Arrow reads the file"


def _in_memory(program: Program, size: int) -> str:
    return f"up to {size >> 20:,} MiB are sorted in memory and matched {_how_shared(program)}"


def _how_shared(program: Program) -> str:
    if program.keys:
        return "on all cores, partition by partition"
    if is_for_pieces(program):
        return f"on all cores, in pieces (from {4 * ROWS_PER_PIECE:,} rows on)"
    return "on one core: conditions read the number of the match, so each depends on all before it"


def spark_facts(statement: Statement, session: Any) -> list[ClauseFacts]:
    """Every clause, planned against the tables of a Spark session; no job is run."""
    from motif.hosts.spark import batch

    raise_first(batch.statement_errors(statement, session))
    frames: dict[str, Any] = {}
    clauses = []
    for clause in statement.clauses:
        frame = batch.clause_input(statement, clause, session, frames)
        source = batch.SparkSource(frame)
        program = plan(clause.query, source)
        clauses.append(_spark_clause(clause.index + 1, program, source))
        frames[clause.name] = batch.run_program(program, source)
    return clauses


def spark_clause(query: RowQuery, frame: Any) -> ClauseFacts:
    """One clause, planned against a DataFrame; no job is run."""
    from motif.hosts.spark import batch

    raise_first(batch.clause_errors(frame, query))
    source = batch.SparkSource(frame)
    return _spark_clause(1, plan(query, source), source)


def _spark_clause(number: int, program: Program, source: Any) -> ClauseFacts:
    from motif.hosts.spark import batch

    if source.frame.isStreaming:
        steps = stream_steps(program, source, "Motif keeps rows and matches them")
    else:
        steps = _spark_steps(program, source)
    return program_facts(number, program, steps, batch.row_sql)


def _spark_steps(program: Program, source: Any) -> list[Step]:
    from motif.hosts.spark import batch

    exprs: Sequence[Expr] = crossing(program)
    items = [batch.row_sql(expr) for expr in exprs]
    select = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
    columns = crossing_notes(items, source.types_of(exprs))
    if files := batch.own_files(program, source):
        steps = [Step("One task reads", select, (_by_itself(len(files.paths)), *columns))]
    else:
        steps = [Step("Spark selects", select, columns), Step("Spark exchanges", "", (_exchanged(program, source),))]
    sort = (
        f"sorted in the worker, up to {batch.SORT_BYTES >> 20} MiB per task in memory, more with the help of its disk"
    )
    final = ", ".join(f"{batch.row_sql(expr)} AS {batch.quoted(name)}" for name, expr in program.outputs.columns)
    asked = [Step("Spark is asked about conditions", "", asked_in_rounds(program.limits.host_questions))]
    return [
        *steps,
        *(asked if program.asks else ()),
        Step("Motif matches, inside mapInArrow", "", (sort, _what_comes_out(program))),
        Step("Spark selects the result", final),
    ]


def asked_in_rounds(most: int) -> tuple[str, ...]:
    """What it costs to ask Spark about values of different rows while it searches."""
    return (
        "when the query is made, not when its rows are asked for: in rounds, each a job over all rows",
        "in a round the workers search by what is known, and Spark computes the conditions for values that are new",
        "so until none is new, about the logarithm of the length of a match; then once more, for the matches",
        f"the driver holds the values, up to host_questions={most:,} for each condition",
    )


def stream_steps(program: Program | EventProgram, source: Any, work: str) -> list[Step]:
    """What happens in every batch of a stream; the filter in front is that of the caller."""
    from motif.hosts.spark import batch

    exprs = crossing(program)
    items = [batch.row_sql(expr) for expr in exprs]
    select = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
    final = ", ".join(f"{batch.row_sql(expr)} AS {batch.quoted(name)}" for name, expr in program.outputs.columns)
    return [
        Step("Spark selects", select, crossing_notes(items, source.types_of(exprs))),
        Step("Motif packs rows, inside mapInArrow", "", (buckets_of(program),)),
        Step("Spark exchanges", "", ("repartition by bucket",)),
        Step(
            f"{work}, inside transformWithState", "", ("once per bucket and batch; what is kept is in Spark's state",)
        ),
        Step("Motif unpacks the matches, inside mapInArrow"),
        Step("Spark selects the result", final),
    ]


def buckets_of(program: Program | EventProgram) -> str:
    """How the keys of a stream are spread."""
    if not program.keys:
        return "in sequence, by one task: there is no key, so there is one bucket"
    keys = ", ".join(f"c{key}" for key in program.keys)
    return f"by buckets of keys ({keys}), as many as buckets= says (16): each is matched by one task at a time"


def _by_itself(files: int) -> str:
    return f"{files} Parquet file{'' if files == 1 else 's'}, by itself: Spark hands no row over and exchanges none"


def _exchanged(program: Program, source: Any) -> str:
    from motif.hosts.spark import batch

    if batch.is_read_by_one_task(program, source):
        return NO_EXCHANGE
    keys = ", ".join(batch.key_columns(program))
    return f"repartition by {keys}" if keys else "one partition: no PARTITION BY, so one task does all the work"


def crossing_notes(items: Sequence[str], types: Sequence[Type]) -> tuple[str, ...]:
    """What crosses from the host to Motif."""
    lines = [f"  c{number}: {item}, {kind}" for number, (item, kind) in enumerate(zip(items, types, strict=True))]
    return ("crosses as Arrow:", *lines) if lines else ("no column crosses, only rows",)


def _what_comes_out(program: Program) -> str:
    count = len(program.outputs.leaves)
    return f"{count} column{'' if count == 1 else 's'} of picked values and aggregates per output row"


def raise_first(errors: Sequence[Exception]) -> None:
    """What is wrong comes before how it would be done."""
    if errors:
        raise errors[0]
