"""What event patterns are made of: variables over events, NOT, picks, lengths of time."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from types import EllipsisType
from typing import Any, NoReturn

from motif.errors import MotifError
from motif.ir.event import Event, Pick, PickMode, Quantifier
from motif.ir.expr import Aggregate, At, Column, Expr
from motif.ir.render_event import render_duration, render_event_pattern
from motif.lang.builder.arguments import bounds, is_a, is_text
from motif.lang.builder.keys import new_key, shown
from motif.lang.builder.value import Value, node_of
from motif.lang.snoop.duration import parse_duration


class _All:
    """Every variable of a pattern."""

    def __repr__(self) -> str:
        return "ALL"


ALL = _All()


def ev(type_: str | None = None, name: str | None = None, /, **attributes: object) -> EventVar:
    """A variable over events of a class (None: any), whose attributes have the given values (a list: one of them).

    `a.amount` is an attribute; one that has the name of a method is `a["count"]`. Without a name it gets one from its
    place in the pattern: login1, login2.
    """
    for what, given in (("class", type_), ("name", name)):
        if given is not None and not is_text(given):
            raise MotifError(
                f"the {what} of an event is a string, not {given!r}", hint='write ev("Login", "a", ok=True)'
            )
    variable = EventVar(name or new_key(type_ or "e"), type_)
    return variable.where(*(_equals(variable[attribute], wanted) for attribute, wanted in attributes.items()))


def _equals(attribute: Value, wanted: object) -> Value:
    if wanted is None:
        return attribute.is_null()
    return attribute.is_in(wanted) if isinstance(wanted, list | tuple | set | frozenset) else attribute == wanted


class EventVar:
    """One event of a match, or with a quantifier a list of them."""

    __slots__ = ("_conditions", "_key", "_repeat", "_type")
    _key: str
    _type: str | None
    _repeat: Quantifier | None
    _conditions: tuple[Expr, ...]

    def __init__(
        self, key: str, type_: str | None, repeat: Quantifier | None = None, conditions: tuple[Expr, ...] = ()
    ) -> None:
        for slot, given in (("_key", key), ("_type", type_), ("_repeat", repeat), ("_conditions", conditions)):
            object.__setattr__(self, slot, given)

    def __setattr__(self, name: str, given: object) -> NoReturn:
        raise MotifError("a variable can not be changed", hint="its methods return new ones")

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or name in EventVar.__slots__:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Value:
        if not isinstance(name, str):
            raise MotifError("an attribute is named by a string", hint='write a["amount"] or a.amount')
        return Value(At(Column(name), self._key))

    def __repr__(self) -> str:
        return f"<{render_event_pattern(Event(shown(self._key), self._type, self._repeat))}>"

    def __bool__(self) -> NoReturn:
        raise MotifError(f"{self!r} has no truth before there are events", hint="write & | ~ instead of and, or, not")

    # -- quantifiers ----------------------------------------------------------------------------

    def times(self, low: int, high: int | EllipsisType | None = ...) -> EventVar:
        """`{low}`; with `high` `{low,high}`, where None is no bound."""
        return self._repeated(*bounds(low, high))

    def plus(self) -> EventVar:
        """One or more."""
        return self._repeated(1, None)

    def star(self) -> EventVar:
        """Any number, also none."""
        return self._repeated(0, None)

    def opt(self) -> EventVar:
        """One or none."""
        return self._repeated(0, 1)

    def _repeated(self, low: int, high: int | None) -> EventVar:
        if self._repeat is not None:
            raise MotifError(f"{self!r} has a quantifier already", hint="use one of times, plus, star, opt")
        return EventVar(self._key, self._type, Quantifier(low, high), self._conditions)

    # -- conditions and values --------------------------------------------------------------------

    def where(self, *conditions: Value) -> EventVar:
        """The same variable with conditions of its own."""
        found = tuple(node_of(checked_condition(condition)) for condition in conditions)
        return EventVar(self._key, self._type, self._repeat, (*self._conditions, *found))

    def count(self) -> Value:
        """COUNT: how many events it has."""
        return Value(Aggregate("count", None, self._key))

    def _event(self) -> Event:
        return Event(self._key, self._type, self._repeat)


class Negated:
    """NOT: no such event between its neighbours in seq(...)."""

    __slots__ = ("_var",)

    def __init__(self, var: EventVar) -> None:
        self._var = var

    def __repr__(self) -> str:
        return f"<NOT {repr(self._var)[1:-1]}>"


def no(event: EventVar) -> Negated:
    """NOT: no such event between the parts of seq(...) before and after it."""
    if not isinstance(event, EventVar):
        raise MotifError("no() takes one event", hint='write no(x := ev("Payment"))')
    return Negated(event)


def checked_condition(condition: object) -> Value:
    """A condition, or a complaint about what came instead."""
    if isinstance(condition, Value):
        return condition
    hint = "compare an attribute: a.x == 5; is one side of it an attribute?"
    if isinstance(condition, str):
        hint = "build it from attributes: a.x == 5; only a whole query can be text"
    raise MotifError(f"{condition!r} is not a condition", hint=hint)


# -- picks --------------------------------------------------------------------------------------------


class Picked:
    """What pick(...) takes: a variable and which of its events to keep."""

    __slots__ = ("_pick",)

    def __init__(self, pick: Pick) -> None:
        self._pick = pick

    def __repr__(self) -> str:
        pick = self._pick
        within = "" if pick.within is None else f" WITHIN {render_duration(pick.within)}"
        origin = "" if pick.origin is None else f" FROM {shown(pick.origin)}"
        return f"<{pick.mode} {shown(pick.var)}{within}{origin}>"


def first(of: Any, within: str | timedelta | None = None, from_: EventVar | None = None) -> Any:
    """PICK FIRST of a variable (for pick); of an attribute, its value at the variable's first event."""
    return of.first() if isinstance(of, Value) else _pick(PickMode.FIRST, of, within, from_)


