"""Row patterns in Python: `rows(a := row("A"), b := row("B", col.x < col.x.prev()).plus()).order_by("ts")`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeAlias, assert_never

from motif.errors import MotifError
from motif.ir import pattern as ir
from motif.ir.expr import At, Column, Expr, Interval, transform
from motif.ir.query import Define, Key, MatchMode, Measure, Order, RowQuery, Rows, Skip, SkipTo, Subset, Within
from motif.ir.render import Dialect, render_query
from motif.lang.builder.arguments import is_a, is_text
from motif.lang.builder.event_parts import microseconds
from motif.lang.builder.keys import lettered
from motif.lang.builder.row_parts import RowPart, RowVar, gathered, joined
from motif.lang.builder.value import Ordering, Value, name_of, node_of, rename, value
from motif.lang.statement import parse_clause

_Expressions: TypeAlias = "str | Value"


def rows(*parts: RowPart) -> RowPattern:
    """A row pattern: the parts one after the other, on adjacent rows. It may be a part of another one."""
    return RowPattern(joined(parts), gathered(parts), _Clauses())


@dataclass(frozen=True, slots=True)
class _Clauses:
    """Everything but the pattern and its conditions; variables may still be keys."""

    measures: tuple[Measure, ...] = ()
    partition: tuple[Key, ...] = ()
    order: tuple[Order, ...] = ()
    subsets: tuple[Subset, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = field(default_factory=Skip)
    within: Within | None = None
    match_mode: MatchMode = MatchMode.MAXIMAL


class RowPattern(RowPart):
    """A pattern of rows and the clauses of its query; every method returns a new one.

    `query` is the clause as data, `str()` its text. Both refuse what MATCH_RECOGNIZE refuses.
    """

    __slots__ = ("_clauses",)
    _clauses: _Clauses

    def __init__(self, pattern: ir.Pattern, conditions: dict[str, Expr], clauses: _Clauses) -> None:
        super().__init__(pattern, conditions)
        object.__setattr__(self, "_clauses", clauses)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{' '.join(self.text().split())}>"

    def text(self, dialect: Dialect = "duckdb") -> str:
        """The clause `MATCH_RECOGNIZE ( ... )`."""
        return render_query(self._named(), dialect)

    @property
    def query(self) -> RowQuery:
        """The clause as data, checked; messages show its text."""
        return parse_clause(self.text())

    # -- clauses --------------------------------------------------------------------------------

    def define(self, conditions: Mapping[RowVar, Value] | None = None, /, **by_name: Value) -> RowPattern:
        """DEFINE: `define({b: b.price < b.price.prev()})`, or by name `define(B=col.price > 10)`."""
        given = {var._key: condition for var, condition in (conditions or {}).items()} | by_name
        for condition in given.values():
            if not is_a(condition, Value):
                raise MotifError(f"{condition!r} is not a condition", hint="write define(B=col.price > 10)")
        found = {key: node_of(condition) for key, condition in given.items()}
        return RowPattern(self._pattern, self._conditions | found, self._clauses)

    def measures(self, *columns: Value, **measures: object) -> RowPattern:
        """MEASURES: columns under their own names, anything else as name=value."""
        found = [Measure(node_of(column), _column_name(column)) for column in columns]
        found += [Measure(node_of(value(measure)), name) for name, measure in measures.items()]
        return self._with(measures=(*self._clauses.measures, *found))

    def partition_by(self, *keys: _Expressions, **named: Value) -> RowPattern:
        """PARTITION BY columns; an expression needs a name."""
        found = [Key(_row_expression(key), _column_name(key)) for key in keys]
        found += [Key(_row_expression(key), name) for name, key in named.items()]
        return self._with(partition=(*self._clauses.partition, *found))

    def order_by(self, *keys: str | Value | Ordering) -> RowPattern:
        """ORDER BY: names of columns, values, or `col.x.desc()`."""
        return self._with(order=(*self._clauses.order, *(_order(key) for key in keys)))

    def subsets(self, *subsets: RowVar) -> RowPattern:
        """SUBSET: see `subset`."""
        for each in subsets:
            if not is_a(each, RowVar) or not each._members:
                raise MotifError(f"{each!r} is not a subset", hint='write u = subset("U", a, b)')
        return self._with(subsets=tuple(Subset(each._key, each._members) for each in subsets))

    def within(self, length: str | float | timedelta) -> RowPattern:
        """WITHIN: longest span on the first ORDER BY column; a number where that column is a number."""
        if isinstance(length, int | float) and not isinstance(length, bool):
            return self._with(within=Within(length))
        return self._with(within=Within(Interval(microseconds(length, "within"))))

    def one_row(self) -> RowPattern:
        """ONE ROW PER MATCH, as without saying so."""
        return self._with(rows=Rows.ONE)

    def all_rows(self, *, empty: bool = True, unmatched: bool = False) -> RowPattern:
        """ALL ROWS PER MATCH; without empty matches, or with rows that matched nothing."""
        if unmatched and not empty:
            raise MotifError("unmatched rows go with empty matches", hint="leave empty=False out")
        shown = Rows.ALL_SHOW_EMPTY if empty else Rows.ALL_OMIT_EMPTY
        return self._with(rows=Rows.ALL_WITH_UNMATCHED if unmatched else shown)

    def skip_past_last(self) -> RowPattern:
        """AFTER MATCH SKIP PAST LAST ROW, as without saying so."""
        return self._with(skip=Skip())

    def skip_to_next(self) -> RowPattern:
        """AFTER MATCH SKIP TO NEXT ROW."""
        return self._with(skip=Skip(SkipTo.NEXT))

    def skip_to_first(self, var: RowVar) -> RowPattern:
        """AFTER MATCH SKIP TO FIRST var."""
        return self._with(skip=Skip(SkipTo.FIRST, var._key))

    def skip_to_last(self, var: RowVar) -> RowPattern:
        """AFTER MATCH SKIP TO LAST var."""
        return self._with(skip=Skip(SkipTo.LAST, var._key))

    def incremental(self) -> RowPattern:
        """INCREMENTAL MATCH: also each earlier row at which the match was complete."""
        return self._with(match_mode=MatchMode.INCREMENTAL)

    def _with(self, **changes: Any) -> RowPattern:
        return RowPattern(self._pattern, self._conditions, replace(self._clauses, **changes))

    def _check_part(self) -> None:
        if self._clauses != _Clauses():
            hint = "inside of another pattern only define() can be used; move the others to the outer one"
            raise MotifError("a part of a row pattern has clauses of a whole query", hint=hint)

    # -- names ----------------------------------------------------------------------------------

    def _named(self) -> RowQuery:
        """The clause with names instead of keys."""
        clauses = self._clauses
        names = lettered((*ir.variables(self._pattern), *(subset.name for subset in clauses.subsets)))
        return RowQuery(
            pattern=_renamed(self._pattern, names),
            defines=tuple(Define(*each) for each in _defines(self._conditions, names)),
            measures=tuple(Measure(rename(each.expr, names), each.name) for each in clauses.measures),
            partition=clauses.partition,
            order=clauses.order,
            subsets=tuple(
                Subset(each.name, tuple(name_of(member, names) for member in each.members)) for each in clauses.subsets
            ),
            rows=clauses.rows,
            skip=_renamed_skip(clauses.skip, names),
            within=clauses.within,
            match_mode=clauses.match_mode,
        )


def _renamed_skip(skip: Skip, names: Mapping[str, str]) -> Skip:
    return skip if skip.var is None else Skip(skip.to, name_of(skip.var, names))


def _defines(conditions: Mapping[str, Expr], names: Mapping[str, str]) -> Iterable[tuple[str, Expr]]:
    return ((name_of(key, names), rename(condition, names)) for key, condition in conditions.items())


def _renamed(pattern: ir.Pattern, names: Mapping[str, str]) -> ir.Pattern:
    match pattern:
        case ir.Var(name=key):
            return ir.Var(name_of(key, names))
        case ir.Seq() | ir.Choice() | ir.Permute():
            return replace(pattern, items=tuple(_renamed(item, names) for item in pattern.items))
        case ir.Repeat() | ir.Exclude():
            return replace(pattern, body=_renamed(pattern.body, names))
        case ir.Anchor() | ir.Empty():
            return pattern
        case _:
            assert_never(pattern)


# -- items --------------------------------------------------------------------------------------------


def _column_name(given: object) -> str:
    if is_text(given):
        return str(given)
    node = node_of(given) if isinstance(given, Value) else None
    if isinstance(node, At) and isinstance(node.arg, Column) and node == At(node.arg, node.var):
        return node.arg.name
    raise MotifError(f"{given!r} needs a name", hint="write name=value")


def _row_expression(given: object) -> Expr:
    """A column or an expression of one row: PARTITION BY and ORDER BY are read before there is a match."""
    if isinstance(given, str):
        return Column(given)

    def bare(node: Expr) -> Expr | None:
        return node.arg if isinstance(node, At) and node == At(node.arg) else None

    return transform(node_of(value(given)), bare)


def _order(key: str | Value | Ordering) -> Order:
    if isinstance(key, Ordering):
        return Order(_row_expression(key.value), key.descending, key.nulls_first)
    return Order(_row_expression(key))
