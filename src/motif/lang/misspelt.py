"""Words that were meant for another one: what parsers look for where a text does not go on as it must."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from motif.errors import Span, is_slip_of
from motif.lang.lexer import Dialect, Kind, Token, Tokens, tokenize

_CONDITIONS = """AS AND OR NOT BETWEEN IN LIKE ILIKE IS NULL TRUE FALSE CASE WHEN THEN ELSE END DISTINCT INTERVAL
    SECOND SECONDS MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS MILLISECOND MILLISECONDS"""
_CLAUSE = """PARTITION BY ORDER ASC DESC NULLS FIRST LAST MEASURES RUNNING FINAL ONE ALL ROW ROWS PER MATCH SHOW OMIT
    EMPTY MATCHES WITH UNMATCHED AFTER SKIP PAST TO NEXT MAXIMAL INCREMENTAL PATTERN PERMUTE WITHIN SUBSET
    DEFINE FROM"""
_EVENTS = """DEFINE SELECT FROM PATTERN SEQUENCE CONJUNCTION DISJUNCTION WITH SEQ ALL ANY TSEQ WHERE FILTER PICK FIRST
    LAST EACH WITHIN EVENTS RETURN CONSUMING NONE MIN MINS"""
_AROUND = """SELECT WHERE GROUP HAVING QUALIFY LIMIT OFFSET UNION EXCEPT INTERSECT JOIN LEFT RIGHT INNER OUTER FULL
    CROSS ON USING VALUES MATCH_RECOGNIZE"""
_OF_A_CLAUSE = tuple(dict.fromkeys(f"{_CONDITIONS} {_CLAUSE}".split()))
_OF_EVENTS = tuple(dict.fromkeys(f"{_CONDITIONS} {_EVENTS}".split()))
_OF_CASE = ("CASE", "WHEN", "THEN", "ELSE", "END")
_OF_STATEMENTS = (*_OF_A_CLAUSE, *_AROUND.split())
_NEAR = (0, -1, -2, 1, 2)
"""Where the word may be, from the token that did not fit."""
_SHORTEST = 2


def meant_for(token: Token, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of which a token is a slip; none if it is one of them."""
    word = token.text.upper()
    if token.kind is not Kind.NAME or token.quoted or len(word) < _SHORTEST or word in words:
        return ()
    found = [other for other in words if is_slip_of(word, other)]
    return tuple(sorted(found, key=lambda other: -SequenceMatcher(None, word, other).ratio()))


def slip_near(tokens: Tokens, index: int, message: str) -> tuple[Token, str] | None:
    """A misspelt word of the language at or around a token that does not fit, and what to say of it.

    What stands twice in a text is a name. Words that the message names are those that fit best.
    """
    words = _OF_A_CLAUSE if any(token.is_word("MATCH_RECOGNIZE") for token in tokens.items) else _OF_EVENTS
    if not any(token.is_word(*_OF_CASE) for token in tokens.items):
        words = tuple(word for word in words if word not in _OF_CASE)
    return _slip_around(tokens, index, words, message)


def slip_in_sql(text: str, offset: int, dialect: Dialect) -> tuple[Span, str] | None:
    """The same for a place of a statement that a host could not read."""
    tokens = tokenize(text, dialect)
    index = next((i for i, token in enumerate(tokens.items) if token.span.end > offset), len(tokens) - 1)
    found = _slip_around(tokens, index, _OF_STATEMENTS, "")
    return None if found is None else (found[0].span, found[1])


def _slip_around(tokens: Tokens, index: int, words: tuple[str, ...], message: str) -> tuple[Token, str] | None:
    for place in _NEAR:
        if not 0 <= index + place < len(tokens) or _is_name(tokens, index + place):
            continue
        token = tokens[index + place]
        if found := meant_for(token, words):
            expected = set(re.findall(r"[A-Z]{2,}", message.partition(", found")[0]))
            return token, f"did you mean {' or '.join([word for word in found if word in expected] or found[:3])}?"
    return None


def _is_name(tokens: Tokens, index: int) -> bool:
    """Whether a token can only be a name: it belongs to another one, or stands elsewhere as well."""
    token = tokens[index]
    if (index and tokens[index - 1].is_op(".")) or (index + 1 < len(tokens) and tokens[index + 1].is_op(".")):
        return True
    same = token.text.casefold()
    return sum(other.text.casefold() == same for other in tokens.items) > 1
