"""Where the clauses of a statement are, which table each reads, and which WITH items that table sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from motif.errors import QuerySyntaxError, UnsupportedQuery
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.misspelt import meant_for

_BEFORE_TABLE = ("FROM", "JOIN")
_CLAUSE_WORDS = ("FROM", "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "WINDOW", "QUALIFY", "LIMIT", "VALUES")
_NOT_A_TABLE = frozenset((*_BEFORE_TABLE, *_CLAUSE_WORDS, "LATERAL", "ON", "USING", "AS", "AND", "OR", "BY"))
_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "SHOW", "SUMMARIZE")
_HINT = "write FROM table MATCH_RECOGNIZE (...), or FROM (SELECT ...) MATCH_RECOGNIZE (...)"


@dataclass(frozen=True, slots=True)
class Place:
    """Token indexes of a clause: its table begins at `input_start` and ends before `keyword`."""

    input_start: int
    keyword: int
    close: int


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A WITH item, from its name to the bracket that closes its query (both included)."""

    name: str
    start: int
    end: int


@dataclass
class CommonTables:
    """The WITH items that are complete where a table stands, outermost query first."""

    recursive: bool = False
    items: list[CommonTable] = field(default_factory=list)


def find_places(tokens: Tokens) -> list[Place]:
    """All clauses, inner before outer and left before right."""
    found: list[Place] = []
    # For each bracket the SELECT, FROM, WHERE, ... last seen directly in it.
    ruling: dict[int, str] = {}
    index = 0
    while index < len(tokens) - 1:
        token = tokens[index]
        if token.is_word(*_CLAUSE_WORDS):
            ruling[tokens.parent[index]] = token.text.upper()
        if tokens[index + 1].is_op("(") and meant_for(token, ("MATCH_RECOGNIZE",)):
            _fail(tokens, f"unknown clause {token.text}", token, "did you mean MATCH_RECOGNIZE?")
        if token.is_word("MATCH_RECOGNIZE") and tokens[index + 1].is_op("("):
            close = tokens.closer[index + 1]
            found.append(Place(_table_before(tokens, index, ruling), index, close))
            # A clause inside of a clause would be in a sub-query, which the clause's own parser refuses.
            index = close
        index += 1
    return found


def table_name(tokens: Tokens, place: Place) -> str | None:
    """What columns of the table may be qualified with: its alias, or the last part of its name."""
    last = place.keyword - 1
    end = _skip_alias_backwards(tokens, last)
    if end < last:
        return tokens[end + 1 + tokens[end + 1].is_word("AS")].value
    return tokens[last].value if tokens[last].kind is Kind.NAME else None


def _table_before(tokens: Tokens, keyword: int, ruling: dict[int, str]) -> int:
    """Index at which the table in front of the keyword begins."""
    end = _skip_alias_backwards(tokens, keyword - 1)
    start = _primary_start(tokens, end)
    level = tokens.parent[start]
    _check_in_from(tokens, start, keyword, ruling.get(level, "FROM" if level >= 0 else ""))
    return start


def _skip_alias_backwards(tokens: Tokens, last: int) -> int:
    """Index of the last token of the table itself: before `[AS] alias [(columns)]`, if there is one."""
    name = last
    if last >= 0 and tokens[last].is_op(")"):
        name = tokens.opener(last) - 1
    if name < 1 or tokens[name].kind is not Kind.NAME:
        return last
    _refuse_chain(tokens, name)
    before = tokens[name - 1]
    if before.is_word("AS"):
        return name - 2
    return name - 1 if _ends_table(before) and not _is_keyword(tokens[name]) else last


def _ends_table(token: Token) -> bool:
    if token.kind is Kind.NAME:
        return not _is_keyword(token)
    return token.is_op(")") or token.kind is Kind.STRING


def _is_keyword(token: Token) -> bool:
    return token.kind is Kind.NAME and not token.quoted and token.text.upper() in _NOT_A_TABLE


