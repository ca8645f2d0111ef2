"""Classes that a stream has had: what its queries name and no event was is told when it is closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa

from motif.ir.event import Event, EventQuery
from motif.plan.events.program import EventProgram
from motif.plan.events.slips import missing_class
from motif.plan.program import Program
from motif.slips import tell

MOST_SEEN = 1000
"""Classes that are remembered."""


class Classes:
    """Looks at the class of events as long as one that is named has not come."""

    def __init__(self, programs: Iterable[EventProgram | Program], known: Collection[str]) -> None:
        """`known`: classes that are there even if no event has them."""
        self.seen: set[str] = set()
        self.column: str | None = None
        self.awaited: dict[str, tuple[EventQuery, Event]] = {}
        for program in programs:
            if isinstance(program, EventProgram):
                self.column = self.column or program.stream.type
                for event in (*program.query.events(), *program.query.negated()):
                    if event.type is not None and event.type not in known:
                        self.awaited.setdefault(event.type, (program.query, event))

    def look(self, rows: pa.Table) -> None:
        """Take note of the classes of new events."""
        if self.awaited.keys() <= self.seen or self.column not in rows.column_names:
            return
        found = {str(value) for value in rows.column(self.column).unique().to_pylist() if value is not None}
        self.seen |= found if len(self.seen) < MOST_SEEN else found & self.awaited.keys()

    def tell(self) -> None:
        """Say which of them never came."""
        for name, (query, event) in self.awaited.items() if self.seen else ():
            if name not in self.seen:
                tell(missing_class(query, event, self.column or "", [(one, None) for one in sorted(self.seen)]))
