"""Questions that everyone asks, each in one call: sessions, funnels, sequences.

Each makes a query with the builder. With data it answers it; without, it gives the query itself, to print or to change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from motif.arguments import check_choice, check_column, names_of
from motif.errors import MotifError
from motif.ir.expr import Column, Literal
from motif.ir.render import Dialect, render_expr
from motif.lang.builder import (
    EventPattern,
    RowPattern,
    col,
    ev,
    first,
    fn,
    last,
    match_number,
    row,
    rows,
    seq,
)
from motif.lang.builder.event_parts import microseconds
from motif.lang.builder.row_parts import RowPart, RowVar
from motif.lang.builder.value import Value

Length: TypeAlias = "str | timedelta | int | float"
Names: TypeAlias = "str | Sequence[str]"
Steps: TypeAlias = "Sequence[str] | Mapping[str, str | Value]"

_COUNTS = """\
WITH {tries}furthest AS (SELECT {keys}MAX(reached) AS reached FROM {source}{grouped})
SELECT step, name, COUNT(reached) AS reached,
  COUNT(reached) / NULLIF(FIRST_VALUE(COUNT(reached)) OVER (ORDER BY step), 0) AS rate,
  COUNT(reached) / NULLIF(LAG(COUNT(reached)) OVER (ORDER BY step), 0) AS rate_from_previous
FROM (VALUES {steps}) AS steps(step, name) LEFT JOIN furthest ON furthest.reached >= steps.step
GROUP BY step, name
ORDER BY step"""
"""A key counts once per step, however often it tries."""


# -- sessions -----------------------------------------------------------------------------------------


def session_query(
    by: Names, gap: Length, longest: Length | None = None, time: str = "ts", per: str = "session"
) -> RowPattern:
    """Rows of one key with at most `gap` from each to the next."""
    check_choice("per", per, ("session", "row"))
    check_column("time", time, "ts")
    at = col[time]
    begin, more = row("START"), row("MORE", at <= at.prev() + _length(gap, "gap"))
    query = rows(begin, more.star()).partition_by(*names_of("by", by)).order_by(time)
    if longest is not None:
        query = query.within(_length(longest, "longest"))
    if per == "row":
        return query.measures(session=match_number()).all_rows()
    return query.measures(session=match_number(), session_start=first(at), session_end=last(at), events=fn.count())


# -- funnels ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Funnel:
    """How far each try gets: a row per event of the first step, and the statement that counts them per step."""

    by: tuple[str, ...]
    steps: tuple[tuple[str, Value], ...]
    within: Length | None
    time: str

    def tries(self) -> RowPattern:
        """A try begins with each event of the first step and goes on with the earliest of each next one."""
        found = [row(f"STEP_{number}", condition) for number, (_, condition) in enumerate(self.steps, 1)]
        query = rows(found[0], *_onwards(found[1:])).partition_by(*self.by).order_by(self.time).skip_to_next()
        if self.within is not None:
            query = query.within(_length(self.within, "within"))
        reached = found[0].count()
        for step in found[1:]:
            reached = reached + step.count()
        times = {name: step[self.time] for (name, _), step in zip(self.steps, found, strict=True)}
        return query.measures(reached=reached, **times)

    def counts(self, dialect: Dialect, source: str) -> str:
        """The statement that counts keys per step, over the tries that `source` names."""
        return self._counts(dialect, "", source)

    def statement(self, dialect: Dialect) -> str:
        """The whole question as one statement over a table `events`."""
        clause = self.tries().text(dialect).replace("\n", "\n  ")
        return self._counts(dialect, f"tries AS (\n  SELECT * FROM events {clause}\n),\n", "tries")

    def _counts(self, dialect: Dialect, tries: str, source: str) -> str:
        keys = ", ".join(render_expr(Column(key), dialect) for key in self.by)
        names = [render_expr(Literal(name), dialect) for name, _ in self.steps]
        return _COUNTS.format(
            tries=tries,
            source=source,
            keys=f"{keys}, " if keys else "",
            grouped=f" GROUP BY {keys}" if keys else "",
            steps=", ".join(f"({number}, {name})" for number, name in enumerate(names, 1)),
        )


def funnel_of(by: Names, steps: Steps, within: Length | None = None, time: str = "ts", type_: str = "type") -> Funnel:
    """A funnel of classes, or of conditions by name."""
    check_column("time", time, "ts")
    check_column("type", type_, "type")
    keys, named = names_of("by", by), _steps(steps, type_)
    taken = {*(key.casefold() for key in keys), "reached"}
    for name, _ in named:
        if name.casefold() in taken:
            raise MotifError(
                f"two columns of the result would be called {name}",
                hint=f"name the steps: steps={{'{name}_step': {name!r}, ...}}",
            )
        taken.add(name.casefold())
    return Funnel(keys, named, within, time)


def _onwards(steps: Sequence[RowVar]) -> list[RowPart]:
    """The way to the next steps, as far as it goes: `(OTHER*? STEP_2 (OTHER*? STEP_3)?)?`."""
    parts: list[RowPart] = []
    for step in reversed(steps):
        parts = [rows(row("OTHER").star().reluctant(), step, *parts).opt()]
    return parts


def _steps(steps: object, type_: str) -> tuple[tuple[str, Value], ...]:
    if isinstance(steps, str) or not isinstance(steps, Mapping | Sequence):
        raise MotifError(f"steps= cannot be {steps!r}", hint='give a list of classes: steps=["view", "cart", "pay"]')
    pairs = steps.items() if isinstance(steps, Mapping) else zip(steps, steps, strict=True)
    named = [(_step_name(name), step) for name, step in pairs]
    found = tuple((name, col[type_] == step if isinstance(step, str) else _condition(step)) for name, step in named)
    if len(found) < 2:
        raise MotifError("a funnel has two steps or more", hint='write steps=["view", "cart", "pay"]')
    return found


def _step_name(step: object) -> str:
    if not isinstance(step, str) or not step:
        raise MotifError(
            f"{step!r} needs a name", hint="give conditions by name: steps={'viewed': motif.col.page == '/shop', ...}"
        )
    return step


def _condition(step: object) -> Value:
    if not isinstance(step, Value):
        raise MotifError(f"{step!r} is not a step", hint="give a class, or a condition such as motif.col.amount > 100")
    return step


# -- sequences ----------------------------------------------------------------------------------------


def sequence_query(by: Names, of: object, within: Length | None = None) -> EventPattern:
    """Events of these classes one after the other, with others between them."""
    if isinstance(of, str) or not isinstance(of, Sequence) or not of:
        raise MotifError(f"of= cannot be {of!r}", hint='give a list of classes: of=["view", "cart", "pay"]')
    parts = [ev(part, f"e{number}") if isinstance(part, str) else part for number, part in enumerate(of, 1)]
    query = seq(*parts)
    if keys := names_of("by", by):
        query = query.by(*keys)
    if within is not None:
        query = query.within(_duration(within))
    return query


def _duration(within: Length) -> str | timedelta:
    if not isinstance(within, str | timedelta):
        raise MotifError(f"within= cannot be {within!r}", hint='write within="30 min", or give a timedelta')
    return within


# -- what they have in common -------------------------------------------------------------------------


def _length(given: Length, what: str) -> timedelta | float:
    """A time as a timedelta; a number stays one, for a time column of numbers."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if not 0 <= given < math.inf:
            raise MotifError(f"{what}= cannot be {given}", hint="give a number that is not negative")
        return given
    return timedelta(microseconds=microseconds(given, what))
