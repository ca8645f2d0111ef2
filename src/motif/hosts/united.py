"""New rows and new matches as the events that a later query of a stack sees, without a host: a push brings a few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from motif.engine.arrays import as_type, flat
from motif.ir.expr import Column
from motif.plan.events.places import START, first_names, last_names
from motif.plan.events.program import Stream

_NO_ATTRIBUTES = frozenset({"event", "match_start", "match_end"})
"""Columns of matches that are no attributes of the event that a match is."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are events."""

    rows: pa.Table
    places: Mapping[str, str]
    """Columns of events that are others of the rows."""
    own: Mapping[str, str]
    """Those that are called as they are; by their folded names."""
    name: str | None
    """The class of matches."""

    def column(self, name: str, kind: pa.DataType) -> pa.Array:
        """A column of the events; NULL where the rows have none."""
        place = self.places.get(name) or self.own.get(name)
        return pa.nulls(self.rows.num_rows, kind) if place is None else as_type(flat(self.rows.column(place)), kind)


@dataclass(frozen=True, slots=True)
class Events:
    """New rows and new matches."""

    parts: list[Part]
    num_rows: int
    kinds: Mapping[str, pa.DataType]
    kind: str
    """The column of the class, folded."""

    def column(self, name: str) -> pa.Array:
        """One after the other, as DuckDB would have them."""
        kind, folded = self.kinds[name], name.casefold()
        columns = [
            part.column(folded, kind)
            if part.name is None or folded != self.kind
            else pa.array([part.name] * part.rows.num_rows, kind)
            for part in self.parts
        ]
        if len(columns) == 1:
            return columns[0]
        return pa.concat_arrays(columns) if columns else pa.nulls(0, kind)


@dataclass(frozen=True, slots=True)
class United:
    """What events look like, and where their columns come from."""

    schema: pa.Schema
    kinds: Mapping[str, pa.DataType]
    kind: str
    of_rows: Mapping[str, str]
    of_matches: Mapping[str, str]

    @classmethod
    def of(cls, schema: pa.Schema, stream: Stream) -> United | None:
        """None where a host has to compute what events are ordered by."""
        asked = [expr.name for expr in stream.total if isinstance(expr, Column)]
        if len(asked) < len(stream.total):
            return None
        names = (*last_names(stream), *first_names(stream))
        of_matches = {stream.time.casefold(): "match_end", START: "match_start"}
        kinds = dict(zip(schema.names, schema.types, strict=True))
        kind = (stream.type or "type").casefold()
        return cls(schema, kinds, kind, dict(zip(names, asked * 2, strict=True)), of_matches)

    def events(self, rows: pa.Table | None, matches: Sequence[tuple[str, pa.Table]]) -> Events:
        """New rows, and matches of each class."""
        parts = [
            Part(found, self.of_matches, _folded(found, _NO_ATTRIBUTES), name)
            for name, found in matches
            if found.num_rows
        ]
        if rows is not None and rows.num_rows:
            parts.insert(0, Part(rows, self.of_rows, _folded(rows), None))
        return Events(parts, sum(part.rows.num_rows for part in parts), self.kinds, self.kind)


def _folded(table: pa.Table, but: frozenset[str] = frozenset()) -> dict[str, str]:
    known = ((name.casefold(), name) for name in table.column_names)
    return {folded: name for folded, name in known if folded not in but}
