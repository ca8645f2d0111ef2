"""Conditions on rows at a fixed distance, computed column-wise over the sorted rows of all partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from motif.engine.arrays import Array, Lanes
from motif.ir.types import Kind
from motif.plan.scalar import DAY, Const, Lane, Op, Read, Scalar, as_int, lane, scale


class Vectors:
    """Evaluates typed scalars whose places are all relative to the current row."""

    def __init__(self, bounds: Array, column: Callable[[int], Lanes], code: Callable[[object], int]) -> None:
        self.bounds = bounds
        self.rows = int(bounds[-1])
        self.column = column
        self.code = code

    def true(self, node: Scalar) -> Array:
        """Where a condition is TRUE, as 0 and 1."""
        value = self.value(node)
        holds = value.values if value.values.dtype == bool else value.values != 0
        return (holds & (value.nulls == 0)).view(np.uint8)  # type: ignore[no-any-return]

    def value(self, node: Scalar) -> Lanes:
        match node:
            case Read(column=column, place=place, absent=absent):
                present = self.column(column)
                missing = None if absent is None else self.value(absent)
                return self.shifted(present, place.shift, missing) if place.shift else present
            case Const():
                return self.constant(node)
            case Op():
                return self.operator(node)
            case _:
                raise AssertionError(node)

    def shifted(self, lanes: Lanes, shift: int, missing: Lanes | None) -> Lanes:
        """Values `shift` rows on, inside the partition."""
        values, nulls = np.zeros_like(lanes.values), np.ones(self.rows, np.uint8)
        if abs(shift) < self.rows:
            here = slice(-shift, None) if shift < 0 else slice(0, self.rows - shift)
            there = slice(0, self.rows + shift) if shift < 0 else slice(shift, None)
            values[here], nulls[here] = lanes.values[there], lanes.nulls[there]
        lows, highs = self.bounds[:-1], self.bounds[1:]
        for step in range(min(abs(shift), int((highs - lows).max(initial=0)))):
            edge = lows + step if shift < 0 else highs - 1 - step
            edge = edge[(edge >= lows) & (edge < highs)]
            nulls[edge] = 1 if missing is None else missing.nulls[edge]
            if missing is not None:
                values[edge] = missing.values[edge]
        return Lanes(values, nulls)

    def constant(self, node: Const) -> Lanes:
        return Lanes(self.everywhere(self.number(node)), self.everywhere(np.uint8(node.value is None)))

    def everywhere(self, value: np.generic) -> Array:
        """The same for every row, without writing it down for each."""
        return np.broadcast_to(value, self.rows)

    def number(self, node: Const) -> np.generic:
        """A constant in its lane; any where it is NULL."""
        match lane(node.type):
            case Lane.FLOAT:
                return np.float64(node.value or 0)  # type: ignore[arg-type]
            case Lane.CODE:
                return np.int64(0 if node.value is None else self.code(node.value))
            case _:
                return np.int64(as_int(node.value, node.type))

    def operator(self, node: Op) -> Lanes:
        if node.name == "case":
            return self.case(node)
        args = [self.value(arg) for arg in node.args]
        match node.name:
            case "and" | "or":
                return self.junction(args, node.name == "and")
            case "not":
                return Lanes((args[0].values == 0).astype(np.int64), args[0].nulls)
            case "is null" | "is not null":
                return _certain(args[0].nulls == (1 if node.name == "is null" else 0))
            case "is true" | "is false":
                return _certain((args[0].nulls == 0) & ((args[0].values != 0) == (node.name == "is true")))
            case "coalesce" | "greatest" | "least":
                return self.pick(node, args)
            case "nullif":
                same = (args[1].nulls == 0) & _compare("=", args[0].values, args[1].values)
                return Lanes(args[0].values, args[0].nulls | same)
            case "is distinct from" | "is not distinct from":
                same = _compare("=", args[0].values, args[1].values)
                both = (args[0].nulls == 1) & (args[1].nulls == 1)
                neither = (args[0].nulls == 0) & (args[1].nulls == 0)
                return _certain((both | (neither & same)) == (node.name == "is not distinct from"))
            case _:
                return self.strict(node, args)

    def junction(self, args: list[Lanes], conjunction: bool) -> Lanes:
        """AND is false as soon as one side is, OR true; otherwise NULL if any side is."""
        decided = np.zeros(self.rows, bool)
        unknown = np.zeros(self.rows, bool)
        for arg in args:
            decided |= (arg.nulls == 0) & ((arg.values == 0) == conjunction)
            unknown |= arg.nulls != 0
        return Lanes((decided != conjunction).astype(np.int64), (unknown & ~decided).astype(np.uint8))

    def strict(self, node: Op, args: list[Lanes]) -> Lanes:
        """Operators that are NULL if an argument is."""
        nulls = args[0].nulls.copy()
        for arg in args[1:]:
            nulls |= arg.nulls
        if node.type.kind is Kind.BOOLEAN:
            return Lanes(_compare(node.name, args[0].values, args[1].values), nulls)
        # What lies behind a NULL must not overflow.
        values = [np.where(nulls == 0, arg.values, 0) if nulls.any() else arg.values for arg in args]
        return self.arithmetic(node, values, nulls)

    def arithmetic(self, node: Op, values: list[Array], nulls: Array) -> Lanes:
        is_float = lane(node.type) is Lane.FLOAT
        match node.name:
            case "+":
                return Lanes(values[0] + values[1] if is_float else _add(values[0], values[1]), nulls)
            case "-":
                return Lanes(values[0] - values[1] if is_float else _sub(values[0], values[1]), nulls)
            case "*":
                return Lanes(values[0] * values[1] if is_float else _mul(values[0], values[1]), nulls)
            case "/" | "%":
                nulls = nulls | (values[1] == 0)
                divisor = np.where(values[1] == 0, 1, values[1])
                result = values[0] / divisor if node.name == "/" else np.fmod(values[0], divisor)
                return Lanes(result, nulls)
            case "neg":
                return Lanes(-values[0], nulls)
            case "abs":
                return Lanes(np.abs(values[0]), nulls)
            case "to_float":
                return Lanes(values[0] / 10.0 ** scale(node.args[0].type), nulls)
            case "rescale":
                return Lanes(_mul(values[0], 10 ** (scale(node.type) - scale(node.args[0].type))), nulls)
            case "days_to_us":
                return Lanes(_mul(values[0], DAY), nulls)
            case _:
                raise AssertionError(node.name)

    def case(self, node: Op) -> Lanes:
        result = self.value(node.args[-1])
        for position in range(len(node.args) - 3, -1, -2):
            chosen = self.true(node.args[position]) != 0
            branch = self.value(node.args[position + 1])
            result = _choose(chosen, branch, result)
        return result

    def pick(self, node: Op, args: list[Lanes]) -> Lanes:
        """COALESCE takes the first that is not NULL, GREATEST and LEAST ignore NULLs."""
        best = args[-1]
        for arg in reversed(args[:-1]):
            if node.name == "coalesce":
                chosen = arg.nulls == 0
            else:
                wins = _compare(">=" if node.name == "greatest" else "<=", arg.values, best.values)
                chosen = (arg.nulls == 0) & ((best.nulls != 0) | wins)
            best = _choose(chosen, arg, best)
        return best


def _certain(truth: Array) -> Lanes:
    return Lanes(truth.astype(np.int64), np.zeros(len(truth), np.uint8))


def _choose(chosen: Array, yes: Lanes, no: Lanes) -> Lanes:
    return Lanes(np.where(chosen, yes.values, no.values), np.where(chosen, yes.nulls, no.nulls))


_COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
    ">": np.greater,
}


def _compare(name: str, left: Array, right: Array) -> Array:
    """Comparison in which NaN equals NaN and is greater than every number."""
    result: Array = _COMPARE[name](left, right)
    if left.dtype.kind != "f":
        return result
    odd_left, odd_right = np.isnan(left), np.isnan(right)
    if odd_left.any() or odd_right.any():
        # Comparing the flags themselves gives the wanted order: not-NaN (0) is less than NaN (1).
        result = np.where(odd_left | odd_right, _COMPARE[name](odd_left, odd_right), result)
    return result


def _add(left: Array, right: Array) -> Array:
    with np.errstate(over="ignore"):
        total = left + right
    if bool((((left ^ total) & (right ^ total)) < 0).any()):
        raise OverflowError
    return total


def _sub(left: Array, right: Array) -> Array:
    with np.errstate(over="ignore"):
        total = left - right
    if bool((((left ^ right) & (left ^ total)) < 0).any()):
        raise OverflowError
    return total


def _mul(left: Array, right: Array | int) -> Array:
    if len(left) and float(np.abs(left.astype(float) * right).max()) > 9.2e18:
        raise OverflowError
    return left * right
