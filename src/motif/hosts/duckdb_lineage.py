"""Which columns of a query come out of tables as they are, as DuckDB itself understands its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from motif.hosts.given import Given

Columns = dict[str, Given | None]
"""Columns by name without capitals, in order; None for those that are computed, or that could be one of two."""
Node = Mapping[str, Any]


def unchanged(tree: Node, table: Callable[[str], Columns]) -> Columns:
    """Columns of a query that DuckDB has parsed; empty where that is not to be told. `table`: those of a table."""
    statements = tree["statements"]
    return _of_node(statements[0]["node"], table) if len(statements) == 1 else {}


def _of_node(node: Node, table: Callable[[str], Columns]) -> Columns:
    common = {
        entry["key"].casefold(): _of_node(entry["value"]["query_node"], table)
        for entry in (node.get("cte_map") or {}).get("map") or []
        if (entry["value"].get("query_node") or {}).get("type") == "SELECT_NODE"
    }

    def known(name: str) -> Columns:
        return common[name.casefold()] if name.casefold() in common else table(name)

    match node["type"]:
        case "SELECT_NODE":
            return _selected(node, _of_table(node["from_table"], known))
        case "SET_OPERATION_NODE" if node.get("setop_type") == "UNION_BY_NAME":
            return _united([_of_node(child, known) for child in node["children"]])
        case _:
            return {}


def _of_table(node: Node, table: Callable[[str], Columns]) -> Columns:
    if node.get("column_name_alias"):
        return {}
    match node["type"]:
        case "BASE_TABLE":
            return table(node["table_name"])
        case "SUBQUERY":
            return _of_node(node["subquery"]["node"], table)
        case "JOIN":
            left, right = (_of_table(node[side], table) for side in ("left", "right"))
            if not left or not right:
                return {}
            return {**left, **right, **dict.fromkeys(left.keys() & right.keys())}
        case _:
            return {}


def _selected(node: Node, columns: Columns) -> Columns:
    found: Columns = {}
    for item in node["select_list"]:
        match item["class"]:
            case "STAR" if not item.get("columns"):
                gone = {*map(_last_name, item.get("exclude_list") or [])}
                gone |= {entry["key"].casefold() for entry in item.get("replace_list") or []}
                if item.get("rename_list"):
                    return {}
                found |= {name: None if name in gone else given for name, given in columns.items()}
            case "COLUMN_REF":
                name = item["column_names"][-1].casefold()
                found[(item.get("alias") or name).casefold()] = columns.get(name)
            case _ if item.get("alias"):
                found[item["alias"].casefold()] = None
            case _:
                pass  # it is called by its own text
    return found


def _last_name(excluded: Any) -> str:
    name = excluded if isinstance(excluded, str) else excluded["column_names"][-1]
    return str(name).casefold()


def _united(parts: list[Columns]) -> Columns:
    """A column that some parts lack is NULL there."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: _agreed([part[name] for part in parts if name in part]) for name in names}


def _agreed(given: list[Given | None]) -> Given | None:
    first = given[0]
    return first if all(one is not None and one == first for one in given) else None
