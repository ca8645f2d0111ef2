"""Parquet files and tables in process: Arrow reads them where DuckDB would read the same, and DuckDB all others."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import motif
from column_values import COLUMNS
from motif import api
from motif.hosts import duckdb, duckdb_files, parquet
from motif.hosts.duckdb_database import Database
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import COSTS
from motif.testing.cases import same_in_order
from motif.testing.generate import random_example
from motif.testing.reference import match_rows
from motif.testing.tables import to_arrow

LEFT_TO_DUCKDB: dict[str, tuple[pa.DataType, list[Any]]] = {
    "unsigned": (pa.uint32(), [1, 2**32 - 1, None]),
    "nano": (pa.timestamp("ns"), [1, 2, None]),
    "clock": (pa.time64("us"), [dt.time(1, 2), dt.time(3), None]),
    "list": (pa.list_(pa.int64()), [[1], [], None]),
    "struct": (pa.struct({"a": pa.int64()}), [{"a": 1}, {"a": 2}, None]),
}
ROWS = pa.table(
    {
        "ts": pa.array(range(3_000)),
        "k": pa.array(["abcd"[i % 4] for i in range(3_000)]),
        "x": pa.array([i * 7 % 11 for i in range(3_000)]),
        "name": pa.array(["abc"[i % 3] if i % 50 else None for i in range(3_000)]),
    }
)
RISES = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(x) AS first, LAST(x) AS last, FIRST(name) AS name
    PATTERN (A UP+) DEFINE A AS name <> 'c', UP AS x > PREV(x))"""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of the pieces that Arrow read."""
    seen: list[int] = []
    tables = parquet.ParquetColumns.tables

    def counting(self: Any, *arguments: Any) -> Any:
        for table in tables(self, *arguments):
            seen.append(table.num_rows)
            yield table

    monkeypatch.setattr(parquet.ParquetColumns, "tables", counting)
    return seen


def stored(folder: Path, table: pa.Table = ROWS, name: str = "rows.parquet", **options: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **({"row_group_size": 400} | options))
    return path


def by_duckdb(data: Any, clause: str = RISES) -> pa.Table:
    """The answer with DuckDB as the only one who reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb.DuckSource, "own_rows", lambda *_: None)
        return motif.match(data, clause)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_is_what_duckdb_hands_over(name: str, tmp_path: Path, read: list[int]) -> None:
    kind, values = COLUMNS[name]
    table = pa.table({"i": pa.array(range(9)), name: pa.array(values * 3, kind)})
    path = stored(tmp_path, table, row_group_size=2)
    for clause in (
        "MATCH_RECOGNIZE (ORDER BY i ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS i >= 0)",
        f"""MATCH_RECOGNIZE (PARTITION BY {name} ORDER BY i MEASURES LAST({name}) AS last, COUNT(*) AS n
            PATTERN (A B) DEFINE B AS {name} IS NOT DISTINCT FROM PREV({name}))""",
    ):
        read.clear()
        found = motif.match(path, clause)
        assert sum(read) == 9, clause
        expected = by_duckdb(path, clause)
        assert found.schema == expected.schema
        assert found.equals(expected), clause
        assert found.num_rows
        held = motif.match(table, clause)
        assert held.schema == by_duckdb(table, clause).schema
        assert held.equals(by_duckdb(table, clause)), clause


@pytest.mark.parametrize("name", LEFT_TO_DUCKDB)
def test_other_types_are_read_by_duckdb(name: str, tmp_path: Path, read: list[int]) -> None:
    kind, values = LEFT_TO_DUCKDB[name]
    table = pa.table({"i": pa.array(range(3)), name: pa.array(values, kind)})
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES LAST({name}) AS last PATTERN (A+) DEFINE A AS i >= 0)"
    found = motif.match(stored(tmp_path, table), clause)
    assert found.to_pylist() == by_duckdb(table, clause).to_pylist() == [{"last": None}]
    assert not read
    motif.match(stored(tmp_path, table), clause.replace(f"LAST({name})", "LAST(i)"))
    assert read, "which does not need it"


def test_timestamps_of_old_are_read_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    table = pa.table({"i": [1, 2], "t": pa.array([dt.datetime(2026, 1, 1), None], pa.timestamp("us"))})
    path = stored(tmp_path, table, use_deprecated_int96_timestamps=True)
    clause = "MATCH_RECOGNIZE (ORDER BY i MEASURES A.t AS t PATTERN (A))"
    assert motif.match(path, clause).column("t").to_pylist()[0] == dt.datetime(2026, 1, 1)
    assert not read


