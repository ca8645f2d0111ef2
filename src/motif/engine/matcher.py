"""One run of the matching loop over sorted rows: masks, environment, and the loop itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.answers import Answers
from motif.engine.arrays import Array, Codebook, Lanes, flat, plain_type, same_before, to_lanes, truth
from motif.engine.asking import matches_by_asking
from motif.engine.execution import Execution
from motif.engine.matches import Matches
from motif.engine.runs import bounds_of
from motif.engine.threads import check_wanted
from motif.engine.times import FURTHEST, check_times
from motif.engine.vector import Vectors
from motif.errors import LimitExceeded, MotifError, QueryDataError
from motif.ir.query import MatchMode, SkipTo
from motif.kernels import search
from motif.kernels.build import native_fold, native_reach, native_search, reach_loop, search_loop
from motif.kernels.native import Native
from motif.plan import automaton as a
from motif.plan.outputs import Folded
from motif.plan.physical.plan import Running
from motif.plan.program import Program
from motif.plan.scalar import Const, Fold, LabelAt, Lane, Read, as_int, held, lane, scalars

MOST_LABELS = 4_000_000
STACK = 1_024
"""Entries for which the stacks of the search have room at first."""
MOST_STEPS = 100
"""Times as many steps as one search may take are all that those of a run may take together."""
_SKIPS = {
    SkipTo.PAST_LAST: search.SKIP_PAST_LAST,
    SkipTo.NEXT: search.SKIP_NEXT,
    SkipTo.FIRST: search.SKIP_FIRST,
    SkipTo.LAST: search.SKIP_LAST,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the search has come in each partition; a run brings `start` and `number` up to date."""

    start: Array
    number: Array
    """Matches found before."""
    dropped: Array
    """1 where rows of the partition are no longer there."""
    more: Array
    """1 where more rows may come."""
    open_from: Array
    """Rows that may come can change what starts at this row or later."""

    @classmethod
    def of(cls, bounds: Array, *, more: bool) -> Standing:
        """At the beginning of every partition."""
        count = len(bounds) - 1
        nothing, flags = np.zeros(count, np.int64), np.zeros(count, np.uint8)
        return cls(bounds[:-1].copy(), nothing, flags, np.full(count, more, np.uint8), bounds[:-1].copy())


class Rows:
    """The sorted rows of one run with their partitions; columns are converted when first asked for."""

    def __init__(self, program: Program, table: pa.Table, execution: Execution, bounds: Array | None = None) -> None:
        """`bounds`: where its partitions begin, if that is known."""
        self.program = program
        self.execution = execution
        self.arrays = [flat(column) for column in table.columns]
        self.count = table.num_rows
        self._lanes: dict[int, Lanes] = {}
        if bounds is not None:
            self.bounds = bounds

    @cached_property
    def bounds(self) -> Array:
        """Offsets of the partitions, and the number of rows."""
        return bounds_of([self.arrays[key] for key in self.program.keys], self.count)

    def lanes(self, column: int) -> Lanes:
        """A column for the kernels."""
        if column not in self._lanes:
            array, kind = self.arrays[column], self.program.types[column]
            coded = lane(kind) is Lane.CODE
            self._lanes[column] = self.books[plain_type(array.type)].lanes(array) if coded else to_lanes(array, kind)
        return self._lanes[column]

    def code(self, value: object) -> int:
        """A constant among the codes of its type."""
        return next(book.constants[value] for book in self.books.values() if value in book.constants)

    @cached_property
    def books(self) -> dict[pa.DataType, Codebook]:
        """Codes of everything that conditions compare by code, one book per type."""
        program = self.program
        nodes = [n for parts in (*program.neighbours, *program.dependent) for part in parts for n in held(part)]
        columns = {n.column for n in nodes if isinstance(n, Read | Fold) and n.column is not None}
        coded = [self.arrays[c] for c in sorted(columns) if lane(program.types[c]) is Lane.CODE]
        constants: list[object] = list(program.variables)
        for node in nodes:
            constant = node.absent if isinstance(node, Read) else node
            if isinstance(constant, Const) and lane(constant.type) is Lane.CODE and constant.value is not None:
                constants.append(constant.value)
        kinds = {pa.large_string(): str, pa.large_binary(): bytes}
        return {
            kind: Codebook.over(
                kind,
                [array for array in coded if plain_type(array.type) == kind],
                [value for value in constants if isinstance(value, kinds.get(kind, Decimal | int))],
            )
            for kind in (pa.large_string(), *(plain_type(array.type) for array in coded))
        }


