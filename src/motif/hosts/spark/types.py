"""Spark's types as Motif knows them, and the types of what comes back from the workers."""

from __future__ import annotations

import re

from pyspark.sql import types as t

from motif.ir.types import Kind, Type
from motif.plan.events import outputs as events
from motif.plan.outputs import Folded, Found, Gather, IsMatched, Leaf, Listed, Number, RowValue, leaf_name

_KINDS: dict[type[t.DataType], Kind] = {
    t.BooleanType: Kind.BOOLEAN,
    t.DoubleType: Kind.FLOAT,
    t.VarcharType: Kind.STRING,
    t.BinaryType: Kind.BINARY,
    t.DateType: Kind.DATE,
    t.TimestampType: Kind.TIMESTAMP_TZ,
    t.TimestampNTZType: Kind.TIMESTAMP,
    t.DayTimeIntervalType: Kind.INTERVAL,
    t.NullType: Kind.NULL,
}
BY_BYTES = "UTF8_BINARY"
"""The collation of texts that differ wherever their bytes do."""
_BITS: dict[type[t.DataType], int] = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}


def type_of(kind: t.DataType) -> Type:
    """A Spark type as Motif knows it."""
    if isinstance(kind, t.DecimalType):
        return Type(Kind.DECIMAL, precision=kind.precision, scale=kind.scale)
    if type(kind) in _BITS:
        return Type(Kind.INTEGER, _BITS[type(kind)])
    if isinstance(kind, t.FloatType):
        return Type(Kind.FLOAT, 32)
    if isinstance(kind, t.StringType | t.CharType):
        return Type(Kind.STRING, ordered=getattr(kind, "collation", None) == BY_BYTES)
    if isinstance(kind, t.TimeType):
        return Type(Kind.TIME, scale=3)  # handed over in nanoseconds
    return Type(_KINDS.get(type(kind), Kind.OTHER))


def kept_back(kind: t.DataType) -> t.DataType | None:
    """The type in a type whose values Spark does not hand to Python: intervals of months."""
    match kind:
        case t.YearMonthIntervalType() | t.CalendarIntervalType():
            return kind
        case t.ArrayType(elementType=inner):
            return kept_back(inner)
        case t.MapType(keyType=key, valueType=value):
            return kept_back(key) or kept_back(value)
        case t.StructType(fields=fields):
            return next((found for field in fields if (found := kept_back(field.dataType))), None)
        case _:
            return None


def leaf_schema(leaves: tuple[Leaf, ...], columns: list[t.DataType]) -> t.StructType:
    """The schema of what the workers return."""
    fields = [t.StructField(leaf_name(i), _leaf_type(leaf, columns), True) for i, leaf in enumerate(leaves)]
    return t.StructType(fields)


def _leaf_type(leaf: Leaf, columns: list[t.DataType]) -> t.DataType:
    match leaf:
        case RowValue(column=column):
            return columns[column]
        case Gather(column=None):
            return t.StringType()
        case Gather(column=int(column)):
            return columns[column]
        case Number():
            return t.LongType()
        case IsMatched() | Found():
            return t.BooleanType()
        case Folded(name=name, column=column):
            return _fold_type(name, t.StringType() if column is None else columns[column])
        case Listed(fields=fields):
            kinds = [(name, t.StringType() if column is None else columns[column]) for name, column in fields]
            return t.ArrayType(t.StructType([t.StructField(name, kind, True) for name, kind in kinds]))
    raise AssertionError(leaf)


def event_schema(leaves: tuple[events.EventLeaf, ...], columns: list[t.DataType], time: int) -> t.StructType:
    """The schema of what the workers return for an event query; `time` is the column that holds the time."""
    fields = [
        t.StructField(leaf_name(i), _event_leaf_type(leaf, columns, columns[time]), True)
        for i, leaf in enumerate(leaves)
    ]
    return t.StructType(fields)


def _event_leaf_type(leaf: events.EventLeaf, columns: list[t.DataType], time: t.DataType) -> t.DataType:
    match leaf:
        case events.MatchId() | events.Rank():
            return t.LongType()
        case events.Moment():
            return time
        case events.Found():
            return t.BooleanType()
        case events.Value(column=column) | events.Edge(column=column):
            return columns[column]
        case events.Folded(name=name, column=column):
            return _fold_type(name, t.StringType() if column is None else columns[column])
        case events.Whole(is_list=is_list, columns=own):
            event = t.StructType([t.StructField(name, columns[column], True) for name, column in own])
            return t.ArrayType(event) if is_list else event
    raise AssertionError(leaf)


def _fold_type(name: str, kind: t.DataType) -> t.DataType:
    match name:
        case "count":
            return t.LongType()
        case "avg":
            return t.DoubleType()
        case "array_agg":
            return t.ArrayType(kind)
        case "sum" if isinstance(kind, t.DecimalType):
            return t.DecimalType(38, kind.scale)
        case "sum":
            return t.DoubleType() if isinstance(kind, t.FloatType | t.DoubleType) else t.LongType()
        case _:
            return kind


def message_and_hint(message: str) -> tuple[str, str | None]:
    """What Spark has to say, without its plans and codes: the first sentence, and the rest as a hint."""
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", message.strip())
    text = re.split(r"\s*SQLSTATE|;\s*line \d+|\n\s*==|\n'|;\n", text)[0]
    first, _, rest = " ".join(text.split()).partition(". ")
    return first.rstrip("."), rest[:200] or None