CONDITIONS = ("name = 'a'", "name <> 'a'", "'b' <= name", "name < 'ab'", "name = ''", "name = 'é'", "name = 'A'")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_texts_are_compared_as_duckdb_does(condition: str, tmp_path: Path, read: list[int]) -> None:
    names = ["a", "b", "", None, "A", "é", "ab", "a\u0000"] * 50
    table = pa.table({"i": pa.array(range(len(names))), "name": pa.array(names)})
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES A.i AS i PATTERN (A) DEFINE A AS {condition})"
    found = motif.match(stored(tmp_path, table), clause)
    assert sum(read) == len(names)
    assert found.equals(by_duckdb(table, clause))


@pytest.mark.parametrize("name", ["plain", "with space", "100%", "50%20", "a+b", "übel", "a#b", "a'b", 'a"b'])
def test_any_path(name: str, tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path, name=f"{name}.parquet")
    assert motif.match(path, RISES).equals(by_duckdb(ROWS))
    assert sum(read) == ROWS.num_rows


def test_folders_that_are_columns_are_read_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path, ROWS.drop_columns(["k"]), name="k=z/rows.parquet")
    found = motif.match(path, RISES)
    assert set(found.column("k").to_pylist()) == {"z"}
    assert not read


def test_what_is_more_than_a_file_is_read_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path)
    for text in (
        f"SELECT * FROM (SELECT * FROM data) {RISES}",
        f"WITH data AS (SELECT ts, k, 10 - x AS x, name FROM data) SELECT * FROM data {RISES}",
        f"SELECT * FROM data {RISES.replace('name <> ', 'upper(name) <> ')}",
    ):
        assert motif.sql(text, tables={"data": path}).num_rows
        assert not read, text
    for text in (f"SELECT * FROM data {RISES}", f'SELECT * FROM "data" {RISES}', f"SELECT * FROM DATA {RISES}"):
        assert motif.sql(text, tables={"data": path}).num_rows
        assert sum(read) == ROWS.num_rows
        read.clear()


def test_capitals(tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path, ROWS.rename_columns(["TS", "K", "X", "Name"]))
    found = motif.match(path, RISES)
    assert found.rename_columns(["k", "first", "last", "name"]).equals(by_duckdb(ROWS))
    assert sum(read) == ROWS.num_rows


def test_csv_is_read_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    from pyarrow import csv

    csv.write_csv(ROWS.select(["ts", "k", "x"]).append_column("name", ROWS["k"]), tmp_path / "rows.csv")
    assert motif.match(tmp_path / "rows.csv", RISES).num_rows
    assert not read


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = stored(tmp_path, ROWS.slice(0, 0))
    for data in (path, ROWS.slice(0, 0)):
        found, expected = motif.match(data, RISES), by_duckdb(data)
        assert found.equals(expected)
        assert found.schema == expected.schema


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    table = ROWS.set_column(1, "k", pa.array([b"\xff" if i == 9 else b"a" for i in range(3_000)]))
    text = pa.chunked_array([pa.StringArray.from_buffers(3_000, *table["k"].chunk(0).buffers()[1:])])
    path = stored(tmp_path, table.set_column(1, "k", text))
    with pytest.raises(motif.MotifError, match=r"(?i)invalid"):
        motif.match(path, RISES)


def test_a_damaged_file_is_refused_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:2_000] = b"\xee" * 1_996
    path.write_bytes(content)
    with pytest.raises(motif.MotifError):
        motif.match(path, RISES)
    assert not read


def test_too_many_rows_are_sorted_by_duckdb(tmp_path: Path, read: list[int]) -> None:
    path = stored(tmp_path)
    found = api.match(path, RISES, costs=replace(COSTS, sort_bytes=10_000))
    assert read
    assert found.equals(by_duckdb(ROWS))


def test_pieces_are_read_by_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "SLAB_ROWS", 1_000)
    monkeypatch.setattr(duckdb_files, "cores", lambda: 3)
    for size in (1, 70, 400, 5_000):
        path = stored(tmp_path, row_group_size=size)
        assert motif.match(path, RISES).equals(by_duckdb(ROWS)), size


def test_texts_of_which_most_are_different_are_no_codes(tmp_path: Path) -> None:
    many = ROWS.set_column(1, "k", pa.array([f"key number {i}" for i in range(3_000)]))
    footers = {
        name: parquet.footer_of(str(stored(tmp_path, table, name)))
        for name, table in (("few.pq", ROWS), ("many.pq", many))
    }
    assert parquet.is_coded(footers["few.pq"], "k")  # type: ignore[arg-type]
    assert not parquet.is_coded(footers["many.pq"], "k")  # type: ignore[arg-type]
    clause = RISES.replace("PARTITION BY k", "PARTITION BY k, x")
    assert motif.match(tmp_path / "many.pq", clause).equals(by_duckdb(many, clause))


