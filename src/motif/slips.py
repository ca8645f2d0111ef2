"""Slips: what a query may say, but hardly means. Told as warnings, collected by `check`, errors where one is strict.

Whoever finds a slip calls `tell`; who listens is a matter of the call that is running.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from inspect import currentframe

from motif.errors import MotifWarning

MOST_TOLD = 1000
"""Slips that are remembered, so that they are not told again."""
_HERE = __file__.removesuffix("slips.py")
_TOLD: dict[tuple[str, str], None] = {}
"""Query texts and slips, in the order in which they were told."""


def tell(slip: MotifWarning) -> None:
    """Let the caller know: by a warning at the line that called Motif, unless it listens otherwise."""
    _listener.get()(slip)


@contextmanager
def listening(listener: Callable[[MotifWarning], None]) -> Iterator[None]:
    """Slips go to `listener` for now."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def told(*, strict: bool) -> AbstractContextManager[None]:
    """Slips are errors if `strict`; else whoever listens already goes on to."""
    return listening(_refuse) if strict else nullcontext()


def _refuse(slip: MotifWarning) -> None:
    raise slip.as_error()


def _warn(slip: MotifWarning) -> None:
    """Once for each slip of a query text; every time where Python's filters ask for it, as `pytest.warns` does."""
    key = slip.source or "", str(slip)
    if key in _TOLD and not _always():
        return
    warnings.warn(slip, stacklevel=_level())
    _TOLD[key] = None
    for oldest in list(_TOLD)[:-MOST_TOLD]:
        _TOLD.pop(oldest, None)


def _always() -> bool:
    """Whether the first filter for all of our warnings says `always`."""
    actions = (
        action
        for action, text, kind, module, _ in warnings.filters
        if text is None and module is None and issubclass(MotifWarning, kind)
    )
    return next(actions, "default") == "always"


def _level() -> int:
    """The `stacklevel` at which `_warn` reaches the caller of Motif."""
    frame, level = currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


_listener: ContextVar[Callable[[MotifWarning], None]] = ContextVar("listener", default=_warn)
