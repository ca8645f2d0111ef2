"""What `motif run --follow` keeps to go on: Spark's checkpoint, whose it is, and the counters so far.

The folder holds `spark/` (all that Spark knows), `motif.json` (the query, its tables and options, and the columns that
were read), `counters.json`, and `lock` while a command uses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from motif.cli.files import replacing
from motif.errors import MotifError

FORMAT = 2
_IDENTITY, _COUNTERS, _LOCK, _SPARK = "motif.json", "counters.json", "lock", "spark"
_HOME = ".motif"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to."""

    query: str
    tables: dict[str, str]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """Short, and another one for every other query, table or option."""
        text = json.dumps([self.query, self.tables, self.options], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Home:
    """The folder, held by this process."""

    folder: Path
    identity: Identity
    columns: dict[str, Any]
    """What `motif.json` says of each table, if the stream has begun."""
    counters: dict[str, Any]

    @property
    def spark(self) -> Path:
        return self.folder / _SPARK

    def begin(self, columns: Mapping[str, Any]) -> None:
        """Note whose checkpoint this is."""
        known = {"format": FORMAT, "query": self.identity.query, "tables": self.identity.tables}
        self._write(_IDENTITY, {**known, "options": self.identity.options, "columns": dict(columns)})

    def count(self, counters: Mapping[str, Any]) -> None:
        """Note the counters after a batch."""
        self._write(_COUNTERS, dict(counters))

    def _write(self, name: str, content: dict[str, Any]) -> None:
        with replacing(self.folder / name) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1), encoding="utf-8")


def default_folder(first: Path, identity: Identity) -> Path:
    """Beside the first folder that is followed."""
    return first.resolve().parent / _HOME / identity.name


@contextlib.contextmanager
def opened(folder: Path, identity: Identity) -> Iterator[Home]:
    """The checkpoint, new or of the same command before, while no other process has it."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("a", encoding="utf-8")
    except OSError as error:
        hint = "name a folder that can be written: --checkpoint FOLDER"
        raise MotifError(f"cannot make the checkpoint {folder}: {error.strerror}", hint=hint) from None
    with lock:
        _hold(lock.fileno(), folder)
        before = _before(folder) if _is_begun(folder) else {}
        if before:
            _refuse_other(folder, before, identity)
        try:
            yield Home(folder, identity, before.get("columns", {}), _read(folder / _COUNTERS) if before else {})
        finally:
            if is_new and not _is_begun(folder):
                _remove(folder)


def _hold(file: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise MotifError(
            f"another motif run --follow is using the checkpoint {folder}",
            hint="stop it first, or give this one a folder of its own: --checkpoint FOLDER",
        ) from None


def _is_begun(folder: Path) -> bool:
    """Whether Spark has planned a batch; what was noted before that binds nobody."""
    names = (path.name for path in folder.iterdir() if path.suffix != ".part")
    if stranger := next((name for name in names if name not in (_IDENTITY, _COUNTERS, _LOCK, _SPARK)), None):
        raise MotifError(
            f"{folder} is not a checkpoint of motif run --follow: it holds {stranger}",
            hint="give --checkpoint an empty folder, or a new one",
        )
    offsets = folder / _SPARK / "offsets"
    return offsets.is_dir() and any(not path.name.startswith(".") for path in offsets.iterdir())


def _remove(folder: Path) -> None:
    """Of a command that came to nothing, nothing is left."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.parent.name == _HOME:
        with contextlib.suppress(OSError):  # others are in it
            folder.parent.rmdir()


def _before(folder: Path) -> dict[str, Any]:
    found = _read(folder / _IDENTITY)
    if found.get("format") != FORMAT or not {"query", "tables", "options", "columns"} <= found.keys():
        raise MotifError(
            f"the checkpoint {folder} was made by another version of Motif, or {_IDENTITY} in it is damaged",
            hint="delete the folder to begin anew, or give another one: --checkpoint FOLDER",
        )
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# -- what changed ---------------------------------------------------------------------------------------


def _refuse_other(folder: Path, before: Mapping[str, Any], identity: Identity) -> None:
    changed = [
        *_changed_text(before["query"], identity.query),
        *_changed(before["tables"], identity.tables, "the table {}"),
        *_changed(before["options"], identity.options, "--{}"),
    ]
    if changed:
        raise MotifError(
            f"the checkpoint {folder} belongs to another command: {'; '.join(changed)}",
            hint="begin anew with another --checkpoint (or delete this one), or go on with the command as it was",
        )


def _changed_text(before: str, now: str) -> Iterator[str]:
    for number, (old, new) in enumerate(zip_longest(before.splitlines(), now.splitlines(), fillvalue=""), 1):
        if old != new:
            yield f"line {number} of the query was `{old.strip()}` and is `{new.strip()}`"
            return


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], what: str) -> Iterator[str]:
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            yield f"{what.format(name)} was {_word(before.get(name))} and is {_word(now.get(name))}"


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "not given" if value is None else str(value)
