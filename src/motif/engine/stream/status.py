"""What a stream has done and what it keeps: for people, and for Prometheus."""

from __future__ import annotations

import datetime as dt
from dataclasses import Field, dataclass, field, fields, replace

from motif.engine.stream.session import StreamSession
from motif.engine.watermark import BEGINNING, FOREVER
from motif.plan.physical.plan import PhysicalPlan

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Status:
    """Counters of one query since it began, and what it holds now."""

    events: int = 0
    """Events taken in."""
    matches: int = 0
    """Matches given out."""
    timed_out: int = 0
    """Partial matches whose time was over (counted if `emit` asks for them)."""
    late: int = 0
    """Events that came after the watermark and were not used."""
    without_time: int = 0
    """Events set aside because they have no time."""
    failed: int = 0
    """Events left out because a function of the user failed on them."""
    limited: int = 0
    """Events let go because their partition reached a limit."""
    live: int = 0
    """Events that may still be part of a match."""
    waiting: int = 0
    """Events whose place in the order is not known yet."""
    state_bytes: int = 0
    watermark: dt.datetime | None = None
    """All events up to here have come."""
    lag_seconds: float = 0.0
    """How far the watermark, and with it what is decided, is behind the latest event."""
    plan: PhysicalPlan | None = field(default=None, compare=False, repr=False)
    """How the last query of a stream on Spark runs, once it has reported a batch; None where several run as one."""

    @classmethod
    def of(cls, session: StreamSession, ticks: int) -> Status:
        """Of one session; `ticks`: its units of time per microsecond."""
        session.patterns.prune(session.watermark)  # what no match can have any more does not count
        kept, known = session.patterns.kept.table, session.watermark > BEGINNING
        tables = [*session.pending.tables, *([] if kept is None else [kept])]
        behind = session.latest - session.watermark if known and session.watermark < FOREVER else 0
        return cls(
            events=session.counts.events,
            matches=session.counts.matches,
            timed_out=session.counts.timed_out,
            late=session.counts.late,
            without_time=session.counts.without_time,
            failed=session.counts.failed,
            limited=session.counts.limited,
            live=session.patterns.live,
            waiting=sum(table.num_rows for table in session.pending.tables),
            state_bytes=sum(table.nbytes for table in tables),
            watermark=_moment(session.watermark // ticks) if known and session.watermark < FOREVER else None,
            lag_seconds=max(behind, 0) / ticks / 1e6,
        )

    def and_also(self, last: Status) -> Status:
        """Of a stack: events by its first query, matches by its last, what is kept by all."""
        return replace(
            self,
            matches=last.matches,
            timed_out=last.timed_out,
            live=self.live + last.live,
            state_bytes=self.state_bytes + last.state_bytes,
        )

    def __str__(self) -> str:
        rows = [(one.name.replace("_", " "), getattr(self, one.name)) for one in _shown_fields()]
        return "\n".join(f"{name:<14}{_shown(value):>16}" for name, value in rows)

    def prometheus(self, name: str = "motif", **labels: str) -> str:
        """The text that Prometheus scrapes; `labels` say of which query it is."""
        shown = ",".join(f'{key}="{_escaped(value)}"' for key, value in sorted(labels.items()))
        where = f"{{{shown}}}" if shown else ""
        lines = []
        for one in _shown_fields():
            value = getattr(self, one.name)
            if isinstance(value, dt.datetime):
                value = value.timestamp()
            if value is None:
                continue
            metric, kind = f"{name}_{one.name}", "counter" if one.name in _COUNTERS else "gauge"
            metric += "_total" if kind == "counter" else "_timestamp_seconds" if one.name == "watermark" else ""
            lines += [f"# TYPE {metric} {kind}", f"{metric}{where} {value}"]
        return "\n".join(lines) + "\n"


_COUNTERS = frozenset({"events", "matches", "timed_out", "late", "without_time", "failed", "limited"})
SUMS = tuple(one.name for one in fields(Status) if one.name not in ("watermark", "lag_seconds", "plan"))
"""What is summed over the parts of a stream."""


def _shown_fields() -> tuple[Field[object], ...]:
    return tuple(one for one in fields(Status) if one.name != "plan")


def _moment(microseconds: int) -> dt.datetime | None:
    try:
        return _EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _shown(value: object) -> str:
    match value:
        case None:
            return "-"
        case dt.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case float():
            return f"{value:,.3f}"
        case _:
            return f"{value:,}"
