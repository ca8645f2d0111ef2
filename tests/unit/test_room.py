"""Memory, disk and results of a query in process are bounded by names, and nothing is left on disk."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif import api, limits
from motif.errors import LimitExceeded, MotifError
from motif.hosts import temporary
from motif.hosts.duckdb_database import Database
from motif.hosts.duckdb_refused import beyond_limits
from motif.plan.physical.costs import COSTS

CLAUSE = "MATCH_RECOGNIZE (ORDER BY h, i MEASURES A.h AS h PATTERN (A B) DEFINE B AS B.h = A.h)"
SORT = f"SELECT * FROM (SELECT i, hash(i) % 1000000007 AS h FROM range({{rows}}) r(i)) AS x {CLAUSE}"
"""What has to be sorted is far more than what is found."""


BY_DUCKDB = replace(COSTS, sort_bytes=-1)
"""Whatever its size is, it is sorted by DuckDB."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def limited(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, **values))  # type: ignore[arg-type]


def test_what_does_not_fit_into_memory_is_written_where_the_caller_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = names(Path.cwd())
    limited(monkeypatch, memory_bytes=80_000_000, temp_folder=str(tmp_path))
    seen: set[tuple[str, int]] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            for top in tmp_path.iterdir():
                files = [path for path in top.rglob("*") if path.is_file()]
                seen.add(("spilled" if files else "empty", stat.S_IMODE(top.stat().st_mode)))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        api.sql(SORT.format(rows=2_000_000), tables={}, spark=None, costs=BY_DUCKDB)
    finally:
        over.set()
        watcher.join()
    assert ("spilled", 0o700) in seen
    assert {mode for _, mode in seen} == {0o700}
    assert names(Path.cwd()) == before


def test_disk_is_bounded_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limited(monkeypatch, memory_bytes=100_000_000, spill_bytes=10_000_000, temp_folder=str(tmp_path))
    with pytest.raises(LimitExceeded, match="spill_bytes = 10,000,000"):
        api.sql(SORT.format(rows=8_000_000), tables={}, spark=None, costs=BY_DUCKDB)


def test_the_memory_of_duckdb_is_bounded_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, memory_bytes=100_000_000)
    clause = "MATCH_RECOGNIZE (ORDER BY n MEASURES A.n AS n PATTERN (A) DEFINE A AS TRUE)"
    with pytest.raises(LimitExceeded, match="memory_bytes = 100,000,000"):
        motif.sql(
            f"SELECT * FROM (SELECT len(list(i + 1)) AS n FROM range(30000000) r(i)) AS x {clause}",
            tables={},
        )


def test_a_folder_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limited(monkeypatch, temp_folder=str(tmp_path / "nowhere"))
    with pytest.raises(MotifError, match="nowhere: No such file") as told:
        Database({})
    assert "temp_folder" in str(told.value)


