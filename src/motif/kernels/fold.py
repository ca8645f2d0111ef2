"""Aggregates over the rows of matches: one pass, left to right, each match on its own."""

from __future__ import annotations

from typing import Any

from motif.kernels.arith import add, below

COUNT, SUM, MIN, MAX = 0, 1, 2, 3


def fold_whole(
    kind: int,
    offsets: Any,
    first_row: Any,
    every: bool,
    member: Any,
    values: Any,
    nulls: Any,
    out: Any,
    rows: Any,
    counts: Any,
) -> int:
    """COUNT, SUM, MIN or MAX of 64-bit integers (also codes of strings); SUM overflows loudly.

    Entry e of match m is row first_row[m] + e - offsets[m]; it takes part where member[e] != 0. Results are
    written per entry (`every`, the running value) or per match: `rows` is where MIN or MAX was met, `counts` how many
    values there were.
    """
    for match in range(len(offsets) - 1):
        total = 0
        count = 0
        best = -1
        shift = first_row[match] - offsets[match]
        for entry in range(offsets[match], offsets[match + 1]):
            if member[entry] != 0 and nulls[entry + shift] == 0:
                value = values[entry + shift]
                if kind == 1:
                    total = add(total, value)
                elif count == 0 or (kind == 2 and value < total) or (kind == 3 and value > total):
                    total = value
                    best = entry + shift
                count += 1
            if every:
                out[entry] = total
                rows[entry] = best
                counts[entry] = count
        if not every:
            out[match] = total
            rows[match] = best
            counts[match] = count
    return 0


def fold_float(
    kind: int,
    offsets: Any,
    first_row: Any,
    every: bool,
    member: Any,
    values: Any,
    nulls: Any,
    out: Any,
    rows: Any,
    counts: Any,
) -> int:
    """The same for floats; NaN is the greatest number."""
    for match in range(len(offsets) - 1):
        total = 0.0
        count = 0
        best = -1
        shift = first_row[match] - offsets[match]
        for entry in range(offsets[match], offsets[match + 1]):
            if member[entry] != 0 and nulls[entry + shift] == 0:
                value = values[entry + shift]
                if kind == 1:
                    total = total + value
                elif count == 0 or (kind == 2 and below(value, total)) or (kind == 3 and below(total, value)):
                    total = value
                    best = entry + shift
                count += 1
            if every:
                out[entry] = total
                rows[entry] = best
                counts[entry] = count
        if not every:
            out[match] = total
            rows[match] = best
            counts[match] = count
    return 0
