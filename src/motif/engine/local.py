"""Host columns computed without the host, where its operators are those that Motif computes itself.

A host answers in a millisecond or more, however few rows there are, and hands over no faster than Arrow reads. Most
queries only compare columns with constants: a few rows are computed one after the other, many column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import Array, as_type, flat, null_flags, taken, to_lanes
from motif.engine.row_vectors import RowExpressions, RowVectors, are_columnwise
from motif.errors import MotifError
from motif.ir.expr import Call, Column, Expr, Literal
from motif.ir.types import Kind, Schema, Type
from motif.kernels.build import columns_loop
from motif.plan.columns import generate_columns
from motif.plan.conditions import CURRENT, EXACT_DIGITS
from motif.plan.scalar import NATIVE, Const, Lane, Op, Read, Scalar, as_int, lane
from motif.plan.typer import Typer

FEW_ROWS = 500
"""Fewer are computed one after the other."""
WIDE = 64
"""Bits of the numbers that are computed with here."""
_GROWING = frozenset({"+", "-", "*", "neg", "abs"})
"""Operators whose result may be too large for the type that the host gives it."""


class _NotHere(Exception):
    """The host has to compute it."""


class LocalColumns:
    """Row expressions over the columns of an input, and a filter."""

    def __init__(
        self, exprs: Sequence[Expr], chosen: Expr | None, schema: Schema, dialect: str, given: pa.Schema
    ) -> None:
        """`given`: the columns as the host gives them. Raises `MotifError` where the host is needed."""
        self.given = list(given.names), list(given.types)
        self.names: list[str] = []
        """Columns of the input that are read."""
        try:
            lifted = [self._lifted(expr, schema) for expr in (*exprs, *([] if chosen is None else [chosen]))]
            self.types = [schema[name] for name in self.names]
            nodes = [_typed(node, self.types, dialect) for node in lifted]
            for node, kind in zip(nodes, given.types, strict=False):
                if not isinstance(node, Read) and not _is_alike(node.type, kind):
                    raise _NotHere
        except _NotHere:
            raise MotifError("the host has to compute some columns") from None
        self.expressions = RowExpressions.of(nodes)
        self.nodes = self.expressions.nodes[: len(exprs)]
        self.filter = None if chosen is None else self.expressions.nodes[-1]

    @classmethod
    def of(
        cls, exprs: Sequence[Expr], chosen: Expr | None, schema: Schema, dialect: str, given: pa.Schema
    ) -> LocalColumns | None:
        """None where the host is needed."""
        try:
            return cls(exprs, chosen, schema, dialect, given)
        except MotifError:
            return None

    def _lifted(self, expr: Expr, schema: Schema) -> Scalar:
        match expr:
            case Column(name=name) if name in schema:
                if name not in self.names:
                    self.names.append(name)
                return Read(self.names.index(name), CURRENT)
            case Literal(value=value):
                return Const(value)
            case Call(name=operator, args=args) if operator in NATIVE:
                return Op(operator, tuple(self._lifted(arg, schema) for arg in args))
            case _:
                raise _NotHere

    # -- values

    @property
    def is_filtered(self) -> bool:
        return self.filter is not None

    @cached_property
    def is_columnwise(self) -> bool:
        """Whether it is of use for more than a few rows."""
        return are_columnwise([node for node in self.expressions.nodes if not isinstance(node, Read)])

    def takes(self, count: int) -> bool:
        """Whether so many rows are better not left to the host."""
        return count < FEW_ROWS or self.is_columnwise

    def takes_rows_of(self, nothing: pa.Table | None) -> bool:
        """Whether it reads the types of an input, of which no row is given, as the host hands them over."""
        if nothing is None:
            return False
        inputs = [flat(nothing.column(name)) for name in self.names]
        if any(isinstance(column.type, pa.BaseExtensionType) for column in inputs):
            return False
        try:
            for computed in (self._by_columns, self._by_rows) if self.is_columnwise else (self._by_rows,):
                columns, _ = computed(inputs, 0)
                for column, kind in zip(columns, self.given[1], strict=True):
                    if pa.types.is_nested(kind) and column.type != kind:
                        return False
                    _fitted(column, kind)
        except (pa.ArrowException, AttributeError, TypeError, ValueError):
            return False
        return True

    def table(self, rows: pa.Table) -> pa.Table:
        """Of rows with all columns of the input; see `of_columns`."""
        return self.of_columns([flat(rows.column(name)) for name in self.names], rows.num_rows)

    def of_columns(self, inputs: list[pa.Array], count: int) -> pa.Table:
        """The columns of rows that pass the filter, as the host would give them, but for texts that are codes.

        `inputs`: those that `names` says. Raises `OverflowError` or `pa.ArrowInvalid` for values that are too large, on
        which the host has a say.
        """
        computed = self._by_columns if self.is_columnwise and count >= FEW_ROWS else self._by_rows
        columns, passed = computed(inputs, count)
        names, kinds = self.given
        table = pa.Table.from_arrays([_fitted(*pair) for pair in zip(columns, kinds, strict=True)], names)
        return table if passed.all() else taken(table, np.flatnonzero(passed))

    def _by_columns(self, inputs: list[pa.Array], count: int) -> tuple[list[pa.Array], Array]:
        """Columns, and flags of rows that pass."""
        vectors = RowVectors(self.expressions, dict(enumerate(inputs)), self.types, count)
        columns = [
            inputs[node.column] if isinstance(node, Read) else vectors.array(node, kind)
            for node, kind in zip(self.nodes, self.given[1], strict=True)
        ]
        return columns, np.ones(1, bool) if self.filter is None else vectors.true(self.filter)

    def _by_rows(self, inputs: list[pa.Array], count: int) -> tuple[list[pa.Array], Array]:
        """The same."""
        loop, computed, read, constants = self._loop
        values = [_plain_values(inputs[column], self.types[column]) for column in read]
        flags = [null_flags(inputs[column]).tolist() for column in read]
        results: list[list[Any]] = [[] for _ in computed]
        nulls: list[list[bool]] = [[] for _ in computed]
        loop(count, values, flags, *constants, results, nulls)
        found = {id(node): pair for node, pair in zip(computed, zip(results, nulls, strict=True), strict=True)}
        columns = [
            inputs[node.column] if isinstance(node, Read) else pa.array(_python_values(*found[id(node)], kind), kind)
            for node, kind in zip(self.nodes, self.given[1], strict=True)
        ]
        if self.filter is None:
            return columns, np.ones(1, bool)
        truth, gone = found[id(self.filter)]
        return columns, np.array([value != 0 and not null for value, null in zip(truth, gone, strict=True)], bool)

    @cached_property
    def _loop(self) -> tuple[Any, list[Scalar], tuple[int, ...], tuple[list[Any], list[Any]]]:
        """What computes a row, what it computes, the columns that it reads, and the constants in it."""
        computed: list[Scalar] = [node for node in self.expressions.nodes if not isinstance(node, Read)]
        markers, environment = generate_columns(computed)
        constants = [_plain_constant(node) for node in environment.ints], list(environment.floats)
        return columns_loop(markers), computed, environment.columns, constants


def _typed(lifted: Scalar, types: Sequence[Type], dialect: str) -> Scalar:
    if isinstance(lifted, Read):
        return lifted
    node = Typer(tuple(types), dialect, "").typed(lifted)
    if not all(map(_is_certain, _values_of(node))):
        raise _NotHere
    return node


def _values_of(node: Scalar) -> list[Scalar]:
    """The expression and everything in it whose value matters, not only whether it is there."""
    if isinstance(node, Op) and node.name in ("is null", "is not null") and isinstance(node.args[0], Read):
        return [node]
    return [node, *(inner for arg in (node.args if isinstance(node, Op) else ()) for inner in _values_of(arg))]


def _is_certain(node: Scalar) -> bool:
    """Whether a value is the host's: it compares 32-bit floats as such, and fails on small numbers that grow."""
    match node:
        case Read(type=Type(kind=Kind.OTHER | Kind.NULL)):
            return False
        case Read(type=kind):
            return kind.ordered and not (kind.kind is Kind.FLOAT and kind.bits < WIDE)
        case Const(value=Decimal() as number):
            return len(number.as_tuple().digits) <= EXACT_DIGITS
        case Op(name=name, args=args) if name in _GROWING and lane(node.type) is Lane.INT:
            return any(map(_is_wide, args))
        case _:
            return True


