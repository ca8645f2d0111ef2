"""A planned event query: what the host hands over, and the joins over it. Flat, frozen, printable, versioned."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from motif.ir.event import EventQuery
from motif.ir.expr import Call, Column, Expr
from motif.ir.render_event import render_events
from motif.ir.types import Type
from motif.limits import Limits
from motif.plan.events.conditions import Condition
from motif.plan.events.outputs import EventOutputs
from motif.plan.events.ways import Way
from motif.plan.program import SortKey
from motif.plan.scalar import Scalar

VERSION = 1


@dataclass(frozen=True, slots=True)
class Stream:
    """Which columns of the input say when an event was and what it is."""

    time: str = "ts"
    type: str | None = "type"
    order_by: tuple[str, ...] = ()
    start: str | None = None
    """Where composite events begin; NULL for plain ones."""
    total: tuple[Expr, ...] = ()
    """In a stack of queries, what events are ordered by behind the time: the same for all of them; see `places`."""


@dataclass(frozen=True, slots=True)
class Places:
    """Columns with what the last and the first event of a composite are ordered by; of a plain one, itself."""

    last: tuple[int, ...]
    first: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One column of the partition key: per variable the expression it was found as."""

    expr: Expr
    by_variable: tuple[tuple[str, Expr], ...]
    written: bool
    """As `[attr]`; otherwise found from equalities."""
    is_required: bool = True
    """No match without it. If only lists and NOTs hang on to one event, that event may also match with a NULL key."""


@dataclass(frozen=True, slots=True)
class Mask:
    """The events that a variable may bind: those for which a boolean column is true, or whose class has a number."""

    column: int
    number: int | None = None
    """In which case the column holds numbers of classes: one for all variables moves and filters faster than flags."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Time slices on a cluster, where there is no key: rows are also given to the slice before theirs."""

    column: int
    microseconds: int


@dataclass(frozen=True)
class EventProgram:
    """See the module; without slots, so that what follows from it is worked out once."""

    query: EventQuery
    stream: Stream
    dialect: str
    columns: tuple[Expr, ...]
    """Row expressions the host hands over."""
    types: tuple[Type, ...]
    filter: Expr | None
    """Events that can play no role stay in the host; see `admitted`."""
    keys: tuple[int, ...]
    key_parts: tuple[KeyPart, ...]
    order: tuple[SortKey, ...]
    ties: tuple[Expr, ...]
    time: int
    start: int | None
    masks: tuple[tuple[str, Mask | None], ...]
    """Per variable: which events it may bind; None: every one."""
    ways: tuple[Way, ...]
    conditions: tuple[Condition, ...]
    outputs: EventOutputs
    identity: tuple[int, ...]
    """Columns that tell events apart, for `match_id`."""
    limits: Limits
    places: Places | None = None
    """Where events stand that are matches, if there are some."""
    version: int = VERSION
    windowed: bool = False
    """Never: conditions do not read neighbouring rows."""

    @cached_property
    def dependent(self) -> tuple[tuple[Scalar, ...], ...]:
        """Conditions the join tests."""
        return tuple((condition.scalar,) for condition in self.conditions if condition.scalar is not None)

    @cached_property
    def neighbours(self) -> tuple[tuple[Scalar, ...], ...]:
        """None: events are not adjacent."""
        return ()

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Variables that can be bound, in pattern order."""
        return tuple(event.var for event in self.query.events())

    @cached_property
    def mask(self) -> dict[str, Mask | None]:
        return dict(self.masks)

    @cached_property
    def joins(self) -> dict[Hashable, Any]:
        """Joins that the engine has prepared for it, to be asked for again; they do not travel with it."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def admitted(self) -> Expr | None:
        """What passes the filter, and events without a time, which come along to be counted."""
        untimed = Call("is null", (Column(self.stream.time),))
        return None if self.filter is None else Call("or", (self.filter, untimed))

    @cached_property
    def fingerprint(self) -> str:
        """Names the query in match ids and saved state: equal for equal meaning."""
        text = f"{self.version}\n{render_events(self.query)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]
