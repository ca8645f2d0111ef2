"""Every limit is what `motif.limits.LIMITS` says at the time of the call, and is told by its name."""

from __future__ import annotations

import datetime as dt
import logging
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pyarrow as pa
import pytest

import motif
from motif import api, limits
from motif.cli.files import read_query
from motif.engine import matcher
from motif.errors import LimitExceeded
from motif.plan.physical.costs import COSTS, Costs

ROWS = pa.table({"id": range(40), "v": [0] * 40})
EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1, 0, 0, second) for second in range(10)],
        "type": ["A"] * 9 + ["B"],
        "v": range(10),
    }
)


def rows(
    pattern: str = "A",
    define: str = "A AS v = 0",
    measures: str = "MATCH_NUMBER() AS n",
    costs: Costs = COSTS,
) -> Callable[[], object]:
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measures} PATTERN ({pattern}) DEFINE {define})"
    return lambda: api.sql(f"SELECT * FROM t {clause}", tables={"t": ROWS}, spark=None, costs=costs)


def events(pattern: str, rest: str = "") -> Callable[[], object]:
    return lambda: motif.match(EVENTS, f"SELECT * FROM {pattern} {rest}")


def three_columns(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text(text, encoding="utf-8")
        return motif.sql("SELECT a FROM t", tables={"t": str(path)})


SEARCHES_TO_THE_END = ("A+ B", "A AS v = 0, B AS v > 1 + FIRST(A.v) + LAST(A.v)")
SLOW = rows(*SEARCHES_TO_THE_END)
"""From every row a search to the end, whose dead ends depend on the match."""

RAISING: dict[str, tuple[int, Callable[[], object]]] = {
    "query_chars": (30, rows()),
    "query_tokens": (20, rows()),
    "name_parts": (2, lambda: motif.sql("SELECT u.t.a FROM (SELECT {'a': 1} AS t) AS u", tables={})),
    "csv_columns": (2, lambda: three_columns("a,b,c\n1,2,3\n")),
    "nesting_depth": (3, rows(define="A AS ((((v)))) = 0")),
    "pattern_variables": (1, events("SEQ(A a; B b)")),
    "quantifier_bound": (4, rows("A{5}")),
    "pattern_states": (8, rows("A{9}")),
    "permute_items": (2, rows("PERMUTE(A, B, C)")),
    "pattern_ways": (1, events("OR(A a, B b)")),
    "each_events": (3, events("SEQ(A a+; B b)", "PICK EACH a")),
    "navigation_offset": (2, rows(define="A AS PREV(v, 3) = 0")),
    "literal_digits": (3, rows(define="A AS v < 12345")),
    "identifier_chars": (6, rows("LONGNAME", "LONGNAME AS v = 0")),
    "match_steps": (30, SLOW),
    "result_rows": (39, rows()),
}


@pytest.mark.filterwarnings("ignore:PICK EACH")
@pytest.mark.parametrize("name", RAISING)
def test_a_limit_that_was_set_is_the_one_that_holds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    low, ask = RAISING[name]
    try:
        ask()
    except LimitExceeded as error:
        pytest.fail(f"the default is reached: {error}")
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, **{name: low}))
    with pytest.raises(LimitExceeded, match=name):
        ask()


def test_a_query_file_is_read_up_to_the_limit_of_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("x" * 300)
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, query_chars=50))
    with pytest.raises(LimitExceeded, match="query_chars = 50"):
        read_query(str(path))


def test_dead_ends_are_remembered_only_within_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = rows("(A | A)* B", "A AS v = 0, B AS v = 1")
    few = replace(limits.LIMITS, match_steps=2_000)
    monkeypatch.setattr(limits, "LIMITS", few)
    ask()
    monkeypatch.setattr(limits, "LIMITS", replace(few, memo_bytes=1))
    with pytest.raises(LimitExceeded, match="match_steps"):
        ask()


def test_all_searches_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = rows(*SEARCHES_TO_THE_END, costs=replace(COSTS, plain_search_pause=100))
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, match_steps=150))
    ask()
    monkeypatch.setattr(matcher, "MOST_STEPS", 10)
    with pytest.raises(LimitExceeded, match=r"the searches took more than 10 times the steps .* match_steps"):
        ask()


@pytest.mark.parametrize("name", ["stream_events", "stream_matches"])
def test_a_stream_keeps_to_its_limits(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, **{name: 3}))
    stream = motif.Stream("SELECT a.v AS v FROM SEQ(A a; B b) WITHIN 1 h", EVENTS.schema)
    with caplog.at_level(logging.WARNING, "motif"):
        found = sum(stream.push(EVENTS.slice(number, 1)).num_rows for number in range(10)) + stream.close().num_rows
    assert found < 9
    assert stream.status.limited > 0
    assert name in caplog.text


def test_no_limit_is_left_out() -> None:
    others = {"memo_bytes", "stream_events", "stream_matches"}
    others |= {"memory_bytes", "spill_bytes", "temp_folder"}  # see test_room
    others |= {"host_questions", "host_rounds"}  # see test_spark_asking
    assert {field.name for field in fields(limits.Limits)} == RAISING.keys() | others


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("match_steps", "many", "a whole number"),
        ("match_steps", 1e6, "write 1_000_000"),
        ("match_steps", 0.5, "a whole number"),
        ("pattern_ways", True, "a whole number"),
        ("result_rows", None, "a whole number"),
        ("memory_bytes", "4 GB", "a whole number"),
        ("spill_bytes", -1, "not negative"),
        ("temp_folder", Path("there"), "as a text"),
        ("temp_folder", "", "as a text"),
    ],
)
def test_a_wrong_limit_is_told_where_it_is_set(name: str, value: object, hint: str) -> None:
    with pytest.raises(motif.MotifError, match=f"the limit {name} cannot be") as caught:
        replace(limits.LIMITS, **{name: value})  # type: ignore[arg-type]
    assert hint in (caught.value.hint or "")
