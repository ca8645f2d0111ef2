"""The commands. Engines are imported inside of them, so that `motif --help` is quick."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from motif.cli import answers, screen
from motif.cli import follow_options as following
from motif.cli.events import event_options
from motif.cli.files import (
    check_folder,
    check_output,
    how_read,
    read_query,
    table_files,
    table_paths,
    write_text,
)
from motif.errors import Diagnostic, MotifError, shown
from motif.hosts.given_files import Files
from motif.lang.snoop import is_event_query
from motif.options import EventOptions
from motif.slips import told

if TYPE_CHECKING:
    from motif.explanation import Explanation

FINE, OURS, THEIRS, STOPPED = 0, 1, 2, 130
_SAME_SIGNAL_S = 0.5


class Host(StrEnum):
    """The engine around the matching."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class Format(StrEnum):
    """How a plan is written."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"
    HTML = "html"


class _Guarded(TyperGroup):
    """Every command ends with one of four exit codes and, unless it went well, one message."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with screen.showing_warnings():
                return super().invoke(ctx)
        except MotifError as error:
            screen.show_error(str(error))
            raise typer.Exit(THEIRS) from None
        except KeyboardInterrupt:
            screen.show_line("stopped")
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            if hasattr(error, "exit_code"):  # typer's own: a wrong option, or the end of a command
                raise
            _show_unexpected(error, with_trace=bool(ctx.params.get("debug")))
            raise typer.Exit(OURS) from None


def _show_unexpected(error: Exception, *, with_trace: bool) -> None:
    if with_trace:
        typer.echo(traceback.format_exc(), err=True)
    first = (str(error).strip().splitlines() or [""])[0]
    screen.show_error(
        f"this is a mistake in Motif, not in your query: {type(error).__name__}: {shown(first)}\n"
        "  please report it with the query and what `motif version` prints; --debug shows where it happened"
    )


app = typer.Typer(
    cls=_Guarded,
    help="Find patterns in tables of events, with SQL MATCH_RECOGNIZE or the event language.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Query = Annotated[
    str, typer.Argument(metavar="QUERY", help="A file with the query, or its text; - for standard input.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        "-t",
        metavar="NAME=PATH",
        help="Parquet, CSV or JSON as a table: a file, a folder, 'a pattern*', - for standard input. May be repeated.",
    ),
]
CsvOptions = Annotated[
    str | None,
    typer.Option("--csv", metavar="OPTIONS", help="How CSV files are written, such as 'delimiter=;,decimal=,'."),
]
HostOption = Annotated[Host, typer.Option("--host", help="The engine around the matching.")]
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help="How to match, instead of what `motif explain` shows.")
]
TimeColumn = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="Event queries: when an event was.  [default: ts]")
]
TypeColumn = Annotated[
    str | None, typer.Option("--type", metavar="COLUMN", help="Event queries: the class of an event.  [default: type]")
]
OrderBy = Annotated[
    list[str] | None,
    typer.Option("--order-by", metavar="COLUMN", help="Event queries: orders events of equal time. May be repeated."),
]
FunctionsOption = Annotated[
    str | None,
    typer.Option("--functions", metavar="FILE.py", help="Event queries: a Python file or module with functions."),
]


def _listen(context: typer.Context, strict: bool) -> bool:
    context.with_resource(told(strict=strict))
    return strict


Strict = Annotated[bool, typer.Option("--strict", help="Likely slips are errors, not warnings.", callback=_listen)]


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point; `--debug` may stand anywhere."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--debug" in arguments:
        arguments = ["--debug", *(argument for argument in arguments if argument != "--debug")]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    before = signal.getsignal(signal.SIGINT)
    is_ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, _Interrupt())
    try:
        app(arguments, prog_name="motif")
    except KeyboardInterrupt:
        screen.show_line("stopped")
        sys.exit(STOPPED)
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, before)


class _Interrupt:
    """Ctrl-C: the first ends the command in order; one that comes later ends it at once, whatever still works."""

    def __init__(self) -> None:
        self.first: float | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = now
            raise KeyboardInterrupt
        if now - self.first > _SAME_SIGNAL_S:  # a shell and what runs in it may both pass on the same one
            os._exit(STOPPED)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a mistake in Motif itself.")] = False,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    del debug, version  # _Guarded and _print_version read them


# -- run ------------------------------------------------------------------------------------------------


@app.command()
def run(
    query: Query,
    table: Tables = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            "-o",
            help="Write the result: .parquet, .csv, .tsv, .json or .jsonl, also .gz; - prints.",
        ),
    ] = None,
    csv: CsvOptions = None,
    host: HostOption = Host.DUCKDB,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page that draws the matches: .html.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Rows shown on the screen.")] = 20,
    time_column: TimeColumn = None,
    type_column: TypeColumn = None,
    order_by: OrderBy = None,
    functions: FunctionsOption = None,
    follow: following.Follow = False,
    lateness: following.Lateness = None,
    emit: following.Emit = None,
    checkpoint: following.Checkpoint = None,
    trigger: following.Trigger = None,
    once: following.Once = False,
    form: following.Form = None,
    columns: following.Columns = None,
    on_error: following.OnErrorOption = None,
    strict: Strict = False,
    strategy: StrategyOption = None,
) -> None:
    """Answer a query over files; show the result or write it to a file."""
    del strict  # `_listen` reads it
    text, paths = read_query(query), table_paths(table or [])
    options = event_options(time_column, type_column, order_by, functions)
    live = following.FollowOptions(lateness, emit, checkpoint, trigger, once, form, columns, on_error)
    if follow:
        following.refuse_with_follow(on_spark=host is Host.SPARK, report=report, output=output, limit=limit)
        from motif.cli import follow as stream

        stream.follow(stream.Task(text, paths, options, live, output, limit, strategy))
        return
    live.refuse_for_tables()
    tables = table_files(paths, csv)
    if output is not None:
        check_output(output)
    if report is not None:
        check_folder(report)
    answers.give(answers.answered(text, tables, options, strategy, on_spark=host is Host.SPARK), output, form, limit)
    if report is not None:
        answers.write_report(report, text, tables, options)


