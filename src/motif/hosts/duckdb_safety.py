"""What DuckDB understood of a text, judged against what a query may be: one that only reads the tables that were given.

The text itself is not looked at: DuckDB tells its parse tree, and every node of it must be one of those known here.
Of functions its catalogue tells which there are and which have effects; what it does not tell is listed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from motif.errors import LimitExceeded
from motif.hosts.interrupt import answered

_STATEMENT = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_TABLES = {"BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "PIVOT", "SHOW_REF", "SUBQUERY", "TABLE_FUNCTION"}
_MODIFIERS = {"DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER"}
_ORDERS = {"ORDER_DEFAULT", "ORDER_ASCENDING", "ORDER_DESCENDING", "ASCENDING", "DESCENDING"}
_NODES = _STATEMENT | _TABLES | _MODIFIERS | _ORDERS
_EXPRESSIONS = set(
    """BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT DEFAULT FUNCTION LAMBDA LAMBDA_REF OPERATOR
    PARAMETER POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW""".split()
)
_DESCRIPTIONS = {"DESCRIBE", "SUMMARY"}
_GIVE_ROWS = set(
    "generate_series icu_calendar_names json_each json_tree pg_timezone_names range repeat repeat_row unnest".split()
)
"""Functions for FROM that look at nothing but their arguments; the catalogue does not tell them from the others."""
_GIVE_VALUES = {"aggregate", "macro", "scalar", "window"}
_HARMLESS = set("error gen_random_uuid random uuid uuidv4 uuidv7".split())
"""Functions whose effect is an error, or another value each time."""
_HARMFUL = set(
    """combine current_setting finalize getvariable in_search_path index_key json_serialize_plan to_aggregate_state
    variant_bytes_to_variant""".split()
)
"""Functions that the catalogue calls plain; they read settings, plan a text, or take bytes for what they are not."""
_OWN_SCHEMAS = {"main", "memory", "temp"}
_OWN_VIEWS = ("duckdb_", "pg_", "pragma_", "sqlite_")
NO_FILES = "query text can not open files or sockets"
PASS_THE_FILE = "pass the file as a table"
_FILES = (".csv", ".db", ".duckdb", ".gz", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv", ".txt", ".zst")
_NOWHERE = (1 << 64) - 1
MOST_JUDGED = 256


class Unsafe(Exception):
    """What a query may not do; where in the text, if DuckDB says so."""

    def __init__(self, message: str, hint: str | None = None, node: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = f"{message}\n{hint}" if hint else message
        place = (node or {}).get("query_location", _NOWHERE)
        self.position: int | None = None if place == _NOWHERE else int(place)
        self.length = max(1, int((node or {}).get("query_location_length", 1)))


class NoTable(Unsafe):
    """The text reads a table that nobody gave; the message is its name."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A text that is one query, which only computes."""

    tables: tuple[Mapping[str, Any], ...]
    """Where it names tables: each is to be one that is here, or a WITH item."""
    common: frozenset[str]
    """Names of its WITH items."""
    tree: Mapping[str, Any]
    """As DuckDB parsed it."""

    def check_tables(self, here: Collection[str]) -> None:
        """Raise if it names a table that is none of these (names in small letters), or a file."""
        for node in self.tables:
            *schemas, name = node["qualified_name"]["path"]
            folded = name.casefold()
            is_here = folded in here and (not schemas or _is_in_main(schemas, folded))
            if not is_here and (schemas or folded not in self.common):
                raise _stranger(".".join([*schemas, name]), node)


def _is_in_main(schemas: Sequence[str], name: str) -> bool:
    return {schema.lower() for schema in schemas} <= _OWN_SCHEMAS and not name.startswith(_OWN_VIEWS)


def _stranger(name: str, node: Mapping[str, Any]) -> Unsafe | NoTable:
    is_path = any(letter in name for letter in "/\\:*?") or name.lower().endswith(_FILES)
    return Unsafe(NO_FILES, PASS_THE_FILE, node) if is_path else NoTable(name, None, node)


_JUDGED: dict[str, Judged] = {}


def judged(sql: str, connection: duckdb.DuckDBPyConnection) -> Judged:
    """What a text reads; raises `Unsafe` if it does anything else, and DuckDB's error if it is no SQL."""
    found = _JUDGED.pop(sql, None)
    if found is None:
        # On a connection of its own: a result may still be read from this one.
        found = _judge(sql, connection.cursor())
    _JUDGED[sql] = found  # as the last one
    for oldest in list(_JUDGED)[:-MOST_JUDGED]:
        _JUDGED.pop(oldest, None)
    return found


