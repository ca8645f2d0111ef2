"""The event language (Extended SNOOP): text to an `EventQuery`, and what is wrong with it."""

from motif.lang.snoop.check import check_events
from motif.lang.snoop.detect import is_event_query
from motif.lang.snoop.query import diagnose_events, parse_events

__all__ = ["check_events", "diagnose_events", "is_event_query", "parse_events"]
