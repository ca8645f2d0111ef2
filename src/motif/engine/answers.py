"""Conditions that only the host can decide, of combinations of rows: collected by searches, answered many at once.

A search goes on where an answer is not known yet, as if the condition did not hold; of such a search nothing is kept
but the questions it asked. Once they are answered it is done again, until it asks nothing new. The first times it is
asked in a search from a row, a condition may also be taken to hold, more often in each round: so the rounds grow with
the logarithm of the length of a match. Rows with the same values are asked about once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from motif.engine.alike import alike
from motif.engine.arrays import decimals, values_at
from motif.engine.told import FAILED, FALSE, MOST_QUESTIONS, NULL, TRUE, Told
from motif.errors import MotifError, QueryDataError
from motif.ir.types import Kind
from motif.plan.scalar import Ask, LabelAt, Read, Scalar, as_int

if TYPE_CHECKING:
    from motif.engine.matcher import Rows

NAN = float("nan")
Question = tuple[float, ...]
"""Rows by their positions, other values with a flag for NULL."""
Key = tuple[object, ...]
"""The same for all questions about the same values."""


class Enough(Exception):
    """Stops a search that has collected enough questions."""


class Answers:
    """What the host has said so far about combinations of some rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.asks = rows.program.questions
        self.told = [asked.answers if isinstance(asked.answers, Told) else None for asked in rows.program.asks]
        """What a host that is out of reach has said before."""
        self.known: list[dict[Key, int | MotifError]] = []
        self.open: list[dict[Key, Question]] = [{} for _ in self.asks]
        self.keys = [self._key_of(ask) for ask in self.asks]
        self.failed: tuple[int, Question] | None = None
        """A question on which the host has failed, as far as it is known."""
        self.collected = 0
        self.hopes = 0
        self.left = 0
        self.start = -1

    @property
    def is_later(self) -> bool:
        """Whether the host is out of reach, so that what is asked is answered later."""
        return any(told is not None for told in self.told)

    @property
    def hopes_later(self) -> int:
        """How often a search from a row may then take a condition to hold."""
        return max((told.hopes or 0 for told in self.told if told is not None), default=0)

    def functions(self) -> list[Callable[..., int]]:
        """One for each condition: called with the first row of the match and the question."""
        return [self._function(ask.number) for ask in self.asks]

    def _function(self, number: int) -> Callable[..., int]:
        known, key_of = self.known[number], self.keys[number]

        def ask(start: int, *question: float) -> int:
            key = key_of(question)
            answer = known.get(key)
            if answer is None:
                return self._guess(number, start, key, question)
            if isinstance(answer, MotifError):
                raise answer
            if answer == FAILED:
                self.failed = number, question
                raise QueryDataError("the host fails on a condition")
            return answer

        return ask

    def _guess(self, number: int, start: int, key: Key, question: Question) -> int:
        if key not in self.open[number]:
            self.open[number][key] = question
            self.collected += 1
            if self.collected > MOST_QUESTIONS:
                raise Enough
        if start != self.start:
            self.start, self.left = start, self.hopes
        self.left -= 1
        return TRUE if self.left >= 0 else FALSE

    def begin(self, hopes: int) -> None:
        """A search begins, which may take a condition to hold so many times from each row."""
        self.hopes, self.start, self.collected, self.failed = hopes, -1, 0, None

    @property
    def is_open(self) -> bool:
        """Whether something has been asked that is not known."""
        return any(self.open)

    # -- what a question is about

    def _key_of(self, ask: Ask) -> Callable[[Question], Key]:
        """What makes a key of a question; notes the answers that have been given before."""
        told = self.told[ask.number]
        parts: list[list[int] | Scalar] = []
        given: list[list[object]] = []
        for number, arg in enumerate(ask.args):
            before = None if told is None else told.known.column(number).combine_chunks()
            if isinstance(arg, Read):
                array = self.rows.arrays[arg.column]
                own, known, missing = alike([array, array[:0] if before is None else before, pa.nulls(1, array.type)])
                parts.append([*own.tolist(), *missing.tolist()])  # the position of a row that is not there is -1
                given.append(known.tolist())
            else:
                parts.append(arg)
                given.append([] if before is None else [_held(arg, value) for value in before.to_pylist()])
        truth = [] if told is None else told.known.column("truth").to_pylist()
        self.known.append(dict(zip(zip(*given, strict=True) if given else [()] * len(truth), truth, strict=True)))
        rows = [part for part in parts if isinstance(part, list)]
        if len(rows) == len(parts):
            return lambda question: tuple(map(getitem, rows, question))
        return lambda question: tuple(self._parts(parts, iter(question)))

    def _parts(self, parts: Sequence[list[int] | Scalar], question: Iterator[Any]) -> Iterator[object]:
        for part in parts:
            value = next(question)
            if isinstance(part, list):
                yield part[value]
            elif next(question):
                yield None
            elif isinstance(part, LabelAt):
                yield self._names[value]
            else:
                yield _same_float(value) if part.type.kind is Kind.FLOAT else int(value)

    @cached_property
    def _names(self) -> dict[int, str]:
        """Variables by their codes."""
        return {self.rows.code(name): name for name in self.rows.program.variables}

    # -- what the host says

    def resolve(self) -> bool:
        """Put all open questions to the host; False if there was none."""
        asked = False
        for ask, known, questions in zip(self.asks, self.known, self.open, strict=True):
            if questions:
                asked = True
                known.update(zip(questions, self._answered(ask, list(questions.values())), strict=True))
                questions.clear()
        return asked

    def hand_over(self) -> None:
        """Leave all open questions to be put to the host later: if there is none, the one that has failed."""
        if self.failed is not None and not self.is_open:
            number, question = self.failed
            self.open[number][()] = question
        for ask, told, questions in zip(self.asks, self.told, self.open, strict=True):
            if questions and told is not None:
                told.ask(self._arguments(ask, list(questions.values())))
                questions.clear()

    def _answered(self, ask: Ask, questions: Sequence[Question]) -> Iterator[int | MotifError]:
        truth = {None: NULL, True: TRUE, False: FALSE}
        asked = self.rows.program.asks[ask.number]
        assert asked.answers is not None, "there is a host"
        for answer in asked.answers(asked.expr, self._arguments(ask, questions)):
            yield answer if isinstance(answer, MotifError) else truth[answer]

    def _arguments(self, ask: Ask, questions: Sequence[Question]) -> list[pa.Array]:
        columns = iter(np.array(questions, dtype=object).T if ask.args else [])
        return [self._argument(arg, columns) for arg in ask.args]

    def _argument(self, arg: Scalar, columns: Iterator[Any]) -> pa.Array:
        values = next(columns)
        if isinstance(arg, Read):
            return values_at(self.rows.arrays[arg.column], values.astype(np.int64))
        nulls = next(columns).astype(bool)
        if isinstance(arg, LabelAt):
            names = [None if null else self._names[v] for v, null in zip(values, nulls, strict=True)]
            return pa.array(names, pa.string())
        if arg.type.kind is Kind.FLOAT:
            return pa.array(values.astype(np.float64), mask=nulls)
        whole = values.astype(np.int64)
        if arg.type.kind is Kind.DECIMAL:
            return decimals(whole, nulls.astype(np.uint8), arg.type.scale)
        array = pa.array(whole, mask=nulls)
        return array.cast(pa.bool_()) if arg.type.kind is Kind.BOOLEAN else array


def _held(arg: Scalar, value: Any) -> object:
    """A value as it is in a key."""
    if value is None or isinstance(value, str):
        return value
    return _same_float(value) if arg.type.kind is Kind.FLOAT else as_int(value, arg.type)


def _same_float(value: float) -> object:
    """One NaN stands for all, and 0.0 is not -0.0: of that a host may tell them apart."""
    return NAN if value != value else value or str(float(value))
