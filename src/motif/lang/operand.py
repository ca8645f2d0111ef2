"""Operands of scalar expressions: literals, names, calls, CASE, brackets.

What Motif interprets becomes `Call`, `Literal`, `At`, ...; every other piece of the host's syntax
becomes `Verbatim`, so that any function and literal of the host works without being known here.
"""

from __future__ import annotations

import math
from decimal import Decimal

from motif.ir.expr import Call, Expr, Interval, Literal, Verbatim, walk
from motif.lang.calls import RESERVED, CallParser
from motif.lang.cursor import describe
from motif.lang.interval import at_interval, read_interval
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.scope import Scope
from motif.lang.verbatim import VerbatimBuilder

_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}
_VALUES_WITHOUT_BRACKETS = frozenset(
    {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "LOCALTIME", "LOCALTIMESTAMP"}
)
_TYPES_OF_LITERALS = frozenset(
    """DATE TIME TIMETZ TIMESTAMP TIMESTAMPTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_NTZ TIMESTAMP_LTZ
    DATETIME X B BLOB BIT BOOLEAN JSON UUID TINYINT SMALLINT INTEGER INT BIGINT HUGEINT REAL FLOAT DOUBLE DECIMAL
    NUMERIC VARCHAR TEXT STRING""".split()
)
_SMALL_OPERAND = 8
"""Nodes up to which the operand of a simple CASE is repeated in each of its conditions."""


