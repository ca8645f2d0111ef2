"""Saved streams: saving and restoring changes nothing, damage is noticed, a changed query is refused with a reason.

What is kept goes away once it cannot matter any more.
"""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import pickle
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.engine.order import crossing, layout
from motif.engine.stream import container
from motif.engine.stream.session import Planned, StreamSession
from motif.engine.stream.status import Status
from motif.hosts import duckdb, duckdb_events
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.plan.events.planner import plan_events
from motif.plan.events.program import Stream
from motif.plan.physical.costs import PLAIN
from motif.plan.planner import plan
from motif.testing.fuzz import memory_source
from motif.testing.generate import random_rows
from motif.testing.stream_fuzz import Case, Manner
from motif.testing.tables import to_arrow

EPOCH = dt.datetime(2026, 1, 1)
ZERO = dt.datetime(1970, 1, 1)
SCHEMA = {"ts": "timestamp", "type": "string", "k": "string", "x": "int", "y": "int"}
Row = dict[str, Any]


def at(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)


def event(kind: str, seconds: float, x: int = 0, k: str = "k", y: int = 0) -> Row:
    return {"ts": at(seconds), "type": kind, "k": k, "x": x, "y": y}


def shown(found: pa.Table) -> list[tuple[Any, ...]]:
    hidden = ("match_id", "match_start", "match_end")
    return [tuple(value for name, value in row.items() if name not in hidden) for row in found.to_pylist()]


# -- saving and restoring changes nothing


