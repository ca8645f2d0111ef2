"""What `match` is given besides the events: the options of event queries, and queries in all their forms."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeVar, overload

from motif import limits
from motif.arguments import check_choice, check_column, names_of, not_a_query, type_name
from motif.errors import MotifError
from motif.ir.event import EventQuery
from motif.ir.query import RowQuery
from motif.ir.render_event import render_events
from motif.lang.builder import EventPattern, RowPattern
from motif.lang.lexer import tokenize
from motif.lang.snoop import event_slips, is_event_query, parse_events
from motif.lang.snoop.duration import GLUED_UNITS, parse_duration
from motif.limits import Limits
from motif.plan.dag import check_followed
from motif.plan.events.functions import VECTORIZED
from motif.plan.events.program import Stream
from motif.slips import tell

Dialect = Literal["duckdb", "spark"]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class EventOptions:
    """Which columns say when and what an event is, and functions for conditions."""

    time: str | None = None
    type: str | None = None
    order_by: str | Sequence[str] = ()
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, example in (("time", "ts"), ("type", "type")):
            if (column := getattr(self, what)) is not None:
                check_column(what, column, example)
        object.__setattr__(self, "order_by", names_of("order_by", self.order_by))
        given: object = self.functions
        if not isinstance(given, Mapping):
            raise MotifError(f"functions= cannot be {type_name(given)}", hint='give functions by name: {"near": near}')
        for name, function in self.functions.items():
            if not _is_name(name):
                raise MotifError(f"{name!r} cannot be the name of a function", hint='give it one: {"near": near}')
            if not callable(function):
                raise MotifError(f"functions={{{name!r}: ...}} is not a function", hint="give a Python callable")
        object.__setattr__(self, "functions", {name.lower(): f for name, f in self.functions.items()})

    @property
    def stream(self) -> Stream:
        return Stream(self.time or "ts", self.type or "type", tuple(self.order_by))

    def refuse_for_rows(self) -> None:
        """A MATCH_RECOGNIZE clause says all of this itself."""
        given = [name for name in ("time", "type", "order_by", "functions") if getattr(self, name)]
        if given:
            raise MotifError(
                f"{given[0]}= is for event queries",
                hint="MATCH_RECOGNIZE has ORDER BY and DEFINE; leave the option out",
            )


def _is_name(given: object) -> bool:
    return isinstance(given, str) and bool(given)


KINDS = ("match", "timeout", "late")
"""What may come out of a stream."""
BUCKETS, MOST_BUCKETS = 16, 1024
LONGEST_LATENESS = 1 << 55
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a stream is read and what comes out of it."""

    lateness: str | dt.timedelta | None = None
    emit: Sequence[str] | str | None = None
    on_error: Literal["fail", "skip"] = "fail"

    def __post_init__(self) -> None:
        chosen = (self.emit,) if isinstance(self.emit, str) else self.emit
        if chosen is not None and not isinstance(chosen, Sequence):
            raise MotifError(f"emit= cannot be {type_name(chosen)}", hint='write emit=("match", "late")')
        for kind in chosen or ():
            check_choice("emit", kind, KINDS)
        if chosen is not None and not chosen:
            raise MotifError("emit= is empty, so nothing would come out", hint='write emit=("match",), or leave it out')
        object.__setattr__(self, "emit", None if chosen is None else tuple(chosen))
        if self.on_error not in ("fail", "skip"):
            raise MotifError(f"on_error= does not know {self.on_error!r}", hint='write "fail" or "skip"')
        self.microseconds  # noqa: B018 - says what is wrong with it

    @property
    def microseconds(self) -> int:
        """How late an event may be."""
        if self.lateness is None:
            return 0
        if isinstance(self.lateness, dt.timedelta):
            found = self.lateness // dt.timedelta(microseconds=1)
        elif isinstance(self.lateness, str):
            found = parse_duration(self.lateness, "lateness")
        else:
            raise MotifError(
                f"lateness= cannot be {type_name(self.lateness)}", hint='write "10 seconds", or give a timedelta'
            )
        if found < 0:
            raise MotifError("lateness= can not be negative", hint="leave the minus out")
        return found

    def emits(self, kind: str) -> bool:
        """Whether rows of a kind come out."""
        return kind in (self.emit or KINDS[:1])


