"""Column types as far as Motif must know them; hosts translate their own types to these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Families of types that behave alike when values of different rows meet."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp with time zone"
    INTERVAL = "interval"
    NULL = "null"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Type:
    """A kind with what matters of its width: bits of numbers, precision and scale of decimals."""

    kind: Kind
    bits: int = 64
    signed: bool = True
    precision: int = 38
    scale: int = 0
    ordered: bool = True
    """False where the host orders values otherwise than by what they look like (enumerations)."""

    def __str__(self) -> str:
        match self.kind:
            case Kind.DECIMAL:
                return f"decimal({self.precision},{self.scale})"
            case Kind.INTEGER:
                return f"{'' if self.signed else 'unsigned '}integer({self.bits})"
            case _:
                return str(self.kind)


Schema = dict[str, Type]
"""Column names in the table's order, with their types."""
