"""Compiled code on disk: a folder per loop and version, in it a file per kind of arguments and processor.

A file begins with a checksum.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
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
        return any(path.suffix == SUFFIX for path in (cache_folder() / loop).iterdir())
    except (OSError, RuntimeError):  # there is no such folder, nor a home
        return False


def read(loop: str, kind: str) -> bytes | None:
    """The code, or None where there is none or it is damaged."""
    try:
        content = (cache_folder() / loop / f"{kind}{SUFFIX}").read_bytes()
    except (OSError, RuntimeError):
        return None
    code = content[_CHECK:]
    return code if hashlib.sha256(code).digest() == content[:_CHECK] else None


def write(loop: str, kind: str, code: bytes) -> None:
    """Keep the code, in one step; where the folder cannot be used, do not."""
    with suppress(OSError, RuntimeError):
        folder = cache_folder() / loop
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            temporary.replace(folder / f"{kind}{SUFFIX}")
        finally:  # a disk may be full
            temporary.unlink(missing_ok=True)
