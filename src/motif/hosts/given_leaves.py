"""What the values that the matching picks were given as: those of a column of the input keep its type."""

from __future__ import annotations

import pyarrow as pa

from motif.hosts.given import Given, Lookup, together
from motif.ir.expr import Column
from motif.plan.events.outputs import Folded as FoldedEvents
from motif.plan.events.outputs import Moment, Value, Whole
from motif.plan.events.program import EventProgram
from motif.plan.outputs import Folded, Gather, RowValue
from motif.plan.program import Program


def given_leaf(program: Program | EventProgram, number: int, kind: pa.DataType, lookup: Lookup) -> Given | None:
    """None of what is counted or computed. `kind`: its type as the host hands it over."""

    def column(number: int | None) -> Given | None:
        expr = None if number is None else program.columns[number]
        return lookup(expr.name) if isinstance(expr, Column) else None

    match program.outputs.leaves[number]:
        case Moment() if isinstance(program, EventProgram):
            return column(program.time)
        case RowValue(column=place) | Gather(column=place) | Value(column=place):
            return column(place)
        case Folded(name="min" | "max", column=place) | FoldedEvents(name="min" | "max", column=place):
            return column(place)
        case Folded(name="array_agg", column=place) | FoldedEvents(name="array_agg", column=place):
            values = column(place)
            return None if values is None else values.listed()
        case Whole(is_list=is_list, columns=own):
            struct = kind.value_type if is_list else kind
            parts = [(name, column(place) or Given(struct.field(at).type)) for at, (name, place) in enumerate(own)]
            return together(parts).listed() if is_list else together(parts)
        case _:
            return None
