"""Files that the caller names: folders, patterns, several, datasets, and CSV files as people write them."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import motif

COUNT = "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n, SUM(x) AS s PATTERN (A+))"
BY_KEY = COUNT.replace("(ORDER", "(PARTITION BY k ORDER")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    logs = tmp_path / "logs"
    (logs / "more").mkdir(parents=True)
    for number, name in enumerate(("a.csv", "b.csv", "more/c.csv")):
        (logs / name).write_text(f"ts,x\n2026-01-0{number + 1} 10:00:00,{number}\n", encoding="utf-8")
    (logs / "_SUCCESS").write_text("", encoding="utf-8")
    (logs / ".a.csv.crc").write_text("?", encoding="utf-8")
    pq.write_to_dataset(
        pa.table({"ts": [1, 2, 3], "x": [1, 2, 3], "k": ["a", "a", "b"]}), "keyed", partition_cols=["k"]
    )
    return tmp_path


def rows(data: Any, clause: str = COUNT) -> list[Any]:
    return [tuple(row.values()) for row in motif.match(data, clause).to_pylist()]


def test_folders_patterns_and_lists(folder: Path) -> None:
    assert rows("logs") == [(3, 3)]
    assert rows("logs/*.csv") == [(2, 1)]
    assert rows(str(folder / "logs" / "**" / "*.csv")) == [(3, 3)]
    assert rows(motif.files(["logs/a.csv", Path("logs/more/c.csv")])) == [(2, 2)]
    assert motif.sql(f"SELECT * FROM l {COUNT}", tables={"l": "logs"}).num_rows == 1


def test_folders_may_be_columns(folder: Path) -> None:
    assert rows("keyed", BY_KEY) == [("a", 2, 3), ("b", 1, 3)]


def test_datasets_and_relations(folder: Path) -> None:
    keyed = ds.dataset("keyed", partitioning="hive")
    assert rows(keyed, BY_KEY) == [("a", 2, 3), ("b", 1, 3)]
    assert motif.sql(f"SELECT * FROM d {COUNT}", tables={"d": keyed, "l": "logs"}).to_pylist() == [{"n": 3, "s": 6}]
    assert rows(duckdb.connect().sql("SELECT range AS ts, range AS x FROM range(5)")) == [(5, 10)]


def test_addresses_go_to_the_file_systems_of_arrow(folder: Path) -> None:
    assert rows(f"file://{folder}/keyed/k=a") == [(2, 3)]


def test_files_that_changed_are_read_anew(folder: Path) -> None:
    assert rows("logs/*.csv") == [(2, 1)]
    (folder / "logs" / "d.csv").write_text("ts,x\n2026-02-01 10:00:00,10\n", encoding="utf-8")
    assert rows("logs/*.csv") == [(3, 11)]


def test_csv_as_people_write_it(folder: Path) -> None:
    Path("sales.csv").write_bytes("ts;x;name\n03/02/2026;36,96;Jos\xe9\n04/02/2026;1,5;Ann\n".encode("latin-1"))
    sales = motif.files("sales.csv", delimiter=";", decimal=",", dates="%d/%m/%Y", encoding="latin-1")
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS d, SUM(x) AS s, FIRST(name) AS n PATTERN (A+))"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows(sales, clause) == [(dt.date(2026, 2, 3), 38.46, "Jos\xe9")]


def test_dates_that_can_be_read_in_two_ways_are_told(folder: Path) -> None:
    Path("sales.csv").write_text("ts,x\n03/02/2026,1\n04/02/2026,2\n", encoding="utf-8")
    with pytest.warns(motif.MotifWarning, match="can be read in two ways"):
        rows("sales.csv")


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (lambda: "nolog", "there is no file nolog", "a table of Spark is given as spark.table('nolog')"),
        (lambda: "no/*.csv", "no file fits no/*.csv", "* stands for any part of a name"),
        (lambda: "empty", "there is no file in the folder empty", "it may hold .parquet"),
        (lambda: "mixed", "mixed holds files of different formats", "'folder/*.parquet'"),
        (lambda: "latin.csv", "latin.csv is not UTF-8", "encoding=latin-1"),
        (lambda: motif.files("logs/a.csv", delimter=";"), "there is no option delimter", "did you mean delimiter?"),
        (lambda: motif.files("keyed", header=True), "header is an option of CSV files", "leave it out"),
        (lambda: motif.files([]), "files cannot be []", "give a path"),
        (lambda: motif.files(3), "files cannot be 3", "give a path"),
    ],
)
def test_mistakes_are_told(folder: Path, data: Any, message: str, hint: str) -> None:
    Path("empty").mkdir()
    Path("mixed").mkdir()
    Path("mixed/a.csv").write_text("ts,x\n1,2\n", encoding="utf-8")
    Path("mixed/b.json").write_text("[]", encoding="utf-8")
    Path("latin.csv").write_bytes("ts,x\nJos\xe9,1\n".encode("latin-1"))
    with pytest.raises(motif.MotifError) as caught:
        motif.match(data(), COUNT)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_dates_are_looked_for_in_the_way_that_the_caller_says(tmp_path: Path) -> None:
    """The bytes of another encoding, and delimiters that are not found out."""
    path = tmp_path / "sales.csv"
    path.write_bytes("day;shop;amount\n03/01/2026;J\u00f6rg;1,5\n04/01/2026;Zo\u00eb;2,5\n".encode("latin-1"))
    given = motif.files(path, delimiter=";", decimal=",", encoding="latin-1")
    with pytest.warns(motif.MotifWarning, match="dates in column day of .* can be read in two ways"):
        found = motif.sql("SELECT shop, amount FROM sales ORDER BY shop", tables={"sales": given})
    assert found.to_pylist() == [{"shop": "J\u00f6rg", "amount": 1.5}, {"shop": "Zo\u00eb", "amount": 2.5}]


@pytest.mark.parametrize("option", [{"encoding": "klingon"}, {"dates": "%Q"}, {"skip": -1}])
def test_options_that_csv_files_do_not_take(tmp_path: Path, option: dict[str, Any]) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("day;shop\n03/01/2026;ann\n")
    with pytest.raises(motif.MotifError, match=r"^cannot read .*: .*\n  hint: say how it is written") as caught:
        motif.sql("SELECT count(*) AS n FROM sales", tables={"sales": motif.files(path, **option)})
    assert "\n" not in caught.value.message
