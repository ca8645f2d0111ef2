"""What is seen: the result as a table, progress, one closing line."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import TracebackType
from typing import Self

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

_PATIENCE_S = 1.0
_WIDE = 100_000


def console(*, stderr: bool = False) -> Console:
    """Plain unless it is a terminal; nothing in a text is markup. A pipe gets lines as long as they need to be."""
    found = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    return (
        found if found.is_terminal else Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=_WIDE)
    )


def show_table(table: pa.Table, limit: int) -> None:
    """The first rows, and how many are not shown."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        shown.add_column(Text(printable(field.name)), justify="right" if number else "left", no_wrap=True)
    for row in table.slice(0, limit).to_pylist(maps_as_pydicts=None) if table.num_columns else []:
        shown.add_row(*(_cell(row[name]) for name in table.column_names))
    console().print(shown)
    hidden = max(table.num_rows - limit, 0)
    if hidden:
        note = f"{hidden:,} more row{'' if hidden == 1 else 's'} not shown (--limit shows more, --output writes all)"
        console().print(note)


def _cell(value: object) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    if isinstance(value, bool):
        return Text(str(value).lower())
    if isinstance(value, pa.MonthDayNano):
        return Text(_interval(value))
    return Text(printable(value.hex() if isinstance(value, bytes) else str(value)))


def _interval(value: pa.MonthDayNano) -> str:
    """A length of time as people write it, for example `2 days 0:01:30`."""
    parts = [f"{value.months} months"] if value.months else []
    parts += [f"{value.days} days"] if value.days else []
    time = timedelta(microseconds=abs(value.nanoseconds) // 1_000)
    if time or not parts:
        parts.append(f"{'-' if value.nanoseconds < 0 else ''}{time}")
    return " ".join(parts)


def printable(text: str) -> str:
    """The text with control characters spelled out, so that data cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def show_line(text: str) -> None:
    """One line beside the result, on standard error."""
    console(stderr=True).print(text)


def show_error(text: str) -> None:
    """A message for the user; carets in it stay where they are."""
    err = console(stderr=True)
    err.print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)


class Waiting:
    """A spinner with a count of rows, on a terminal, if it takes longer than a second."""

    def __init__(self, what: str) -> None:
        self.rows = 0
        self._what = what
        err = console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task(what, total=None)
        self._lock = threading.Lock()
        self._is_over = False
        self._timer = threading.Timer(_PATIENCE_S, self._start)
        self._timer.daemon = True

    def advance(self, rows: int) -> None:
        """So many more rows were matched."""
        self.rows += rows
        self._progress.update(self._task, description=f"{self._what}, {self.rows:,} rows")

    def _start(self) -> None:
        with self._lock:
            if not self._is_over:
                self._progress.start()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            self._progress.stop()


def summary(rows_in: int, rows_out: int, seconds: float) -> str:
    """The closing line."""
    speed = f", {rows_in / seconds:,.0f} rows/s" if rows_in and seconds > 0 else ""
    return f"{rows_in:,} rows in, {rows_out:,} rows out, {seconds:.2f} s{speed}"
