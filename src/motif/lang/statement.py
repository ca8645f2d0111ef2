"""A whole SQL statement: what is ours is cut out and read, the rest stays as it was written.

Each `table MATCH_RECOGNIZE (...)` becomes a name (`__motif_0`, ...) in the text for the host. Clauses
are listed in the order they can be evaluated in: the table of one may use the names of those before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from motif import limits as limits_module
from motif.errors import LimitExceeded, MotifError, Span, UnsupportedQuery
from motif.ir.nested import sub_queries, with_common_tables
from motif.ir.query import RowQuery
from motif.lang.clause import ClauseReading, read_clause
from motif.lang.cursor import Cursor
from motif.lang.lexer import Dialect, Tokens, tokenize
from motif.lang.safety import check_statement
from motif.lang.splice import Replacement, Spliced, Splicer
from motif.lang.tables import Place, common_tables, find_places, table_name
from motif.limits import Limits


@dataclass(frozen=True, slots=True)
class Clause:
    """One MATCH_RECOGNIZE: read its rows with `{ctes_sql} SELECT ... FROM {input_sql}`."""

    index: int
    name: str
    """The placeholder that stands for its result in later texts."""
    query: RowQuery
    input: Spliced
    ctes: Spliced
    span: Span
    """From MATCH_RECOGNIZE to its closing bracket."""
    input_span: Span
    """The table in front of it, with its alias."""

    @property
    def input_sql(self) -> str:
        """The table expression, alias included, with the clauses inside of it replaced by their names."""
        return self.input.text

    @property
    def ctes_sql(self) -> str:
        """`WITH a AS (...), b AS (...)` of everything visible at the table, or ''."""
        return self.ctes.text


@dataclass(frozen=True, slots=True)
class Statement:
    """A query for the host, and the clauses it needs evaluated before."""

    text: str
    clauses: tuple[Clause, ...]
    outer: Spliced

    @property
    def outer_sql(self) -> str:
        """The text with each clause, its table included, replaced by its name."""
        return self.outer.text

    def is_all_of_one_clause(self) -> bool:
        """Whether it is plainly SELECT * FROM a clause, so that the host has nothing to do with the matches."""
        words = ["SELECT", "*", "FROM", *(clause.name.upper() for clause in self.clauses)]
        return len(self.clauses) == 1 and self.outer_sql.upper().split() == words


def parse_statement(text: str, dialect: Dialect = "duckdb", limits: Limits | None = None) -> Statement:
    """Read a statement; raises the first error there is."""
    return _statement(text, dialect, limits or limits_module.LIMITS)


def parse_clause(text: str, dialect: Dialect = "duckdb", limits: Limits | None = None) -> RowQuery:
    """Read text that is just `MATCH_RECOGNIZE ( ... )`."""
    return _lone_clause(text, dialect, limits or limits_module.LIMITS)


@lru_cache(maxsize=64)
def _statement(text: str, dialect: Dialect, limits: Limits) -> Statement:
    reading = _read_statement(text, dialect, limits)
    for clause in reading.clauses:
        clause.result()
    return reading.statement()


@lru_cache(maxsize=64)
def _lone_clause(text: str, dialect: Dialect, limits: Limits) -> RowQuery:
    return _read_lone_clause(tokenize(text, dialect, limits)).result()


def diagnose(text: str, dialect: Dialect = "duckdb", limits: Limits | None = None) -> list[MotifError]:
    """Everything wrong with a statement or a lone clause that can be told from the text."""
    try:
        tokens = tokenize(text, dialect, limits)
        if tokens[0].is_word("MATCH_RECOGNIZE"):
            return _read_lone_clause(tokens).errors
        reading = _read_statement(text, dialect, limits)
        errors = [error for clause in reading.clauses for error in clause.errors]
        if not errors:
            reading.statement()
    except MotifError as error:
        return [error]
    return errors


def _read_lone_clause(tokens: Tokens) -> ClauseReading:
    cursor = Cursor(tokens, 0, len(tokens) - 1)
    hint = "write MATCH_RECOGNIZE ( PARTITION BY ... PATTERN (...) DEFINE ... ); a whole statement goes to motif.sql"
    cursor.expect_word("MATCH_RECOGNIZE", "at the start of the clause", hint)
    if not cursor.at_op("("):
        cursor.fail_expected("( after MATCH_RECOGNIZE", hint)
    opener = cursor.pos
    cursor.pos = cursor.close_of(opener) + 1
    if not cursor.done:
        cursor.fail_expected("nothing after the clause", "a whole statement goes to motif.sql")
    reading = read_clause(tokens, opener)
    if reading.query is not None and (found := sub_queries(reading.query)):
        message = "a sub-query names tables, and a clause alone has none"
        hint = "give a whole statement to motif.sql, with its tables"
        reading.errors.append(UnsupportedQuery(message, source=tokens.source, span=found[0].span, hint=hint))
    return reading


@dataclass
class _Reading:
    """A statement whose clauses have been read, with or without errors."""

    tokens: Tokens
    places: list[Place]
    clauses: list[ClauseReading]

    def statement(self) -> Statement:
        clauses = tuple(self._clause(index) for index in range(len(self.places)))
        outer = self._splicer()
        last = len(self.tokens) - 2
        while self.tokens[last].is_op(";"):
            last -= 1
        outer.add_source(self.tokens[0].span.start, self.tokens[last].span.end)
        return Statement(self.tokens.source, clauses, outer.build())

    def _clause(self, index: int) -> Clause:
        place = self.places[index]
        table = self._splicer()
        input_span = self._span(place.input_start, place.keyword - 1)
        table.add_source(input_span.start, input_span.end)
        span = self._span(place.keyword, place.close)
        ctes = self._ctes(place)
        query = with_common_tables(self.clauses[index].result(), ctes.text)
        return Clause(index, _name(index), query, table.build(), ctes, span, input_span)

    def _ctes(self, place: Place) -> Spliced:
        found = common_tables(self.tokens, place.input_start)
        splicer = self._splicer()
        for number, item in enumerate(found.items):
            span = self._span(item.start, item.end)
            opening = "WITH RECURSIVE " if found.recursive else "WITH "
            splicer.add_text(", " if number else opening, span.start)
            splicer.add_source(span.start, span.end)
        return splicer.build()

    def _splicer(self) -> Splicer:
        return Splicer(self.tokens.for_host, self.replacements)

    @cached_property
    def replacements(self) -> list[Replacement]:
        spans = (self._span(place.input_start, place.close) for place in self.places)
        named = [Replacement(span.start, span.end, _name(index)) for index, span in enumerate(spans)]
        return sorted(named, key=lambda item: (item.start, -item.end))

    def _span(self, first: int, last: int) -> Span:
        return Span(self.tokens[first].span.start, self.tokens[last].span.end)


def _read_statement(text: str, dialect: Dialect, limits: Limits | None) -> _Reading:
    tokens = tokenize(text, dialect, limits)
    check_statement(tokens)
    try:
        places = find_places(tokens)
        return _Reading(
            tokens, places, [read_clause(tokens, place.keyword + 1, table_name(tokens, place)) for place in places]
        )
    except RecursionError:
        raise LimitExceeded(f"the query is nested too deeply (nesting_depth = {tokens.limits.nesting_depth})") from None


def _name(index: int) -> str:
    return f"__motif_{index}"
