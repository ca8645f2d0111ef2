"""What callers may have passed, whatever the annotations say: a good message is worth a check at run time."""

from __future__ import annotations

from types import EllipsisType

from motif.errors import MotifError


def is_whole(given: object, least: int = 0) -> bool:
    """Whether it is a whole number from `least` on; True and False are none."""
    return isinstance(given, int) and not isinstance(given, bool) and given >= least


def is_text(given: object) -> bool:
    """Whether it is a string that is not empty."""
    return isinstance(given, str) and bool(given)


def is_pair(given: object) -> bool:
    """Whether it is a tuple of two."""
    return isinstance(given, tuple) and len(given) == 2


def is_a(given: object, *kinds: type) -> bool:
    """Whether it is of one of these kinds."""
    return isinstance(given, kinds)


def bounds(low: int, high: int | EllipsisType | None) -> tuple[int, int | None]:
    """`times(low)`, `times(low, high)`, `times(low, None)`, checked."""
    most = low if isinstance(high, EllipsisType) else high
    for bound in (low, most):
        if bound is not None and not is_whole(bound):
            hint = "write times(5), times(2, 5) or times(5, None)"
            raise MotifError(f"{bound!r} is not a number of repetitions", hint=hint)
    if most == 0 or (most is not None and most < low):
        hint = "the smaller number comes first, and at least one must be allowed: times(2, 5)"
        raise MotifError(f"times({low}, {most}) allows no repetition", hint=hint)
    return low, most
