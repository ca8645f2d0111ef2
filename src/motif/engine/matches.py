"""Matches of row patterns, as the loop finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motif.engine.arrays import Array


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches in the order found; `offsets` delimit each one's labels (states of the automaton)."""

    start: Array
    end: Array
    number: Array
    segment: Array
    labels: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.start)

    def part(self, first: int, last: int) -> Matches:
        """Some that were found one after the other."""
        here, low, high = slice(first, last), int(self.offsets[first]), int(self.offsets[last])
        columns = (self.start[here], self.end[here], self.number[here], self.segment[here])
        return Matches(*columns, self.labels[low:high], self.offsets[first : last + 1] - low)

    @classmethod
    def joined(cls, parts: Sequence[Matches]) -> Matches:
        """Those of one part after those of another."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return no_matches()
        names = ("start", "end", "number", "segment", "labels")
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        before = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        offsets = [part.offsets[:-1] + low for part, low in zip(parts, before[:-1], strict=True)]
        columns.append(np.concatenate([*offsets, before[-1:]]))
        return cls(*columns)


def no_matches() -> Matches:
    """None at all."""
    nothing = np.zeros(0, np.int64)
    return Matches(nothing, nothing, nothing, nothing, np.zeros(0, np.int32), np.zeros(1, np.int64))
