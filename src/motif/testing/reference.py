"""The reference matcher: what MATCH_RECOGNIZE means, as directly as it can be said.

No automaton, no memory of dead ends: every way to match the pattern is tried in the order of preference, and
the first one is the match. Slow, and meant to be: it judges the engines, on partitions of a few rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, assert_never

from motif.errors import LimitExceeded, QueryBindError, QueryDataError, did_you_mean
from motif.ir.expr import Column, Expr, Interval, walk
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var
from motif.ir.query import MatchMode, Order, RowQuery, Rows, SkipTo
from motif.testing.evaluate import Evaluator, Row, View
from motif.testing.scalars import DAY, Function, compare, identity, sort_key, subtract


class Step(NamedTuple):
    """One row of a match: the variable it was matched to, and whether `{- -}` hides it."""

    label: str
    excluded: bool = False


Path = tuple[Step, ...]
"""The rows of a match, or of the beginning of one, from its start row on."""


class Match(NamedTuple):
    """A match that is reported."""

    start: int
    path: Path
    number: int

    def labels(self) -> tuple[str, ...]:
        """The variables of its rows."""
        return tuple(step.label for step in self.path)


def match_rows(
    query: RowQuery,
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    functions: Mapping[str, Function] | None = None,
    steps: int | None = None,
    queries: Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
) -> list[dict[str, object]]:
    """The rows that `query` returns for the table `rows`, whose schema is `columns`.

    `functions` adds scalar functions by lower-case name, `queries` what sub-queries give by their text. `steps` bounds
    the conditions tested in one search from one row, so that random tests do not hang on an exponential pattern.
    """
    _check_columns(query, columns)
    evaluator = Evaluator(query.members, functions or {}, queries)
    folded = [{name.casefold(): value for name, value in row.items()} for row in rows]
    output: list[dict[str, object]] = []
    for partition in _partitions(query, evaluator, folded):
        ordered = _in_order(query, evaluator, partition, columns)
        matches = list(Matcher(query, evaluator, ordered, steps).matches())
        output.extend(_output(query, evaluator, ordered, matches, columns))
    return output


# --- partitions and their order -------------------------------------------------------------------------------


def _check_columns(query: RowQuery, columns: Sequence[str]) -> None:
    known = {name.casefold() for name in columns}
    for expr in _condition_expressions(query) + [measure.expr for measure in query.measures]:
        for node in walk(expr):
            if isinstance(node, Column) and node.name.casefold() not in known:
                hint = did_you_mean(node.name, [*columns, *query.variables()])
                message = f"unknown column {node.name}"
                raise QueryBindError(message, source=query.source, span=node.span, hint=hint)


def _partitions(query: RowQuery, evaluator: Evaluator, rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Partitions in the order of their keys: NULLs last, NaN after all numbers."""
    partitions: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        key = tuple(identity(_row_value(evaluator, key.expr, row)) for key in query.partition)
        partitions.setdefault(key, []).append(row)
    keys = [Order(key.expr) for key in query.partition]
    return sorted(partitions.values(), key=lambda rows: [_order_key(evaluator, key, rows[0]) for key in keys])


def _row_value(evaluator: Evaluator, expr: Expr, row: Row) -> Any:
    """A row expression outside of any match."""
    return evaluator.value(expr, View((row,), 0, (), 0, None), 0)


def _in_order(query: RowQuery, evaluator: Evaluator, rows: list[Row], columns: Sequence[str]) -> list[Row]:
    """The total order: ORDER BY, then what the conditions read, then what only the outputs read."""
    tie_breakers = [Order(Column(name)) for name in _tie_columns(query, columns)]
    ordered = list(rows)
    for item in reversed([*query.order, *tie_breakers]):  # stable sorts, the least significant first
        ordered.sort(key=partial(_order_key, evaluator, item), reverse=item.descending)
    return ordered


def _order_key(evaluator: Evaluator, item: Order, row: Row) -> tuple[Any, ...]:
    value = _row_value(evaluator, item.expr, row)
    at_the_end = (value is None) != item.nulls_first
    # `reverse` turns the key round, but where the NULLs stand does not depend on DESC.
    return (at_the_end != item.descending, () if value is None else sort_key(value))


def _tie_columns(query: RowQuery, columns: Sequence[str]) -> list[str]:
    decisive = _columns_of(_condition_expressions(query))
    shown = _columns_of([measure.expr for measure in query.measures])
    outputs_all = query.rows is not Rows.ONE
    first = [name for name in columns if name.casefold() in decisive]
    then = [name for name in columns if name not in first and (outputs_all or name.casefold() in shown)]
    return first + then