def test_explain_tells(tmp_path: Path) -> None:
    path = stored(tmp_path)
    text = str(motif.explain(f"SELECT * FROM data {RISES}", tables={"data": path}))
    assert "Arrow reads the file" in text
    assert "its values:" in text
    plain = RISES.replace("name <> 'c'", "x >= 0")
    text = str(motif.explain(f"SELECT * FROM data {plain}", tables={"data": ROWS}))
    assert "Columns are taken as they are" in text
    computed = RISES.replace("name <> 'c'", "upper(name) <> 'C'")
    text = str(motif.explain(f"SELECT * FROM data {computed}", tables={"data": path}))
    assert "DuckDB reads" in text
    assert "Arrow reads" not in text


TABLES: dict[str, Callable[[], Any]] = {
    "one piece": lambda: ROWS.combine_chunks(),
    "pieces": lambda: pa.concat_tables([ROWS.slice(at, 70) for at in range(0, 3_000, 70)]),
    "a slice": lambda: pa.concat_tables([ROWS.slice(100), ROWS]).slice(2_900),
    "a batch": lambda: ROWS.combine_chunks().to_batches()[0],
    "longer texts": lambda: ROWS.set_column(1, "k", ROWS["k"].cast(pa.large_string())),
    "codes": lambda: ROWS.set_column(1, "k", ROWS["k"].dictionary_encode()),
    "other columns": lambda: ROWS.append_column("more", pa.array([[1]] * 3_000)),
}


@pytest.mark.parametrize("made", TABLES.values(), ids=TABLES)
def test_tables_in_memory(made: Callable[[], Any]) -> None:
    expected = by_duckdb(ROWS)
    assert motif.match(made(), RISES).cast(expected.schema).equals(expected)
    assert api.match(made(), RISES, costs=replace(COSTS, sort_bytes=10_000)).cast(expected.schema).equals(expected)


def test_tables_in_memory_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB is asked for no row."""
    asked: list[str] = []
    monkeypatch.setattr(Database, "batches", lambda _, reader: asked.append("rows") or iter(reader))
    assert motif.match(ROWS, RISES).num_rows
    assert not asked
    motif.match(ROWS, RISES.replace("name <> 'c'", "upper(name) <> 'C'"))
    assert asked, "for it has a function that only DuckDB knows"


def test_frames_that_may_change_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd
    import polars as pl

    asked: list[str] = []
    monkeypatch.setattr(Database, "batches", lambda _, reader: asked.append("rows") or iter(reader))
    clause = RISES.replace("name <> 'c'", "x >= 0")
    motif.match(pl.from_arrow(ROWS), clause)
    assert not asked
    frame = pd.DataFrame({"t": [1], "x": [2.5]})
    found = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY t ALL ROWS PER MATCH PATTERN (A))")
    assert asked
    frame.loc[0, "x"] = 99.0
    assert found["x"].tolist() == [2.5]


def test_matches_of_one_clause_in_another() -> None:
    one = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(x) AS x, LAST(ts) AS ts
        PATTERN (A B) DEFINE B AS x > A.x)"""
    two = "MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(x) AS a, LAST(x) AS b PATTERN (A UP+) DEFINE UP AS x > PREV(x))"
    text = f"WITH found AS (SELECT * FROM data {one}) SELECT * FROM found {two}"
    found = motif.sql(text, tables={"data": ROWS})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb.DuckSource, "own_rows", lambda *_: None)
        assert found.equals(motif.sql(text, tables={"data": ROWS}))
    assert found.num_rows


@pytest.mark.random
def test_random_queries_agree_with_the_reference(tmp_path: Path, read: list[int]) -> None:
    asked = 0
    for seed in range(2_000, 2_400):
        clause, rows = random_example(random.Random(seed), 20)
        table = to_arrow(rows)
        path = stored(tmp_path, table, f"{seed}.parquet", row_group_size=30)
        read.clear()
        try:
            found = motif.match(path, clause).to_pylist()
        except motif.MotifError:
            continue
        if read:
            asked += 1
            try:
                expected = match_rows(parse_clause(clause), rows, table.column_names, steps=20_000)
            except motif.LimitExceeded:
                continue  # the reference tries all ways
            assert same_in_order([tuple(row.values()) for row in found], expected), clause
    assert asked > 40
