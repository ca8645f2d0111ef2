"""What the command line reads and writes: queries, NAME=PATH, and results."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from motif import limits
from motif.errors import LimitExceeded, MotifError

_LONGEST_PATH = 255


def read_query(name: str) -> str:
    """The text of a query file, or of standard input for `-`, or the text itself."""
    if name == "-":
        return _decoded(_read(sys.stdin.buffer, "standard input"), "standard input")
    if _is_text(name):
        return name
    try:
        with Path(name).open("rb") as file:
            return _decoded(_read(file, name), name)
    except FileNotFoundError:
        hint = "QUERY is the name of a file, or the text of a query in quotes; - reads standard input"
        raise MotifError(f"there is no file {name}", hint=hint) from None
    except OSError as error:
        raise MotifError(f"cannot read {name}: {error.strerror}") from None


def _is_text(name: str) -> bool:
    """Whether it is a query rather than the name of a file: it has blanks and brackets, and no file is called so."""
    looks = bool(re.search(r"\s", name.strip())) and (
        "(" in name or re.match(r"\s*(SELECT|DEFINE|PATTERN|WITH)\s", name, re.IGNORECASE) is not None
    )
    return looks and not (len(name) < _LONGEST_PATH and "\n" not in name and Path(name).exists())


def _read(file: IO[bytes], name: str) -> bytes:
    most = 4 * limits.LIMITS.query_chars + 3  # a character has up to four bytes, a byte order mark three
    data = file.read(most + 1)
    if len(data) > most:
        raise LimitExceeded(f"{name} is too long for a query (query_chars = {limits.LIMITS.query_chars})")
    return data


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # A byte order mark is cut off before offsets are counted.
        offset = error.start + len(data) - len(error.object)
        line = data.count(b"\n", 0, offset) + 1
        message = f"{name} is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}, line {line}"
        raise MotifError(message, hint="save the file as UTF-8") from None


def table_paths(options: Sequence[str]) -> dict[str, str]:
    """`NAME=PATH` options as a mapping."""
    paths: dict[str, str] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            hint = f"write --table {Path(option).stem or 'trades'}={option.strip('=') or 'trades.parquet'}"
            raise MotifError(f"--table takes NAME=PATH, not {option}", hint=hint)
        if name in paths:
            raise MotifError(f"the table {name} is given twice", hint="give each --table another name")
        if not Path(path).exists():
            raise MotifError(
                f"there is no file {path} (table {name})", hint="check the path; it is relative to where you are"
            )
        paths[name] = path
    return paths


def check_output(path: Path) -> None:
    """Refuse what could not be written, before any work is done."""
    if path.suffix.lower() not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise MotifError(f"cannot tell the format of {path} from its name", hint=f"use a name that ends in {known}")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there."""
    if not path.absolute().parent.is_dir():
        raise MotifError(f"there is no folder {path.parent}", hint="make it first")
    if path.is_dir():
        raise MotifError(f"{path} is a folder", hint="name a file in it")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a result in the format its name ends in."""
    with replacing(path) as unfinished:
        _WRITERS[path.suffix.lower()](table, unfinished)


def write_text(text: str, path: Path) -> None:
    """Write a text as UTF-8."""
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when all went well, and is gone otherwise."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise MotifError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _write_csv(table: pa.Table, path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(_with_text(table), path)


def _with_text(table: pa.Table) -> pa.Table:
    """Lists and whatever else CSV has no form for, as the text DuckDB gives them."""
    items = [f"{_quoted(f.name)}" if _is_plain(f.type) else f"{_quoted(f.name)}::VARCHAR" for f in table.schema]
    if all(_is_plain(field.type) for field in table.schema):
        return table
    named = (f"{item} AS {_quoted(name)}" for item, name in zip(items, table.column_names, strict=True))
    return _duckdb(table).sql(f"SELECT {', '.join(named)} FROM result").to_arrow_table()


def _is_plain(kind: pa.DataType) -> bool:
    t = pa.types
    kinds = (t.is_boolean, t.is_integer, t.is_floating, t.is_decimal, t.is_string, t.is_large_string, t.is_temporal)
    return any(test(kind) for test in kinds) and not (t.is_duration(kind) or t.is_interval(kind))


def _write_json(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        before = "[\n"
        for line in json_lines(table):
            file.write(before + line)
            before = ",\n"
        file.write("\n]\n" if before == ",\n" else "[]\n")


def _write_json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in json_lines(table))


def json_lines(table: pa.Table) -> Iterator[str]:
    """One JSON object per row."""
    rows = _duckdb(table).sql("SELECT to_json(result)::VARCHAR AS line FROM result")
    for batch in rows.to_arrow_reader(1 << 16):
        yield from batch.column(0).to_pylist()


def _duckdb(table: pa.Table) -> Any:
    """A connection that holds the result."""
    from motif.hosts.duckdb_database import Database

    return Database({"result": table}).connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".json": _write_json,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
