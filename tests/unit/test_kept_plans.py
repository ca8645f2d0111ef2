"""A query that is asked again is planned once, as long as its tables are what they were."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import motif
from motif import limits
from motif.hosts import duckdb, duckdb_database, duckdb_events, kept_plans
from motif.hosts.duckdb_database import Database
from motif.hosts.kept_plans import version_of
from motif.lang.snoop import parse_events

CLAUSE = "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(A.x) AS x, LAST(A.x) + 1 AS y PATTERN (A+) DEFINE A AS x > PREV(x))"
QUERY = f"SELECT * FROM rows {CLAUSE}"
EVENTS = "SELECT a.x AS x, b.x AS y FROM SEQ(A a; B b)"
ONE, TWO = dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)

Ask = Callable[[Any], list[dict[str, Any]]]


def by_sql(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = motif.sql(QUERY, tables={"rows": table}).to_pylist()
    return found


def by_clause(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = motif.match(table, CLAUSE).to_pylist()
    return found


def by_events(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = motif.match(table, EVENTS).to_pylist()
    return found


def table_of(*values: Any) -> pa.Table:
    """Rows that rise, which are an A and a B as well."""
    count = len(values)
    days = [ONE + dt.timedelta(days=number) for number in range(count)]
    return pa.table({"t": list(range(count)), "ts": days, "type": list("AB")[:count], "x": list(values)})


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither plans nor databases; files count as they are right after they were written."""
    monkeypatch.setattr(kept_plans, "_PLANS", {})
    monkeypatch.setattr(kept_plans, "SETTLED_SECONDS", -1.0)
    monkeypatch.setattr(duckdb_database, "_INSTANCES", {})


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was planned."""
    seen: list[str] = []

    def counting(plan: Any) -> Any:
        def counted(query: Any, *args: Any, **named: Any) -> Any:
            seen.append(query.source)
            return plan(query, *args, **named)

        return counted

    monkeypatch.setattr(duckdb, "plan", counting(duckdb.plan))
    monkeypatch.setattr(duckdb_events, "plan_events", counting(duckdb_events.plan_events))
    return seen


ASKED = pytest.mark.parametrize("ask", [by_sql, by_clause, by_events])


@ASKED
def test_a_file_that_stays_is_planned_once(ask: Ask, tmp_path: Path, planned: list[str]) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(table_of(1, 2), path)
    assert ask(path) == ask(path) == ask(path)
    assert len(planned) == 1


@ASKED
def test_tables_with_the_same_columns_are_planned_once(ask: Ask, planned: list[str]) -> None:
    assert ask(table_of(1, 2)) != ask(table_of(1, 3))
    assert len(planned) == 1
    ask(table_of(1.5, 2.5))
    assert len(planned) == 2


@ASKED
@pytest.mark.parametrize("values", [(5, 7), (1.5, 2.5), ("5", "7")], ids=str)
def test_a_file_that_is_replaced_is_read_anew(
    ask: Ask, values: tuple[Any, Any], tmp_path: Path, planned: list[str]
) -> None:
    path, other = tmp_path / "rows.parquet", tmp_path / "other.parquet"
    parquet.write_table(table_of(1, 2), path)
    before = ask(path)
    parquet.write_table(table_of(*values), other)
    other.replace(path)
    if isinstance(values[0], str) and ask is not by_events:
        with pytest.raises(motif.MotifError):
            ask(path)
        return
    assert ask(path) != before
    assert ask(path) == ask(table_of(*values))
    assert len(planned) == 3


def test_an_event_without_a_time_in_a_file_that_is_altered_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(table_of(1, 2), path)
    by_events(path)
    timeless = table_of(1, 2).set_column(1, "ts", pa.array([ONE, None], pa.timestamp("us")))
    parquet.write_table(timeless, path)
    with pytest.warns(motif.MotifWarning, match="1 events have no ts"):
        assert by_events(path) == []


def test_only_files_are_known_by_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(table_of(1, 2), path)
    of_file = Database({"rows": path})
    assert of_file.content == Database({"rows": path}).content is not None
    of_file.add("more", table_of(1))
    for database in (
        of_file,
        Database({}),
        Database({"rows": table_of(1)}),
        Database({"rows": path, "more": table_of(1)}),
    ):
        assert database.content is None
        assert database.state is not None


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t\n1\n")
    first = version_of(str(path))
    assert first == version_of(str(path)) is not None
    os.utime(path, (1, 1))
    assert version_of(str(path)) not in (first, None)
    pattern = tmp_path / "rows[1].csv"
    pattern.write_text("t\n1\n")
    assert version_of(str(pattern)) is None
    assert version_of(str(tmp_path)) is None
    monkeypatch.setattr(kept_plans, "SETTLED_SECONDS", 3600.0)
    assert version_of(str(path)) is None


def test_other_limits_are_other_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_clause(table_of(1, 2))
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, pattern_states=1))
    with pytest.raises(motif.LimitExceeded):
        by_clause(table_of(1, 2))


@ASKED
def test_other_limits_are_other_readings(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(table_of(1, 2))
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, query_chars=10))
    with pytest.raises(motif.LimitExceeded):
        ask(table_of(1, 2))


def test_other_columns_of_time_and_class_are_other_plans() -> None:
    table = table_of(1, 2).append_column("kind", pa.array(["B", "A"])).append_column("at", pa.array([TWO, ONE]))
    assert motif.match(table, EVENTS).num_rows == 1
    assert motif.match(table, EVENTS, type="kind").num_rows == 0
    assert motif.match(table, EVENTS, type="kind", time="at").num_rows == 1


def test_what_depends_on_a_value_of_the_host_is_planned_anew(planned: list[str]) -> None:
    query = CLAUSE.replace("x > PREV(x)", "concat(PREV(x), 'a') <> CAST(x AS VARCHAR)")
    for _ in range(2):
        assert motif.match(table_of(1, 2), query).num_rows == 1
    assert len(planned) == 2
    assert not kept_plans._PLANS


def test_queries_without_a_text_are_planned_anew(planned: list[str]) -> None:
    """Their literals may be equal and of different types: 1 and TRUE."""
    query = replace(parse_events(EVENTS), source="")
    for _ in range(2):
        motif.match(table_of(1, 2), query)
    assert len(planned) == 2


def test_queries_of_the_builder_are_planned_once(planned: list[str]) -> None:
    for _ in range(2):
        motif.match(table_of(1, 2), motif.seq(motif.ev("A", "a"), motif.ev("B", "b")))
    assert len(planned) == 1


def test_plans_of_long_ago_are_let_go(monkeypatch: pytest.MonkeyPatch, planned: list[str]) -> None:
    monkeypatch.setattr(kept_plans, "MOST_PLANS", 2)
    tables = [table_of(1, 2), table_of(1.5, 2.5), table_of(True, False)]
    for table in (*tables[:2], *tables[:2], tables[2], tables[1]):
        by_events(table)
    assert len(planned) == 3
    by_events(tables[0])
    assert len(planned) == 4


def test_a_mixture_of_files_and_tables_is_planned_once(tmp_path: Path, planned: list[str]) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(table_of(1, 2), path)
    for _ in range(2):
        found = motif.sql(QUERY, tables={"rows": path, "other": table_of(1)})
        assert found.to_pylist() == [{"x": 2, "y": 3}]
    assert len(planned) == 1
