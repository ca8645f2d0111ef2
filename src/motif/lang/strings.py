"""What Spark makes of backslashes in a string literal."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def unescape_spark(text: str) -> str:
    r"""The value of the inside of a Spark string literal.

    >>> unescape_spark(r"a\tb \u0041 50\%")
    'a\tb A 50\\%'
    """
    if "\\" not in text:
        return text
    value = _ESCAPE.sub(_unescape_one, text)
    # \uD83D\uDE00 is one character written as two halves.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape_one(found: re.Match[str]) -> str:
    short, long, octal, other = found.groups()
    if octal:
        return chr(int(octal, 8))
    if short or long:
        code = int(short or long, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    return _NAMED.get(other, other)
