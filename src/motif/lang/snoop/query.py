"""A query of the event language: DEFINE, SELECT, FROM, WHERE, PICK, WITHIN, RETURN, CONSUMING.

The pattern is read first: only with its variables known can the items of SELECT be read. Mistakes are collected clause
by clause, so that one run can show several of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from motif.errors import LimitExceeded, MotifError, QuerySyntaxError, Span, perhaps
from motif.ir.event import Conjunction, Disjunction, Event, EventQuery, Pattern, Sequence
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Dialect, Kind, Tokens, tokenize
from motif.lang.misspelt import meant_for
from motif.lang.scope import Place
from motif.lang.snoop.check import check_events
from motif.lang.snoop.clauses import read_consuming, read_items, read_picks, read_within
from motif.lang.snoop.conditions import read_conditions
from motif.lang.snoop.detect import misspelt_from
from motif.lang.snoop.duration import GLUED_UNITS
from motif.lang.snoop.names import Names
from motif.lang.snoop.pattern import SECTIONS, at_operator, read_pattern
from motif.limits import Limits

_SHORT_FORMS: dict[str, Callable[[tuple[Pattern, ...], Span], Pattern]] = {
    "SEQUENCE": Sequence,
    "CONJUNCTION": Conjunction,
    "DISJUNCTION": Disjunction,
}
_OF_RESULTS = ("GROUP", "ORDER", "HAVING", "LIMIT")
_START = "write SELECT * FROM SEQ(A a; B b) ..."


def parse_events(text: str, dialect: Dialect = "duckdb", limits: Limits | None = None) -> EventQuery:
    """Read a query of the event language; raises the first error there is."""
    return _read(text, dialect, limits).result()


def diagnose_events(text: str, dialect: Dialect = "duckdb", limits: Limits | None = None) -> list[MotifError]:
    """Everything wrong with a query of the event language that can be told from its text."""
    return _read(text, dialect, limits).errors


@dataclass
class _Reading:
    """A query as far as it could be read; `query` is None if a part of it could not."""

    query: EventQuery | None
    errors: list[MotifError] = field(default_factory=list)

    def result(self) -> EventQuery:
        if self.errors:
            raise self.errors[0]
        assert self.query is not None, "without errors there is a query"
        return self.query


def _read(text: str, dialect: Dialect, limits: Limits | None) -> _Reading:
    try:
        tokens = tokenize(text, dialect, limits, GLUED_UNITS)
        return _QueryParser(tokens).read()
    except MotifError as error:
        return _Reading(None, [error])
    except RecursionError:
        message = "the query is nested too deeply"
        return _Reading(None, [LimitExceeded(message, hint="use fewer brackets")])


class _QueryParser(Cursor):
    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens, 0, _end_of_query(tokens))
        self.errors: list[MotifError] = []
        self.names = Names()
        self.query = EventQuery(Event("?"))
        self.name_span: Span | None = None
        self._pattern_end, self._is_flat = -1, False

    def read(self) -> _Reading:
        self._define()
        if self.at_word("PATTERN"):
            self._short_form()
        else:
            self._select()
        self._clauses()
        if self.errors:
            self.errors.sort(key=lambda error: error.span.start if error.span else 0)
            return _Reading(None, self.errors)
        query = replace(self.query, source=self.tokens.source)
        return _Reading(query, check_events(query))

    # -- the head -------------------------------------------------------------------------------

    def _define(self) -> None:
        if not self.accept_word("DEFINE"):
            return
        if self.at_word("SELECT", "PATTERN") and not self.peek(1).is_word("SELECT", "PATTERN", "AS"):
            self.fail_expected("a name after DEFINE", "write DEFINE Fraud SELECT ...")
        token = self.expect_name("a name after DEFINE", "write DEFINE Fraud SELECT ...")
        self.query = replace(self.query, name=token.value)
        self.name_span = token.span
        self.accept_word("AS")

    def _short_form(self) -> None:
        """`PATTERN Sequence WITH A, B`: variables and classes of the same names."""
        start = self.pos
        self.next()
        hint = "write PATTERN SEQUENCE WITH A, B, C"
        if not self.at_word(*_SHORT_FORMS):
            self.fail_expected("SEQUENCE, CONJUNCTION or DISJUNCTION after PATTERN", hint)
        build = _SHORT_FORMS[self.next().text.upper()]
        self.expect_word("WITH", f"after {self.previous.text}", hint)
        events = [self._class(hint)]
        while self.accept_op(","):
            events.append(self._class(hint))
        if not self.done and self.peek().kind is Kind.OP:
            hint = "the short form takes classes alone; write SELECT * FROM SEQ(A a+; B b)"
            self.fail_expected("a comma or the next clause", hint)
        self._set_pattern(build(tuple(events), self.span_from(start)))

    def _class(self, hint: str) -> Event:
        token = self.peek()
        if token.kind not in (Kind.NAME, Kind.STRING) or token.is_word(*SECTIONS):
            self.fail_expected("a class", hint)
        self.next()
        return Event(token.value, token.value, span=token.span)

    def _select(self) -> None:
        meant = perhaps(self.peek().text, ("SELECT", "DEFINE", "PATTERN"))
        self.expect_word("SELECT", "or PATTERN at the start of the query", meant or _START)
        start = self.pos
        at = self._find_from()
        self.pos = at + 1
        self._from()
        behind = self.pos
        self.pos = start
        self._guard(lambda: self._items_of_select(at))
        self.pos = behind

    def _find_from(self) -> int:
        misspelt = misspelt_from(self.tokens, self.end)
        for index in range(self.pos, self.end if misspelt is None else misspelt):
            token, before = self.tokens[index], self.tokens[index - 1]
            named = before.is_op(".") or before.is_word("AS", "DISTINCT") or self.tokens[index + 1].is_op(".")
            if token.is_word("FROM") and self.tokens.parent[index] < 0 and not named:
                return index
        self.pos = self.end if misspelt is None else misspelt
        self.fail_expected("FROM and a pattern", _START if misspelt is None else "did you mean FROM?")

    def _items_of_select(self, end: int) -> None:
        if self.at_op("*") and self.pos + 1 == end:
            return
        if self.at_op("*") and self.peek(1).is_op(","):
            hint = "leave * out and name the items, or add the items with RETURN name(...)"
            self.fail("SELECT * takes no other items", hint=hint)
        items = read_items(self.tokens, self.pos, end, Place.SELECT, self.names)
        self.query = replace(self.query, items=items)

    def _from(self) -> None:
        source = self._source_length()
        if source:
            values = [token.value for token in self.tokens.items[self.pos : self.pos + source : 2]]
            self.query = replace(self.query, input=".".join(values))
            self.pos += source
        if self.done or self._at_section():
            self.fail_expected("a pattern after FROM", _START)
        pattern, self.pos = read_pattern(self.tokens, self.pos, self.end)
        self._set_pattern(pattern)

    def _source_length(self) -> int:
        """Tokens of a table's name (or path) between FROM and the pattern; 0 if there is none."""
        if self.peek().kind not in (Kind.NAME, Kind.STRING) or self.peek(1).is_op("(") or self.at_word("NOT"):
            return 0
        length = 1
        while self.peek(length).is_op(".") and self.peek(length + 1).kind is Kind.NAME:
            length += 2
        first, second = self.peek(length), self.peek(length + 1)
        if length > 1 or at_operator(first, second) or (first.is_word("NOT") and second.kind is Kind.NAME):
            return length
        class_and_variable = first.kind in (Kind.NAME, Kind.STRING) and second.kind is Kind.NAME
        return 1 if class_and_variable and not first.is_word(*SECTIONS) and not second.is_word(*SECTIONS) else 0

    def _set_pattern(self, pattern: Pattern) -> None:
        self._pattern_end, self._is_flat = self.previous.span.end, not self.previous.is_op(")")
        self.query = replace(self.query, pattern=pattern)
        bound = tuple(event.var for event in self.query.events())
        events = (*self.query.events(), *self.query.negated())
        classes = tuple((event.type, event.var) for event in events if event.type is not None)
        self.names = Names(bound, tuple(event.var for event in self.query.negated()), classes)

    # -- the clauses behind the pattern -----------------------------------------------------------

    def _clauses(self) -> None:
        readers = {
            "WHERE": self._where,
            "PICK": self._pick,
            "WITHIN": self._within,
            "RETURN": self._return,
            "CONSUMING": self._consuming,
        }
        last = ""
        while not self.done:
            token = self.peek()
            word = token.text.upper()
            if not self._at_section():
                self._guard(self._refuse_rest)
                continue
            if last and SECTIONS.index(word) <= SECTIONS.index(last):
                self.errors.append(self._order_error(word, last, token.span))
            last = max(last, word, key=lambda each: SECTIONS.index(each) if each else -1)
            self.next()
            self._guard(readers[word])

    def _at_section(self) -> bool:
        free = self.tokens.parent[self.pos] < 0 and not self.peek(1).is_op(".")
        return free and self.at_word(*SECTIONS)

    def _guard(self, read: Callable[[], None]) -> None:
        """Read a clause; after a mistake in it go on with the next one."""
        try:
            read()
        except MotifError as error:
            self.errors.append(error)
            self.pos = max(self.pos, 1)
            while not self.done and not (self._at_section() and not self.previous.is_op(".")):
                self.next()

    def _order_error(self, word: str, last: str, span: Span) -> MotifError:
        message = f"{word} stands twice" if word == last else f"{word} stands behind {last}"
        hint = f"the order is {', '.join(SECTIONS)}" if word != last else "keep one of them"
        return QuerySyntaxError(message, source=self.tokens.source, span=span, hint=hint)

    def _refuse_rest(self) -> None:
        token = self.peek()
        hint = perhaps(token.text, SECTIONS) or f"the clauses are {', '.join(SECTIONS)}"
        if token.is_word("DEFINE", "SELECT", "PATTERN"):
            self.fail_between_queries()
        if token.is_op(";"):
            self.fail("text behind the end of the query", self.peek(1).span, "one query at a time")
        if token.is_word("PARTITION"):
            hint = "write WHERE [attribute]: all events of a match agree on it"
        if token.is_op("."):
            hint = f"name variables only: {describe(self.previous)}"
        if self.previous.span.end <= self._pattern_end and self._is_flat and token.kind is Kind.NAME:
            hint = perhaps(token.text, SECTIONS) or "a pattern of several events is written SEQ(A a; B b)"
        if token.is_op(","):
            hint = "put the events into SEQ( ), ALL( ) or OR( )"
        if word := next((each for each in _OF_RESULTS if token.is_word(each) or meant_for(token, (each,))), None):
            hint = f"an event query has no {word}: do that with its result"
        self.fail(f"{describe(token)} does not fit here", hint=hint)

    def _where(self) -> None:
        conditions, same, self.pos = read_conditions(self.tokens, self.pos, self.end, self.names)
        self.query = replace(self.query, conditions=conditions, same=same)

    def _pick(self) -> None:
        picks, self.pos = read_picks(self.tokens, self.pos, self.end, self.names)
        self.query = replace(self.query, picks=picks)

    def _within(self) -> None:
        within, self.pos = read_within(self.tokens, self.pos, self.end)
        self.query = replace(self.query, within=within)

    def _return(self) -> None:
        token = self.expect_name("a name after RETURN", "write RETURN Fraud(a.x AS x)")
        if self.query.name is not None and self.query.name != token.value:
            message = f"RETURN {describe(token)}, but the query is called {self.query.name}"
            self.errors.append(
                QuerySyntaxError(message, source=self.tokens.source, span=token.span, hint="use one name for both")
            )
        self.query = replace(self.query, name=token.value)
        if not self.at_op("("):
            return
        close = self.close_of(self.pos)
        if close > self.pos + 1:
            items = read_items(self.tokens, self.pos + 1, close, Place.RETURN, self.names)
            self.query = replace(self.query, returned=items)
        self.pos = close + 1

    def _consuming(self) -> None:
        consuming, self.pos = read_consuming(self.tokens, self.pos, self.end, self.names)
        self.query = replace(self.query, consuming=consuming)


def _end_of_query(tokens: Tokens) -> int:
    """Index behind the last token, without the semicolon that may end the text."""
    last = len(tokens) - 1
    while last > 0 and tokens[last - 1].is_op(";"):
        last -= 1
    return last
