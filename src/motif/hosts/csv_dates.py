"""Dates in CSV files that can be read in two ways: `03/01/2026` is taken day first, without a word, by the host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from motif.errors import MotifWarning
from motif.hosts.given_files import Files

SAMPLE = 20_480
"""Rows from which DuckDB tells the format of a file."""
_BEGINNING = 1 << 16
"""Bytes of a file that are looked at before DuckDB is asked."""
_DAY_OR_MONTH_FIRST = re.compile(rb"\b\d{1,2}([/.-])\d{1,2}\1\d{2,4}\b")
Ask = Callable[[str], list[Any]]
"""Rows that DuckDB gives for a query of ours."""


def ambiguous_dates(ask: Ask, view: str, files: Files) -> list[MotifWarning]:
    """What to say of a CSV file that `view` (a name in quotes) shows."""
    return list(_ambiguous_dates(ask, view, files)) if _may_have_such(files.paths[0]) else []


def _may_have_such(path: str) -> bool:
    """Whether something like them is at the beginning of the file, or it cannot be looked at."""
    file = Path(path)
    if not file.is_file() or file.suffix in (".gz", ".zst"):
        return True
    with file.open("rb") as opened:
        return _DAY_OR_MONTH_FIRST.search(opened.read(_BEGINNING)) is not None


def _ambiguous_dates(ask: Ask, view: str, files: Files) -> Iterator[MotifWarning]:
    path = files.paths[0]
    [(date, timestamp, columns)] = ask(f"SELECT DateFormat, TimestampFormat, Columns FROM {files.sniffed}")
    forms = {"DATE": ("dates", date), "TIMESTAMP": ("times", timestamp)}
    for name, kind in ((column["name"], column["type"]) for column in columns):
        option, form = forms.get(kind, ("", None))
        if not form or not form.startswith(("%d", "%-d", "%m", "%-m")):
            continue
        column = '"' + name.replace('"', '""') + '"'
        first = "first(moment) FILTER (WHERE day(moment) <> month(moment))"
        [(is_either, written, read)] = ask(
            f"SELECT bool_and(day(moment) <= 12), strftime({first}, '{form}'), strftime({first}, '%-d %B %Y') "
            f"FROM (SELECT {column} AS moment FROM {view} WHERE {column} IS NOT NULL LIMIT {SAMPLE})"
        )
        if is_either and written is not None:
            order = "day" if form.lstrip("%-").startswith("d") else "month"
            yield MotifWarning(
                f"dates in column {name} of {path} can be read in two ways: {written} is read {order} first, as {read}",
                hint=f"say which it is: {option}={form}, in --csv on the command line, in motif.files(...) in Python",
            )
