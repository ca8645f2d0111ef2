"""Reports of event queries, of their results, and of row patterns, as `motif.show` makes them."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import motif
from motif import MotifError

START = dt.datetime(2026, 3, 1, 9)
QUERY = """
SELECT a.id, COUNT(b) AS n
FROM SEQ(A a; B b+; C c)
WHERE [k] AND a.x > 0
WITHIN 5 min
"""


def events(seed: int = 1, count: int = 300) -> pa.Table:
    draw = random.Random(seed)
    return pa.Table.from_pylist(
        [
            {
                "id": number,
                "ts": START + dt.timedelta(seconds=draw.randrange(0, 3600)),
                "type": draw.choice("ABC"),
                "k": draw.choice(["x", "y", None]),
                "x": draw.choice([0, 1, 2]),
            }
            for number in range(count)
        ]
    )


def data_of(report: motif.report.Report) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, re.DOTALL)
    assert found
    return json.loads(found[1])["clauses"]


def tiles_of(report: motif.report.Report) -> dict[str, str]:
    return {name: value for value, name in re.findall(r'<div class="tile"><b>(.*?)</b><span>(.*?)</span>', report.html)}


def test_an_event_query_is_drawn_as_it_was_matched() -> None:
    table = events()
    report = motif.show(QUERY, table)
    [data] = data_of(report)
    full = motif.match(table, QUERY.replace("a.id, COUNT(b) AS n", "*")).to_pylist()
    assert full
    bound = {e["id"]: name for row in full for name in "abc" for e in ([row[name]] if name != "b" else row["b"])}
    assert tiles_of(report)["events"] == "300"
    assert tiles_of(report)["matches"] == f"{len(full):,}"
    assert tiles_of(report)["events in a match"] == f"{100 * len(bound) / 300:.1f}%".replace(".0%", "%")
    assert [data["variables"], data["rows"], data["y"]] == [["a", "b", "c"], "events", "x"]
    assert {panel["key"] for panel in data["panels"]} == {"x", "y"}
    spans = 0
    for panel in data["panels"]:
        own = [row for row in full if row["a"]["k"] == panel["key"]]
        times = [(time - dt.datetime(1970, 1, 1)) / dt.timedelta(milliseconds=1) for time in table["ts"].to_pylist()]
        assert panel["x"] == sorted(panel["x"])
        assert set(panel["x"]) <= set(times)
        ids = [int(text) for text in panel["cells"][data["columns"].index("id")]]
        assert [data["variables"][label] if label >= 0 else None for label in panel["labels"]] == [
            bound.get(number) for number in ids
        ]
        spans += len(panel["spans"])
        ends = {number: (ids[first], ids[last]) for number, first, last in panel["spans"]}
        assert sorted(ends.values()) == sorted((row["a"]["id"], row["c"]["id"]) for row in own)
    assert spans == len(full)
    assert data["table"]["names"] == ["match", "from", "to", "events", "id", "n"]
    assert [row[-1] for row in data["table"]["rows"]] == [str(len(row["b"])) for row in full]


def test_without_a_key_events_are_one_sequence() -> None:
    [data] = data_of(motif.show("SELECT * FROM SEQ(A a; B b) WHERE a.x < b.x WITHIN 10 s", events()))
    assert all(panel["key"] is None for panel in data["panels"])
    assert data["panels"][0]["name"].startswith("events 1 to")


def test_a_result_with_its_events_is_drawn() -> None:
    table = events(2)
    query = QUERY.replace("a.id, COUNT(b) AS n", "*")
    found = motif.match(pl.from_arrow(table), query)
    report = motif.show(found, table)
    assert tiles_of(report)["matches"] == f"{len(found):,}"
    assert tiles_of(report)["events in a match"] == tiles_of(motif.show(query, table))["events in a match"]
    [data] = data_of(report)
    assert data["variables"] == ["a", "b", "c"]


def test_a_stack_has_a_part_for_each_query() -> None:
    stack = "DEFINE P SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 1 min; SELECT * FROM SEQ(P p; C c) WITHIN 1 min"
    report = motif.show(stack, events())
    assert [data["variables"] for data in data_of(report)] == [["a", "b"], ["p", "c"]]
    assert "Pattern 2 of 2" in report.html


def test_row_patterns_clauses_and_statements() -> None:
    table = events()
    sessions = motif.sessionize(by="k", gap="2 min")
    count = motif.match(table, sessions).num_rows
    assert tiles_of(motif.show(sessions, table))["matches"] == f"{count:,}"
    assert tiles_of(motif.show(str(sessions), table.to_pandas()))["matches"] == f"{count:,}"
    statement = f"SELECT * FROM clicks {sessions}"
    assert tiles_of(motif.show(statement, {"clicks": table}))["matches"] == f"{count:,}"


def test_a_notebook_shows_it_and_a_file_holds_it(tmp_path: Path) -> None:
    report = motif.show(QUERY, events(), title="<Fraud>")
    assert report.save(tmp_path / "r.html").read_text(encoding="utf-8") == report.html
    assert "<title>&lt;Fraud&gt;</title>" in report.html
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert shown.count("<") == 2
    assert repr(report).startswith("<report, ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: motif.show("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))", events()), "a statement names its tables"),
        (lambda: motif.show(events(), events()), "the result does not hold the events of its matches"),
        (lambda: motif.show(QUERY.replace("a.x", "a.y"), events()), "unknown column y"),
        (
            lambda: motif.show(motif.match(events(1), "SELECT * FROM SEQ(A a) WHERE a.x = 1"), events(5)),
            "an event of the result is not in the data",
        ),
        (
            lambda: motif.show(motif.match(events(1), "SELECT * FROM SEQ(A a)"), events(), time="at"),
            "unknown column at",
        ),
    ],
)
def test_mistakes_are_told(call: Any, message: str) -> None:
    with pytest.raises(MotifError, match=message):
        call()
