"""What is known of a query in process before it runs, and the run that follows from it; nothing is read for that."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa

from motif import limits
from motif.engine.execution import Execution
from motif.engine.memory import half_of
from motif.engine.order import crossing
from motif.engine.threads import cores
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.facts import Asked, Crossing, Facts, Reader
from motif.plan.physical.plan import Strategy
from motif.plan.program import Program

if TYPE_CHECKING:
    from motif.hosts.duckdb import DuckSource


def execution_of(
    program: Program | EventProgram,
    source: DuckSource,
    asked: Asked,
    functions: Collection[str] = (),
    *,
    costs: Costs = COSTS,
    wanted: Strategy | None = None,
) -> Execution:
    """The run of a planned query; its plan is what `explain` shows."""
    facts = facts_of(program, source, asked, functions, costs)
    return Execution(program, facts, costs, wanted, source.database.budget)


def facts_of(
    program: Program | EventProgram,
    source: DuckSource,
    asked: Asked,
    functions: Collection[str] = (),
    costs: Costs = COSTS,
) -> Facts:
    """What is known before a row is read."""
    own = source.own_rows(program)
    reader = Reader.HOST if own is None else Reader.MEMORY if own.are_of_memory else Reader.ARROW
    return Facts(
        cores=costs.cores or cores(),
        asked=asked,
        reader=reader,
        file_rows=source.footer.num_rows if reader is Reader.ARROW else None,
        computes=own is not None and own.local is not None,
        files=int(reader is Reader.ARROW),
        rows=_rows_of(program, source, reader),
        memory=half_of(limits.LIMITS) // 2,
        functions=frozenset(functions),
    )


def _rows_of(program: Program | EventProgram, source: DuckSource, reader: Reader) -> int | None:
    """Rows that cross; of events it is known only once those that can play no role are left out."""
    if isinstance(program, EventProgram) or reader is Reader.HOST:
        return None
    given = source.given
    return given.num_rows if isinstance(given, pa.Table) else int(source.footer.num_rows)


def crossing_of(program: Program | EventProgram, source: DuckSource, sql: list[str]) -> tuple[Crossing, ...]:
    """The columns that cross, and what DuckDB computes for each."""
    types = source.types_of(crossing(program))
    return tuple(Crossing(text, str(kind)) for text, kind in zip(sql, types, strict=True))
