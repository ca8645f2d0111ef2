"""Host columns computed without the host, where its operators are those that Motif computes itself.

A host answers in a millisecond or more, however few rows there are. A stream that gets one event at a time cannot
wait for that, and most queries only compare columns with constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import arrow, as_type, flat, numpy_of, plain_type
from motif.engine.matcher import Rows
from motif.engine.vector import Vectors
from motif.errors import MotifError
from motif.ir.expr import Call, Column, Expr, Literal
from motif.ir.types import Kind, Schema, Type
from motif.plan.conditions import CURRENT
from motif.plan.scalar import NATIVE, Const, Op, Read, Scalar, scalars
from motif.plan.typer import Typer

_BOOLEAN = Type(Kind.BOOLEAN)


class _NotHere(Exception):
    """The host has to compute it."""


class LocalColumns:
    """Row expressions over the columns of an input, and a filter."""

    def __init__(
        self, exprs: Sequence[Expr], chosen: Expr | None, schema: Schema, dialect: str, given: pa.Schema
    ) -> None:
        """`given`: the columns as the host gives them. Raises `MotifError` where the host is needed."""
        self.given = given
        self.names = list(schema)
        self.types = list(schema.values())
        self.tests: list[tuple[int, str | None]] = []
        """Columns compared with a text, or (None) tested for being there; they come after those of the input."""
        wanted = [*exprs, *([] if chosen is None else [chosen])]
        try:
            self.nodes = [self._typed(expr, dialect) for expr in wanted]
            for node, kind in zip(self.nodes, given.types, strict=False):
                if not isinstance(node, Read) and not _is_alike(node.type, kind):
                    raise _NotHere
        except _NotHere:
            raise MotifError("the host has to compute some columns") from None
        self.is_filtered = chosen is not None
        self.program = SimpleNamespace(
            keys=(),
            types=(*self.types, *(_BOOLEAN for _ in self.tests)),
            neighbours=(tuple(node for node in self.nodes if not isinstance(node, Read)),),
            dependent=(),
            variables=(),
        )

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
        node = Typer((*self.types, *(_BOOLEAN for _ in self.tests)), dialect, "").typed(lifted)
        if any(isinstance(n, Read) and n.type.kind in (Kind.OTHER, Kind.NULL) for n in scalars(node)):
            raise _NotHere
        return node

    def _lifted(self, expr: Expr) -> Scalar:
        match expr:
            case Column(name=name) if name in self.names:
                return Read(self.names.index(name), CURRENT)
            case Literal(value=value):
                return Const(value)
            case Call(name="=", args=(Column(name=name), Literal(value=str(text)))) if self._is_text(name):
                return self._test(name, text)
            case Call(name="is not null", args=(Column(name=name),)) if name in self.names:
                return self._test(name, None)
            case Call(name=operator, args=args) if operator in NATIVE:
                return Op(operator, tuple(self._lifted(arg) for arg in args))
            case _:
                raise _NotHere

    def _test(self, name: str, text: str | None) -> Read:
        test = (self.names.index(name), text)
        if test not in self.tests:
            self.tests.append(test)
        return Read(len(self.types) + self.tests.index(test), CURRENT)

    def _is_text(self, name: str) -> bool:
        kind = self.types[self.names.index(name)] if name in self.names else None
        return kind is not None and kind.kind is Kind.STRING and kind.ordered

    # -- values

    def table(self, rows: pa.Table) -> pa.Table:
        """The columns of rows that pass the filter, as the host would give them."""
        inputs = [flat(rows.column(name)) for name in self.names]
        for column, text in self.tests:
            array = inputs[column]
            inputs.append(array.is_valid() if text is None else pc.equal(as_type(array, plain_type(array.type)), text))
        computed = self._computed(inputs, rows.num_rows)
        columns = [as_type(column, kind) for column, kind in zip(computed, self.given.types, strict=False)]
        table = pa.Table.from_arrays(columns, self.given.names)
        if not self.is_filtered:
            return table
        passed = np.flatnonzero(numpy_of(computed[-1].fill_null(False)))
        return table if len(passed) == rows.num_rows else table.take(arrow(passed))

    def _computed(self, inputs: list[pa.Array], count: int) -> list[pa.Array]:
        batch = Rows(self.program, pa.Table.from_arrays(inputs, [str(i) for i in range(len(inputs))]))  # type: ignore[arg-type]
        vectors = Vectors(np.array([0, count]), batch.lanes, batch.code)
        return [inputs[node.column] if isinstance(node, Read) else _array(vectors, node) for node in self.nodes]


def _array(vectors: Vectors, node: Scalar) -> pa.Array:
    value = vectors.value(node)
    return arrow(value.values != 0 if node.type.kind is Kind.BOOLEAN else value.values, value.nulls != 0)


def _is_alike(kind: Type, given: pa.DataType) -> bool:
    """Whether a value that was computed here is of the type that the host gives."""
    match kind.kind:
        case Kind.BOOLEAN:
            return bool(pa.types.is_boolean(given))
        case Kind.INTEGER:
            return bool(pa.types.is_integer(given))
        case _:
            return kind.kind is Kind.FLOAT and bool(pa.types.is_float64(given))