class Planning(Case):
    """A planned query over some rows, in no order."""

    def __init__(self, text: str, table: pa.Table) -> None:
        super().__init__(random.Random(0))
        self.text = text
        source = memory_source(table)
        if text.startswith("MATCH_RECOGNIZE"):
            self.query = parse_clause(text)
            program: Any = plan(self.query, source)
            sql = source.select(duckdb.columns_sql(crossing(program)))
        else:
            self.query = parse_events(text)
            program = plan_events(self.query, source, Stream())
            sql = duckdb_events.input_sql(program, source)
        self.planned = Planned(program, layout(program, source.types_of(crossing(program))))
        self.rows: pa.Table = source.database.table(sql).combine_chunks()

    def times(self) -> list[int]:
        column = self.rows.column(self.planned.layout.order[0].column)
        return [(time - ZERO) // dt.timedelta(microseconds=1) for time in column.to_pylist()]

    def restored(self, session: StreamSession) -> StreamSession:
        return StreamSession.load(self.planned, session.dump(), costs=PLAIN)


CLAUSES = {
    "unmatched rows": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n,
        CLASSIFIER() AS label ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+) DEFINE A AS v < 3, B AS v > 1)""",
    "unmatched rows and overlapping matches": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A A B) DEFINE A AS v < 4, B AS v > 1)""",
    "rows before and after the match": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES PREV(FIRST(v), 2) AS p,
        NEXT(LAST(v), 2) AS n PATTERN (A+) DEFINE A AS v > PREV(v) OR v < NEXT(v, 2))""",
    "the match so far": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES SUM(A.v) AS s, COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS SUM(A.v) < 9, B AS w < LAST(A.w))""",
    "strings and labels": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES ARRAY_AGG(c) AS cs
        PATTERN ((A | B)+ X) DEFINE A AS c <> 'b', X AS c = FIRST(B.c) OR PREV(CLASSIFIER()) = 'A')""",
    "number of the match": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n, COUNT(*) AS s
        ALL ROWS PER MATCH PATTERN (A* B?) DEFINE A AS MATCH_NUMBER() % 2 = 0 AND v > 1, B AS v > 3)""",
    "WITHIN": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS c, FIRST(ts) AS f
        PATTERN (A B*) WITHIN INTERVAL '90' SECOND DEFINE A AS v > 0)""",
    "INCREMENTAL MATCH": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n, LAST(t) AS l
        INCREMENTAL MATCH PATTERN (A B+) DEFINE A AS v < 4, B AS v > 0)""",
    "anchors": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(t) AS f, LAST(t) AS l
        PATTERN (^ A+ | B+ $) DEFINE A AS v > 1, B AS v < 4)""",
    "no partition": """MATCH_RECOGNIZE (ORDER BY ts, k MEASURES FIRST(t) AS f, COUNT(*) AS c PATTERN (A B B*?)
        DEFINE B AS v > A.v)""",
}
QUERIES = {
    "SEQ": "SELECT a.t AS a, b.t AS b FROM SEQ(a; b) WHERE [k] AND a.c = 'a' AND b.c = 'b'",
    "NOT": "SELECT a.t AS a, b.t AS b FROM SEQ(a; NOT n; b) WHERE [k] AND a.v > 1 AND n.v = a.v AND b.v > 2",
    "NOT at the end": "SELECT a.t AS a FROM SEQ(a; NOT n) WHERE [k] AND a.v > 1 AND n.v > a.v WITHIN 90 s",
    "a list at the end": "SELECT a.t AS a, SUM(b.v) AS b FROM SEQ(a; b+) WHERE [k] AND b.v > a.v WITHIN 90 s",
    "a list at the beginning": "SELECT a.t AS a, COUNT(b) AS b FROM SEQ(b+; a) WHERE [k] AND b.v > a.v WITHIN 90 s",
    "PICK LAST": "SELECT a.t AS a, b.t AS b FROM SEQ(a; b) WHERE [k] AND a.v < b.v PICK LAST b WITHIN 2 min",
    "PICK FIRST": "SELECT a.t AS a, b.t AS b FROM SEQ(a; b) WHERE [k] AND a.v < b.v PICK FIRST a",
    "CONSUMING": "SELECT a.t AS a, b.t AS b FROM SEQ(a; b) WHERE [k] PICK LAST a CONSUMING a",
    "CONSUMING at a deadline": "SELECT a.t AS a, COUNT(b) AS b FROM SEQ(a; b+) WHERE [k] WITHIN 1 min CONSUMING ALL",
    "events counted": "SELECT a.t AS a, b.t AS b FROM SEQ(a; NOT n; b) WHERE [k] AND n.v > 4 WITHIN 3 EVENTS",
    "OR, ANY and TSEQ": "SELECT a.t AS a FROM SEQ(OR(a, b); ANY(1, c, d); TSEQ(e, f; 0, 60)) WHERE [k] AND e.v < f.v",
    "no key": "SELECT a.t AS a, b.t AS b FROM ALL(a, b) WHERE a.k = b.k AND a.v = 1 AND b.v = 2",
}
SAMPLE = to_arrow([row for row in random_rows(random.Random(7), partitions=8) if row["ts"] is not None])


@pytest.mark.parametrize("text", [*CLAUSES.values(), *QUERIES.values()], ids=[*CLAUSES, *QUERIES])
def test_saving_and_restoring_after_every_event_changes_nothing(text: str) -> None:
    planning = Planning(text, SAMPLE)
    assert planning.batch()
    times = planning.times()
    steps: list[tuple[pa.Table, ...]] = []
    session = StreamSession(planning.planned, costs=PLAIN)
    for number in sorted(range(len(times)), key=times.__getitem__):
        steps.append(session.push(planning.rows.slice(number, 1)).matches)
        session = planning.restored(session)
        steps.append(session.advance(times[number] - 1).matches)
        session = planning.restored(session)
    steps.append(planning.restored(session).close().matches)
    assert planning.fault(steps) is None


@pytest.mark.random
@pytest.mark.parametrize("chunk", range(5))
def test_saving_and_restoring_after_every_row_changes_nothing_in_random_cases(chunk: int) -> None:
    """Ten queries over four streams each, saved after every row or two."""
    cases = 0
    for seed in range(chunk * 10, chunk * 10 + 10):
        rng = random.Random(f"saved {seed}")
        case = Case(rng, Manner("pieces of one row", rng.choice((0, 1, 4, 10)), advances=0.8, saves=1))
        try:
            case.build()
            case.batch()
        except motif.UnsupportedQuery:
            continue
        assert case.fault(case.stream(PLAIN)) is None, case.text
        cases += case.streams
    assert cases >= 20


STREAMS: dict[str, Any] = {
    "events": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 10 s",
    "eager events": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] WITHIN 3 s",
    "rows": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n, FIRST(x) AS a, LAST(x) AS b
        PATTERN (A B+) WITHIN INTERVAL '3' SECOND DEFINE A AS type = 'A', B AS type <> 'A')""",
    "a stack": [
        "DEFINE P SELECT a.x FROM SEQ(A a; NOT C c) WHERE [k] WITHIN 2 s",
        "SELECT p.x AS a, b.x AS b FROM SEQ(P p; B b) WITHIN 9 s",
    ],
}


def counted(stream: motif.Stream) -> Status:
    """What is kept may be less after saving, and takes other room."""
    return replace(stream.status, live=0, state_bytes=0)


def sample_events(count: int = 24) -> list[Row]:
    rng = random.Random(3)
    return [
        event(rng.choice("AAABBBC"), number / 2 + rng.choice((0, 1)), number, rng.choice("kl"))
        for number in range(count)
    ]


