"""New rows and new matches as the events that a later query of a stack sees, without a host: a push brings a few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from motif.ir.expr import Column
from motif.plan.events.places import START, first_names, last_names
from motif.plan.events.program import Stream

_NO_ATTRIBUTES = frozenset({"event", "match_start", "match_end"})
"""Columns of matches that are no attributes of the event that a match is."""


@dataclass(frozen=True, slots=True)
class United:
    """What events look like, and where their columns come from."""

    schema: pa.Schema
    kind: str
    """The column of the class."""
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
        return cls(schema, (stream.type or "type").casefold(), dict(zip(names, asked * 2, strict=True)), of_matches)

    def events(self, rows: pa.Table | None, matches: Sequence[tuple[str, pa.Table]]) -> pa.Table:
        """New rows, and matches of each class."""
        parts = [
            self._filled(found, self.of_matches, _NO_ATTRIBUTES, name) for name, found in matches if found.num_rows
        ]
        if rows is not None and rows.num_rows:
            parts.insert(0, self._filled(rows, self.of_rows, frozenset(), None))
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def _filled(self, table: pa.Table, places: Mapping[str, str], but: frozenset[str], kind: str | None) -> pa.Table:
        known = {name.casefold(): name for name in table.column_names if name.casefold() not in but}
        columns = []
        for field in self.schema:
            name = field.name.casefold()
            if kind is not None and name == self.kind:
                columns.append(pa.chunked_array([pa.array([kind] * table.num_rows, field.type)]))
                continue
            place = places.get(name, known.get(name))
            if place is None:
                columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
            else:
                column = table.column(place)
                columns.append(column if column.type == field.type else column.cast(field.type))
        return pa.Table.from_arrays(columns, schema=self.schema)
