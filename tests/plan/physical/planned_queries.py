"""Programs of both languages for tests of plans; nothing of them is run."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.fuzz import memory_source

TABLE = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1)],
        "start": [dt.datetime(2026, 1, 1)],
        "type": ["A"],
        "k": [1],
        "v": [1],
        "c": ["a"],
    }
)
ROWS_BY_KEY = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(v) AS v\nPATTERN (A B+) DEFINE B AS v > PREV(v))"
)
ALL_ROWS = ROWS_BY_KEY.replace("PARTITION BY k ", "")
NUMBERED = ALL_ROWS.replace("v > PREV(v)", "MATCH_NUMBER() < 3")
ASKING = ALL_ROWS.replace("v > PREV(v)", "levenshtein(A.c, B.c) < 2")
"""Its condition is one that only the host can compute, and only once rows are bound."""
BY_KEY = "SELECT a.v AS v, b.v AS w\nFROM SEQ(A a; B b) WHERE [k] WITHIN 9 s"
ALL_EVENTS = BY_KEY.replace("WHERE [k] ", "")
ENDLESS = ALL_EVENTS.replace(" WITHIN 9 s", "")
COUNTED = ALL_EVENTS.replace("9 s", "9 EVENTS")
LONG = ALL_EVENTS.replace("9 s", "2000000 weeks")
CONSUMING = f"{ALL_EVENTS} CONSUMING a"
CONSUMING_BY_KEY = f"{BY_KEY} CONSUMING a"
CHOSEN = "SELECT a.v AS v\nFROM A a PICK LAST a WITHIN 9 s"


def program_of(query: str, *, start: str | None = None) -> Program | EventProgram:
    """A clause, or an event query; `start`: the column with the start of events that have a length."""
    source = memory_source(TABLE)
    if query.startswith("MATCH_RECOGNIZE"):
        return plan(parse_clause(query), source)
    return plan_events(parse_events(query), source, Stream(start=start))
