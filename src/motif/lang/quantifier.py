"""The bounds of a quantifier: `{2}`, `{2,}`, `{2,3}`, `{,3}`, `{,}`."""

from __future__ import annotations

from motif.errors import LimitExceeded
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Kind


def read_bounds(cursor: Cursor) -> tuple[int, int | None]:
    """`n}`, `n,}`, `n,m}`, `,m}` or `,}`; the opening brace has been read."""
    opener = cursor.pos - 1
    low = _bound(cursor)
    high: int | None = low
    if cursor.accept_op(","):
        high = _bound(cursor)
    elif low is None:
        cursor.fail_expected("a number after {", "write {2}, {2,}, {2,3} or {,3}; {- A -} excludes")
    cursor.expect_op("}", "after the quantifier's bounds", "write {2}, {2,}, {2,3} or {,3}")
    if high == 0 or (high is not None and high < (low or 0)):
        hint = "at least one repetition must be allowed" if high == 0 else f"write {{{high},{low}}}"
        cursor.fail(f"{cursor.text(opener, cursor.pos)} allows no repetition", cursor.span_from(opener), hint)
    return low or 0, high


def _bound(cursor: Cursor) -> int | None:
    if cursor.peek().kind is not Kind.NUMBER:
        return None
    token = cursor.next()
    limit = cursor.tokens.limits.quantifier_bound
    if not token.value.isascii() or not token.value.isdecimal():
        cursor.fail(f"{describe(token)} is not a whole number", token.span)
    # Compared by length first: int() of thousands of digits is slow and may be refused.
    digits = token.value.lstrip("0") or "0"
    if len(digits) > len(str(limit)) or int(digits) > limit:
        message = f"the repetition {describe(token)} is more than the limit quantifier_bound = {limit:,}"
        cursor.fail(message, token.span, "use * or + where any number will do", LimitExceeded)
    return int(digits)
