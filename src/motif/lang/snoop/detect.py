"""Which language a text is written in."""

from __future__ import annotations

import re

from motif.errors import MotifError, perhaps
from motif.lang.lexer import Dialect, Kind, Tokens, tokenize
from motif.lang.misspelt import meant_for
from motif.lang.snoop.duration import GLUED_UNITS
from motif.lang.snoop.pattern import OPERATORS, at_operator

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LOOKS_LIKE_EVENTS = re.compile(
    r"\s*(DEFINE\b|PATTERN\s+(SEQUENCE|CONJUNCTION|DISJUNCTION)\b|SELECT\b.*\bFROM\s+(\S+\s+)?(SEQ|ALL|ANY|OR|TSEQ)\s*\()",
    re.IGNORECASE | re.DOTALL,
)
_SHORT_FORMS = ("SEQUENCE", "CONJUNCTION", "DISJUNCTION", "WITH")
_ONLY_HERE = ("PICK", "WITHIN", "RETURN", "CONSUMING")
_NEXT = ("WHERE", *_ONLY_HERE)
_ONLY_SQL = tuple(
    """AS ON USING JOIN LEFT RIGHT INNER OUTER FULL CROSS NATURAL ASOF SEMI ANTI POSITIONAL LATERAL TABLESAMPLE PIVOT
    UNPIVOT BY HAVING QUALIFY WINDOW LIMIT OFFSET FETCH UNION EXCEPT INTERSECT SAMPLE""".split()
)
"""Words behind FROM that an event query can not have."""


def is_event_query(text: str, dialect: Dialect = "duckdb") -> bool:
    """Whether the text is of the event language rather than SQL with MATCH_RECOGNIZE."""
    try:
        tokens = tokenize(text, dialect, units=GLUED_UNITS)
    except MotifError:
        # Not even tokens: the guess only decides which parser complains about it.
        bare = _COMMENTS.sub(" ", text)
        return _LOOKS_LIKE_EVENTS.match(bare) is not None and "match_recognize" not in bare.lower()
    return _is_event_query(tokens)


def looks_like_events(text: str) -> bool:
    """Whether a text that is no clause was rather meant for an event query: it begins like one."""
    found = re.match(r"\s*(\w+)", _COMMENTS.sub(" ", text))
    word = found[1].upper() if found and "match_recognize" not in text.lower() else ""
    return word in ("FROM", *OPERATORS) or (word != "" and perhaps(word, ("SELECT", "DEFINE", "PATTERN")) is not None)


def _is_event_query(tokens: Tokens) -> bool:
    first = tokens[0]
    if first.is_word("DEFINE"):
        return True
    if first.is_word("PATTERN") or (meant_for(first, ("PATTERN",)) and tokens[1].is_word(*_SHORT_FORMS)):
        return tokens[1].kind is Kind.NAME
    clause = any(
        token.is_word("MATCH_RECOGNIZE") and tokens[index + 1].is_op("(") for index, token in enumerate(tokens.items)
    )
    if clause or not (first.is_word("SELECT") or meant_for(first, ("SELECT", "DEFINE"))):
        return False
    places = (index for index, token in enumerate(tokens.items) if _is_from(tokens, index) and token.kind is Kind.NAME)
    at = next(places, len(tokens))
    return misspelt_from(tokens, at) is not None or (at < len(tokens) and _begins_pattern(tokens, at + 1))


def misspelt_from(tokens: Tokens, end: int) -> int | None:
    """Where FROM seems to be meant: a word like it before `SEQ(`, or another operator, or `source SEQ(`."""
    for index in range(1, min(end, len(tokens) - 3)):
        token, (one, two, three) = tokens[index], tokens.items[index + 1 : index + 4]
        is_source = one.kind in (Kind.NAME, Kind.STRING) and not one.is_word("FROM")  # which would be the right one
        is_named = is_source and at_operator(two, three)
        is_before_pattern = tokens.parent[index] < 0 and (at_operator(one, two) or is_named)
        is_other_word = token.kind is Kind.NAME and not token.is_word("FROM")
        if is_before_pattern and is_other_word and perhaps(token.text, ("FROM",)):
            return index
    return None


def _is_from(tokens: Tokens, index: int) -> bool:
    behind_name = index > 0 and (tokens[index - 1].is_op(".") or tokens[index - 1].is_word("DISTINCT", "AS"))
    return tokens[index].is_word("FROM") and tokens.parent[index] < 0 and not behind_name


def _begins_pattern(tokens: Tokens, pos: int) -> bool:
    """Whether `[source] SEQ(`, or an event that is no table with an alias, stands behind FROM."""
    behind = [token for token in tokens.items[pos:] if token.kind is not Kind.END]
    if not behind or behind[0].kind not in (Kind.NAME, Kind.STRING):
        return False
    path = 1
    while path + 1 < len(behind) and behind[path].is_op(".") and behind[path + 1].kind is Kind.NAME:
        path += 2
    for skip in (0, path):
        if skip + 1 < len(behind) and at_operator(behind[skip], behind[skip + 1]):
            return True
    top = [token for index, token in enumerate(tokens.items) if tokens.parent[index] < 0 and index >= pos]
    if any(token.is_word(*_ONLY_SQL) for token in top[path:]):
        return False
    if any(token.is_word(*_ONLY_HERE) for token in top[1:]):
        return True
    if path > 1:
        # `db.events e` could be a table with an alias, `db.events Login e` could not.
        return [token.kind for token in behind[path : path + 2]] == [Kind.NAME] * 2 and not behind[path + 1].is_word(
            *_NEXT
        )
    return _is_lone_event(tokens, pos)


def _is_lone_event(tokens: Tokens, pos: int) -> bool:
    """`Login a` or `source Login a`, with a quantifier, the next clause or the end behind it."""
    second, third = tokens[min(pos + 1, len(tokens) - 1)], tokens[min(pos + 2, len(tokens) - 1)]
    if second.kind is not Kind.NAME or second.is_word("AS", *_NEXT):
        return second.kind is Kind.OP and second.text in "+*?{"
    return third.kind in (Kind.END, Kind.NAME) or (third.kind is Kind.OP and third.text in "+*?{;")
