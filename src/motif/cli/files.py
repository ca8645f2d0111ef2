"""What the command line reads and writes: queries, NAME=PATH, and results."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from motif import limits
from motif.errors import LimitExceeded, MotifError, shown
from motif.hosts.given_files import Files, files
from motif.hosts.temporary import fresh_folder

_LONGEST_PATH = 255
STANDARD_OUTPUT = Path("-")
PACKED = {".gz": "gzip", ".zst": "zstd"}
"""How Arrow packs a file with such an ending."""


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
        paths[name] = path
    return paths


def table_files(paths: Mapping[str, str], csv: str | None = None) -> dict[str, Files]:
    """The files of tables; `csv`: what `--csv` says of those that are CSV files."""
    found: dict[str, Files] = {}
    for name, path in paths.items():
        given = files(standard_input() if path == "-" else path, {})
        is_csv = _named(name, given) == "read_csv"
        found[name] = files(list(given.given), csv_options(csv)) if csv and is_csv else given
    if csv and not any(each.options for each in found.values()):
        raise MotifError("--csv is for CSV files, and there is none", hint="leave it out")
    return found


def _named(name: str, given: Files) -> str:
    try:
        return given.reader
    except MotifError as error:
        raise MotifError(f"{error.message} (table {name})", hint=error.hint) from None


def csv_options(text: str) -> dict[str, Any]:
    """`delimiter=;,decimal=,` as a mapping: a comma parts two options where a name and = follow it."""
    found: dict[str, Any] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text):
        name, equals, value = part.partition("=")
        if not equals:
            hint = "write --csv 'delimiter=;,decimal=,'; the page of the command line lists them"
            raise MotifError(f"--csv takes NAME=VALUE, not {part}", hint=hint)
        name = name.strip()
        if name == "header":
            if value.lower() not in ("true", "false", "yes", "no"):
                raise MotifError(f"--csv header= cannot be {value}", hint="write header=true or header=false")
            found[name] = value.lower() in ("true", "yes")
        elif name == "skip":
            if not value.isdecimal():
                raise MotifError(f"--csv skip= cannot be {value}", hint="give a number of lines")
            found[name] = int(value)
        else:
            found[name] = {"\\t": "\t", "tab": "\t"}.get(value, value)
    return found


def how_read(tables: Mapping[str, Files]) -> Iterator[str]:
    """What the columns of each table are taken for, and how its CSV files are written."""
    from motif.hosts.duckdb_database import Database

    if not tables:
        return
    database = Database(tables)
    for name, each in tables.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in database.describe(f"SELECT * FROM {_quoted(name)}"))
        yield f"{name}: {shown(columns)}"
        if each.reader == "read_csv":
            yield f"  {', '.join(f'{word} {value}' for word, value in database.seen_in(each).items())}"


def rows_of(tables: Mapping[str, Files]) -> int | None:
    """How many rows there are to read; None where the files do not say."""
    if not tables or any(each.reader != "read_parquet" for each in tables.values()):
        return None
    import pyarrow.parquet as pq

    return sum(int(pq.read_metadata(path).num_rows) for each in tables.values() for path in each.paths)


@functools.cache
def standard_input() -> str:
    """What is piped in, as a file of the process; its format is seen from how it begins."""
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise MotifError(
            "standard input is empty", hint="pipe the events in: cat events.csv | motif run ... -t events=-"
        )
    begin = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:4]
    ending = ".parquet" if begin == b"PAR1" else ".json" if begin[:1] in (b"{", b"[") else ".csv"
    folder = fresh_folder(None)
    folder.mkdir()
    path = folder / f"stdin{ending}"
    path.write_bytes(data)
    return str(path)


def ending_of(path: Path) -> str:
    """What says the format of a file, before an ending that says it is packed."""
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return name.suffix.lower()


def check_output(path: Path) -> None:
    """Refuse what could not be written, before any work is done."""
    if path == STANDARD_OUTPUT:
        return
    if ending_of(path) not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise MotifError(f"cannot tell the format of {path} from its name", hint=f"use a name that ends in {known}")
    if path.suffix.lower() in PACKED and ending_of(path) == ".parquet":
        raise MotifError(f"{path}: a Parquet file is packed by itself", hint=f"write --output {path.with_suffix('')}")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there."""
    if not path.absolute().parent.is_dir():
        raise MotifError(f"there is no folder {path.parent}", hint="make it first")
    if path.is_dir():
        raise MotifError(f"{path} is a folder", hint="name a file in it")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a result in the format its name ends in."""
    write, packing = _WRITERS[ending_of(path)], PACKED.get(path.suffix.lower())
    with replacing(path) as unfinished, pa.output_stream(str(unfinished), compression=packing) as stream:
        write(table, stream)


def print_table(table: pa.Table, form: str) -> None:
    """Write a result to standard output, for whoever reads the pipe."""
    out = sys.stdout.buffer
    if form == "parquet" and out.isatty():
        raise MotifError("a Parquet file is nothing for a terminal", hint="write it: --output matches.parquet")
    try:
        with pa.output_stream(_Open(out)) as stream:
            _WRITERS[f".{form}"](table, stream)
        out.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Open:
    """Standard output, which Arrow would close."""

    closed = False

    def __init__(self, out: IO[bytes]) -> None:
        self.write, self.flush = out.write, out.flush

    def close(self) -> None:
        """It stays open."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


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


def _write_parquet(table: pa.Table, stream: pa.NativeFile) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, stream)


def _write_csv(table: pa.Table, stream: pa.NativeFile) -> None:
    from pyarrow import csv

    csv.write_csv(_with_text(table), stream)


def _write_tsv(table: pa.Table, stream: pa.NativeFile) -> None:
    from pyarrow import csv

    csv.write_csv(_with_text(table), stream, csv.WriteOptions(delimiter="\t"))


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


def _write_json(table: pa.Table, stream: pa.NativeFile) -> None:
    before = "[\n"
    for line in json_lines(table):
        stream.write((before + line).encode())
        before = ",\n"
    stream.write(b"\n]\n" if before == ",\n" else b"[]\n")


def _write_json_lines(table: pa.Table, stream: pa.NativeFile) -> None:
    for line in json_lines(table):
        stream.write((line + "\n").encode())


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


_WRITERS: dict[str, Callable[[pa.Table, pa.NativeFile], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".json": _write_json,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
