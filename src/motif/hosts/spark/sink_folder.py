"""A folder of Parquet files, one sub-folder per batch, each there whole or not at all."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast

import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from motif.errors import MotifError
from motif.hosts.spark.settings import quiet
from motif.hosts.spark.sink_identity import is_connect, named
from motif.hosts.spark.types import message_and_hint

FORMAT = 1
_IDENTITY, _COMMITTED, _NEW, _PART = "_motif.json", "_committed", "_tmp", "part-"
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@dataclass(frozen=True)
class Folder:
    """Parquet files in a folder per batch; names with an underscore are not seen by readers."""

    path: str
    latest: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    """The last batch of a query that this object has seen: behind it there is nothing to look for."""

    def write(self, frame: DataFrame, batch: int, query: str) -> bool:
        """Write one batch, unless it is there; whether it was written."""
        if "batch" in (name.casefold() for name in frame.columns):
            raise MotifError(
                "the folder has a column batch of its own, with the number of the batch",
                hint="name the column of the matches otherwise: withColumnRenamed('batch', ...)",
            )
        with _file_errors(self.path):
            files = files_of(frame.sparkSession, self.path)
            self._own(files, frame, query)
            self._refuse_older(files, batch, query)
            if files.exists(_batch_name(batch), _COMMITTED):
                return False
            files.delete(_NEW)
        try:
            _write_parquet(frame, files.uri(_NEW, "batch"))
            with _file_errors(self.path):
                self._commit(files, batch)
        finally:
            # What is left is invisible, and removed by the next batch if not now.
            with suppress(MotifError), _file_errors(self.path):
                files.delete(_NEW)
        return True

    def _own(self, files: Files, frame: DataFrame, query: str) -> None:
        """Take a new folder for this stream, or make sure that this one is its own."""
        mine = {"format": FORMAT, "query": query, "columns": frame.schema.simpleString()}
        found = _identity(files)
        if found == mine:
            return
        names = list(files.names()) if files.exists() else []
        if any(map(_is_batch, names)):
            raise self._differs(found, mine)
        if stranger := next((name for name in names if name[0] not in "_."), None):
            raise MotifError(
                f"{self.path} holds something that motif.sink did not write: {stranger}", hint="give an empty folder"
            )
        files.create(json.dumps(mine, indent=1), _NEW, _IDENTITY)
        files.delete(_IDENTITY)
        files.rename((_NEW, _IDENTITY), (_IDENTITY,))

    def _differs(self, found: dict[str, Any], mine: dict[str, Any]) -> MotifError:
        if found.keys() != mine.keys() or found["format"] != FORMAT:
            return MotifError(
                f"{self.path} was written by another version of Motif, or {_IDENTITY} in it is damaged",
                hint="give another path",
            )
        if found["query"] != mine["query"]:
            return MotifError(
                f"{self.path} holds the matches of another stream: of {named(found['query'])}, and this is "
                f"{named(mine['query'])}; a new checkpoint counts its batches from 0, so they would pass for old ones",
                hint="start with the old checkpoint, or give another path, or delete the folder to write it anew",
            )
        return MotifError(
            f"{self.path} has other columns than the matches: {found['columns']}, not {mine['columns']}",
            hint="give another path; where the query reads what was not kept, it needs another checkpoint, too",
        )

    def _refuse_older(self, files: Files, batch: int, query: str) -> None:
        """Spark repeats only the last batch; under an older number come other rows, to be lost or to be there twice."""
        if batch <= self.latest.get(query, batch):
            later = next((name for name in files.names() if _is_batch(name) and name > _batch_name(batch)), None)
            if later is not None:
                raise MotifError(
                    f"batch {batch} of {self.path} comes again after {later}: its checkpoint was set back",
                    hint=f"put the checkpoint back, or delete the folders from {_batch_name(batch)} on",
                )
        self.latest[query] = batch

    def _commit(self, files: Files, batch: int) -> None:
        """Make a written batch visible in one step, and note that it is whole."""
        parts = list(itertools.islice((n for n in files.names(_NEW, "batch") if n.startswith(_PART)), 2))
        if not parts:
            raise MotifError(
                f"Spark wrote batch {batch}, but no file of it is in {self.path}",
                hint="give a path that the driver and all executors share, such as hdfs://...",
            )
        # What is there without the note is of a crash after the renaming, or during it where a store copies files.
        files.delete(_batch_name(batch))
        is_empty = len(parts) == 1 and not files.rows(_NEW, "batch", parts[0])
        if is_empty and any(map(_is_batch, files.names())):
            return  # The first batch is kept even so: with it, readers know the columns.
        files.rename((_NEW, "batch"), (_batch_name(batch),))
        files.create("", _batch_name(batch), _COMMITTED)


def _identity(files: Files) -> dict[str, Any]:
    if not files.exists(_IDENTITY):
        return {}
    try:
        found = json.loads(files.read(_IDENTITY))
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _batch_name(batch: int) -> str:
    return f"batch={batch:012d}"


def _is_batch(name: str) -> bool:
    return name.startswith("batch=")


def _write_parquet(frame: DataFrame, uri: str) -> None:
    """Let Spark write; its default for instants is a type that other readers take for local times."""
    settings = frame.sparkSession.conf
    before = settings.get(_TIMESTAMPS)
    settings.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        with quiet():
            frame.write.parquet(uri)
    except AnalysisException as error:
        message, more = message_and_hint(str(error))
        hint = more or "cast the column to another type, or leave it out"
        raise MotifError(f"these matches cannot be written as Parquet: {message}", hint=hint) from None
    finally:
        settings.set(_TIMESTAMPS, cast("str", before))


class Files(Protocol):
    """The few things to do with files below a folder; names are given part by part."""

    def uri(self, *name: str) -> str: ...
    def exists(self, *name: str) -> bool: ...
    def names(self, *name: str) -> Iterator[str]: ...
    def read(self, *name: str) -> str: ...
    def create(self, text: str, *name: str) -> None: ...
    def rename(self, old: tuple[str, ...], new: tuple[str, ...]) -> None: ...
    def delete(self, *name: str) -> None: ...
    def rows(self, *name: str) -> int: ...


def files_of(session: SparkSession, path: str) -> Files:
    """Files as the session reaches them."""
    if not is_connect(session):
        return HadoopFiles(path, session._jvm, session._jsparkSession.sessionState().newHadoopConf())
    if path.startswith("file:"):
        return LocalFiles(Path("/" + path.removeprefix("file:").lstrip("/")))
    if "://" in path:
        raise MotifError(
            f"on Spark Connect a sink writes to local folders only, not to {path}",
            hint="files there are renamed through the JVM, which Connect does not give; run the stream in a classic "
            "session, or write to a database: motif.sink(connect=..., table=...)",
        )
    return LocalFiles(Path(path).absolute())


@dataclass(frozen=True)
class HadoopFiles:
    """Any file system that Spark reaches, through the JVM of a classic session."""

    root: str
    jvm: Any
    conf: Any

    @cached_property
    def system(self) -> Any:
        return self.path().getFileSystem(self.conf)

    def path(self, *name: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path("/".join((self.root.rstrip("/") or "/", *name)))

    def uri(self, *name: str) -> str:
        return str(self.path(*name).toString())

    def exists(self, *name: str) -> bool:
        return bool(self.system.exists(self.path(*name)))

    def names(self, *name: str) -> Iterator[str]:
        found = self.system.listStatusIterator(self.path(*name))
        while found.hasNext():
            yield found.next().getPath().getName()

    def read(self, *name: str) -> str:
        stream = self.system.open(self.path(*name))
        try:
            return str(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def create(self, text: str, *name: str) -> None:
        stream = self.system.create(self.path(*name), True)
        stream.write(bytearray(text, "utf-8"))
        stream.close()

    def rename(self, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        if not self.system.rename(self.path(*old), self.path(*new)):
            raise MotifError(f"{self.uri(*old)} could not be renamed to {self.uri(*new)}", hint="is it allowed there?")

    def delete(self, *name: str) -> None:
        self.system.delete(self.path(*name), True)

    def rows(self, *name: str) -> int:
        parquet = self.jvm.org.apache.parquet.hadoop
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(self.path(*name), self.conf))
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()


@dataclass(frozen=True)
class LocalFiles:
    """Files of this machine, for sessions without a JVM at hand."""

    root: Path

    def path(self, *name: str) -> Path:
        return self.root.joinpath(*name)

    def uri(self, *name: str) -> str:
        return f"file:{self.path(*name)}"

    def exists(self, *name: str) -> bool:
        return self.path(*name).exists()

    def names(self, *name: str) -> Iterator[str]:
        return (path.name for path in self.path(*name).iterdir())

    def read(self, *name: str) -> str:
        return self.path(*name).read_text("utf-8")

    def create(self, text: str, *name: str) -> None:
        self.path(*name).parent.mkdir(parents=True, exist_ok=True)
        self.path(*name).write_text(text, "utf-8")

    def rename(self, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        self.path(*old).rename(self.path(*new))

    def delete(self, *name: str) -> None:
        path = self.path(*name)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def rows(self, *name: str) -> int:
        return int(pq.read_metadata(self.path(*name)).num_rows)


@contextmanager
def _file_errors(path: str) -> Iterator[None]:
    """What a file system says, in one line."""
    try:
        yield
    except Py4JJavaError as error:
        raise _unusable(path, str(error.java_exception.getMessage())) from None
    except (PySparkException, OSError, ValueError) as error:
        raise _unusable(path, message_and_hint(str(error))[0]) from None


def _unusable(path: str, reason: str) -> MotifError:
    return MotifError(
        f"{path} cannot be written: {reason.splitlines()[0] if reason else 'no reason given'}",
        hint="a database takes motif.sink(connect=..., table=...)" if "scheme" in reason else None,
    )
