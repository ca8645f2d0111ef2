"""Row expressions over a few rows, one row after the other."""

from __future__ import annotations

from typing import Any


def columns(
    count: int,
    values: Any,  # noqa: ARG001 - all of these are read by the generated statements
    flags: Any,  # noqa: ARG001
    ki: Any,  # noqa: ARG001
    kf: Any,  # noqa: ARG001
    out: Any,  # noqa: ARG001
    nulls: Any,  # noqa: ARG001
) -> None:
    """Append to out[n] and nulls[n] the values of expression n; `values` and `flags` are the columns they read.

    Only ever run as plain Python, so a text is itself and needs no code.
    """
    # <prologue>
    for row in range(count):  # noqa: B007
        # <values>
        pass
