"""The counters of a followed stream since it began, over all runs of the command.

With every batch a stream reports the counters of those parts of its state that the batch has touched. `motif.status`
knows those of one run; what is known of the other parts from the runs before is kept in the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from motif.engine.stream.status import SUMS, Status

_PREFIX = "motif:"
Report = dict[str, Any]
"""What one part says of itself."""


class Counters:
    """The last report of every part of the state."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        self.batches = 0
        self.seconds = 0.0
        """What the last batch took."""
        self.reports: dict[str, Report] = {name: dict(r) for name, r in saved.items() if isinstance(r, dict)}
        """By `chain:operator:part`."""
        self._last = -1

    def read(self, query: Any) -> bool:
        """Take in what the query has done; whether there was something new."""
        last = query.lastProgress
        if last is None or not self._is_new(last):
            return False
        for progress in [last] if last["batchId"] == self._last + 1 else filter(self._is_new, query.recentProgress):
            self._note(progress)
        self._last = last["batchId"]
        return True

    def _is_new(self, progress: Mapping[str, Any]) -> bool:
        """Not noted yet, and a batch rather than a look at folders without news."""
        return progress["batchId"] > self._last and "addBatch" in progress["durationMs"]

    def _note(self, progress: Mapping[str, Any]) -> None:
        self.batches += 1
        self.seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        observed = {tuple(name.split(":")[1:]): row for name, row in _observed(progress) if name.startswith(_PREFIX)}
        chains = list(dict.fromkeys(chain for chain, _ in observed))
        for (chain, operator), row in observed.items():
            for part, report in _reports(row):  # the name of a chain is another one in every run
                self.reports[f"{chains.index(chain)}:{operator}:{part}"] = report

    @property
    def status(self) -> Status:
        """Of all parts: operators of a chain build on each other, chains stand side by side."""
        chains: dict[str, dict[int, list[Report]]] = {}
        for name, report in self.reports.items():
            chain, operator, _ = name.split(":")
            chains.setdefault(chain, {}).setdefault(int(operator), []).append(report)
        stacks = [
            reduce(Status.and_also, (_sum(parts) for _, parts in sorted(stack.items()))) for stack in chains.values()
        ]
        return reduce(_beside, stacks, Status())


def _observed(progress: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from (progress["observedMetrics"] or {}).items()


def _reports(row: Any) -> Iterator[tuple[int, Report]]:
    values = list(row.values()) if isinstance(row, Mapping) else list(row)
    for part, text in enumerate(values):
        if text is not None:
            yield part, json.loads(text)


def _sum(parts: list[Report]) -> Status:
    latest, watermark = (_last(parts, name) for name in ("latest", "watermark"))
    behind = latest - watermark if latest is not None and watermark is not None else 0
    return Status(**{name: sum(part.get(name, 0) for part in parts) for name in SUMS}, lag_seconds=max(behind, 0) / 1e6)


def _last(parts: list[Report], name: str) -> int | None:
    return max((part[name] for part in parts if part.get(name) is not None), default=None)


def _beside(one: Status, other: Status) -> Status:
    sums = {name: getattr(one, name) + getattr(other, name) for name in SUMS}
    return Status(**sums, lag_seconds=max(one.lag_seconds, other.lag_seconds))
