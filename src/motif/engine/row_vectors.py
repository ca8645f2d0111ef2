"""Row expressions over the columns of many rows; what depends on codes of a text alone is computed once per code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Lanes, null_flags, numpy_of, to_lanes
from motif.engine.vector import Vectors
from motif.ir.expr import COMPARISONS
from motif.ir.types import Kind, Type
from motif.plan.scalar import STRING, Const, Lane, Op, Read, Scalar, lane, scalars

_COMPARE: dict[str, Any] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def are_columnwise(nodes: Sequence[Scalar]) -> bool:
    """Whether expressions read texts, and other values without a number, only to compare them with constants."""
    return all(map(_is_columnwise, nodes))


def _is_columnwise(node: Scalar) -> bool:
    match node:
        case Op(name="is null" | "is not null", args=(Read(),)):
            return True
        case Op() if _text_test(node):
            return True
        case Op(args=args):
            return are_columnwise(args)
        case Read(type=kind):
            return lane(kind) is not Lane.CODE and kind.kind is not Kind.INTERVAL
        case _:
            return lane(node.type) is not Lane.CODE


def _text_test(node: Op) -> tuple[int, str, str] | None:
    """The column, operator and constant of a text that is compared with one."""
    if node.name not in COMPARISONS:
        return None
    match node.args:
        case (Read(column=column, type=kind), Const(value=str() as text)) if kind == STRING:
            return column, node.name, text
        case (Const(value=str() as text), Read(column=column, type=kind)) if kind == STRING:
            return column, _TURNED.get(node.name, node.name), text
        case _:
            return None


@dataclass(frozen=True, slots=True)
class RowExpressions:
    """Expressions for which `are_columnwise` holds, ready to be evaluated again and again."""

    nodes: tuple[Scalar, ...]
    """What is equal in them is one object: a filter often repeats what a column says."""
    columns: dict[int, frozenset[int]]
    """For each operator, by its identity, the columns that it reads: to find them takes longer than to compute."""

    @classmethod
    def of(cls, nodes: Sequence[Scalar]) -> RowExpressions:
        known: dict[Scalar, Scalar] = {}
        shared = tuple(_shared(node, known) for node in nodes)
        operators = [node for node in known.values() if isinstance(node, Op)]
        return cls(shared, {id(node): frozenset(_read(node)) for node in operators})


def _shared(node: Scalar, known: dict[Scalar, Scalar]) -> Scalar:
    if node not in known:
        known[node] = (
            replace(node, args=tuple(_shared(arg, known) for arg in node.args)) if isinstance(node, Op) else node
        )
    return known[node]


def _read(node: Scalar) -> Iterator[int]:
    return (inner.column for inner in scalars(node) if isinstance(inner, Read))


class RowVectors(Vectors):
    """Evaluates row expressions over some rows; of `inputs` only those are looked at that they read."""

    def __init__(self, expressions: RowExpressions, inputs: Mapping[int, pa.Array], types: Sequence[Type], count: int):
        super().__init__(np.array([0, count]), self._lanes, _no_code)
        self.expressions = expressions
        self.inputs = inputs
        self.types = types
        self.known: dict[int, Lanes] = {}

    def all(self) -> Iterator[Lanes]:
        """The values of each expression."""
        return map(self.value, self.expressions.nodes)

    def _lanes(self, column: int) -> Lanes:
        return to_lanes(self.inputs[column], self.types[column])

    def value(self, node: Scalar) -> Lanes:
        if id(node) not in self.known:
            self.known[id(node)] = self._value(node) if isinstance(node, Op) else super().value(node)
        return self.known[id(node)]

    def _value(self, node: Op) -> Lanes:
        columns = self.expressions.columns[id(node)]
        if len(columns) == 1 and pa.types.is_dictionary(self.inputs[min(columns)].type):
            return self._by_code(node, min(columns))
        if test := _text_test(node):
            return self._texts(*test)
        match node:
            case Op(name="is null" | "is not null", args=(Read(column=column),)):
                is_null = null_flags(self.inputs[column])
                return Lanes(is_null if node.name == "is null" else 1 - is_null, np.zeros_like(is_null))
        return super().value(node)

    def _by_code(self, node: Op, column: int) -> Lanes:
        coded = self.inputs[column]
        values = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
        each = RowVectors(self.expressions, {column: values}, self.types, len(values)).value(node)
        codes = numpy_of(coded.indices)
        if coded.null_count:
            codes = np.where(null_flags(coded) == 1, len(values) - 1, codes)
        return Lanes(each.values[codes], each.nulls[codes])

    def _texts(self, column: int, operator: str, text: str) -> Lanes:
        found = _COMPARE[operator](self.inputs[column], pa.scalar(text, self.inputs[column].type))
        return Lanes(numpy_of(found), null_flags(found))


def _no_code(value: object) -> int:
    raise AssertionError(value)
