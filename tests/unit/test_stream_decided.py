"""When a match comes out of a stream: as soon as no event that may still come can change it, and never before.

S1-S10 and C16 are the cases of that name in research/semantic-traps.md.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.engine.events.measures import leaves
from motif.engine.events.rows import EventRows
from motif.engine.events.run import find_matches
from motif.engine.execution import Execution
from motif.engine.order import arrange, crossing, layout
from motif.engine.session import Session
from motif.engine.stream.session import Emitted, Planned, StreamSession
from motif.engine.watermark import FOREVER
from motif.hosts import duckdb, duckdb_events
from motif.ir.event import Duration, EventQuery, Item
from motif.ir.expr import Aggregate, At, Column
from motif.ir.pattern import variables
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.plan.events.decision import choosing, is_eager
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.events.ways import Role
from motif.plan.outputs import leaf_name
from motif.plan.physical.costs import PLAIN
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.event_engines import with_hidden_key
from motif.testing.event_generate import COLUMNS, random_event_query, random_events
from motif.testing.fuzz import memory_source
from motif.testing.random_pattern import pattern_text, random_pattern
from motif.testing.tables import to_arrow

EPOCH = dt.datetime(2026, 1, 1)
ZERO = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
SECOND = 1_000_000
SCHEMA = {"ts": "timestamp", "type": "string", "k": "string", "v": "int"}
Step = tuple[str, list[tuple[Any, ...]]]


def micro(event: dict[str, Any]) -> int:
    return int((event["ts"] - ZERO) // MICROSECOND)


# -- scripts: what is done to a stream, and what comes out at which step


def event(word: str) -> dict[str, Any]:
    """`a2.5/k=7`: an event of class A at 2.5 s, with key k and value 7."""
    found = re.fullmatch(r"([a-z])([\d.]+)(?:/(\w+))?(?:=(\d+))?", word)
    assert found, word
    letter, time, key, value = found.groups()
    ts = EPOCH + dt.timedelta(seconds=float(time))
    return {"ts": ts, "type": letter.upper(), "k": key or "k", "v": int(value or 0)}


def seconds(value: Any) -> Any:
    """Times are shown as seconds, whole ones without a point."""
    if not isinstance(value, dt.datetime):
        return value
    found = (value - EPOCH) / dt.timedelta(seconds=1)
    return int(found) if found.is_integer() else found


def shown(table: pa.Table) -> list[tuple[Any, ...]]:
    hidden = ("match_id", "match_start", "match_end")
    return [tuple(seconds(v) for name, v in row.items() if name not in hidden) for row in table.to_pylist()]


def played(query: str, script: str, *, lateness: str = "1 day") -> list[Step]:
    """What comes out at which step: `a0` pushes an event, `a0,b0` two at once, `>4` moves the watermark, `.` closes.

    With so much lateness nothing but `>` moves the watermark.
    """
    stream = motif.Stream(query, SCHEMA, lateness=lateness)
    found = []
    for word in script.split():
        if word == ".":
            matches = stream.close()
        elif word.startswith(">"):
            matches = stream.advance(EPOCH + dt.timedelta(seconds=float(word[1:])))
        else:
            matches = stream.push([event(part) for part in word.split(",")])
        if matches.num_rows:
            found.append((word, shown(matches)))
    return found


def rows(pattern: str, rest: str = "", *, also: str = "") -> str:
    """A row pattern in which variable A takes events of class A, and so on; a match is shown by its ends."""
    names = sorted({char for char in pattern if char.isalpha()})
    defines = ", ".join(f"{name} AS type = '{name}'" for name in names)
    return f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS first, LAST(ts) AS last
        {also} PATTERN ({pattern}) {rest} DEFINE {defines})"""


W3, W5, W10 = (f"WITHIN INTERVAL '{n}' SECOND" for n in (3, 5, 10))


