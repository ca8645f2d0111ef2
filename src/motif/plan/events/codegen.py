"""Tests of the join -> generated statements for its markers, one branch per level.

Each condition is tested at the first level at which everything it reads is bound. Names in the text are counters and
literals are read from arrays, so nothing of a query's text gets in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from motif.ir.event import EventQuery, Pick
from motif.ir.expr import End
from motif.plan.codegen import Environment, Generator, Value
from motif.plan.events.conditions import Condition, single_variables
from motif.plan.events.steps import Steps
from motif.plan.events.ways import Gap, Role
from motif.plan.markers import Markers
from motif.plan.scalar import INTEGER, Base, Const, Fold, Place, Read, Scalar, scalars

ZONE_NAMES = ("zs", "zo", "za", "zb", "zc", "zr", "zl", "zn", "b0", "b1", "s0", "s1")
"""What passing over blocks of candidates reads.

Per level: the level that gives the limit or -1, the operator (own <, <=, >, >= limit), where its part of the limits,
the blocks and the large blocks begins. Then: limits per event (the least integer for NULL), the limit of each level
now, the least integer, and the least and greatest value of each block of 64 and of 4,096 candidates.
"""
_LIMIT = """\
if zs[level] >= 0:
    zl[level] = zr[za[level] + bound[zs[level]]]
    if zl[level] == zn[0]:
        end[level] = cursor[level]"""
_SKIP = """\
while zs[level] >= 0 and (at < stop if go > 0 else at > stop) and (at & 63) == (0 if go > 0 else 63):
    size = 64
    lowest = b0[zb[level] + (at >> 6)]
    highest = b1[zb[level] + (at >> 6)]
    if (at & 4095) == (0 if go > 0 else 4095):
        size = 4096
        lowest = s0[zc[level] + (at >> 12)]
        highest = s1[zc[level] + (at >> 12)]
    limit = zl[level]
    how = zo[level]
    if (how == 0 and lowest < limit) or (how == 1 and lowest <= limit):
        if size == 64:
            break
        lowest = b0[zb[level] + (at >> 6)]
        if lowest < limit or (how == 1 and lowest == limit):
            break
        size = 64
    if (how == 2 and highest > limit) or (how == 3 and highest >= limit):
        if size == 64:
            break
        highest = b1[zb[level] + (at >> 6)]
        if highest > limit or (how == 3 and highest == limit):
            break
        size = 64
    at = min(at + size, stop) if go > 0 else max(at - size, stop)"""


@dataclass(frozen=True, slots=True)
class JoinCode:
    """Statements for the markers of the join, and what they read."""

    markers: Markers
    environment: Environment
    gaps: tuple[tuple[int, int, int, int], ...]
    """level, other level, least and most time of `level` after `other`."""


def generate_tests(
    query: EventQuery, steps: Steps, conditions: tuple[Condition, ...], ticks: int, *, intervals: bool
) -> JoinCode:
    """Everything a way's join has to test; `ticks` per microsecond in the lane of times."""
    return _Writer(query, steps, conditions, ticks, intervals).code()