class OperandParser(CallParser):
    """Reads one operand; operators between operands are the business of the subclass."""

    def __init__(self, tokens: Tokens, pos: int, end: int, scope: Scope) -> None:
        super().__init__(tokens, pos, end, scope)
        self.row_values: dict[int, tuple[Expr, tuple[Expr, ...]]] = {}
        """Rows `(a, b)` as they were met, by identity, with their parts."""

    def parts_of(self, operand: Expr) -> tuple[Expr, ...] | None:
        """The parts of an operand that was written as a row."""
        found = self.row_values.get(id(operand))
        return None if found is None else found[1]

    def operand(self) -> Expr:
        """A literal, a name, a call or something in brackets."""
        token = self.peek()
        if token.kind is Kind.NAME:
            return self._named(token)
        if token.kind is Kind.NUMBER:
            return self._number(self.next())
        if token.kind is Kind.STRING:
            return self._string(self.next())
        if token.is_op("("):
            return self._bracket()
        if token.is_op("["):
            return self._list(self.pos)
        if token.is_op("{"):
            return self._struct(self.pos)
        self.refuse_operand(token)

    # -- literals -------------------------------------------------------------------------------

    def _number(self, token: Token) -> Expr:
        text = token.value
        if text.isdecimal():
            return Literal(int(text), token.span)
        if not text[-1].isdigit() and text[-1] != ".":
            return Verbatim((token.text,), (), token.span)
        if "e" not in text.lower():
            return Literal(Decimal(text), token.span)
        value = float(text)
        if math.isinf(value):
            self.fail(f"{describe(token)} is too large for a floating-point number", token.span, "write a smaller one")
        return Literal(value, token.span)

    def _string(self, token: Token) -> Expr:
        if token.text[0] in "eE":
            # DuckDB's E'...': its escapes are DuckDB's business.
            return Verbatim((token.text,), (), token.span)
        return Literal(token.value, token.span)

    def _interval(self) -> Expr:
        start = self.pos
        reading = read_interval(self)
        if isinstance(reading, Interval):
            return Literal(reading, self.span_from(start))
        return VerbatimBuilder(self, start).build()

    # -- names ----------------------------------------------------------------------------------

    def _named(self, token: Token) -> Expr:
        word = "" if token.quoted else token.text.upper()
        following = self.peek(1)
        if self._is_bound_by_lambda(token) and not following.is_op("("):
            return Verbatim((self.next().text,), (), token.span)
        if word == "CASE" and not following.is_op("."):
            return self._case()
        if following.is_op("("):
            return self.call(token, word)
        if self.at_table():
            self.pos += 2
            return self.column(self.next())
        if self.at_variable():
            return self.qualified_column()
        if word in _CONSTANTS and not following.is_op("."):
            return Literal(_CONSTANTS[word], self.next().span)
        if at_interval(self):
            return self._interval()
        if self.at_mode():
            return self.with_mode()
        if word in ("ARRAY", "MAP") and (following.is_op("[") or following.is_op("{")):
            self.next()
            return self._list(self.pos - 1) if following.is_op("[") else self._struct(self.pos - 1)
        if word in RESERVED and not following.is_op("."):
            self.refuse_operand(token)
        if self.tokens.dialect == "spark" and self.function_path():
            return self.function(self.function_path())
        return self._plain_name(token, word)

    def _plain_name(self, token: Token, word: str) -> Expr:
        typed_literal = self._typed_literal_length() if word in _TYPES_OF_LITERALS else 0
        if typed_literal:
            start = self.pos
            self.pos += typed_literal
            return VerbatimBuilder(self, start).build()
        self.next()
        if word in _VALUES_WITHOUT_BRACKETS:
            return Verbatim((token.text,), (), token.span)
        return self.column(token)

    def _typed_literal_length(self) -> int:
        """Tokens of `DATE '...'` or `TIMESTAMP WITH TIME ZONE '...'`, 0 if there is none."""
        zoned = (
            self.peek(1).is_word("WITH", "WITHOUT") and self.peek(2).is_word("TIME") and self.peek(3).is_word("ZONE")
        )
        words = 4 if zoned else 1
        return words + 1 if self.peek(words).kind is Kind.STRING else 0

    def _is_bound_by_lambda(self, token: Token) -> bool:
        return token.kind is Kind.NAME and token.value.casefold() in self.lambda_names

    # -- brackets -------------------------------------------------------------------------------

    def _bracket(self) -> Expr:
        start = self.pos
        if self.at_query():
            return self.sub_query()
        self.next()
        first = self.expression()
        if self.accept_op(")"):
            return first
        if not self.at_op(","):
            self.fail_expected("an operator or )")
        row = VerbatimBuilder(self, start)
        row.add(first, start + 1)
        items = [first]
        while self.accept_op(","):
            item = self.pos
            items.append(self.expression())
            row.add(items[-1], item)
        self.expect_op(")", "at the end of the row")
        built = row.build()
        self.row_values[id(built)] = built, tuple(items)
        return built

    def _list(self, start: int) -> Expr:
        """`[a, b]`, with or without ARRAY before it."""
        text = VerbatimBuilder(self, start)
        close = self.close_of(self.pos)
        self.next()
        while self.pos < close:
            item = self.pos
            text.add(self.expression(), item)
            if self.pos < close:
                self.expect_op(",", "or ] in the list")
        self.pos = close + 1
        return text.build()

    def _struct(self, start: int) -> Expr:
        """`{'key': value}`; keys are text, values are expressions."""
        text = VerbatimBuilder(self, start)
        close = self.close_of(self.pos)
        self.next()
        while self.pos < close:
            key = self.next()
            if key.kind is Kind.OP:
                self.fail(f"expected a key, found {describe(key)}", key.span, "write {'key': value}")
            self.expect_op(":", "after the key", "write {'key': value}")
            item = self.pos
            text.add(self.expression(), item)
            if self.pos < close:
                self.expect_op(",", "or } after the value")
        self.pos = close + 1
        return text.build()

    # -- CASE -----------------------------------------------------------------------------------

    def _case(self) -> Expr:
        start = self.pos
        text = VerbatimBuilder(self, start)
        self.next()
        operand = None if self.at_word("WHEN") else self._case_part(text)
        parts: list[Expr] = []
        if not self.at_word("WHEN"):
            self.fail_expected("WHEN in CASE", "write CASE WHEN condition THEN result ELSE result END")
        while self.accept_word("WHEN"):
            parts.append(self._case_part(text))
            self.expect_word("THEN", "after WHEN", "write CASE WHEN condition THEN result ELSE result END")
            parts.append(self._case_part(text))
        default = self._case_part(text) if self.accept_word("ELSE") else Literal(None)
        self.expect_word("END", "at the end of CASE", "write CASE WHEN condition THEN result ELSE result END")
        span = self.span_from(start)
        if operand is not None:
            # Repeating a large operand could make nested CASEs exponentially large.
            if sum(1 for _ in walk(operand)) > _SMALL_OPERAND:
                return text.build()
            parts[::2] = [Call("=", (operand, value), value.span) for value in parts[::2]]
        return Call("case", (*parts, default), span)

    def _case_part(self, text: VerbatimBuilder) -> Expr:
        start = self.pos
        part = self.expression()
        text.add(part, start)
        return part