@pytest.mark.parametrize("query", STREAMS.values(), ids=STREAMS)
def test_a_stream_saved_to_a_file_after_every_event(query: Any, tmp_path: Path) -> None:
    events, path = sample_events(), tmp_path / "stream.motif"
    stream = motif.Stream(query, SCHEMA, lateness="1 s", emit=("match", "late"))
    plain = motif.Stream(query, SCHEMA, lateness="1 s", emit=("match", "late"))
    count = 0
    for one in [*events, event("A", 0)]:
        stream.save(path)
        stream = motif.Stream.load(path)
        found, expected = stream.push(one), plain.push(one)
        assert found.equals(expected)
        count += found.num_rows
    assert counted(stream) == counted(plain)
    assert stream.status.late == 1
    found = stream.close()
    assert found.equals(plain.close())
    assert count + found.num_rows > 2
    assert [file.name for file in tmp_path.iterdir()] == ["stream.motif"], "nothing else is left behind"


def test_several_inputs_and_options_are_saved(tmp_path: Path) -> None:
    schemas = {
        "logins": {"when": "timestamp", "k": "string"},
        "orders": {"when": "timestamp", "k": "string", "n": "int"},
    }
    query = "SELECT b.n AS n FROM SEQ(logins a; NOT logins c; orders b) WHERE [k] PICK LAST b WITHIN 5 s"
    stream = motif.Stream(query, schemas, time="when", order_by=["k"], lateness="2 s", emit="match")
    stream.push({"when": at(0), "k": "k"}, input="logins")
    stream.push({"when": at(1), "k": "k", "n": 1}, input="orders")
    stream.save(tmp_path / "saved")
    again = motif.Stream.load(tmp_path / "saved")
    assert counted(again) == counted(stream)
    for one in (stream, again):
        assert one.push({"when": at(9), "k": "k", "n": 2}, input="orders").num_rows == 0, "logins hold the watermark"
        assert one.push({"when": at(7.5), "k": "k"}, input="logins").to_pylist()[0]["n"] == 1
        assert one.status.lag_seconds == pytest.approx(3.5, abs=1e-5)


def test_functions_are_given_again(tmp_path: Path) -> None:
    query = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE big(a.x) AND near(a.x, b.x)"
    functions: dict[str, Callable[..., Any]] = {"big": lambda x: x > 3, "near": lambda a, b: abs(a - b) < 3}
    stream = motif.Stream(query, SCHEMA, functions=functions)
    stream.push([event("A", 0, 1), event("A", 1, 5)])
    stream.save(tmp_path / "saved")
    again = motif.Stream.load(tmp_path / "saved", functions=functions)
    assert shown(again.push(event("B", 2, 4))) == [(5, 4)]
    with pytest.raises(motif.MotifError, match=r"(?i)big"):
        motif.Stream.load(tmp_path / "saved")


def test_a_stream_that_never_got_an_event_can_be_saved(tmp_path: Path) -> None:
    for query in STREAMS.values():
        stream = motif.Stream(query, SCHEMA)
        stream.save(tmp_path / "saved")
        again = motif.Stream.load(tmp_path / "saved")
        assert again.status == stream.status
        events = [event("A", 0, 1), event("B", 2.5, 2), event("B", 3, 3)]
        assert again.push(events).equals(stream.push(events))
        assert again.close().equals(stream.close())


def test_a_closed_stream_stays_closed(tmp_path: Path) -> None:
    stream = motif.Stream(STREAMS["events"], SCHEMA)
    stream.push(event("A", 0))
    stream.close()
    stream.save(tmp_path / "saved")
    with pytest.raises(motif.MotifError, match="the stream is closed"):
        motif.Stream.load(tmp_path / "saved").push(event("B", 1))


def test_a_file_is_complete_or_not_there(tmp_path: Path) -> None:
    """A second save replaces the first in one step; one that cannot be written leaves the first as it was."""
    stream = motif.Stream(STREAMS["events"], SCHEMA)
    stream.save(tmp_path / "saved")
    before = (tmp_path / "saved").read_bytes()
    with pytest.raises(motif.MotifError, match=r"(?i)cannot write .*below: not a directory"):
        stream.save(tmp_path / "saved" / "below")
    assert (tmp_path / "saved").read_bytes() == before
    stream.push(event("A", 0))
    stream.save(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() != before


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    stream = motif.Stream(STREAMS["events"], SCHEMA)
    stream.save(tmp_path / "saved")
    before = (tmp_path / "saved").read_bytes()
    stream.push(event("A", 0))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(motif.MotifError, match=r"cannot write .*saved: No space left on device"):
        stream.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert (tmp_path / "saved").read_bytes() == before


# -- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    stream = motif.Stream(STREAMS["events"], SCHEMA)
    stream.push([event("A", 0, 1), event("A", 1, 2), event("B", 2, 3)])
    path = tmp_path_factory.mktemp("saved") / "stream"
    stream.save(path)
    return path.read_bytes()


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], motif.Stream]:
    """Loads bytes as if they were in a file; to write thousands of files takes too long."""
    content = [b""]
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: content[0] if path == Path("bytes") else path.open("rb").read()
    )

    def load(data: bytes) -> motif.Stream:
        content[0] = data
        return motif.Stream.load("bytes")

    return load


