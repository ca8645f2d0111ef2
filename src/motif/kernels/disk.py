"""Compiled code on disk: a folder per loop and version, in it a file per kind of arguments and processor.

It is run as it is found, so nothing is taken that anybody else could have written, and a file says which code it holds:
it begins with a checksum of its place and its content.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

SUFFIX = ".o"
_CHECK = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Where compiled loops are kept: MOTIF_CACHE, else the user's cache folder."""
    chosen = os.environ.get("MOTIF_CACHE") or os.environ.get("XDG_CACHE_HOME")
    base = Path(chosen) if chosen else Path.home() / ".cache"
    return base / "motif" / "kernels"


def has(loop: str) -> bool:
    """Whether there is code of a loop, for whatever arguments."""
    try:
        folder = _folder(loop)
        return folder is not None and any(path.suffix == SUFFIX for path in folder.iterdir())
    except (OSError, RuntimeError):  # there is no such folder, nor a home
        return False


def read(loop: str, kind: str) -> bytes | None:
    """The code, or None where there is none, or it is damaged or of something else."""
    try:
        folder = _folder(loop)
        if folder is None:
            return None
        with (folder / f"{kind}{SUFFIX}").open("rb") as file:
            content = file.read() if _is_ours_alone(os.fstat(file.fileno())) else b""
    except (OSError, RuntimeError):
        return None
    code = content[_CHECK:]
    return code if _checksum(loop, kind, code) == content[:_CHECK] else None


def write(loop: str, kind: str, code: bytes) -> None:
    """Keep the code, in one step; where the folder cannot be used, do not."""
    with suppress(OSError, RuntimeError):
        for folder in _levels(loop):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept_in = _folder(loop)
        if kept_in is None:
            return
        handle, name = tempfile.mkstemp(dir=kept_in, suffix=".tmp")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(loop, kind, code) + code)
            temporary.replace(kept_in / f"{kind}{SUFFIX}")
        finally:  # a disk may be full
            temporary.unlink(missing_ok=True)


def _checksum(loop: str, kind: str, code: bytes) -> bytes:
    return hashlib.sha256(f"{loop}\0{kind}\0".encode() + code).digest()


def _levels(loop: str) -> list[Path]:
    """The folder of a loop below those above it that are Motif's."""
    folder = cache_folder()
    inner = folder / loop
    return [folder.parent, folder, *reversed([part for part in inner.parents if folder in part.parents]), inner]


def _folder(loop: str) -> Path | None:
    """The folder of a loop; None where others could write to it."""
    *_, folder = levels = _levels(loop)
    for level in levels:
        if not _is_ours_alone(level.stat()):
            _tell(level)
            return None
    return folder


def _is_ours_alone(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # Windows: the user's folders are the user's
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _tell(folder: Path) -> None:
    """Once per folder."""
    logging.getLogger("motif").warning(
        "compiled loops are not kept: others can write to %s (make it yours alone: chmod go-w, or name another folder"
        " in MOTIF_CACHE)",
        folder,
    )