@dataclass(frozen=True, slots=True)
class LiveOptions(StreamOptions):
    """How a streaming DataFrame is read, matched and kept."""

    archive: Any = None
    """What came before the stream: a DataFrame, or a mapping of them."""
    buckets: int = BUCKETS
    """In how many parts the state is kept; fixed for the life of a checkpoint."""

    def __post_init__(self) -> None:
        StreamOptions.__post_init__(self)
        if type(self.buckets) is not int or not 1 <= self.buckets <= MOST_BUCKETS:
            raise MotifError(
                f"buckets= cannot be {self.buckets!r}",
                hint=f"give a whole number from 1 to {MOST_BUCKETS}; as many as there are cores, or a few times that",
            )
        if self.microseconds > LONGEST_LATENESS:
            raise MotifError("lateness= is longer than a thousand years", hint="give how late an event may really be")

    def refuse_for_tables(self) -> None:
        """A table has all its rows, and every match is decided."""
        given = {
            "lateness": self.lateness is not None,
            "emit": self.emit is not None,
            "on_error": self.on_error != "fail",
            "archive": self.archive is not None,
            "buckets": self.buckets != BUCKETS,
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise MotifError(
                f"{name}= is for streams, and this is a table",
                hint="leave it out, or give a streaming DataFrame (spark.readStream)",
            )


# -- queries in all their forms -----------------------------------------------------------------------


def is_events(query: Any) -> bool:
    """Whether it is an event query, or several of them, rather than SQL or a clause."""
    if isinstance(query, str):
        return _is_event_text(query, limits.LIMITS)
    return isinstance(query, list | tuple | EventPattern | EventQuery)


def parsed_queries(query: Any, dialect: Dialect) -> RowQuery | list[EventQuery]:
    """A query as text, from the builder, or several event queries."""
    if isinstance(query, RowPattern | RowQuery):
        return query.query if isinstance(query, RowPattern) else query
    if isinstance(query, str):
        parsed = list(_parsed_text(query, dialect, limits.LIMITS))
    else:
        parsed = [_parsed(part, dialect) for part in event_parts(query, dialect)]
    check_followed(parsed)
    return parsed


def event_parts(query: Any, dialect: Dialect) -> list[str | EventPattern | EventQuery]:
    """Event queries one by one; those of a text keep their lines and columns."""
    if isinstance(query, list | tuple):
        if not query:
            raise MotifError("the list of queries is empty", hint="give one query, or several")
        return [part for each in query for part in event_parts(_in_list(each), dialect)]
    if isinstance(query, str):
        return list(split_text(query, dialect))
    if isinstance(query, EventPattern | EventQuery):
        return [query]
    raise not_a_query(query)


def _in_list(query: Any) -> Any:
    if isinstance(query, RowQuery | RowPattern):
        raise MotifError("a list holds event queries only", hint="nest MATCH_RECOGNIZE clauses in motif.sql")
    if isinstance(query, list | tuple):
        raise MotifError("a list of queries in a list of queries", hint="give one list")
    return query


def split_text(text: str, dialect: Dialect) -> list[str]:
    """`DEFINE A ...; DEFINE B ...` as two texts; blanks stand for what comes before, so that places stay right."""
    try:
        tokens = tokenize(text, dialect, units=GLUED_UNITS)
    except MotifError:
        return [text]  # the parser says what is wrong with it
    parts, start, words = [], 0, 0
    for index, token in enumerate(tokens.items):
        if token.is_op(";") and tokens.parent[index] < 0:
            if words:
                parts.append(_blank(text[:start]) + text[start : token.span.end])
            start, words = token.span.end, 0
        elif index < len(tokens) - 1:
            words += 1
    if words:
        parts.append(_blank(text[:start]) + text[start:])
    return parts if len(parts) > 1 else [text]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


# Queries are asked again and again; what is read in a text also depends on the limits.


@lru_cache(maxsize=64)
def _is_event_text(text: str, _limits: Limits) -> bool:
    return is_event_query(text)


@lru_cache(maxsize=64)
def _parsed_text(text: str, dialect: Dialect, known: Limits) -> tuple[EventQuery, ...]:
    return tuple(parse_events(part, dialect, known) for part in split_text(text, dialect))


def _parsed(query: str | EventPattern | EventQuery, dialect: Dialect) -> EventQuery:
    if isinstance(query, EventQuery):
        return query
    return parse_events(query, dialect) if isinstance(query, str) else query.query


def text_of(query: str | EventPattern | EventQuery, dialect: Dialect) -> str:
    """The text of one event query, for messages to point into."""
    if isinstance(query, EventQuery):
        return query.source or render_events(query, dialect)
    return query if isinstance(query, str) else query.text(dialect)


# -- slips that the text alone shows ------------------------------------------------------------------


def tell_slips(queries: Sequence[EventQuery]) -> None:
    """Say what may not be meant, before a query is run."""
    for query in queries:
        for slip in event_slips(query):
            tell(slip)


# -- functions of the user ----------------------------------------------------------------------------


@overload
def vectorized(style: Function) -> Function: ...
@overload
def vectorized(style: Literal["numpy", "arrow"] = ...) -> Callable[[Function], Function]: ...
def vectorized(style: Any = "numpy") -> Any:
    """Mark a function for conditions that takes whole columns and gives one back.

    `@motif.vectorized` hands over NumPy arrays, `@motif.vectorized("arrow")` Arrow arrays; without a mark a function is
    called with the values of one candidate at a time.
    """
    if callable(style):
        return vectorized("numpy")(style)
    if style not in ("numpy", "arrow"):
        raise MotifError(f"vectorized does not know {style!r}", hint='write @motif.vectorized("numpy") or "arrow"')

    def mark(function: Function) -> Function:
        setattr(function, VECTORIZED, style)
        return function

    return mark
