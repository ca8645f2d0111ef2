"""Where, what, and what to do: every message a user of Motif can get.

`Span` marks a piece of query text, the error classes form one small tree, and `render` draws the
line with a caret. CLI, notebook and Spark print the same text, because it is the message itself.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

DEBUG = "MOTIF_DEBUG"
"""The variable of the environment with which errors keep all of their frames."""
_NOT_THE_USERS = (str(Path(__file__).parent), f"{os.sep}IPython{os.sep}", f"{os.sep}ipykernel{os.sep}")
LONGEST = 1_500
"""Characters of a text that are shown; of longer ones the beginning and the end."""
# Everything that is not seen but does something: it steers a terminal, or lets a text be read in another order.
LONG_WORD = 4
"""Letters up to which a word with another letter in it is another word."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """A text of bounded length that only says something, whatever data is in it: for all that people are told."""
    text = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    if len(text) <= LONGEST:
        return text
    end = LONGEST // 3
    return f"{text[: LONGEST - end]} ... ({len(text) - LONGEST:,} characters left out) ... {text[-end:]}"


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of character offsets in the query text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from here to the end of `other`."""
        return Span(self.start, max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake, or one likely slip, in a query: what `check` returns."""

    message: str
    span: Span | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None
    text: str = ""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return self.text or self.message


def locate(source: str, offset: int) -> tuple[int, int]:
    """Line and column (both from 1) of an offset."""
    offset = min(offset, len(source))
    before = source[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def render(message: str, source: str, span: Span, hint: str | None) -> str:
    """Message, source line, carets under the span, and the hint."""
    line, column = locate(source, span.start)
    source_line = source.split("\n")[line - 1]
    shown, shift = _clip(source_line, column)
    width = max(1, min(span.end - span.start, len(shown) - (column - shift) + 1))
    number = str(line)
    gutter = " " * len(number)
    parts = [
        f"{message} (line {line}, column {column})",
        f"  {gutter} |",
        f"  {number} | {shown}",
        f"  {gutter} | {' ' * (column - shift - 1)}{'^' * width}",
    ]
    if hint:
        parts.append(f"  hint: {hint}")
    return "\n".join(parts)


def _clip(line: str, column: int, width: int = 100) -> tuple[str, int]:
    """Cut a long line around the column; what takes no place or several becomes a blank so that carets line up."""
    clean = line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
    if len(clean) <= width:
        return clean, 0
    start = max(0, column - width // 2)
    return clean[start : start + width], start


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known names, or lists them where none is near."""
    names = list(dict.fromkeys(known))
    if meant := perhaps(name, names):
        return meant
    if names:
        more = ", ..." if len(names) > 12 else ""
        return f"known here: {', '.join(names[:12])}{more}"
    return None


def perhaps(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known names; None where none is near."""
    folded = {n.casefold(): n for n in known}
    slips = [n for n in folded if is_slip_of(name.casefold(), n)][:3]
    near = slips or difflib.get_close_matches(name.casefold()[:200], list(folded), n=3, cutoff=0.65)
    return f"did you mean {' or '.join(folded[n] for n in near)}?" if near else None


def is_slip_of(word: str, meant: str) -> bool:
    """Whether a word is another one with a letter dropped, doubled or swapped with its neighbour, or a wrong one."""
    if word == meant or abs(len(word) - len(meant)) > 1:
        return False
    is_long = len(meant) > LONG_WORD
    pairs = enumerate(zip(word, meant, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(word), len(meant)))
    if len(word) > len(meant):
        return word[at + 1 :] == meant[at:] and (is_long or word[at] in meant[max(at - 1, 0) : at + 1])
    if len(word) < len(meant):
        return len(word) > 1 and word[at:] == meant[at + 1 :]
    is_swapped = word[at : at + 2] == meant[at : at + 2][::-1] and word[at + 2 :] == meant[at + 2 :]
    return is_swapped or (is_long and word[at + 1 :] == meant[at + 1 :])


class _Message(Exception):
    """What `str()` shows of an error or a warning, and the same facts as data."""

    severity: Literal["error", "warning"] = "error"

    def __init__(
        self, message: str, *, source: str | None = None, span: Span | None = None, hint: str | None = None
    ) -> None:
        message, hint = shown(message), hint and shown(hint)
        self.message = message
        self.hint = hint
        self.source = source
        self.span = span
        self.line: int | None = None
        self.column: int | None = None
        text = message if hint is None else f"{message}\n  hint: {hint}"
        if source is not None and span is not None:
            self.line, self.column = locate(source, span.start)
            text = render(message, source, span, hint)
        super().__init__(text)

    def diagnostic(self) -> Diagnostic:
        """The same facts as data."""
        return Diagnostic(self.message, self.span, self.hint, self.line, self.column, str(self), self.severity)


class MotifError(_Message):
    """Root of everything Motif raises for a user; `str()` is ready to be shown."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the lines of its own that led here, and the message."""
        frames = traceback.extract_tb(self.__traceback__)
        own = [frame for frame in frames if not any(part in frame.filename for part in _NOT_THE_USERS)]
        return [*(line.rstrip("\n") for line in traceback.format_list(own)), f"{type(self).__name__}: {self}"]


class MotifWarning(_Message, UserWarning):
    """A likely slip: the query is answered as it was written, which may not be what was meant."""

    severity = "warning"

    def as_error(self) -> MotifError:
        """The same where one is strict."""
        return MotifError(self.message, source=self.source, span=self.span, hint=self.hint)


class HostError(Exception):
    """What a host says of a query that it was asked about; nobody but us sees it (`only_ours`)."""

    def as_error(self, source: str | None = None, span: Span | None = None) -> MotifError:
        """The same as one of ours, pointing at the user's text."""
        first, _, rest = str(self).partition("\n")
        return QueryBindError(first, source=source, span=span, hint=" ".join(rest.split())[:200] or None)


def only_ours(call: Callable[P, T]) -> Callable[P, T]:
    """Where users call us: what they did wrong is told without the frames below, which say nothing to them.

    An error of a host that nobody could place better is told as one of ours. `MOTIF_DEBUG=1` keeps the frames.
    """

    @wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return call(*args, **kwargs)
        except (MotifError, HostError) as error:
            if os.environ.get(DEBUG):
                raise
            told = error if isinstance(error, MotifError) else error.as_error()
            raise told.with_traceback(None) from told.__cause__

    return guarded


class QuerySyntaxError(MotifError):
    """The text is not a query; fix the spelling at the caret."""


class QueryBindError(MotifError):
    """The text is a query, but names or types do not fit the tables; fix the name or cast."""


class UnsupportedQuery(MotifError):
    """Meaningful, but not offered; the hint says how to say it otherwise."""


class LimitExceeded(MotifError):
    """A named limit stopped the work; raise the limit or make the query smaller."""


class QueryDataError(MotifError):
    """The query met rows for which it has no answer (a SKIP target that is not there, an overflow)."""
