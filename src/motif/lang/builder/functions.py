"""Functions and columns by name: `fn.upper(a.name)`, `col.price`, `case((condition, value), otherwise=0)`."""

from __future__ import annotations

from collections.abc import Callable

from motif.errors import MotifError
from motif.ir.expr import Aggregate, At, Call, Column, Literal, MatchNumber
from motif.lang.builder.arguments import is_pair
from motif.lang.builder.value import Value, node_of, value


class _Functions:
    """`fn.name(args)`: a function of the host or of the user; FIRST, SUM and their kind mean what they mean in text."""

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Callable[..., Value]:
        def call(*args: object) -> Value:
            if name.lower() == "count" and not args:
                return Value(Aggregate("count", None))
            return Value(Call(name.lower(), tuple(node_of(value(arg)) for arg in args)))

        return call

    def __repr__(self) -> str:
        return "<functions: fn.upper(a.name)>"


class _Columns:
    """`col.price`: a column of the current row, in row patterns."""

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Value:
        return Value(At(Column(name)))

    def __call__(self, name: str) -> Value:
        return self[name]

    def __repr__(self) -> str:
        return "<columns: col.price>"


fn = _Functions()
col = _Columns()


def lit(constant: object) -> Value:
    """A constant as a value."""
    return value(constant)


def case(*pairs: tuple[object, object], otherwise: object = None) -> Value:
    """`CASE WHEN condition THEN value ... ELSE otherwise END`."""
    if not pairs or not all(is_pair(pair) for pair in pairs):
        raise MotifError("case takes pairs", hint="write case((a.x > 5, 1), (a.x > 3, 2), otherwise=0)")
    args = [node_of(value(part)) for pair in pairs for part in pair]
    default = Literal(None) if otherwise is None else node_of(value(otherwise))
    return Value(Call("case", (*args, default)))


def match_number() -> Value:
    """MATCH_NUMBER(), in row patterns."""
    return Value(MatchNumber())
