"""The column `kind`: matches, partial matches whose time is over, and late events in one table."""

from __future__ import annotations

import pyarrow as pa

from motif.engine.stream.session import Planned
from motif.ir.expr import Column
from motif.options import StreamOptions

KIND, LATE = "kind", "late"


def with_kinds(matches: pa.Table, timeouts: pa.Table, late: pa.Table | None, options: StreamOptions) -> pa.Table:
    """One table of what `emit` asks for; a late event is a struct in a column of its own."""
    schema = pa.schema([pa.field(KIND, pa.string()), *matches.schema])
    parts = []
    for kind, table in (("match", matches), ("timeout", timeouts)):
        if options.emits(kind):
            named = pa.nulls(table.num_rows).cast(pa.string()) if not table.num_rows else pa.array([kind] * len(table))
            parts.append(pa.Table.from_arrays([named, *table.columns], schema=schema))
    if options.emits("late") and late is not None:
        events = late.to_struct_array() if late.num_columns else pa.nulls(late.num_rows)
        parts.append(pa.table({KIND: pa.array(["late"] * late.num_rows, pa.string()), LATE: events}))
    return pa.concat_tables(parts, promote_options="default")


def late_events(planned: Planned, tables: tuple[pa.Table, ...], nothing: pa.Table) -> pa.Table:
    """The columns of late events that the query reads as they are."""
    table = pa.concat_tables([nothing, *tables])
    places = [(i, expr.name) for i, expr in enumerate(planned.layout.exprs) if isinstance(expr, Column)]
    return table.select([i for i, _ in places]).rename_columns([name for _, name in places])
