"""The order that streams promise, as directly as it can be said.

What one step gives (a push, an advance, the end) is in the order of a result. Of a row pattern, all that comes of one
key is what the batch gives of it, in its order, however many steps it takes. Matches of events come as they are
decided; where every step decides all that ends in a stretch of time, all steps together are the batch, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from motif.testing.event_reference import Listed, in_result_order


class Line(NamedTuple):
    """A row of the answer to a row pattern, and the values of its key, as text."""

    key: str
    shown: str


def fault_of_rows(batch: Sequence[Line], steps: Sequence[Sequence[Line]]) -> str | None:
    """What is wrong with what a stream gave of a row pattern."""
    places = {key: place for place, key in enumerate(dict.fromkeys(line.key for line in batch))}
    for step in steps:
        order = [places.get(line.key, -1) for line in step]
        if order != sorted(order):
            return f"a step has keys in another order than the batch: {step[:8]}"
    found = [line for step in steps for line in step]
    for key in dict.fromkeys(line.key for line in (*batch, *found)):
        fault = _differ([line for line in batch if line.key == key], [line for line in found if line.key == key])
        if fault is not None:
            return fault
    return None


def fault_of_events(batch: Sequence[Listed], steps: Sequence[Sequence[Listed]], *, in_time: bool) -> str | None:
    """What is wrong with what a stream gave of an event pattern; `in_time`: steps decide by when matches end."""
    places = {match.match_id: place for place, match in enumerate(batch)}
    found = [match for step in steps for match in step]
    if unknown := [match for match in found if match.match_id not in places]:
        return f"the batch has no {unknown[:3]}"
    for step in steps:
        if in_result_order(_in_batch_order(step, places)) != list(step):
            return f"a step is not in the order of a result: {step[:8]}"
    return _differ(batch, found if in_time else _in_batch_order(found, places))


def _in_batch_order(matches: Sequence[Listed], places: dict[int, int]) -> list[Listed]:
    return sorted(matches, key=lambda match: places[match.match_id])


def _differ(expected: Sequence[Line] | Sequence[Listed], found: Sequence[Line] | Sequence[Listed]) -> str | None:
    """Where two answers part."""
    if list(expected) == list(found):
        return None
    place = next((n for n, (one, other) in enumerate(zip(expected, found, strict=False)) if one != other), None)
    place = min(len(expected), len(found)) if place is None else place
    return (
        f"expected {len(expected)}, got {len(found)}; from number {place} on\n"
        f"  expected {list(expected[place : place + 3])}\n  got {list(found[place : place + 3])}"
    )