def _condition_expressions(query: RowQuery) -> list[Expr]:
    keys = [key.expr for key in query.partition]
    return keys + [item.expr for item in query.order] + [define.condition for define in query.defines]


def _columns_of(expressions: Iterable[Expr]) -> set[str]:
    return {node.name.casefold() for expr in expressions for node in walk(expr) if isinstance(node, Column)}


# --- matching -------------------------------------------------------------------------------------------------


class Matcher:
    """Finds the matches of one ordered partition."""

    def __init__(self, query: RowQuery, evaluator: Evaluator, rows: Sequence[Row], steps: int | None = None) -> None:
        self._query = query
        self._evaluator = evaluator
        self._rows = rows
        self._conditions = {define.var: define.condition for define in query.defines}
        self._steps = steps
        self._start = 0
        self._number = 1
        self._tested = 0

    def matches(self) -> Iterator[Match]:
        """All matches that are reported, in the order of their numbers."""
        while self._start < len(self._rows):
            self._tested = 0
            found = self._reported_paths()
            for count, path in enumerate(found):
                yield Match(self._start, path, self._number + count)
            self._start = self._next_start(found[-1]) if found else self._start + 1
            self._number += len(found)

    def _reported_paths(self) -> list[Path]:
        """The preferred match at this start; INCREMENTAL puts the shorter ones before it, shortest first."""
        every_way = self._ways(self._query.pattern, ())
        preferred = next(every_way, None)
        if preferred is None:
            return []
        if self._query.match_mode is MatchMode.MAXIMAL or not preferred:
            return [preferred]
        best_by_length: dict[int, Path] = {}
        for path in every_way:
            if 0 < len(path) < len(preferred):
                best_by_length.setdefault(len(path), path)
        return [best_by_length[length] for length in sorted(best_by_length)] + [preferred]

    def _ways(self, pattern: Pattern, path: Path) -> Iterator[Path]:
        """Every way to go on from `path` through `pattern`, the preferred one first."""
        match pattern:
            case Var(name=name):
                yield from self._one_row(name, path)
            case Seq(items=items):
                yield from self._in_turn(items, path)
            case Choice(items=items):
                for item in items:
                    yield from self._ways(item, path)
            case Repeat():
                yield from self._repeated(pattern, path, 0)
            case Permute(items=items):
                for order in itertools.permutations(items):
                    yield from self._in_turn(order, path)
            case Exclude(body=body):
                for longer in self._ways(body, path):
                    yield path + tuple(Step(step.label, excluded=True) for step in longer[len(path) :])
            case Anchor(at_start=at_start):
                if self._start + len(path) == (0 if at_start else len(self._rows)):
                    yield path
            case Empty():
                yield path
            case _:
                assert_never(pattern)

    def _one_row(self, name: str, path: Path) -> Iterator[Path]:
        self._count_step()
        longer = (*path, Step(name))
        row = self._start + len(path)
        if row < len(self._rows) and self._is_within(row) and self._satisfies(name, longer):
            yield longer

    def _in_turn(self, items: Sequence[Pattern], path: Path) -> Iterator[Path]:
        if not items:
            yield path
            return
        for longer in self._ways(items[0], path):
            yield from self._in_turn(items[1:], longer)

    def _repeated(self, loop: Repeat, path: Path, done: int) -> Iterator[Path]:
        if done < loop.low:
            for longer in self._ways(loop.body, path):
                yield from self._repeated(loop, longer, done + 1)
            return
        if not loop.greedy:
            yield path
        if loop.high is None or done < loop.high:
            yield from self._once_more(loop, path, done)
        if loop.greedy:
            yield path

    def _once_more(self, loop: Repeat, path: Path, done: int) -> Iterator[Path]:
        """A further iteration; one without rows ends the loop there, as in Perl, and is not a failure."""
        for longer in self._ways(loop.body, path):
            if len(longer) == len(path):
                yield longer
            else:
                yield from self._repeated(loop, longer, done + 1)

    def _satisfies(self, name: str, path: Path) -> bool:
        """Whether the last row of `path` may be a `name`; it is already labelled so. Unknown is not TRUE."""
        if name not in self._conditions:
            return True
        labels = tuple(step.label for step in path)
        view = View(self._rows, self._start, labels, len(labels), self._number)
        return self._evaluator.value(self._conditions[name], view) is True

    def _is_within(self, row: int) -> bool:
        """Whether the row is near enough to the first row of the match; the bound itself is."""
        if self._query.within is None:
            return True
        expr = self._query.order[0].expr
        first, last = (_row_value(self._evaluator, expr, self._rows[i]) for i in (self._start, row))
        return first is not None and last is not None and _near(first, last, self._query.within.bound)

    def _count_step(self) -> None:
        self._tested += 1
        if self._steps is not None and self._tested > self._steps:
            raise LimitExceeded(f"more than {self._steps} conditions tested from one row of the reference")

    def _next_start(self, path: Path) -> int:
        """Where the search goes on after the match `path`."""
        skip = self._query.skip
        if not path or skip.to is SkipTo.NEXT:
            return self._start + 1
        if skip.to is SkipTo.PAST_LAST:
            return self._start + len(path)
        members = self._query.members(skip.var)
        positions = [i for i, step in enumerate(path) if step.label in members]
        if not positions:
            raise self._skip_error(f"AFTER MATCH SKIP {skip.to} {skip.var}: no row of the match is a {skip.var}")
        position = positions[0] if skip.to is SkipTo.FIRST else positions[-1]
        if position == 0:
            raise self._skip_error(f"AFTER MATCH SKIP {skip.to} {skip.var}: that is the first row of the match")
        return self._start + position

    def _skip_error(self, message: str) -> QueryDataError:
        hint = "skip to a variable that every match has, and never as its first row"
        return QueryDataError(message, source=self._query.source, span=self._query.skip.span, hint=hint)


