"""DuckDB as the host: rows sorted in memory and rows sorted by DuckDB are matched alike."""

from __future__ import annotations

import os
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from duckdb import FatalException

import motif
from motif import api
from motif.hosts import duckdb_database, kept_plans
from motif.hosts.duckdb import match_table
from motif.hosts.duckdb_database import Database
from motif.hosts.duckdb_refused import Refused
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import COMPILED, COSTS, PLAIN, Costs
from motif.plan.physical.plan import Strategy

CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t DESC NULLS FIRST
    MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS label, SUM(v) AS total ALL ROWS PER MATCH WITH UNMATCHED ROWS
    PATTERN (A B+) DEFINE B AS v > PREV(v) OR v = A.v)"""


def table(rows: int) -> pa.Table:
    return pa.table(
        {
            "k": [None if i % 13 == 0 else f"k{i % 7}" for i in range(rows)],
            "t": [None if i % 11 == 0 else i // 3 for i in range(rows)],
            "v": [None if i % 17 == 0 else i * 31 % 10 for i in range(rows)],
        }
    )


def many_parts(costs: Costs) -> Costs:
    """Of each hundred rows a part, on as many cores as there may be."""
    return replace(costs, cores=8, shard_rows=100, rows_per_call=1)


SHARED = many_parts(COSTS)


def sorted_rows(result: pa.Table) -> list[str]:
    return sorted(map(repr, result.to_pylist()))


@pytest.mark.parametrize("memory_bytes", [0, 4_000])
def test_rows_that_do_not_fit_into_memory(memory_bytes: int) -> None:
    rows = table(1_000)
    in_memory = motif.match(rows, CLAUSE)
    streamed = api.match(rows, CLAUSE, costs=replace(COSTS, sort_bytes=memory_bytes))
    assert in_memory.num_rows == 1_000
    assert sorted_rows(streamed) == sorted_rows(in_memory)


def test_many_threads_give_what_one_gives() -> None:
    rows = table(2_000)
    alone = api.match(rows, CLAUSE, strategy="sequential")
    assert sorted_rows(api.match(rows, CLAUSE, strategy="partitions", costs=SHARED)) == sorted_rows(alone)


@pytest.mark.parametrize("name", ["a long name ", "k"])
@pytest.mark.parametrize("keys", [50, 9_000])
@pytest.mark.parametrize("fits", [True, False])
def test_rows_that_do_not_fit_into_memory_are_sorted_by_the_database(
    name: str, keys: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many partitions they are of."""
    rows = pa.table({"k": [f"{name}{n % keys}" for n in range(10_000)], "t": list(range(10_000))})
    query = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.t AS t PATTERN (A B) DEFINE B AS t > A.t)"
    expected = motif.match(rows, query)
    asked: list[str] = []
    reader = Database.reader
    costs = replace(COSTS, sort_bytes=rows.nbytes if fits else rows.nbytes // 2)
    monkeypatch.setattr(Database, "reader", lambda self, sql: asked.append(sql) or reader(self, sql))
    assert sorted_rows(api.match(rows, query, costs=costs)) == sorted_rows(expected)
    assert expected.num_rows == (1_000 if keys == 9_000 else 5_000)
    assert any("ORDER BY" in sql for sql in asked) != fits


COUNTED = "MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS t > 0)"


def _write(folder: Path, rows: int) -> Path:
    folder.mkdir()
    path = folder / "rows.parquet"
    parquet.write_table(pa.table({"t": list(range(1, rows + 1))}), path)
    return path


def _counted(path: str) -> list[dict[str, int]]:
    found: list[dict[str, int]] = motif.match(path, COUNTED).to_pylist()
    return found


def test_databases_are_kept_and_those_of_long_ago_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_plans, "SETTLED_SECONDS", 3600.0)  # files stay new, however long this takes
    monkeypatch.setattr(duckdb_database, "_INSTANCES", {})
    paths = [_write(tmp_path / str(number), number + 1) for number in range(6)]
    for _ in range(2):
        for number, path in enumerate(paths):
            assert _counted(str(path)) == [{"n": number + 1}]
    assert [key[3] for key in duckdb_database._INSTANCES] == [(str(path),) for path in paths[2:]]
    before = dict(duckdb_database._INSTANCES)
    _counted(str(paths[5]))
    assert before == duckdb_database._INSTANCES


def test_a_relative_path_is_that_of_the_folder_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (1, 2):
        folder = _write(tmp_path / str(rows), rows).parent
        monkeypatch.chdir(folder)
        assert _counted("rows.parquet") == [{"n": rows}]


def test_a_database_that_failed_for_good_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_database, "_INSTANCES", {})
    broken = Database({})

    class Broken:
        def cursor(self) -> duckdb.DuckDBPyConnection:
            return duckdb.connect()

        def execute(self, sql: str) -> None:
            raise FatalException(f"FATAL Error: no more of {sql}")

        def interrupt(self) -> None:
            raise AssertionError("there is nothing to stop")

    broken.connection = Broken()
    assert duckdb_database._INSTANCES
    with pytest.raises(Refused, match="no more of SELECT 1"):
        broken.execute("SELECT 1")
    assert not duckdb_database._INSTANCES
    assert Database({}).execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_opens_its_own(tmp_path: Path) -> None:
    path = str(_write(tmp_path / "one", 3))
    assert _counted(path) == [{"n": 3}]
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        assert pool.submit(_counted, path).result(timeout=60) == [{"n": 3}]


@pytest.mark.parametrize("costs", [PLAIN, COMPILED], ids=["plain", "compiled"])
@pytest.mark.parametrize("mode", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_keys_of_text_are_keys_like_numbers(mode: str, costs: Costs) -> None:
    costs = many_parts(costs)
    rng = random.Random(2)
    keys = pa.array([rng.choice((None, *range(12))) for _ in range(600)], pa.int64())
    rows = pa.table({"k": keys, "t": range(600), "v": [rng.randrange(9) for _ in keys]})
    query = parse_clause(f"""MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY t
        MEASURES MATCH_NUMBER() AS n, LAST(B.k) AS last_k, MAX(B.k) AS most_k, ARRAY_AGG(A.k) AS every_k,
                 COUNT(DISTINCT k) AS different, CLASSIFIER() AS label,
                 CONCAT(FIRST(k), '!') AS shown, LAST(v) AS last_v
        {mode} PATTERN (A B+ C?)
        DEFINE B AS B.v > PREV(B.v) AND B.k = FIRST(A.k), C AS C.v < FIRST(A.v) AND C.k >= A.k
    )""")
    by_number = match_table(rows, query, costs=costs, wanted=Strategy.PARTITIONS)
    by_text = match_table(
        rows.set_column(0, "k", keys.cast(pa.string())), query, costs=costs, wanted=Strategy.PARTITIONS
    )
    texts = pa.schema([("k", pa.string()), ("last_k", pa.string()), ("every_k", pa.list_(pa.string()))])
    assert [by_text.schema.field(field.name) for field in texts] == list(texts)
    assert by_number.num_rows > 50
    assert sorted(map(_shown, by_text.to_pylist())) == sorted(map(_shown, by_number.to_pylist()))


def _shown(row: dict[str, object]) -> str:
    return repr(row).replace("'", "")
