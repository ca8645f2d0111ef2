"""What a program needs of the events it has seen, in a form that can be saved, compared and shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from motif.engine.stream.events import only_last, span_of
from motif.engine.stream.rows import remembers
from motif.engine.stream.state import Needs
from motif.ir.event import EventCount
from motif.ir.expr import Expr
from motif.ir.render import double_quotes, render_query, render_row_sql
from motif.ir.render_event import render_events
from motif.plan.events.decision import windows
from motif.plan.events.program import EventProgram
from motif.plan.program import Program, SortKey

if TYPE_CHECKING:
    from motif.engine.stream.session import Planned

MOST = (1 << 63) - 1
"""More events than are ever counted."""


def needs_of(planned: Planned, *, timeouts: bool = False) -> Needs:
    """See the module. `timeouts`: partial matches are given out, for which it is noted what has begun a match."""
    program, layout = planned.program, planned.layout
    texts = [_text(expr, program.dialect) for expr in layout.exprs]
    columns = tuple(f"{text} ({kind})" for text, kind in zip(texts, _types(planned), strict=True))
    key = ", ".join(texts[key] for key in program.keys)
    order = ", ".join([_sorted(item, program.dialect) for item in program.order])
    if isinstance(program, EventProgram):
        return _of_events(program, columns, key, order, timeouts=timeouts)
    return _of_rows(program, columns, key, order)


def _types(planned: Planned) -> list[str]:
    """Of the program's columns, and of those that are only sorted by."""
    layout = planned.layout
    kinds = {item.column: str(item.type) for item in (*layout.order, *layout.ties)}
    kinds |= {number: str(kind) for number, kind in enumerate(planned.program.types)}
    return [kinds[number] for number in range(len(layout.exprs))]


def _of_events(program: EventProgram, columns: tuple[str, ...], key: str, order: str, *, timeouts: bool) -> Needs:
    """Events alone are kept; where it is noted what has become of them, only what is put out may change."""
    query = program.query
    windowed = windows(program)
    counted = query.within.count if isinstance(query.within, EventCount) else 0
    calls = sorted(f"{var}: {c.function}" for c in program.conditions if c.function is not None for var in c.names)
    silent = render_events(replace(query, items=None, returned=(), name=None))
    return Needs(
        language="event pattern",
        columns=columns,
        key=key,
        order=order,
        filter="" if program.admitted is None else _text(program.admitted, program.dialect),
        meaning="; ".join(calls) + (" WITHIN EVENTS" if counted else ""),
        history=silent if query.consuming else "",
        began=silent if timeouts and query.within is not None else "",
        is_numbered=False,
        span=span_of(program),
        lookback=0 if not counted else MOST if windowed is None else counted * windowed,
        lasting=_lasting(program),
    )


def _lasting(program: EventProgram) -> tuple[str, ...] | None:
    """Which events are kept after they could end a match, by what each variable binds; None: all."""
    last = only_last(program)
    if not last:
        return None
    conditions = {
        var: [c for c in program.conditions if c.row is not None and c.names == {var}] for var, _ in program.masks
    }
    classes = {event.var: event.type for event in (*program.query.events(), *program.query.negated())}
    return tuple(
        sorted(
            {
                " AND ".join(
                    [
                        f"class {classes[var]!r}",
                        *sorted(_text(c.row, program.dialect) for c in conditions[var] if c.row is not None),
                    ]
                )
                for var, _ in program.masks
                if var not in last
            }
        )
    )


def _of_rows(program: Program, columns: tuple[str, ...], key: str, order: str) -> Needs:
    """Rows are kept from where the search stands, so only what is put out may change."""
    silent = replace(program.query, measures=())
    return Needs(
        language="row pattern",
        columns=columns,
        key=key,
        order=order,
        filter="",
        meaning=render_query(silent, program.dialect),  # type: ignore[arg-type]
        history="",
        began="",
        is_numbered=remembers(program),
        span=None,
        lookback=program.lookback,
        lasting=None,
    )


def _text(expr: Expr, dialect: str) -> str:
    return render_row_sql(expr, double_quotes, dialect)  # type: ignore[arg-type]


def _sorted(item: SortKey, dialect: str) -> str:
    return _text(item.expr, dialect) + (" DESC" if item.descending else "")
