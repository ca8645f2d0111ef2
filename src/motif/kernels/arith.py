"""Arithmetic that means the same in plain Python and compiled: 64-bit, checked, NaN the greatest number."""

from __future__ import annotations

MOST = 9223372036854775807
LEAST = -9223372036854775807


def add(a: int, b: int) -> int:
    """Sum, or OverflowError."""
    if (b > 0 and a > MOST - b) or (b < 0 and a < LEAST - b):
        raise OverflowError
    return a + b


def sub(a: int, b: int) -> int:
    """Difference, or OverflowError."""
    if (b < 0 and a > MOST + b) or (b > 0 and a < LEAST + b):
        raise OverflowError
    return a - b


def mul(a: int, b: int) -> int:
    """Product, or OverflowError (a little early, so that the check itself cannot overflow)."""
    if abs(float(a) * float(b)) > 9.2e18:
        raise OverflowError
    return a * b


def rem(a: int, b: int) -> int:
    """Remainder with the sign of the dividend, as SQL has it."""
    left = abs(a) % abs(b)
    return -left if a < 0 else left


def frem(a: float, b: float) -> float:
    """The same for floats."""
    left = abs(a) % abs(b)
    return -left if a < 0 else left


def below(a: float, b: float) -> bool:
    """a < b, where NaN is greater than every number."""
    return a < b or (b != b and a == a)


def alike(a: float, b: float) -> bool:
    """a = b, where NaN equals NaN."""
    return a == b or (a != a and b != b)
