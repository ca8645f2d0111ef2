"""DuckDB types -> types of the IR."""

from __future__ import annotations

import re

from motif.ir.types import Kind, Type

_KINDS = {
    "boolean": Kind.BOOLEAN,
    "double": Kind.FLOAT,
    "varchar": Kind.STRING,
    "enum": Kind.STRING,
    "uuid": Kind.STRING,
    "blob": Kind.BINARY,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "time_ns": Kind.TIME,
    "interval": Kind.INTERVAL,
    "timestamp": Kind.TIMESTAMP,
    "timestamp_s": Kind.TIMESTAMP,
    "timestamp_ms": Kind.TIMESTAMP,
    "timestamp_ns": Kind.TIMESTAMP,
    "timestamp with time zone": Kind.TIMESTAMP_TZ,
    "timestamptz_ns": Kind.TIMESTAMP_TZ,
    '"null"': Kind.NULL,
    "null": Kind.NULL,
}
_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}


def type_of(name: str) -> Type:
    """A DuckDB type as Motif knows it."""
    name = name.lower()
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name):
        return Type(Kind.DECIMAL, precision=int(decimal[1]), scale=int(decimal[2]))
    if name in _INTEGERS:
        return Type(Kind.INTEGER, _INTEGERS[name])
    if name.startswith("u") and name[1:] in _INTEGERS:
        return Type(Kind.INTEGER, _INTEGERS[name[1:]], signed=False)
    if name == "float":
        return Type(Kind.FLOAT, 32)
    if name.startswith("enum("):
        return Type(Kind.STRING, ordered=False)
    return Type(_KINDS.get(name, Kind.OTHER), scale=3 if name.endswith("_ns") else 0)
