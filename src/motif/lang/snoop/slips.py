"""What the text of an event query says, but hardly means."""

from __future__ import annotations

from collections.abc import Iterator

from motif import limits
from motif.errors import MotifWarning
from motif.ir.event import EventQuery, PickMode


def event_slips(query: EventQuery) -> Iterator[MotifWarning]:
    """Likely slips, in the order of the text."""
    for check in (_endless_lists,):
        yield from check(query)


def _endless_lists(query: EventQuery) -> Iterator[MotifWarning]:
    most = limits.LIMITS.each_events
    for event in query.events():
        endless = event.repeat is not None and event.repeat.high is None
        if endless and query.pick(event.var) is PickMode.EACH:
            pick = next(pick for pick in query.picks if pick.var == event.var)
            yield MotifWarning(
                f"PICK EACH {event.var} forms every list of events: 2^n of them for n events, "
                f"at most each_events = {most}",
                source=query.source,
                span=pick.span,
                hint=f"give {event.var} an upper bound, such as {event.var}{{1,3}}, or PICK ALL {event.var}",
            )
