"""A place in a run of tokens: what every parser here looks at, steps over and complains about."""

from __future__ import annotations

from typing import NoReturn

from motif.errors import MotifError, QuerySyntaxError, Span
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.misspelt import slip_near


class Cursor:
    """Reads tokens from `pos` up to, not including, `end`; there it sees an END, named after what follows."""

    def __init__(self, tokens: Tokens, pos: int, end: int) -> None:
        self.tokens = tokens
        self.pos = pos
        self.end = end
        self._stop = Token(Kind.END, tokens[end].text, "", tokens[end].span)

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` of the current one."""
        index = self.pos + ahead
        return self.tokens[index] if index < self.end else self._stop

    def next(self) -> Token:
        """Step over the current token."""
        token = self.peek()
        self.pos = min(self.pos + 1, self.end)
        return token

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self.pos >= self.end

    @property
    def previous(self) -> Token:
        """The token just stepped over."""
        return self.tokens[max(self.pos - 1, 0)]

    def at_word(self, *words: str) -> bool:
        """Whether the current token is one of these keywords."""
        return self.peek().is_word(*words)

    def at_words(self, *words: str) -> bool:
        """Whether these keywords follow one another from here."""
        return all(self.peek(i).is_word(word) for i, word in enumerate(words))

    def at_op(self, text: str) -> bool:
        """Whether this operator, of one or more touching characters, stands here."""
        if not all(self.peek(i).is_op(char) for i, char in enumerate(text)):
            return False
        return all(self.peek(i).touches(self.peek(i + 1)) for i in range(len(text) - 1))

    def accept_word(self, *words: str) -> bool:
        """Step over the keywords if all of them stand here, in this order."""
        found = self.at_words(*words)
        if found:
            self.pos += len(words)
        return found

    def accept_op(self, text: str) -> bool:
        """Step over the operator if it stands here."""
        found = self.at_op(text)
        if found:
            self.pos += len(text)
        return found

    def expect_op(self, text: str, where: str, hint: str | None = None) -> Token:
        """Step over the operator or complain."""
        if not self.at_op(text):
            self.fail_expected(f"{text} {where}", hint)
        self.pos += len(text)
        return self.previous

    def expect_word(self, word: str, where: str, hint: str | None = None) -> Token:
        """Step over the keyword or complain."""
        if not self.at_word(word):
            self.fail_expected(f"{word} {where}", hint)
        return self.next()

    def expect_name(self, what: str, hint: str | None = None) -> Token:
        """Step over a name or complain that `what` is missing."""
        if self.peek().kind is not Kind.NAME:
            self.fail_expected(what, hint or self._quoting_hint())
        return self.next()

    def _quoting_hint(self) -> str | None:
        if self.peek().kind is not Kind.STRING:
            return None
        quote = "`" if self.tokens.dialect == "spark" else '"'
        return f"this is a string; a name is quoted with {quote}"

    def close_of(self, opener: int) -> int:
        """Index of the bracket that closes the one at `opener`."""
        return self.tokens.closer[opener]

    def text(self, start: int, end: int) -> str:
        """Source text of the tokens [start, end), with the blanks between them."""
        return self.tokens.source[self.tokens[start].span.start : self.tokens[end - 1].span.end]

    def span_from(self, start: int) -> Span:
        """From the token at `start` to the one just stepped over."""
        return self.tokens[start].span.to(self.previous.span)

    def fail(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        error: type[MotifError] = QuerySyntaxError,
    ) -> NoReturn:
        """Raise with the source line; the current token is marked where no span is given."""
        span = span or self.peek().span
        if error is QuerySyntaxError and not (hint or "").startswith("did you mean"):
            index = next((i for i, token in enumerate(self.tokens.items) if token.span.end > span.start), self.end)
            if found := slip_near(self.tokens, index, message):
                slip, hint = found
                if slip.span.start != span.start:
                    message, span = f"{describe(slip)} does not fit here", slip.span
        raise error(message, source=self.tokens.source, span=span, hint=hint)

    def fail_between_queries(self) -> NoReturn:
        """Raise that a query begins where the one before it is not ended."""
        hint = f"write ; before {describe(self.peek())}"
        self.fail("a ; is missing behind the first query", self.previous.span, hint)

    def fail_expected(self, what: str, hint: str | None = None) -> NoReturn:
        """Raise that `what` should stand here, and say what does."""
        self.fail(f"expected {what}, found {describe(self.peek())}", hint=hint)


def describe(token: Token) -> str:
    """How a message names a token."""
    if not token.text:
        return "the end"
    return token.text if len(token.text) <= 40 else f"{token.text[:37]}..."


def fold(token: Token) -> str:
    """The name of a pattern variable: upper case unless quoted."""
    return token.value if token.quoted else token.value.upper()
