"""The steps of a join, in words: in which order events are bound, how candidates are found, what is tested where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from motif.explanation.facts import WayFacts
from motif.ir.event import Duration, Quantifier
from motif.ir.render_event import render_duration
from motif.plan.events.conditions import Condition, single_variables
from motif.plan.events.steps import choose_steps
from motif.plan.events.ways import Role, Way
from motif.plan.physical.text import Step
from motif.plan.scalar import Op, Read

if TYPE_CHECKING:
    from motif.explanation.events import Sketch

MOST_WAYS = 12
"""More are not listed: they differ in little."""


def way_facts(sketch: Sketch) -> Iterator[WayFacts]:
    """One list of steps per way through the pattern."""
    total = len(sketch.ways)
    for number, way in enumerate(sketch.ways[:MOST_WAYS], 1):
        names = " ".join(_element_name(way, element) for element in range(len(way.elements)))
        title = "Join" if total == 1 else f"Way {number} of {total}: {names}"
        yield WayFacts(title, tuple(_Teller(sketch, way).steps_in_words()))
    if total > MOST_WAYS:
        yield WayFacts(f"and {total - MOST_WAYS} more ways, which are like these", ())
    if not total:
        yield WayFacts("Join", (Step("nothing to do: the conditions can not all be true"),))


def _element_name(way: Way, number: int) -> str:
    element = way.elements[number]
    return f"NOT {element.var}" if element.role is Role.ABSENT else element.var


class _Teller:
    """Tells the steps of one way."""

    def __init__(self, sketch: Sketch, way: Way) -> None:
        self.sketch = sketch
        self.way = way
        self.query = sketch.query
        self.negated = {event.var for event in sketch.query.negated()}
        self.single = single_variables(sketch.query)
        # Functions on several events are tested on matches, and what is picked or consumed is known only then.
        later = any(c.function is not None and len(c.names) > 1 for c in sketch.conditions)
        self.driver = None if later else self._driver()
        steps = choose_steps(self.query, way, sketch.conditions, sketch.estimates, self.driver)
        self.steps = replace(steps, chosen=-1, late_first=False) if later else steps

    def _driver(self) -> int | None:
        """With CONSUMING a match is looked for at the event that decides it; that event is bound first."""
        if not self.query.consuming:
            return None
        waits = self.way.waits
        fits = self.way.can_be_first if waits else self.way.can_be_last
        leading = any(e.role is Role.LIST and self.way.can_be_first(n) for n, e in enumerate(self.way.elements))
        found = [] if waits and leading else [number for number in self.way.singles() if fits(number)]
        return found[0] if found else None

    def steps_in_words(self) -> Iterator[Step]:
        for level, number in enumerate(self.steps.elements):
            match self.way.elements[number].role:
                case Role.SINGLE:
                    title, notes = self._bind(level, number)
                case Role.LIST:
                    title, notes = self._collect(level, number)
                case Role.ABSENT:
                    title, notes = self._forbid(level, number)
            yield Step(title, "", tuple(notes))
        called = [c for c in self.sketch.conditions if c.function is not None and len(c.names) > 1]
        if called:
            hosts = all(call.asked for c in called if c.function is not None for call in c.function.calls)
            what = "ask the host, of many at once" if hosts else "call your functions"
            yield Step(what, "", tuple(f"test {self.sketch.text(c.expr)}" for c in called))

    # -- one event

    def _bind(self, level: int, number: int) -> tuple[str, list[str]]:
        var = self.way.elements[number].var
        notes = [self._found_by(level, number), *self._passed_over(level)]
        notes += [f"test {text}" for text in self._tests(level)]
        notes += [f"test {text}" for text in self._gaps(level)]
        if level == self.steps.chosen:
            which = "latest" if self.steps.late_first else "earliest"
            notes.append(f"{which} first, and only the first that fits is kept: {self._pick_word(var)} {var}")
        return f"bind {var}", notes

    def _pick_word(self, var: str) -> str:
        return str(self.query.pick(var))

    def _found_by(self, level: int, number: int) -> str:
        var = self.way.elements[number].var
        where = " of a partition" if self.sketch.key_parts else ""
        if level == 0:
            why = ", one after the other: each may decide matches" if self.driver == number else ""
            return f"every event{where} that can be {var}{why}"
        lookup = self.steps.lookups[level]
        if lookup is None:
            return f"candidates{where} by time: {self._range(level, number)}"
        indexed = self._indexed(level)
        equality = self.sketch.text(indexed.expr) if indexed else f"equality with {self._name(lookup.element)}"
        return f"candidates{where} by an index on {equality}, then by time: {self._range(level, number)}"

    def _passed_over(self, level: int) -> list[str]:
        """An inequality with a bound event, by which whole blocks of candidates are passed over."""
        zone = self.steps.zones[level] if self.steps.zones else None
        found = (
            None
            if zone is None
            else self._comparing(level, zone.element, {zone.own, zone.other}, ("<", "<=", ">", ">="))
        )
        return (
            [f"blocks of candidates in which none has {self.sketch.text(found.expr)} are passed over"] if found else []
        )

    def _name(self, number: int) -> str:
        return self.way.elements[number].var

    def _indexed(self, level: int) -> Condition | None:
        """The condition that the index of a level answers."""
        lookup = self.steps.lookups[level]
        return None if lookup is None else self._comparing(level, lookup.element, {lookup.own, lookup.other}, ("=",))

    def _comparing(self, level: int, other: int, columns: set[int], operators: tuple[str, ...]) -> Condition | None:
        """The condition that compares columns of the element of a level and another one."""
        names = {self._name(self.steps.elements[level]), self._name(other)}
        for condition in self.sketch.conditions:
            match condition.scalar:
                case Op(name=name, args=(Read(column=left), Read(column=right))) if name in operators:
                    if condition.names == names and {left, right} == columns:
                        return condition
                case _:
                    pass
        return None

    def _range(self, level: int, number: int) -> str:
        bound = [e for e in self.steps.elements[:level] if self.way.elements[e].role is Role.SINGLE]
        after = [self.way.elements[e].var for e in bound if e in self._near(number, before=True)]
        before = [self.way.elements[e].var for e in bound if e in self._near(number, before=False)]
        parts = ([f"after {_and(after)}"] if after else []) + ([f"before {_and(before)}"] if before else [])
        if isinstance(self.query.within, Duration):
            parts.append(f"within {render_duration(self.query.within.microseconds)} of what is bound")
        elif self.query.within is not None:
            parts.append(f"within {self.query.within.count:,} events of what is bound")
        return ", ".join(parts) or "of the whole partition"

    def _near(self, number: int, *, before: bool) -> set[int]:
        """Neighbours on one side among the elements bound so far: the others follow from them."""
        bound = {e for e in self.steps.elements[: self.steps.level(number)] if self.way.elements[e].role is Role.SINGLE}
        if before:
            side = self.way.before[number] & bound
            return {e for e in side if not any(e in self.way.before[other] for other in side)}
        side = frozenset(e for e in bound if number in self.way.before[e])
        return {e for e in side if not any(other in self.way.before[e] for other in side)}

    # -- lists and absences

    def _collect(self, level: int, number: int) -> tuple[str, list[str]]:
        element = self.way.elements[number]
        title = f"collect {element.var}{_quantifier(element.repeat)}"
        notes = [f"walk its candidates {self._between(number)}{self._by_index(level)}"]
        notes += [f"take those with {text}" for text in self._tests(level)]
        if element.each:
            notes.append("every list of them makes a match (limit each_events)")
        if self.way.is_split(number):
            notes.append("every one of them may be the last: another list follows")
        notes += [f"then test {text}" for text in self._tests(level, complete=True)]
        notes += [f"then test {text}" for text in self._gaps(level)]
        return title, notes

    def _forbid(self, level: int, number: int) -> tuple[str, list[str]]:
        element = self.way.elements[number]
        notes = [f"look for one {self._between(number)}{self._by_index(level)}; the first that is found ends the try"]
        notes += [f"only one with {text} counts" for text in self._tests(level)]
        if element.var not in self.negated:
            return f"no {element.var}: the list is empty", notes
        return f"no {element.var}", notes

    def _by_index(self, level: int) -> str:
        indexed = self._indexed(level)
        return f", by an index on {self.sketch.text(indexed.expr)}" if indexed else ""

    def _between(self, number: int) -> str:
        singles = self.way.singles()
        before = {e for e in self.way.before[number] if e in singles}
        after = {e for e in singles if number in self.way.before[e]}
        low = [self.way.elements[e].var for e in before if not any(e in self.way.before[o] for o in before)]
        high = [self.way.elements[e].var for e in after if not any(o in self.way.before[e] for o in after)]
        if low and high:
            return f"between {_and(low)} and {_and(high)}"
        return (
            f"after {_and(low)}, up to the deadline" if low else f"before {_and(high)}, as far back as WITHIN reaches"
        )

    # -- conditions

    def _tests(self, level: int, *, complete: bool = False) -> list[str]:
        return [
            self.sketch.text(condition.expr)
            for condition in self.sketch.conditions
            if condition.scalar is not None
            and condition is not self._indexed(level)
            and (level, complete) in self._places(condition)
        ]

    def _places(self, condition: Condition) -> set[tuple[int, bool]]:
        """Levels at which a condition is tested, and whether that is once lists are complete."""
        numbers = {n for n in map(self.way.number, condition.names) if n is not None}
        forbidden = condition.names & self.negated
        if any(self.way.number(name) is None for name in forbidden):
            return set()
        level = self.steps.level
        roles: Mapping[int, Role] = {n: self.way.elements[n].role for n in numbers}
        lists = [n for n in numbers if roles[n] is Role.LIST]
        absent = [n for n in numbers if roles[n] is Role.ABSENT]
        if forbidden:
            return {(level(n), False) for n in absent if self.way.elements[n].var in self.negated}
        if absent and not lists:
            return {(level(n), False) for n in absent}
        if len(lists) == 1 and len(condition.names - self.single) == 1 and not condition.folded:
            return {(level(lists[0]), False)}
        if lists:
            return {(max(map(level, lists)), True)}
        return {(max(map(level, numbers), default=0), False)}

    def _gaps(self, level: int) -> list[str]:
        """TSEQ, told where the last of its events is bound."""
        found = []
        for gap in self.way.gaps:
            if max(self.steps.level(n) for n in (*gap.first, *gap.second)) != level:
                continue
            first, second = (_and([self.way.elements[n].var for n in part]) for part in (gap.first, gap.second))
            low, high = render_duration(gap.low), render_duration(gap.high)
            found.append(f"{second} begins {low} to {high} after {first} has ended")
        return found


def _and(names: list[str]) -> str:
    return " and ".join(names)


def _quantifier(repeat: Quantifier | None) -> str:
    if repeat is None:
        return ""
    high = "or more" if repeat.high is None else f"to {repeat.high}"
    return f", {repeat.low} {high}" if repeat.low != repeat.high else f", {repeat.low}"