def last(of: Any, within: str | timedelta | None = None, from_: EventVar | None = None) -> Any:
    """PICK LAST of a variable (for pick); of an attribute, its value at the variable's last event."""
    return of.last() if isinstance(of, Value) else _pick(PickMode.LAST, of, within, from_)


def each(of: EventVar, within: str | timedelta | None = None, from_: EventVar | None = None) -> Picked:
    """PICK EACH of a variable: every event, or every list of events, makes a match."""
    return _pick(PickMode.EACH, of, within, from_)


def whole(of: EventVar, within: str | timedelta | None = None, from_: EventVar | None = None) -> Picked:
    """PICK ALL of a variable: the whole list, as without a pick."""
    return _pick(PickMode.ALL, of, within, from_)


def _pick(mode: PickMode, of: EventVar, within: str | timedelta | None, origin: EventVar | None) -> Picked:
    if not is_a(of, EventVar) or not is_a(origin, EventVar, type(None)):
        raise MotifError(f"{mode.lower()}() picks a variable", hint="write last(a), or last(a, within='5 s', from_=b)")
    if origin is not None and within is None:
        raise MotifError("from_ needs within", hint="write last(a, within='5 s', from_=b)")
    length = None if within is None else microseconds(within, "within")
    return Picked(Pick(mode, of._key, length, None if origin is None else origin._key))


# -- lengths of time ------------------------------------------------------------------------------------


def microseconds(length: object, what: str, *, bare_seconds: bool = False) -> int:
    """`"10 min"` or a timedelta; a number only where it means seconds."""
    if isinstance(length, timedelta):
        found = length // timedelta(microseconds=1)
    elif isinstance(length, str):
        found = parse_duration(length, what)
    elif bare_seconds and isinstance(length, int | float | Decimal) and not isinstance(length, bool):
        found = int((Decimal(str(length)) * 1_000_000).to_integral_value())
    else:
        raise MotifError(
            f"{what} takes a length of time, not {length!r}", hint='write "10 min" or timedelta(minutes=10)'
        )
    if found < 0:
        raise MotifError(f"{what} can not be negative", hint='write "10 min"')
    return found
