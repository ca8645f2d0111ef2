"""Saved sessions: retained rows and a few numbers, in a format that notices every damage.

Layout: magic, format version, length of the header, header (JSON), rows (Arrow IPC), CRC-32 of all before it.
Nothing in it is code; reading it can only succeed or be refused with a reason.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass

import pyarrow as pa

from motif.errors import MotifError

MAGIC = b"MOTIF"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Facts:
    """Where the search stands in the retained rows."""

    start: int
    number: int
    dropped: int
    covered: int
    fed: int


def dump(fingerprint: str, facts: Facts, rows: pa.Table | None) -> bytes:
    """Session as bytes."""
    header = json.dumps({"query": fingerprint, "rows": rows is not None, **asdict(facts)}).encode()
    body = b"" if rows is None else _ipc(rows)
    content = MAGIC + struct.pack("<HI", FORMAT, len(header)) + header + body
    return content + struct.pack("<I", zlib.crc32(content))


def load(fingerprint: str, saved: bytes) -> tuple[Facts, pa.Table | None]:
    """Bytes as session; raises MotifError where they are damaged or belong to another query."""
    if saved[: len(MAGIC)] != MAGIC:
        raise _refused("these bytes are not a saved session of Motif")
    if len(saved) < 15 or zlib.crc32(saved[:-4]) != struct.unpack("<I", saved[-4:])[0]:
        raise _refused("the saved session is damaged or cut off (its checksum does not fit)")
    version, length = struct.unpack("<HI", saved[5:11])
    if version != FORMAT:
        raise _refused(f"the saved session has format {version}, this version of Motif reads format {FORMAT}")
    header = json.loads(saved[11 : 11 + length])
    if header.pop("query") != fingerprint:
        raise _refused("the saved session belongs to another query, or to other column types")
    has_rows = header.pop("rows")
    rows = pa.ipc.open_stream(saved[11 + length : -4]).read_all() if has_rows else None
    return Facts(**header), rows


def _ipc(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _refused(message: str) -> MotifError:
    return MotifError(message, hint="start a new session, or use the query it was saved with")
