"""Event patterns in Python: `seq(a := ev("Login"), b := ev("Logout")).where(a.user == b.user).within("10 min")`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias, assert_never

from motif.errors import MotifError
from motif.ir import event as ir
from motif.ir.expr import At, Column, End, Expr, transform
from motif.ir.render import Dialect
from motif.ir.render_event import render_events
from motif.lang.builder.arguments import is_a, is_text, is_whole
from motif.lang.builder.event_parts import ALL, EventVar, Negated, Picked, checked_condition, microseconds
from motif.lang.builder.keys import numbered, shown
from motif.lang.builder.value import Value, name_of, node_of, rename, value
from motif.lang.snoop import parse_events
from motif.lang.snoop.check import variables_of

_EVENTS = re.compile(r"\s*([0-9]{1,9})\s+events?\s*", re.IGNORECASE)
Part: TypeAlias = "EventVar | Negated | EventPattern"


def seq(*parts: Part) -> EventPattern:
    """SEQ: one after the other."""
    return _combined("seq", parts, ir.Sequence)


def all_of(*parts: Part) -> EventPattern:
    """ALL: every part, in any order."""
    return _combined("all_of", parts, ir.Conjunction)


def one_of(*parts: Part) -> EventPattern:
    """OR: exactly one of the parts."""
    return _combined("one_of", parts, ir.Disjunction)


def any_of(count: int, *parts: Part) -> EventPattern:
    """ANY: exactly `count` of the parts."""
    if not is_whole(count):
        raise MotifError("any_of begins with a number", hint="write any_of(2, a, b, c)")
    return _combined("any_of", parts, lambda items: ir.AnyOf(count, items))


def tseq(first: Part, second: Part, low: float | str | timedelta, high: float | str | timedelta) -> EventPattern:
    """TSEQ: the second begins `low` to `high` (numbers: seconds) after the first has ended."""
    shortest, longest = (microseconds(bound, "tseq", bare_seconds=True) for bound in (low, high))
    return _combined("tseq", (first, second), lambda items: ir.TimedSequence(items[0], items[1], shortest, longest))


def _combined(
    name: str, parts: tuple[Part, ...], build: Callable[[tuple[ir.Pattern, ...]], ir.Pattern]
) -> EventPattern:
    if not parts:
        raise MotifError(f"{name}() of nothing", hint=f'write {name}(a := ev("A"), b := ev("B"))')
    drafts = [_draft(part, name) for part in parts]
    return EventPattern(
        ir.EventQuery(
            build(tuple(draft.pattern for draft in drafts)),
            conditions=tuple(condition for draft in drafts for condition in draft.conditions),
            same=tuple(attribute for draft in drafts for attribute in draft.same),
        )
    )


def _draft(part: Part, around: str) -> ir.EventQuery:
    """A part as a query of its own: its pattern and the conditions it brings along."""
    match part:
        case EventVar():
            return ir.EventQuery(part._event(), part._conditions)
        case Negated():
            return ir.EventQuery(ir.Not(part._var._event()), part._var._conditions)
        case EventPattern():
            inner = part._draft
            if inner != ir.EventQuery(inner.pattern, inner.conditions, inner.same):
                hint = "inside of another pattern only where() and by() can be used; move the others to the outer one"
                raise MotifError(f"a part of {around}() has clauses of a whole query", hint=hint)
            return inner
    raise MotifError(f"{part!r} is not a part of a pattern", hint='write ev("Login"), seq(...) or no(...)')


class EventPattern:
    """A pattern of events and the clauses of its query; every method returns a new one.

    `query` is the query as data, `str()` its text. Both refuse what the language refuses.
    """

    __slots__ = ("_draft",)
    _draft: ir.EventQuery
    """The query so far; variables without a name are held by their keys."""

    def __init__(self, draft: ir.EventQuery) -> None:
        object.__setattr__(self, "_draft", draft)

    def __setattr__(self, name: str, given: object) -> NoReturn:
        raise MotifError("a pattern can not be changed", hint="its methods return new ones")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        names = numbered(event.var for event in _variables(self._draft))
        shown_keys = {key: shown(key) for key in _keys(self._draft)} | names
        return f"<{' '.join(render_events(_named(self._draft, shown_keys)).split())}>"

    def text(self, dialect: Dialect = "duckdb") -> str:
        """The query in the event language."""
        return render_events(_named(self._draft, numbered(event.var for event in _variables(self._draft))), dialect)

    @property
    def query(self) -> ir.EventQuery:
        """The query as data, checked; messages show its text."""
        return parse_events(self.text())

    # -- clauses --------------------------------------------------------------------------------

    def where(self, *conditions: Value) -> EventPattern:
        """Conditions, all of which must be true."""
        found = tuple(node_of(checked_condition(condition)) for condition in conditions)
        return self._with(conditions=(*self._draft.conditions, *found))

    def by(self, *attributes: str) -> EventPattern:
        """`[a, b]`: all events of a match agree on these attributes."""
        for attribute in attributes:
            if not isinstance(attribute, str):
                raise MotifError(f"by() takes names of attributes, not {attribute!r}", hint='write by("user")')
        found = tuple(ir.Attribute(attribute) for attribute in attributes)
        return self._with(same=(*self._draft.same, *found))

    def pick(self, *picks: Picked) -> EventPattern:
        """Which of several matches to keep: `first(a)`, `last(a)`, `each(a)`, `whole(a)`."""
        for pick in picks:
            if not is_a(pick, Picked):
                raise MotifError(f"{pick!r} is not a pick", hint="write pick(last(a)), pick(first(b, within='5 s'))")
        return self._with(picks=(*self._draft.picks, *(pick._pick for pick in picks)))

    def within(self, length: str | timedelta | None = None, *, events: int | None = None) -> EventPattern:
        """How long a match may be: `"10 min"`, a timedelta, or a number of `events`."""
        if (length is None) == (events is None):
            raise MotifError(
                "within() takes a length of time or events=", hint='write within("10 min") or within(events=5)'
            )
        if isinstance(length, str) and (counted := _EVENTS.fullmatch(length)):
            length, events = None, int(counted[1])
        if events is None:
            return self._with(within=ir.Duration(microseconds(length, "within")))
        if not is_whole(events, 1):
            raise MotifError(f"{events!r} is not a number of events from 1 on", hint="write within(events=5)")
        return self._with(within=ir.EventCount(events))

    def consuming(self, *variables: Any) -> EventPattern:
        """Whose events are used up by a match: variables, or `all` (also written ALL); nothing: none."""
        if len(variables) == 1 and (variables[0] is all or variables[0] is ALL):
            return self._with(consuming=tuple(event.var for event in self._draft.events()))
        return self._with(consuming=tuple(dict.fromkeys(_key(variable, "consuming") for variable in variables)))

    def select(self, *attributes: Value, **items: object) -> EventPattern:
        """What a match shows: attributes under their own names, anything else as name=value."""
        return self._with(items=_items("select", attributes, items))

    def named(self, name: str) -> EventPattern:
        """DEFINE: matches are events of this class."""
        return self._with(name=_name(name))

    def returning(self, name: str, /, *attributes: Value, **items: object) -> EventPattern:
        """RETURN: matches are events of this class, with these attributes behind those of select."""
        found = _items("returning", attributes, items) if attributes or items else ()
        return self._with(name=_name(name), returned=found)

    def source(self, table: str) -> EventPattern:
        """FROM table: where the events are."""
        return self._with(input=_name(table))

    def _with(self, **changes: Any) -> EventPattern:
        return EventPattern(replace(self._draft, **changes))


def _name(name: str) -> str:
    if not is_text(name):
        raise MotifError(f"a name is a string, not {name!r}", hint='write named("Fraud")')
    return name


def _key(variable: object, what: str) -> str:
    if not isinstance(variable, EventVar):
        raise MotifError(f"{what}() takes variables, not {variable!r}", hint=f"write {what}(a, b) or {what}(all)")
    return variable._key


def _items(what: str, attributes: tuple[Value, ...], items: Mapping[str, object]) -> tuple[ir.Item, ...]:
    if not attributes and not items:
        raise MotifError(f"{what}() of nothing", hint=f"write {what}(a.x, total=b.amount.sum())")
    found = [ir.Item(*_attribute(what, attribute)) for attribute in attributes]
    return (*found, *(ir.Item(node_of(value(item)), name) for name, item in items.items()))


def _attribute(what: str, attribute: object) -> tuple[Expr, str]:
    node = node_of(attribute) if isinstance(attribute, Value) else None
    if isinstance(node, At) and isinstance(node.arg, Column) and node == At(node.arg, node.var):
        return node, node.arg.name
    if isinstance(attribute, EventVar):
        raise MotifError(
            f"{attribute!r} is a whole event", hint="name its attributes: a.x; without select() all are shown"
        )
    raise MotifError(f"{attribute!r} needs a name", hint=f"write {what}(total=...)")


# -- names --------------------------------------------------------------------------------------------


def _variables(draft: ir.EventQuery) -> list[ir.Event]:
    return [node for node in ir.walk(draft.pattern) if isinstance(node, ir.Event)]


def _keys(draft: ir.EventQuery) -> list[str]:
    items = (*(draft.items or ()), *draft.returned)
    exprs = (*draft.conditions, *(item.expr for item in items))
    return [*(event.var for event in _variables(draft)), *(var for expr in exprs for var in variables_of(expr))]


def _named(draft: ir.EventQuery, names: Mapping[str, str]) -> ir.EventQuery:
    """The same query with names instead of keys, and PREV as a step along the variable's list."""

    def item(of: ir.Item) -> ir.Item:
        return ir.Item(_along_list(rename(of.expr, names)), of.name)

    picks = (
        ir.Pick(
            pick.mode,
            name_of(pick.var, names),
            pick.within,
            None if pick.origin is None else name_of(pick.origin, names),
        )
        for pick in draft.picks
    )
    return replace(
        draft,
        pattern=_renamed(draft.pattern, names),
        conditions=tuple(_along_list(rename(condition, names)) for condition in draft.conditions),
        picks=tuple(picks),
        items=None if draft.items is None else tuple(item(each) for each in draft.items),
        returned=tuple(item(each) for each in draft.returned),
        consuming=tuple(name_of(key, names) for key in draft.consuming),
    )


