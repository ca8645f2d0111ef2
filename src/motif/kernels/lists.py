"""Aggregates over the events of one list: `count` positions in `items` from `at` on; `nulls` flags what is left out."""

from __future__ import annotations

from typing import Any

from motif.kernels.arith import add, below


def known(nulls: Any, items: Any, at: int, count: int) -> int:
    """How many values are not NULL."""
    total = 0
    for i in range(at, at + count):
        if nulls[items[i]] == 0:
            total += 1
    return total


def sum_whole(values: Any, nulls: Any, items: Any, at: int, count: int) -> int:
    """Sum of integers; overflows loudly."""
    total = 0
    for i in range(at, at + count):
        if nulls[items[i]] == 0:
            total = add(total, values[items[i]])
    return total


def sum_float(values: Any, nulls: Any, items: Any, at: int, count: int) -> float:
    """Sum of floats, left to right."""
    total = 0.0
    for i in range(at, at + count):
        if nulls[items[i]] == 0:
            total += values[items[i]]
    return total


def min_whole(values: Any, nulls: Any, items: Any, at: int, count: int) -> int:
    """Least integer or code; anything if there is none."""
    best = 0
    some = False
    for i in range(at, at + count):
        value = values[items[i]]
        if nulls[items[i]] == 0 and (not some or value < best):
            best = value
            some = True
    return best


def max_whole(values: Any, nulls: Any, items: Any, at: int, count: int) -> int:
    """Greatest integer or code; anything if there is none."""
    best = 0
    some = False
    for i in range(at, at + count):
        value = values[items[i]]
        if nulls[items[i]] == 0 and (not some or value > best):
            best = value
            some = True
    return best


def min_float(values: Any, nulls: Any, items: Any, at: int, count: int) -> float:
    """Least float, NaN being the greatest."""
    best = 0.0
    some = False
    for i in range(at, at + count):
        value = values[items[i]]
        if nulls[items[i]] == 0 and (not some or below(value, best)):
            best = value
            some = True
    return best


def max_float(values: Any, nulls: Any, items: Any, at: int, count: int) -> float:
    """Greatest float, NaN being the greatest."""
    best = 0.0
    some = False
    for i in range(at, at + count):
        value = values[items[i]]
        if nulls[items[i]] == 0 and (not some or below(best, value)):
            best = value
            some = True
    return best