def _is_wide(node: Scalar) -> bool:
    """Whether a number is no integer of less than 64 bits: what is computed with it has as many."""
    match node:
        case Read(type=kind):
            return kind.kind is not Kind.INTEGER or kind.bits == WIDE
        case Const():
            return False
        case _:
            return True  # its own arguments are looked at, too


def _fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if pa.types.is_dictionary(column.type) else as_type(column, kind)


def _plain_values(array: pa.Array, kind: Type) -> list[Any]:
    """Numbers as in their lane; what has codes elsewhere as it is."""
    values: list[Any] = array.to_pylist() if lane(kind) is Lane.CODE else to_lanes(array, kind).values.tolist()
    return values


def _python_values(values: list[Any], nulls: list[bool], kind: pa.DataType) -> list[Any]:
    """What the loop computed: truth is a number in it."""
    if pa.types.is_boolean(kind):
        values = [value != 0 for value in values]
    return [None if gone else value for value, gone in zip(values, nulls, strict=True)] if any(nulls) else values


def _plain_constant(node: Const) -> Any:
    return node.value if lane(node.type) is Lane.CODE else as_int(node.value, node.type)


def _is_alike(kind: Type, given: pa.DataType) -> bool:
    """Whether a value that was computed here is of the type that the host gives."""
    match kind.kind:
        case Kind.BOOLEAN:
            return bool(pa.types.is_boolean(given))
        case Kind.INTEGER:
            return bool(pa.types.is_integer(given))
        case Kind.TIMESTAMP:
            return bool(given == pa.timestamp("us")) and not kind.scale
        case _:
            return kind.kind is Kind.FLOAT and bool(pa.types.is_float64(given))
