"""SQL text to tokens, in one linear pass that also holds the limits on text.

Operators come out as single characters: `||`, `{-` or `??` mean different things inside and outside
of PATTERN, so whoever parses joins neighbours (`Token.touches`). Brackets are paired here, once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal as OneOf
from typing import NoReturn, TypeAlias

from motif import limits as limits_module
from motif.errors import LimitExceeded, MotifError, QuerySyntaxError, Span
from motif.lang.strings import unescape_spark
from motif.limits import Limits

Dialect: TypeAlias = OneOf["duckdb", "spark"]


class Kind(Enum):
    """What a token is; keywords are names until a parser asks."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    OP = "operator"
    END = "end of text"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text; `value` is the name or string without its quotes."""

    kind: Kind
    text: str
    value: str
    span: Span
    quoted: bool = False

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the (upper-case) keywords, unquoted."""
        return self.kind is Kind.NAME and not self.quoted and self.text.upper() in words

    def is_op(self, char: str) -> bool:
        """Whether this is that one-character operator."""
        return self.kind is Kind.OP and self.text == char

    def touches(self, following: Token) -> bool:
        """No blank between the two."""
        return self.span.end == following.span.start


@dataclass(frozen=True)
class Tokens:
    """All tokens of a text (an END token last) and how its brackets pair up."""

    source: str
    for_host: str
    """The same text, letter for letter in its place, with blanks where comments were: hosts see no comment."""
    dialect: Dialect
    limits: Limits
    items: tuple[Token, ...]
    closer: dict[int, int] = field(repr=False)
    """Index of each opening bracket -> index of its closing one."""
    parent: tuple[int, ...] = field(repr=False)
    """For each token the index of the bracket around it, -1 at the top."""

    def __getitem__(self, index: int) -> Token:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def opener(self, close: int) -> int:
        """Index of the bracket that the one at `close` closes."""
        return self.parent[close]


_BLANK = re.compile(r"[ \t\r\n]+")
_LINE_END = re.compile(r"[\r\n]")
_HINT = re.compile(r"/\*\+[\w \t\r\n(),.]*\*/")
_NOT_LINE_END = re.compile(r"[^\r\n]")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SEPARATED = re.compile(r"[0-9.eE+-]+(?:_[0-9.eE+-]+)*")
_WORD = re.compile(r"\w+")
_SPARK_NUMBER_WORD = re.compile(r"[0-9]+(?:[eE][0-9]*)?(?:[LSYDFlsydf]|BD|bd)?")
_DOLLAR_TAG = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SPARK_SUFFIXES = frozenset({"L", "S", "Y", "D", "F", "BD"})
_OPERATORS = frozenset("+-*/%=<>!&|^~.,;()[]{}:?$@#\\")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def tokenize(
    text: str, dialect: Dialect = "duckdb", limits: Limits | None = None, units: frozenset[str] = frozenset()
) -> Tokens:
    """Split the text; raises on anything that no later stage could make sense of.

    `units` are upper-case words that may follow a number without a blank: `10min` is then one number.
    """
    return _Lexer(text, dialect, limits or limits_module.LIMITS, units).run()