def loops_of(program: Program) -> list[Native]:
    """All compiled loops that it takes."""
    folds = [leaf for leaf in program.outputs.leaves if isinstance(leaf, Folded)]
    columns = [leaf.column for leaf in folds if not leaf.counts_rows and not leaf.takes_all_values]
    floats = {column is not None and lane(program.types[column]) is Lane.FLOAT for column in columns}
    reaches = [native_reach()] if program.within is not None else []
    return [native_search(program.markers), *reaches, *(native_fold(floats=kind) for kind in floats)]


def members(program: Program, name: str | None) -> Array:
    """Per state: takes a row for this variable, or for one of this union of variables."""
    machine = program.automaton
    wanted = {program.variables.index(member) for member in program.query.members(name)}
    return np.array([op == a.SYMBOL and var in wanted for op, var in zip(machine.op, machine.var, strict=True)])


class Run:
    """The matching loop over `rows`; iterate over `matches` until it ends, then read `standing`."""

    def __init__(
        self,
        rows: Rows,
        standing: Standing,
        running: Running,
        answers: Answers | None = None,
    ) -> None:
        """`running`: how the loop runs; `answers`: what the host has said about these rows in runs before."""
        self.execution = rows.execution
        self.may_compile = running is Running.PLAIN_FIRST
        self.steps = 0
        """Of all searches together, as far as they are known."""
        self.rows = rows
        self.program = rows.program
        self.standing = standing
        self.compiled = running is Running.COMPILED and not rows.program.asks
        self.answers = Answers(rows) if answers is None and rows.program.asks else answers

    def matches(self) -> Iterator[Matches]:
        """Matches in chunks of bounded size."""
        if self.rows.count == 0:
            return
        try:
            yield from self._asking() if self.program.asks else self._matches()
        except OverflowError:
            raise QueryDataError(
                "integer overflow in a condition across rows",
                hint="CAST the columns to DOUBLE, or to a narrower DECIMAL",
            ) from None

    def _asking(self) -> list[Matches]:
        """What is found once the host has answered everything."""
        assert self.answers is not None, "the host is asked"

        def search(standing: Standing) -> list[Matches]:
            return list(Run(self.rows, standing, Running.PLAIN, self.answers)._matches())

        return matches_by_asking(search, self.standing, self.answers, self.rows.count)

    def _matches(self) -> Iterator[Matches]:
        loop = search_loop(self.program.markers, compiled=self.compiled)
        start, number = self._ints(self.standing.start), self._ints(self.standing.number)
        fixed = self._fixed_arguments(start, number)
        state = self._ints([0, -1, 0, 0, 0, 0])
        room = min(self.rows.count + 16, MOST_LABELS)
        depth = STACK
        status = search.FULL
        while status in (search.FULL, search.DEEP, search.PAUSED):
            spaces = [self._room(min(room, self.rows.count + 1)) for _ in range(4)]
            labels = self._room(room, np.int32)
            stacks = [self._zeros(depth * width) for width in (1, 1, self.program.environment.signature, 1)]
            status = loop(*fixed[:-2], state, fixed[-2], *stacks, *spaces, labels, fixed[-1])
            check_wanted()
            found, written = int(state[search.FOUND]), int(state[search.WRITTEN])
            if status == search.TOO_MANY_STEPS and self._step_limit() < self.program.limits.match_steps:
                status = search.PAUSED  # compiled, the search may be longer
                state[search.STEPS] = self._step_limit()
            self.execution.ledger.tried(int(state[search.STEPS]))
            if search.UNDECIDED < status < search.PAUSED:
                raise self._failure(status)
            if found:
                yield _chunk(spaces, labels, found, written)
            if status == search.PAUSED:
                self.steps += int(state[search.STEPS])
                if self._is_to_be_compiled():
                    self.standing.start[:], self.standing.number[:] = start, number
                    start, number, state = map(self._ints, (self.standing.start, self.standing.number, state))
                    loop = search_loop(self.program.markers, compiled=True)
                    fixed = self._fixed_arguments(start, number)
                else:
                    fixed[-3][search.PAUSE] = self._pause  # its settings
            elif status == search.DEEP:
                depth *= 4
            elif not found:
                room *= 2
        if not self.compiled:  # arrays were written in place
            self.standing.start[:], self.standing.number[:] = start, number

    def _is_to_be_compiled(self) -> bool:
        """Whether the loop has been plain Python for long enough."""
        if self.steps > MOST_STEPS * self.program.limits.match_steps:
            raise self._too_many(f"the searches took more than {MOST_STEPS} times the steps that one may take")
        if not self.may_compile or not self.execution.is_due(self.steps, partial(loops_of, self.program)):
            return False
        self.compiled, self.may_compile = True, False
        return True

    def _step_limit(self) -> int:
        """Steps of one search after which it is given up, or compiled where that is due then."""
        most = self.program.limits.match_steps
        return min(most, self.execution.costs.plain_steps) if self.may_compile else most

    @property
    def _pause(self) -> int:
        """Steps after which the loop comes back: to be compiled, or for Ctrl-C to be heard."""
        costs = self.execution.costs
        if self.compiled:
            return costs.search_pause
        is_first = self.may_compile and not self.steps
        return min(costs.kept_plain_steps, costs.plain_search_pause) if is_first else costs.plain_search_pause

    # -- arguments of the loop, as lists or as arrays

    def _ints(self, values: Any) -> Any:
        return np.asarray(values, np.int64) if self.compiled else [int(v) for v in values]

    def _zeros(self, size: int, dtype: Any = np.int64) -> Any:
        return np.zeros(size, dtype) if self.compiled else [0] * size

    def _room(self, size: int, dtype: Any = np.int64) -> Any:
        """To be written before it is read."""
        return np.empty(size, dtype) if self.compiled else [0] * size

    def _totals(self, size: int, dtype: Any = np.int64) -> Any:
        """The same but for the first: nothing has been added up."""
        totals = self._room(size, dtype)
        totals[0] = 0
        return totals

    def _column(self, values: Array) -> Any:
        return np.ascontiguousarray(values) if self.compiled else values.tolist()

    def _bytes(self, values: Array) -> Any:
        flags = np.ascontiguousarray(values, np.uint8)
        return flags.reshape(-1) if self.compiled else flags.tobytes()

    def _fixed_arguments(self, start: Any, number: Any) -> list[Any]:
        program, machine, rows, standing = self.program, self.program.automaton, self.rows, self.standing
        masks = self._masks()
        slots, used = self._slots()
        settings = [
            rows.count,
            used,
            program.lookahead,
            program.within is not None,
            _SKIPS[program.query.skip.to],
            program.query.match_mode is MatchMode.INCREMENTAL,
            self._step_limit(),
            self.execution.costs.long_search_steps,
            self._pause,
        ]
        size = used * (rows.count + len(rows.bounds) + 1) + 1
        return [
            self._ints(rows.bounds),
            start,
            number,
            *(self._bytes(part) for part in (standing.dropped, standing.more)),
            self._ints(standing.open_from),
            *(self._ints(part) for part in (machine.op, machine.var, machine.preferred, machine.other, slots)),
            self._bytes(np.array(program.memory.fleeting)),
            self._bytes(members(program, program.query.skip.var)),
            self._bytes(masks),
            self._bytes(self._startable(masks)),
            self.limits(),
            self._ints(settings),
            np.zeros(size, np.uint8) if self.compiled else bytearray(size),
            self._environment(used),
        ]

    def _slots(self) -> tuple[tuple[int, ...], int]:
        """Remembered SPLITs; none where that would take too much memory (the step limit guards instead)."""
        slots = self.program.memory.slots
        used = max(slots, default=-1) + 1
        width = 1 + 8 * self.program.environment.signature
        if used * width * (self.rows.count + len(self.rows.bounds)) > self.program.limits.memo_bytes:
            return (-1,) * len(slots), 0
        return slots, used

    def _masks(self) -> Array:
        """Per variable and row: the parts of its condition that do not depend on the match."""
        program, rows = self.program, self.rows
        vectors = Vectors(rows.bounds, rows.lanes, rows.code)
        masks = np.ones((len(program.variables), rows.count), np.uint8)
        for number, (column, parts) in enumerate(zip(program.row_columns, program.neighbours, strict=True)):
            if column is not None:
                masks[number] = truth(rows.arrays[column])
            for part in parts:
                masks[number] &= vectors.true(part)
        return masks

    def _startable(self, masks: Array) -> Array:
        """1 where a match may start: the row and the next one allow the first two variables of some way through."""
        machine, rows = self.program.automaton, self.rows
        first, ends = _next_symbols(machine, 0)
        if ends:
            return np.ones(rows.count, np.uint8)
        startable = np.zeros(rows.count, np.uint8)
        for state in first:
            second, ends = _next_symbols(machine, machine.preferred[state])
            here = masks[machine.var[state]]
            startable |= here if ends else here & self._on_next_row(masks, {machine.var[s] for s in second})
        return startable

    def _on_next_row(self, masks: Array, variables: set[int]) -> Array:
        """1 where the next row of the partition allows one of the variables, or is not known yet."""
        bounds = self.rows.bounds
        allowed = np.zeros(self.rows.count, np.uint8)
        for variable in variables:
            allowed[:-1] |= masks[variable][1:]
        allowed[bounds[1:] - 1] = 0
        for step in range(self.program.lookahead + 1):
            last = bounds[1:] - 1 - step
            allowed[last[(self.standing.more == 1) & (last >= bounds[:-1])]] = 1
        return allowed

    def limits(self) -> Any:
        """First row out of reach of WITHIN, per start row; rows are sorted by that column."""
        within = self.program.within
        if within is None:
            return self._ints([])
        lanes = self.rows.lanes(within.column)
        check_times(lanes, self.program.types[within.column], 2 * FURTHEST)
        limits = self._room(self.rows.count)
        arguments = (self._ints(self.rows.bounds), self._column(lanes.values), self._bytes(lanes.nulls))
        reach_loop(compiled=self.compiled)(*arguments, within.bound, limits)
        return limits

    def _environment(self, used: int) -> tuple[Any, ...]:
        program, environment = self.program, self.program.environment
        if not program.markers:
            return ()
        longest = int(np.diff(self.rows.bounds).max(initial=0)) + 1
        arrays: list[Any] = [
            self._ints([self._int_constant(node) for node in environment.ints] or [0]),
            np.array(environment.floats or [0.0]) if self.compiled else list(environment.floats),
            self._ints(self._label_codes()),
        ]
        arrays += [self._room(longest) for _ in environment.sets]
        for fold in environment.folds:
            is_float = lane(fold.type) is Lane.FLOAT
            arrays.append(self._totals(longest + 1, np.float64 if is_float else np.int64))
            arrays.append(self._totals(longest + 1))
        for column in environment.columns:
            lanes = self.rows.lanes(column)
            arrays += [self._column(lanes.values), self._bytes(lanes.nulls)]
        arrays += [self._ints(same_before(self.rows.lanes(column))) for column in environment.links]
        arrays += [self.answers.functions()] if self.answers is not None else []
        return (*arrays, *self._signatures(used))

    def _signatures(self, used: int) -> tuple[Any, ...]:
        """Flags of signed states, and room for the signatures of dead ends."""
        width = self.program.environment.signature
        if not width:
            return ()
        cells = used * (self.rows.count + len(self.rows.bounds) + 1) + 1
        dead: Any = np.empty(cells * width, np.int64) if self.compiled else {}
        return self._bytes(np.array(self.program.memory.signed)), dead

    def _int_constant(self, node: Const) -> int:
        return self.rows.code(node.value) if lane(node.type) is Lane.CODE else as_int(node.value, node.type)

    def _label_codes(self) -> list[int]:
        program = self.program
        if not any(isinstance(n, LabelAt) for parts in program.dependent for p in parts for n in scalars(p)):
            return [0]
        return [self.rows.code(program.variables[var]) for var in program.automaton.var]

    def _too_many(self, what: str) -> MotifError:
        query = self.program.query
        return LimitExceeded(
            f"{what} (limit match_steps)",
            source=query.source,
            span=query.pattern.span,
            hint="the pattern can be matched in very many ways that its conditions tell apart; "
            "use fewer nested repetitions, add WITHIN, or compare with PREV instead of other variables",
        )

    def _failure(self, status: int) -> MotifError:
        query = self.program.query
        if status == search.TOO_MANY_STEPS:
            return self._too_many(f"the search from one row took more than {self.program.limits.match_steps} steps")
        problem = (
            "would start the next search at the same row and never end"
            if status == search.SKIP_LOOPS
            else "found no row of that variable in the match"
        )
        return QueryDataError(
            f"AFTER MATCH SKIP {query.skip.to} {query.skip.var} {problem}",
            source=query.source,
            span=query.skip.span,
            hint="skip to a variable that every match has after its first row, or use TO NEXT ROW",
        )


def _next_symbols(machine: a.Automaton, state: int) -> tuple[set[int], bool]:
    """SYMBOL states reached from `state` without taking a row, and whether the match may end there."""
    symbols, ends, seen, pending = set(), False, set(), [state]
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        if machine.op[state] == a.SYMBOL:
            symbols.add(state)
        ends = ends or machine.op[state] == a.MATCH
        if machine.op[state] != a.SYMBOL:
            pending.extend(machine.successors(state))
    return symbols, ends


def _chunk(spaces: list[Any], labels: Any, found: int, written: int) -> Matches:
    start, end, number, segment = (np.asarray(space[:found], np.int64) for space in spaces)
    offsets = np.concatenate(([0], np.cumsum(end - start)))
    return Matches(start, end, number, segment, np.asarray(labels[:written], np.int32), offsets)
