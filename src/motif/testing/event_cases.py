"""The shared cases of the event language: query, events and the right matches as TOML.

A file holds `[[case]]` tables:

    name = "LAST among the unconsumed"
    traps = ["C8"]                            # numbers in the list of known traps (optional)
    source = "trap C8"                        # where the expected matches come from; never "what our code printed"
    columns = { ts = "TIMESTAMP", type = "VARCHAR", x = "BIGINT" }   # optional: without x if omitted
    events = [["a1", 0, "A", 1], ["b1", 4.5, "B", "NULL"]]           # a label, then the columns; in their total order
    query = "SELECT * FROM SEQ(A a; B b)"
    expected = [{ a = "a1", b = ["b1"], c = "NULL" }]   # in the order they fire; a variable not named is NULL
    refused = "why"                           # instead of expected: no engine accepts this query
    start = "begun"                           # the column that holds the beginning of events that are matches
    order_by = ["n"]                          # columns that break ties in time; without it those the query reads do
    functions = ["speed"]                     # functions of the user that the query calls: FUNCTIONS has them

A TIMESTAMP is written in seconds from a fixed moment; "NULL" is NULL.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

EPOCH = datetime(2024, 1, 1)  # noqa: DTZ001  TIMESTAMP has no zone
COLUMNS = {"ts": "TIMESTAMP", "type": "VARCHAR"}

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "matches": lambda one, other: None if None in (one, other) else one == other,
    "speed": lambda one, other: None if None in (one, other) else abs(other - one),
}
"""Two texts are the same; how far two numbers are apart. NULL of NULL."""

LabelledMatch: TypeAlias = dict[str, str | list[str] | None]
"""The label of its event, or the list of labels, of each variable."""


@dataclass(frozen=True)
class EventCase:
    """One query over a few events."""

    name: str
    file: str
    source: str
    columns: Mapping[str, str]
    labels: tuple[str, ...]
    events: tuple[Mapping[str, Any], ...]
    """In their total order."""
    query: str
    expected: tuple[LabelledMatch, ...] = ()
    """In the order they fire."""
    refused: str | None = None
    traps: tuple[str, ...] = ()
    start: str | None = None
    order_by: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    def labelled(self, matches: Iterable[Mapping[str, int | list[int] | None]]) -> list[LabelledMatch]:
        """Matches over event numbers as they are written in cases: with labels, without what is NULL."""
        return [{var: self._label(number) for var, number in match.items() if number is not None} for match in matches]

    def _label(self, number: int | list[int]) -> str | list[str]:
        return self.labels[number] if isinstance(number, int) else [self.labels[item] for item in number]


def load_event_cases(folder: Path) -> list[EventCase]:
    """All cases of a folder, by file name and position."""
    return [case for path in sorted(folder.glob("*.toml")) for case in load_event_file(path)]


def load_event_file(path: Path) -> list[EventCase]:
    """The cases of one file; a mistake in it is an error that names the case."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    return [_case(path.stem, table) for table in tables]


def _case(file: str, table: dict[str, Any]) -> EventCase:
    where = f"{file}: {table['name']}"
    columns: dict[str, str] = table.get("columns", COLUMNS)
    labels = tuple(row[0] for row in table["events"])
    if len(set(labels)) != len(labels):
        raise ValueError(f"{where}: two events of one label")
    if ("refused" in table) == ("expected" in table):
        raise ValueError(f"{where}: either expected or refused")
    if unknown := set(table) - _KEYS:
        raise ValueError(f"{where}: unknown {sorted(unknown)}")
    return EventCase(
        name=table["name"],
        file=file,
        source=table["source"],
        columns=columns,
        labels=labels,
        events=tuple(_event(where, columns, row) for row in table["events"]),
        query=table["query"],
        expected=tuple(_match(where, labels, match) for match in table.get("expected", ())),
        refused=table.get("refused"),
        traps=tuple(table.get("traps", ())),
        start=table.get("start"),
        order_by=tuple(table.get("order_by", ())),
        functions=tuple(table.get("functions", ())),
    )


_KEYS = set("name source columns events query expected refused traps start order_by functions".split())


def _event(where: str, columns: Mapping[str, str], row: list[Any]) -> dict[str, Any]:
    if len(row) != len(columns) + 1:
        raise ValueError(f"{where}: {row} does not fit a label and {list(columns)}")
    pairs = zip(columns.items(), row[1:], strict=True)
    return {name: _typed(sql_type, value) for (name, sql_type), value in pairs}


def _typed(sql_type: str, value: Any) -> Any:
    if value == "NULL":
        return None
    if sql_type == "TIMESTAMP":
        return EPOCH + timedelta(seconds=value)
    return float(value) if sql_type == "DOUBLE" else value


def _match(where: str, labels: tuple[str, ...], match: dict[str, Any]) -> LabelledMatch:
    for value in match.values():
        for label in value if isinstance(value, list) else [value]:
            if label != "NULL" and label not in labels:
                raise ValueError(f"{where}: no event {label}")
    return {var: value for var, value in match.items() if value != "NULL"}
