"""The inside of MATCH_RECOGNIZE ( ... ) to a `RowQuery`.

PATTERN and SUBSET are read first: only with the variables known is `A.price` told from a field of a
column `A`. Mistakes are collected item by item, so that one run can show several of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NoReturn, TypeVar

from motif.errors import LimitExceeded, MotifError, QueryBindError, UnsupportedQuery
from motif.ir.expr import At, Column, Expr, Interval, Mode, walk
from motif.ir.pattern import Empty, Pattern, variables
from motif.ir.query import Define, Key, MatchMode, Measure, Order, RowQuery, Rows, Skip, SkipTo, Subset, Within
from motif.lang.check import check_query
from motif.lang.cursor import Cursor, describe, fold
from motif.lang.expression import parse_expression
from motif.lang.interval import Calendar, at_interval, read_interval, unit_name
from motif.lang.lexer import Kind, Tokens
from motif.lang.pattern import parse_pattern
from motif.lang.scope import Place, Scope
from motif.lang.sections import Part, Section, meant, split_sections

_T = TypeVar("_T")
_EMPTY_MATCHES = {
    ("SHOW", "EMPTY", "MATCHES"): Rows.ALL_SHOW_EMPTY,
    ("OMIT", "EMPTY", "MATCHES"): Rows.ALL_OMIT_EMPTY,
    ("WITH", "UNMATCHED", "ROWS"): Rows.ALL_WITH_UNMATCHED,
}


@dataclass
class ClauseReading:
    """A clause as far as it could be read; `query` is None if a part of it could not."""

    query: RowQuery | None
    errors: list[MotifError] = field(default_factory=list)

    def result(self) -> RowQuery:
        """The query, or the first of the errors."""
        if self.errors:
            raise self.errors[0]
        assert self.query is not None, "without errors there is a query"
        return self.query


def read_clause(tokens: Tokens, open_bracket: int, table: str | None = None) -> ClauseReading:
    """Read the clause whose bracket opens at this index, of a table; collects errors instead of raising them."""
    try:
        return _ClauseParser(tokens, open_bracket, table).read()
    except MotifError as error:
        return ClauseReading(None, [error])
    except RecursionError:
        limit = tokens.limits.nesting_depth
        message = f"the clause is nested too deeply (nesting_depth = {limit})"
        return ClauseReading(None, [LimitExceeded(message, source=tokens.source, span=tokens[open_bracket].span)])


class _ClauseParser:
    def __init__(self, tokens: Tokens, open_bracket: int, table: str | None) -> None:
        self.tokens = tokens
        self.table = table
        body = Cursor(tokens, open_bracket + 1, tokens.closer[open_bracket])
        self.sections = split_sections(body)
        self.body = body
        self.variables: frozenset[str] = frozenset()
        self.errors: list[MotifError] = []

    def read(self) -> ClauseReading:
        pattern = self._pattern()
        subsets = self._items(Part.SUBSET, self._subset)
        self.variables = frozenset(variables(pattern)) | {subset.name for subset in subsets}
        query = RowQuery(
            pattern=pattern,
            partition=self._items(Part.PARTITION, self._key),
            order=self._items(Part.ORDER, self._order),
            measures=self._items(Part.MEASURES, self._measure),
            rows=self._single(Part.ROWS, self._rows, Rows.ONE),
            match_mode=self._single(Part.MODE, self._mode, MatchMode.MAXIMAL),
            skip=self._single(Part.SKIP, self._skip, Skip()),
            within=self._single(Part.WITHIN, self._within, None),
            subsets=subsets,
            defines=self._items(Part.DEFINE, self._define),
            source=self.tokens.source,
        )
        if not self.errors:
            return ClauseReading(query, check_query(query))
        self.errors.sort(key=lambda error: error.span.start if error.span else 0)
        return ClauseReading(None, self.errors)

    # -- reading parts --------------------------------------------------------------------------

    def _items(self, part: Part, read: Callable[[Cursor], _T]) -> tuple[_T, ...]:
        """The items of a list, each read on its own."""
        section = self.sections.get(part)
        if section is None:
            return ()
        found: list[_T] = []
        for cursor in self._split(section):
            try:
                found.append(self._whole(cursor, part, read))
            except MotifError as error:
                self.errors.append(error)
        return tuple(found)

    def _single(self, part: Part, read: Callable[[Cursor], _T], default: _T) -> _T:
        section = self.sections.get(part)
        if section is None:
            return default
        try:
            return self._whole(Cursor(self.tokens, section.body, section.end), part, read)
        except MotifError as error:
            self.errors.append(error)
            return default

    def _whole(self, cursor: Cursor, part: Part, read: Callable[[Cursor], _T]) -> _T:
        item = read(cursor)
        if not cursor.done:
            hint = _leftover_hint(cursor, part)
            cursor.fail(f"{describe(cursor.peek())} does not fit here, in {part.value}", hint=hint)
        return item

    def _split(self, section: Section) -> list[Cursor]:
        """A cursor for each item between commas."""
        cuts = [section.body - 1]
        index = section.body
        while index < section.end:
            if self.tokens[index].is_op(","):
                cuts.append(index)
            index = self.tokens.closer.get(index, index) + 1
        cuts.append(section.end)
        cursors = [Cursor(self.tokens, left + 1, right) for left, right in pairwise(cuts)]
        for cursor, right in zip(cursors, cuts[1:], strict=True):
            if cursor.done:
                found = self.tokens[right]
                message = f"expected an item of {section.part.value}, found {describe(found)}"
                cursor.fail(message, found.span, "is there a comma too many?" if len(cursors) > 1 else None)
        return cursors

    def _expression(self, cursor: Cursor, place: Place) -> Expr:
        scope = Scope(place, self.variables, self.table)
        expr, cursor.pos = parse_expression(self.tokens, cursor.pos, cursor.end, scope)
        return expr

    # -- the sub-clauses ------------------------------------------------------------------------

    def _pattern(self) -> Pattern:
        section = self.sections.get(Part.PATTERN)
        if section is None:
            self._fail_without_pattern()
        pattern = parse_pattern(self.tokens, section.body)
        self._whole(
            Cursor(self.tokens, self.tokens.closer[section.body] + 1, section.end), Part.PATTERN, lambda _: None
        )
        if isinstance(pattern, Empty) and self.tokens.closer[section.body] == section.body + 1:
            self.body.fail("PATTERN ( ) is empty", pattern.span, "name at least one variable: PATTERN (A)")
        return pattern

    def _fail_without_pattern(self) -> NoReturn:
        for index in range(self.body.pos, self.body.end):
            if self.tokens[index].is_word("PATTERN") and self.tokens[index - 1].is_word("AS"):
                self.body.fail("expected a name after AS, found PATTERN", self.tokens[index].span)
            if self.tokens[index].is_word("PATTERN"):
                self.body.fail("expected ( after PATTERN", self.tokens[index + 1].span, "write PATTERN (A B+)")
            if self.tokens[index + 1].is_op("(") and meant(self.tokens[index]) == "PATTERN":
                self.body.fail("PATTERN ( ... ) is missing", self.tokens[index].span, "did you mean PATTERN?")
        self.body.fail("PATTERN ( ... ) is missing", self.tokens[self.body.end].span, "add PATTERN (A B+)")

    def _subset(self, cursor: Cursor) -> Subset:
        start = cursor.pos
        hint = "write SUBSET U = (A, B)"
        name = fold(cursor.expect_name("the name of a SUBSET", hint))
        cursor.expect_op("=", "after the name of the SUBSET", hint)
        cursor.expect_op("(", "before the variables of the SUBSET", hint)
        members = [fold(cursor.expect_name("a pattern variable", hint))]
        while cursor.accept_op(","):
            members.append(fold(cursor.expect_name("a pattern variable", hint)))
        cursor.expect_op(")", "or , in the SUBSET", hint)
        return Subset(name, tuple(members), cursor.span_from(start))

    def _key(self, cursor: Cursor) -> Key:
        start = cursor.pos
        expr = self._expression(cursor, Place.PARTITION)
        text = cursor.text(start, cursor.pos)
        name = expr.name if isinstance(expr, Column) else text
        if cursor.accept_word("AS"):
            name = cursor.expect_name("a name after AS").value
        return Key(expr, name, cursor.span_from(start))

    def _order(self, cursor: Cursor) -> Order:
        start = cursor.pos
        expr = self._expression(cursor, Place.ORDER)
        if not any(isinstance(node, Column) for node in walk(expr)):
            message = f"ORDER BY {_short(cursor.text(start, cursor.pos))} names no column: all rows would be equal"
            cursor.fail(message, cursor.span_from(start), "name a column; a number is no position here", QueryBindError)
        descending = cursor.accept_word("DESC")
        if not descending:
            cursor.accept_word("ASC")
        nulls_first = False
        if cursor.accept_word("NULLS"):
            if not cursor.at_word("FIRST", "LAST"):
                cursor.fail_expected("FIRST or LAST after NULLS")
            nulls_first = cursor.next().is_word("FIRST")
        return Order(expr, descending, nulls_first, cursor.span_from(start))

    def _measure(self, cursor: Cursor) -> Measure:
        start = cursor.pos
        expr = self._expression(cursor, Place.MEASURES)
        if cursor.accept_word("AS") or cursor.peek().kind is Kind.NAME:
            name = cursor.expect_name("a name after AS").value
        elif (column := _plain_column(expr, cursor.pos - start)) is not None and cursor.done:
            name = column
        else:
            hint = f"write {_short(cursor.text(start, cursor.pos))} AS name"
            if not cursor.done:
                cursor.fail_expected(
                    "an operator, a comma or AS with a name", hint if cursor.peek().kind is Kind.STRING else None
                )
            cursor.fail("this measure has no name", cursor.span_from(start), hint)
        return Measure(expr, name, cursor.span_from(start))

    def _define(self, cursor: Cursor) -> Define:
        start = cursor.pos
        token = cursor.expect_name("a pattern variable in DEFINE")
        cursor.expect_word("AS", f"after {describe(token)} in DEFINE", f"write {describe(token)} AS condition")
        if cursor.done:
            cursor.fail_expected(f"a condition after {describe(token)} AS")
        condition = self._expression(cursor, Place.DEFINE)
        return Define(fold(token), condition, cursor.span_from(start))

    def _rows(self, cursor: Cursor) -> Rows:
        # The cursor stands behind ONE or ALL.
        one = cursor.previous.is_word("ONE")
        cursor.next()
        cursor.expect_word("PER", "after ROW" if one else "after ROWS", "write PER MATCH")
        cursor.expect_word("MATCH", "after PER")
        if one:
            if cursor.at_word("SHOW", "OMIT", "WITH"):
                message = f"{cursor.peek().text.upper()} belongs to ALL ROWS PER MATCH"
                cursor.fail(message, hint="leave it out: ONE ROW PER MATCH gives a row for empty matches, too")
            return Rows.ONE
        for words, rows in _EMPTY_MATCHES.items():
            if cursor.accept_word(*words):
                return rows
        return Rows.ALL_SHOW_EMPTY

    def _mode(self, cursor: Cursor) -> MatchMode:
        maximal = cursor.previous.is_word("MAXIMAL")
        cursor.next()
        return MatchMode.MAXIMAL if maximal else MatchMode.INCREMENTAL

    def _skip(self, cursor: Cursor) -> Skip:
        start = cursor.pos - 1
        cursor.next()
        cursor.expect_word("SKIP", "after AFTER MATCH", "write AFTER MATCH SKIP PAST LAST ROW")
        if cursor.at_word("PAST"):
            cursor.next()
            return self._skip_row(cursor, start, "LAST", SkipTo.PAST_LAST)
        cursor.expect_word("TO", "or PAST LAST ROW after SKIP", "write SKIP TO NEXT ROW or SKIP TO LAST A")
        if cursor.at_word("NEXT") and (cursor.end - cursor.pos == 1 or cursor.peek(1).is_word("ROW", "ROWS")):
            return self._skip_row(cursor, start, "NEXT", SkipTo.NEXT)
        to = SkipTo.LAST
        if cursor.at_word("FIRST", "LAST") and cursor.peek(1).kind is Kind.NAME:
            to = SkipTo.FIRST if cursor.next().is_word("FIRST") else SkipTo.LAST
        var = fold(cursor.expect_name("a pattern variable after SKIP TO", "write SKIP TO NEXT ROW or SKIP TO LAST A"))
        return Skip(to, var, cursor.span_from(start))

    def _skip_row(self, cursor: Cursor, start: int, word: str, to: SkipTo) -> Skip:
        hint = f"write {to}"
        cursor.expect_word(word, "after PAST", hint)
        cursor.expect_word("ROW", f"after {word}", hint)
        return Skip(to, None, cursor.span_from(start))

    def _within(self, cursor: Cursor) -> Within:
        start = cursor.pos
        hint = "write WITHIN INTERVAL '5' MINUTE, or a number where ORDER BY is a number"
        if at_interval(cursor):
            return self._within_interval(cursor)
        if cursor.at_op("-"):
            cursor.fail("WITHIN can not be negative", hint=hint)
        token = cursor.peek()
        if token.kind is not Kind.NUMBER or token.value[-1].isalpha():
            cursor.fail_expected("an INTERVAL or a number after WITHIN", hint)
        cursor.next()
        if not cursor.done and unit_name(cursor.peek().value):
            unit = f"{token.text} {cursor.peek().text}"
            cursor.fail_expected("the next sub-clause", f"write WITHIN INTERVAL {unit}")
        bound = int(token.value) if token.value.isdecimal() else float(token.value)
        return Within(bound, cursor.span_from(start))

    def _within_interval(self, cursor: Cursor) -> Within:
        start = cursor.pos
        reading = read_interval(cursor)
        span = cursor.span_from(start)
        if isinstance(reading, Calendar):
            message = f"WITHIN needs a fixed length of time, and a {reading.unit.lower()} has none"
            cursor.fail(message, span, "count in days: INTERVAL '30' DAY", UnsupportedQuery)
        if reading is None:
            cursor.fail(
                "this INTERVAL can not be read", span, "write INTERVAL '5' MINUTE or INTERVAL '1 hour 30 minutes'"
            )
        if reading.microseconds < 0:
            cursor.fail("WITHIN can not be negative", span, "leave the minus out")
        return Within(Interval(reading.microseconds), span)


def _plain_column(expr: Expr, tokens: int) -> str | None:
    """The column's name if the expression was written as just `price` or `A.price`."""
    if isinstance(expr, At) and isinstance(expr.arg, Column) and tokens in (1, 3):
        return expr.arg.name
    return None


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _leftover_hint(cursor: Cursor, part: Part) -> str | None:
    """What people often mean by a token that is left over."""
    token = cursor.peek()
    if (words := meant(token)) and not token.is_word("WITH"):
        return f"did you mean {words}?"
    if part is Part.ROWS:
        return "write SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"
    mode = cursor.tokens[cursor.pos - 2]
    if part is Part.MEASURES and mode.is_word(*Mode) and cursor.previous.kind is Kind.NAME:
        return f"write {mode.text.upper()} LAST({cursor.previous.text})"
    if token.kind is Kind.STRING and cursor.tokens.dialect == "spark" and token.text.startswith('"'):
        return "in Spark SQL double quotes make a string; quote names with backticks"
    is_list = part in (Part.PARTITION, Part.ORDER, Part.MEASURES, Part.SUBSET, Part.DEFINE)
    return f"is a comma missing before {describe(token)}?" if token.kind is Kind.NAME and is_list else None
