"""The answer of `motif run`: asked for, shown or written, and summed up."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motif.cli import follow_options as following
from motif.cli import screen
from motif.cli.files import STANDARD_OUTPUT, print_table, rows_of, write_table
from motif.hosts.given_files import Files
from motif.lang.snoop import is_event_query
from motif.options import EventOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and what it took."""

    table: pa.Table
    rows_in: int
    seconds: float
    of_events: bool = False

    def summary(self) -> str:
        word = screen.events_summary if self.of_events else screen.summary
        return word(self.rows_in, self.table.num_rows, self.seconds)


def answered(
    text: str, tables: dict[str, Files], options: EventOptions, strategy: str | None, *, on_spark: bool
) -> Answer:
    """The answer to a query of either language."""
    if is_event_query(text):
        return _events(text, tables, options, strategy, on_spark=on_spark)
    options.refuse_for_rows()
    return _on_spark(text, tables, strategy) if on_spark else _in_process(text, tables, strategy)


def give(answer: Answer, output: Path | None, form: following.FileFormat | None, limit: int) -> None:
    """Write the result or print it, and say what was done."""
    written_to = None if output == STANDARD_OUTPUT else output
    if written_to is not None:
        write_table(answer.table, written_to)
    elif (shape := following.printed_as(form, to_pipe=output == STANDARD_OUTPUT or not sys.stdout.isatty())) is None:
        screen.show_table(answer.table, limit)
    else:
        print_table(answer.table, shape)
    screen.show_line(answer.summary())
    if written_to is not None:
        screen.show_line(
            f"wrote {written_to}: {answer.table.num_rows:,} row{'' if answer.table.num_rows == 1 else 's'}"
        )


def _events(
    text: str, tables: dict[str, Files], options: EventOptions, strategy: str | None, *, on_spark: bool
) -> Answer:
    from motif.cli import events

    run_events = events.run_on_spark if on_spark else events.run_in_process
    return Answer(*run_events(text, tables, options, strategy), of_events=True)


def _in_process(text: str, tables: dict[str, Files], strategy: str | None) -> Answer:
    from motif import api

    begin = time.perf_counter()
    with screen.Waiting("matching", rows_of(tables)) as waiting:
        table = api.sql(text, tables=tables, spark=None, strategy=strategy, progress=waiting.advance)
    return Answer(table, waiting.rows, time.perf_counter() - begin)


def _on_spark(text: str, tables: dict[str, Files], strategy: str | None) -> Answer:
    from motif import api
    from motif.cli.on_spark import collected, spark_with

    with screen.Waiting("running on Spark"), spark_with(tables) as session:
        begin = time.perf_counter()
        table = collected(api.sql(text, tables=None, spark=session, strategy=strategy))
        seconds = time.perf_counter() - begin
        rows_in = sum(session.table(f"`{name.replace('`', '``')}`").count() for name in tables)
    return Answer(table, rows_in, seconds)


def write_report(path: Path, text: str, tables: dict[str, Files], options: EventOptions) -> None:
    """A page that draws the matches."""
    from motif import api
    from motif.cli import events

    with screen.Waiting("writing the report"):
        data = events.inputs(tables, events.parsed(text)) if is_event_query(text) else tables
        api.show(text, data, options, "Matches").save(path)
    screen.show_line(f"report: {path}")
