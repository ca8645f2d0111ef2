"""Query + source -> Program, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from motif import limits
from motif.errors import QueryBindError, UnsupportedQuery
from motif.ir.expr import COMPARISONS, At, Call, Column, Expr, Interval, Literal, Verbatim, walk
from motif.ir.query import MatchMode, RowQuery, Rows
from motif.ir.types import Kind, Schema, Type
from motif.plan import automaton as a
from motif.plan.bind import bind
from motif.plan.calls import judge_rows
from motif.plan.conditions import Condition, HostColumns, split_conditions, with_absent
from motif.plan.elapsed import elapsed_outputs, with_elapsed
from motif.plan.host_functions import window
from motif.plan.markers import generate
from motif.plan.nested import check_queries
from motif.plan.outputs import Found, Gather, Outputs, check_folds, plan_outputs
from motif.plan.program import Memory, Program, SortKey, Span
from motif.plan.row_exprs import as_on_one_row
from motif.plan.scalar import (
    DAY,
    Ask,
    Base,
    Fold,
    LabelAt,
    Lane,
    Read,
    Scalar,
    Trying,
    held,
    lane,
    scalars,
    scale,
)
from motif.plan.source import Asked, HostRefusal, Source, extent, host_types
from motif.plan.typer import Typer, not_a_condition

_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


def plan(query: RowQuery, source: Source) -> Program:
    """Check the query against its input and compile it."""
    check_queries(query, source)
    query = judge_rows(bind(query, source.schema), source)
    asked: frozenset[Expr] = frozenset()
    while True:
        try:
            return _planned(query, source, asked)
        except _OnlyHost as found:
            asked |= {found.condition}


class _OnlyHost(Exception):
    """Types show that Motif can not decide a condition, but the host can."""

    def __init__(self, condition: Expr) -> None:
        super().__init__()
        self.condition = condition


def _planned(query: RowQuery, source: Source, asked: frozenset[Expr]) -> Program:
    machine = a.compile_pattern(query)
    columns = HostColumns()
    keys = tuple(columns.index(key.expr) for key in query.partition)
    ties = _ties(query, source.schema)
    conditions = split_conditions(query, columns, ties, source, asked)
    row_columns = tuple(None if c.row is None else columns.index(c.row) for c in conditions)
    outputs = plan_outputs(query, source, columns)
    time = columns.index(query.order[0].expr) if query.within and query.order else None
    if not columns.exprs:
        columns.index(Literal(1))  # rows that nothing is read of must still arrive
    types = host_types(query.source, columns.exprs, source)
    host_types(query.source, [item.expr for item in query.order], source)  # an order that the host refuses is told
    _check_row_conditions(query, conditions, row_columns, types)
    if source.dialect == "duckdb":  # Spark may take such a text for NULL
        _check_constants(query, conditions, source.schema)
    check_folds((measure.expr for measure in query.measures), columns, types, query.source)
    asks = _asks(query, conditions, columns, source)
    typer = Typer(types, source.dialect, query.source)
    typed = _Typed(query, typer, columns, source)
    neighbours = tuple(typed.conditions(c, c.neighbours) for c in conditions)
    dependent = tuple(typed.conditions(c, c.match) for c in conditions)
    variables = query.variables()
    markers, environment = generate(dependent, variables)
    memory = _memory(query, machine, dependent, variables, has_signature=environment.signature > 0)
    back, ahead = _reach((*neighbours, *dependent), outputs)
    return Program(
        query=query,
        dialect=source.dialect,
        columns=tuple(with_elapsed(columns.exprs, source.schema, source.dialect)),
        types=types,
        keys=keys,
        order=_order(query, ties, windowed=columns.windowed),
        ties=ties,
        windowed=columns.windowed,
        variables=variables,
        automaton=machine,
        conditions=conditions,
        row_columns=row_columns,
        neighbours=neighbours,
        dependent=dependent,
        markers=markers,
        environment=environment,
        memory=memory,
        lookback=back,
        lookahead=ahead,
        within=_within(query, time, types),
        outputs=elapsed_outputs(outputs, types, source.dialect),
        limits=limits.LIMITS,
        asks=asks,
    )


def _check_row_conditions(
    query: RowQuery, conditions: Sequence[Condition], columns: Sequence[int | None], types: Sequence[Type]
) -> None:
    for condition, column in zip(conditions, columns, strict=True):
        if column is not None and types[column].kind not in (Kind.BOOLEAN, Kind.NULL):
            raise _not_a_condition(query, condition.var, types[column], condition.row)


def _not_a_condition(query: RowQuery, var: str, kind: Type, expr: Expr | None) -> QueryBindError:
    define = next(define for define in query.defines if define.var == var)
    span = extent(expr) if expr is not None else None
    said = f"DEFINE {var} must be a condition, but is"
    return not_a_condition(said, kind, query.source, span or extent(define.condition))


def _check_constants(query: RowQuery, conditions: Sequence[Condition], schema: Schema) -> None:
    """A number compared with a text that is none: DuckDB says so, too, but only once it reads a row, and not where."""
    comparisons = [
        node
        for condition in conditions
        for conjunct in condition.texts.get("row", ())
        for node in walk(conjunct)
        if isinstance(node, Call) and node.name in COMPARISONS
    ]
    for node in comparisons:
        match [arg.arg if isinstance(arg, At) else arg for arg in node.args]:
            case [Column(name=name), Literal(value=str(text)) as literal] | [
                Literal(value=str(text)) as literal,
                Column(name=name),
            ] if schema[name].kind in _NUMBERS and _is_no_number(text):
                raise QueryBindError(
                    f"{name} is a number ({schema[name]}), '{text[:40]}' is not",
                    source=query.source,
                    span=literal.span or extent(node),
                    hint="compare it with a number, or CAST the column to VARCHAR",
                )


def _is_no_number(text: str) -> bool:
    """Nothing that a host takes for a number has no digit in it, but for what is beyond all numbers."""
    return not any(map(str.isdigit, text)) and text.strip(" +-").casefold() not in ("inf", "infinity", "nan")


class _Typed:
    """Typed conditions, with the host's word on what a function makes of a missing row."""

    def __init__(self, query: RowQuery, typer: Typer, columns: HostColumns, source: Source) -> None:
        self.query = query
        self.typer = typer
        self.columns = columns
        self.source = source

    def conditions(self, condition: Condition, parts: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return tuple(self.part(condition, part) for part in parts)

    def part(self, condition: Condition, part: Scalar) -> Scalar:
        try:
            return self.condition(condition.var, part)
        except UnsupportedQuery as error:
            origin = condition.origins.get(part)
            if origin is None or isinstance(part, Ask) or self.source.answers is None:
                raise
            try:
                self.source.types_of([as_on_one_row(origin)])
            except HostRefusal:
                raise error from None
            raise _OnlyHost(origin) from None

    def condition(self, var: str, part: Scalar) -> Scalar:
        node = self.typer.typed(with_absent(part, self.columns, self.source))
        if node.type.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise _not_a_condition(self.query, var, node.type, None)
        for inner in held(node):
            if isinstance(inner, Read) and inner.type.kind is Kind.OTHER:
                raise UnsupportedQuery(
                    f"not supported in DEFINE: values of this type of different rows ({inner.type})",
                    source=self.query.source,
                    span=extent(self.columns.exprs[inner.column]),
                    hint="compare a number, string, boolean or time made from it",
                )
        return node


def _asks(query: RowQuery, conditions: Sequence[Condition], columns: HostColumns, source: Source) -> tuple[Asked, ...]:
    """What the host is asked while matches are searched."""
    if not columns.asks:
        return ()
    assert source.answers is not None, "without it nothing is asked"
    for condition in conditions:
        for scalar, origin in condition.origins.items():
            if isinstance(scalar, Ask):
                [kind] = host_types(query.source, [as_on_one_row(origin)], source)
                if kind.kind not in (Kind.BOOLEAN, Kind.NULL):
                    raise _not_a_condition(query, condition.var, kind, origin)
    return tuple(Asked(expr, source.answers) for expr in columns.asks)


def _order(query: RowQuery, ties: tuple[Expr, ...], *, windowed: bool) -> tuple[SortKey, ...]:
    if windowed:
        return (SortKey(window(query, ties).row_number()),)
    return tuple(SortKey(item.expr, item.descending, item.nulls_first) for item in query.order)


def _ties(query: RowQuery, schema: Schema) -> tuple[Expr, ...]:
    """Columns the conditions read, then those only the outputs read, each in the schema's order.

    Values without an order of their own (lists, maps) are ordered by their text.
    """
    conditions = [define.condition for define in query.defines]
    conditions += [key.expr for key in query.partition] + [item.expr for item in query.order]
    decided = _read_by(conditions)
    # Rows that tie are alike in these already.
    alike = {
        e.name for e in (*(k.expr for k in query.partition), *(o.expr for o in query.order)) if isinstance(e, Column)
    }
    shown = _read_by([measure.expr for measure in query.measures]) if query.rows is Rows.ONE else set(schema)
    ranked = (*(n for n in schema if n in decided), *(n for n in schema if n in shown and n not in decided))
    return tuple(
        Verbatim(("CAST(", " AS STRING)"), (Column(name),)) if schema[name].kind is Kind.OTHER else Column(name)
        for name in ranked
        if name not in alike
    )


def _read_by(exprs: Iterable[Expr]) -> set[str]:
    return {node.name for expr in exprs for node in walk(expr) if isinstance(node, Column)}


def _within(query: RowQuery, time: int | None, types: Sequence[Type]) -> Span | None:
    if query.within is None:
        return None
    bound, span = query.within.bound, query.within.span
    if time is None:
        hint = "add ORDER BY a time column"
        raise QueryBindError("WITHIN needs an ORDER BY", source=query.source, span=span, hint=hint)
    kind = types[time]
    if isinstance(bound, Interval):
        if kind.kind is Kind.DATE:
            return Span(time, bound.microseconds // DAY)
        if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.TIME, Kind.INTERVAL):
            return Span(time, bound.microseconds * 10 ** scale(kind))
        hint = "write a plain number for a numeric ORDER BY column"
        if kind.kind is Kind.STRING:
            hint = (
                "make the text a time first: CAST( AS TIMESTAMP) if it is like 2026-03-01 09:00:00, else by its format"
            )
    elif lane(kind) is Lane.INT and kind.kind in (Kind.INTEGER, Kind.DECIMAL):
        return Span(time, int(bound * 10 ** scale(kind) // 1))
    elif kind.kind is Kind.FLOAT:
        return Span(time, float(bound))
    else:
        hint = "write an interval for a time column, e.g. INTERVAL '10' MINUTE"
    problem = f"WITHIN does not fit the first ORDER BY column ({kind})"
    raise QueryBindError(problem, source=query.source, span=span, hint=hint)


def _reach(conditions: Iterable[tuple[Scalar, ...]], outputs: Outputs) -> tuple[int, int]:
    """How many rows before and after a match its conditions and measures may read."""
    shifts = [0]
    for parts in conditions:
        for part in parts:
            shifts += [n.place.shift for n in scalars(part) if isinstance(n, Read | LabelAt)]
    measured = [leaf.shift for leaf in outputs.leaves if isinstance(leaf, Gather | Found)]
    return -min(*shifts, *measured, 0), max(*shifts, *measured, 0)


def _memory(
    query: RowQuery,
    machine: a.Automaton,
    dependent: Sequence[tuple[Scalar, ...]],
    variables: tuple[str, ...],
    *,
    has_signature: bool,
) -> Memory:
    """Which SPLITs may remember dead ends, and for how long.

    A dead end stays dead for the partition, unless a condition reachable from it depends on where the match started:
    then for one search. If one reads rows of variables, it is dead only for paths on which that would read the same.
    """
    depends_on_start = _reaching(machine, [_reads_start(parts, variables) for parts in dependent])
    signed = _reaching(machine, [_reads_variables(parts, variables) for parts in dependent])
    brief = query.within is not None or query.match_mode is MatchMode.INCREMENTAL
    slots, used = [], 0
    for state in range(len(machine)):
        remembered = machine.op[state] == a.SPLIT and (not signed[state] or has_signature)
        slots.append(used if remembered else -1)
        used += remembered
    return Memory(
        slots=tuple(slots),
        fleeting=tuple(brief or depends for depends in depends_on_start),
        signed=tuple(signed),
    )


def _reads_variables(parts: tuple[Scalar, ...], variables: tuple[str, ...]) -> bool:
    """Depends on which rows were taken for which variable."""
    return any(
        isinstance(node, LabelAt)
        or (isinstance(node, Read) and node.place.base is Base.SET)
        or (isinstance(node, Fold) and node.members != variables)
        for part in parts
        for node in scalars(part)
    )


def _reads_start(parts: tuple[Scalar, ...], variables: tuple[str, ...]) -> bool:
    """Depends on the first row of the match, or on its number."""
    return any(
        isinstance(node, Trying)
        or (isinstance(node, Read | LabelAt) and node.place.base is Base.MATCH)
        or (isinstance(node, Fold) and node.members == variables)
        for part in parts
        for node in scalars(part)
    )


def _reaching(machine: a.Automaton, tested: Sequence[bool]) -> list[bool]:
    """Per state: the condition of some variable for which `tested` holds may still be tested."""
    found = [machine.op[state] == a.SYMBOL and tested[machine.var[state]] for state in range(len(machine))]
    before: list[list[int]] = [[] for _ in found]
    for state in range(len(machine)):
        for successor in machine.successors(state):
            before[successor].append(state)
    pending = [state for state, reaches in enumerate(found) if reaches]
    while pending:
        for state in before[pending.pop()]:
            if not found[state]:
                found[state] = True
                pending.append(state)
    return found
