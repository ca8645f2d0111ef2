"""The options of `motif run --follow`, and what is wrong with them before Spark is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from motif.errors import MotifError
from motif.lang.snoop.duration import parse_duration
from motif.options import StreamOptions

DEFAULT_LATENESS = "0 s"
DEFAULT_TRIGGER = "1 s"


class FileFormat(StrEnum):
    """What the files of a folder are, or how a result is printed."""

    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSONL = "jsonl"
    TABLE = "table"


OF_FOLDERS = (FileFormat.PARQUET, FileFormat.CSV, FileFormat.TSV, FileFormat.JSON)


def printed_as(form: FileFormat | None, *, to_pipe: bool) -> str | None:
    """The format of a result on standard output; None: a table for people."""
    if form is None:
        form = FileFormat.CSV if to_pipe else FileFormat.TABLE
    return None if form is FileFormat.TABLE else form.value


class OnError(StrEnum):
    """What to do with an event on which a function of the user fails."""

    FAIL = "fail"
    SKIP = "skip"


Follow = Annotated[
    bool,
    typer.Option(
        "--follow", help="Go on as files are added to folders (--table NAME=FOLDER); needs --host spark. Ctrl-C stops."
    ),
]
Lateness = Annotated[
    str | None,
    typer.Option("--lateness", metavar="TIME", help=f"--follow: how late events are.  [default: {DEFAULT_LATENESS}]"),
]
Emit = Annotated[
    str | None,
    typer.Option("--emit", metavar="KINDS", help="--follow: what comes out, of match,timeout,late.  [default: match]"),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FOLDER", help="--follow: what is needed to go on.  [default: in .motif]"),
]
Trigger = Annotated[
    str | None,
    typer.Option("--trigger", metavar="TIME", help=f"--follow: how often to look.  [default: {DEFAULT_TRIGGER}]"),
]
Once = Annotated[bool, typer.Option("--once", help="--follow: stop when all that is there is done.")]
Form = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        help="How the result is printed; with --follow, what the files are.  [default: a table, to a pipe csv]",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="'NAME TYPE, ...'", help="--follow: types of columns that files do not tell."),
]


OnErrorOption = Annotated[
    OnError | None, typer.Option("--on-error", help="--follow: where one of --functions fails.  [default: fail]")
]


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """What was given; None where nothing was."""

    lateness: str | None = None
    emit: str | None = None
    checkpoint: Path | None = None
    trigger: str | None = None
    once: bool = False
    format: FileFormat | None = None
    columns: str | None = None
    on_error: OnError | None = None

    @property
    def kinds(self) -> tuple[str, ...] | None:
        """`--emit match,late` as a tuple."""
        if self.emit is None:
            return None
        return tuple(kind.strip() for kind in self.emit.split(",") if kind.strip())

    @property
    def how_late(self) -> str:
        return self.lateness or DEFAULT_LATENESS

    @property
    def milliseconds(self) -> int:
        """From one look at the folders to the next."""
        return parse_duration(self.trigger or DEFAULT_TRIGGER, "--trigger") // 1000

    def check(self) -> None:
        """Refuse what does not work, or not together."""
        _ = StreamOptions(self.how_late, self.kinds).microseconds
        if self.format is not None and self.format not in OF_FOLDERS:
            raise MotifError(
                f"--format {self.format.value} does not go with --follow: there it says what the files of a folder are",
                hint=f"choose from {', '.join(OF_FOLDERS)}",
            )
        if self.once and self.trigger is not None:
            raise MotifError("--once and --trigger do not go together", hint="leave one of them out")
        if not self.once:
            _ = self.milliseconds

    def refuse_for_tables(self) -> None:
        """Without `--follow` there is no stream."""
        for field in fields(self):
            if field.name != "format" and getattr(self, field.name) not in (None, False):
                raise MotifError(
                    f"--{field.name.replace('_', '-')} is for --follow",
                    hint="add --follow --host spark, or leave the option out",
                )


def refuse_with_follow(*, on_spark: bool, report: Any, output: Path | None, limit: int) -> None:
    """What of `motif run` has no meaning for a stream."""
    if not on_spark:
        raise MotifError(
            "--follow needs --host spark: DuckDB, the host otherwise, reads tables that have an end",
            hint="add --host spark; in a Python program, motif.Stream takes events one by one without Spark",
        )
    if report is not None:
        raise MotifError("--report does not go with --follow: it draws a result that is complete", hint="leave it out")
    if limit < 1:
        raise MotifError("--limit 0 does not go with --follow", hint="write the matches to a folder: --output FOLDER")
    if output is not None:
        _check_target(output)


def _check_target(path: Path) -> None:
    """Matches of a stream are many files over time."""
    if path.suffix.lower() in (".csv", ".json", ".jsonl", ".ndjson"):
        raise MotifError(
            f"{path} is the name of one file, and with --follow --output is a folder of Parquet files",
            hint=f"write --output {path.with_suffix('')}, or send what is shown to the file: motif run ... > {path}",
        )
    if path.is_file():
        raise MotifError(f"{path} is a file", hint="with --follow --output names a folder")
    if not path.absolute().parent.is_dir():
        raise MotifError(f"there is no folder {path.parent}", hint="make it first")


def folders_of(tables: Mapping[str, str], *, of_events: bool) -> dict[str, Path]:
    """The tables that are followed: those that are folders."""
    found = {name: Path(path) for name, path in tables.items() if Path(path).is_dir()}
    if not found:
        raise MotifError(
            "there is no folder to follow",
            hint="name one that files are added to: --table trades=folder/ --follow --host spark",
        )
    for name in tables:
        if of_events and name not in found:
            raise MotifError(
                f"{tables[name]} (table {name}) is a file, and --follow of an event query takes folders only",
                hint="put the file into a folder of its own, or into the one with the other events",
            )
    return found