Loading = Callable[[bytes], motif.Stream]
DAMAGED = r"damaged or cut off|not a saved session"


def test_what_was_saved_can_be_loaded(saved: bytes, loading: Loading) -> None:
    assert shown(loading(saved).close()) == [(1, 3), (2, 3)]


def test_every_flipped_byte_is_noticed(saved: bytes, loading: Loading) -> None:
    for position in range(len(saved)):
        for mask in (1 << position % 8, 0xFF):
            bad = saved[:position] + bytes([saved[position] ^ mask]) + saved[position + 1 :]
            with pytest.raises(motif.MotifError, match=DAMAGED):
                loading(bad)


def test_every_cut_is_noticed(saved: bytes, loading: Loading) -> None:
    for size in range(len(saved)):
        with pytest.raises(motif.MotifError, match=DAMAGED):
            loading(saved[:size])
    for longer in (saved + b"\0", saved + saved, b"\0" + saved):
        with pytest.raises(motif.MotifError, match=DAMAGED):
            loading(longer)


def test_every_flipped_byte_of_a_session_is_noticed() -> None:
    """The sessions inside, and those in a state store, have a checksum of their own."""
    planning = Planning(QUERIES["NOT"], SAMPLE)
    session = StreamSession(planning.planned, costs=PLAIN)
    session.push(planning.rows.slice(0, 2))
    good = session.dump()
    for position in range(len(good)):
        bad = good[:position] + bytes([good[position] ^ 0x20]) + good[position + 1 :]
        with pytest.raises(motif.MotifError, match=DAMAGED):
            StreamSession.load(planning.planned, bad)
    for size in range(len(good)):
        with pytest.raises(motif.MotifError, match=DAMAGED):
            StreamSession.load(planning.planned, good[:size])


def sealed(content: bytes) -> bytes:
    """With a checksum that fits, as someone would write who means harm."""
    return content + struct.pack("<I", zlib.crc32(content))


