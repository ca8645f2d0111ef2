"""Row expressions over the columns of many rows; what depends on codes of a text alone is computed once per code."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, Lanes, arrow, as_type, null_flags, numpy_of, taken, to_lanes
from motif.engine.vector import Vectors
from motif.ir.expr import COMPARISONS
from motif.ir.types import Kind, Type
from motif.plan.scalar import STRING, Const, Lane, Op, Read, Scalar, lane, scalars

FEW_CODES, MOST_KNOWN = 32, 256
"""So many values are remembered by so few codes."""
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
    of_codes: dict[Hashable, Lanes] = field(default_factory=dict)
    """What operators gave for a few codes: those of the next rows are mostly the same, in one order or another."""

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

    def array(self, node: Scalar, kind: pa.DataType) -> pa.Array:
        """The values of an expression."""
        if isinstance(node, Op) and (coded := self._only_codes(node)) is not None:
            each = _array(self._of_each(node, coded), kind)
            return taken(each, self._places(self.inputs[coded]))
        return _array(self.value(node), kind)

    def _lanes(self, column: int) -> Lanes:
        return to_lanes(self.inputs[column], self.types[column])

    def value(self, node: Scalar) -> Lanes:
        if id(node) not in self.known:
            self.known[id(node)] = self._value(node) if isinstance(node, Op) else super().value(node)
        return self.known[id(node)]

    def _value(self, node: Op) -> Lanes:
        if (coded := self._only_codes(node)) is not None:
            return self._by_code(node, coded)
        if test := _text_test(node):
            return self._texts(*test)
        match node:
            case Op(name="is null" | "is not null" as name, args=(Read(column=column),)):
                return self._null_test(self.inputs[column], wanted=name == "is null")
        return super().value(node)

    def _null_test(self, array: pa.Array, *, wanted: bool) -> Lanes:
        if not array.null_count:
            return self._certainly(not wanted)
        flags = null_flags(array)
        return Lanes(flags if wanted else 1 - flags, self.everywhere(np.uint8(0)))

    def _certainly(self, truth: bool) -> Lanes:
        return Lanes(self.everywhere(np.bool_(truth)), self.everywhere(np.uint8(0)))

    def junction(self, args: list[Lanes], conjunction: bool) -> Lanes:
        """What is certain for all rows need not be looked at for each."""
        open_ones = []
        for arg in args:
            if not _is_constant(arg):
                open_ones.append(arg)
            elif not arg.nulls[0] and bool(arg.values[0]) is not conjunction:
                return arg
            elif arg.nulls[0]:
                open_ones.append(arg)
        if not open_ones:
            return self._certainly(conjunction)
        return open_ones[0] if len(open_ones) == 1 else super().junction(open_ones, conjunction)

    # -- codes

    def _only_codes(self, node: Op) -> int | None:
        """The column, if it is one of codes and the only one that is read."""
        columns = self.expressions.columns[id(node)]
        column = min(columns) if len(columns) == 1 else None
        return column if column is not None and pa.types.is_dictionary(self.inputs[column].type) else None

    def _of_each(self, node: Op, column: int) -> Lanes:
        """The value of an expression for each code, and for NULL."""
        dictionary, known = self.inputs[column].dictionary, self.expressions.of_codes
        key = (id(node), *dictionary.to_pylist()) if len(dictionary) <= FEW_CODES else None
        found = None if key is None else known.get(key)
        if found is None:
            values = pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)])
            found = RowVectors(self.expressions, {column: values}, self.types, len(values)).value(node)
            if key is not None and len(known) < MOST_KNOWN:
                known[key] = found
        return found

    def _by_code(self, node: Op, column: int) -> Lanes:
        each, coded = self._of_each(node, column), self.inputs[column]
        there = slice(None) if coded.null_count else slice(-1)
        values, nulls = each.values[there], each.nulls[there]
        places = self._places(coded)
        return Lanes(*(self._spread(part, places) for part in (values, nulls)))

    def _spread(self, each: Array, places: Array) -> Array:
        if len(each) and bool((each == each[0]).all()):
            return self.everywhere(each[0])
        return each.take(places)

    def _places(self, coded: pa.DictionaryArray) -> Array:
        """Codes, and behind them NULL."""
        codes = numpy_of(coded.indices)
        return np.where(null_flags(coded) == 1, len(coded.dictionary), codes) if coded.null_count else codes

    def _texts(self, column: int, operator: str, text: str) -> Lanes:
        found = _COMPARE[operator](self.inputs[column], pa.scalar(text, self.inputs[column].type))
        return Lanes(numpy_of(found), null_flags(found))


def _is_constant(lanes: Lanes) -> bool:
    """Whether it is the same for all rows, and not written down for each."""
    return len(lanes.values) > 0 and lanes.values.strides == lanes.nulls.strides == (0,)


def _array(lanes: Lanes, kind: pa.DataType) -> pa.Array:
    values = lanes.values != 0 if pa.types.is_boolean(kind) else lanes.values
    return as_type(arrow(values, lanes.nulls != 0), kind)


def _no_code(value: object) -> int:
    raise AssertionError(value)