class EventGenerator(Generator):
    """Code of conditions over the events of a way; `own` is the element whose candidate `pos` is tested."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(())
        self.steps = steps
        self.own = -1

    def position(self, place: Place) -> str:
        name = f"q{len(self.lines)}"
        self.lines.append(f"{name} = {self.place(place)}")
        return name

    def place(self, place: Place) -> str:
        way = self.steps.way
        number = way.number(place.members[0])
        if number is None:
            return "-1"
        match way.elements[number].role:
            case Role.SINGLE:
                bound = "pos" if number == self.own else f"bound[{self.steps.level(number)}]"
                return bound if place.index == 0 else "-1"
            case Role.ABSENT:
                return "pos" if number == self.own and place.index == 0 else "-1"
            case Role.LIST if number == self.own:
                return self.in_growing_list(place)
            case Role.LIST:
                return self.in_list(self.steps.level(number), place)

    def in_growing_list(self, place: Place) -> str:
        """The candidate counts as appended to the list."""
        i = place.index
        if place.end is End.FIRST:
            return f"items[here + {i}] if n > {i} else (pos if n == {i} else -1)"
        return "pos" if i == 0 else f"items[here + n - {i}] if n >= {i} else -1"

    def in_list(self, level: int, place: Place) -> str:
        i = place.index
        where = f"{i}" if place.end is End.FIRST else f"count[{level}] - {i + 1}"
        return f"items[item_at[{level}] + {where}] if count[{level}] > {i} else -1"

    def fold(self, node: Fold) -> Value:
        way = self.steps.way
        number = way.number(node.members[0])
        role = None if number is None else way.elements[number].role
        if role is Role.LIST and number is not None:
            return self.list_fold(node, self.steps.level(number))
        if node.column is None:
            return Value("1" if role is Role.SINGLE else "0", "False")
        value = self.read(Read(node.column, Place(Base.SET, node.members), type=node.type))
        return Value(f"(0 if {value.null} else 1)", "False") if node.name == "count" else value

    def list_fold(self, node: Fold, level: int) -> Value:
        where = f"items, item_at[{level}], count[{level}]"
        if node.column is None:
            return Value(f"count[{level}]", "False")
        c = self.column(node.column)
        known = f"known(z{c}, {where})"
        if node.name == "count":
            return Value(known, "False")
        is_float = "float" if str(node.type.kind) == "float" else "whole"
        return self.named(Value(f"{node.name}_{is_float}(c{c}, z{c}, {where})", f"({known} == 0)"))


class _Writer:
    def __init__(
        self, query: EventQuery, steps: Steps, conditions: tuple[Condition, ...], ticks: int, intervals: bool
    ) -> None:
        self.query = query
        self.steps = steps
        self.way = steps.way
        self.conditions = conditions
        self.ticks = ticks
        self.intervals = intervals
        self.generator = EventGenerator(steps)
        self.negated = {event.var for event in query.negated()}
        self.single = single_variables(query)
        self.gaps: list[tuple[int, int, int, int]] = []
        depth = len(steps.elements)
        self.tests: list[list[Scalar]] = [[] for _ in range(depth)]
        self.listed: list[list[Scalar]] = [[] for _ in range(depth)]
        self.extra: list[list[str]] = [[] for _ in range(depth)]
        self.complete: list[str] = []

    def code(self) -> JoinCode:
        for condition in self.conditions:
            if condition.scalar is not None:
                self.place(condition, condition.scalar)
        for gap in self.way.gaps:
            self.gap(gap)
        for pick in self.query.picks:
            if pick.within is not None:
                self.pick_within(pick, pick.within * self.ticks)
        for number, element in enumerate(self.way.elements):
            if element.role is Role.LIST and not element.each:
                self.whole_list(number)
        if self.intervals:
            self.span()
        tests = self.branches(self.tests, self.extra, own=True)
        listed = self.branches(self.listed, [[] for _ in self.listed], own=False)
        environment = self.generator.environment()
        prologue = self.prologue(environment)
        markers = [("prologue", prologue), ("test", tests), ("listed", listed), ("complete", "\n".join(self.complete))]
        if any(self.steps.zones):
            markers += [("limit", _LIMIT), ("skip", _SKIP)]
        return JoinCode(tuple(m for m in markers if m[1]), environment, tuple(self.gaps))

    def prologue(self, environment: Environment) -> str:
        names = ["ki", "kf"]
        names += [f"{letter}{c}" for c in range(len(environment.columns)) for letter in "cz"]
        names += ZONE_NAMES if any(self.steps.zones) else ()
        return "\n".join(f"{name} = env[{i}]" for i, name in enumerate(names))

    # -- where a condition is tested

    def place(self, condition: Condition, scalar: Scalar) -> None:
        forbidden = condition.names & self.negated
        if any(self.way.number(name) is None for name in forbidden):
            return  # says which events a NOT of another way forbids
        numbers = {n for n in map(self.way.number, condition.names) if n is not None}
        lists = [n for n in numbers if self.way.elements[n].role is Role.LIST]
        aggregated = {node.members[0] for node in scalars(scalar) if isinstance(node, Fold)}
        absent = [n for n in numbers if self.is_absent(n) and self.way.elements[n].var not in aggregated]
        forbidding = [n for n in absent if self.is_negated(n)]
        if forbidding:
            self.tests[self.steps.level(forbidding[0])].append(scalar)
        elif absent and not condition.names - self.single:  # a list, of another way even, is read when it is complete
            if len(absent) == 1:  # where another takes no event the condition says nothing
                self.tests[self.steps.level(absent[0])].append(scalar)
        elif len(lists) == 1 and len(condition.names - self.single) == 1 and not condition.folded:
            self.tests[self.steps.level(lists[0])].append(scalar)
        elif lists:
            self.listed[max(self.steps.level(n) for n in lists)].append(scalar)
        else:
            level = max((self.steps.level(n) for n in numbers if not self.is_absent(n)), default=0)
            self.tests[level].append(scalar)

    def is_absent(self, number: int) -> bool:
        return self.way.elements[number].role is Role.ABSENT

    def is_negated(self, number: int) -> bool:
        return self.way.elements[number].var in self.negated

    def branches(self, tests: list[list[Scalar]], extra: list[list[str]], *, own: bool) -> str:
        """`if level == 0: ... elif level == 1: ...`, each setting `ok`."""
        lines: list[str] = []
        for level, parts in enumerate(tests):
            if not parts and not extra[level]:
                continue
            self.generator.own = self.steps.elements[level] if own else -1
            body = self.generator.condition(tuple(parts)) if parts else []
            body += extra[level]
            lines.append(f"{'elif' if lines else 'if'} level == {level}:")
            lines += [f"    {line}" for line in body]
        return "\n".join(lines)

    def whole_list(self, number: int) -> None:
        """A list that is not adjacent to the next one, because of an optional variable that has no event here.

        Every beginning of its walk is tried, but it has to take all that comes before the events of that list.
        """
        way, followers = self.way, self.way.following_lists(number)
        optional = {n for n in range(len(way.elements)) if self.is_absent(n) and not self.is_negated(n)}
        between = {n for n in optional if number in way.before[n]}
        if not followers or any(not between & way.before[other] for other in followers):
            return
        own = self.steps.level(number)
        self.complete.append(f"if ok and count[{own}] < cursor[{own}]:")
        self.complete.append(f"    at = items[item_at[{own}] + count[{own}]]")
        self.complete.append("    ok = False")
        for level in map(self.steps.level, followers):
            self.complete.append(f"    for i in range(count[{level}]):")
            self.complete.append(f"        pos = items[item_at[{level}] + i]")
            self.complete.append(f"        if at >= {'head_at[pos]' if self.intervals else 'pos'}:")
            self.complete.append("            ok = True")

    # -- times

    def gap(self, gap: Gap) -> None:
        pair = self.certain_pair(gap)
        if pair is not None and not self.intervals:
            self.between(*pair, gap.low * self.ticks, gap.high * self.ticks)
            return
        self.complete.append("ends, begins = -far, far")
        self.complete += self.extreme("ends", gap.first, "time", "max")
        self.complete += self.extreme("begins", gap.second, "begin", "min")
        low, high = self.number(gap.low * self.ticks), self.number(gap.high * self.ticks)
        self.complete.append("if ends > -far and begins < far:")
        self.complete.append(f"    ok = ok and {low} <= begins - ends and begins - ends <= {high}")

    def number(self, value: int) -> str:
        return self.generator.constant(Const(value, INTEGER))

    def certain_pair(self, gap: Gap) -> tuple[int, int] | None:
        """The one event that ends the first part and the one that begins the second, where they are certain."""
        if any(self.way.elements[n].role is not Role.SINGLE for n in (*gap.first, *gap.second)):
            return None
        last = [n for n in gap.first if all(m == n or m in self.way.before[n] for m in gap.first)]
        first = [n for n in gap.second if all(m == n or n in self.way.before[m] for m in gap.second)]
        return (last[0], first[0]) if last and first else None

    def between(self, earlier: int, later: int, low: int, high: int) -> None:
        """low <= time[later] - time[earlier] <= high, seen from whichever is bound later."""
        a, b = self.steps.level(earlier), self.steps.level(later)
        self.gaps.append((b, a, low, high) if b > a else (a, b, -high, -low))

    def extreme(self, name: str, numbers: Iterable[int], array: str, word: str) -> list[str]:
        lines = []
        for number in numbers:
            level = self.steps.level(number)
            if self.way.elements[number].role is Role.SINGLE:
                lines.append(f"{name} = {word}({name}, {array}[bound[{level}]])")
            else:
                lines.append(f"for i in range(count[{level}]):")
                lines.append(f"    {name} = {word}({name}, {array}[items[item_at[{level}] + i]])")
        return lines

    def pick_within(self, pick: Pick, bound: int) -> None:
        number = self.way.number(pick.var)
        origin = None if pick.origin is None else self.way.number(pick.origin)
        if number is None or (pick.origin is not None and (origin is None or self.is_absent(origin))):
            return
        single = self.way.elements[number].role is Role.SINGLE
        if origin is not None and single:
            self.between(origin, number, -bound, bound)
            return
        if origin is not None:
            lines = [f"there = bound[{self.steps.level(origin)}]"]
        else:
            # Were it bound, an event that is left out would count as single itself.
            lines = ["there = pos" if self.is_absent(number) else "there = -1"]
            lines += [f"there = max(there, bound[{self.steps.level(s)}])" for s in self.way.singles()]
        here = f"bound[{self.steps.level(number)}]" if single else "pos"
        lines.append(f"ok = ok and abs(time[{here}] - time[there]) <= {self.number(bound)}")
        if single:
            self.complete += lines
        else:
            self.extra[self.steps.level(number)] += lines

    def span(self) -> None:
        """WITHIN, where events have a length: the earliest beginning may be that of a late event."""
        bound = [n for n, element in enumerate(self.way.elements) if element.role is not Role.ABSENT]
        self.complete.append("ends, begins = -far, far")
        self.complete += self.extreme("ends", bound, "clock", "max")
        self.complete += self.extreme("begins", bound, "opening", "min")
        self.complete.append("ok = ok and (within < 0 or ends - begins <= within)")
