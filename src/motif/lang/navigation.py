"""Row-pattern functions: FIRST, LAST, PREV, NEXT, aggregates, CLASSIFIER, MATCH_NUMBER.

Columns inside of their arguments are plain `Column` nodes; the variable the columns were qualified
with moves to the `At` or `Aggregate` node around them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from motif.errors import LimitExceeded, QueryBindError, Span, UnsupportedQuery, did_you_mean
from motif.ir.expr import AGGREGATES, Aggregate, At, Call, Column, End, Expr, Label, Literal, MatchNumber, Mode
from motif.lang.cursor import Cursor, describe, fold
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.scope import Argument, Place, Scope

_STEPS = {"PREV": -1, "NEXT": 1}
_ENDS = frozenset(End)
_JOINING = ("IN", "AND", "OR", "NOT", "LIKE", "ILIKE", "BETWEEN", "IS", "AS")
"""Words with a bracket behind them that are no functions."""
_TAKES = {
    "PREV": "a value and how many rows back: PREV(x, 2)",
    "NEXT": "a value and how many rows on: NEXT(x, 2)",
    "FIRST": "a value and how many rows from the first one: FIRST(x, 2)",
    "LAST": "a value and how many rows from the last one: LAST(x, 2)",
    "CLASSIFIER": "at most one variable: CLASSIFIER(A)",
    "MATCH_NUMBER": "nothing: MATCH_NUMBER()",
}
"""What row-pattern functions take; aggregates take one value."""
_AGGREGATE_WORDS = frozenset(name.upper() for name in AGGREGATES)
ROW_PATTERN_FUNCTIONS = _AGGREGATE_WORDS | _ENDS | _STEPS.keys() | {"CLASSIFIER", "MATCH_NUMBER"}


class NavigationParser(Cursor, ABC):
    """Reads references to rows of a match; `expression` comes from the full parser."""

    inside = "inside of MATCH_RECOGNIZE"
    """How messages call the language that is being read."""
    computed_before = "in a sub-query in front of MATCH_RECOGNIZE"
    """Where to compute what the language does not offer."""
    conditions_elsewhere = "compute it in MEASURES and filter outside"
    """What to do about something that conditions can not say."""

    def __init__(self, tokens: Tokens, pos: int, end: int, scope: Scope) -> None:
        super().__init__(tokens, pos, end)
        self.scope = scope
        self.argument: Argument | None = None

    @abstractmethod
    def expression(self, power: int = 0) -> Expr:
        """The longest expression whose operators bind at least as tightly as `power`."""

    @abstractmethod
    def host_aggregate(self, mode: Mode | None, start: int) -> Expr:
        """The call that stands here, which is an aggregate or nothing; its first word is at `start`."""

    # -- references -----------------------------------------------------------------------------

    def column(self, token: Token) -> Expr:
        """A bare column name."""
        column = Column(token.value, token.span)
        if self.scope.place.row_only or self._refer(None, token.span):
            return column
        return At(column, span=token.span)

    def at_variable(self) -> bool:
        """Whether a pattern variable with a point behind it stands here."""
        named = self.peek().kind is Kind.NAME and self.peek(1).is_op(".")
        return named and fold(self.peek()) in self.scope.variables

    def at_table(self) -> bool:
        """Whether a column stands here that is qualified with its table, where no match is there yet."""
        named = self.peek().kind is Kind.NAME and self.peek(1).is_op(".") and self.peek(2).kind is Kind.NAME
        table = self.scope.table if self.scope.place.row_only else None
        return named and table is not None and self.peek().value.casefold() == table.casefold()

    def qualified_column(self) -> Expr:
        """`A.price`."""
        start = self.pos
        var = fold(self.next())
        if self.scope.place.row_only:
            message = (
                f"{var} is a variable of the pattern, but {self.scope.place.value} is read before there is a match"
            )
            self.fail(message, self.previous.span, "name the column alone", QueryBindError)
        self.next()
        if self.at_op("*"):
            hint = f"COUNT({var}.*) counts its rows"
            self.fail(f"{var}.* can only be counted", self.tokens[start].span.to(self.peek().span), hint)
        token = self.expect_name(f"a column after {var}.")
        span = self.span_from(start)
        if self._refer(var, span):
            return Column(token.value, span)
        return At(Column(token.value, token.span), var, span=span)

    def _refer(self, var: str | None, span: Span) -> bool:
        """Note a reference if an argument is being read; False if the reference stands alone."""
        if self.argument is None:
            return False
        self.argument.references.append((var, span))
        return True

    # -- functions ------------------------------------------------------------------------------

    def at_mode(self) -> bool:
        """RUNNING or FINAL in front of something that is read from the match; they may also be columns."""
        if not self.at_word(*Mode):
            return False
        function = self.peek(2).is_op("(") and self.peek(1).kind is Kind.NAME and not self.peek(1).is_word(*_JOINING)
        column = self.peek(1).kind is Kind.NAME and self.peek(2).is_op(".")
        return function or column

    def with_mode(self) -> Expr:
        """`FINAL LAST(...)`, `RUNNING COUNT(...)`."""
        start = self.pos
        word = self.next()
        mode = Mode(word.text.upper())
        target = self.peek()
        if target.is_word(*_STEPS) and self.peek(1).is_op("("):
            hint = f"write {target.text}({mode} LAST(x))"
            self.fail(f"{mode} can not stand before {target.text}", word.span, hint, QueryBindError)
        if not self.peek(1).is_op("(") or target.is_word("CLASSIFIER", "MATCH_NUMBER"):
            shown = "CLASSIFIER()" if target.is_word("CLASSIFIER") else "A.x"
            hint = f"write {mode} LAST({shown})"
            self.fail(f"{mode} stands before FIRST, LAST or an aggregate", word.span, hint, QueryBindError)
        if mode is Mode.FINAL and self.scope.place is Place.DEFINE:
            hint = "leave FINAL out, or use it in MEASURES"
            self.fail("DEFINE sees the match only up to the current row", word.span, hint, QueryBindError)
        own = target.is_word(*ROW_PATTERN_FUNCTIONS)
        return self.row_function(mode, start) if own else self.host_aggregate(mode, start)

    def row_function(self, mode: Mode | None = None, start: int | None = None) -> Expr:
        """The row-pattern function that stands here, its bracket included."""
        start = self.pos if start is None else start
        name = self.peek().value.upper()
        self._check_place(name)
        if name == "CLASSIFIER":
            return self._classifier()
        if name == "MATCH_NUMBER":
            return self._match_number()
        if self.argument is not None:
            self._refuse_nesting(self.argument.function, name)
        if name in _STEPS:
            return self._step(start)
        if name in _ENDS:
            return self._end(mode, start)
        return self._aggregate(mode, start)

    def _check_place(self, name: str) -> None:
        place = self.scope.place
        if place.row_only:
            message = f"{name} reads a match, but {place.value} is read before there is any"
            self.fail(message, hint=f"{place.value} takes columns of the input", error=QueryBindError)

    def _refuse_nesting(self, outer: str, inner: str) -> None:
        message = f"{inner} inside of {outer}"
        if outer in _AGGREGATE_WORDS or inner in _AGGREGATE_WORDS:
            self.fail(
                message, hint=f"{outer} takes columns of one row; combine the results outside", error=QueryBindError
            )
        if outer in _ENDS and inner in _STEPS:
            self.fail(message, hint=f"write {inner}({outer}(x)): first the row, then the step", error=QueryBindError)
        if outer == inner:
            self.fail(message, hint=f"write {outer}(x, 2)", error=QueryBindError)
        taken = "columns of one row" if outer in _ENDS else "one FIRST(x) or LAST(x) as a whole, or columns of one row"
        self.fail(message, hint=f"{outer} takes {taken}; combine the results outside", error=QueryBindError)

    def _step(self, start: int) -> At:
        name = self.next().text.upper()
        self.next()
        if self._at_compound():
            inner_start = self.pos
            mode = Mode(self.next().text.upper()) if self.at_word(*Mode) else None
            self._check_compound_mode(mode)
            row = self._end(mode, inner_start)
        else:
            arg, var = self._row_argument(name)
            row = At(arg, var)
        shift = _STEPS[name] * self._offset(name, 1)
        self._close(name)
        return At(row.arg, row.var, row.end, row.index, shift, row.mode, self.span_from(start))

    def _at_compound(self) -> bool:
        """Whether the whole first argument is `[RUNNING | FINAL] FIRST(...)` or `LAST(...)`."""
        skip = 1 if self.at_word(*Mode) else 0
        if not (self.peek(skip).is_word(*_ENDS) and self.peek(skip + 1).is_op("(")):
            return False
        behind = self.tokens[self.close_of(self.pos + skip + 1) + 1]
        return behind.is_op(",") or behind.is_op(")")

    def _check_compound_mode(self, mode: Mode | None) -> None:
        if mode is Mode.FINAL and self.scope.place is Place.DEFINE:
            hint = "leave FINAL out, or use it in MEASURES"
            self.fail("DEFINE sees the match only up to the current row", self.previous.span, hint, QueryBindError)

    def _end(self, mode: Mode | None, start: int) -> At:
        name = self.next().text.upper()
        self.next()
        arg, var = self._row_argument(name)
        index = self._offset(name, 0)
        self._close(name)
        return At(arg, var, End(name), index, 0, mode, self.span_from(start))

    def _aggregate(self, mode: Mode | None, start: int) -> Expr:
        begin = self.pos
        name = self.next().value.upper()
        self.next()
        if name == "COUNT" and (self.at_op("*") or (self.peek(1).is_op(".") and self.peek(2).is_op("*"))):
            return self._row_count(mode, start)
        distinct = self.accept_quantifier() == "DISTINCT"
        place = self.scope.place
        if place.is_condition and (name == "ARRAY_AGG" or (distinct and place is Place.WHERE)):
            what = name if name == "ARRAY_AGG" else "DISTINCT"
            hint = f"{self.conditions_elsewhere}, or use COUNT, SUM, AVG, MIN or MAX"
            self.fail(f"{what} is not offered in {place.value}", self.span_from(start), hint, UnsupportedQuery)
        arg, var = self._row_argument(name)
        is_filtered = self.at_op(")") and self.peek(1).is_word("FILTER")
        if self.at_op(",") or self.at_words("ORDER", "BY") or (is_filtered and name == "ARRAY_AGG"):
            self.pos = begin
            return self.host_aggregate(mode, start)
        self.expect_op(")", f"at the end of {name}( )")
        return self._filtered(Aggregate(name.lower(), arg, var, distinct, mode, self.span_from(start)), start)

    def accept_quantifier(self) -> str | None:
        """Step over DISTINCT or ALL in front of an argument."""
        if not self.at_word("DISTINCT", "ALL") or (self.peek(1).kind is Kind.OP and self.peek(1).text in "),.=<>"):
            return None
        return self.next().text.upper()

    def _filtered(self, node: Aggregate, start: int) -> Aggregate:
        """`SUM(x) FILTER (WHERE c)` is `SUM(CASE WHEN c THEN x END)`."""
        if self.at_word("FILTER") and self.peek(1).is_op("("):
            condition = self.filter_condition(node)
            kept = Literal(1) if node.arg is None else node.arg
            case = Call("case", (condition, kept, Literal(None)), self.span_from(start))
            node = Aggregate(node.name, case, node.var, node.distinct, node.mode, self.span_from(start))
        self.refuse_window()
        return node

    def filter_condition(self, node: Aggregate | None = None) -> Expr:
        """`FILTER (WHERE condition)`; of an aggregate of ours, on columns of the rows that it reads."""
        self.pos += 2
        self.expect_word("WHERE", "in FILTER ( )", "write FILTER (WHERE A.x > 0)")
        self.argument = None if node is None else Argument("FILTER")
        condition = self.expression()
        references = self.argument.references if self.argument is not None else []
        self.argument = None
        for var, span in references if node is not None else ():
            if node is not None and var != node.var:
                what = f"columns of {var}" if var is not None else "columns of any row"
                rows = f"rows of {node.var}" if node.var is not None else "all rows"
                message = f"FILTER names {what}, but {node.name.upper()} reads {rows}"
                self.fail(message, span, _alike(node, var), QueryBindError)
        self.expect_op(")", "at the end of FILTER ( )")
        return condition

    def _row_count(self, mode: Mode | None, start: int) -> Expr:
        var = None
        if not self.at_op("*"):
            var = self._variable(self.next())
            self.next()
        self.next()
        self.expect_op(")", "at the end of COUNT( )")
        return self._filtered(Aggregate("count", None, var, False, mode, self.span_from(start)), start)

    def _classifier(self) -> Expr:
        start = self.pos
        self.pos += 2
        var = None if self.at_op(")") else self._variable(self.expect_name("a pattern variable, or CLASSIFIER()"))
        self._close("CLASSIFIER")
        span = self.span_from(start)
        return Label(span) if self._refer(var, span) else At(Label(span), var, span=span)

    def _match_number(self) -> MatchNumber:
        start = self.pos
        self.pos += 2
        if not self.at_op(")"):
            self.fail(
                "there are too many arguments in MATCH_NUMBER( )", hint=f"MATCH_NUMBER takes {_TAKES['MATCH_NUMBER']}"
            )
        self._close("MATCH_NUMBER")
        return MatchNumber(self.span_from(start))

    # -- parts ----------------------------------------------------------------------------------

    def _row_argument(self, function: str) -> tuple[Expr, str | None]:
        """A row expression and the one variable all its columns belong to."""
        if self.at_op(")"):
            self.fail_expected(f"an expression in {function}( )", f"write {function}(A.x)")
        begin = self.pos
        self.argument = Argument(function)
        expr = self.expression()
        variable = self._common_variable(self.argument)
        if not self.argument.references and function not in _AGGREGATE_WORDS:
            hint = f"name a column: {function}(A.x)"
            self.fail(
                f"{function}( ) reads a row, but names no column of it", self.span_from(begin), hint, QueryBindError
            )
        self.argument = None
        return expr, variable

    def _common_variable(self, argument: Argument) -> str | None:
        names = dict.fromkeys(var for var, _ in argument.references)
        if len(names) <= 1:
            return next(iter(names), None)
        first = argument.references[0]
        other = next(reference for reference in argument.references if reference[0] != first[0])
        if None in names:
            var = next(name for name in names if name is not None)
            message = f"{argument.function} mixes columns of {var} with columns of any row"
            hint = f"qualify all of them with {var}., or split the expression into two"
        else:
            message = f"{argument.function} reads one variable, but {first[0]} and {other[0]} are named in it"
            hint = f"write {argument.function} once for each variable, or name both in a SUBSET"
        self.fail(message, other[1], hint, QueryBindError)

    def _variable(self, token: Token) -> str:
        name = fold(token)
        if name not in self.scope.variables:
            hint = did_you_mean(name, sorted(self.scope.variables))
            self.fail(f"{describe(token)} is not a variable of the pattern", token.span, hint, QueryBindError)
        return name

    def _offset(self, function: str, default: int) -> int:
        if not self.accept_op(","):
            return default
        token = self.peek()
        if token.is_op("-"):
            other = {"PREV": "use NEXT", "NEXT": "use PREV"}.get(function, "count from the other end")
            self.fail("an offset can not be negative", hint=other)
        if token.kind is not Kind.NUMBER or not token.value.isdecimal():
            hint = f"the offset is a literal: {function}(x, 2)"
            self.fail_expected(f"a whole number as the offset of {function}", hint)
        self.next()
        limit = self.tokens.limits.navigation_offset
        digits = token.value.lstrip("0") or "0"
        if len(digits) > len(str(limit)) or int(digits) > limit:
            message = f"the offset {describe(token)} is more than the limit navigation_offset = {limit:,}"
            self.fail(message, token.span, "look at nearer rows, or use a variable", LimitExceeded)
        return int(digits)

    def _close(self, function: str) -> None:
        if self.at_op(","):
            takes = _TAKES.get(function, f"one value: {function}(x)")
            self.fail(f"there are too many arguments in {function}( )", hint=f"{function} takes {takes}")
        self.expect_op(")", f"at the end of {function}( )")
        self.refuse_window()

    def refuse_window(self) -> None:
        """OVER, FILTER and the like after a call need rows that a match does not have."""
        start = self.peek()
        following = self.peek(1)
        window = start.is_word("OVER") and (following.is_op("(") or following.kind is Kind.NAME)
        filtered = start.is_word("FILTER") and following.is_op("(")
        within = start.is_word("WITHIN") and following.is_word("GROUP")
        nulls = start.is_word("IGNORE", "RESPECT") and following.is_word("NULLS")
        if window or filtered or within or nulls:
            hint = f"compute it {self.computed_before} and use its column"
            if filtered:
                hint = "FILTER stands behind aggregates"
            self.fail(f"{start.text.upper()} is not offered {self.inside}", hint=hint, error=UnsupportedQuery)


def _alike(node: Aggregate, var: str | None) -> str:
    """How an aggregate is written that reads the rows which its FILTER names."""
    if var is None:
        return f"qualify both alike: {node.var}. in FILTER"
    return f"write COUNT({var}.*)" if node.arg is None else f"qualify both alike: {var}. in {node.name.upper()}( )"
