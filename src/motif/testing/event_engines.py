"""Events of the test kit through the engine: bindings as numbers of events, which is what the reference gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import arrow, flat
from motif.engine.events.functions import Functions
from motif.engine.events.neighbours import with_neighbours
from motif.engine.events.promising import with_a_chance
from motif.engine.events.rows import EventRows
from motif.engine.events.run import find_matches, match_sorted
from motif.engine.execution import Execution
from motif.engine.order import arrange, crossing, layout
from motif.engine.partitions import groups
from motif.hosts.duckdb_events import input_sql
from motif.ir.event import EventQuery
from motif.ir.expr import Column
from motif.ir.types import Kind, Type
from motif.plan.events.outputs import EventOutputs, Whole
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.outputs import leaf_name
from motif.plan.physical.costs import PLAIN, Costs
from motif.plan.physical.plan import Strategy
from motif.testing.event_reference import Listed
from motif.testing.fuzz import memory_source
from motif.testing.tables import to_arrow

Bound = int | list[int] | None
NUMBER = "event_number"
PIECE = 3
"""Events that come together."""
FACTS = 3
"""The first leaves of every program: id, start and end."""


class Engine:
    """A planned query over some events, which are known by their number."""

    def __init__(
        self,
        query: EventQuery,
        events: Sequence[Mapping[str, object]],
        columns: Mapping[str, str],
        *,
        stream: Stream = Stream(),  # noqa: B008 - frozen
        functions: Mapping[str, Callable[..., Any]] | None = None,
        hidden_key: str | None = None,
    ) -> None:
        """`hidden_key`: a column that keeps streams apart, and of which the query knows nothing."""
        rows = [{**event, NUMBER: number} for number, event in enumerate(events)]
        source = memory_source(to_arrow(rows, {**columns, NUMBER: "BIGINT"}))
        self.query = query
        self.functions = Functions(functions or {})
        planned = plan_events(query, source, stream, self.functions.registered)
        self.has_key = bool(planned.keys)
        self.program = carrying(planned, NUMBER)
        if hidden_key is not None:
            self.program = with_hidden_key(self.program, hidden_key)
        table = source.database.table(input_sql(self.program, source)).combine_chunks()
        table = table.filter(pc.is_valid(table.column(self.program.time)))
        self.table = arrange(table, layout(self.program, source.types_of(crossing(self.program))))

    def left(self, *, compiled: bool = False) -> pa.Table:
        """Events of partitions that may have a match, of events that come in pieces, as from a host."""
        events = pa.Table.from_batches(self.table.to_batches(max_chunksize=PIECE), self.table.schema)
        return with_a_chance(self.program, events, groups(events, self.program.keys), compiled=compiled)[0]

    def near(self, *, compiled: bool = False) -> pa.Table:
        """Of these, the events that are not alone."""
        events = self.left(compiled=compiled)
        group = groups(events, self.program.keys)
        places = with_neighbours(self.program, events, group, compiled=compiled, few=math.inf)
        return events if places is None else events.take(arrow(places))

    def matches(
        self, costs: Costs = PLAIN, *, table: pa.Table | None = None, threads: int = 1
    ) -> list[dict[str, Bound]]:
        """Every match: the number of the event, or the list of them, of each variable.

        `threads`: that share the join, however short it is.
        """
        execution = self._execution(self.program, costs, threads)
        rows = EventRows(self.program, self.table if table is None else table, execution)
        found = find_matches(rows, self.functions)
        numbers = rows.rows.arrays[self.program.columns.index(Column(NUMBER))].to_pylist()
        repeated = {event.var for event in self.query.events() if event.repeat is not None}
        answer = []
        for match in range(len(found)):
            bound = {var: [numbers[at] for at in found.bound(match, var)] for var in self.program.variables}
            answer.append({var: _shown(events, var in repeated) for var, events in bound.items()})
        return answer

    def _execution(self, program: EventProgram, costs: Costs, threads: int) -> Execution:
        is_shared = threads > 1 and not self.query.consuming
        wanted = Strategy.SHARED if is_shared else Strategy.SEQUENTIAL
        return Execution.of(program, replace(costs, share_steps=1), wanted, cores=threads)

    def result(
        self,
        costs: Costs = PLAIN,
        *,
        table: pa.Table | None = None,
        threads: int = 1,
        program: EventProgram | None = None,
    ) -> list[Listed]:
        """Every match in the order of a result, with the numbers of its events.

        `program`: instead of the one that was planned, to which it may add keys or take them away.
        """
        asked, events = program or self.program, self.table if table is None else table
        place = asked.columns.index(Column(NUMBER))
        repeated = {event.var: event.repeat is not None for event in self.query.events()}
        shown = [Whole(var, is_list, ((NUMBER, place),)) for var, is_list in repeated.items()]
        leaves = (*asked.outputs.leaves[:FACTS], *shown)
        asked = replace(
            asked, outputs=EventOutputs(leaves, tuple((leaf_name(n), Column(leaf_name(n))) for n in range(FACTS)))
        )
        found = match_sorted(asked, events, self._execution(asked, costs, threads), self.functions)
        columns = [flat(events.column(key)).to_pylist() for key in asked.keys]
        numbers = flat(events.column(place)).to_pylist()
        keys = dict(zip(numbers, zip(*columns, strict=True) if columns else [()] * len(numbers), strict=True))
        ids, _, ends, *bound = (column.to_pylist() for column in found.columns)
        answer = []
        for number, end, *events_of in zip(ids, ends, *bound, strict=True):
            match = {var: _numbers(one) for var, one in zip(repeated, events_of, strict=True)}
            answer.append(Listed(end, keys[first_of(match)], number, match))
        return answer


def first_of(match: Mapping[str, Bound]) -> int:
    """One of the events of a match."""
    return next(bound[0] if isinstance(bound, list) else bound for bound in match.values() if bound is not None)


def _numbers(bound: Any) -> Bound:
    """The numbers of whole events."""
    if isinstance(bound, list):
        return [event[NUMBER] for event in bound] or None
    return None if bound is None else int(bound[NUMBER])


def _shown(events: list[int], is_list: bool) -> Bound:
    if not events:
        return None
    return events if is_list else events[0]


def with_hidden_key(program: EventProgram, column: str) -> EventProgram:
    """The program with a column that keeps streams apart, and by which matches of several have different ids."""
    program = carrying(program, column)
    hidden = program.columns.index(Column(column))
    return replace(program, keys=(hidden, *program.keys), identity=(hidden, *program.identity))


def without_hidden_key(program: EventProgram) -> EventProgram:
    """The program over the events of one stream."""
    return replace(program, keys=program.keys[1:])


def carrying(program: EventProgram, column: str) -> EventProgram:
    """The program with one column more, which nothing of it reads."""
    if Column(column) in program.columns:
        return program
    return replace(program, columns=(*program.columns, Column(column)), types=(*program.types, Type(Kind.INTEGER)))
