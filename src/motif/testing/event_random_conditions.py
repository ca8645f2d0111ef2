"""Random conditions of event queries: legal by construction, most of them easy to satisfy."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from motif.ir.event import EventQuery, PickMode
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Literal, LiteralValue, Verbatim
from motif.testing.event_random_pattern import CLASSES
from motif.testing.event_ways import ways

NUMBERS = ("x", "x", "y", "y", "k")
COMPARISONS = ("<=", "<=", "<=", ">=", ">=", ">=", "<", ">", "<>", "<>", "=")


def col(var: str, name: str, index: int = 0, end: End = End.LAST) -> At:
    """`var.name`, or one of the events of a list."""
    return At(Column(name), var, end, index)


def call(name: str, *args: Expr) -> Call:
    """An operator or a function."""
    return Call(name, args)


def lit(value: LiteralValue) -> Literal:
    """A constant."""
    return Literal(value)


class ConditionWriter:
    """Writes the conditions of a query whose pattern and picks are known."""

    def __init__(self, rng: random.Random, query: EventQuery) -> None:
        self._rng = rng
        events = query.events()
        self._names = [event.var for event in events]
        self._single = [event.var for event in events if event.repeat is None]
        self._lists = [event.var for event in events if event.repeat is not None]
        self._negated = [event.var for event in query.negated()]
        self._picked = {pick.var for pick in query.picks if pick.mode in (PickMode.FIRST, PickMode.LAST)}
        everywhere = [{event.var for event in way.events()} for way in ways(query.pattern)]
        self._certain = set.intersection(*everywhere) - {
            event.var for event in events if event.repeat is not None and event.repeat.allows(0)
        }
        """Variables that every match binds."""

    def conditions(self) -> tuple[Expr, ...]:
        """A few conditions of all kinds, and sometimes an equality chain."""
        written: list[Expr] = [self._condition() for _ in range(self._rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3)))]
        if len(self._names) > 1 and self._rng.random() < 0.2:
            written += self._chain()
        for name in self._negated:
            if self._rng.random() < 0.6:
                written.append(self._forbidding(name))
        self._rng.shuffle(written)
        return tuple(written)

    def _condition(self) -> Expr:
        writers = [self._alone, self._alone]
        if len(self._names) > 1:
            writers += [self._neighbours, self._neighbours, self._far, self._either]
        if self._lists:
            writers += [self._walking, self._walking, self._walking, self._aggregate, self._aggregate]
        if len(self._lists) > 1:
            writers += [self._two_lists]
        return self._rng.choice(writers)()

    def _tolerant(self, condition: Expr, names: Sequence[str]) -> Expr:
        """Where a variable may be unbound, mostly say that this is all right."""
        for name in names:
            if name not in self._certain and self._rng.random() < 0.8:
                condition = call("or", condition, call("is null", col(name, self._rng.choice(("ts", "ts", "x")))))
        return condition

    def _number(self, *values: int) -> Expr:
        """One of the numbers, sometimes as an expression that has to be worked out."""
        value = self._rng.choice(values)
        forms = (
            call("+", lit(value - 1), lit(1)),
            call("*", lit(value), lit(1)),
            call("coalesce", lit(None), lit(value)),
            call("abs", call("neg", lit(value))),
            Verbatim(("CAST(", " AS INTEGER)"), (lit(value),)),
        )
        return self._rng.choice(forms) if self._rng.random() < 0.3 else lit(value)

    # --- single variables ---

    def _alone(self) -> Expr:
        name = self._rng.choice(self._names)
        return self._tolerant(self._about(name), [name])

    def _about(self, name: str) -> Expr:
        """Something that is true of most events."""
        x, y = col(name, self._rng.choice(NUMBERS)), col(name, self._rng.choice(NUMBERS))
        small, large = lit(self._rng.choice((0, 0, 1, 1, 2))), lit(self._rng.choice((2, 3, 3, 4)))
        forms = (
            call(">=", x, small),
            call("<=", x, large),
            call("<>", x, small),
            call("between", x, small, large),
            call("in", x, lit(1), lit(2), lit(3)),
            call("in", x, lit(0), small, large, lit(None)),
            call("is not null", x),
            call("is null", x),
            call("<=", call("+", x, y), lit(5)),
            call(">=", call("-", x, y), lit(-1)),
            call("=", call("%", x, lit(2)), lit(self._rng.randint(0, 1))),
            call(">=", call("*", lit(2), x), y),
            call("=", col(name, "s"), lit(self._rng.choice("uv"))),
            call("in", col(name, "s"), lit("u"), lit("v")),
            call("=", col(name, "type"), lit(self._rng.choice(CLASSES))),
            call("in", col(name, "type"), lit("A"), lit("B")),
            call("<>", col(name, "type"), lit("C")),
            call("not", call("=", x, small)),
            call(">", call("coalesce", x, lit(3)), small),
            call("is not distinct from", x, y),
        )
        return self._rng.choice(forms)

    def _compared(self, left: str, right: str) -> Expr:
        name = self._rng.choice(NUMBERS)
        operator = self._rng.choice(COMPARISONS)
        other = col(right, name)
        shifted = call("+", other, self._number(1)) if self._rng.random() < 0.2 else other
        return call(operator, col(left, name), shifted)

    def _neighbours(self) -> Expr:
        place = self._rng.randrange(len(self._names) - 1)
        pair = self._names[place], self._names[place + 1]
        return self._tolerant(self._compared(*pair), pair)

    def _far(self) -> Expr:
        pair = (self._names[0], self._names[-1])
        return self._tolerant(self._compared(*self._rng.sample(pair, 2)), pair)

    def _either(self) -> Expr:
        chosen = self._rng.sample(self._names, min(len(self._names), self._rng.choice((2, 2, 3))))
        condition = self._about(chosen[0])
        for name in chosen[1:]:
            condition = call("or", condition, self._about(name))
        return condition

    def _chain(self) -> list[Expr]:
        count = self._rng.randint(2, len(self._names))
        chosen = sorted(self._rng.sample(self._names, count), key=self._names.index)
        key = self._rng.choice(("k", "k", "s"))
        pairs = itertools.pairwise(chosen)
        return [self._tolerant(call("=", col(one, key), col(other, key)), (one, other)) for one, other in pairs]

    # --- NOT ---

    def _forbidding(self, name: str) -> Expr:
        """Which events a NOT forbids."""
        chance = self._rng.random()
        if chance < 0.35:
            return self._about(name)
        if self._lists and chance < 0.5:
            aggregate = Aggregate(self._rng.choice(("sum", "max", "min")), Column("x"), self._rng.choice(self._lists))
            return call(self._rng.choice(COMPARISONS), col(name, "x"), aggregate)
        other = self._rng.choice(self._names)
        attribute = self._rng.choice(("k", "k", "x", "s"))
        return call(self._rng.choice(("=", "=", "<=")), col(name, attribute), col(other, attribute))

    # --- repetition ---

    def _walking(self) -> Expr:
        """Which events a list takes; the forms without IS NULL take no first event."""
        name = self._rng.choice(self._lists)
        column = self._rng.choice(NUMBERS)
        x, before, first = col(name, column), col(name, column, 1), col(name, column, 0, End.FIRST)
        grows = call(self._rng.choice((">", ">=", ">=", "<=", "<>")), x, before)
        forms: list[Expr] = [
            call("or", call("is null", before), grows),
            call("or", call("is null", before), grows),
            call(">=", x, first),
            call("<=", x, call("+", first, self._number(1))),
            call("or", call("is null", col(name, column, 2)), call("<>", x, col(name, column, 2))),
            call(">", call("coalesce", call("-", x, before), self._number(1)), lit(-1)),
            call("or", call("is null", col(name, column, 1, End.FIRST)), call("<>", x, first)),
            grows,
            self._about(name),
        ]
        if self._single:
            other = col(self._rng.choice(self._single), column)
            forms += [call(operator, x, other) for operator in ("<=", ">=", "<>")]
            forms.append(call("or", call("is null", other), call("<=", other, x)))
        return self._rng.choice(forms)

    def _aggregate(self) -> Expr:
        name = self._rng.choice(self._lists)
        column = Column(self._rng.choice(("x", "y")))
        forms: list[Expr] = [
            call(">=", Aggregate("count", None, name), self._number(1, 2)),
            call("<=", Aggregate("count", None, name), self._number(1, 2, 3)),
            call("<=", Aggregate("count", column, name), lit(2)),
            call("<=", Aggregate("sum", column, name), self._number(4, 6, 8)),
            call(">", Aggregate("sum", column, name), self._number(0, 1, 3)),
            call(">=", Aggregate("avg", column, name), lit(1)),
            call("<=", Aggregate("avg", column, name), lit(2)),
            call(">=", Aggregate("min", column, name), lit(self._rng.choice((0, 1)))),
            call("<=", Aggregate("max", column, name), self._number(2, 3, 4)),
            call("<=", col(name, column.name), Aggregate("max", column, name)),
            call("or", call("is null", Aggregate("sum", column, name)), call("<=", lit(1), col(name, column.name))),
        ]
        if self._single:
            other = col(self._rng.choice(self._single), column.name)
            forms += [call("<=", other, Aggregate(function, column, name)) for function in ("max", "sum", "count")]
        return self._rng.choice(forms)

    def _two_lists(self) -> Expr:
        pair = self._rng.sample(self._lists, 2)
        condition = self._compared(*pair)
        if self._rng.random() < 0.4:
            condition = call(
                "<=", Aggregate("count", None, pair[0]), call("+", Aggregate("count", None, pair[1]), lit(1))
            )
        return self._tolerant(condition, pair)
