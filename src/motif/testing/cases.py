"""The shared cases: query, rows and the right answer as TOML, run on the reference and on every engine.

A file holds `[[case]]` tables:

    name = "greedy gives rows back"
    trap = 4                                  # number in the list of known traps, tests/cases/README.md
    source = "trap 4"                         # where the expected rows come from; never "what our code printed"
    columns = { t = "BIGINT", v = "BIGINT" }  # the table's columns in order, with their SQL types
    rows = [[1, 1], [2, "NULL"]]              # "NULL" is NULL; a DECIMAL may be written as a string
    clause = "MATCH_RECOGNIZE (...)"
    expected_columns = ["first"]              # names in the order of the output
    expected = [[1]]                          # in order: by partition, then as matched
    error = { class = "QueryDataError", text = "SKIP" }   # instead of expected: part of the message
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from motif.ir.expr import Interval

RowLike: TypeAlias = Mapping[str, Any] | Sequence[Any]
"""A row by column name, in the order of the output, or the values alone."""


@dataclass(frozen=True)
class ExpectedError:
    """The class of an error and a part of its text."""

    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    """One query over one table."""

    name: str
    file: str
    source: str
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]
    clause: str
    expected_columns: tuple[str, ...] = ()
    expected: tuple[tuple[Any, ...], ...] = ()
    error: ExpectedError | None = None
    trap: int | None = None

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def load_cases(folder: Path) -> list[Case]:
    """All cases of a folder, by file name and position."""
    return [case for path in sorted(folder.glob("*.toml")) for case in load_file(path)]


def load_file(path: Path) -> list[Case]:
    """The cases of one file; a mistake in it is an error that names the case."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    return [_case(path.stem, table) for table in tables]


def _case(file: str, table: dict[str, Any]) -> Case:
    columns: dict[str, str] = table["columns"]
    for row in table["rows"]:
        if len(row) != len(columns):
            raise ValueError(f"{file}: {table['name']}: {row} does not fit {list(columns)}")
    if ("error" in table) == ("expected" in table):
        raise ValueError(f"{file}: {table['name']}: either expected or error")
    error = table.get("error")
    return Case(
        name=table["name"],
        file=file,
        source=table["source"],
        columns=columns,
        rows=tuple(_typed_row(columns, row) for row in table["rows"]),
        clause=table["clause"],
        expected_columns=tuple(table.get("expected_columns", ())),
        expected=tuple(tuple(map(_value, row)) for row in table.get("expected", ())),
        error=None if error is None else ExpectedError(error["class"], error["text"]),
        trap=table.get("trap"),
    )


def _typed_row(columns: Mapping[str, str], row: Sequence[Any]) -> dict[str, Any]:
    pairs = zip(columns.items(), row, strict=True)
    return {name: _typed(sql_type, _value(value)) for (name, sql_type), value in pairs}


def _typed(sql_type: str, value: Any) -> Any:
    if value is None:
        return None
    if sql_type.startswith("DECIMAL"):
        return Decimal(str(value))
    return float(value) if sql_type == "DOUBLE" else value


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    return None if value == "NULL" else value


# --- comparison -----------------------------------------------------------------------------------------------


def same_rows(left: Iterable[RowLike], right: Iterable[RowLike]) -> bool:
    """Whether both hold the same rows, each as often, in any order."""
    remaining: dict[tuple[object, ...], list[tuple[Any, ...]]] = {}
    for row in map(_values, right):
        remaining.setdefault(_group(row), []).append(row)
    for row in map(_values, left):
        candidates = remaining.get(_group(row), [])
        found = next((i for i, candidate in enumerate(candidates) if same_value(row, candidate)), None)
        if found is None:
            return False
        candidates.pop(found)
    return not any(remaining.values())


def same_in_order(left: Iterable[RowLike], right: Iterable[RowLike]) -> bool:
    """Whether both hold the same rows, one after the other."""
    rows, others = list(map(_values, left)), list(map(_values, right))
    return len(rows) == len(others) and all(map(same_value, rows, others))


def same_value(left: Any, right: Any) -> bool:
    """NULL is NULL, NaN is NaN, numbers by value whatever their type, floats up to 1e-9."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if _is_number(left) and _is_number(right):
        return _same_number(left, right)
    return type(left) is type(right) and bool(left == right)


def _same_number(left: Any, right: Any) -> bool:
    if not isinstance(left, float) and not isinstance(right, float):
        return bool(left == right)
    return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _values(row: RowLike) -> tuple[Any, ...]:
    values = row.values() if isinstance(row, Mapping) else row
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    return Interval(value // timedelta(microseconds=1)) if isinstance(value, timedelta) else value


def _group(row: tuple[Any, ...]) -> tuple[object, ...]:
    """Equal for rows that may be the same: what is compared with a tolerance is left out."""
    return tuple(
        str(value) if isinstance(value, str | bool | None) else isinstance(value, list | tuple) for value in row
    )
