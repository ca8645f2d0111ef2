"""Event queries back to text: parsing what `render_events` writes gives an equal query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    EventCount,
    EventQuery,
    Item,
    Not,
    Pattern,
    Pick,
    Quantifier,
    Sequence,
    TimedSequence,
)
from motif.ir.expr import Aggregate, At, Column, End, Expr
from motif.ir.render import AND, PLAIN_NAME, Dialect, Renderer

_UNITS = (
    ("day", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
)
_PATTERN_WORDS = frozenset("SEQ TSEQ ALL ANY OR NOT WHERE PICK WITHIN RETURN CONSUMING".split())
"""What a class may not be called without quotes."""
_WORDS = _PATTERN_WORDS | frozenset("EACH NONE EVENTS PREV COUNT".split())
_WIDTH = 100


def render_events(query: EventQuery, dialect: Dialect = "duckdb") -> str:
    """The whole query, a clause on each line."""
    return EventRenderer(dialect).events(query)


def render_event_pattern(pattern: Pattern, dialect: Dialect = "duckdb") -> str:
    """What stands behind FROM."""
    return EventRenderer(dialect).event_pattern(pattern)


def render_event_expr(expr: Expr, dialect: Dialect = "duckdb") -> str:
    """An expression as it would stand in WHERE or SELECT."""
    return EventRenderer(dialect).expr(expr)


def render_duration(microseconds: int) -> str:
    """`1 h 30 min`: exact, with the largest units that fit."""
    found: list[str] = []
    for unit, length in _UNITS:
        count, microseconds = divmod(microseconds, length)
        if count:
            found.append(f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}")
    return " ".join(found) or "0 s"


@dataclass(frozen=True, slots=True)
class EventRenderer(Renderer):
    """Writes the event language; expressions differ from the row language in how they name variables."""

    # -- names ----------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """A name of a query, an item or an attribute."""
        return self.quoted(name) if name.upper() in _WORDS else Renderer.name(self, name)

    def var(self, name: str) -> str:
        """A variable: spelled as in the pattern."""
        return self.name(name)

    def _class(self, name: str) -> str:
        plain = PLAIN_NAME.fullmatch(name) and name.upper() not in _PATTERN_WORDS
        return name if plain else self.quoted(name)

    def _input(self, name: str) -> str:
        """A table's name with its schema, or anything else in quotes."""
        parts = name.split(".")
        dotted = all(PLAIN_NAME.fullmatch(part) for part in parts)
        return ".".join(self.name(part) for part in parts) if dotted else self.quoted(name)

    # -- the query ------------------------------------------------------------------------------

    def events(self, query: EventQuery) -> str:
        """The whole query."""
        source = f"{self._input(query.input)} " if query.input is not None else ""
        lines = [
            f"DEFINE {self.name(query.name)}" if query.name is not None and not query.returned else "",
            "SELECT *" if query.items is None else f"SELECT {self._items(query.items)}",
            f"FROM {source}{self._behind_source(query)}",
            self._where(query),
            self._picks(query),
            self._within_clause(query.within),
            f"RETURN {self.name(query.name or '')}({self._items(query.returned)})" if query.returned else "",
            f"CONSUMING {self._consumed(query)}" if query.consuming else "",
        ]
        return "\n".join(line for line in lines if line)

    def _behind_source(self, query: EventQuery) -> str:
        text = self.event_pattern(query.pattern)
        lone = isinstance(query.pattern, Event) and query.pattern.type is None
        # `FROM orders e` is an event of class orders: a SEQ of one says the same as the lone variable.
        return f"SEQ({text})" if lone and query.input is not None else text

    def _items(self, items: Iterable[Item]) -> str:
        return _folded((self._item(item) for item in items), "       ")

    def _item(self, item: Item) -> str:
        text = self.expr(item.expr)
        named = isinstance(item.expr, At) and item.expr == At(Column(item.name), item.expr.var)
        return text if named else f"{text} AS {self.name(item.name)}"

    def _where(self, query: EventQuery) -> str:
        terms = [self._operand(condition, None, AND + 1) for condition in query.conditions]
        if query.same:
            terms.insert(0, f"[{', '.join(self.name(attribute.name) for attribute in query.same)}]")
        joined = " AND ".join(terms)
        if len(joined) > _WIDTH:
            joined = "\n  AND ".join(terms)
        return f"WHERE {joined}" if terms else ""

    def _picks(self, query: EventQuery) -> str:
        texts = [self._pick(pick) for pick in query.picks]
        last = query.picks[-1] if query.picks else None
        if last is not None and last.within is not None and last.origin is None and query.within is None:
            # Without brackets its WITHIN would be that of the query.
            texts[-1] = f"({texts[-1]})"
        return f"PICK {', '.join(texts)}" if texts else ""

    def _pick(self, pick: Pick) -> str:
        within = f" WITHIN {render_duration(pick.within)}" if pick.within is not None else ""
        origin = f" FROM {self.var(pick.origin)}" if pick.origin is not None else ""
        return f"{pick.mode} {self.var(pick.var)}{within}{origin}"

    def _within_clause(self, within: Duration | EventCount | None) -> str:
        match within:
            case None:
                return ""
            case Duration(microseconds=microseconds):
                return f"WITHIN {render_duration(microseconds)}"
            case EventCount(count=count):
                return f"WITHIN {count} EVENTS"
            case _:
                assert_never(within)

    def _consumed(self, query: EventQuery) -> str:
        everything = tuple(event.var for event in query.events())
        if query.consuming == everything and len(everything) > 1:
            return "ALL"
        return ", ".join(self.var(var) for var in query.consuming)

    # -- patterns -------------------------------------------------------------------------------

    def event_pattern(self, pattern: Pattern) -> str:
        """A pattern of the event language."""
        match pattern:
            case Event(var=var, type=type_, repeat=repeat):
                text = self.var(var) if type_ is None else f"{self._class(type_)} {self.var(var)}"
                return text + (_quantifier(repeat) if repeat is not None else "")
            case Not(event=event):
                return f"NOT {self.event_pattern(event)}"
            case Sequence(items=items):
                return f"SEQ({self._parts(items, '; ')})"
            case Conjunction(items=items):
                return f"ALL({self._parts(items, ', ')})"
            case AnyOf(count=count, items=items):
                return f"ANY({count}, {self._parts(items, ', ')})"
            case Disjunction(items=items):
                return f"OR({self._parts(items, ', ')})"
            case TimedSequence(first=first, second=second, low=low, high=high):
                times = f"{render_duration(low)}, {render_duration(high)}"
                return f"TSEQ({self.event_pattern(first)}, {self.event_pattern(second)}; {times})"
            case _:
                assert_never(pattern)

    def _parts(self, items: Iterable[Pattern], separator: str) -> str:
        return separator.join(self.event_pattern(item) for item in items)

    # -- expressions ----------------------------------------------------------------------------

    def _at(self, at: At) -> str:
        arg = self._expr(at.arg, at.var)[0]
        if isinstance(at.arg, Column) and _is_plain(at):
            return arg
        return f"{at.end}({arg}{f', {at.index}' if at.index else ''})"

    def _aggregate(self, aggregate: Aggregate) -> str:
        if aggregate.arg is None and aggregate.var is not None:
            return f"COUNT({self.var(aggregate.var)})"
        return Renderer._aggregate(self, aggregate)


def _is_plain(at: At) -> bool:
    """Whether the last event of the variable is read, as `a.x` does."""
    return at.end is End.LAST and at.index == 0


def _quantifier(repeat: Quantifier) -> str:
    low, high = repeat.low, repeat.high
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short is not None:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _folded(texts: Iterable[str], indent: str) -> str:
    """The texts on one line, or one on each where they are long."""
    found = list(texts)
    joined = ", ".join(found)
    return joined if len(joined) <= _WIDTH else f",\n{indent}".join(found)