def in_a_process(folder: Path, then: str) -> subprocess.CompletedProcess[str]:
    code = f"""
import os, signal, sys
from dataclasses import replace
import motif
from motif import api, limits
from motif.hosts.duckdb_database import Database
from motif.hosts.duckdb_refused import beyond_limits
from motif.plan.physical.costs import COSTS
limits.LIMITS = replace(limits.LIMITS, temp_folder=sys.argv[1])
database = Database({{}})
(own,) = (name for name in os.listdir(sys.argv[1]) if name not in sys.argv[2:])
open(os.path.join(sys.argv[1], own, "rest"), "w").close()
{then}
"""
    command = [sys.executable, "-c", code, str(folder), *names(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_process_leaves_nothing_on_disk(tmp_path: Path) -> None:
    ended = in_a_process(tmp_path, "sys.exit(0)")
    assert ended.returncode == 0, ended.stderr
    assert not names(tmp_path)


def test_a_forked_process_leaves_the_folder_of_its_parent(tmp_path: Path) -> None:
    then = "child = os.fork()\nif child: os.waitpid(child, 0); print(os.listdir(sys.argv[1]) == [own])\nsys.exit(0)"
    assert in_a_process(tmp_path, then).stdout == "True\n"
    assert not names(tmp_path)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    foreign = tmp_path / "motif-of-somebody"
    foreign.mkdir()
    killed = in_a_process(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    temporary._folder.cache_clear()
    own = temporary.fresh_folder(str(tmp_path)).parent
    assert sorted(tmp_path.iterdir()) == sorted([foreign, own])


def test_the_folder_of_a_process_that_lives_is_left_alone(tmp_path: Path) -> None:
    own = temporary.fresh_folder(str(tmp_path)).parent
    ended = in_a_process(tmp_path, "sys.exit(0)")
    assert ended.returncode == 0, ended.stderr
    assert list(tmp_path.iterdir()) == [own]


def test_other_limits_are_another_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = "SELECT current_setting('memory_limit'), current_setting('max_temp_directory_size')"
    first = Database({}).connection.execute(asked).fetchall()
    limited(monkeypatch, memory_bytes=2 << 30, spill_bytes=3 << 30, temp_folder=str(tmp_path))
    assert Database({}).connection.execute(asked).fetchall() == [("1.0 GiB", "3.0 GiB")] != first


COUNT = 4_000
MANY = pa.table(
    {
        "ts": pa.array(range(COUNT), pa.timestamp("us")),
        "type": ["A", "B"] * (COUNT // 2),
        "v": range(COUNT),
        "k": [n // 2 % 3 for n in range(COUNT)],
        "name": [f"the name of {n}" for n in range(COUNT)],
    }
)
ALL_ROWS = (
    "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(v) AS l ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A+))"
)
BY_KEY = "SELECT a.v AS x, b.v AS y FROM SEQ(A a; A b; B c) WHERE [k] WITHIN 300 us"
HUGE: dict[str, Callable[[], pa.Table]] = {
    "events": lambda: motif.match(MANY, "SELECT a.v AS x, b.v AS y FROM SEQ(A a; B b)"),
    "events by key": lambda: motif.match(MANY, BY_KEY),
    "texts of a host": lambda: motif.match(MANY, "SELECT a.name || b.name AS n FROM SEQ(A a; B b)"),
    "whole events": lambda: motif.match(MANY, "SELECT * FROM SEQ(A a; B b)"),
    "lists": lambda: motif.match(MANY, "SELECT a.v AS v, COUNT(b) AS n FROM SEQ(A a; B b+; A c) WITHIN 100 us"),
    "tests of functions": lambda: motif.match(
        MANY, "SELECT a.v AS v FROM SEQ(A a; B b) WHERE all_are(a.v, b.v)", functions={"all_are": all_are}
    ),
    "rows": lambda: motif.match(MANY, ALL_ROWS),
    "rows of a clause that is only counted": lambda: motif.sql(
        f"SELECT count(*) FROM t {ALL_ROWS} AS x", tables={"t": MANY}
    ),
    "a statement": lambda: motif.sql(
        "SELECT x.n, b.v FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(v) AS n PATTERN (A)) AS x, t b",
        tables={"t": MANY},
    ),
}


@motif.vectorized
def all_are(values: Any, _: Any) -> Any:
    return values >= 0


@pytest.mark.parametrize("name", HUGE)
def test_memory_for_matches_and_results_is_bounded_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, memory_bytes=16_000_000)
    with pytest.raises(LimitExceeded, match="memory_bytes = 16,000,000") as told:
        HUGE[name]()
    assert "motif.limits.LIMITS = replace(motif.limits.LIMITS, memory_bytes=...)" in str(told.value)


@pytest.mark.parametrize("name", HUGE)
def test_results_are_bounded_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, result_rows=10_000)
    with pytest.raises(LimitExceeded, match="result_rows = 10,000"):
        HUGE[name]()


def test_what_a_pick_leaves_out_is_no_row_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, result_rows=COUNT // 2)
    found = motif.match(MANY, "SELECT a.v AS x, b.v AS y FROM SEQ(A a; B b) PICK FIRST b")
    assert found.num_rows == COUNT // 2


def test_the_same_of_rows_that_duckdb_sorts(monkeypatch: pytest.MonkeyPatch) -> None:
    for values in ({"memory_bytes": 40_000_000}, {"result_rows": 10_000}):
        limited(monkeypatch, **values)
        with pytest.raises(LimitExceeded, match=next(iter(values))):
            motif.match(MANY, ALL_ROWS)


def test_events_of_files_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,type,v\n" + "2026-01-01 00:00:00,A,1\n" * 400_000 + "2026-01-01 00:00:00,B,1\n")
    limited(monkeypatch, memory_bytes=120_000_000)
    assert motif.match(path, "SELECT a.v FROM SEQ(A a; B b)").num_rows == 400_000
    limited(monkeypatch, memory_bytes=8_000_000)
    with pytest.raises(LimitExceeded, match="memory_bytes = 8,000,000"):
        motif.match(path, "SELECT a.v FROM SEQ(A a; B b)")


@pytest.mark.parametrize(
    "told",
    [
        "could not allocate block of size 9.1 MiB (0 bytes/3.8 MiB used)",
        "failed to allocate data of size 1.0 MiB (3.0 MiB/3.8 MiB used)",
        "failed to pin block of size 256.0 KiB (3.8 MiB/3.8 MiB used)",
        "failed to reserve memory data of size 4.0 MiB (3.8 MiB/3.8 MiB used)",
        "failed to resize block from 1.0 MiB to 9.1 MiB (3.8 MiB/3.8 MiB used)",
    ],
)
def test_however_duckdb_says_it_has_no_memory_it_is_the_limit(told: str) -> None:
    found = beyond_limits(told)
    assert found is not None
    assert "memory_bytes" in str(found)
    assert beyond_limits("could not find block of size 9.1 MiB") is None
