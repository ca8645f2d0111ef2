"""What a program needs of the events it has seen, in a form that can be saved, compared and shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from motif.engine.stream.events import span_of
from motif.engine.stream.rows import remembers
from motif.engine.stream.state import Needs
from motif.ir.event import EventCount
from motif.ir.expr import Expr
from motif.ir.render import double_quotes, render_query, render_row_sql
from motif.plan.events.program import EventProgram
from motif.plan.program import Program, SortKey

if TYPE_CHECKING:
    from motif.engine.stream.session import Planned


def needs_of(planned: Planned) -> Needs:
    """See the module."""
    program, layout = planned.program, planned.layout
    texts = [_text(expr, program.dialect) for expr in layout.exprs]
    columns = tuple(f"{text} ({kind})" for text, kind in zip(texts, _types(planned), strict=True))
    key = ", ".join(texts[key] for key in program.keys)
    order = ", ".join([_sorted(item, program.dialect) for item in program.order])
    if isinstance(program, EventProgram):
        return _of_events(program, columns, key, order)
    return _of_rows(program, columns, key, order)


def _types(planned: Planned) -> list[str]:
    """Of the program's columns, and of those that are only sorted by."""
    layout = planned.layout
    kinds = {item.column: str(item.type) for item in (*layout.order, *layout.ties)}
    kinds |= {number: str(kind) for number, kind in enumerate(planned.program.types)}
    return [kinds[number] for number in range(len(layout.exprs))]


def _of_events(program: EventProgram, columns: tuple[str, ...], key: str, order: str) -> Needs:
    query = program.query
    counted = query.within.count if isinstance(query.within, EventCount) else 0
    functions = sorted(str(c.function) for c in program.conditions if c.function is not None and len(c.names) == 1)
    return Needs(
        language="event pattern",
        columns=columns,
        key=key,
        order=order,
        filter="" if program.admitted is None else _text(program.admitted, program.dialect),
        meaning="; ".join(functions) + (" WITHIN EVENTS" if counted else ""),
        is_numbered=False,
        span=span_of(program),
        lookback=counted,
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
        is_numbered=remembers(program),
        span=None,
        lookback=program.lookback,
    )


def _text(expr: Expr, dialect: str) -> str:
    return render_row_sql(expr, double_quotes, dialect)  # type: ignore[arg-type]


def _sorted(item: SortKey, dialect: str) -> str:
    return _text(item.expr, dialect) + (" DESC" if item.descending else "")
