"""Host columns computed without the host, where its operators are those that Motif computes itself.

A host answers in a millisecond or more, however few rows there are. A stream that gets one event at a time cannot
wait for that, and most queries only compare columns with constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import arrow, as_type, flat, null_flags, numpy_of, to_lanes
from motif.errors import MotifError
from motif.ir.expr import Call, Column, Expr, Literal
from motif.ir.types import Kind, Schema, Type
from motif.kernels.build import columns_loop
from motif.plan.columns import generate_columns
from motif.plan.conditions import CURRENT
from motif.plan.scalar import NATIVE, Const, Lane, Op, Read, Scalar, as_int, lane
from motif.plan.typer import Typer


class _NotHere(Exception):
    """The host has to compute it."""


class LocalColumns:
    """Row expressions over the columns of an input, and a filter."""

    def __init__(
        self, exprs: Sequence[Expr], chosen: Expr | None, schema: Schema, dialect: str, given: pa.Schema
    ) -> None:
        """`given`: the columns as the host gives them. Raises `MotifError` where the host is needed."""
        self.given = list(given.names), list(given.types)
        self.names = list(schema)
        self.types = list(schema.values())
        wanted = [*exprs, *([] if chosen is None else [chosen])]
        try:
            self.nodes = [self._typed(expr, dialect) for expr in wanted]
            for node, kind in zip(self.nodes, given.types, strict=False):
                if not isinstance(node, Read) and not _is_alike(node.type, kind):
                    raise _NotHere
        except _NotHere:
            raise MotifError("the host has to compute some columns") from None
        self.is_filtered = chosen is not None
        kinds = [*given.types, *([] if chosen is None else [pa.bool_()])]
        typed = zip(self.nodes, kinds, strict=True)
        self.computed = [(node, kind) for node, kind in typed if not isinstance(node, Read)]
        markers, environment = generate_columns([node for node, _ in self.computed])
        self.loop = columns_loop(markers)
        self.read = environment.columns
        self.constants = [_plain_constant(node) for node in environment.ints], list(environment.floats)

    @classmethod
    def of(
        cls, exprs: Sequence[Expr], chosen: Expr | None, schema: Schema, dialect: str, given: pa.Schema
    ) -> LocalColumns | None:
        """None where the host is needed."""
        try:
            return cls(exprs, chosen, schema, dialect, given)
        except MotifError:
            return None

    # -- from expressions to scalars

    def _typed(self, expr: Expr, dialect: str) -> Scalar:
        lifted = self._lifted(expr)
        if isinstance(lifted, Read):
            return lifted
        node = Typer(tuple(self.types), dialect, "").typed(lifted)
        if any(map(_is_unknown, _values_of(node))):
            raise _NotHere
        return node

    def _lifted(self, expr: Expr) -> Scalar:
        match expr:
            case Column(name=name) if name in self.names:
                return Read(self.names.index(name), CURRENT)
            case Literal(value=value):
                return Const(value)
            case Call(name=operator, args=args) if operator in NATIVE:
                return Op(operator, tuple(self._lifted(arg) for arg in args))
            case _:
                raise _NotHere

    # -- values

    def table(self, rows: pa.Table) -> pa.Table:
        """The columns of rows that pass the filter, as the host would give them."""
        inputs = [flat(rows.column(name)) for name in self.names]
        computed = iter(self._computed(inputs, rows.num_rows))
        columns = [inputs[node.column] if isinstance(node, Read) else next(computed) for node in self.nodes]
        names, kinds = self.given
        fitted = [as_type(column, kind) for column, kind in zip(columns, kinds, strict=False)]
        table = pa.Table.from_arrays(fitted, names)
        if not self.is_filtered:
            return table
        passed = numpy_of(columns[-1]) & (null_flags(columns[-1]) == 0)
        return table if passed.all() else table.take(arrow(np.flatnonzero(passed)))

    def _computed(self, inputs: list[pa.Array], count: int) -> list[pa.Array]:
        values = [_plain_values(inputs[column], self.types[column]) for column in self.read]
        flags = [null_flags(inputs[column]).tolist() for column in self.read]
        results: list[list[Any]] = [[] for _ in self.computed]
        nulls: list[list[bool]] = [[] for _ in self.computed]
        self.loop(count, values, flags, *self.constants, results, nulls)
        columns = zip(self.computed, results, nulls, strict=True)
        return [pa.array(_python_values(part, gone, kind), kind) for (_, kind), part, gone in columns]


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


def _values_of(node: Scalar) -> list[Scalar]:
    """The expression and everything in it whose value matters, not only whether it is there."""
    if isinstance(node, Op) and node.name in ("is null", "is not null") and isinstance(node.args[0], Read):
        return [node]
    return [node, *(inner for arg in (node.args if isinstance(node, Op) else ()) for inner in _values_of(arg))]


def _is_unknown(node: Scalar) -> bool:
    """A column that only the host can compare."""
    return isinstance(node, Read) and (node.type.kind in (Kind.OTHER, Kind.NULL) or not node.type.ordered)


def _is_alike(kind: Type, given: pa.DataType) -> bool:
    """Whether a value that was computed here is of the type that the host gives."""
    match kind.kind:
        case Kind.BOOLEAN:
            return bool(pa.types.is_boolean(given))
        case Kind.INTEGER:
            return bool(pa.types.is_integer(given))
        case _:
            return kind.kind is Kind.FLOAT and bool(pa.types.is_float64(given))
