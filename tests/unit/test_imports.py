"""What is imported when: `import motif` is light, and small inputs need no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("pyspark", "numba", "llvmlite", "duckdb", "pyarrow", "numpy", "pandas", "polars", "typer", "rich")


def loaded_after(code: str, folder: Path) -> set[str]:
    """Which of the heavy packages a fresh Python has loaded after running this."""
    script = f"{code}\nimport sys\nprint('loaded', *[name for name in {HEAVY!r} if name in sys.modules])"
    environment = {**os.environ, "MOTIF_CACHE": str(folder)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_import_motif_loads_no_engine(tmp_path: Path) -> None:
    assert loaded_after("import motif", tmp_path) == set()


def test_check_without_tables_loads_no_host(tmp_path: Path) -> None:
    code = "import motif; assert motif.check('SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS x)')"
    assert loaded_after(code, tmp_path) & {"duckdb", "pyspark", "numba"} == set()


SMALL = """
import pyarrow as pa, motif
rows = pa.table({"k": [i % 10 for i in range(1000)], "t": list(range(1000)), "v": [i * 7 % 11 for i in range(1000)]})
clause = '''MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n, SUM(v) AS s, MIN(v) AS m
    PATTERN (A B+) WITHIN 100 DEFINE B AS v > A.v AND SUM(B.v) < 50)'''
assert motif.match(rows, clause).num_rows > 10
"""


def test_small_inputs_are_matched_without_a_compiler(tmp_path: Path) -> None:
    loaded = loaded_after(SMALL, tmp_path)
    assert {"duckdb", "pyarrow"} <= loaded
    assert loaded & {"numba", "llvmlite", "pyspark", "polars"} == set()
    assert not any(tmp_path.iterdir()), "nothing is written where nothing is compiled"


LARGE = """
from dataclasses import replace
from motif import api
from motif.plan.physical.costs import COSTS
costs = replace(COSTS, compile_rows=1000)
""" + SMALL.replace("SUM(B.v) < 50", "B.v < 9").replace(
    "motif.match(rows, clause)", "api.match(rows, clause, costs=costs)"
)


def test_what_was_compiled_before_needs_no_compiler(tmp_path: Path) -> None:
    assert "numba" in loaded_after(LARGE, tmp_path)
    loaded = loaded_after(LARGE, tmp_path)
    assert "llvmlite" in loaded
    assert "numba" not in loaded


EVENTS = """
from dataclasses import replace
from motif import api
from motif.options import EventOptions
from motif.plan.physical.costs import COSTS
costs = replace(COSTS, cores=4, shard_rows=100, events_per_call=1)
query = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] AND b.v > a.v WITHIN 100 s"
assert api.match({path!r}, query, EventOptions("t", "c"), costs=costs).num_rows > 100
"""


def test_events_of_a_file_are_answered_without_pandas(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    rows = [f"k{i % 7},2026-01-01 00:{i // 60:02}:{i % 60:02},{i * 7 % 11},{'AB'[i % 2]}" for i in range(500)]
    path.write_text("\n".join(["k,t,v,c", *rows]))
    assert loaded_after(EVENTS.format(path=str(path)), tmp_path) & {"pandas", "numba"} == set()


def test_a_file_is_answered_without_pandas(tmp_path: Path) -> None:
    """PyArrow imports pandas behind many of its doors; it would be the largest part of a first answer."""
    path = tmp_path / "rows.csv"
    path.write_text("k,t,v,c\n" + "\n".join(f"{i % 7},{i},{i * 7 % 11},{'abc'[i % 3]}" for i in range(500)))
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
        MEASURES COUNT(*) AS n, LAST(c) AS l, CLASSIFIER() AS label, AVG(v) AS a ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A B+) DEFINE B AS v > PREV(v) OR c = A.c)"""
    by_text = clause.replace("BY k", "BY c")
    code = f"import motif; assert all(motif.match({str(path)!r}, q).num_rows == 500 for q in ({clause!r}, {by_text!r}))"
    assert "pandas" not in loaded_after(code, tmp_path)
