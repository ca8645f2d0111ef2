"""The report: one page, nothing from elsewhere, nothing unescaped, the right counts."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.report import Report, statement_report
from motif.report.page import highlighted
from motif.report.values import histogram, lengths

EVIL = "</script><img src=x onerror=alert(1)>\"'&\u2028"
PATTERN = "MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS v > PREV(v)"
COUNT = 60


def rows(**more: list[Any]) -> pa.Table:
    numbers = list(range(COUNT))
    columns: dict[str, list[Any]] = {
        "k": [f"key {n % 3}" for n in numbers],
        "i": numbers,
        "v": [float((n * 7) % 11) for n in numbers],
        "s": ["login" if n % 2 else "buy" for n in numbers],
    }
    return pa.table(columns | more)


def page(clause: str, table: pa.Table | None = None) -> str:
    return report(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", rows() if table is None else table).html


def report(query: str, table: pa.Table, **options: Any) -> Report:
    return statement_report(query, {"t": table}, **options)


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def tiles_of(text: str) -> dict[str, str]:
    return {name: value for value, name in re.findall(r'<div class="tile"><b>(.*?)</b><span>(.*?)</span>', text)}


def test_counts_are_those_of_the_query() -> None:
    clause = f"PARTITION BY k ORDER BY i {PATTERN}"
    found = motif.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", tables={"t": rows()})
    text = page(clause)
    tiles = tiles_of(text)
    matched = sum(found.column("n").to_pylist())
    assert tiles["rows"] == str(COUNT)
    assert tiles["keys"] == "3"
    assert tiles["matches"] == str(found.num_rows)
    assert tiles["keys with a match"] == "100%"
    assert tiles["rows in a match"] == f"{100 * matched / COUNT:.1f}%".replace(".0%", "%")
    clause_data = data_of(text)["clauses"][0]
    assert sum(clause_data["starts"]["counts"]) == found.num_rows
    assert sum(clause_data["lengths"]["counts"]) == found.num_rows
    assert sum(len(panel["spans"]) for panel in clause_data["panels"]) == found.num_rows
    assert sum(label >= 0 for panel in clause_data["panels"] for label in panel["labels"]) == matched


def test_rows_are_drawn_as_they_were_matched() -> None:
    panel = data_of(page("ORDER BY i MEASURES A.i AS x PATTERN (A B) DEFINE A AS v = 0, B AS v = 7"))["clauses"][0][
        "panels"
    ][0]
    values = rows().column("v").to_pylist()
    expected = [-1] * COUNT
    for n in range(COUNT - 1):
        if values[n] == 0 and values[n + 1] == 7:
            expected[n : n + 2] = [0, 1]
    assert panel["labels"] == expected
    assert panel["y"] == values
    assert all(last == first + 1 for _, first, last in panel["spans"])


def test_page_is_self_contained() -> None:
    text = page(f"PARTITION BY k ORDER BY i {PATTERN}")
    without_names = text.replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in without_names
    assert "https:" not in without_names
    assert not re.search(r"\b(src|href|@import|url\((?!#))\s*=", without_names)
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_hostile_names_and_values_are_escaped() -> None:
    table = rows(k=[EVIL] * COUNT, **{EVIL: [EVIL] * COUNT})
    quoted = '"' + EVIL.replace('"', '""') + '"'
    clause = f"PARTITION BY k ORDER BY i MEASURES COUNT({quoted}) AS {quoted} PATTERN (A {quoted}+) DEFINE A AS v > 1"
    text = report(f"SELECT * FROM t MATCH_RECOGNIZE ({clause}) -- {EVIL}", table, title=EVIL).html
    assert "<img" not in text
    assert text.count("</script>") == 2
    assert "\u2028" not in text.split('id="data">')[1].split("</script>")[0]
    panel = data_of(text)["clauses"][0]["panels"][0]
    assert panel["name"] == EVIL


@pytest.mark.parametrize(
    ("name", "clause", "axis"),
    [
        ("integers", f"ORDER BY i {PATTERN}", "number"),
        ("dates", f"ORDER BY d {PATTERN}", "date"),
        ("timestamps", f"ORDER BY ts {PATTERN}", "time"),
        ("zoned timestamps", f"ORDER BY tz {PATTERN}", "time"),
        ("strings", f"ORDER BY s {PATTERN}", None),
        ("no order", PATTERN, None),
        ("an expression", f"PARTITION BY upper(s) AS s ORDER BY i + 1, v DESC {PATTERN}", "number"),
        ("no matches", "ORDER BY i MEASURES A.i AS x PATTERN (A) DEFINE A AS v > 100", "number"),
        ("no matches by key", "PARTITION BY k ORDER BY i MEASURES A.i AS x PATTERN (A) DEFINE A AS v > 100", "number"),
        ("empty matches", "ORDER BY i MEASURES COUNT(*) AS n PATTERN (A*) DEFINE A AS v > 5", "number"),
        ("overlap", f"ORDER BY i {PATTERN.replace('PATTERN', 'AFTER MATCH SKIP TO NEXT ROW PATTERN')}", "number"),
        ("all rows", "ORDER BY i ALL ROWS PER MATCH PATTERN (A {- B+ -} C?) DEFINE B AS v > PREV(v)", "number"),
        ("within", "ORDER BY i MEASURES COUNT(*) AS n PATTERN (A B+) WITHIN 3 DEFINE B AS v > PREV(v)", "number"),
    ],
)
def test_copes_with(name: str, clause: str, axis: str | None) -> None:
    day, moment = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)
    table = rows(
        d=[day + dt.timedelta(days=n) for n in range(COUNT)],
        ts=[moment + dt.timedelta(seconds=n) for n in range(COUNT)],
        tz=[(moment + dt.timedelta(seconds=n)).replace(tzinfo=dt.UTC) for n in range(COUNT)],
    )
    clause_data = data_of(page(clause, table))["clauses"][0]
    assert clause_data["axis"] == axis
    assert clause_data["panels"]


def test_no_rows_at_all() -> None:
    text = page(f"PARTITION BY k ORDER BY i {PATTERN}", rows().slice(0, 0))
    assert data_of(text)["clauses"][0]["panels"] == []
    assert tiles_of(text)["matches"] == "0"


def test_only_strings_are_drawn_by_variable() -> None:
    clause = "ORDER BY s MEASURES A.s AS x PATTERN (A B) DEFINE A AS s = 'buy'"
    clause_data = data_of(page(clause, rows().select(["s"])))["clauses"][0]
    assert clause_data["y"] is None


def test_clauses_inside_clauses() -> None:
    counted = PATTERN.replace("MEASURES", "MEASURES A.i AS x,")
    inner = f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY i {counted})"
    query = f"SELECT * FROM ({inner}) MATCH_RECOGNIZE (ORDER BY x MEASURES P.n AS m PATTERN (P Q) DEFINE Q AS n >= P.n)"
    text = report(query, rows()).html
    assert len(data_of(text)["clauses"]) == 2
    assert "Pattern 2 of 2" in text


def test_a_statement_without_a_clause() -> None:
    assert "nothing to draw" in statement_report("SELECT 1 AS x", {}).html


def test_large_tables_make_small_pages(tmp_path: Path) -> None:
    count = 30_000
    wide = {f"c{n}": ["é" * 300] * count for n in range(12)}
    table = pa.table({"k": ["one"] * count, "i": range(count), "v": [n % 5 for n in range(count)], **wide})
    path = report(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i {PATTERN})", table).save(tmp_path / "r.html")
    assert path.stat().st_size < 2_000_000
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


def test_mistakes_are_ours_and_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(motif.MotifError, match="unknown column"):
        report(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY nope {PATTERN})", rows())
    with pytest.raises(motif.MotifError, match="cannot write"):
        report(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i {PATTERN})", rows()).save(tmp_path / "none" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_query_is_coloured_and_complete() -> None:
    query = "SELECT 'a<b' AS \"x&y\", 1.5 -- it's\nFROM t /* c */ WHERE a<1"
    text = highlighted(query)
    plain = re.sub(r"<[^>]*>", "", text)
    assert plain.replace("&lt;", "<").replace("&#x27;", "'").replace("&quot;", '"').replace("&amp;", "&") == query
    assert '<span class="k">SELECT</span>' in text


def test_histograms_count_everything() -> None:
    import numpy as np

    values = np.array([1.0, 2.0, 2.0, np.nan, 9.0])
    bars = histogram(values, 4)
    assert bars is not None
    assert sum(bars["counts"]) == 4
    assert histogram(np.array([np.nan]), 4) is None
    whole = lengths(np.array([3, 3, 4, 100]), 10)
    assert whole is not None
    assert sum(whole["counts"]) == 4
    assert whole["low"] == 2.5
