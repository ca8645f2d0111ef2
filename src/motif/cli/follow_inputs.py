"""The folders that `motif run --follow` reads: what their files are, their columns, and files that do not fit."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from motif.cli.follow_options import OF_FOLDERS, FileFormat
from motif.cli.on_spark import is_json_array
from motif.errors import MotifError, did_you_mean

Columns = dict[str, str]
"""Types by name, as Spark writes them."""

_ENDINGS = {
    FileFormat.PARQUET: (".parquet", ".pq"),
    FileFormat.CSV: (".csv",),
    FileFormat.TSV: (".tsv",),
    FileFormat.JSON: (".json", ".jsonl", ".ndjson"),
}
_PACKED = ("", ".gz", ".zst")
_FITS = {("double", "bigint"), ("timestamp_ntz", "date"), ("timestamp", "date"), ("timestamp", "timestamp_ntz")}
"""Columns of the first type hold values that look like the second."""
_EMPTIED = {
    FileFormat.CSV: ", or leave only its first line",
    FileFormat.TSV: ", or leave only its first line",
    FileFormat.JSON: ", or empty it",
}
_LONGEST_HEADER = 1 << 20
_ALWAYS = "36500d"
"""Spark forgets files that are older than this, and leaves out those it would not remember: none."""


@dataclass(slots=True)
class Folder:
    """One folder of a table."""

    name: str
    path: Path
    given: FileFormat | None = None
    """What the user says its files are."""
    kind: FileFormat | None = None
    """What they are."""
    any_name: bool = False
    """Whether files are read whatever they are called."""
    columns: Columns = field(default_factory=dict)
    looked_at: set[Path] = field(default_factory=set)

    def files(self) -> list[Path]:
        """Those to read: not hidden, not empty, here or in `key=value` folders."""
        found = [path for path in _visible(self.path) if not _is_empty(path)]
        if self.given is None:
            return [path for path in found if _format_of(path) is not None]
        return [path for path in found if _format_of(path) is self.given] or found

    def infer(self, session: Any) -> bool:
        """Learn the columns from the files that are there; False if there is nothing to learn from."""
        files = self.files()
        if not files:
            return False
        self.kind = self.given or self._by_names(files)
        self.any_name = all(_format_of(path) is not self.kind for path in files)
        if self.kind is FileFormat.JSON and (array := next((path for path in files if is_json_array(str(path))), None)):
            raise MotifError(f"{array} is one JSON array", hint="--follow reads one JSON object per line")
        if self.kind in (FileFormat.CSV, FileFormat.TSV):
            _refuse_other_headers(files)
        frame = self._read(session, self.path.resolve())
        if self.kind is not FileFormat.PARQUET and frame.isEmpty():
            return False  # a header says nothing about types
        self.columns = columns_of(frame)
        return True

    def _by_names(self, files: list[Path]) -> FileFormat:
        first, *others = sorted({kind for path in files if (kind := _format_of(path)) is not None})
        if others:
            raise MotifError(
                f"{self.path} (table {self.name}) holds {' and '.join([first, *others])} files",
                hint=f"keep them in folders of their own, or read only one kind: --format {first}",
            )
        return first

    def _read(self, session: Any, path: Path) -> Any:
        options = {"inferSchema": True, "inferTimestamp": True} | self._options()
        try:
            return session.read.format(self._source).options(**options).load(str(path))
        except Exception as error:  # noqa: BLE001 - whatever Spark says of files, it is about the files
            raise MotifError(f"cannot read {self.path} (table {self.name}): {cause_of(str(error))}") from None

    def stream(self, session: Any) -> Any:
        """The folder as a streaming DataFrame; a value that does not fit its column is an error, not NULL."""
        reader = session.readStream.format(self._source).schema(ddl_of(self.columns))
        checks = {"mode": "FAILFAST", "enforceSchema": False, "columnPruning": False, "maxFileAge": _ALWAYS}
        return reader.options(**(self._options() | checks)).load(str(self.path.resolve()))

    @property
    def _source(self) -> str:
        assert self.kind is not None
        return "csv" if self.kind is FileFormat.TSV else self.kind.value

    def _options(self) -> dict[str, Any]:
        assert self.kind is not None
        endings = ",".join(f"*{ending}" for ending in _endings(self.kind))
        names = {} if self.any_name else {"pathGlobFilter": f"{{{endings}}}"}
        match self.kind:
            case FileFormat.CSV | FileFormat.TSV:
                return {"header": True, "sep": "\t" if self.kind is FileFormat.TSV else ",", **names}
            case FileFormat.JSON:
                return {"mode": "FAILFAST", **names}
            case _:
                return names

    # -- files that do not fit

    def misfit(self, session: Any, path: Path, cause: str) -> MotifError:
        """Why a file could not be read as the stream needs it."""
        assert self.kind is not None
        differences = [] if cause.startswith("Malformed CSV record") else self._differences(session, path)
        value = f" ({cause})" if differences and cause.startswith("For input string") else ""
        hint = f"repair the file under its name{_EMPTIED.get(self.kind, '')}, and start the same command again"
        if wider := [f"{name} {kind}" for name, kind in _wider(differences)]:
            hint += f"; or read everything anew with --columns '{', '.join(wider)}'"
        what = ("; ".join(differences) or cause) + value
        return MotifError(f"{near(path)} does not fit the stream of {self.name}: {what}", hint=hint)

    def _differences(self, session: Any, path: Path) -> list[str]:
        try:
            return list(_differences(self.columns, columns_of(self._read(session, path))))
        except MotifError:
            return []

    def news(self) -> Iterator[str]:
        """What Spark would not say of new files: that it leaves one out, or reads NULL where there is no column."""
        for path in sorted(set(_visible(self.path)) - self.looked_at):
            self.looked_at.add(path)
            kind = self.kind if self.any_name else _format_of(path)
            if kind not in (None, self.kind):
                yield f"{path} is left out: this stream reads {self.kind} files"
            elif kind is FileFormat.PARQUET and (missing := self._missing(path)):
                yield f"{path} has no column {', '.join(missing)}: NULL in all of its events"

    def _missing(self, path: Path) -> list[str]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            inside = {name.casefold() for name in pq.read_schema(path).names}
        except (OSError, pa.ArrowInvalid):
            return []  # Spark will say so
        inside |= {part.partition("=")[0].casefold() for part in path.relative_to(self.path).parts if "=" in part}
        return [name for name in self.columns if name.casefold() not in inside]


def _visible(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith((".", "_")):
            continue
        if path.is_file():
            yield path
        elif "=" in path.name and path.is_dir():
            yield from _visible(path)


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:  # gone again
        return True


def _endings(kind: FileFormat) -> list[str]:
    return [ending + packed for ending in _ENDINGS[kind] for packed in _PACKED]


def _format_of(path: Path) -> FileFormat | None:
    return next((kind for kind in OF_FOLDERS if path.name.endswith(tuple(_endings(kind)))), None)


def _refuse_other_headers(files: list[Path]) -> None:
    """Spark would take the columns of the first file for those of all."""
    first, *others = ((path, _first_line(path)) for path in files if path.suffix != ".zst")
    for path, header in others:
        if header != first[1]:
            raise MotifError(
                f"{near(path)} has other columns than {near(first[0])}: {header}, not {first[1]}",
                hint="put files with other columns into a folder of their own",
            )


def _first_line(path: Path) -> str:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
            return file.readline(_LONGEST_HEADER).rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise MotifError(f"cannot read {near(path)}: {error}") from None


# -- columns --------------------------------------------------------------------------------------------


def columns_of(frame: Any) -> Columns:
    """Whole numbers are as long as they get: the first file seldom has the largest."""
    kinds = {field.name: str(field.dataType.simpleString()) for field in frame.schema.fields}
    return {name: "bigint" if kind in ("tinyint", "smallint", "int") else kind for name, kind in kinds.items()}


def ddl_of(columns: Columns) -> str:
    """As Spark reads it."""
    return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in columns.items())


def shown(columns: Columns) -> str:
    """As people read it."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def with_types(folders: list[Folder], text: str, session: Any) -> None:
    """Let `--columns` have its way."""
    try:
        frame = session.createDataFrame([], text)
    except Exception as error:  # noqa: BLE001 - whatever it is, Spark cannot read it
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise MotifError(
            f"--columns cannot be read: {text}\n  Spark says: {reason}",
            hint="write names and types of Spark: --columns 'price DOUBLE, n INT'",
        ) from None
    for column in frame.schema.fields:
        owners = [(folder, name) for folder in folders for name in folder.columns if _same(name, column.name)]
        if not owners:
            known = [name for folder in folders for name in folder.columns]
            raise MotifError(f"--columns: there is no column {column.name}", hint=did_you_mean(column.name, known))
        for folder, name in owners:
            folder.columns[name] = column.dataType.simpleString()


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _differences(expected: Columns, found: Columns) -> Iterator[str]:
    for name, kind in expected.items():
        if name not in found:
            yield f"it has no column {name}"
        elif found[name] != kind and kind != "string" and (kind, found[name]) not in _FITS:
            yield f"{name} is {found[name]} there, not {kind}"
    if extra := [name for name in found if name not in expected]:
        yield f"the column{'s' if len(extra) > 1 else ''} {', '.join(extra)} came with it"
    elif found.keys() == expected.keys() and list(found) != list(expected):
        yield f"its columns stand in another order: {', '.join(found)}"


