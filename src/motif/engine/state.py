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
    try:
        owner, facts, rows = _content(saved[11 : 11 + length], saved[11 + length : -4])
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException, OSError):
        raise _refused("the saved session does not hold what it should") from None
    if owner != fingerprint:
        raise _refused("the saved session belongs to another query, or to other column types")
    return facts, rows


def _content(header: bytes, body: bytes) -> tuple[str, Facts, pa.Table | None]:
    """Header and rows, if they fit each other."""
    values = json.loads(header)
    owner, has_rows = values.pop("query"), values.pop("rows")
    facts = Facts(**values)
    rows = pa.ipc.open_stream(body).read_all() if has_rows else None
    count = 0 if rows is None else rows.num_rows
    places = (facts.start, facts.number, facts.dropped, facts.covered, facts.fed)
    if not all(type(place) is int and place >= 0 for place in places) or facts.start > count or facts.covered > count:
        raise ValueError(places)
    return owner, facts, rows


def _ipc(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _refused(message: str) -> MotifError:
    return MotifError(message, hint="start a new session, or use the query it was saved with")