@pytest.mark.parametrize(
    ("query", "script", "expected"),
    [
        pytest.param(
            rows("A B C D | A B"), "a1 b2 c3 >3 d4 >3.999999 >4", [(">4", [("k", 1, 4)])], id="S1: the longer one comes"
        ),
        pytest.param(rows("A B C D | A B"), "a1 b2 c3 >3 x4 >4", [(">4", [("k", 1, 2)])], id="S1: it does not come"),
        pytest.param(rows("A B C D | A B"), "a1 b2 >2 x3 >3 >9", [(">3", [("k", 1, 2)])], id="S1: it cannot come"),
        pytest.param(rows("A B C D | A B"), "a1 b2 >2 >99 .", [(".", [("k", 1, 2)])], id="S1: time alone says nothing"),
        pytest.param(
            rows("A B C D | A B", W3), "a1 b2 >2 >3.999999 >4 .", [(">4", [("k", 1, 2)])], id="S1: but WITHIN does"
        ),
        pytest.param(rows("X N N | N"), "x1 n2 >2 n3 >3", [(">3", [("k", 1, 3)])], id="S2: the earlier start wins"),
        pytest.param(rows("X N N | N"), "x1 n2 >2 z3 >3", [(">3", [("k", 2, 2)])], id="S2: the earlier start fails"),
        pytest.param(rows("X N N | N", W3), "x1 n2 >3.999999 >4", [(">4", [("k", 2, 2)])], id="S2: its time is over"),
        pytest.param(rows("A B+"), "a0 b1 >1 >99 .", [(".", [("k", 0, 1)])], id="S3: never final without WITHIN"),
        pytest.param(rows("A B+"), "a0 b1 x2 >1 >2", [(">2", [("k", 0, 1)])], id="S3: a row ends the loop"),
        pytest.param(
            rows("A B+", W10), "a0 b1 >1 >9.999999 >10 .", [(">10", [("k", 0, 1)])], id="S3: final at the bound"
        ),
        pytest.param(
            rows("A B+", W10), "a0 b1 >2 b10 >9.999999 >10 b11 .", [(">10", [("k", 0, 10)])], id="S3: one at the bound"
        ),
        pytest.param(
            rows("A B+", W10), "a0 b1 b10.000001 >10 .", [(">10", [("k", 0, 1)])], id="S3: one behind the bound"
        ),
        pytest.param(rows("A B", W3), "a10 b13 >13", [(">13", [("k", 10, 13)])], id="S4: rows, at the bound"),
        pytest.param(rows("A B", W3), "a10 b13.000001 >99 .", [], id="S4: rows, behind the bound"),
        pytest.param(
            rows("A B", W3), "a10 b12.999999 >13", [(">13", [("k", 10, 12.999999)])], id="S4: rows, before it"
        ),
        pytest.param(rows("A B", W3), "a10 b13 >14", [(">14", [("k", 10, 13)])], id="S6: rows, emit before evicting"),
        pytest.param(rows("A B", W3), "a10,b13 >9999 .", [(">9999", [("k", 10, 13)])], id="S6: rows, far too late"),
        pytest.param(
            rows("A B", W3), "a10 >12 b13 >9999 .", [(">9999", [("k", 10, 13)])], id="S6: rows, half of it was known"
        ),
        pytest.param(
            rows("A A*", W5), "a0 a1 >1 >4.999999 >5 >6 .", [(">5", [("k", 0, 1)])], id="S8: rows, skip after a timeout"
        ),
        pytest.param(
            rows("A A*", W5, also="AFTER MATCH SKIP TO NEXT ROW"),
            "a0 a1 >1 >5 >5.999999 >6 .",
            [(">5", [("k", 0, 1)]), (">6", [("k", 1, 1)])],
            id="S8: rows, each start at its own deadline",
        ),
        pytest.param(rows("A B*?"), "a0 >0 b1 >1", [(">0", [("k", 0, 0)])], id="a reluctant loop is decided at once"),
        pytest.param(rows("A B{2}"), "a0 b1 b2 >2", [(">2", [("k", 0, 2)])], id="a counted loop, when it is full"),
        pytest.param(rows("A+ $", W3), "a0 a1 >99 .", [(".", [("k", 0, 1)])], id="an end anchor waits for the end"),
        pytest.param(rows("^ A"), "a0 >0 a1 >1 .", [(">0", [("k", 0, 0)])], id="a start anchor holds once"),
        pytest.param(
            rows("A B"), "a0/x b1/y b2/x >1.5 >2", [(">2", [("x", 0, 2)])], id="other keys are not in between"
        ),
        pytest.param(
            rows("A B+", W10),
            "a0/x b1/x a4/y b5/y >9.999999 >10 >13.999999 >14",
            [(">10", [("x", 0, 1)]), (">14", [("y", 4, 5)])],
            id="silent keys, each at its own deadline",
        ),
    ],
)
def test_rows(query: str, script: str, expected: list[Step]) -> None:
    assert played(query, script) == expected


PAIR = "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; B b)"
CLEAN = "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; NOT N n; B b)"
UNPAID = "SELECT o.k AS k, o.ts AS o FROM SEQ(O o; NOT P p) WHERE p.k = o.k WITHIN 600 s"
TAIL = "SELECT a.ts AS a, COUNT(b) AS n, LAST(b.ts) AS b FROM SEQ(A a; B b+) WITHIN 10 s"


