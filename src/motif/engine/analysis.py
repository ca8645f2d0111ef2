"""The runs of all queries of one statement or stack, as somebody follows them who asked what they do."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from motif.engine.execution import Execution
from motif.engine.ledger import Ledger
from motif.plan.physical.planned import PlannedQuery
from motif.plan.physical.ran import Ran, Total

_PEAK, _RESET, _NOW = "VmHWM:", "5", "VmRSS:"


class Analysis:
    """What was run while this was entered."""

    def __init__(self) -> None:
        self.around = Ledger()
        """What is done around the queries."""
        self._runs: list[tuple[Execution, Ledger, Mapping[str, Callable[..., Any]]]] = []
        self._seconds = 0.0
        self._peak: int | None = None

    def follow(self, execution: Execution, functions: Mapping[str, Callable[..., Any]] | None = None) -> None:
        """Write down what this run does, which is the next one."""
        ledger = Ledger()
        execution.ledger = ledger
        self._runs.append((execution, ledger, functions or {}))

    def __enter__(self) -> Self:
        with suppress(OSError):  # from here on the system keeps the highest mark anew
            Path("/proc/self/clear_refs").write_text(_RESET, encoding="ascii")
        self._before = _memory(_NOW)
        self._highest = _memory(_PEAK)
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._seconds = time.perf_counter() - self._begun
        before, peak = self._before, _memory(_PEAK)
        if before is not None and peak is not None and self._highest is not None:
            # Where the mark could not be set back, it tells only if it rose.
            was_set_back = self._highest <= before + before // 64
            self._peak = max(peak - before, 0) if was_set_back or peak > self._highest else None

    def queries(self) -> list[PlannedQuery]:
        """Each query with the plan that it began with, and what it did."""
        return [
            PlannedQuery(
                execution.program,
                execution.planned,
                functions,
                Ran(execution.ran, execution.changes, ledger.counted(), execution.estimates, ledger.levels()),
            )
            for execution, ledger, functions in self._runs
        ]

    @property
    def total(self) -> Total:
        """All of them together."""
        return Total(self._seconds, self._peak, self.around.counted())


def _memory(name: str) -> int | None:
    """A line of what Linux says of this process, in bytes."""
    if not sys.platform.startswith("linux"):
        return None
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None
