"""Partial matches whose time is over: how far a pattern came that began with an event and was never completed.

One per first event: the longest beginning of the pattern (in the order in which it is written) that could be bound,
and of those the first in canonical order. A pattern that begins with a list has no first event to speak of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.decided import restricted
from motif.engine.events.functions import Functions
from motif.engine.events.joins import WayJoin
from motif.engine.events.matches import EventMatches, joined
from motif.engine.events.rows import EventRows, no_matches
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Role, Way
from motif.plan.physical.plan import Running


def timed_out(rows: EventRows, functions: Functions, events: Array, running: Running) -> EventMatches:
    """What is left of patterns that began with one of `events` (flags)."""
    if not rows.program.query.consuming:
        events = events & ~_completed(rows, functions, events, running)
    parts = [no_matches(rows)]
    for program in _beginnings(rows.program):
        if not events.any():
            break
        found = _first_of_each(_begun(_like(rows, program), functions, events, running))
        events = events.copy()
        events[found.first()] = False
        parts.append(found)
    return joined(parts)


def _completed(rows: EventRows, functions: Functions, events: Array, running: Running) -> Array:
    """Events with which a whole match begins, chosen by PICK or not."""
    flags = np.zeros(rows.count, bool)
    flags[_begun(rows, functions, events, running).first()] = True
    return flags


def _begun(rows: EventRows, functions: Functions, events: Array, running: Running) -> EventMatches:
    """Matches that begin with one of the events."""
    parts = [no_matches(rows)]
    for number, way in enumerate(rows.program.ways):
        for driver in way.singles():
            if not way.can_be_first(driver):
                continue
            with restricted(rows, {way.elements[driver].var: events}):
                if len(rows.candidates(way.elements[driver].var)):
                    join = WayJoin(rows, number, running, driver=driver, choose=False)
                    parts += [functions.filtered(rows, chunk) for chunk in join.chunks()]
    found = joined(parts)
    return found.take(np.flatnonzero(events[found.first()])) if len(found) else found


def _first_of_each(found: EventMatches) -> EventMatches:
    """Of the matches that begin with the same event, the first in canonical order."""
    if len(found) < 2:
        return found
    ordered = found.in_order(list(found.singles) + list(found.lists))
    return ordered.take(np.sort(np.unique(ordered.first(), return_index=True)[1]))


def _beginnings(program: EventProgram) -> Iterator[EventProgram]:
    """The program for ever shorter beginnings of the pattern."""
    longest = max((len(_bound(way)) for way in program.ways), default=0)
    for size in range(longest - 1, 0, -1):
        ways = tuple(_cut(way, size) for way in program.ways if len(_bound(way)) > size)
        variables = {element.var for way in ways for element in way.elements}
        yield replace(
            program,
            ways=ways,
            conditions=tuple(c for c in program.conditions if c.names <= variables),
            query=replace(program.query, picks=(), consuming=()),
        )


def _bound(way: Way) -> list[int]:
    return [number for number, element in enumerate(way.elements) if element.role is not Role.ABSENT]


def _cut(way: Way, size: int) -> Way:
    """The way up to so many elements that bind something."""
    end = _bound(way)[size - 1] + 1
    gaps = tuple(gap for gap in way.gaps if all(number < end for number in (*gap.first, *gap.second)))
    return Way(way.elements[:end], way.before[:end], gaps)


def _like(rows: EventRows, program: EventProgram) -> EventRows:
    """The same events for a shorter pattern; results have the columns of the whole one."""
    shorter = EventRows(program, rows.table, rows.execution)
    shorter.let_pass(rows.masks)
    shorter.__dict__["list_variables"] = rows.list_variables
    return shorter