@pytest.mark.parametrize(
    ("query", "script", "expected"),
    [
        pytest.param(f"{PAIR} WITHIN 3 s", "a10 b13", [("b13", [(10, 13)])], id="S4: at the bound"),
        pytest.param(f"{PAIR} WITHIN 3 s", "a10 b13.000001 >99 .", [], id="S4: behind the bound"),
        pytest.param(f"{CLEAN} WITHIN 3 s", "a10 b13 >13", [(">13", [(10, 13)])], id="S4: at the bound, with NOT"),
        pytest.param(f"{CLEAN} WITHIN 3 s", "a10 b13.000001 >99 .", [], id="S4: behind the bound, with NOT"),
        pytest.param(f"{CLEAN} WITHIN 3 s", "a10 b13 >14", [(">14", [(10, 13)])], id="S6: emit before evicting"),
        pytest.param(f"{CLEAN} WITHIN 3 s", "a10,b13 >9999 .", [(">9999", [(10, 13)])], id="S6: far too late"),
        pytest.param(f"{PAIR} WITHIN 3 s", "a10 >13 b13.5 >14 .", [], id="S6: an event that is gone is not missed"),
        pytest.param(f"{PAIR} WITHIN 3 s", "a10 >12.999999 b13", [("b13", [(10, 13)])], id="S6: one that may matter"),
        pytest.param(UNPAID, "o0 >0 >599.999999 >600 >700 .", [(">600", [("k", 0)])], id="S7: a silent key"),
        pytest.param(UNPAID, "o0 p600 >599.999999 >600 .", [], id="S7: a killer at the deadline"),
        pytest.param(UNPAID, "o0 p600.000001 >600 .", [(">600", [("k", 0)])], id="S7: one microsecond behind it"),
        pytest.param(UNPAID, "o0 p599.999999 >600 .", [], id="S7: one microsecond before it"),
        pytest.param(UNPAID, "o0 >600 p600 >700 .", [(">600", [("k", 0)])], id="S7: a late killer comes too late"),
        pytest.param(UNPAID, "o0 >599.999999 p600 >600 .", [], id="S7: a killer that is just in time"),
        pytest.param(UNPAID, "o0 p0 >600 .", [], id="S7: a killer at the time of the order"),
        pytest.param(UNPAID, "o0/x o5/y p7/x >600 >605 .", [(">605", [("y", 5)])], id="S7: one key of two"),
        pytest.param(UNPAID, "o0/x p1/y >600 .", [(">600", [("x", 0)])], id="S7: the killer of another key"),
        pytest.param(UNPAID, "o0 >99999", [(">99999", [("k", 0)])], id="S7: one jump over the deadline"),
        pytest.param(UNPAID, "o0 .", [(".", [("k", 0)])], id="S7: the end of the stream"),
        pytest.param(
            "SELECT a.ts AS a, c.ts AS c FROM SEQ(A a; C c; NOT N n) WITHIN 5 s CONSUMING ALL",
            "a0 a1 c2 >2 >4.999999 >5 >6 .",
            [(">5", [(0, 2)])],
            id="S8: consumed by what a timeout decided",
        ),
        pytest.param(
            "SELECT a.ts AS a, c.ts AS c FROM SEQ(A a; C c; NOT N n) WITHIN 5 s",
            "a0 a1 c2 >5 >5.999999 >6 .",
            [(">5", [(0, 2)]), (">6", [(1, 2)])],
            id="S8: without CONSUMING each at its own deadline",
        ),
        pytest.param(TAIL, "a0 b1 >1 b2 >9.999999 >10 .", [(">10", [(0, 2, 2)])], id="a trailing list"),
        pytest.param(TAIL, "a0 b1 b10 >10 .", [(">10", [(0, 2, 10)])], id="a trailing list, one at the bound"),
        pytest.param(TAIL, "a0 b1 b10.000001 >10 .", [(">10", [(0, 1, 1)])], id="a trailing list, one behind it"),
        pytest.param(TAIL, "a0 >10 b11 .", [], id="a trailing list that stays empty"),
        pytest.param(
            "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; B b) PICK LAST b WITHIN 10 s",
            "a0 b1 >1 b2 >9.999999 >10",
            [(">10", [(0, 2)])],
            id="PICK LAST of the last event",
        ),
        pytest.param(
            "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; B b) PICK LAST a WITHIN 10 s",
            "a0 a1 b2 >1.999999 >2",
            [(">2", [(1, 2)])],
            id="PICK LAST of the first event",
        ),
        pytest.param(
            "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; B b) PICK FIRST b WITHIN 10 s",
            "a0 b1 >1 b2 >2 .",
            [(">1", [(0, 1)])],
            id="PICK FIRST of the last event",
        ),
        pytest.param(
            "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; B b) PICK LAST a CONSUMING a",
            "a0 a1 b2 >2 b3 >3 b4 >4",
            [(">2", [(1, 2)]), (">3", [(0, 3)])],
            id="PICK LAST and CONSUMING (C8)",
        ),
        pytest.param(
            "SELECT a.ts AS a, COUNT(b) AS n, c.ts AS c FROM SEQ(A a; B b+; C c)",
            "a0 b1 b2 c3 >2.999999 >3",
            [(">3", [(0, 2, 3)])],
            id="a list in the middle, at the last event",
        ),
        pytest.param(
            "SELECT a.ts AS a, b.ts AS b FROM SEQ(A a; NOT N n; B b) WITHIN 3 EVENTS",
            "a0 x1 b2 >1.999999 >2",
            [(">2", [(0, 2)])],
            id="WITHIN n EVENTS, at the last event",
        ),
        pytest.param(
            "SELECT a.ts AS a FROM SEQ(A a; NOT N n) WITHIN 3 EVENTS",
            "a0 >0 >99 x100 >100 x101 >101",
            [(">101", [(0,)])],
            id="WITHIN n EVENTS, decided by events and not by time",
        ),
        pytest.param(
            "SELECT a.ts AS a FROM SEQ(A a; NOT N n) WITHIN 3 EVENTS",
            "a0 x1 n2 >2 x3 >3 .",
            [],
            id="WITHIN n EVENTS, a killer as the last of them",
        ),
        pytest.param(
            "SELECT a.ts AS a FROM SEQ(A a; NOT N n) WITHIN 3 EVENTS",
            "a0 x1 >1 .",
            [(".", [(0,)])],
            id="WITHIN n EVENTS, the end comes first",
        ),
    ],
)
def test_events(query: str, script: str, expected: list[Step]) -> None:
    assert played(query, script) == expected


# -- S5: one rule for an event at the watermark


