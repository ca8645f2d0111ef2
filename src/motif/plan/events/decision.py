"""When matches of an event query are decided, and how long their events matter until then; from the query alone."""

from __future__ import annotations

from typing import Protocol

from motif.ir.event import EventCount, EventQuery, Pick, PickMode
from motif.plan.events.ways import Element, Role, Way


class Decidable(Protocol):
    """A query with the ways through its pattern."""

    @property
    def query(self) -> EventQuery: ...
    @property
    def ways(self) -> tuple[Way, ...]: ...


def choosing(picks: tuple[Pick, ...]) -> tuple[Pick, ...]:
    """Those that leave something out."""
    return tuple(pick for pick in picks if pick.mode in (PickMode.FIRST, PickMode.LAST))


def is_eager(program: Decidable) -> bool:
    """Whether a match is decided as soon as its events are there, in whatever order they come.

    So it is where no event can undo or replace a match: no NOT, no lists, no choice, nothing consumed or counted.
    """
    query = program.query
    if query.consuming or choosing(query.picks) or isinstance(query.within, EventCount):
        return False
    return all(element.role is Role.SINGLE for way in program.ways for element in way.elements)


def waits(program: Decidable, way: Way) -> bool:
    """Whether matches of a way are decided at a deadline; rivals may come by another way."""
    query = program.query
    rivals = bool(choosing(query.picks)) and not query.consuming
    return any(each.waits for each in program.ways) if rivals else way.waits


def floating(program: Decidable, *, intervals: bool) -> frozenset[str]:
    """Variables that rivals of a match may bind otherwise, so that its deadline cannot count from them.

    Of a single FIRST, all rivals that are preferred have an earlier deadline; unless there are `intervals`, events with
    a length: what ends before another may begin after it.
    """
    picks = choosing(program.query.picks)
    if len(picks) == 1 and picks[0].mode is PickMode.FIRST and not intervals:
        return frozenset()
    return frozenset(pick.var for pick in picks)


def _is_certain(element: Element) -> bool:
    """Whether every match of a way binds an event to it."""
    if element.role is Role.LIST:
        return element.repeat is not None and element.repeat.low > 0
    return element.role is Role.SINGLE


def windows(program: Decidable) -> int | None:
    """For how many windows an event may matter after it came; None: for ever.

    A match is within one window of each of its events, and each PICK looks at rivals one window further. If PICK
    chooses the only event of a match, all matches are rivals. A list at the beginning must be whole as long as the
    match is not decided.
    """
    picks = choosing(program.query.picks)
    further = 0
    for way in program.ways:
        leads = any(e.role is Role.LIST and way.can_be_first(number) for number, e in enumerate(way.elements))
        if leads and waits(program, way):
            further = max(further, 1)
        if _is_all_picked(way, program):
            if sum(map(_is_certain, way.elements)) < 2:
                return None
            further = len(picks) + 1
    return 1 + len(picks) + further


def rivalry(program: Decidable) -> int:
    """Windows by which a decision is put off because rivals of rivals share no variable with a match."""
    return len(choosing(program.query.picks)) if any(_is_all_picked(way, program) for way in program.ways) else 0


def _is_all_picked(way: Way, program: Decidable) -> bool:
    picked = {pick.var for pick in choosing(program.query.picks)}
    return picked.issuperset(element.var for element in way.elements if _is_certain(element))