def header_of(good: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack("<I", good[7:11])[0]
    return json.loads(good[11 : 11 + length]), good[11 + length : -4]


def with_header(good: bytes, header: Any, body: bytes | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return sealed(good[:7] + struct.pack("<I", len(text)) + text + (header_of(good)[1] if body is None else body))


def changed(good: bytes, *path: str | int, value: Any) -> bytes:
    header, body = header_of(good)
    part: Any = header
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return with_header(good, header, body)


FORGERIES: dict[str, Callable[[bytes], bytes]] = {
    "the header is no JSON": lambda good: with_header(good, b"{"),
    "the header is no text": lambda good: with_header(good, b"\xff\xfe"),
    "the header is a list": lambda good: with_header(good, []),
    "the header lacks everything": lambda good: with_header(good, {}),
    "the header is longer than all": lambda good: sealed(good[:7] + struct.pack("<I", 2**31) + good[11:-4]),
    "no queries": lambda good: changed(good, "header", "queries", value=[]),
    "a query that is none": lambda good: changed(good, "header", "queries", value=["SELECT"]),
    "a query that is a number": lambda good: changed(good, "header", "queries", value=[3]),
    "queries that are none": lambda good: changed(good, "header", "queries", value=None),
    "a schema less": lambda good: changed(good, "header", "schemas", value=[]),
    "an option that is not one": lambda good: changed(good, "header", "options", value={"speed": 3}),
    "a lateness that is none": lambda good: changed(good, "header", "options", "lateness", value="soon"),
    "a watermark that is a text": lambda good: changed(good, "header", "watermark", value="now"),
    "a watermark that is nothing": lambda good: changed(good, "header", "watermark", value=None),
    "too few times": lambda good: changed(good, "header", "latest", value=[]),
    "a time that is a text": lambda good: changed(good, "header", "latest", value=["now"]),
    "sizes that do not add up": lambda good: changed(good, "sizes", 0, value=1),
    "a negative size": lambda good: changed(good, "sizes", value=[-1, *header_of(good)[0]["sizes"][1:]]),
    "a size that is a text": lambda good: changed(good, "sizes", 0, value="1"),
    "the rows are cut": lambda good: sealed(good[:-100]),
    "the rows are missing": lambda good: with_header(good, header_of(good)[0], b""),
    "the rows are nonsense": lambda good: sealed(good[:-200] + b"\xff" * 196),
    "nothing but the magic": lambda good: sealed(good[:11]),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_forged_state_is_refused(saved: bytes, loading: Loading, forgery: Callable[[bytes], bytes]) -> None:
    with pytest.raises(motif.MotifError):
        loading(forgery(saved))


@pytest.mark.parametrize("query", STREAMS.values(), ids=STREAMS)
def test_rows_that_were_forged_are_refused_or_used(query: Any, tmp_path: Path, loading: Loading) -> None:
    """Bytes of saved rows are changed, with a checksum that fits: nothing becomes the number of a row unchecked."""
    stream = motif.Stream(query, SCHEMA, lateness="1 s")
    for one in sample_events():
        stream.push(one)
    stream.save(tmp_path / "saved")
    good, rng, refused = (tmp_path / "saved").read_bytes(), random.Random(5), 0
    begin = len(good) - len(header_of(good)[1]) - 4
    for _ in range(150):
        bad = bytearray(good[:-4])
        for _ in range(rng.choice((1, 1, 8))):
            bad[rng.randrange(begin, len(bad))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        try:
            forged = loading(_sealed_within(bytes(bad)))
        except motif.MotifError:
            refused += 1
            continue
        for one in (event("A", 60, 1), event("B", 61, 2)):
            forged.push(one)
        forged.close()
    assert refused >= 20


def _sealed_within(content: bytes) -> bytes:
    """With checksums that fit, also of the sessions in it."""
    header, body = header_of(content + b"0000")
    parts, at = [], 0
    for size in header["sizes"]:
        part = body[at : at + size]
        parts.append(sealed(part[:-4]) if part.startswith(container.MAGIC) else part)
        at += size
    return sealed(content[: len(content) - len(body)] + b"".join(parts))


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("__ahead", "__covered", "__dropped") for value in (-1, 1 << 40)] + [("__number", -1)],
)
def test_facts_of_rows_are_not_trusted(name: str, value: int) -> None:
    planning = Planning(CLAUSES["unmatched rows and overlapping matches"], SAMPLE)
    session = StreamSession(planning.planned, costs=PLAIN)
    session.push(planning.rows.slice(0, 20))
    session.advance(planning.times()[19])
    kept = session.patterns.kept.table
    assert kept is not None
    place, rows = kept.column_names.index(name), kept.num_rows
    session.patterns.kept.table = kept.set_column(place, name, pa.array([value] + [0] * (rows - 1), pa.int64()))
    with pytest.raises(motif.MotifError, match="does not hold what it should"):
        StreamSession.load(planning.planned, session.dump())


def test_a_file_of_another_kind(saved: bytes, loading: Loading, tmp_path: Path) -> None:
    for data in (b"", b"MOTI", b"PAR1" * 100, b"ts,type\n1,A\n", bytes(range(256)) * 8):
        with pytest.raises(motif.MotifError, match=r"not a saved session of Motif") as caught:
            loading(data)
        assert caught.value.hint
    planning = Planning(QUERIES["SEQ"], SAMPLE)
    session = StreamSession(planning.planned).dump()
    with pytest.raises(motif.MotifError, match="does not hold what it should"):
        loading(session)
    with pytest.raises(motif.MotifError, match="does not hold what it should"):
        StreamSession.load(planning.planned, saved)
    with pytest.raises(motif.MotifError, match=r"cannot read .*missing: No such file"):
        motif.Stream.load(tmp_path / "missing")
    with pytest.raises(motif.MotifError, match=r"cannot read .*: Is a directory"):
        motif.Stream.load(tmp_path)


@pytest.mark.parametrize(
    ("version", "hint"),
    [(container.FORMAT + 1, "use the version of Motif that saved it"), (container.FORMAT - 1, "start a new session")],
)
def test_another_format(saved: bytes, loading: Loading, version: int, hint: str) -> None:
    other = sealed(saved[:5] + struct.pack("<H", version) + saved[7:-4])
    with pytest.raises(motif.MotifError, match=f"has format {version}, this version of Motif reads") as caught:
        loading(other)
    assert caught.value.hint == hint


# -- a changed query

EVENT = "SELECT a.x AS a, a.y AS ay, b.x AS b FROM SEQ(A a; NOT C c; B b) WHERE [k] AND a.x < b.x WITHIN 10 s"
ROWS = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(x) AS a, LAST(x) AS b, SUM(y) AS s
    PATTERN (A B+) WITHIN INTERVAL '10' SECOND DEFINE A AS type = 'A', B AS type = 'B')"""
PAIR = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] AND a.x < b.x WITHIN 10 s"
BEFORE = [event("A", 0, 1, y=7), event("A", 1, 5, y=8), event("C", 2, k="l")]
AFTER = [event("B", 3, 3), event("B", 4, 9), event("A", 5, 2), event("B", 6, 4), event("B", 30, 9)]


def resumed(tmp_path: Path, before: Any, after: Any, events: list[Row] = BEFORE) -> motif.Stream:
    """A stream that got events, was saved at the time of the last of them, and is loaded with another query."""
    stream = motif.Stream(before, SCHEMA)
    stream.push(events)
    stream.advance(events[-1]["ts"])
    stream.save(tmp_path / "saved")
    return motif.Stream.load(tmp_path / "saved", query=after)


ACCEPTED: dict[str, tuple[str, str]] = {
    "the same": (EVENT, EVENT),
    "in other words": (EVENT, EVENT.lower().replace("a a", "A a").replace("b b", "B b").replace("c c", "C c")),
    "a shorter window": (EVENT, EVENT.replace("10 s", "2 s")),
    "other items": (EVENT, EVENT.replace("a.y AS ay", "a.y + b.x AS both, a.ts AS since")),
    "fewer items": (EVENT, EVENT.replace("a.y AS ay, ", "")),
    "another condition across events": (EVENT, EVENT.replace("a.x < b.x", "a.x >= b.x")),
    "no condition across events": (EVENT, EVENT.replace(" AND a.x < b.x", "")),
    "PICK in a shorter window": (EVENT, EVENT.replace("WITHIN 10 s", "PICK LAST a WITHIN 5 s")),
    "other items with CONSUMING": (f"{EVENT} CONSUMING a", f"{EVENT} CONSUMING a".replace("a.y AS ay, ", "")),
    "events are put in order": (PAIR, PAIR.replace("A a;", "A a+;")),
    "events need not be put in order": (PAIR.replace("A a;", "A a+;"), PAIR),
    "only the beginning changes": (PAIR, PAIR.replace("SEQ(A a; B b)", "SEQ(A a; A c; B b)")),
    "what is always last": ("SELECT a.x AS a, b.x AS b FROM OR(B a, D b)",) * 2,
    "the same rows": (ROWS, ROWS),
    "other measures": (ROWS, ROWS.replace("SUM(y) AS s", "MAX(y) - MIN(y) AS s, COUNT(*) AS n")),
    "fewer measures": (ROWS, ROWS.replace(", SUM(y) AS s", "")),
}


@pytest.mark.parametrize(("before", "after"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_changed_query_for_which_enough_was_kept(before: str, after: str, tmp_path: Path) -> None:
    """It gives what it would have given, had it been there from the beginning."""
    stream = resumed(tmp_path, before, after)
    always = motif.Stream(after, SCHEMA)
    assert always.push(BEFORE).num_rows + always.advance(BEFORE[-1]["ts"]).num_rows == 0
    expected = pa.concat_tables([*(always.push(one) for one in AFTER), always.close()])
    found = pa.concat_tables([*(stream.push(one) for one in AFTER), stream.close()])
    assert expected.num_rows
    assert found.equals(expected)


def test_a_shorter_window_decides_earlier(tmp_path: Path) -> None:
    unpaid = "SELECT a.x AS a FROM SEQ(A a; NOT B b) WITHIN 10 s"
    stream = resumed(tmp_path, unpaid, unpaid.replace("10", "5"), [event("A", 0, 1)])
    assert [stream.advance(at(seconds)).num_rows for seconds in (4.999999, 5, 10, 11)] == [0, 1, 0, 0]


def test_events_of_one_time_are_ordered_anew(tmp_path: Path) -> None:
    """Ties are broken by the columns that conditions read, and these may have changed."""
    before = "SELECT a.x AS a, a.y AS y, b.x AS b, b.y AS by FROM SEQ(A a; B b) WHERE a.x < b.x PICK LAST a WITHIN 9 s"
    after = before.replace("a.x < b.x", "a.y < b.y")
    events = [event("A", 0, 1, y=2), event("A", 0, 2, y=1), event("C", 1)]
    stream = resumed(tmp_path, before, after, events)
    expected = motif.match(pa.Table.from_pylist([*events, event("B", 2, 9, y=9)]), after)
    assert shown(pa.concat_tables([stream.push(event("B", 2, 9, y=9)), stream.close()])) == shown(expected)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "another sequence": (PAIR, PAIR.replace("A a; B b", "B b; A a"), "events that were only the last of a match were"),
    "what was last is not": (
        PAIR,
        PAIR.replace("SEQ(A a; B b)", "ALL(A a, B b)"),
        "and it looks for others after them",
    ),
    "what was last is a list": (PAIR, PAIR.replace("B b)", "B b+)"), "and it looks for others after them"),
    "CONSUMING is new": (PAIR, f"{PAIR} CONSUMING a", "a query that consumes events cannot change but for SELECT"),
    "CONSUMING is gone": (f"{PAIR} CONSUMING a", PAIR, "cannot change but for SELECT"),
    "PICK with CONSUMING": (
        f"{PAIR} CONSUMING a",
        PAIR.replace("WITHIN", "PICK LAST a WITHIN") + " CONSUMING a",
        "change",
    ),
    "PICK in a window of events": (
        EVENT.replace("10 s", "4 EVENTS"),
        EVENT.replace("WITHIN 10 s", "PICK LAST a WITHIN 3 EVENTS"),
        "it looks further back than rows were kept",
    ),
    "the first of a stack": (
        STREAMS["a stack"],
        [STREAMS["a stack"][0].replace("NOT C c", "NOT B c"), STREAMS["a stack"][1]],
        "query 1 of the stack changed, whose matches are events for those after it",
    ),
    "another key": (EVENT, EVENT.replace("[k]", "a.k <> b.k"), 'the partition key changed\n  from "k"\n  to   none'),
    "another filter": (EVENT, EVENT.replace("a.x <", "a.y > 3 AND a.x <"), "changed|it reads what was not kept"),
    "another class": (EVENT, EVENT.replace("C c", "D c"), "the conditions that decide which events are kept changed"),
    "a class more": (EVENT, EVENT.replace("B b)", "B b; D d)"), "the conditions that decide which events are kept"),
    "a longer window": (EVENT, EVENT.replace("10 s", "11 s"), "its window is longer than events were kept"),
    "no window": (EVENT, EVENT.replace("WITHIN 10 s", ""), "its window is longer than events were kept"),
    "PICK looks further back": (EVENT, EVENT.replace("WITHIN", "PICK LAST a WITHIN"), "its window is longer than"),
    "a window of events": (EVENT, EVENT.replace("10 s", "3 EVENTS"), "the conditions that decide which events are"),
    "a column more": (EVENT.replace("a.y AS ay, ", ""), EVENT, r'it reads what was not kept: "y" \(integer'),
    "more events": (
        EVENT.replace("10 s", "3 EVENTS"),
        EVENT.replace("10 s", "4 EVENTS"),
        "it looks further back than rows were kept",
    ),
    "another pattern of rows": (ROWS, ROWS.replace("A B+", "A B*"), "the pattern changed"),
    "another condition of rows": (ROWS, ROWS.replace("'B')", "'C')"), "the pattern changed|was not kept"),
    "another window of rows": (ROWS, ROWS.replace("'10'", "'9'"), "the pattern changed"),
    "other rows put out": (ROWS, ROWS.replace("PATTERN", "ALL ROWS PER MATCH PATTERN"), "the pattern changed|not kept"),
    "another key of rows": (ROWS, ROWS.replace("PARTITION BY k", "PARTITION BY type"), "the partition key changed"),
    "another order of rows": (ROWS, ROWS.replace("ORDER BY ts", "ORDER BY ts, x"), "the order of events changed"),
    "a look back": (ROWS, ROWS.replace("SUM(y)", "PREV(x, 3)"), "it looks further back than rows were kept"),
    "a number": (ROWS, ROWS.replace("SUM(y)", "MATCH_NUMBER()"), "number"),
    "another language": (EVENT, ROWS, "the language changed\n  from event pattern\n  to   row pattern"),
    "the other language": (ROWS, EVENT, "the language changed\n  from row pattern\n  to   event pattern"),
    "a stack": (EVENT, STREAMS["a stack"], "the saved stream had 1 queries, there are 2 now"),
}


@pytest.mark.parametrize(("before", "after", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_changed_query_for_which_not_enough_was_kept(before: Any, after: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(motif.MotifError, match=reason) as caught:
        resumed(tmp_path, before, after)
    assert caught.value.hint == "start a new session, or use the query it was saved with"
    assert motif.Stream.load(tmp_path / "saved").close().num_rows == 0, "the file is as good as before"


@pytest.mark.parametrize("query", [EVENT, ROWS], ids=["events", "rows"])
def test_a_schema_that_drifts(query: str) -> None:
    """The same query over columns of other types, as after a restart with other files."""
    rows = [event("A", 0, 1)]
    whole = Planning(query, pa.Table.from_pylist(rows))
    drifted = Planning(query, pa.Table.from_pylist([{**row, "x": 1.5} for row in rows]))
    data = StreamSession(whole.planned).dump()
    with pytest.raises(motif.MotifError, match=r'it reads what was not kept: .*"x" \(float') as caught:
        StreamSession.load(drifted.planned, data)
    assert "another query" in caught.value.message


def test_a_new_column_in_the_events_is_no_drift() -> None:
    rows = [event("A", 0, 1)]
    plain = Planning(EVENT, pa.Table.from_pylist(rows))
    wider = Planning(EVENT, pa.Table.from_pylist([{"new": 1, **row} for row in rows]))
    session = StreamSession(plain.planned)
    session.push(plain.rows)
    assert StreamSession.load(wider.planned, session.dump()).counts.events == 1


# -- nothing in it is code


@pytest.mark.parametrize("query", STREAMS.values(), ids=STREAMS)
def test_no_pickle(query: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("pickle was used")

    for name in ("loads", "load", "dumps", "dump", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    stream = motif.Stream(query, SCHEMA, lateness="2 s")
    stream.push(sample_events())
    stream.save(tmp_path / "saved")
    data = (tmp_path / "saved").read_bytes()
    monkeypatch.undo()
    for word in (b"pickle", b"c__builtin__", b"__reduce__", b"csubprocess", b"cposix"):
        assert word not in data
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.dumps({}, protocol)[:2] not in (data[:2], data[11:13])
        assert bytes([0x80, protocol, 0x95]) not in data, "the head of a frame"


# -- state returns to zero

KEYS = 20_000
SHORT_LIVED: dict[str, str] = {
    "SEQ": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s",
    "NOT": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 10 s",
    "NOT at the end": "SELECT a.x AS a FROM SEQ(A a; NOT C c) WHERE [k] WITHIN 10 s",
    "a list": "SELECT a.x AS a, COUNT(b) AS n FROM SEQ(A a; B b+) WHERE [k] WITHIN 10 s",
    "PICK LAST": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] PICK LAST b WITHIN 10 s",
    "CONSUMING": "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s CONSUMING ALL",
    "rows": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(x) AS b PATTERN (A B)
        DEFINE A AS type = 'A', B AS type = 'B')""",
    "rows with an open end": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(x) AS b PATTERN (A B+)
        WITHIN INTERVAL '10' SECOND DEFINE A AS type = 'A', B AS type = 'B')""",
}


def many_keys(second: float) -> Iterator[pa.Table]:
    for kind, later in (("A", 0.0), ("B", 1.0)):
        yield pa.table(
            {
                "ts": pa.array([at(second + later)] * KEYS, pa.timestamp("us")),
                "type": [kind] * KEYS,
                "k": [f"{second}-{number}" for number in range(KEYS)],
                "x": range(KEYS),
                "y": range(KEYS),
            }
        )


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize("query", SHORT_LIVED.values(), ids=SHORT_LIVED)
def test_state_of_short_lived_keys_returns_to_zero(query: str, tmp_path: Path) -> None:
    stream = motif.Stream(query, SCHEMA)
    matches = sum(stream.push(piece).num_rows for piece in many_keys(0))
    assert stream.status.state_bytes > KEYS
    stream.save(tmp_path / "full")
    matches += stream.advance(at(100)).num_rows
    assert matches == KEYS
    status = stream.status
    assert (status.live, status.waiting, status.state_bytes) == (0, 0, 0)
    stream.save(tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size < 8_000 < KEYS < (tmp_path / "full").stat().st_size


REMEMBERED = {
    "numbers": ("MATCH_NUMBER() AS n", "A B", 1),
    "rows before": ("PREV(FIRST(x)) AS n", "A B", 1),
    "rows far before": ("PREV(FIRST(x), 5) AS n", "A B", 2),
    "an anchor": ("FIRST(x) AS n", "^ A B", 1),
}


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize(("measure", "pattern", "kept"), REMEMBERED.values(), ids=REMEMBERED)
def test_a_partition_that_must_be_known_again_keeps_a_few_rows(measure: str, pattern: str, kept: int) -> None:
    """As documented: numbers, anchors and PREV go on however long a key was silent."""
    clause = f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measure} PATTERN ({pattern})
        DEFINE A AS type = 'A', B AS type = 'B')"""
    keys = 2_000
    stream = motif.Stream(clause, SCHEMA)
    found = 0
    for second, kind in enumerate("AB"):
        rows = [event(kind, second, number, f"{number}") for number in range(keys)]
        found += stream.push(rows).num_rows
    found += stream.advance(at(100)).num_rows
    assert found == keys
    assert (stream.status.live, stream.status.waiting) == (0, 0)
    table = stream.links[0].session.patterns.kept.table
    assert table is not None
    assert table.num_rows == kept * keys
    again = stream.push([event("A", 200, 7, "5"), event("B", 201, 8, "5")])
    again = pa.concat_tables([again, stream.advance(at(300))])
    expected = {"numbers": [("5", 2)], "rows before": [("5", 5)], "rows far before": [("5", None)], "an anchor": []}
    assert (
        shown(again) == expected[next(name for name, (m, p, _) in REMEMBERED.items() if (m, p) == (measure, pattern))]
    )


def test_state_does_not_grow_with_the_length_of_a_stream() -> None:
    """One hour of events on few keys: what is kept is what one window holds."""
    stream = motif.Stream("SELECT a.x AS a FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 10 s", SCHEMA)
    sizes = []
    for minute in range(60):
        rows = [event("ABC"[second % 3], minute * 60 + second, k=f"{second % 4}") for second in range(60)]
        stream.push(rows)
        sizes.append(stream.status.live + stream.status.waiting)
    assert max(sizes) <= 16
