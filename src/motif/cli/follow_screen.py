"""What is seen of a followed stream: matches as they come, and the counters below them."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import pyarrow as pa
from rich.live import Live
from rich.text import Text

from motif.cli import screen
from motif.cli.files import json_lines
from motif.engine.stream.status import Status

_QUIET_S = 10.0
"""Where nobody watches, counters are written no more often than this."""


class Screen:
    """Matches go to standard output: as a table on a terminal, else as JSON lines; all else stands beside them.

    On a terminal the last line has the counters. If standard output is another place, it is on standard error.
    """

    def __init__(self, limit: int, *, with_timeouts: bool) -> None:
        self.rows = 0
        self._limit = limit
        self._with_timeouts = with_timeouts
        self._out = screen.console()
        err = screen.console(stderr=True)
        self._beside = self._out if self._out.is_terminal else err
        self._live = Live(console=self._beside, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._widths: list[int] = []
        self._shown, self._shown_at = "", time.monotonic()

    def __enter__(self) -> Self:
        if self._beside.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.transient = True
        self._live.stop()

    def note(self, text: str) -> None:
        """One line beside the matches."""
        self._beside.print(Text(text), soft_wrap=True)

    def matches(self, table: pa.Table) -> None:
        """Rows of one batch."""
        if not table.num_rows:
            return
        if not self._out.is_terminal:
            for line in json_lines(table):
                sys.stdout.write(line + "\n")
            sys.stdout.flush()
        elif screen.holds_events(table):
            screen.show_records(self._out, table, self._limit, self.rows)
        else:
            self._widths = self._widths or [0] * table.num_columns
            screen.show_more_rows(self._out, table, self._limit, self._widths)
        self.rows += table.num_rows
        if self._out.is_terminal and (hidden := max(table.num_rows - self._limit, 0)):
            self.note(f"{hidden:,} more of this batch not shown (--limit shows more, --output writes all)")

    def busy(self, text: str) -> None:
        """What is going on, until there are counters."""
        if self._beside.is_terminal:
            self._live.update(Text(text, style="dim", no_wrap=True, overflow="ellipsis"), refresh=True)

    def status(self, status: Status, seconds: float) -> None:
        """The counters, and how long the last batch took."""
        text = status_line(status, seconds, with_timeouts=self._with_timeouts)
        self.busy(text)
        if not self._beside.is_terminal and text != self._shown and time.monotonic() - self._shown_at > _QUIET_S:
            self.note(text)
            self._shown, self._shown_at = text, time.monotonic()


def status_line(status: Status, seconds: float, *, with_timeouts: bool) -> str:
    """Counters in one line: partial matches that ran out of time if they are asked for, mishaps if there were some."""
    counts = {"events": status.events, "matches": status.matches, "late": status.late}
    counts |= {"timed out": status.timed_out} if with_timeouts else {}
    counts |= {name: count for name, count in _mishaps(status).items() if count} | {"live": status.live}
    parts = [f"{name} {count:,}" for name, count in counts.items()]
    parts += [f"state {_size(status.state_bytes)}", f"lag {_duration(status.lag_seconds)}", f"batch {seconds:.1f} s"]
    return " · ".join(parts)


def _mishaps(status: Status) -> dict[str, int]:
    return {"without time": status.without_time, "failed": status.failed, "over a limit": status.limited}


def totals(status: Status) -> str:
    """Counters in one sentence."""
    parts = [f"{status.events:,} event{'' if status.events == 1 else 's'}"]
    parts.append(f"{status.matches:,} match{'' if status.matches == 1 else 'es'}")
    others = {"late": status.late, "timed out": status.timed_out, **_mishaps(status)}
    return ", ".join([*parts, *(f"{count:,} {name}" for name, count in others.items() if count)])


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"
