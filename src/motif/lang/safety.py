"""A query reads tables that are there; it does not write, run programs or open files.

The host's own settings are the first guard (no external access); this is the second, with a
position and a hint, for what can be seen from the text.
"""

from __future__ import annotations

from motif.errors import MotifError, UnsupportedQuery
from motif.lang.cursor import Cursor
from motif.lang.lexer import Kind, Token, Tokens

QUERY_STARTS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_READ_ONLY_HINT = "Motif runs queries only: SELECT, WITH, FROM, VALUES"
_WRITES = {
    "INSERT": ("INTO", "OVERWRITE"),
    "DELETE": ("FROM",),
    "MERGE": ("INTO",),
    "COPY": ("FROM", "TO"),
    "CREATE": ("TABLE", "VIEW", "OR", "TEMP", "TEMPORARY", "FUNCTION", "MACRO"),
    "DROP": ("TABLE", "VIEW", "FUNCTION", "MACRO"),
}
RUNS_CODE = frozenset({"reflect", "java_method", "try_reflect"})
_FILE_FORMATS = frozenset({"parquet", "orc", "json", "csv", "text", "avro", "xml", "binaryfile", "image", "jdbc"})
_TABLE_FORMATS = frozenset({"delta", "iceberg", "hudi", "paimon"})
FILE_FORMATS = _FILE_FORMATS | _TABLE_FORMATS | {"libsvm"}
_BEFORE_TABLE = ("FROM", "JOIN", "TABLE", "LATERAL", "STREAM")
_BEGINS_CLAUSE = ("FROM", "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "WINDOW", "QUALIFY", "LIMIT", "VALUES", "ON")


def check_statement(tokens: Tokens) -> None:
    """Raise unless the text is one query that only reads."""
    cursor = Cursor(tokens, 0, len(tokens) - 1)
    _check_single(cursor)
    _check_start(cursor)
    for index in range(len(tokens) - 1):
        _check_writes(cursor, index)
        _check_reserved_name(cursor, tokens[index])
        if tokens.dialect == "spark":
            _check_spark(cursor, index)


def _refuse(cursor: Cursor, message: str, token: Token, hint: str, error: type[MotifError] = UnsupportedQuery) -> None:
    cursor.fail(message, token.span, hint, error)


def _check_single(cursor: Cursor) -> None:
    tokens = cursor.tokens
    if cursor.done or tokens[0].is_op(";"):
        cursor.fail("the query is empty", hint="write SELECT ... FROM table MATCH_RECOGNIZE (...)")
    seen_end = False
    for index in range(len(tokens) - 1):
        token = tokens[index]
        if seen_end and not token.is_op(";"):
            _refuse(cursor, "a second statement after ;", token, "run one query at a time")
        seen_end = seen_end or (token.is_op(";") and tokens.parent[index] < 0)


def _check_start(cursor: Cursor) -> None:
    first = cursor.peek()
    if first.is_op("(") or first.is_word(*QUERY_STARTS):
        return
    if first.is_word("MATCH_RECOGNIZE"):
        cursor.fail(
            "MATCH_RECOGNIZE stands after a table", first.span, "write SELECT * FROM table MATCH_RECOGNIZE (...)"
        )
    if first.kind is Kind.NAME and not first.quoted:
        _refuse(cursor, f"{first.text.upper()} is not a query", first, _READ_ONLY_HINT)
    cursor.fail_expected("a query", _READ_ONLY_HINT)


def _check_writes(cursor: Cursor, index: int) -> None:
    """Writing that hides behind WITH, in a bracket, or after Spark's leading FROM."""
    token, following = cursor.tokens[index], cursor.tokens[index + 1]
    if token.kind is not Kind.NAME or token.quoted:
        return
    word = token.text.upper()
    if following.is_word(*_WRITES.get(word, ())):
        _refuse(cursor, f"{word} {following.text.upper()} is not a query", token, _READ_ONLY_HINT)
    starts = index == 0 or cursor.tokens[index - 1].is_op("(") or cursor.tokens[index - 1].is_op(")")
    if word == "UPDATE" and starts and following.kind is Kind.NAME and cursor.tokens[index + 2].is_word("SET"):
        _refuse(cursor, "UPDATE is not a query", token, _READ_ONLY_HINT)


def _check_reserved_name(cursor: Cursor, token: Token) -> None:
    if token.kind is Kind.NAME and token.value.lower().startswith("__motif_"):
        _refuse(cursor, f"names that begin with __motif_ are reserved: {token.value[:40]}", token, "rename it")


def _check_spark(cursor: Cursor, index: int) -> None:
    tokens = cursor.tokens
    token, following = tokens[index], tokens[index + 1]
    if token.kind is not Kind.NAME:
        return
    name = token.value.lower()
    if following.is_op("(") and name in RUNS_CODE:
        _refuse(cursor, f"{name} runs code; a query can not", token, "register a function with Spark and call that")
    if following.is_op("(") and name == "identifier" and not token.quoted:
        _refuse(cursor, "IDENTIFIER( ) hides which table or function is meant", token, "write the name itself")
    if token.is_word("USING") and following.kind is Kind.STRING:
        _refuse(cursor, "TRANSFORM ... USING runs a program; a query can not", token, "use functions of Spark")
    if _is_path_table(tokens, index):
        _refuse(cursor, "a query can not open files", token, "register the file as a view and name the view")


def _is_path_table(tokens: Tokens, index: int) -> bool:
    """``parquet.`/path` `` where a table is expected; the format may also be the name of a class."""
    if index == 0 or not tokens[index + 1].is_op(".") or tokens[index + 2].kind is not Kind.NAME:
        return False
    before = tokens[index - 1]
    if not (before.is_word(*_BEFORE_TABLE) or before.is_op(",") or before.is_op("(")):
        return False
    source, path = tokens[index].value.lower(), tokens[index + 2]
    if source in _FILE_FORMATS:
        return not tokens[index + 3].is_op(".")
    # Inside of a call such a name is a column of a variable.
    looks_like_path = before.is_word(*_BEFORE_TABLE) and any(char in path.value for char in "/:\\")
    return path.quoted and (source in _TABLE_FORMATS or "." in source or looks_like_path)


def qualified_tables(tokens: Tokens) -> tuple[tuple[str, ...], ...]:
    """Names with points where a table may stand, for a host that does not tell how it reads a text."""
    found: list[tuple[str, ...]] = []
    ruling: dict[int, str] = {}
    for index, token in enumerate(tokens.items[:-1]):
        level = tokens.parent[index]
        if token.is_word(*_BEGINS_CLAUSE):
            ruling[level] = token.text.upper()
        if token.kind is not Kind.NAME or not tokens[index + 1].is_op(".") or index == 0:
            continue
        before = tokens[index - 1]
        in_from = (before.is_op(",") or before.is_op("(")) and _rules(tokens, ruling, level) in ("FROM", "")
        if before.is_word(*_BEFORE_TABLE) or in_from:
            found.append(_path(tokens, index))
    return tuple(found)


def _rules(tokens: Tokens, ruling: dict[int, str], level: int) -> str:
    """The clause around a place: that of its bracket, or of the one around that if it has none of its own."""
    while level >= 0 and level not in ruling:
        if level > 0 and tokens[level - 1].kind is Kind.NAME and not tokens[level - 1].is_word(*_BEFORE_TABLE):
            return "CALL"
        level = tokens.parent[level]
    return ruling.get(level, "")


def _path(tokens: Tokens, start: int) -> tuple[str, ...]:
    names = [tokens[start].value]
    while tokens[start + 1].is_op(".") and tokens[start + 2].kind is Kind.NAME:
        start += 2
        names.append(tokens[start].value)
    return tuple(names)