@pytest.mark.parametrize("query", [rows("A B"), PAIR, CLEAN], ids=["rows", "eager events", "events"])
@pytest.mark.parametrize(("time", "is_late"), [(4.999999, True), (5, True), (5.000001, False)])
def test_an_event_at_the_watermark_is_late(query: str, time: float, is_late: bool) -> None:
    stream = motif.Stream(query, SCHEMA, lateness="1 day")
    stream.push(event("a1"))
    stream.advance(EPOCH + dt.timedelta(seconds=5))
    found = stream.push(event(f"b{time}")).num_rows + stream.close().num_rows
    assert (found, stream.status.late) == ((0, 1) if is_late else (1, 0))


@pytest.mark.parametrize("query", [rows("A B"), CLEAN], ids=["rows", "events"])
def test_what_was_at_the_watermark_in_time_is_used(query: str) -> None:
    """Sorting, deciding and pruning agree on it: it is neither late nor lost."""
    expected = [(">2", [("k", 1, 2)] if query.startswith("MATCH") else [(1, 2)])]
    assert played(query, "b2 a1 >2 >2 .") == expected
    assert played(query, "a1 >1 b2 >2 .") == expected


def test_with_lateness_an_event_that_late_still_counts() -> None:
    for lateness, found in (("4 s", 1), ("3999999 us", 0)):
        stream = motif.Stream(PAIR, SCHEMA, lateness=lateness)
        assert stream.push(event("b5")).num_rows == 0
        assert stream.push(event("a1")).num_rows == found
        assert stream.status.late == 1 - found


def test_without_lateness_events_of_one_time_may_come_one_by_one() -> None:
    for query in (rows("A B"), CLEAN):
        found = played(query, "a1 b1 x2 .", lateness="0 s")
        assert [word for word, _ in found] == ["x2"]


def test_a_preferred_rival_that_begins_later_is_awaited() -> None:
    """Events with a length: the one that ends first begins last; its list may grow when that of the other is over."""
    queries = [
        "SELECT s.v AS w, x.v AS v FROM SEQ(S s; X x) WHERE [k] WITHIN 5 s RETURN C",
        "SELECT a.w, COUNT(c) AS n FROM SEQ(C a; D b; E c*) WHERE a.v = c.v PICK FIRST a WITHIN 3 s",
    ]
    words = ("s6.9/p=1", "s7.5/q=2", "x7.8/q", "x8/p", "d9", ">10", "e10.2", ">11.9", ">12")
    stream = motif.Stream(queries, SCHEMA, lateness="1 day")
    found = []
    for word in words:
        if word.startswith(">"):
            matches = stream.advance(EPOCH + dt.timedelta(seconds=float(word[1:])))
        else:
            matches = stream.push([event(word)])
        found += [(word, row["w"], row["n"]) for row in matches.to_pylist()]
    assert found == [(">12", 1, 0), (">12", 2, 1)]
    events = pa.Table.from_pylist([event(word) for word in words if not word.startswith(">")])
    assert [(row["w"], row["n"]) for row in motif.match(events, queries).to_pylist()] == [(1, 0), (2, 1)]


@pytest.mark.parametrize(
    ("query", "words", "watermark", "due"),
    [
        (UNPAID, "o5", 5, 605),
        (UNPAID, "o5", 4, 5),
        (UNPAID, "o5 o7", 600, 605),
        (UNPAID, "o5 o7", 605, 607),
        (TAIL, "a5 b6", 6, 15),
        (rows("A B+", W10), "a5 b6", 6, 15),
        (rows("A B+", W10), "a5 b6", 5.5, 6),
        (rows("A B+"), "a5 b6", 6, None),
        (rows("A B", W10), "a5 b6", 6, None),
        (UNPAID, "", 5, None),
        ("SELECT a.ts FROM A a PICK LAST a WITHIN 10 s CONSUMING a", "a5 a6", 6, 15),  # events kept for ever
    ],
)
def test_hosts_are_told_when_time_alone_changes_something(
    query: str, words: str, watermark: float, due: float | None
) -> None:
    """A host may sleep until the deadline: a timer of Spark, or a caller of `advance`."""
    stream = motif.Stream(query, SCHEMA, lateness="1 day")
    stream.push([event(word) for word in words.split()])
    stream.advance(EPOCH + dt.timedelta(seconds=watermark))
    deadline = stream.links[0].session.deadline()
    assert deadline == (FOREVER if due is None else micro({"ts": EPOCH + dt.timedelta(seconds=due)}))


# -- S9: replay


@pytest.mark.parametrize("query", [PAIR, CLEAN, TAIL, UNPAID])
def test_ids_are_those_of_the_batch_whatever_the_order(query: str) -> None:
    words = "a0 a1 b2 o2 n3 b3 b3 b4 a5 b6 p700 o701".split()
    expected = sorted(motif.match(pa.Table.from_pylist([event(word) for word in words]), query)["match_id"].to_pylist())
    assert expected
    for seed in range(5):
        stream = motif.Stream(query, SCHEMA, lateness="1 day")
        shuffled = random.Random(seed).sample(words, len(words))
        tables = [*(stream.push(event(word)) for word in shuffled), stream.close()]
        assert sorted(pa.concat_tables(tables)["match_id"].to_pylist()) == expected


