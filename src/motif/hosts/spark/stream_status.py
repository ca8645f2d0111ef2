"""`motif.status(query)`: the counters of a stream, from what its operators report with every batch.

An operator reports the buckets that a batch has touched, in totals since the stream began; so after a restart a bucket
counts once it is touched. The last report of each bucket is kept, from a listener and from the query's own progress.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any
from weakref import WeakSet

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from motif.engine.stream.status import Status
from motif.errors import MotifError
from motif.hosts.spark.stream_worker import COUNTERS, MARK
from motif.plan.physical.plan import PhysicalPlan

PREFIX = "motif:"
MOST_QUERIES = 256
"""Queries of which the last reports are remembered."""
MOST_PLANS = 1024
"""Queries of which the plans are remembered: a DataFrame that nobody starts has one, too."""
Report = tuple[int, dict[str, Any]]
"""The number of a batch, and the counters of a bucket after it."""
Reports = dict[tuple[str, int], Report]
"""By operator and bucket."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HEARD: OrderedDict[str, Reports] = OrderedDict()
_AT_FIRST: OrderedDict[str, Callable[[], object]] = OrderedDict()
_PLANS: OrderedDict[str, PhysicalPlan] = OrderedDict()
_WATCHED: WeakSet[SparkSession] = WeakSet()


class _Listener(StreamingQueryListener):
    """Remembers what queries report."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        _hear(event.progress)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def at_first_report(operator: str, action: Callable[[], object]) -> None:
    """Do something once an operator has reported its first batch."""
    _AT_FIRST[operator] = action
    while len(_AT_FIRST) > MOST_QUERIES:
        _AT_FIRST.popitem(last=False)


def remember_plan(operator: str, plan: PhysicalPlan) -> None:
    """What an operator does once it runs."""
    _PLANS[operator] = plan
    while len(_PLANS) > MOST_PLANS:
        _PLANS.popitem(last=False)


def watch(session: SparkSession) -> None:
    """Listen to the queries of a session, once. On Connect a listener is a thread that ends with a warning."""
    if session not in _WATCHED and ".connect." not in type(session).__module__:
        _WATCHED.add(session)
        session.streams.addListener(_Listener())


def status(query: Any) -> Status:
    """See `motif.status`."""
    if not hasattr(query, "recentProgress"):
        raise MotifError(
            f"a {type(query).__name__} is not a running query",
            hint="give what .start() returned: query = motif.match(...).writeStream.start()",
        )
    recent = list(query.recentProgress)
    for progress in recent:
        _hear(progress)
    reports = _HEARD.get(str(query.runId), {})
    if not reports and any(_field(progress, "numInputRows") for progress in recent):
        raise MotifError(
            "the query reports no counters of Motif", hint="status is for queries whose DataFrame motif.match has made"
        )
    return replace(_merged(dict(reports)), plan=_plan(name for name, _ in reports))


def _plan(operators: Iterable[str]) -> PhysicalPlan | None:
    """The plan of the query whose matches come out; None where there are several."""
    found = [_PLANS[name] for name in dict.fromkeys(operators) if name in _PLANS]
    return found[0] if len(found) == 1 else None


def _hear(progress: Any) -> None:
    """Take in what one batch reported."""
    reports = _HEARD.setdefault(str(_field(progress, "runId")), {})
    batch = int(_field(progress, "batchId"))
    for name, row in (_field(progress, "observedMetrics") or {}).items():
        _AT_FIRST.pop(name, lambda: None)()
        for counters in _counters(row) if name.startswith(PREFIX) else ():
            known = reports.get((name, counters["bucket"]))
            if known is None or known[0] <= batch:
                reports[name, counters["bucket"]] = batch, counters
    while len(_HEARD) > MOST_QUERIES:
        _HEARD.popitem(last=False)


def _counters(value: Any) -> Iterator[dict[str, Any]]:
    """Counters of buckets, wherever they are: Connect hands the values of a row over in another shape."""
    if isinstance(value, str) and value.startswith(MARK):
        yield json.loads(value)
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _counters(part)


def _field(progress: Any, name: str) -> Any:
    return progress.get(name) if isinstance(progress, Mapping) else getattr(progress, name)


def _merged(reports: Reports) -> Status:
    """Of all operators: those of one `match` are a stack, others stand side by side."""
    operators: dict[str, list[dict[str, Any]]] = {}
    for (name, _), (_, counters) in reports.items():
        operators.setdefault(name, []).append(counters)
    stacks: dict[str, list[Status]] = {}
    for name in sorted(operators, key=lambda name: int(name.rpartition(":")[2])):
        stacks.setdefault(name.rpartition(":")[0], []).append(_of_operator(operators[name]))
    return reduce(_beside, (reduce(Status.and_also, stack) for stack in stacks.values()), Status())


def _of_operator(buckets: Iterable[dict[str, Any]]) -> Status:
    """The sum of its buckets; one that was silent for long has not heard how far time has come."""
    buckets = list(buckets)
    watermark = max((b["watermark"] for b in buckets if b["watermark"] is not None), default=None)
    latest = max((b["latest"] for b in buckets if b["latest"] is not None), default=None)
    behind = 0 if watermark is None or latest is None else max(latest - watermark, 0)
    sums = {name: sum(b[name] for b in buckets) for name in COUNTERS}
    until = None if watermark is None else _EPOCH + dt.timedelta(microseconds=watermark)
    return Status(**sums, watermark=until, lag_seconds=behind / 1e6)


def _beside(one: Status, other: Status) -> Status:
    sums = {name: getattr(one, name) + getattr(other, name) for name in COUNTERS}
    known = [status.watermark for status in (one, other) if status.watermark is not None]
    lag = max(one.lag_seconds, other.lag_seconds)
    return replace(one, **sums, watermark=min(known, default=None), lag_seconds=lag)
