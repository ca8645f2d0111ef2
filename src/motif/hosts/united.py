"""New rows and new matches as the events that a later query of a stack sees, without a host: a push brings a few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from motif.engine.arrays import as_type, flat
from motif.ir.expr import Column, Literal
from motif.plan.dag import Part, Seen


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the columns of events come from, by their folded names: columns of rows, or constants."""

    places: Mapping[str, str]
    constants: Mapping[str, object]

    @classmethod
    def of(cls, part: Part) -> Shape | None:
        """None where a host has to compute a column."""
        places, constants = {name.casefold(): name for name in part.kept}, dict[str, object]()
        for name, expr in part.given:
            match expr:
                case Column(name=own):
                    places[name.casefold()] = own
                case Literal(value=value):
                    constants[name.casefold()] = value
                case _:
                    return None
        return cls(places, constants)

    def column(self, rows: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
        """A column of the events; NULL where the rows have none."""
        if name in self.places:
            return as_type(flat(rows.column(self.places[name])), kind)
        value = self.constants.get(name)
        return pa.nulls(rows.num_rows, kind) if value is None else pa.array([value] * rows.num_rows, kind)


@dataclass(frozen=True, slots=True)
class Events:
    """New rows and new matches."""

    parts: list[tuple[pa.Table, Shape]]
    num_rows: int
    kinds: Mapping[str, pa.DataType]

    def column(self, name: str) -> pa.Array:
        """One after the other, as DuckDB would have them."""
        kind, folded = self.kinds[name], name.casefold()
        columns = [shape.column(rows, folded, kind) for rows, shape in self.parts]
        if len(columns) == 1:
            return columns[0]
        return pa.concat_arrays(columns) if columns else pa.nulls(0, kind)


@dataclass(frozen=True, slots=True)
class United:
    """What the events of a query look like, and where their columns come from."""

    schema: pa.Schema
    kinds: Mapping[str, pa.DataType]
    of_rows: Shape
    of_matches: tuple[Shape, ...]

    @classmethod
    def of(cls, schema: pa.Schema, seen: Seen) -> United | None:
        """Of one input; None where a host has to compute what events are ordered by."""
        [(_, part)] = seen.inputs
        of_rows = Shape.of(Part(part.kept, (*part.given, *seen.placed)))
        of_matches = [shape for shape in map(Shape.of, seen.matches) if shape is not None]
        if of_rows is None or len(of_matches) < len(seen.matches):
            return None
        return cls(schema, dict(zip(schema.names, schema.types, strict=True)), of_rows, tuple(of_matches))

    def events(self, rows: pa.Table | None, matches: Mapping[int, pa.Table]) -> Events:
        """New rows, and new matches by the number of their query."""
        found = ((table, self.of_matches[number]) for number, table in matches.items())
        every = chain([] if rows is None else [(rows, self.of_rows)], found)
        parts = [(table, shape) for table, shape in every if table.num_rows]
        return Events(parts, sum(table.num_rows for table, _ in parts), self.kinds)