def _renamed(pattern: ir.Pattern, names: Mapping[str, str]) -> ir.Pattern:
    match pattern:
        case ir.Event():
            return replace(pattern, var=name_of(pattern.var, names))
        case ir.Not(event=event):
            return ir.Not(replace(event, var=name_of(event.var, names)))
        case ir.TimedSequence():
            first, second = (_renamed(part, names) for part in ir.parts(pattern))
            return replace(pattern, first=first, second=second)
        case ir.Sequence() | ir.Conjunction() | ir.AnyOf() | ir.Disjunction():
            return replace(pattern, items=tuple(_renamed(item, names) for item in pattern.items))
        case _:
            assert_never(pattern)


def _along_list(expr: Expr) -> Expr:
    """`b.x.prev(2)` is the event bound to b two before the last: `LAST(b.x, 2)`."""

    def visit(node: Expr) -> Expr | None:
        if not isinstance(node, At):
            return None
        if node.var is None:
            raise MotifError("a column that is of no event", hint="write a.x; col.x is for row patterns")
        if node.mode is not None:
            raise MotifError(f"{node.mode} belongs to row patterns", hint="leave .final() and .running() out")
        if node.shift > 0 or (node.shift and node.end is End.FIRST):
            raise MotifError("only prev() of an attribute steps along events", hint="use first(n), last(n), prev(n)")
        return replace(node, index=node.index - node.shift, shift=0)

    return transform(expr, visit)
