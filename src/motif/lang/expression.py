"""Scalar expressions: a Pratt parser whose powers are those of the host the text is written for.

`a || b + 1` is `a || (b + 1)` in DuckDB and `(a || b) + 1` in Spark; the tree must say what the
author's host would have said.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from motif.errors import LimitExceeded, Span, UnsupportedQuery
from motif.ir.expr import COMPARISONS, Call, Expr, Literal, Verbatim, children, walk
from motif.lang.calls import reads_nested_query
from motif.lang.lexer import Kind, Tokens
from motif.lang.operand import OperandParser
from motif.lang.scope import Scope
from motif.lang.verbatim import VerbatimBuilder


@dataclass(frozen=True, slots=True)
class _Operator:
    """`call` is the IR name; None: carried verbatim."""

    symbol: str
    power: int
    call: str | None


@dataclass(frozen=True, slots=True)
class _Grammar:
    symbols: dict[str, _Operator]
    is_: int
    comparison: int
    predicate: int


_OR, _AND, _NOT, _AT_ZONE, _UNARY = 1, 2, 3, 14, 16
_COMPARISON_SYMBOLS = {**{symbol: symbol for symbol in COMPARISONS}, "!=": "<>", "==": "="}


def _grammar(is_: int, comparison: int, predicate: int, levels: dict[int, str], null_safe: str = "") -> _Grammar:
    table = [_Operator(symbol, comparison, call) for symbol, call in _COMPARISON_SYMBOLS.items()]
    known = {"+", "-", "*", "/", "%", "||"}
    for power, symbols in levels.items():
        table += [_Operator(symbol, power, symbol if symbol in known else None) for symbol in symbols.split()]
    if null_safe:
        table.append(_Operator(null_safe, comparison, "is not distinct from"))
    return _Grammar({operator.symbol: operator for operator in table}, is_, comparison, predicate)


_DUCKDB_OTHER = "|| & | << >> -> ->> ~ !~ ~* !~* ~~ !~~ ~~~ ~~* !~~* ^@ <@ @> && <->"
_GRAMMARS = {
    "duckdb": _grammar(4, 5, 6, {7: _DUCKDB_OTHER, 8: "+ -", 9: "* / % //", 10: "^ **"}),
    "spark": _grammar(4, 5, 4, {6: "|", 7: "^", 8: "&", 9: "<< >> >>>", 10: "+ - ||", 11: "* / %"}, "<=>"),
}
_LONGEST_SYMBOL = 4
_SPARK_PRODUCT = 11
_VERBATIM_PREDICATES = frozenset({"ILIKE", "RLIKE", "REGEXP", "GLOB", "SIMILAR"})
_PREDICATES = _VERBATIM_PREDICATES | {"BETWEEN", "IN", "LIKE"}
_MOST_REPEATED = 20_000
_LONG_CHAIN = 32
"""Terms from which AND and OR become a balanced tree, so that a long list is not a deep one."""


def parse_expression(tokens: Tokens, start: int, end: int, scope: Scope) -> tuple[Expr, int]:
    """The expression at `start`, and the index of the first token behind it."""
    parser = ExpressionParser(tokens, start, end, scope)
    expr = parser.expression()
    parser.check_depth(expr)
    return expr, parser.pos


class ExpressionParser(OperandParser):
    """Adds operators to operands."""

    def __init__(self, tokens: Tokens, pos: int, end: int, scope: Scope) -> None:
        super().__init__(tokens, pos, end, scope)
        self.grammar = _GRAMMARS[tokens.dialect]
        self.above_predicates = self.grammar.predicate + 1
        self.depth = 0

    def expression(self, power: int = 0) -> Expr:
        """The longest expression whose operators bind at least as tightly as `power`."""
        self.depth += 1
        if self.depth > self.tokens.limits.nesting_depth + 1:
            self._too_deep()
        start = self.pos
        if self.at_word("NOT") and power <= _NOT and not self.peek(1).is_op("."):
            self.next()
            left: Expr = Call("not", (self.expression(_NOT),), self.span_from(start))
        elif self.peek().kind is Kind.OP and self.peek().text in "+-~":
            left = self._unary(start)
        else:
            left = self._postfix(self.operand(), start)
        while (longer := self._infix(left, start, power)) is not None:
            left = longer
        self.depth -= 1
        return left

    def check_depth(self, expr: Expr) -> None:
        """A chain like a + a + ... is as deep as it is long; everything after this may recurse."""
        limit = self.tokens.limits.nesting_depth
        level: list[Expr] = [expr]
        for _ in range(limit + 1):
            level = [child for node in level for child in children(node)]
            if not level:
                return
        self.fail(
            f"the expression is more than nesting_depth = {limit} deep",
            expr.span,
            f"compute parts of it {self.computed_before}",
            LimitExceeded,
        )

    def _too_deep(self) -> None:
        limit = self.tokens.limits.nesting_depth
        self.fail(f"the expression is more than nesting_depth = {limit} deep", error=LimitExceeded)

    def _unary(self, start: int) -> Expr:
        sign = self.next()
        number = self.peek().kind is Kind.NUMBER
        operand = self.expression(_UNARY)
        span = self.span_from(start)
        if sign.text == "~":
            text = VerbatimBuilder(self, start)
            text.add(operand, start + 1)
            return text.build()
        if sign.text == "+":
            return operand
        if number and isinstance(operand, Literal) and isinstance(operand.value, int | float | Decimal):
            return Literal(-operand.value, span)
        return Call("neg", (operand,), span)

    # -- behind an operand ----------------------------------------------------------------------

    def _postfix(self, operand: Expr, start: int) -> Expr:
        """`::type`, `[index]` and `.field` bind tighter than any operator."""
        while True:
            behind = self.pos
            text = VerbatimBuilder(self, start)
            text.add(operand, start)
            if self.accept_op("::"):
                self.type_name()
            elif self.at_subscript():
                self._subscript(text)
            elif self.at_op(".") and self.peek(1).kind is Kind.NAME:
                self._fields()
            else:
                return operand
            assert self.pos > behind, "each of them steps over something"
            operand = text.build()

    def at_subscript(self) -> bool:
        """Whether `[` stands here and belongs to the operand before it."""
        return self.at_op("[")

    def _subscript(self, text: VerbatimBuilder) -> None:
        close = self.close_of(self.pos)
        self.next()
        while self.pos < close:
            if not self.accept_op(":"):
                start = self.pos
                text.add(self.expression(), start)
                if self.pos < close and not self.at_op(":"):
                    self.fail_expected("] or :")
        self.pos = close + 1

    def _fields(self) -> None:
        while self.at_op(".") and self.peek(1).kind is Kind.NAME:
            if self.peek(2).is_op("("):
                self.refuse_method(self.peek(1))
            self.pos += 2

    # -- between operands -----------------------------------------------------------------------

    def _infix(self, left: Expr, start: int, power: int) -> Expr | None:
        """Extend `left` by the operator that stands here, if it binds tightly enough."""
        if self.peek().kind is Kind.OP:
            return self._symbol(left, start, power)
        if self.peek().kind is not Kind.NAME or self.peek().quoted:
            return None
        word = self.peek().text.upper()
        if word in ("AND", "OR"):
            return self._chain(left, start, word) if power <= (_AND if word == "AND" else _OR) else None
        if word in ("IS", "ISNULL", "NOTNULL"):
            return self._is(left, start) if power <= self.grammar.is_ else None
        if word in _PREDICATES or (word == "NOT" and self.peek(1).is_word(*_PREDICATES)):
            return self._predicate(left, start) if power <= self.grammar.predicate else None
        return self._word_operator(left, start, power, word)

    def _word_operator(self, left: Expr, start: int, power: int, word: str) -> Expr | None:
        if word == "DIV" and self.tokens.dialect == "spark" and power <= _SPARK_PRODUCT:
            return self._verbatim_infix(left, start, 1, _SPARK_PRODUCT + 1)
        if self.at_words("AT", "TIME", "ZONE") and power <= _AT_ZONE:
            return self._verbatim_infix(left, start, 3, _AT_ZONE + 1)
        if word == "COLLATE" and self.peek(1).kind in (Kind.NAME, Kind.STRING) and power <= _AT_ZONE:
            text = VerbatimBuilder(self, start)
            text.add(left, start)
            self.pos += 2
            self._fields()
            return text.build()
        return None

    def _symbol(self, left: Expr, start: int, power: int) -> Expr | None:
        operator = self._operator_here()
        if operator is None or operator.power < power:
            return None
        if operator.call is None:
            return self._verbatim_infix(left, start, len(operator.symbol), operator.power + 1)
        self.pos += len(operator.symbol)
        if operator.power != self.grammar.comparison:
            return Call(operator.call, (left, self.expression(operator.power + 1)), self.span_from(start))
        if self._at_quantified():
            return self._compared_with_each(left, start, operator)
        right = self.expression(operator.power + 1)
        self._refuse_second_comparison()
        return self._comparison(operator.call, left, right, start)

    def _comparison(self, name: str, left: Expr, right: Expr, start: int) -> Expr:
        """Of values, or of rows part by part."""
        parts, others = self.parts_of(left), self.parts_of(right)
        span = self.span_from(start)
        if parts is None or others is None:
            return Call(name, (left, right), span)
        if len(parts) != len(others):
            self.fail(f"a row of {len(parts)} values is compared with one of {len(others)}", span)
        self._check_repeated([*parts, *others], 2, span)
        return rows_compared(name, list(zip(parts, others, strict=True)), span)

    def _operator_here(self) -> _Operator | None:
        """The longest operator that the touching characters from here on make."""
        text = self.peek().text
        while len(text) < _LONGEST_SYMBOL and self.peek(len(text)).kind is Kind.OP:
            if not self.peek(len(text) - 1).touches(self.peek(len(text))):
                break
            text += self.peek(len(text)).text
        candidates = (self.grammar.symbols.get(text[:length]) for length in range(len(text), 0, -1))
        return next((operator for operator in candidates if operator is not None), None)

    def _refuse_second_comparison(self) -> None:
        operator = self._operator_here()
        if operator is not None and operator.power == self.grammar.comparison:
            doubled = "&&" in self.tokens.source[: self.peek().span.start]
            hint = "write AND between conditions, not &&" if doubled else "write a < b AND b < c; or use parentheses"
            self.fail(f"a second comparison {operator.symbol} after the first", hint=hint)

    def _verbatim_infix(self, left: Expr, start: int, length: int, power: int) -> Expr:
        text = VerbatimBuilder(self, start)
        text.add(left, start)
        self.pos += length
        right = self.pos
        text.add(self.expression(power), right)
        return text.build()

    def _chain(self, left: Expr, start: int, word: str) -> Expr:
        terms = [left]
        while self.accept_word(word):
            terms.append(self.expression((_AND if word == "AND" else _OR) + 1))
        name = word.lower()
        if len(terms) > _LONG_CHAIN:
            return _balanced(name, terms)
        begin = self.tokens[start].span
        for term in terms[1:]:
            left = Call(name, (left, term), begin.to(term.span or begin))
        return left

    def _is(self, left: Expr, start: int) -> Expr:
        first = self.next()
        negated = first.is_word("NOTNULL") or (first.is_word("IS") and self.accept_word("NOT"))
        if not first.is_word("IS") or self.accept_word("NULL") or self.accept_word("UNKNOWN"):
            return Call("is not null" if negated else "is null", (left,), self.span_from(start))
        if self.accept_word("DISTINCT", "FROM"):
            right = self.expression(self.grammar.is_ + 1)
            return self._comparison("is not distinct from" if negated else "is distinct from", left, right, start)
        if not self.at_word("TRUE", "FALSE"):
            self.fail_expected("NULL, TRUE, FALSE or DISTINCT FROM after IS", "a value is compared with =")
        test = Call(f"is {self.next().text.lower()}", (left,), self.span_from(start))
        return Call("not", (test,), self.span_from(start)) if negated else test

    def _predicate(self, left: Expr, start: int) -> Expr:
        text = VerbatimBuilder(self, start)
        text.add(left, start)
        negated = self.accept_word("NOT")
        word = self.next().text.upper()
        if word == "BETWEEN":
            found: Expr = self._between(left, start)
        elif word == "IN" and self.at_op("("):
            found = self._in(left, start)
        else:
            if word == "SIMILAR":
                self.expect_word("TO", "after SIMILAR")
            if word == "IN":
                self._check_bare_in()
            if word in ("LIKE", "ILIKE") and self._at_quantified():
                return self._like_each(left, start, word, negated=negated)
            pattern_start = self.pos
            pattern = self.expression(self.above_predicates)
            text.add(pattern, pattern_start)
            if word != "LIKE" or self.at_word("ESCAPE"):
                return self._escape(text)
            found = Call("like", (left, pattern), self.span_from(start))
        return Call("not", (found,), self.span_from(start)) if negated else found

    def _check_bare_in(self) -> None:
        """DuckDB takes `x IN list` without brackets."""
        if self.tokens.dialect == "spark" or not (self.peek().kind is Kind.NAME or self.at_op("[")):
            self.fail_expected("( after IN", "write x IN (1, 2)")

    def _at_quantified(self) -> bool:
        return self.at_word("ANY", "SOME", "ALL") and self.peek(1).is_op("(")

    def _each(self, left: Expr, *, takes_one: bool) -> tuple[str, list[Expr]]:
        """`ANY (a, b)`, `ALL ([a, b])`: the word that joins the tests of its values, and these."""
        quantifier = self.next()
        if self.at_query():
            self.check_query()
            self.fail(f"a sub-query behind LIKE {quantifier.text}", hint="use EXISTS", error=UnsupportedQuery)
        is_list = self.peek(1).is_op("[") and self.close_of(self.pos + 1) == self.close_of(self.pos) - 1
        close = self.close_of(self.pos + is_list)
        self.pos += 1 + is_list
        if self.pos == close:
            self.fail_expected(f"at least one value in {quantifier.text} ( )")
        values = [self.expression()]
        while self.pos < close:
            self.expect_op(",", f"or ) in {quantifier.text} ( )", "is a comma missing?")
            values.append(self.expression())
        self.pos = close + 1 + is_list
        if not takes_one and not is_list and len(values) == 1 and not isinstance(values[0], Literal):
            function = "array_contains" if self.tokens.dialect == "spark" else "list_contains"
            hint = f"write the values one by one: {quantifier.text}(a, b); of a column that is a list, use {function}"
            self.fail(f"{quantifier.text} ( ) of one value", quantifier.span, hint, UnsupportedQuery)
        self._check_repeated([left], len(values), quantifier.span)
        return "and" if quantifier.is_word("ALL") else "or", values

    def _compared_with_each(self, left: Expr, start: int, operator: _Operator) -> Expr:
        assert operator.call is not None, "comparisons are known"
        if reads_nested_query(self.peek(2), self.peek(3)):
            return self._among_rows(left, start, f" {operator.symbol} {self.next().text.upper()} ")
        word, values = self._each(left, takes_one=False)
        return _balanced(word, [self._comparison(operator.call, left, value, start) for value in values])

    def _like_each(self, left: Expr, start: int, word: str, *, negated: bool) -> Expr:
        joined, patterns = self._each(left, takes_one=True)
        span = self.span_from(start)
        tests: list[Expr] = [
            Call("like", (left, pattern), span)
            if word == "LIKE"
            else Verbatim(("", " ILIKE ", ""), (left, pattern), span)
            for pattern in patterns
        ]
        if self.at_word("ESCAPE"):
            self.fail("ESCAPE behind several patterns", hint="write one LIKE for each pattern, with OR or AND")
        return _balanced(joined, [Call("not", (test,), span) for test in tests] if negated else tests)

    def _escape(self, text: VerbatimBuilder) -> Expr:
        if self.accept_word("ESCAPE"):
            start = self.pos
            text.add(self.expression(self.above_predicates), start)
        return text.build()

    def _between(self, left: Expr, start: int) -> Expr:
        symmetric = self.accept_word("SYMMETRIC")
        if not symmetric:
            self.accept_word("ASYMMETRIC")
        low = self.expression(self.above_predicates)
        self.expect_word("AND", "in BETWEEN", "write x BETWEEN low AND high")
        high = self.expression(self.above_predicates)
        found = self._in_range(left, low, high, start)
        if not symmetric:
            return found
        self._check_repeated([left, low, high], 2, self.span_from(start))
        return Call("or", (found, self._in_range(left, high, low, start)), self.span_from(start))

    def _check_repeated(self, exprs: list[Expr], times: int, span: Span) -> None:
        """Short forms are spelled out; of large operands, and one inside of the other, that could grow without end."""
        if times * sum(1 for expr in exprs for _ in walk(expr)) > _MOST_REPEATED:
            message = f"this is short for an expression of more than {_MOST_REPEATED:,} parts"
            self.fail(message, span, f"compute parts of it {self.computed_before}", LimitExceeded)

    def _in_range(self, left: Expr, low: Expr, high: Expr, start: int) -> Expr:
        span = self.span_from(start)
        if self.parts_of(left) is None:
            return Call("between", (left, low, high), span)
        return Call("and", (self._comparison(">=", left, low, start), self._comparison("<=", left, high, start)), span)

    def _among_rows(self, left: Expr, start: int, words: str) -> Expr:
        """A comparison with what a sub-query gives, which stands here."""
        return Verbatim(("", words, ""), (left, self.sub_query(gives_rows=True)), self.span_from(start))

    def _in(self, left: Expr, start: int) -> Expr:
        if self.at_query():
            return self._among_rows(left, start, " IN ")
        close = self.close_of(self.pos)
        self.next()
        if self.pos == close:
            self.fail_expected("at least one value in IN ( )")
        items = [self.expression()]
        while self.pos < close:
            self.expect_op(",", "or ) in IN ( )", "is a comma missing?")
            items.append(self.expression())
        self.pos = close + 1
        if self.parts_of(left) is not None:
            self._check_repeated([left], len(items), self.span_from(start))
            return _balanced("or", [self._comparison("=", left, item, start) for item in items])
        return Call("in", (left, *items), self.span_from(start))


def rows_compared(name: str, pairs: list[tuple[Expr, Expr]], span: Span) -> Expr:
    """A comparison of two rows as comparisons of their parts, by the standard: NULL where it hangs on one."""
    (left, right), rest = pairs[0], pairs[1:]
    first = Call(name, (left, right), span)
    if not rest:
        return first
    if name in ("=", "is not distinct from"):
        return Call("and", (first, rows_compared(name, rest, span)), span)
    if name in ("<>", "is distinct from"):
        return Call("or", (first, rows_compared(name, rest, span)), span)
    before = Call(name.rstrip("="), (left, right), span)
    tied = Call("and", (Call("=", (left, right), span), rows_compared(name, rest, span)), span)
    return Call("or", (before, tied), span)


def _balanced(name: str, terms: list[Expr]) -> Expr:
    """The same terms in the same order, half of them on each side."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    left, right = _balanced(name, terms[:middle]), _balanced(name, terms[middle:])
    span = left.span.to(right.span) if left.span and right.span else None
    return Call(name, (left, right), span)
