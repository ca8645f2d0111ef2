"""What can be computed for every row, whatever is in it: a value that fails must only fail where it is asked for.

Casts, functions of the host, and numbers that may grow too large are left for the rows that an aggregate or a
navigation really reads. What is certain crosses as one more column, which is the fastest way.
"""

from __future__ import annotations

from collections.abc import Sequence

from motif.ir.expr import COMPARISONS, NULL_SAFE, Call, Column, Expr, Literal
from motif.ir.types import Kind, Schema
from motif.plan.typer import literal_type

_NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})


def is_certain(expr: Expr, schema: Schema, dialect: str) -> bool:
    """Whether no row makes it fail."""
    return _kind(expr, schema, dialect) is not None


def _kind(expr: Expr, schema: Schema, dialect: str) -> Kind | None:
    """The kind of its values; None where they may fail."""
    match expr:
        case Column(name=name):
            return schema[name].kind
        case Literal(value=value):
            return literal_type(value).kind
        case Call(name=name, args=args):
            kinds = [_kind(arg, schema, dialect) for arg in args]
            return _kind_of_call(name, [k for k in kinds if k is not None], dialect) if None not in kinds else None
        case _:
            return None


def _kind_of_call(name: str, kinds: Sequence[Kind], dialect: str) -> Kind | None:
    known: set[Kind] = {kind for kind in kinds if kind is not Kind.NULL}
    if name in COMPARISONS | NULL_SAFE | {"in", "between"}:
        return Kind.BOOLEAN if _common(known) else None
    if name in ("is null", "is not null"):
        return Kind.BOOLEAN
    if name in ("and", "or", "not", "is true", "is false"):
        return Kind.BOOLEAN if known <= {Kind.BOOLEAN} else None
    if name == "case":
        conditions = {*kinds[:-1:2]} <= {Kind.BOOLEAN, Kind.NULL}
        return _common({*kinds[1::2], kinds[-1]} - {Kind.NULL}) if conditions else None
    if name in ("coalesce", "nullif"):
        return _common(known)
    floats = known <= _NUMBERS and Kind.FLOAT in known
    always = name in ("+", "-", "*", "neg", "abs") or (name == "/" and dialect == "duckdb")
    return Kind.FLOAT if floats and always else None


def _common(kinds: set[Kind]) -> Kind | None:
    """The kind of values that can be compared without a cast that may fail; NULL is one if there is none else."""
    if len(kinds) < 2:
        return next(iter(kinds), Kind.NULL)
    return (Kind.FLOAT if Kind.FLOAT in kinds else Kind.DECIMAL) if kinds <= _NUMBERS else None
