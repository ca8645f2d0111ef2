"""PATTERN ( ... ): tokens to pattern nodes, with a stack instead of recursion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from motif.errors import LimitExceeded, Span
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var, variables
from motif.lang.cursor import Cursor, describe, fold
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.misspelt import meant_for
from motif.lang.quantifier import read_bounds

_UNBOUNDED = {"*": 0, "+": 1}
_QUANTIFIERS = "*+?"


class _Bracket(Enum):
    GROUP = "( )"
    EXCLUDE = "{- -}"
    PERMUTE = "PERMUTE( )"


@dataclass
class _Frame:
    """An open bracket: finished PERMUTE items, finished alternatives, and the current sequence."""

    bracket: _Bracket
    start: int
    close: int
    items: list[Pattern] = field(default_factory=list)
    choices: list[Pattern] = field(default_factory=list)
    sequence: list[Pattern] = field(default_factory=list)


def parse_pattern(tokens: Tokens, open_bracket: int) -> Pattern:
    """The pattern between the bracket at this index and the one that closes it."""
    return _PatternParser(tokens, open_bracket).run()


class _PatternParser(Cursor):
    def __init__(self, tokens: Tokens, open_bracket: int) -> None:
        super().__init__(tokens, open_bracket + 1, tokens.closer[open_bracket] + 1)
        self.frames = [_Frame(_Bracket.GROUP, open_bracket, self.end - 1)]

    def run(self) -> Pattern:
        while len(self.frames) > 1 or self.pos < self.end - 1:
            self._step()
        self.pos += 1
        pattern = self._finish(self.frames[0])
        self._check_variables(pattern)
        return pattern

    def _step(self) -> None:
        token = self.peek()
        frame = self.frames[-1]
        if frame.bracket is _Bracket.EXCLUDE and self.pos == frame.close - 1 and token.is_op("-"):
            self.pos += 1
        elif self.pos == frame.close:
            self._close()
        elif token.is_op("|"):
            frame.choices.append(self._sequence(frame))
            self.pos += 1
        elif token.is_op(",") and frame.bracket is _Bracket.PERMUTE:
            frame.items.append(self._item(frame))
            self.pos += 1
        elif not self._open():
            self._leaf()

    def _open(self) -> bool:
        if self.at_word("PERMUTE") and self.peek(1).is_op("("):
            self._push(_Bracket.PERMUTE, self.pos, self.pos + 1)
        elif self.at_op("("):
            self._push(_Bracket.GROUP, self.pos, self.pos)
        elif self.at_op("{") and self.peek(1).is_op("-"):
            self._push(_Bracket.EXCLUDE, self.pos, self.pos)
            self._check_exclusion()
        else:
            return False
        return True

    def _push(self, bracket: _Bracket, start: int, opener: int) -> None:
        self.frames.append(_Frame(bracket, start, self.close_of(opener)))
        self.pos = opener + 1

    def _check_exclusion(self) -> None:
        self.pos += 1
        close = self.frames[-1].close
        if close - 1 < self.pos or not self.tokens[close - 1].is_op("-"):
            self.fail("an exclusion {- ends with -}", self.tokens[close].span, "write {- A -}")

    def _close(self) -> None:
        frame = self.frames.pop()
        self.pos = frame.close + 1
        self._append(self._finish(frame), frame.start)

    def _finish(self, frame: _Frame) -> Pattern:
        span = self.span_from(frame.start)
        match frame.bracket:
            case _Bracket.GROUP:
                body = self._item(frame)
                # The caret of a group includes its parentheses; a lone variable keeps its own.
                return body if isinstance(body, Var) else replace(body, span=span)
            case _Bracket.EXCLUDE:
                return Exclude(self._item(frame), span)
            case _Bracket.PERMUTE:
                return self._permute(frame, span)

    def _permute(self, frame: _Frame, span: Span) -> Permute:
        items = (*frame.items, self._item(frame))
        if any(isinstance(item, Empty) for item in items):
            self.fail("PERMUTE with nothing between two commas", span, "write PERMUTE(A, B, C)")
        limit = self.tokens.limits.permute_items
        if len(items) > limit:
            message = f"PERMUTE of {len(items)} items, more than the limit permute_items = {limit}"
            self.fail(message, span, "use fewer items", LimitExceeded)
        return Permute(items, span)

    def _item(self, frame: _Frame) -> Pattern:
        """The alternatives collected so far as one pattern; the frame is then ready for the next item."""
        last = self._sequence(frame)
        if not frame.choices:
            return last
        choices, frame.choices = (*frame.choices, last), []
        return Choice(choices, _cover(choices))

    def _sequence(self, frame: _Frame) -> Pattern:
        parts, frame.sequence = tuple(frame.sequence), []
        if not parts:
            at = self.previous.span.end
            return Empty(Span(at, at))
        return parts[0] if len(parts) == 1 else Seq(parts, _cover(parts))

    def _leaf(self) -> None:
        start = self.pos
        token = self.next()
        if token.kind is Kind.NAME:
            self._append(Var(fold(token), token.span), start)
        elif token.is_op("^") or token.is_op("$"):
            self._append(Anchor(token.text == "^", token.span), start)
        else:
            self._unexpected(token)

    def _unexpected(self, token: Token) -> None:
        if token.kind is Kind.OP and token.text in "*+?{":
            self.fail(f"the quantifier {token.text} follows nothing", token.span, "write it after a variable: A+")
        hint = None
        if token.is_op(","):
            before = self.tokens[self.tokens.parent[self.pos - 1] - 1]
            if meant_for(before, ("PERMUTE",)):
                self.fail(f"{describe(before)} has no meaning before (", before.span, "did you mean PERMUTE?")
            hint = "variables follow each other without commas: PATTERN (A B C)"
        elif token.is_op("&"):
            hint = "put both conditions into one DEFINE, with AND"
        elif token.kind is Kind.STRING:
            hint = "a pattern variable is a name, not a string"
        elif token.kind is Kind.OP and token.text in "-=>;~":
            hint = "variables follow each other without signs: PATTERN (A B C); rows between them are PATTERN (A X*? B)"
        self.fail(f"{describe(token)} has no meaning in PATTERN", token.span, hint)

    def _append(self, node: Pattern, start: int) -> None:
        if self._at_quantifier():
            node = self._quantified(node, start)
            if self._at_quantifier():
                hint = "use one quantifier, or parentheses: (A*)*"
                self.fail(f"a second quantifier {describe(self.peek())}", hint=hint)
        self.frames[-1].sequence.append(node)

    def _at_quantifier(self) -> bool:
        token = self.peek()
        exclusion = self.peek(1).is_op("-")
        return token.kind is Kind.OP and (token.text in _QUANTIFIERS or (token.text == "{" and not exclusion))

    def _quantified(self, body: Pattern, start: int) -> Repeat:
        token = self.next()
        if token.text == "{":
            low, high = read_bounds(self)
        elif token.text == "?":
            low, high = 0, 1
        else:
            low, high = _UNBOUNDED[token.text], None
        greedy = not self.accept_op("?")
        return Repeat(body, low, high, greedy, self.span_from(start))

    def _check_variables(self, pattern: Pattern) -> None:
        limit = self.tokens.limits.pattern_variables
        count = len(variables(pattern))
        if count > limit:
            message = f"PATTERN has {count} variables, more than the limit pattern_variables = {limit}"
            self.fail(message, pattern.span, None, LimitExceeded)


def _cover(parts: tuple[Pattern, ...]) -> Span | None:
    first, last = parts[0].span, parts[-1].span
    return first.to(last) if first and last else None
