"""A Spark of its own for one command: files become views, results come back as Arrow."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from motif.errors import MotifError
from motif.hosts.given_files import Files, files_of

_STDERR = 2
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",  # a time without a zone is one, as in DuckDB
    "spark.driver.maxResultSize": "0",
    "spark.driver.host": "127.0.0.1",
}


@contextlib.contextmanager
def spark_with(tables: Mapping[str, str | Files], **settings: str) -> Iterator[Any]:
    """A local session in which each file is a view; `settings` go to its configuration."""
    try:
        from motif.hosts.spark.local import local_session
    except ImportError:
        raise MotifError(
            "PySpark is not installed", hint="pip install 'motif-cep[spark]', and Java 17 or newer"
        ) from None
    with _quiet_java():
        session = local_session("motif", cores=None, **_SETTINGS, **settings)
    try:
        for name, path in tables.items():
            add_view(name, _frame(session, name, path))
        yield session
    finally:
        session.stop()


def add_view(name: str, frame: Any) -> None:
    """Let statements use a frame under a name."""
    frame.createOrReplaceTempView(f"`{name.replace('`', '``')}`")


def frames_of(session: Any, tables: Mapping[str, str | Files]) -> dict[str, Any]:
    """The views that `spark_with` has made."""
    return {name: session.table(f"`{name.replace('`', '``')}`") for name in tables}


@contextlib.contextmanager
def _quiet_java() -> Iterator[None]:
    """Java inherits a standard error that leads nowhere; ours is the old one all the time."""
    ours = sys.stderr
    try:
        shared = ours.fileno() == _STDERR
    except (OSError, ValueError, AttributeError):
        shared = False
    kept = os.dup(_STDERR)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if shared:
        sys.stderr = os.fdopen(kept, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        sys.stderr = ours
        os.close(kept)
        os.close(nowhere)


_OF_CSV = {
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "header": "header",
    "comment": "comment",
    "null": "nullValue",
    "encoding": "encoding",
}
"""What may be said of CSV files, and what Spark calls it."""


def _frame(session: Any, name: str, given: str | Files) -> Any:
    files = files_of(given)
    paths = [str(Path(path).resolve()) for path in files.paths]
    options = _options_of(files)
    try:
        match files.reader:
            case "read_parquet":
                return session.read.parquet(*paths)
            case "read_csv":
                separator = "\t" if ".tsv" in Path(paths[0]).suffixes else ","
                return session.read.csv(paths, **{"header": True, "inferSchema": True, "sep": separator, **options})
            case _:
                return session.read.json(paths, multiLine=is_json_array(paths[0]))
    except Exception as error:  # noqa: BLE001 - whatever Spark says of a file, it is about the file
        first = str(error).strip().splitlines()[0]
        raise MotifError(f"cannot read {files} (table {name}): {first}") from None


def _options_of(files: Files) -> dict[str, Any]:
    for option, _ in files.options:
        if option not in _OF_CSV:
            raise MotifError(
                f"Spark has no {option} for CSV files",
                hint=f"leave it out, or --host spark; Spark has {', '.join(_OF_CSV)}",
            )
    return {_OF_CSV[option]: value for option, value in files.options}


def is_json_array(path: str) -> bool:
    """One array over many lines, rather than one object per line."""
    if not Path(path).is_file() or path.endswith((".gz", ".zst")):
        return False
    with Path(path).open("rb") as file:
        return file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def collected(frame: Any) -> pa.Table:
    """The rows of a DataFrame; an error of ours inside a worker is an error of ours here."""
    try:
        return frame.toArrow()
    except Exception as error:
        message = worker_message(str(error))
        if message is None:
            raise
        raise MotifError(message) from None


def worker_message(text: str) -> str | None:
    """Motif's own message in the report of a failed Spark job; None if it holds none."""
    found = re.search(
        r"^(?:.*\s)?motif\.errors\.\w+: (.*?)(?=\n\s*\n|\n\s*at |\n[^\s]|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return found[1].rstrip() if found else None
