"""The event language (Extended SNOOP): text to an `EventQuery`, and what is wrong with it."""

from motif.lang.snoop.check import check_events
from motif.lang.snoop.detect import is_event_query, looks_like_events
from motif.lang.snoop.query import diagnose_events, parse_events
from motif.lang.snoop.slips import event_slips

__all__ = ["check_events", "diagnose_events", "event_slips", "is_event_query", "looks_like_events", "parse_events"]
