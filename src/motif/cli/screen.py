"""What is seen: the result as a table, progress, one closing line."""

from __future__ import annotations

import contextlib
import textwrap
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

from motif.errors import MotifWarning
from motif.slips import listening

_PATIENCE_S = 1.0
_WIDE = 100_000


def console(*, stderr: bool = False) -> Console:
    """Plain unless it is a terminal; nothing in a text is markup. A pipe gets lines as long as they need to be."""
    found = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    return (
        found if found.is_terminal else Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=_WIDE)
    )


def show_table(table: pa.Table, limit: int) -> None:
    """The first rows, and how many are not shown; rows with whole events in them one below the other."""
    out = console()
    if not holds_events(table):
        out.print(_grid(table, limit, [0] * table.num_columns))
    elif table.num_rows:
        show_records(out, table, limit)
    else:
        out.print("no matches")
    hidden = max(table.num_rows - limit, 0)
    if hidden:
        note = f"{hidden:,} more row{'' if hidden == 1 else 's'} not shown (--limit shows more, --output writes all)"
        out.print(note)


def show_more_rows(out: Console, table: pa.Table, limit: int, widths: list[int]) -> None:
    """Rows below those shown before; a line with names where the columns had to become wider than `widths`."""
    rows = table.slice(0, limit).to_pylist(maps_as_pydicts=None)
    needed = [
        max(before, len(printable(name)), *(len(_cell(row[name]).plain) for row in rows))
        for name, before in zip(table.column_names, widths, strict=True)
    ]
    grid = _grid(table, limit, needed)
    grid.show_edge, grid.show_header = False, needed != widths
    widths[:] = needed
    out.print(grid)


def _grid(table: pa.Table, limit: int, widths: list[int]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for field, width in zip(table.schema, widths, strict=True):
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        grid.add_column(
            Text(printable(field.name)), justify="right" if number else "left", no_wrap=True, min_width=width or None
        )
    for row in table.slice(0, limit).to_pylist(maps_as_pydicts=None) if table.num_columns else []:
        grid.add_row(*(_cell(row[name]) for name in table.column_names))
    return grid


def holds_events(table: pa.Table) -> bool:
    """Whether a column has whole events in it, or lists of them."""
    return any(_is_event(field.type) for field in table.schema)


def _is_event(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return bool(pa.types.is_struct(inner))


def show_records(out: Console, table: pa.Table, limit: int, before: int = 0) -> None:
    """`SELECT *`: a name and a value per line; an event is one line. So many were shown `before`."""
    indent = max(len(printable(name)) for name in table.column_names) + 5
    for number, row in enumerate(table.slice(0, limit).to_pylist(maps_as_pydicts=None), before + 1):
        out.print(Text(f"{number}.", style="bold"))
        for name, value in row.items():
            label = f"  {printable(name)}"
            for event in value if isinstance(value, list) and value else [value]:
                lines = textwrap.wrap(_cell(event).plain, max(out.width - indent, 20)) or [""]
                for line in lines:
                    out.print(Text(f"{label:<{indent}}{line}"), soft_wrap=True)
                    label = ""


def _cell(value: object) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(printable(_text(value)))


def _text(value: object) -> str:
    """A value as people write it, also inside of events and lists."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case bytes():
            return value.hex()
        case pa.MonthDayNano():
            return _interval(value)
        case dict():
            return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case _:
            return str(value)


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
    """A spinner with a count of rows, on a terminal, if it takes longer than a second; `total`: rows to come."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.rows = 0
        self._total = total
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
        share = f" ({min(self.rows / self._total, 1):.0%})" if self._total else ""
        self._progress.update(self._task, description=f"{self._what}, {self.rows:,} rows{share}")

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


def showing_warnings() -> contextlib.AbstractContextManager[None]:
    """What Motif warns of is shown once, like an error."""
    seen: set[str] = set()

    def show(slip: MotifWarning) -> None:
        if (text := str(slip)) not in seen:
            seen.add(text)
            show_warning(text)

    return listening(show)


def show_warning(text: str) -> None:
    """A message about what may not be meant."""
    console(stderr=True).print(Text.assemble(("warning: ", "bold yellow"), text), soft_wrap=True)


def summary(rows_in: int, rows_out: int, seconds: float) -> str:
    """The closing line."""
    speed = f", {rows_in / seconds:,.0f} rows/s" if rows_in and seconds > 0 else ""
    counts = (f"{count:,} row{'' if count == 1 else 's'} {way}" for count, way in ((rows_in, "in"), (rows_out, "out")))
    return f"{', '.join(counts)}, {seconds:.2f} s{speed}"


def events_summary(candidates: int, matches: int, seconds: float) -> str:
    """The closing line of an event query: events that no variable can take stay where they are."""
    speed = f", {candidates / seconds:,.0f} events/s" if candidates and seconds > 0 else ""
    plural = "" if matches == 1 else "es"
    events = f"{candidates:,} candidate event{'' if candidates == 1 else 's'}"
    return f"{events}, {matches:,} match{plural}, {seconds:.2f} s{speed}"
