"""Which strategies give the exact answer of a query, and why others do not: the text that a refusal shows."""

from __future__ import annotations

from motif.ir.event import Duration, EventQuery
from motif.plan.events.decision import choosing
from motif.plan.events.program import EventProgram
from motif.plan.events.ways import Role, Way
from motif.plan.physical.facts import Facts, Host, Mode
from motif.plan.physical.plan import Strategy
from motif.plan.program import Program
from motif.plan.scalar import Trying, scalars

LONGEST_WINDOW = 1 << 55
"""Microseconds (a thousand years) from which on a window is as good as none."""

OF_ROWS = {
    (Host.DUCKDB, Mode.BATCH): (Strategy.PARTITIONS, Strategy.PIECES, Strategy.SEQUENTIAL),
    (Host.SPARK, Mode.BATCH): (Strategy.PARTITIONS, Strategy.SEQUENTIAL),
}
OF_EVENTS = {
    (Host.DUCKDB, Mode.BATCH): (Strategy.PARTITIONS, Strategy.SHARED, Strategy.SEQUENTIAL),
    (Host.SPARK, Mode.BATCH): (Strategy.PARTITIONS, Strategy.SLICES, Strategy.SEQUENTIAL),
}
OF_STREAMS = {
    Host.DUCKDB: (Strategy.SEQUENTIAL,),
    Host.SPARK: (Strategy.BUCKETS, Strategy.SEQUENTIAL),
}
"""The strategies that there are, the one that uses most cores first."""


def known(program: Program | EventProgram, facts: Facts) -> tuple[Strategy, ...]:
    """Strategies for such a query on this host, whether exact or not."""
    if facts.mode is not Mode.BATCH:
        return OF_STREAMS[facts.host]
    return (OF_EVENTS if isinstance(program, EventProgram) else OF_ROWS)[facts.host, facts.mode]


def why_not(strategy: Strategy, program: Program | EventProgram, facts: Facts) -> str | None:
    """Why a strategy cannot give the exact answer; None if it can."""
    if strategy not in known(program, facts):
        return f"there is no such way for {_what(program)} {_where(facts)}"
    match strategy:
        case Strategy.SEQUENTIAL:
            return None
        case Strategy.PARTITIONS | Strategy.BUCKETS:
            return None if program.keys else _why_no_key(program)
        case Strategy.PIECES:
            assert isinstance(program, Program)
            return why_not_pieces(program)
        case Strategy.SHARED:
            assert isinstance(program, EventProgram)
            return why_in_sequence(program.query)
        case Strategy.SLICES:
            assert isinstance(program, EventProgram)
            return "there is a key, which needs no slices" if program.keys else why_not_slices(program)


def _what(program: Program | EventProgram) -> str:
    return "event queries" if isinstance(program, EventProgram) else "MATCH_RECOGNIZE"


def _where(facts: Facts) -> str:
    stream = "" if facts.mode is Mode.BATCH else " in a stream"
    return ("on Spark" if facts.host is Host.SPARK else "in process") + stream


def _why_no_key(program: Program | EventProgram) -> str:
    if isinstance(program, EventProgram):
        return "there is no key, for no attribute is equal in all events of a match"
    return "there is no PARTITION BY"


def why_not_pieces(program: Program) -> str | None:
    """Why the search from a row depends on what was found before; None if it does not."""
    if program.asks:
        return "the host is asked while matches are searched"
    if program.keys:
        return "there is a PARTITION BY, and partitions are not cut"
    conditions = (part for parts in program.dependent for part in parts)
    if any(isinstance(node, Trying) for part in conditions for node in scalars(part)):
        return "conditions read the number of the match, so each depends on all before it"
    return None


def why_in_sequence(query: EventQuery) -> str | None:
    """Why the events of one partition cannot be shared by cores; None if they can."""
    return "CONSUMING makes every match depend on the ones before it" if query.consuming else None


def why_not_slices(program: EventProgram) -> str | None:
    """Why a query without a key is matched by one task of a cluster; None if by slices of time."""
    if reason := why_in_sequence(program.query):
        return reason
    within = program.query.within
    if within is None:
        return "without WITHIN a match may reach over the whole input"
    if program.start is not None:
        return "composite events begin before their place in the order"
    if not isinstance(within, Duration):
        return "WITHIN n EVENTS counts all events before"
    if within.microseconds >= LONGEST_WINDOW:
        return "WITHIN is longer than any input"
    if not all(_has_anchor(way, program) for way in program.ways):
        return "PICK chooses every single event of a match, so its rivals may lie anywhere"
    return None


def is_tested_after(program: EventProgram) -> bool:
    """Whether the host can test matches that are found: none of them decides about another one, and none is given to a
    function of the user.
    """
    if choosing(program.query.picks) or program.query.consuming:
        return False
    calls = (c for c in program.conditions if c.function is not None and c.asked is None)
    return not any(len(condition.names) > 1 for condition in calls)


def picked(program: EventProgram) -> frozenset[str]:
    """Variables of which PICK chooses an event."""
    return frozenset(pick.var for pick in choosing(program.query.picks))


def _has_anchor(way: Way, program: EventProgram) -> bool:
    """Whether an event of the match is not up for choice: the slice in which it lies owns the match."""
    return any(way.elements[number].var not in picked(program) for number in way.singles())


def looks_back(program: EventProgram) -> bool:
    """Whether what comes before the anchor can matter: a list, a NOT, or an event that is chosen may come first."""
    chosen = picked(program)
    return any(
        way.can_be_first(number) and (element.role is not Role.SINGLE or element.var in chosen)
        for way in program.ways
        for number, element in enumerate(way.elements)
    )