def _near(first: Any, last: Any, bound: Interval | float) -> bool:
    difference = subtract(last, first)
    if isinstance(difference, Interval):
        distance = abs(difference.microseconds)
    elif isinstance(bound, Interval):  # dates are whole days apart
        distance = abs(difference) * DAY
    else:
        distance = abs(difference)
    return compare(distance, bound.microseconds if isinstance(bound, Interval) else bound) <= 0


# --- output ---------------------------------------------------------------------------------------------------


def _output(
    query: RowQuery, evaluator: Evaluator, rows: Sequence[Row], matches: Sequence[Match], columns: Sequence[str]
) -> Iterator[dict[str, object]]:
    if query.rows is Rows.ONE:
        for match in matches:
            view = _seen_from(rows, match, len(match.path))
            yield _keys(query, evaluator, rows[match.start]) | _measures(query, evaluator, view)
        return
    shown = _rows_of_matches(query, rows, matches)
    if query.rows is Rows.ALL_WITH_UNMATCHED:
        shown.extend(_unmatched_rows(rows, matches))
    for entry in sorted(shown, key=lambda entry: (entry.start, entry.number, entry.row)):
        measures = _measures(query, evaluator, entry.view)
        yield _with_input(query, evaluator, rows[entry.row], measures, columns)


class _Shown(NamedTuple):
    """A row of ALL ROWS PER MATCH with the match as seen from it (None: unmatched)."""

    start: int
    number: int
    row: int
    view: View | None


def _seen_from(rows: Sequence[Row], match: Match, seen: int) -> View:
    return View(rows, match.start, match.labels(), seen, match.number)


def _rows_of_matches(query: RowQuery, rows: Sequence[Row], matches: Sequence[Match]) -> list[_Shown]:
    shown = []
    for match in matches:
        start, path, number = match
        if not path and query.rows is not Rows.ALL_OMIT_EMPTY:
            shown.append(_Shown(start, number, start, _seen_from(rows, match, 0)))
        for position, step in enumerate(path):
            if not step.excluded:
                shown.append(_Shown(start, number, start + position, _seen_from(rows, match, position + 1)))
    return shown


def _unmatched_rows(rows: Sequence[Row], matches: Sequence[Match]) -> list[_Shown]:
    """Rows that no match covers; the start row of an empty match is not one of them."""
    covered = {match.start + i for match in matches for i in range(max(1, len(match.path)))}
    return [_Shown(row, 0, row, None) for row in range(len(rows)) if row not in covered]


def _keys(query: RowQuery, evaluator: Evaluator, row: Row) -> dict[str, object]:
    return {key.name: _row_value(evaluator, key.expr, row) for key in query.partition}


def _measures(query: RowQuery, evaluator: Evaluator, view: View | None) -> dict[str, object]:
    return {m.name: None if view is None else evaluator.value(m.expr, view) for m in query.measures}


def _with_input(
    query: RowQuery, evaluator: Evaluator, row: Row, measures: dict[str, object], columns: Sequence[str]
) -> dict[str, object]:
    """Partition columns, ORDER BY columns, measures, then the other columns of the input."""
    keys = {key.expr.name.casefold() for key in query.partition if isinstance(key.expr, Column)}
    order = [item.expr.name.casefold() for item in query.order if isinstance(item.expr, Column)]
    spelled = {name.casefold(): name for name in columns}
    before = {spelled[name]: row[name] for name in order if name not in keys}
    after = {spelled[name]: row[name] for name in spelled if name not in keys and name not in order}
    return _keys(query, evaluator, row) | before | measures | after
