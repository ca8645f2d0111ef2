"""FROM ...: SEQ, ALL, ANY, OR, TSEQ, NOT and events to pattern nodes.

What is written in the wrong place (a NOT inside ALL, say) is read all the same: `check` says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable

from motif.errors import LimitExceeded, Span, did_you_mean
from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Event,
    Not,
    Pattern,
    Quantifier,
    Sequence,
    TimedSequence,
    walk,
)
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.quantifier import read_bounds
from motif.lang.snoop.duration import read_duration

OPERATORS = ("SEQ", "ALL", "ANY", "OR", "TSEQ")
SECTIONS = ("WHERE", "PICK", "WITHIN", "RETURN", "CONSUMING")
"""Words that end the pattern where it stands without brackets."""
_EXAMPLES = {
    "SEQ": "SEQ(A a; B b)",
    "ALL": "ALL(A a, B b)",
    "ANY": "ANY(2, A a, B b, C c)",
    "OR": "OR(A a, B b)",
    "TSEQ": "TSEQ(A a, B b; 1 s, 3 s)",
}
_OTHER_NAMES = {
    "SEQUENCE": "SEQ",
    "FOLLOWEDBY": "SEQ",
    "THEN": "SEQ",
    "AND": "ALL",
    "CONJUNCTION": "ALL",
    "DISJUNCTION": "OR",
    "EITHER": "OR",
}
_NO_SUCH = ("NO", "WITHOUT", "EXCEPT", "NONE", "NOR", "NEVER", "ABSENT")
"""What others write for NOT."""
_SIMPLE_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}


def at_operator(token: Token, following: Token) -> bool:
    """Whether the two begin `SEQ(` or another operator."""
    return token.is_word(*OPERATORS) and following.is_op("(")


def read_pattern(tokens: Tokens, pos: int, end: int) -> tuple[Pattern, int]:
    """The pattern at `pos`, and the index of the first token behind it."""
    parser = _PatternParser(tokens, pos, end)
    pattern = parser.pattern()
    limit = tokens.limits.pattern_variables
    count = sum(1 for node in walk(pattern) if isinstance(node, Event))
    if count > limit:
        message = f"the pattern has {count} variables, more than the limit pattern_variables = {limit}"
        parser.fail(message, pattern.span, None, LimitExceeded)
    return pattern, parser.pos


class _PatternParser(Cursor):
    def pattern(self) -> Pattern:
        """An element: an operator with its parts, an event, or NOT and an event."""
        if self.at_word("NOT"):
            return self._not()
        if at_operator(self.peek(), self.peek(1)):
            return self._operator()
        return self._event()

    # -- operators ------------------------------------------------------------------------------

    def _operator(self) -> Pattern:
        start = self.pos
        word = self.next().text.upper()
        close = self.close_of(self.pos)
        self.next()
        if self.pos == close:
            self.fail(f"{word}( ) is empty", self.tokens[start].span.to(self.peek().span), f"write {_EXAMPLES[word]}")
        readers: dict[str, Callable[[int, int], Pattern]] = {
            "SEQ": self._sequence,
            "ALL": self._conjunction,
            "ANY": self._any,
            "OR": self._disjunction,
            "TSEQ": self._timed,
        }
        pattern = readers[word](start, close)
        self._refuse_repeated_operator(word)
        return pattern

    def _sequence(self, start: int, close: int) -> Pattern:
        items = self._parts("SEQ", close, ";,")
        return Sequence(items, self._end(start, close))

    def _conjunction(self, start: int, close: int) -> Pattern:
        items = self._parts("ALL", close, ",")
        return Conjunction(items, self._end(start, close))

    def _disjunction(self, start: int, close: int) -> Pattern:
        items = self._parts("OR", close, ",")
        return Disjunction(items, self._end(start, close))

    def _any(self, start: int, close: int) -> Pattern:
        token = self.peek()
        hint = f"say how many of the parts: {_EXAMPLES['ANY']}"
        if token.kind is not Kind.NUMBER or not token.value.isdecimal() or len(token.value) > 9:
            self.fail_expected("a whole number first in ANY( )", hint)
        self.next()
        self.expect_op(",", "after the number of ANY( )", hint)
        items = self._parts("ANY", close, ",")
        return AnyOf(int(token.value), items, self._end(start, close))

    def _timed(self, start: int, close: int) -> Pattern:
        hint = f"write {_EXAMPLES['TSEQ']}"
        first = self.pattern()
        if not (self.accept_op(",") or self.accept_op(";")):
            self.fail_expected(", after the first part of TSEQ( )", hint)
        second = self.pattern()
        self.expect_op(";", "before the times of TSEQ( )", hint)
        low = read_duration(self, "the shortest time of TSEQ", bare_seconds=True)
        self.expect_op(",", "between the times of TSEQ( )", hint)
        high = read_duration(self, "the longest time of TSEQ", bare_seconds=True)
        if self.pos < close:
            self.fail_expected(") at the end of TSEQ( )", hint)
        return TimedSequence(first, second, low, high, self._end(start, close))

    def _parts(self, word: str, close: int, separators: str) -> tuple[Pattern, ...]:
        items = [self.pattern()]
        while self.pos < close:
            if not any(self.accept_op(separator) for separator in separators):
                self._fail_between(word, separators)
            if self.pos == close:
                self.fail(f"nothing follows {self.previous.text} in {word}( )", self.previous.span, "remove it")
            items.append(self.pattern())
        return tuple(items)

    def _fail_between(self, word: str, separators: str) -> None:
        token = self.peek()
        before, last = self.tokens[self.pos - 2], self.previous
        hint = None
        if token.is_op(";"):
            hint = f"the parts of {word} are separated by commas: {_EXAMPLES[word]}"
        elif token.kind in (Kind.NAME, Kind.STRING):
            hint = f"is a {separators[0]} missing before {describe(token)}?"
            if token.is_word("WITHIN"):
                hint = "WITHIN stands behind the pattern; a time between two parts: TSEQ(A a, B b; 0 s, 5 s)"
            elif last.is_word("AS"):
                hint = f"leave AS out: {describe(before)} {describe(token)}"
            elif last.text in _SIMPLE_QUANTIFIERS and self.peek(1).kind is not Kind.NAME:
                hint = f"the quantifier stands behind the variable: {describe(before)} {describe(token)}{last.text}"
            elif before.text.upper() in _NO_SUCH:
                hint = f"write NOT {describe(last)} {describe(token)}"
        elif token.is_op(":"):
            hint = "a class and a variable have a blank between them: Login a"
        elif token.is_op("|"):
            hint = "one of several classes: OR(A a, B b)"
        elif token.kind is Kind.OP and token.text in "-=>&~":
            hint = f"write {separators[0]} between the parts of {word}: {_EXAMPLES[word]}"
        self.fail_expected(f"{separators[0]} or ) in {word}( )", hint)

    def _end(self, start: int, close: int) -> Span:
        self.pos = close + 1
        return self.span_from(start)

    def _refuse_repeated_operator(self, word: str) -> None:
        if self._at_quantifier():
            hint = "put the quantifier behind an event: SEQ(A a; B b+)"
            self.fail(f"only an event can be repeated, not {word}( )", hint=hint)

    # -- events ---------------------------------------------------------------------------------

    def _not(self) -> Not:
        start = self.pos
        self.next()
        hint = "write NOT X x, without brackets" if self.at_op("(") else "write one NOT for each event: NOT X x"
        if self.at_op("(") or self.at_word("NOT") or at_operator(self.peek(), self.peek(1)):
            self.fail(f"NOT takes one event, found {describe(self.peek())}", hint=hint)
        return Not(self._event(), self.span_from(start))

    def _event(self) -> Event:
        start = self.pos
        token = self.peek()
        if token.kind not in (Kind.NAME, Kind.STRING):
            self._fail_without_event(token)
        if self.peek(1).is_op("(") and token.kind is Kind.NAME:
            known = _OTHER_NAMES.get(token.value.upper())
            hint = f"write {_EXAMPLES[known]}" if known else did_you_mean(token.value, OPERATORS)
            self.fail(f"{describe(token)}( ) is not an operator of patterns", token.span, hint)
        self.next()
        type_ = None
        if self._at_variable():
            type_, token = token.value, self.next()
        elif token.kind is Kind.STRING:
            hint = f"write {token.text} x"
            self.fail(f"the class {describe(token)} needs a variable behind it", token.span, hint)
        repeat = self._quantifier() if self._at_quantifier() else None
        return Event(token.value, type_, repeat, self.span_from(start))

    def _at_variable(self) -> bool:
        """Whether the name here is the variable of the class before it; without brackets a clause may begin."""
        token = self.peek()
        in_brackets = self.tokens.parent[self.pos - 1] >= 0
        return token.kind is Kind.NAME and (in_brackets or not token.is_word(*SECTIONS))

    def _fail_without_event(self, token: Token) -> None:
        hint = "write a class and a variable: Login a"
        if token.kind is Kind.OP and token.text in "+*?{":
            self.fail(
                f"the quantifier {token.text} follows nothing", token.span, "write it behind a variable: Login a+"
            )
        if token.is_op("!"):
            hint = "write NOT: SEQ(A a; NOT X x; B b)"
        if token.is_op("("):
            hint = "brackets alone do not group; write SEQ( ), ALL( ), ANY( ), OR( ) or TSEQ( )"
        self.fail_expected("an event", hint)

    def _at_quantifier(self) -> bool:
        return self.peek().kind is Kind.OP and self.peek().text in "+*?{"

    def _quantifier(self) -> Quantifier:
        token = self.next()
        low, high = read_bounds(self) if token.text == "{" else _SIMPLE_QUANTIFIERS[token.text]
        if self.at_op("?") and token.text != "?":
            hint = "lists are as long as they can be; to get others write PICK FIRST, LAST or EACH"
            self.fail("a quantifier has no ? behind it", hint=hint)
        if self._at_quantifier():
            self.fail(f"a second quantifier {describe(self.peek())}", hint="use one quantifier")
        return Quantifier(low, high)
