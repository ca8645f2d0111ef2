"""Statements for the markers of the matching loop: keep track of the rows of variables, and test conditions.

Rows are taken and given back in order, so the rows of a tracked set are a stack of positions, and a running aggregate
is a stack of totals beside it: giving a row back costs one subtraction. Over all variables the stack is the match
itself, and nothing has to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from motif.ir.expr import End
from motif.plan.codegen import Environment, Generator
from motif.plan.scalar import Base, Fold, LabelAt, Lane, Place, Read, Scalar, lane, scalars

Markers = tuple[tuple[str, str], ...]
"""Statements by marker; empty for row-only patterns."""


def generate(conditions: tuple[tuple[Scalar, ...], ...], variables: tuple[str, ...]) -> tuple[Markers, Environment]:
    """Statements and environment for the match-dependent parts of all variables, in their order."""
    generator = Generator(variables)
    tests = {number: generator.condition(parts) for number, parts in enumerate(conditions) if parts}
    if not tests:
        return (), Environment()
    items = signature(conditions, variables, generator)
    environment = replace(generator.environment(), signature=len(items))
    writer = _Writer(environment, variables, tests, items)
    markers = (
        ("prologue", writer.prologue()),
        ("reset", writer.reset()),
        ("take", writer.take()),
        ("undo", writer.undo()),
        *writer.memory(),
    )
    return markers, environment


def signature(
    conditions: tuple[tuple[Scalar, ...], ...], variables: tuple[str, ...], generator: Generator
) -> list[str]:
    """Integers that tell apart all histories later conditions can tell apart; none if that takes too many."""
    items: dict[str, None] = {}
    for node in (inner for parts in conditions for part in parts for inner in scalars(part)):
        match node:
            case Read(place=Place(base=Base.SET) as place):
                items.update(dict.fromkeys(_positions(place, generator.set_number(place.members))))
            case Fold(members=members) if members != variables:
                if lane(node.type) is Lane.FLOAT or node.distinct:
                    return []
                items.update(dict.fromkeys(_fold_state(node, generator)))
            case LabelAt():
                return []
            case _:
                pass
    return list(items) if len(items) <= MOST_SIGNATURE else []


MOST_SIGNATURE = 6


def _positions(place: Place, k: int) -> list[str]:
    """Rows that this place reads now or after more rows were taken."""
    if place.end is End.FIRST:
        return [f"(p{k}[{place.index}] if n{k} > {place.index} else -1 - n{k})"]
    return [f"(p{k}[n{k} - {i + 1}] if n{k} > {i} else -1)" for i in range(place.index + 1)]


def _fold_state(node: Fold, generator: Generator) -> list[str]:
    count = f"n{generator.set_number(node.members)}"
    if node.column is None:
        return [count]
    j = generator.fold_number(node)
    return [f"t{j}[{count}]", f"u{j}[{count}]"]


def _block(head: str, statements: list[str]) -> list[str]:
    return [head, *("    " + statement for statement in statements)]


class _Writer:
    def __init__(
        self, environment: Environment, variables: tuple[str, ...], tests: dict[int, list[str]], items: list[str]
    ) -> None:
        self.environment = environment
        self.variables = variables
        self.tests = tests
        self.items = items

    def sets_of(self, variable: int) -> list[int]:
        """Tracked sets that a row of the variable belongs to."""
        name = self.variables[variable]
        return [k for k, members in enumerate(self.environment.sets) if name in members]

    def prologue(self) -> str:
        environment = self.environment
        names = ["ki", "kf", "lc"]
        names += [f"p{k}" for k in range(len(environment.sets))]
        names += [f"{letter}{j}" for j in range(len(environment.folds)) for letter in "tu"]
        names += [f"{letter}{c}" for c in range(len(environment.columns)) for letter in "cz"]
        names += [f"y{i}" for i in range(len(environment.links))]
        names += ["ask"] if environment.asks else []
        names += ["sx", "sg"] if self.items else []
        lines = [f"{name} = env[{i}]" for i, name in enumerate(names)]
        lines += ["patience = settings[7]"] if self.items else []
        return "\n".join([*lines, self.reset()])

    def reset(self) -> str:
        return "\n".join(f"n{k} = 0" for k in range(len(self.environment.sets)))

    def memory(self) -> Markers:
        """Dead ends with their signature: sx flags signed states, sg holds the signatures of their dead ends."""
        if not self.items:
            return ()
        width = len(self.items)
        at = f"at = ((row + segment) * slots + where) * {width}"
        same = " and ".join(f"sg[at + {i}] == {item}" for i, item in enumerate(self.items))
        sign = [f"stack_signature[top * {width} + {i}] = {item}" for i, item in enumerate(self.items)]
        remember = [f"sg[cell * {width} + {i}] = stack_signature[top * {width} + {i}]" for i in range(width)]
        return (
            ("defer", "\n".join(_block("if sx[pc] != 0 and steps <= patience:", ["where = -1"]))),
            ("recall", "\n".join(_block("if seen and sx[pc] != 0:", [at, f"seen = {same}"]))),
            ("sign", "\n".join(_block("if sx[pc] != 0:", sign))),
            ("remember", "\n".join(_block("if sx[pc] != 0:", remember))),
        )

    def take(self) -> str:
        lines = [line for j, fold in enumerate(self.environment.folds) for line in self.whole_match(j, fold)]
        return "\n".join([*lines, *self.by_variable("arg[pc]", self.taken)])

    def undo(self) -> str:
        if not self.environment.sets:
            return "pass"
        given_back = self.by_variable("arg[labels[written + row - start]]", lambda v: self.counted(v, "-"))
        return "\n".join(_block("while row > back:", ["row -= 1", *given_back]))

    def by_variable(self, selector: str, statements_of: Callable[[int], list[str]]) -> list[str]:
        """Statements of the variable that `selector` names, for those that have any."""
        lines = [f"var = {selector}"]
        word = "if"
        for variable in range(len(self.variables)):
            if statements := statements_of(variable):
                lines += _block(f"{word} var == {variable}:", statements)
                word = "elif"
        return lines

    def taken(self, variable: int) -> list[str]:
        """Push the row, test the condition, and give the row back if it fails."""
        lines: list[str] = []
        for k in self.sets_of(variable):
            lines += [f"p{k}[n{k}] = row", f"n{k} += 1"]
            for j, fold in enumerate(self.environment.folds):
                if fold.members == self.environment.sets[k] and fold.members != self.variables:
                    lines += self.advance(j, fold, f"n{k} - 1", f"n{k}")
        if variable in self.tests:
            lines += self.tests[variable]
            if self.sets_of(variable):
                lines += _block("if not ok:", self.counted(variable, "-"))
        return lines

    def counted(self, variable: int, sign: str) -> list[str]:
        return [f"n{k} {sign}= 1" for k in self.sets_of(variable)]

    def whole_match(self, j: int, fold: Fold) -> list[str]:
        return self.advance(j, fold, "row - start", "row - start + 1") if fold.members == self.variables else []

    def advance(self, j: int, fold: Fold, old: str, new: str) -> list[str]:
        """Extend the running total of a fold by the row just taken."""
        column = 0 if fold.column is None else self.environment.columns.index(fold.column)
        counts = f"z{column}[row] == 0" + (" and older < start" if fold.distinct else "")
        return [
            *(self.older(fold) if fold.distinct else []),
            f"if {counts}:",
            f"    t{j}[{new}] = {self.total(j, fold, old, f'c{column}[row]')}",
            f"    u{j}[{new}] = u{j}[{old}] + 1",
            "else:",
            f"    t{j}[{new}] = t{j}[{old}]",
            f"    u{j}[{new}] = u{j}[{old}]",
        ]

    def older(self, fold: Fold) -> list[str]:
        """Find the last row before this one with the same value, among the rows of the fold if the match has any."""
        links = f"y{self.environment.links.index(fold.column or 0)}"
        lines = [f"older = {links}[row]"]
        if fold.members != self.variables:
            label = "arg[labels[written + older - start]]"
            others = [f"{label} != {number}" for number, name in enumerate(self.variables) if name in fold.members]
            lines += _block(f"while older >= start and {' and '.join(others)}:", [f"older = {links}[older]"])
        return lines

    def total(self, j: int, fold: Fold, old: str, value: str) -> str:
        before = f"t{j}[{old}]"
        is_float = lane(fold.type) is Lane.FLOAT
        match fold.name:
            case "sum":
                return f"{before} + {value}" if is_float else f"add({before}, {value})"
            case "min" | "max":
                smaller, larger = (value, before) if fold.name == "min" else (before, value)
                better = f"below({smaller}, {larger})" if is_float else f"{smaller} < {larger}"
                return f"{value} if u{j}[{old}] == 0 or {better} else {before}"
            case _:
                return before