# -- check ----------------------------------------------------------------------------------------------


@app.command()
def check(
    query: Query,
    table: Tables = None,
    csv: CsvOptions = None,
    host: HostOption = Host.DUCKDB,
    time_column: TimeColumn = None,
    type_column: TypeColumn = None,
    order_by: OrderBy = None,
    functions: FunctionsOption = None,
    strict: Strict = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Also read the rows: classes that no event has, conditions that none meets.")
    ] = False,
) -> None:
    """Say everything that is wrong with a query, and likely slips, reading rows with --rows only."""
    text, tables = read_query(query), table_files(table_paths(table or []), csv)
    found = _mistakes(text, tables, host, event_options(time_column, type_column, order_by, functions), rows=rows)
    for number, diagnostic in enumerate(found):
        label = "warning: " if diagnostic.severity == "warning" else ""
        typer.echo(f"{'' if number == 0 else chr(10)}{label}{diagnostic}")
    if any(diagnostic.severity == "error" or strict for diagnostic in found):
        raise typer.Exit(THEIRS)
    names = ", ".join(tables)
    checked = (
        f"the text, and names and types against {names}" if tables else "the text only; --table checks names and types"
    )
    typer.echo(f"{chr(10) if found else ''}no mistakes found (checked: {checked})")
    for line in how_read(tables):
        typer.echo(line)


def _mistakes(
    text: str, tables: dict[str, Files], host: Host, options: EventOptions, *, rows: bool
) -> list[Diagnostic]:
    from motif import api

    if rows and not tables:
        raise MotifError("--rows reads the rows of tables, and there are none", hint="name a file: --table name=path")
    if is_event_query(text):
        from motif.cli import events

        return events.mistakes(text, tables, options, on_spark=host is Host.SPARK, rows=rows)
    if host is Host.DUCKDB:
        return api.check(text, tables=tables or None, spark=None, data=None, options=options, rows=rows)
    from motif.cli.on_spark import spark_with

    with screen.Waiting("checking on Spark"), spark_with(tables) as session:
        return api.check(text, tables=None, spark=session, data=None, options=options, rows=rows)


# -- explain --------------------------------------------------------------------------------------------


@app.command()
def explain(
    query: Query,
    table: Tables = None,
    csv: CsvOptions = None,
    host: HostOption = Host.DUCKDB,
    form: Annotated[
        Format, typer.Option("--format", help="Text, or the automaton as a picture, or a page.")
    ] = Format.TEXT,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file.")] = None,
    time_column: TimeColumn = None,
    type_column: TypeColumn = None,
    order_by: OrderBy = None,
    functions: FunctionsOption = None,
    strategy: StrategyOption = None,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Run the query, and show what each step took, gave and cost.")
    ] = False,
) -> None:
    """Show the plan: conditions, automaton or joins, and what the host does around them."""
    text, tables = read_query(query), table_files(table_paths(table or []), csv)
    if output is not None:
        check_folder(output)
    options = event_options(time_column, type_column, order_by, functions)
    plan = _plan(text, tables, host, options, strategy, analyze=analyze)
    shown = {Format.TEXT: str(plan), Format.MERMAID: plan.mermaid, Format.SVG: plan.svg, Format.HTML: plan.html}[form]
    if output is None:
        typer.echo(shown.rstrip("\n"))
    else:
        write_text(shown, output)


def _plan(
    text: str, tables: dict[str, Files], host: Host, options: EventOptions, strategy: str | None, *, analyze: bool
) -> Explanation:
    from motif import api

    explain = partial(api.explain, options=options, strategy=strategy, analyze=analyze)

    if is_event_query(text):
        from motif.cli import events

        return events.plan(text, tables, explain, on_spark=host is Host.SPARK)
    if host is Host.DUCKDB:
        return explain(text, tables=tables, spark=None, data=None)
    from motif.cli.on_spark import spark_with

    with screen.Waiting("planning on Spark"), spark_with(tables) as session:
        return explain(text, tables=None, spark=session, data=None)


# -- version --------------------------------------------------------------------------------------------


@app.command()
def version() -> None:
    """Print the version of Motif and of what it stands on."""
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    def known(name: str) -> str:
        try:
            return version_of(name)
        except PackageNotFoundError:
            return "not installed"

    parts = ", ".join(f"{name} {known(name)}" for name in ("duckdb", "pyarrow", "numpy", "numba", "pyspark"))
    typer.echo(f"motif {known('motif-cep')} (Python {platform.python_version()}, {parts})")