def _primary_start(tokens: Tokens, last: int) -> int:
    """First token of `a.b.c`, `f(...)`, `(...)` or `'file'`, whose last token is given."""
    if last < 0:
        _fail(tokens, "MATCH_RECOGNIZE stands after a table", tokens[0], _HINT)
    start = last
    if tokens[last].is_op(")"):
        start = tokens.opener(last)
        name = tokens[start - 1] if start > 0 else None
        if name is None or name.kind is not Kind.NAME or _is_keyword(name):
            return start
        _refuse_chain(tokens, start - 1)
        start -= 1
    elif tokens[last].kind is Kind.STRING and tokens.dialect == "duckdb":
        return last
    if tokens[start].kind is not Kind.NAME or _is_keyword(tokens[start]):
        found = f"MATCH_RECOGNIZE stands after a table, found {describe(tokens[last])} before it"
        _fail(tokens, found, tokens[last], _HINT)
    while start >= 2 and tokens[start - 1].is_op(".") and tokens[start - 2].kind is Kind.NAME:
        start -= 2
    return start


def _refuse_chain(tokens: Tokens, name: int) -> None:
    if tokens[name].is_word("MATCH_RECOGNIZE"):
        hint = "put the first into a sub-query: FROM (SELECT * FROM t MATCH_RECOGNIZE (...)) MATCH_RECOGNIZE (...)"
        _fail(tokens, "MATCH_RECOGNIZE directly after another one", tokens[name], hint)


def _check_in_from(tokens: Tokens, start: int, keyword: int, ruling: str) -> None:
    """The table must be an item of FROM; after LATERAL it could not be read on its own."""
    before = tokens[start - 1] if start > 0 else None
    if before is not None and before.is_word("LATERAL"):
        hint = "the table of MATCH_RECOGNIZE is read on its own: put the join into its sub-query"
        _fail(tokens, "LATERAL before MATCH_RECOGNIZE", before, hint, UnsupportedQuery)
    fits = before is not None and (before.is_word(*_BEFORE_TABLE) or before.is_op("(") or before.is_op(","))
    if not fits or ruling != "FROM":
        _fail(tokens, "MATCH_RECOGNIZE belongs to a table in FROM", tokens[keyword], _HINT)


def common_tables(tokens: Tokens, start: int) -> CommonTables:
    """WITH items of all queries around the token that are complete before it."""
    levels: list[int] = []
    level = tokens.parent[start]
    while level >= 0:
        levels.append(level)
        level = tokens.parent[level]
    found = CommonTables()
    for bracket in reversed([*levels, -1]):
        _add_level(tokens, bracket + 1, start, found)
    return found


def _add_level(tokens: Tokens, first: int, before: int, found: CommonTables) -> None:
    if not tokens[first].is_word("WITH"):
        return
    index = first + 1
    recursive = tokens[index].is_word("RECURSIVE") and tokens[index + 1].kind is Kind.NAME
    index += recursive
    while (item := _common_table(tokens, index)) is not None and item.end < before:
        if any(other.name.casefold() == item.name.casefold() for other in found.items):
            hint = "give the inner one another name"
            _fail(tokens, f"two WITH items are called {item.name}", tokens[item.start], hint, UnsupportedQuery)
        found.items.append(item)
        found.recursive = found.recursive or recursive
        if not tokens[item.end + 1].is_op(","):
            return
        index = item.end + 2


def _common_table(tokens: Tokens, start: int) -> CommonTable | None:
    """The WITH item at this token: `name [(columns)] [AS] [MATERIALIZED] ( query )`."""
    if tokens[start].kind is not Kind.NAME:
        return None
    index = start + 1
    while index < len(tokens) - 1:
        if tokens[index].is_op("("):
            close = tokens.closer[index]
            first = tokens[index + 1]
            follows_as = tokens[index - 1].is_word("AS", "MATERIALIZED")
            if follows_as or first.is_word(*_QUERY_WORDS) or first.is_op("("):
                return CommonTable(tokens[start].value, start, close)
            index = close
        elif tokens[index].kind is not Kind.NAME:
            return None
        index += 1
    return None


def _fail(
    tokens: Tokens,
    message: str,
    token: Token,
    hint: str,
    error: type[QuerySyntaxError | UnsupportedQuery] = QuerySyntaxError,
) -> NoReturn:
    Cursor(tokens, 0, len(tokens) - 1).fail(message, token.span, hint, error)
