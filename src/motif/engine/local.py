"""Host columns computed without the host, where its operators are those that Motif computes itself.

A host answers in a millisecond or more, however few rows there are, and hands over no faster than Arrow reads. Most
queries only compare columns with constants: a few rows are computed one after the other, many column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

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
from motif.plan.scalar import NATIVE, Const, Lane, Op, Read, Scalar, as_int, lane, scalars
from motif.plan.typer import Typer

FEW_ROWS = 500
"""Fewer are computed one after the other."""
WIDE = 64
"""Bits of the numbers that are computed with here."""
_PLAIN = frozenset({pa.int64(), pa.float64()})
"""Types whose values are the same numbers in Python."""
_GROWING = frozenset({"+", "-", "*", "neg", "abs"})
"""Operators whose result may be too large for the type that the host gives it."""


class _NotHere(Exception):
    """The host has to compute it."""


class Rows(Protocol):
    """Rows of an input; a column may be made when it is asked for."""

    @property
    def num_rows(self) -> int: ...

    def column(self, name: str, /) -> pa.Array | pa.ChunkedArray: ...


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
                if not isinstance(node, Read) and not _is_alike(node, kind):
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
            for columns in self._ways(inputs):
                for column, kind in zip(columns, self.given[1], strict=True):
                    if pa.types.is_nested(kind) and column.type != kind:
                        return False
                    _fitted(column, kind)
        except (pa.ArrowException, AttributeError, TypeError, ValueError):
            return False
        return True

    def _ways(self, inputs: list[pa.Array]) -> Iterator[list[pa.Array]]:
        """Its columns of no rows."""
        yield self._by_rows(inputs, 0)
        if self.filter is not None:
            self._filter_loop.results(inputs.__getitem__, 0)
        if self.is_columnwise:
            yield self._by_columns(inputs, 0)[0]

    def without_host(self, rows: Rows) -> pa.Table | None:
        """See `table`; None where the host is faster, or has a say."""
        if not self.takes(rows.num_rows):
            return None
        try:
            return self.table(rows)
        except (OverflowError, pa.ArrowInvalid):
            return None

    def table(self, rows: Rows) -> pa.Table:
        """Of rows with all columns of the input; see `of_columns`."""
        if self._goes_by_columns(rows.num_rows) or self.filter is None:
            return self.of_columns([flat(rows.column(name)) for name in self.names], rows.num_rows)
        # Most rows of a stream are of no use to a query: nothing is read of them but what the filter reads.
        [(truth, gone)] = self._filter_loop.results(lambda place: flat(rows.column(self.names[place])), rows.num_rows)
        passed = _passed(truth, gone)
        if not passed.any():
            return self._nothing
        inputs = [flat(rows.column(name)) for name in self.names]
        return self._table(self._by_rows(inputs, rows.num_rows), passed)

    def of_columns(self, inputs: list[pa.Array], count: int) -> pa.Table:
        """The columns of rows that pass the filter, as the host would give them, but for texts that are codes.

        `inputs`: those that `names` says. Raises `OverflowError` or `pa.ArrowInvalid` for values that are too large, on
        which the host has a say.
        """
        if self._goes_by_columns(count):
            return self._table(*self._by_columns(inputs, count))
        passed = None
        if self.filter is not None:
            [found] = self._filter_loop.results(inputs.__getitem__, count)
            passed = _passed(*found)
        return self._table(self._by_rows(inputs, count), passed)

    def _goes_by_columns(self, count: int) -> bool:
        return self.is_columnwise and count >= FEW_ROWS

    def _table(self, columns: list[pa.Array], passed: Array | None) -> pa.Table:
        names, kinds = self.given
        table = pa.Table.from_arrays([_fitted(*pair) for pair in zip(columns, kinds, strict=True)], names)
        return table if passed is None or passed.all() else taken(table, np.flatnonzero(passed))

    @cached_property
    def _nothing(self) -> pa.Table:
        return pa.schema(zip(*self.given, strict=True)).empty_table()

    def _by_columns(self, inputs: list[pa.Array], count: int) -> tuple[list[pa.Array], Array | None]:
        """Columns, and flags of rows that pass."""
        vectors = RowVectors(self.expressions, dict(enumerate(inputs)), self.types, count)
        columns = [
            inputs[node.column] if isinstance(node, Read) else vectors.array(node, kind)
            for node, kind in zip(self.nodes, self.given[1], strict=True)
        ]
        return columns, None if self.filter is None else vectors.true(self.filter)

    def _by_rows(self, inputs: list[pa.Array], count: int) -> list[pa.Array]:
        found = iter(self._loop.results(inputs.__getitem__, count))
        return [
            inputs[node.column] if isinstance(node, Read) else pa.array(_python_values(*next(found), kind), kind)
            for node, kind in zip(self.nodes, self.given[1], strict=True)
        ]

    @cached_property
    def _loop(self) -> _RowLoop:
        return _RowLoop.of([node for node in self.nodes if not isinstance(node, Read)], self.types)

    @cached_property
    def _filter_loop(self) -> _RowLoop:
        assert self.filter is not None
        return _RowLoop.of([self.filter], self.types)


@dataclass(frozen=True, slots=True)
class _RowLoop:
    """Computes expressions one row after the other."""

    run: Any
    computed: int
    """How many expressions it computes."""
    columns: tuple[tuple[int, Type], ...]
    """Those that it reads."""
    constants: tuple[list[Any], list[Any]]

    @classmethod
    def of(cls, nodes: Sequence[Scalar], types: Sequence[Type]) -> _RowLoop:
        markers, environment = generate_columns(nodes)
        constants = [_plain_constant(node) for node in environment.ints], list(environment.floats)
        columns = tuple((column, types[column]) for column in environment.columns)
        return cls(columns_loop(markers), len(nodes), columns, constants)

    def results(self, read: Callable[[int], pa.Array], count: int) -> list[tuple[list[Any], list[bool]]]:
        """Of each expression its values, and whether they are NULL."""
        if not self.computed:
            return []
        inputs = [(read(column), kind) for column, kind in self.columns]
        values = [_plain_values(array, kind) for array, kind in inputs]
        flags = [_plain_flags(array) for array, _ in inputs]
        results: list[list[Any]] = [[] for _ in range(self.computed)]
        nulls: list[list[bool]] = [[] for _ in range(self.computed)]
        self.run(count, values, flags, *self.constants, results, nulls)
        return list(zip(results, nulls, strict=True))


def _passed(truth: list[Any], gone: list[bool]) -> Array:
    return np.array([value != 0 and not null for value, null in zip(truth, gone, strict=True)], bool)


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
    """Whether a value is the host's, which compares 32-bit floats as such, and fails on small numbers that grow."""
    match node:
        case Read(type=Type(kind=Kind.OTHER | Kind.NULL)):
            return False
        case Read(type=kind):
            return kind.ordered and not (kind.kind is Kind.FLOAT and kind.bits < WIDE)
        case Const(value=Decimal() as number):
            return len(number.as_tuple().digits) <= EXACT_DIGITS
        case Op(name=name, args=args) if name in _GROWING and lane(node.type) is Lane.INT:
            return any(map(_is_wide, args))
        case Op(name="/" | "%", args=(_, divisor)):
            return _is_never_zero(divisor)
        case _:
            return True


