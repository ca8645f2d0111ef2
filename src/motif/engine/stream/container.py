"""Bytes that notice every damage: magic, format version, a header (JSON), blobs one after the other, CRC-32 of it all.

Nothing in it is code; reading it can only succeed or be refused with a reason.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from motif.errors import MotifError

MAGIC = b"MOTIF"
FORMAT = 3
_HEAD = struct.Struct("<HI")
T = TypeVar("T")


def pack(kind: str, header: dict[str, Any], blobs: Sequence[bytes]) -> bytes:
    """Header and blobs as bytes."""
    sizes = [len(blob) for blob in blobs]
    head = json.dumps({"kind": kind, "sizes": sizes, "header": header}).encode()
    content = b"".join((MAGIC, _HEAD.pack(FORMAT, len(head)), head, *blobs))
    return content + struct.pack("<I", zlib.crc32(content))


def unpack(kind: str, data: bytes, read: Callable[[dict[str, Any], list[bytes]], T]) -> T:
    """What `read` makes of header and blobs; raises MotifError where they are damaged or of another kind."""
    if data[: len(MAGIC)] != MAGIC:
        raise refused("these bytes are not a saved session of Motif")
    if len(data) < len(MAGIC) + _HEAD.size + 4 or zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise refused("the saved session is damaged or cut off (its checksum does not fit)")
    version, length = _HEAD.unpack_from(data, len(MAGIC))
    if version != FORMAT:
        raise refused(
            f"the saved session has format {version}, this version of Motif reads format {FORMAT}",
            "use the version of Motif that saved it" if version > FORMAT else "start a new session",
        )
    begin = len(MAGIC) + _HEAD.size
    with content():
        head = json.loads(data[begin : begin + length])
        if head["kind"] != kind:
            raise ValueError(head["kind"])
        return read(head["header"], _cut(data[begin + length : -4], head["sizes"]))


@contextmanager
def content() -> Iterator[None]:
    """Whatever is wrong with what was saved is told as one mistake."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError):
        raise refused("the saved session does not hold what it should") from None
    except pa.ArrowException:
        raise refused("the saved session does not hold what it should") from None


def _cut(body: bytes, sizes: list[int]) -> list[bytes]:
    if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != len(body):
        raise ValueError(sizes)
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [body[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def refused(message: str, hint: str = "start a new session, or use the query it was saved with") -> MotifError:
    """Why saved bytes are of no use here."""
    return MotifError(message, hint=hint)


def table_bytes(table: pa.Table | None) -> bytes:
    """A table as Arrow IPC; nothing for none."""
    if table is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def bytes_table(data: bytes) -> pa.Table | None:
    """The table again."""
    return pa.ipc.open_stream(data).read_all() if data else None
