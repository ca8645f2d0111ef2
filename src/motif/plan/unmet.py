"""Slips that rows tell: a condition that none meets, a class that none has.

Asked when a result is empty, or when no row is of a class, so that a query that finds something pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from motif.errors import MotifWarning, perhaps
from motif.ir.expr import COMPARISONS, At, Call, Column, Expr, Label, Literal, transform, walk
from motif.plan.program import Program
from motif.plan.source import HostRefusal, extent
from motif.plan.text_times import Texts, tell_text_times
from motif.slips import tell

SHOWN = 6
"""Values that a message lists."""
MOST_VALUES = 1000
"""Values that a host is asked for."""


class Answers(Protocol):
    """What a host can say of all rows of an input; raises HostRefusal for what it cannot."""

    def totals(self, exprs: Sequence[Expr]) -> list[object]:
        """Values of aggregates over all rows."""
        ...

    def values(self, expr: Expr, where: Expr | None = None) -> list[tuple[str, int]]:
        """The most frequent values as texts, and how often they are there."""
        ...


class Looked(Answers, Texts, Protocol):
    """What a host can say of the rows and of the columns of an input."""


@dataclass(frozen=True, slots=True)
class Test:
    """What one row must fulfil by itself so that a variable may bind it."""

    var: str
    parts: tuple[tuple[Expr, Expr], ...]
    """Conditions as the host sees them, and as they were written."""
    within: tuple[Expr, ...] = ()
    """What chooses the rows that are looked at, such as their class."""
    what: str = "row"


def tell_of_rows(program: Program, source: Looked) -> None:
    """All that the rows tell, read for nothing else: for `check`."""
    tell_text_times(program, source)
    tell_unmet(row_tests(program), source, program.query.source)


def tell_unmet(tests: Sequence[Test], answers: Answers, source: str) -> None:
    """Say which conditions no row meets."""
    asked = [test for test in tests if test.parts]
    exprs = [Call("count", (Literal(1),))]
    for test in asked:
        own = [expr for expr, _ in test.parts]
        exprs += [_count((*test.within, *some)) for some in ([], *([one] for one in own), own)]
    if not asked:
        return
    with suppress(HostRefusal):
        total, *counts = answers.totals(exprs)
        if total:
            for slip in _unmet(asked, counts, answers, source):
                tell(slip)


def _unmet(tests: Sequence[Test], counts: list[object], answers: Answers, source: str) -> Iterator[MotifWarning]:
    for test in tests:
        known, alone, together = counts[0], counts[1 : len(test.parts) + 1], counts[len(test.parts) + 1]
        counts = counts[len(test.parts) + 2 :]
        if not known or together:
            continue
        unmet = [part for part, count in zip(test.parts, alone, strict=True) if not count]
        for expr, written in unmet:
            message = f"no {test.what} meets this condition of {test.var}"
            yield MotifWarning(message, source=source, span=extent(written), hint=_hint(expr, test, answers))
        if not unmet:
            message = f"no {test.what} meets all conditions of {test.var} together, though each is met by some"
            yield MotifWarning(message, source=source, span=extent(test.parts[-1][1]))


def _count(exprs: Sequence[Expr]) -> Call:
    return Call("count_if", (conjunction(exprs),))


def conjunction(exprs: Sequence[Expr]) -> Expr:
    """All of them are true."""
    found: Expr = exprs[0] if exprs else Literal(True)
    for expr in exprs[1:]:
        found = Call("and", (found, expr))
    return found


def _hint(expr: Expr, test: Test, answers: Answers) -> str | None:
    """What there is instead of the constant that a column is compared with."""
    match expr:
        case (
            Call(name=name, args=(Column() as column, Literal(value=value)))
            | Call(name=name, args=(Literal(value=value), Column() as column))
        ) if name in COMPARISONS:
            pass
        case Call(name="in", args=(Column() as column, Literal(value=value), *_)):
            pass
        case _:
            return None
    chosen = conjunction(test.within) if test.within else None
    if isinstance(value, str):
        found = answers.values(column, chosen)
        names = [one for one, _ in found]
        return (perhaps(value, names) if value not in names else None) or f"{column.name} is {listed(found)}"
    chosen_value = Call("case", (conjunction(test.within), column, Literal(None)))
    low, high = answers.totals([Call("min", (chosen_value,)), Call("max", (chosen_value,))])
    return f"{column.name} is always NULL" if low is None else f"{column.name} is between {low} and {high}"


def listed(found: Sequence[tuple[str, int | None]], unit: str = "") -> str:
    """`'view' (8,211 events), 'cart' (512) and 3 more`; without numbers where they are not known."""
    if not found:
        return "always NULL"
    shown = [repr(value[:40]) for value, _ in found]
    for number, (_, count) in enumerate(found):
        shown[number] += "" if count is None else f" ({count:,}{'' if number else unit[:-1] if count == 1 else unit})"
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more"
    return " and ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)


# -- row patterns --------------------------------------------------------------------------------------


def row_tests(program: Program) -> list[Test]:
    """What DEFINE says of a row by itself."""
    return [
        Test(
            condition.var,
            tuple(
                (_of_row(written), written)
                for part in ("row", "values")
                for written in condition.texts.get(part, ())
                if _is_of_one_row(written)
            ),
        )
        for condition in program.conditions
    ]


def _is_of_one_row(expr: Expr) -> bool:
    nodes = [node for node in walk(expr) if isinstance(node, At)]
    return bool(nodes) and not any(node.shift or isinstance(node.arg, Label) for node in nodes)


def _of_row(expr: Expr) -> Expr:
    return transform(expr, lambda node: node.arg if isinstance(node, At) else None)
