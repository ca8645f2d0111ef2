"""A folder for what does not fit into memory: of this process alone, and gone with it.

Who removes it when the process is killed? The next process that makes one: folders are locked as long as their process
lives, and one that is not locked is nobody's.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

from motif.errors import MotifError

PREFIX = "motif-spill-"
_NUMBERS = count()


def fresh_folder(chosen: str | None) -> Path:
    """The name of a folder that is not there yet, in that of this process under `chosen`, or under the system's."""
    base = tempfile.gettempdir() if chosen is None else str(Path(chosen).absolute())
    try:
        return _folder(os.getpid(), base) / str(next(_NUMBERS))
    except OSError as error:
        raise MotifError(
            f"cannot write temporary files to {base}: {error.strerror}",
            hint="name another folder: motif.limits.LIMITS = replace(motif.limits.LIMITS, temp_folder=...)",
        ) from None


@lru_cache(maxsize=16)
def _folder(process: int, base: str) -> Path:
    _remove_abandoned(Path(base))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))  # nobody else may look into it
    while _locked(folder, wait=True) is None:  # another process took it for abandoned before it was locked
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    atexit.register(_remove, folder, process)
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not at the end of one that was forked
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(base: Path) -> None:
    """Folders of the same user whose processes are gone."""
    with os.scandir(base) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    for folder in found:
        with suppress(OSError):  # it is another user's, or is being removed
            if _is_ours(folder) and (lock := _locked(folder, wait=False)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return sys.platform != "win32" and stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _locked(folder: Path, *, wait: bool) -> int | None:
    """What holds the lock of the folder until it is closed, or the process ends; None where it cannot be had."""
    if sys.platform == "win32":  # folders have no locks there: only a process itself removes its own
        return -1
    import fcntl

    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if folder.exists():
            return lock
    except BlockingIOError:
        pass
    os.close(lock)
    return None
