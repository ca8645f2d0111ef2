"""Conditions and items of the event language: the scalar expressions of MATCH_RECOGNIZE with other references.

Every attribute is written with its variable, and there is no row that is not bound to one.
"""

from __future__ import annotations

from typing import NoReturn

from motif.errors import QueryBindError, Span, UnsupportedQuery, did_you_mean
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Mode
from motif.lang.cursor import describe
from motif.lang.expression import ExpressionParser
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.misspelt import meant_for
from motif.lang.scope import Argument, Place, Scope
from motif.lang.snoop.names import Names
from motif.lang.snoop.pattern import SECTIONS

_REFUSED = {
    "NEXT": "the next event is not known yet; name it in the pattern, or use LAST and PREV",
    "CLASSIFIER": "every variable has its own name here: write a.x or b.x",
    "MATCH_NUMBER": "the column match_id tells matches apart",
}


class EventExpressionParser(ExpressionParser):
    """Reads `a.x`, FIRST, LAST, PREV and aggregates over the events bound to a variable."""

    inside = "in the event language"
    offers_queries = False
    computed_before = "in the table of events"
    conditions_elsewhere = "compute it in SELECT and filter its result"

    def __init__(self, tokens: Tokens, pos: int, end: int, place: Place, names: Names, lines: bool = False) -> None:
        super().__init__(tokens, pos, end, Scope(place, frozenset(names.all)))
        self.names = names
        self.lines = lines
        """In a FILTER block a line break ends a condition that is complete."""
        self.agreements: list[Call] = []
        """`[a, b]` as it was met: calls that stand for themselves in the tree."""

    def on_new_line(self) -> bool:
        """Whether a line break stands before the current token, outside of brackets."""
        between = self.tokens.source[self.previous.span.end : self.peek().span.start]
        return ("\n" in between or "\r" in between) and self.tokens.parent[self.pos] < 0

    # -- names ----------------------------------------------------------------------------------

    def column(self, token: Token) -> Expr:
        """A bare name: there is no such thing here."""
        shown = describe(token)
        if self.names.find(token.value) is not None:
            hint = f"name one of its attributes: {shown}.x"
            called = self.tokens[self.tokens.parent[self.pos - 1] - 1]
            if self.peek(-2).is_op("(") and meant_for(called, ("COUNT",)):
                hint = f"did you mean COUNT({shown})?"
            self.fail(f"{shown} is a variable, not a value", token.span, hint, QueryBindError)
        names = self.names.all
        hint = f"write {names[0]}.{shown}"
        if token.quoted:
            hint = f"a text stands in single quotes: '{token.value}'"
        elif meant := meant_for(token, ("NOT", "CASE", "TRUE", "FALSE", "NULL")):
            hint = f"did you mean {meant[0]}?"
        elif self._is_compared():
            hint += f", or '{shown}' in single quotes if it is a text"
        elif len(names) > 1:
            hint += f", or name another variable: {', '.join(names[1:6])}{', ...' if len(names) > 6 else ''}"
        self.fail(f"{shown} does not say of which event it is", token.span, hint, QueryBindError)

    def _is_compared(self) -> bool:
        """Whether the name just read stands behind a comparison, where a text may be meant."""
        before = self.tokens[self.pos - 2]
        return (before.kind is Kind.OP and before.text in "=<>") or before.is_word("LIKE", "ILIKE", "IN")

    def at_variable(self) -> bool:
        """Every name with a point behind it has to be a variable; in Spark it may also be a function's schema."""
        if self.peek().kind is not Kind.NAME or not self.peek(1).is_op("."):
            return False
        known = self.names.find(self.peek().value) is not None
        return known or not (self.tokens.dialect == "spark" and self.function_path())

    def qualified_column(self) -> Expr:
        """`a.x`."""
        start = self.pos
        owner = self.next()
        self.next()
        if self.names.find(owner.value) is None and self.peek(1).is_op("(") and self.peek().kind is Kind.NAME:
            self.refuse_method(self.peek())
        var = self._variable(owner)
        if self.at_op("*"):
            hint = f"COUNT({describe(owner)}) counts its events; SELECT * shows all variables"
            self.fail(f"{describe(owner)}.* can only be counted", owner.span.to(self.peek().span), hint)
        token = self.expect_name(f"an attribute after {describe(owner)}.")
        span = self.span_from(start)
        if self._refer(var, span):
            return Column(token.value, span)
        return At(Column(token.value, token.span), var, span=span)

    def _variable(self, token: Token) -> str:
        name = self.names.find(token.value)
        if name is None:
            hint = did_you_mean(token.value, self.names.all)
            of = next((var for kind, var in self.names.classes if kind.casefold() == token.value.casefold()), None)
            if of is not None:
                hint = f"{describe(token)} is a class; write the variable: {of}"
            self.fail(f"{describe(token)} is not a variable of the pattern", token.span, hint, QueryBindError)
        return name

    # -- functions over the events of a variable --------------------------------------------------

    def at_mode(self) -> bool:
        """RUNNING and FINAL have no meaning here, but people who know MATCH_RECOGNIZE write them."""
        return super().at_mode() and self.names.find(self.peek().value) is None

    def with_mode(self) -> Expr:
        """`FINAL LAST(...)`."""
        word = self.peek()
        hint = "leave it out: conditions see the list as it grows, items see all of it"
        self.fail(f"{word.text} belongs to MATCH_RECOGNIZE", word.span, hint, UnsupportedQuery)

    def row_function(self, mode: Mode | None = None, start: int | None = None) -> Expr:
        """FIRST, LAST, PREV or an aggregate."""
        name = self.peek().text.upper()
        if name in _REFUSED:
            message = f"{name} is not offered {self.inside}"
            self.fail(message, hint=_REFUSED[name], error=UnsupportedQuery)
        return super().row_function(mode, start)

    def _step(self, start: int) -> At:
        """`PREV(b.x, n)` is `LAST(b.x, n)`; `PREV(LAST(b.x, m), n)` is `LAST(b.x, m + n)`."""
        self.pos += 2
        if self._at_compound():
            inner = self.peek()
            row = self._end(None, self.pos)
            if row.end is End.FIRST:
                hint = "count from the first one instead: FIRST(b.x, 1) is the second event"
                self.fail("PREV(FIRST( )) is not offered", inner.span, hint, UnsupportedQuery)
        else:
            arg, var = self._row_argument("PREV")
            row = At(arg, var)
        index = row.index + self._offset("PREV", 1)
        self._close("PREV")
        return At(row.arg, row.var, End.LAST, index, span=self.span_from(start))

    def _aggregate(self, mode: Mode | None, start: int) -> Expr:
        if self.at_word("COUNT") and self.peek(2).is_op("*"):
            hint = f"say what to count: COUNT({self.names.all[0]})"
            self.fail("COUNT(*) does not say which events", self.peek(2).span, hint, QueryBindError)
        lone = self.peek(2).kind is Kind.NAME and self.peek(3).is_op(")")
        if self.at_word("COUNT") and lone:
            self.pos += 2
            var = self._variable(self.next())
            self.expect_op(")", "at the end of COUNT( )")
            return self._filtered(Aggregate("count", None, var, span=self.span_from(start)), start)
        return super()._aggregate(mode, start)

    def _offset(self, function: str, default: int) -> int:
        if self.at_op(",") and self.peek(1).is_op("-"):
            hint = "FIRST counts from the first event on, LAST and PREV backwards from the last"
            self.fail("an offset can not be negative", self.peek(1).span, hint)
        return super()._offset(function, default)

    def _row_argument(self, function: str) -> tuple[Expr, str | None]:
        if self.at_op(")"):
            self.fail_expected(f"an expression in {function}( )", f"write {function}({self.names.all[0]}.x)")
        begin = self.pos
        expr, var = super()._row_argument(function)
        if var is None:
            hint = f"write {function}({self.names.all[0]}.x)"
            self.fail(f"{function}( ) names no variable", self.span_from(begin), hint, QueryBindError)
        return expr, var

    def _common_variable(self, argument: Argument) -> str | None:
        names = dict.fromkeys(var for var, _ in argument.references)
        if len(names) <= 1:
            return next(iter(names), None)
        first, second = list(names)[:2]
        other = next(span for var, span in argument.references if var == second)
        message = f"{argument.function} reads one variable, but {first} and {second} are named in it"
        hint = f"write {argument.function} once for each variable"
        self.fail(message, other, hint, QueryBindError)

    # -- [a, b] ---------------------------------------------------------------------------------

    def at_subscript(self) -> bool:
        """In a FILTER block `[` at the start of a line begins a condition; `[names]` never is an index."""
        return super().at_subscript() and not (self.lines and self.on_new_line()) and not self._at_agreement()

    def operand(self) -> Expr:
        """An operand, or `[a, b]`."""
        if self.at_op("[") and self._at_agreement():
            return self._agreement()
        if self.at_op("[") and self.previous.is_word("WHERE", "AND", "FILTER"):
            self._refuse_other_names()
        return super().operand()

    def _refuse_other_names(self) -> None:
        """`[a.user]` and `['user']` where a list is no condition."""
        close = self.close_of(self.pos)
        following = self.tokens[close + 1]
        if close + 1 < self.end and not following.is_word("AND", *SECTIONS):
            return
        names = [t.value for t in self.tokens.items[self.pos + 1 : close] if t.kind in (Kind.NAME, Kind.STRING)]
        wanted = [name for name in dict.fromkeys(names) if self.names.find(name) is None]
        span = self.tokens[self.pos].span.to(self.tokens[close].span)
        self.fail("[ ] takes names of attributes alone", span, f"write [{', '.join(wanted) or 'id'}]")

    def _at_agreement(self) -> bool:
        """`[a, b]` of bare names; as a list of the host it would have no meaning, since no bare name has one."""
        names = self.tokens.items[self.pos + 1 : self.close_of(self.pos) : 2]
        commas = self.tokens.items[self.pos + 2 : self.close_of(self.pos) : 2]
        if not names or len(names) != len(commas) + 1:
            return False
        plain = all(name.kind is Kind.NAME and not name.is_word("TRUE", "FALSE", "NULL") for name in names)
        in_lambda = any(name.value.casefold() in self.lambda_names for name in names)
        return plain and not in_lambda and all(comma.is_op(",") for comma in commas)

    def _agreement(self) -> Call:
        start = self.pos
        close = self.close_of(start)
        names = self.tokens.items[start + 1 : close : 2]
        self.pos = close + 1
        node = Call("[]", tuple(Column(name.value, name.span) for name in names), self.span_from(start))
        self.agreements.append(node)
        return node

    def refuse_agreement(self, span: Span | None) -> NoReturn:
        """`[a, b]` somewhere else than between the ANDs of WHERE."""
        hint = "write it beside the other conditions: WHERE [id] AND ..."
        self.fail("[ ] is a condition for all variables and stands alone", span, hint, QueryBindError)

    def _number(self, token: Token) -> Expr:
        # The lexer lets units touch their numbers; only durations have them.
        if self.tokens.dialect == "duckdb" and token.value[-1].isalpha():
            self.fail(
                f"malformed number {describe(token)}", token.span, "a length of time is written INTERVAL '10' MINUTE"
            )
        return super()._number(token)