class _Lexer:
    def __init__(self, text: str, dialect: Dialect, limits: Limits, units: frozenset[str]) -> None:
        self.text = text
        self.units = units
        self.dialect = dialect
        self.limits = limits
        self.pos = 0
        self.items: list[Token] = []
        self.closer: dict[int, int] = {}
        self.parent: list[int] = []
        self.open: list[int] = []
        self.comments: list[Span] = []
        self.points = 0
        # Where `$tag$` is not a string: inside PATTERN ( ... ) of a clause, `A$B$` has two anchors.
        self.clause_bracket = -1
        self.pattern_bracket = -1

    def run(self) -> Tokens:
        self._check_text()
        while self._skip_blanks():
            self._check_length()
            self._next()
        if self.open:
            bracket = self.items[self.open[-1]]
            self._fail(f"this {bracket.text} is never closed", bracket.span, f"add the missing {_PAIRS[bracket.text]}")
        self._emit(Kind.END, "", "", len(self.text))
        items = tuple(self.items)
        return Tokens(self.text, self._for_host(), self.dialect, self.limits, items, self.closer, tuple(self.parent))

    def _check_text(self) -> None:
        limit = self.limits.query_chars
        if len(self.text) > limit:
            raise LimitExceeded(
                f"the query text has {len(self.text):,} characters, more than the limit query_chars = {limit:,}",
                source=self.text[: limit + 1],
                span=Span(limit, limit + 1),
                hint="keep data in tables, not in the query; or raise query_chars in motif.limits",
            )
        if bad := _FORBIDDEN.search(self.text):
            span = Span(bad.start(), bad.end())
            code = f"U+{ord(bad.group()):04X}"
            self._fail(f"the query text holds the control character {code}", span, "remove it")
        # Spark replaces ${...} by settings or environment variables before it parses, even inside of strings.
        if self.dialect == "spark" and (at := self.text.find("${")) >= 0:
            self._fail("${ is not allowed in a query for Spark", Span(at, at + 2), "put a blank or || between $ and {")

    def _check_length(self) -> None:
        limit = self.limits.query_tokens
        if len(self.items) >= limit:
            message = f"the query has more than query_tokens = {limit:,} words, numbers, strings and signs"
            hint = "keep data in tables, not in the query"
            self._fail(message, Span(self.pos, self.pos + 1), hint, LimitExceeded)

    def _for_host(self) -> str:
        """Where a comment ends, hosts disagree with each other and with us; so they get none."""
        pieces: list[str] = []
        done = 0
        for comment in self.comments:
            pieces.append(self.text[done : comment.start])
            pieces.append(_NOT_LINE_END.sub(" ", self.text[comment.start : comment.end]))
            done = comment.end
        return "".join([*pieces, self.text[done:]])

    def _skip_blanks(self) -> bool:
        """Move behind blanks and comments; False at the end of the text."""
        while self.pos < len(self.text):
            if blank := _BLANK.match(self.text, self.pos):
                self.pos = blank.end()
            elif self.text.startswith("--", self.pos):
                line_end = _LINE_END.search(self.text, self.pos)
                self._skip_comment(line_end.start() if line_end else len(self.text))
            elif self.text.startswith("/*", self.pos):
                self._skip_block_comment()
            else:
                return True
        return False

    def _skip_block_comment(self) -> None:
        start = self.pos
        if self.dialect == "spark" and self.text.startswith("/*+", start):
            return self._skip_hint()
        end = self.text.find("*/", start + 2)
        if end < 0:
            self._fail("this comment is never closed", Span(start, start + 2), "add the missing */")
        # Whoever wrote it may mean the first or the second end.
        inner = self.text.find("/*", start + 2, end)
        if inner >= 0:
            self._fail("a comment inside a comment", Span(inner, inner + 2), "close the first comment with */ before")
        self._skip_comment(end + 2)

    def _skip_hint(self) -> None:
        """A hint is for Spark; it may hold names and numbers, so that it ends where it seems to end."""
        hint = _HINT.match(self.text, self.pos)
        if hint is None:
            known = "a hint may hold names, numbers, commas and parentheses: /*+ BROADCAST(t) */"
            self._fail("this hint is not understood", Span(self.pos, self.pos + 3), known)
        self.pos = hint.end()

    def _skip_comment(self, end: int) -> None:
        self.comments.append(Span(self.pos, end))
        self.pos = end

    def _next(self) -> None:
        char = self.text[self.pos]
        if char == "'" or (char == '"' and self.dialect == "spark"):
            self._string(self.pos, escapes=self.dialect == "spark")
        elif char == '"' or (char == "`" and self.dialect == "spark"):
            self._quoted_name(char)
        elif char in "0123456789" or (char == "." and self._is_fraction()):
            self._number()
        elif name := _NAME.match(self.text, self.pos):
            self._name(name.group())
        elif char == "$" and self._dollar_string():
            return
        elif char in _OPERATORS:
            self._operator(char)
        else:
            self._unexpected(char)

    def _unexpected(self, char: str) -> NoReturn:
        span = Span(self.pos, self.pos + 1)
        if char.isspace() or char == "\ufeff":
            self._fail(f"U+{ord(char):04X} is not an ordinary blank", span, "replace it by a space")
        if char == "`":
            self._fail("unexpected `", span, 'quote names with double quotes: "name"')
        if char in "\u201c\u201d\u2018\u2019":
            self._fail(f"unexpected {char}", span, "typographic quotes do not quote; use ' or \"")
        self._fail(f"unexpected character {char!r}", span, "leave it out, or put the text that it is part of in quotes")

    def _name(self, name: str) -> None:
        following = self.text[self.pos + len(name) : self.pos + len(name) + 1]
        prefix = name.upper()
        if following == "'" and prefix == "E" and self.dialect == "duckdb":
            return self._string(self.pos + 1, escapes=True)
        if following in ("'", '"') and prefix == "R" and self.dialect == "spark":
            return self._raw_string(self.pos + 1)
        self._check_name(name, self.pos, self.pos + len(name))
        self._emit(Kind.NAME, name, name, self.pos + len(name))

    def _quoted_name(self, quote: str) -> None:
        end = self._closing_quote(self.pos, quote, escapes=False, what="quoted name")
        text = self.text[self.pos : end]
        value = text[1:-1].replace(quote * 2, quote)
        if not value:
            self._fail("an empty name", Span(self.pos, end), None)
        self._check_name(value, self.pos, end)
        self._emit(Kind.NAME, text, value, end, quoted=True)

    def _check_name(self, name: str, start: int, end: int) -> None:
        self._check_path(start, end)
        limit = self.limits.identifier_chars
        if len(name) > limit:
            message = f"a name of {len(name):,} characters, more than the limit identifier_chars = {limit}"
            self._fail(message, Span(start, end), None, LimitExceeded)

    def _check_path(self, start: int, end: int) -> None:
        """What hosts do with `a.b.c` takes longer than its length."""
        self.points = self.points + 1 if self.items and self.items[-1].is_op(".") else 0
        limit = self.limits.name_parts
        if self.points >= limit:
            message = f"more than name_parts = {limit} names with points between them"
            self._fail(message, Span(start, end), None, LimitExceeded)

    def _string(self, quote_at: int, *, escapes: bool) -> None:
        quote = self.text[quote_at]
        end = self._closing_quote(quote_at, quote, escapes=escapes, what="string")
        text = self.text[self.pos : end]
        value = self.text[quote_at + 1 : end - 1].replace(quote * 2, quote)
        if self.dialect == "spark":
            value = unescape_spark(value)
        self._emit(Kind.STRING, text, value, end)

    def _raw_string(self, quote_at: int) -> None:
        end = self.text.find(self.text[quote_at], quote_at + 1)
        if end < 0:
            self._fail("this string is never closed", Span(self.pos, quote_at + 1), None)
        self._emit(Kind.STRING, self.text[self.pos : end + 1], self.text[quote_at + 1 : end], end + 1)

    def _closing_quote(self, at: int, quote: str, *, escapes: bool, what: str) -> int:
        """Offset behind the closing quote; a doubled quote (or an escaped one) does not close."""
        stop = re.compile(rf"[{quote}\\]" if escapes else quote)
        pos = at + 1
        while found := stop.search(self.text, pos):
            pos = found.end()
            if found.group() == "\\" or self.text.startswith(quote, pos):
                pos += 1
            else:
                return pos
        self._fail(f"this {what} is never closed", Span(at, at + 1), f"add the missing {quote}")

    def _dollar_string(self) -> bool:
        """DuckDB's $$text$$ and $tag$text$tag$; False where the $ is just an operator."""
        tag = _DOLLAR_TAG.match(self.text, self.pos)
        if self.dialect != "duckdb" or self.pattern_bracket >= 0 or tag is None:
            return False
        end = self.text.find(tag.group(), tag.end())
        if end < 0:
            self._fail("this string is never closed", Span(*tag.span()), f"add the missing {tag.group()}")
        stop = end + len(tag.group())
        self._emit(Kind.STRING, self.text[self.pos : stop], self.text[tag.end() : end], stop)
        return True

    def _is_fraction(self) -> bool:
        """`.5` is a number, but not in `a.5`."""
        previous = self.items[-1] if self.items else None
        glued = previous is not None and previous.span.end == self.pos
        follows_operand = previous is not None and (previous.kind is not Kind.OP or previous.text in ")]}")
        return self.text[self.pos + 1 : self.pos + 2] in tuple("0123456789") and not (glued and follows_operand)

    def _number(self) -> None:
        word = _WORD.match(self.text, self.pos)
        if self.dialect == "spark" and word and not _SPARK_NUMBER_WORD.fullmatch(word.group()):
            # In Spark a name may begin with digits.
            return self._emit(Kind.NAME, word.group(), word.group(), word.end())
        number = _NUMBER.match(self.text, self.pos)
        assert number is not None, "called on a digit or on a point before a digit"
        tail = _WORD.match(self.text, number.end())
        end = tail.end() if tail else number.end()
        text = self.text[self.pos : end]
        self._check_number(text, number.group(), text[len(number.group()) :])
        self._emit(Kind.NUMBER, text, text.replace("_", ""), end)

    def _check_number(self, text: str, digits: str, suffix: str) -> None:
        span = Span(self.pos, self.pos + len(text))
        limit = self.limits.literal_digits
        if len(digits) > limit:
            message = f"a number of {len(digits):,} characters, more than the limit literal_digits = {limit:,}"
            self._fail(message, span, None, LimitExceeded)
        known = self.units | (_SPARK_SUFFIXES if self.dialect == "spark" else frozenset())
        suffix_is_fine = not suffix or suffix.upper() in known
        if not suffix_is_fine or not _SEPARATED.fullmatch(digits):
            self._fail(f"malformed number {text[:40]}", span, "a name that begins with a digit needs quotes")

    def _operator(self, char: str) -> None:
        if char in ")]}":
            return self._close(char)
        previous = self.items[-1] if self.items else None
        index = len(self.items)
        self._emit(Kind.OP, char, char, self.pos + 1)
        if char in _PAIRS:
            self.open.append(index)
            self._check_depth()
            if char == "(" and previous is not None:
                self._note_pattern(previous, index)

    def _note_pattern(self, before: Token, index: int) -> None:
        if before.is_word("MATCH_RECOGNIZE"):
            self.clause_bracket = index
        elif before.is_word("PATTERN") and self.parent[index] == self.clause_bracket >= 0:
            self.pattern_bracket = index

    def _check_depth(self) -> None:
        limit = self.limits.nesting_depth
        if len(self.open) > limit:
            message = f"brackets are nested more than nesting_depth = {limit} deep"
            self._fail(message, self.items[-1].span, "build the query in steps, with WITH", LimitExceeded)

    def _close(self, char: str) -> None:
        span = Span(self.pos, self.pos + 1)
        if not self.open:
            self._fail(f"this {char} closes nothing", span, f"remove it, or add the missing {_opening(char)}")
        opener = self.items[self.open[-1]]
        if _PAIRS[opener.text] != char:
            shown, end = (
                ("{-", "-}") if self.text[opener.span.start :].startswith("{-") else (opener.text, _PAIRS[opener.text])
            )
            hint = f"close the {shown} from character {opener.span.start + 1} with {end} first"
            self._fail(f"{char} does not close {opener.text}", span, hint)
        self.closer[self.open[-1]] = len(self.items)
        # The closing bracket names its opener as parent; `Tokens.opener` reads it.
        self._emit(Kind.OP, char, char, self.pos + 1)
        closed = self.open.pop()
        if closed == self.pattern_bracket:
            self.pattern_bracket = -1

    def _emit(self, kind: Kind, text: str, value: str, end: int, *, quoted: bool = False) -> None:
        self.items.append(Token(kind, text, value, Span(self.pos, end), quoted))
        self.parent.append(self.open[-1] if self.open else -1)
        self.pos = end

    def _fail(self, message: str, span: Span, hint: str | None, error: type[MotifError] = QuerySyntaxError) -> NoReturn:
        raise error(message, source=self.text, span=span, hint=hint)


def _opening(closing: str) -> str:
    return next(opening for opening, close in _PAIRS.items() if close == closing)