def test_ids_are_the_same_on_replay(tmp_path: Path) -> None:
    """What comes out again after a crash has the ids it had before."""
    words = "a0 n1 a2 b3 a3 b4 b4 b5 n6 a7 b8".split()
    stream = motif.Stream(CLEAN, SCHEMA)
    for word in words[:4]:
        stream.push(event(word))
    stream.save(tmp_path / "saved")
    first = pa.concat_tables([*(stream.push(event(word)) for word in words[4:]), stream.close()])
    again = motif.Stream.load(tmp_path / "saved")
    second = pa.concat_tables([*(again.push(event(word)) for word in words[4:]), again.close()])
    assert first.num_rows
    assert first.equals(second)


# -- S10, C16


def test_a_late_row_is_missing_from_its_neighbours_and_counted() -> None:
    """S10: what comes out is the batch over the rows that were in time; the late one is reported."""
    query = rows("A B")
    stream = motif.Stream(query, SCHEMA, emit=("match", "late"))
    found = []
    for word in "a1 b3 x2 x4".split():
        found += stream.push(event(word)).to_pylist()
    found += stream.close().to_pylist()
    assert [(row["kind"], seconds(row["first"])) for row in found] == [("late", None), ("match", 1)]
    assert found[0]["late"]["ts"] == event("x2")["ts"]
    assert stream.status.late == 1
    in_time = pa.Table.from_pylist([event(word) for word in "a1 b3 x4".split()])
    assert shown(motif.match(in_time, query)) == [("k", 1, 3)]
    assert shown(motif.match(pa.concat_tables([in_time, pa.Table.from_pylist([event("x2")])]), query)) == []


