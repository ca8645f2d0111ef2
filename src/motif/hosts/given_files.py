"""Files that the caller names: one, a folder, a pattern, several; and how they are read where they do not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from motif.errors import MotifError, did_you_mean

READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
PACKED = (".gz", ".zst")
CSV_OPTIONS = {
    "delimiter": "delim",
    "quote": "quote",
    "escape": "escape",
    "header": "header",
    "skip": "skip",
    "comment": "comment",
    "null": "nullstr",
    "encoding": "encoding",
    "decimal": "decimal_separator",
    "thousands": "thousands",
    "dates": "dateformat",
    "times": "timestampformat",
}
"""What may be said of CSV files, and what DuckDB calls it."""
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")


def is_remote(path: str) -> bool:
    """Whether it is an address, such as `s3://bucket/key`, rather than a path of this machine."""
    return _REMOTE.match(path) is not None


@dataclass(frozen=True)
class Files:
    """Files of one format that are one table; see `motif.files`."""

    given: tuple[str, ...]
    """What the caller named."""
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.given)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files themselves, in the order of their names where the caller named a folder or a pattern."""
        return tuple(path for given in self.given for path in _expanded(given))

    @cached_property
    def reader(self) -> str:
        """The DuckDB function that reads them."""
        readers = {reader_of(path): path for path in self.paths}
        if len(readers) > 1:
            first, second, *_ = readers.values()
            raise MotifError(
                f"{self} holds files of different formats: {Path(first).name} and {Path(second).name}",
                hint="name those of one format: a pattern such as 'folder/*.parquet'",
            )
        reader = next(iter(readers))
        if self.options and reader != "read_csv":
            raise MotifError(f"{self.options[0][0]} is an option of CSV files, and {self} is none", hint="leave it out")
        return reader

    @property
    def only_path(self) -> str | None:
        """The path of one file that says all by itself."""
        return self.paths[0] if len(self.paths) == 1 and not self.options else None

    @property
    def sql(self) -> str:
        """What reads them in a statement."""
        parts = [literal(self.paths[0])]
        if len(self.paths) > 1:
            parts = [f"[{', '.join(map(literal, self.paths))}]", "union_by_name = true"]
        return f"{self.reader}({', '.join([*parts, *self._options])})"

    @property
    def _options(self) -> list[str]:
        return [f"{CSV_OPTIONS[name]} = {_value(value)}" for name, value in self.options]

    @property
    def sniffed(self) -> str:
        """What finds out, of the first CSV file, what the caller does not say."""
        return f"sniff_csv({', '.join([literal(self.paths[0]), *self._options])})"

    @property
    def says_dates(self) -> bool:
        """Whether the caller says how dates are written."""
        return bool(dict(self.options).keys() & {"dates", "times"})


def files_of(data: Any) -> Files:
    """A path, or several with options, as files."""
    return data if isinstance(data, Files) else Files((str(data),))


def files(paths: Any, options: Mapping[str, Any]) -> Files:
    """See `motif.files`."""
    several = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(several, Sequence) or not several or not all(isinstance(path, str | Path) for path in several):
        raise MotifError(f"files cannot be {paths!r}", hint='give a path, or a list of them: motif.files("trades.csv")')
    for name in options:
        if name not in CSV_OPTIONS:
            hint = did_you_mean(name, CSV_OPTIONS)
            raise MotifError(f"there is no option {name} of CSV files", hint=hint)
    return Files(tuple(map(str, several)), tuple((name, value) for name, value in options.items() if value is not None))


def _expanded(path: str) -> list[str]:
    if not path:
        raise MotifError("the path is empty", hint='name a file, or a folder; "." is the folder where you are')
    if is_remote(path) or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        found = [str(file) for file in sorted(Path(path).rglob("*")) if file.is_file() and not _is_hidden(file, path)]
        if not found:
            raise MotifError(f"there is no file in the folder {path}", hint=f"it may hold {', '.join(READERS)}")
        return found
    if _PATTERN.search(path):
        start = Path(Path(path).anchor or ".")
        found = sorted(str(file) for file in start.glob(str(Path(path).relative_to(start))) if file.is_file())
        if not found:
            raise MotifError(f"no file fits {path}", hint="* stands for any part of a name, ** for folders")
        return found
    raise no_file(path)


def _is_hidden(file: Path, folder: str) -> bool:
    """Whether it is a file about files, such as Spark's _SUCCESS, or lies among such."""
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def no_file(path: str) -> MotifError:
    """What to say of a path that leads nowhere; it may be meant as the name of a table."""
    looks_like_one = "/" in path or "\\" in path or Path(path).suffix.lower() in READERS
    spark = "" if looks_like_one else f"; a table of Spark is given as spark.table({path!r})"
    return MotifError(f"there is no file {path}", hint=f"paths are relative to where you are{spark}")


def reader_of(path: str) -> str:
    """The DuckDB function that reads a file, by its ending."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in PACKED]
    reader = READERS.get(suffixes[-1].lower()) if suffixes else None
    if reader is None:
        raise MotifError(
            f"cannot tell the format of {path} from its name", hint=f"use a name that ends in {', '.join(READERS)}"
        )
    return reader


def literal(text: str) -> str:
    """A string literal from which nothing escapes."""
    return "'" + text.replace("'", "''") + "'"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else literal(str(value))
