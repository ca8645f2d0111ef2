"""Conditions that only the host can decide, of combinations of rows: collected by searches, answered many at once.

A search goes on where an answer is not known yet, as if the condition did not hold; of such a search nothing is kept
but the questions it asked. Once they are answered it is done again, until it asks nothing new. The first times it is
asked in a search from a row, a condition may also be taken to hold, twice as often in each round: so the rounds grow
with the logarithm of the length of a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import decimals, values_at
from motif.errors import MotifError
from motif.ir.types import Kind
from motif.plan.scalar import Ask, LabelAt, Read, Scalar, scalars

if TYPE_CHECKING:
    from motif.engine.matcher import Rows

MOST_QUESTIONS = 1 << 18
"""Questions that are collected before they are put to the host."""
FALSE, TRUE, NULL = 0, 1, -1
NAN = float("nan")
Question = tuple[float, ...]


class Enough(Exception):
    """Stops a search that has collected enough questions."""


class Answers:
    """What the host has said so far about combinations of some rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        program = rows.program
        nodes = (n for parts in program.dependent for part in parts for n in scalars(part) if isinstance(n, Ask))
        self.asks: tuple[Ask, ...] = tuple(sorted(dict.fromkeys(nodes), key=lambda ask: ask.number))
        self.known: list[dict[Question, int | MotifError]] = [{} for _ in self.asks]
        self.open: list[dict[Question, None]] = [{} for _ in self.asks]
        self.collected = 0
        self.hopes = 0
        self.left = 0
        self.start = -1

    def functions(self) -> list[Callable[..., int]]:
        """One for each condition: called with the first row of the match and the question."""
        return [self._function(ask.number) for ask in self.asks]

    def _function(self, number: int) -> Callable[..., int]:
        known = self.known[number]

        def ask(start: int, *question: float) -> int:
            answer = known.get(question)
            if answer is None:
                # No NaN is equal to another one, so one of them stands for all.
                question = tuple(NAN if value != value else value for value in question)
                answer = known.get(question)
            if answer is None:
                return self._guess(number, start, question)
            if isinstance(answer, MotifError):
                raise answer
            return answer

        return ask

    def _guess(self, number: int, start: int, question: Question) -> int:
        self.open[number][question] = None
        self.collected += 1
        if self.collected > MOST_QUESTIONS:
            raise Enough
        if start != self.start:
            self.start, self.left = start, self.hopes
        self.left -= 1
        return TRUE if self.left >= 0 else FALSE

    def begin(self, hopes: int) -> None:
        """A search begins, which may take a condition to hold so many times from each row."""
        self.hopes, self.start, self.collected = hopes, -1, 0

    def resolve(self) -> bool:
        """Put all open questions to the host; False if there was none."""
        asked = False
        for ask, known, questions in zip(self.asks, self.known, self.open, strict=True):
            if questions:
                asked = True
                known.update(zip(questions, self._answered(ask, list(questions)), strict=True))
                questions.clear()
        return asked

    def _answered(self, ask: Ask, questions: Sequence[Question]) -> Iterator[int | MotifError]:
        program = self.rows.program
        columns = iter(np.array(questions, dtype=object).T if ask.args else [])
        arguments = [self._argument(arg, columns) for arg in ask.args]
        truth = {None: NULL, True: TRUE, False: FALSE}
        asked = program.asks[ask.number]
        assert asked.answers is not None, "there is a host"
        for answer in asked.answers(asked.expr, arguments):
            yield answer if isinstance(answer, MotifError) else truth[answer]

    def _argument(self, arg: Scalar, columns: Iterator[Any]) -> pa.Array:
        values = next(columns)
        if isinstance(arg, Read):
            return values_at(self.rows.arrays[arg.column], values.astype(np.int64))
        nulls = next(columns).astype(bool)
        if isinstance(arg, LabelAt):
            names = {self.rows.code(name): name for name in self.rows.program.variables}
            return pa.array([None if null else names[v] for v, null in zip(values, nulls, strict=True)], pa.string())
        if arg.type.kind is Kind.FLOAT:
            return pa.array(values.astype(np.float64), mask=nulls)
        whole = values.astype(np.int64)
        if arg.type.kind is Kind.DECIMAL:
            return decimals(whole, nulls.astype(np.uint8), arg.type.scale)
        array = pa.array(whole, mask=nulls)
        return array.cast(pa.bool_()) if arg.type.kind is Kind.BOOLEAN else array