RIVALS = f"""MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS first, LAST(ts) AS last PATTERN ((A | B) X*? C) {W10}
    DEFINE A AS type = 'A', B AS type = 'B', C AS type = 'C' AND v = FIRST(v))"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a0=1 b1=2 c2=2 >2 >9.999999 >10 .", [(">10", [(1, 2)])]),
        ("a0=1 b1=2 c2=2 >2 c3=1 >3 .", [(">3", [(0, 3)])]),
        ("a0=2 b1=2 c2=2 >1.999999 >2 .", [(">2", [(0, 2)])]),
    ],
    ids=["the open start fails", "the open start wins", "the first start"],
)
def test_a_complete_match_waits_for_an_earlier_start(script: str, expected: list[Step]) -> None:
    """C16: what skipping leaves of later starts is known only once the earlier one is settled."""
    assert played(RIVALS, script) == expected


def test_event_patterns_do_not_skip() -> None:
    """C16 in the event language: every pair is a match of its own, so none waits for another."""
    query = "SELECT e.ts AS e, c.ts AS c FROM SEQ(OR(A e, B f); C c) WHERE e.v = c.v OR f.v = c.v"
    assert played(query, "a0=1 b1=2 c2=2 c3=1") == [("c2=2", [(None, 2)]), ("c3=1", [(0, 3)])]


# -- in whatever order: packed sessions, in which each order of arrival is a partition


class Packed:
    """One query over many streams, which a hidden key keeps apart: rows have the columns of `columns`."""

    def __init__(self, query: EventQuery | str, columns: dict[str, str]) -> None:
        """`query` as text is a clause that is partitioned by `stream`."""
        self.columns = columns
        source = memory_source(to_arrow([], columns))
        self.program: Program | EventProgram
        if isinstance(query, EventQuery):
            self.program = with_hidden_key(plan_events(query, source, Stream()), "stream")
        else:
            self.program = plan(parse_clause(query), source)
        self.planned = Planned(self.program, layout(self.program, source.types_of(crossing(self.program))))

    def rows(self, events: Sequence[dict[str, Any]]) -> pa.Table:
        source = memory_source(to_arrow(events, self.columns))
        if isinstance(self.program, EventProgram):
            sql = duckdb_events.input_sql(self.program, source)
        else:
            sql = source.select(duckdb.columns_sql(crossing(self.program)))
        return source.database.table(sql).combine_chunks()

    def batch(self, events: Sequence[dict[str, Any]], count: int) -> list[list[str]]:
        """The answer over each of `count` streams."""
        table = arrange(self.rows(events), self.planned.layout)
        found: list[list[str]] = [[] for _ in range(count)]
        if isinstance(self.program, EventProgram):
            rows = EventRows(self.program, table, Execution.of(self.program, PLAIN))
            matches = find_matches(rows)
            keys = table.column(self.program.keys[0]).to_pylist()
            texts = map(without_id, leaves(rows, matches).to_pylist())
            for at, text in zip(matches.last().tolist() if len(matches) else [], texts, strict=True):
                found[keys[at]].append(text)
            return found
        session = Session(self.program, Execution.of(self.program, PLAIN))
        for row in self.by_stream([*session.feed(table), *session.finish()]):
            found[row[0]].append(row[1])
        return found

    def by_stream(self, tables: Sequence[pa.Table]) -> Iterator[tuple[int, str]]:
        """Matches of row patterns; those of events have no key to tell their stream by."""
        names = {name: expr.name for name, expr in self.program.outputs.columns if isinstance(expr, Column)}
        for table in tables:
            for row in table.to_pylist():
                stream = row.pop(names["stream"])
                yield stream, repr(row)

    def texts(self, emitted: Emitted) -> list[str]:
        """What came out of a session with one stream, or with a measure that tells them apart."""
        if isinstance(self.program, EventProgram):
            return [without_id(row) for table in emitted.matches for row in table.to_pylist()]
        return [text for _, text in self.by_stream(emitted.matches)]


def without_id(row: dict[str, Any]) -> str:
    """A match in words: its id depends on the hidden key of its stream, too."""
    return repr({name: value for name, value in row.items() if name != leaf_name(0)})


LETTERS = {"ts": "TIMESTAMP", "type": "VARCHAR", "stream": "BIGINT", "v": "BIGINT"}
PERMUTED = {
    "NOT": ("SELECT a, b FROM SEQ(A a; NOT N n; B b)", "a0 n1 a2 b3 a3 b4"),
    "NOT last": ("SELECT a, b FROM SEQ(A a; B b; NOT N n) WITHIN 3 s", "a0 b1 a2 n3 b4 b4"),
    "PICK FIRST": ("SELECT a, b, c FROM SEQ(A a; B b; C c) PICK FIRST b", "a0 b1 a2 b2 c3 c4"),
    "PICK LAST": ("SELECT a, b FROM SEQ(A a; B b) PICK LAST b WITHIN 2 s", "a0 b1 a2 b2 b3 b4"),
    "PICK LAST of both": ("SELECT a, b FROM SEQ(A a; B b) PICK LAST a, LAST b WITHIN 3 s", "a0 b1 a1 b3 a4 b5"),
    "CONSUMING": ("SELECT a, b FROM SEQ(A a; B b) PICK LAST a CONSUMING a", "a0 a1 b2 b3 a3 b4"),
    "CONSUMING at a deadline": (
        "SELECT a, SUM(b.v) AS b FROM SEQ(A a; B b+) WITHIN 2 s CONSUMING ALL",
        "a0 b1 a1 b2 b3 b4",
    ),
    "repetition": ("SELECT a, SUM(b.v) AS b, c FROM SEQ(A a; B b+; C c) WITHIN 4 s", "a0 b1 b2 c3 b4 c5"),
    "two lists": ("SELECT c, SUM(a.v) AS a, SUM(b.v) AS b, d FROM SEQ(C c; A a+; B b+; C d)", "c0 a1 b1 a2 b3 c4"),
    "events counted": ("SELECT a, b FROM SEQ(A a; NOT N n; B b) WITHIN 3 EVENTS", "a0 x1 b2 n2 a3 b4"),
    "row pattern": ("(A B+ C | B)", "a0 b1 b2 x2 c3 b4"),
    "row pattern within": ("(A B*) WITHIN INTERVAL '2' SECOND", "a0 b1 b2 b3 a3 b5"),
}


def permuted(text: str) -> Packed:
    """`SELECT a` stands for `SELECT a.v AS a`; a row pattern shows all its rows."""
    if not text.startswith("("):
        items, _, rest = text.removeprefix("SELECT ").partition(" FROM ")
        named = [item if " AS " in item else f"{item}.v AS {item}" for item in items.split(", ")]
        return Packed(parse_events(f"SELECT {', '.join(named)} FROM {rest}"), LETTERS)
    pattern, _, rest = text.partition(") ")
    pattern = pattern.strip("()")
    defines = ", ".join(f"{name} AS type = '{name}'" for name in sorted(set(re.findall(r"[A-Z]", pattern))))
    clause = f"""MATCH_RECOGNIZE (PARTITION BY stream ORDER BY ts MEASURES ARRAY_AGG(v) AS events
        PATTERN ({pattern}) {rest} DEFINE {defines})"""
    return Packed(clause, LETTERS)


@pytest.mark.parametrize(("text", "letters"), PERMUTED.values(), ids=PERMUTED)
def test_every_order_of_arrival_gives_the_batch(text: str, letters: str) -> None:
    """All 720 orders of six events, each with the furthest watermark that makes no event late.

    Orders with the same watermarks share a session.
    """
    packed = permuted(text)
    events = [{**event(word), "v": 1 << number} for number, word in enumerate(letters.split())]
    expected = sorted(packed.batch([{**one, "stream": 0} for one in events], 1)[0])
    assert expected
    together: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for order in permutations(range(len(events))):
        times = [micro(events[number]) for number in order]
        together[tuple(min(times[step + 1 :], default=max(times) + 1) - 1 for step in range(len(times)))].append(order)
    pieces = Pieces(packed, events, max(map(len, together.values())))
    for watermarks, orders in together.items():
        session = StreamSession(packed.planned, costs=PLAIN)
        found: list[str] = []
        for step, watermark in enumerate(watermarks):
            found += packed.texts(session.push(pieces.arriving([order[step] for order in orders])))
            found += packed.texts(session.advance(watermark))
        found += packed.texts(session.close())
        assert session.counts.late == 0
        assert sorted(found) == sorted(expected * len(orders)), orders


class Pieces:
    """Some events in many streams; those that the query has no use for stay in the host."""

    def __init__(self, packed: Packed, events: list[dict[str, Any]], streams: int) -> None:
        self.events = events
        self.table = packed.rows([{**one, "stream": number} for number in range(streams) for one in events])
        at = [packed.planned.layout.exprs.index(Column(name)) for name in ("stream", "v")]
        places = zip(*(self.table.column(number).to_pylist() for number in at), strict=True)
        self.place = {place: number for number, place in enumerate(places)}

    def arriving(self, numbers: Sequence[int]) -> pa.Table:
        """One event of each stream."""
        wanted = [(stream, self.events[number]["v"]) for stream, number in enumerate(numbers)]
        return self.table.take(pa.array([self.place[one] for one in wanted if one in self.place], pa.int64()))


EAGER = {
    "SEQ": "SELECT a.v AS a, b.v AS b, c.v AS c FROM SEQ(A a; B b; C c)",
    "SEQ within": "SELECT a.v AS a, b.v AS b FROM SEQ(A a; B b) WITHIN 2 s",
    "SEQ with conditions": "SELECT a.v AS a, b.v AS b FROM SEQ(A a; B b) WHERE a.v < b.v AND a.v <> 2",
    "ALL": "SELECT a.v AS a, b.v AS b, c.v AS c FROM ALL(A a, B b, C c) WITHIN 4 s",
    "ANY": "SELECT a.v AS a, b.v AS b, c.v AS c FROM ANY(2, A a, B b, C c) WITHIN 1 s",
    "OR": "SELECT a.v AS a, b.v AS b, c.v AS c FROM OR(A a, SEQ(B b; C c))",
    "TSEQ": "SELECT a.v AS a, b.v AS b FROM TSEQ(A a, B b; 1, 3)",
    "PICK EACH": "SELECT a.v AS a, b.v AS b FROM SEQ(A a; B b) PICK EACH a WITHIN 2 s FROM b",
}


@pytest.mark.parametrize("query", EAGER.values(), ids=EAGER)
def test_what_nothing_can_undo_comes_when_its_last_event_arrives(query: str) -> None:
    """In all orders of six events and without any watermark: at once, and once."""
    packed = Packed(parse_events(query), LETTERS)
    assert isinstance(packed.program, EventProgram)
    assert is_eager(packed.program)
    events = [{**event(word), "v": number} for number, word in enumerate("a0 b1 c2 a2 b3 c4".split())]
    orders = list(permutations(range(len(events))))
    session, pieces = StreamSession(packed.planned, costs=PLAIN), Pieces(packed, events, len(orders))
    found: list[str] = []
    for step in range(len(events)):
        found += packed.texts(session.push(pieces.arriving([order[step] for order in orders])))
        there = [{**events[n], "stream": s} for s, order in enumerate(orders) for n in order[: step + 1]]
        assert sorted(found) == sorted(text for answer in packed.batch(there, len(orders)) for text in answer)
    assert found
    assert not packed.texts(session.close())


@pytest.mark.parametrize(
    "query",
    [
        CLEAN,
        TAIL,
        f"{PAIR} CONSUMING a",
        f"{PAIR} PICK FIRST a",
        f"{PAIR} WITHIN 3 EVENTS",
        "SELECT COUNT(b) AS n FROM SEQ(A a; B b*; C c)",
    ],
)
def test_what_something_can_undo_is_not_decided_on_arrival(query: str) -> None:
    packed = Packed(parse_events(query), LETTERS)
    assert isinstance(packed.program, EventProgram)
    assert not is_eager(packed.program)


# -- brute force: every way in which a stream may go on


@dataclass(frozen=True, slots=True)
class Seen:
    """A prefix of a stream at a watermark, what has come out, and what would be found in futures of it."""

    events: list[dict[str, Any]]
    watermark: int
    given: list[str]
    futures: list[list[dict[str, Any]]]
    answers: list[list[str]]


FUTURES = 150


def watched(
    rng: random.Random, packed: Packed, events: list[dict[str, Any]], within: int | None, letters: str
) -> Iterator[Seen]:
    """A stream event by event in order; some of its prefixes."""
    session = StreamSession(packed.planned, costs=PLAIN)
    given: list[str] = []
    chosen = set(rng.sample(range(len(events)), 3))
    for number, one in enumerate(events):
        given += packed.texts(session.push(packed.rows([{**one, "stream": 0}])))
        following = micro(events[number + 1]) if number + 1 < len(events) else 1 << 60
        steps = (0, 0, SECOND // 2, SECOND, 3 * SECOND, *([] if within is None else [within - 1, within]))
        watermark = min(micro(one) + rng.choice(steps), following - 1)
        given += packed.texts(session.advance(watermark))
        if number in chosen and following > micro(one):
            known = events[: number + 1]
            futures = [[], *(_future(rng, known, watermark, within, letters) for _ in range(FUTURES))]
            all_of_them = [{**e, "stream": at} for at, future in enumerate(futures) for e in (*known, *future)]
            yield Seen(known, watermark, list(given), futures, packed.batch(all_of_them, len(futures)))


def _future(
    rng: random.Random, known: list[dict[str, Any]], watermark: int, within: int | None, letters: str
) -> list[dict[str, Any]]:
    """A few events after the watermark: many like one that was there, many at a deadline."""
    moments = [watermark + step for step in (1, 1, SECOND // 2, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND)]
    if within is not None:
        moments += [due for one in known for due in (micro(one) + within - 1, micro(one) + within) if due > watermark]
    future: list[dict[str, Any]] = []
    for number in range(rng.choice((1, 1, 1, 2, 2, 3))):
        one = {**rng.choice([*known, *future]), "ts": ZERO + MICROSECOND * rng.choice(moments), "id": 1 << 20 + number}
        if rng.random() < 0.8:
            one["type"] = rng.choice(letters)
        for name in ("k", "x", "y", "s"):
            if name in one and rng.random() < 0.3:
                one[name] = (
                    rng.choice("uuv") if name == "s" else rng.randint(1, 2) if name == "k" else rng.randint(0, 4)
                )
        future.append(one)
    return future


def is_exact(program: EventProgram) -> bool:
    """Whether matches should come as early as can be; not where rivals, or sub-lists, wait for a deadline."""
    query = program.query
    for way in program.ways:
        if choosing(query.picks) and way.waits:
            return False
        if any(e.role is Role.LIST and e.each and not way.is_closed(n) for n, e in enumerate(way.elements)):
            return False
    return True


def random_events_case(seed: int, *, with_conditions: bool) -> tuple[Packed, Iterator[Seen]]:
    rng = random.Random(seed)
    query = random_event_query(rng)
    items = [
        Item(Aggregate("sum", Column("id"), e.var) if e.repeat else At(Column("id"), e.var), f"o{number}")
        for number, e in enumerate(query.events())
    ]
    query = replace(query, items=tuple(items), conditions=query.conditions if with_conditions else ())
    classes = [e.type for e in query.events() if e.type is not None] * 3 + list("ABC")
    events = [{**e, "id": 1 << n} for n, e in enumerate(random_events(rng, 7, classes=classes))]
    packed = Packed(query, {**COLUMNS, "id": "BIGINT", "stream": "BIGINT"})
    within = query.within.microseconds if isinstance(query.within, Duration) else None
    return packed, watched(rng, packed, events, within, "ABC")


@pytest.mark.random
@pytest.mark.parametrize("with_conditions", [False, True], ids=["patterns alone", "with conditions"])
def test_event_patterns_are_decided_as_soon_as_can_be(with_conditions: bool) -> None:
    """What has come out is in every future; what is in every future has come out.

    With conditions some events are impossible that an engine which does not look into conditions waits for.
    """
    prefixes = found = tardy = 0
    for seed in range(50 if with_conditions else 70):
        packed, prefixes_of = random_events_case(seed, with_conditions=with_conditions)
        assert isinstance(packed.program, EventProgram)
        for seen in prefixes_of:
            certain = set.intersection(*map(set, seen.answers))
            assert set(seen.given) <= certain, (seed, packed.program.query.source, set(seen.given) - certain)
            assert len(set(seen.given)) == len(seen.given)
            prefixes, found = prefixes + 1, found + bool(certain)
            tardy += is_exact(packed.program) and not certain <= set(seen.given)
    assert prefixes > 100
    assert found > 0.15 * prefixes
    assert tardy <= (0.02 * prefixes if with_conditions else 0), f"{tardy} of {prefixes}"


def random_rows_case(seed: int) -> Iterator[Seen]:
    rng = random.Random(seed)
    pattern = random_pattern(rng, "ABC"[: rng.choice((2, 3, 3))], exclusion=False)
    while not variables(pattern):
        pattern = random_pattern(rng, "ABC", exclusion=False)
    within = rng.choice((None, 2, 4, 4))
    kinds = ("type IN ('A', 'B')", "type <> 'C'", "")
    conditions = [f"type = '{name}'" if rng.random() < 0.6 else rng.choice(kinds) for name in variables(pattern)]
    defines = [f"{name} AS {text}" for name, text in zip(variables(pattern), conditions, strict=True) if text]
    clause = f"""MATCH_RECOGNIZE (PARTITION BY stream ORDER BY ts MEASURES MATCH_NUMBER() AS n, FIRST(id) AS first,
        COUNT(*) AS size, ARRAY_AGG(CLASSIFIER()) AS labels {rng.choice(("", "", "AFTER MATCH SKIP TO NEXT ROW"))}
        PATTERN ({pattern_text(pattern, rng)}) {f"WITHIN INTERVAL '{within}' SECOND" if within else ""}
        {"DEFINE " if defines else ""}{", ".join(defines)})"""
    packed = Packed(clause, {"ts": "TIMESTAMP", "type": "VARCHAR", "id": "BIGINT", "stream": "BIGINT"})
    events, clock = [], 0
    for number in range(8):
        clock += rng.choice((0, 1, 1, 1, 2))
        events.append({"ts": EPOCH + dt.timedelta(seconds=clock), "type": rng.choice("AAABBBCX"), "id": 1 << number})
    return watched(rng, packed, events, within and within * SECOND, "ABCX")


@pytest.mark.random
def test_row_patterns_are_decided_as_soon_as_can_be() -> None:
    """As for events, but a later start waits for earlier ones: only the first match that has not come is looked at."""
    prefixes = found = tardy = 0
    for seed in range(80):
        for seen in random_rows_case(seed):
            given = len(seen.given)
            assert all(answer[:given] == seen.given for answer in seen.answers), seed
            following = {tuple(answer[given : given + 1]) for answer in seen.answers}
            prefixes, found = prefixes + 1, found + bool(given)
            tardy += len(following) == 1 and following != {()}
    assert prefixes > 100
    assert found > 0.15 * prefixes
    assert tardy <= 0.02 * prefixes, f"{tardy} of {prefixes}"  # three events may be too few to bring a long rival
