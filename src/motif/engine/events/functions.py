"""Functions of the user in conditions: called on columns, once per event or on batches of candidate matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, flat, numpy_of, values_at
from motif.engine.events.matches import EventMatches
from motif.engine.events.rows import EventRows
from motif.engine.matcher import Rows
from motif.engine.vector import Vectors
from motif.errors import MotifError, QueryDataError
from motif.ir.types import Kind, Type
from motif.plan.events.conditions import Condition
from motif.plan.events.functions import VECTORIZED, Argument, FunctionCall, FunctionCondition
from motif.plan.events.program import EventProgram
from motif.plan.scalar import Base, Const, Place, Read
from motif.plan.source import Asked
from motif.plan.typer import Typer

BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Functions:
    """Registered functions by lower-case name."""

    registered: Mapping[str, Callable[..., Any]]
    skips_errors: bool = False
    """Candidates for which a function fails do not pass, and are counted."""
    failures: list[str] = field(default_factory=list)
    """What went wrong with those, until it is taken note of."""

    def masks(self, rows: EventRows) -> dict[str, Array]:
        """Per variable, the events that pass its conditions with functions; others are not looked at."""
        masks: dict[str, Array] = {}
        for condition in rows.program.conditions:
            if condition.function is None or len(condition.names) > 1:
                continue
            var = next(iter(condition.names))
            candidates = rows.candidates(var)
            candidates = candidates[masks[var][candidates] == 1] if var in masks else candidates
            passed = self._true(rows, condition, {var: candidates})
            mask = np.zeros(rows.count, np.uint8)
            mask[candidates[passed]] = 1
            masks[var] = mask
        return masks

    def on_several(self, program: EventProgram) -> bool:
        """Whether some function sees several events."""
        return any(c.function is not None and len(c.names) > 1 for c in program.conditions)

    def filtered(self, rows: EventRows, matches: EventMatches) -> EventMatches:
        """Matches that pass the conditions whose functions see several events."""
        for condition in rows.program.conditions:
            if condition.function is not None and len(condition.names) > 1 and len(matches):
                positions = {var: matches.singles[var] for var in condition.names}
                matches = matches.take(np.flatnonzero(self._true(rows, condition, positions)))
        return matches

    def _true(self, rows: EventRows, condition: Condition, positions: dict[str, Array]) -> Array:
        count = len(next(iter(positions.values())))
        parts = [
            self._batch(rows, condition, {var: p[low : low + BATCH] for var, p in positions.items()})
            for low in range(0, count, BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, bool)

    def _batch(self, rows: EventRows, condition: Condition, positions: dict[str, Array]) -> Array:
        function = condition.function
        assert function is not None
        count = len(next(iter(positions.values())))
        # Of an event that is not there nothing can be asked: the condition is not true.
        bound = np.logical_and.reduce([p >= 0 for p in positions.values()])
        if any(call.asked is not None for call in function.calls):
            bound[:] = True  # for the host it is NULL, as it is for Motif
        held = {var: p[bound] for var, p in positions.items()}
        truth = np.zeros(count, bool)
        if bound.any():
            evaluate = self._forgiving if self.skips_errors else self._evaluate
            truth[bound] = evaluate(rows, function, held)
        return truth

    def _forgiving(self, rows: EventRows, function: FunctionCondition, positions: dict[str, Array]) -> Array:
        """Halve a batch on which a function fails until the candidates to blame are alone."""
        try:
            return self._evaluate(rows, function, positions)
        except QueryDataError as error:
            count = len(next(iter(positions.values())))
            if count == 1:
                self.failures.append(str(error))
                return np.zeros(1, bool)
            halves = (slice(None, count // 2), slice(count // 2, None))
            parts = [self._forgiving(rows, function, {v: p[half] for v, p in positions.items()}) for half in halves]
            return np.concatenate(parts)

    def _evaluate(self, rows: EventRows, function: FunctionCondition, positions: dict[str, Array]) -> Array:
        results = [self._call(rows, call, positions) for call in function.calls]
        values = [_gather(rows, value, positions) for value in function.values]
        columns = [*results, *values]
        types = (*map(type_of, (r.type for r in results)), *(rows.program.types[v.column] for v in function.values))
        typer = Typer(types, rows.program.dialect, rows.program.query.source, "WHERE")
        test = typer.typed(function.test)
        if isinstance(test, Read) and test.place == Place(Base.ROW) and pa.types.is_boolean(columns[test.column].type):
            array = columns[test.column]
            return numpy_of(array.fill_null(False)).astype(bool)
        if test.type.kind in (Kind.STRING, Kind.OTHER, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ):
            names = " and ".join(dict.fromkeys(call.name for call in function.calls))
            raise QueryDataError(f"{names} gave no truth value, but {test.type}", hint="return True or False")
        program = SimpleNamespace(keys=(), types=types, neighbours=((test,),), dependent=(), variables=())
        table = pa.Table.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])
        batch = Rows(program, table, rows.execution)  # type: ignore[arg-type]  # reads no more than this of a program
        return Vectors(np.array([0, table.num_rows]), batch.lanes, batch.code).true(test).astype(bool)

    def _call(self, rows: EventRows, call: FunctionCall, positions: dict[str, Array]) -> pa.Array:
        count = len(next(iter(positions.values())))
        if call.asked is not None:
            return _asked(call.asked, [_gather(rows, arg, positions) for arg in call.args if isinstance(arg, Argument)])
        function = self.registered[call.name]
        arguments = [arg if isinstance(arg, Const) else _gather(rows, arg, positions) for arg in call.args]
        style = getattr(function, VECTORIZED, None)
        if style is None:
            return _result(call.name, _one_by_one(call.name, function, arguments, count), count)
        given = [arg.value if isinstance(arg, Const) else _array(arg, style) for arg in arguments]
        try:
            result = function(*given)
        except Exception as error:
            shown = ", ".join(_shown(arg, 0) for arg in arguments)
            message = (
                f"function {call.name} failed on a batch of {count} events that begins with ({shown}): {_text(error)}"
            )
            raise QueryDataError(message, hint=_MEND) from error
        return _result(call.name, result, count)


_MEND = "let the function return None where it has no answer"
_VALUES = "return True or False, a number, a text or a time for each event"


def _asked(asked: Asked, arguments: Sequence[pa.Array]) -> pa.Array:
    """What the host says of a batch of candidates."""
    assert asked.answers is not None, "there is a host"
    truth = asked.answers(asked.expr, arguments)
    for answer in truth:
        if isinstance(answer, MotifError):
            raise answer
    return pa.array(truth, pa.bool_())


def _one_by_one(name: str, function: Callable[..., Any], arguments: Sequence[Any], count: int) -> list[Any]:
    columns = [[a.value] * count if isinstance(a, Const) else a.to_pylist() for a in arguments]
    results = []
    for row in range(count):
        try:
            results.append(function(*(column[row] for column in columns)))
        except Exception as error:
            shown = ", ".join(repr(column[row]) for column in columns)
            raise QueryDataError(
                f"function {name} failed on the events with ({shown}): {_text(error)}", hint=_MEND
            ) from error
    return results


def _shown(argument: Any, row: int) -> str:
    return repr(argument.value if isinstance(argument, Const) else argument[row].as_py())


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _array(array: pa.Array, style: str) -> Any:
    return array if style == "arrow" else array.to_numpy(zero_copy_only=False)


def _gather(rows: EventRows, argument: Argument, positions: dict[str, Array]) -> pa.Array:
    return values_at(rows.rows.arrays[argument.column], positions[argument.var])


def _result(name: str, result: Any, count: int) -> pa.Array:
    """What a function returned, as a column."""
    try:
        array = result if isinstance(result, pa.Array | pa.ChunkedArray) else pa.array(result)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise QueryDataError(
            f"function {name} returned what is not a column of values: {error}", hint=_VALUES
        ) from None
    if len(array) != count:
        raise QueryDataError(f"function {name} was given {count} events and returned {len(array)} values", hint=_VALUES)
    if pa.types.is_nested(array.type):
        raise QueryDataError(f"function {name} returned {array[0].as_py()!r}", hint=_VALUES)
    return flat(array)


def type_of(kind: pa.DataType) -> Type:
    """An Arrow type as Motif knows it."""
    if pa.types.is_boolean(kind):
        return Type(Kind.BOOLEAN)
    if pa.types.is_integer(kind):
        return Type(Kind.INTEGER, kind.bit_width, signed=pa.types.is_signed_integer(kind))
    if pa.types.is_floating(kind):
        return Type(Kind.FLOAT)
    if pa.types.is_decimal(kind):
        return Type(Kind.DECIMAL, precision=kind.precision, scale=kind.scale)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Type(Kind.STRING)
    if pa.types.is_timestamp(kind):
        return Type(Kind.TIMESTAMP if kind.tz is None else Kind.TIMESTAMP_TZ, scale=3 if kind.unit == "ns" else 0)
    if pa.types.is_date(kind):
        return Type(Kind.DATE)
    return Type(Kind.NULL if pa.types.is_null(kind) else Kind.OTHER)