def _judge(sql: str, cursor: duckdb.DuckDBPyConnection) -> Judged:
    try:
        statements = cursor.extract_statements(sql)
    except UnicodeDecodeError:  # DuckDB's message shows half of a letter of the text
        raise Unsafe(
            "the text is no query that DuckDB reads", "look for a literal with letters it can not have"
        ) from None
    if len(statements) != 1:
        raise Unsafe("the text is not one query", "run one query at a time")
    kind = statements[0].type
    if kind == duckdb.StatementType.MULTI:
        raise Unsafe("PIVOT without its values makes a type", "list the values: PIVOT t ON c IN ('a', 'b')")
    if kind != duckdb.StatementType.SELECT:
        raise Unsafe(f"{kind.name} is not a query", "Motif runs queries only: SELECT, WITH, FROM, VALUES")
    [(text,)] = answered(cursor, "SELECT json_serialize_sql(?::VARCHAR)", sql)
    try:
        tree = json.loads(text)
    except RecursionError:
        raise LimitExceeded("the query is nested too deeply", hint="build it in steps, with WITH") from None
    if tree["error"]:
        raise Unsafe(tree["error_message"])
    return _look(tree, cursor)


def _look(tree: Any, cursor: duckdb.DuckDBPyConnection) -> Judged:
    """Look at every node of the tree, without recursion."""
    tables: list[Mapping[str, Any]] = []
    common: set[str] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        if not isinstance(node, dict):
            continue
        stack.extend(node.values())
        _check_kind(node)
        if node.get("class") in ("FUNCTION", "WINDOW"):
            _check_function(node, cursor)
        elif node.get("type") == "TABLE_FUNCTION":
            _check_table_function(node)
        elif node.get("type") == "BASE_TABLE":
            tables.append(node)
        elif "cte_map" in node:
            common.update(_common_name(item["key"]) for item in node["cte_map"]["map"])
    return Judged(tuple(tables), frozenset(common), tree)


def _check_kind(node: Mapping[str, Any]) -> None:
    """Whether a query may hold a node of this kind at all."""
    kind, group = node.get("type"), node.get("class")
    if group is not None and group not in _EXPRESSIONS:
        raise Unsafe(f"{_words(group)} is not part of a query", None, node)
    if group is None and isinstance(kind, str) and kind not in _NODES:
        raise Unsafe(f"{_words(kind)} is not part of a query", "Motif runs queries only: SELECT, WITH, FROM, VALUES")
    if kind == "SHOW_REF" and (node["query"] is None or node["show_type"] not in _DESCRIPTIONS):
        raise Unsafe("SHOW is not part of a query", "DESCRIBE and SUMMARIZE are", node)


def _words(kind: str) -> str:
    return kind.removesuffix("_QUERY_NODE").removesuffix("_NODE").replace("_", " ")


def _check_table_function(node: Mapping[str, Any]) -> None:
    name = node["function"]["function_name"].lower()
    if name.startswith(("read_", "parquet_", "sniff_", "glob")):
        raise Unsafe(NO_FILES, PASS_THE_FILE, node)
    if name not in _GIVE_ROWS:
        message = f"{name}( ) in FROM looks at more than its arguments; a query can not"
        raise Unsafe(message, "give what it needs as a table", node)


def _check_function(node: Mapping[str, Any], cursor: duckdb.DuckDBPyConnection) -> None:
    name = node["function_name"].lower()
    if not node.get("is_operator") and not _is_allowed(name, cursor):
        message = f"{name}( ) does more than compute; a query can not"
        raise Unsafe(message, "leave it out, or write its value in its place", node)


def _common_name(name: str) -> str:
    """DuckDB may see a file, or a view of its own, where the WITH item of that name is not in sight."""
    folded = name.casefold()
    if any(letter in folded for letter in "./\\:") or folded.startswith(_OWN_VIEWS):
        raise Unsafe(f"a WITH item can not be called {name[:80]}", "rename it")
    return folded


# -- what the catalogue says of functions

_Facts = tuple[str, bool | None, str | None]
"""Kind, effects and definition of a function."""
_ALLOWED: dict[str, bool] = {}
_CATALOGUE: dict[str, list[_Facts]] = {}
"""Functions by name; asked for once, for that takes longer than most queries."""


def _is_allowed(name: str, cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether a call in an expression only computes; a name that DuckDB does not know, it refuses better."""
    if name in _HARMLESS or name in _GIVE_ROWS:
        return True
    if name in _HARMFUL or name.startswith("__internal"):
        return False
    if name not in _ALLOWED:
        _ALLOWED[name] = True  # a macro may name itself
        functions = _functions(cursor).get(name, [])
        values = [function for function in functions if function[0] in _GIVE_VALUES]
        _ALLOWED[name] = not functions or (bool(values) and all(_is_plain(*one, cursor) for one in values))
    return _ALLOWED[name]


def _functions(cursor: duckdb.DuckDBPyConnection) -> dict[str, list[_Facts]]:
    if not _CATALOGUE:
        found = "SELECT lower(function_name), function_type, has_side_effects, macro_definition FROM duckdb_functions()"
        for name, *facts in answered(cursor, found):
            _CATALOGUE.setdefault(name, []).append((facts[0], facts[1], facts[2]))
    return _CATALOGUE


def _is_plain(kind: str, has_effects: bool | None, definition: str | None, cursor: duckdb.DuckDBPyConnection) -> bool:
    """A macro is if all that it is made of is."""
    if kind != "macro":
        return has_effects is False
    try:
        return not _judge(f"SELECT {definition}", cursor).tables
    except Unsafe:
        return False