def _wider(differences: list[str]) -> Iterator[tuple[str, str]]:
    for text in differences:
        if found := re.fullmatch(r"(\w+) is (double|timestamp\w*|decimal\S+) there, not \S+", text):
            yield found[1], found[2].upper()


# -- what Spark says ------------------------------------------------------------------------------------


def failed_file(text: str) -> Path | None:
    """The file that Spark could not read, by what it says of it."""
    found = re.search(r"Encountered error while reading file (file:\S+?)\.(?:\s|$)", text)
    return Path(unquote(urlsplit(found[1]).path)) if found else None


def cause_of(text: str) -> str:
    """The innermost reason of a Java exception, without class names, codes and traces."""
    lines = re.findall(r"^Caused by: (?:[\w.$]+: )?(.*)$", text, re.MULTILINE)
    first = lines[-1] if lines else (text.strip().splitlines() or ["no reason given"])[0]
    first = re.sub(r"^(?:[\w.$]+(?:Exception|Error): )?(?:\[[A-Z0-9_.]+\]\s*)?", "", first)
    return re.sub(r"\s*SQLSTATE: \w+", "", first).strip().rstrip(".") or "no reason given"


def near(path: Path) -> Path:
    """As seen from here, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def owner_of(folders: Mapping[str, Folder], path: Path) -> Folder | None:
    """The folder that a file lies in."""
    return next((f for f in folders.values() if path.is_relative_to(f.path.resolve())), None)


def wait_for(folder: Folder, session: Any, sleep: Callable[[], None], say: Callable[[str], None]) -> None:
    """Learn the columns of a folder, from the first file that comes if there is none."""
    told = False
    while not folder.infer(session):
        if not told:
            say(f"waiting for the first file with a row in {folder.path}")
            told = True
        sleep()