def _is_never_zero(divisor: Scalar) -> bool:
    """Whether a quotient is a number on every host: divided by zero it is NULL, infinite, or an error."""
    match divisor:
        case Const(value=value):
            return bool(value)
        case Op(name="to_float", args=(Const(value=value),)):
            return bool(value)
        case _:
            return False


def _is_wide(node: Scalar) -> bool:
    """Whether a number is no integer of less than 64 bits: what is computed with it has as many."""
    match node:
        case Read(type=kind):
            return kind.kind is not Kind.INTEGER or kind.bits == WIDE
        case Const():
            return False
        case _:
            return True  # its own arguments are looked at, too


def _reads_intervals(node: Scalar) -> bool:
    return any(isinstance(inner, Read) and inner.type.kind is Kind.INTERVAL for inner in scalars(node))


def _fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if pa.types.is_dictionary(column.type) else as_type(column, kind)


def _plain_values(array: pa.Array, kind: Type) -> list[Any]:
    """Numbers as in their lane; what has codes elsewhere as it is."""
    is_plain = lane(kind) is Lane.CODE or (array.type in _PLAIN and not array.null_count)
    values: list[Any] = array.to_pylist() if is_plain else to_lanes(array, kind).values.tolist()
    return values


def _plain_flags(array: pa.Array) -> list[Any]:
    """Whether a value is NULL."""
    return null_flags(array).tolist() if array.null_count else [False] * len(array)


def _python_values(values: list[Any], nulls: list[bool], kind: pa.DataType) -> list[Any]:
    """What the loop computed: truth is a number in it."""
    if pa.types.is_boolean(kind):
        values = [value != 0 for value in values]
    return [None if gone else value for value, gone in zip(values, nulls, strict=True)] if any(nulls) else values


def _plain_constant(node: Const) -> Any:
    return node.value if lane(node.type) is Lane.CODE else as_int(node.value, node.type)


def _is_alike(node: Scalar, given: pa.DataType) -> bool:
    """Whether a value that was computed here is of the type that the host gives, or that is made of it."""
    match (kind := node.type).kind:
        case Kind.BOOLEAN:
            return bool(pa.types.is_boolean(given))
        case Kind.INTEGER:
            return bool(pa.types.is_integer(given))
        case Kind.TIMESTAMP:
            return bool(given == pa.timestamp("us")) and not kind.scale
        case Kind.INTERVAL:  # one that is read may have months
            return bool(given == pa.duration("us")) and not kind.scale and not _reads_intervals(node)
        case Kind.STRING:
            return bool(pa.types.is_string(given))
        case _:
            return kind.kind is Kind.FLOAT and bool(pa.types.is_float64(given))
