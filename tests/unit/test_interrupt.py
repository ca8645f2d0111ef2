"""Ctrl-C stops the host wherever it works, once or twice, and what is asked afterwards is answered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CLAUSE = "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS a PATTERN (A B) DEFINE B AS v > PREV(v))"
ENDLESS = "t a, t b, t c, t d, t e, t f WHERE sqrt(a.id * b.v) + random() < c.v - d.id - e.id - f.id - 1e9"
"""Six tables of 1,000 rows: longer than anyone waits, and no row passes."""
QUERIES = {
    "input": f"motif.sql('SELECT * FROM (SELECT a.id, a.v FROM {ENDLESS}) AS x {CLAUSE}', tables={{'t': t}})",
    "outer": f"motif.sql('SELECT count(*), sum(e.id + random()) FROM t {CLAUSE} AS x, {ENDLESS}', tables={{'t': t}})",
    "rows": f"motif.sql('SELECT a.id + random() AS z FROM t {CLAUSE} AS x, {ENDLESS}', tables={{'t': t}})",
    "sorted": f"motif.sql('SELECT * FROM (SELECT a.id, a.v FROM {ENDLESS}) AS x {CLAUSE}', tables={{'t': t}})",
}
SCRIPT = """
import os, signal, threading, sys
import pyarrow as pa
import motif
from motif.hosts import duckdb_database, interrupt

t = pa.table({"id": [float(n) for n in range(1000)], "v": [n % 7 for n in range(1000)]})

def ask():
    return motif.sql("SELECT count(*) AS n FROM t CLAUSE", tables={"t": t}).to_pylist()

before = ask()
if "WHERE" == "sorted":
    from motif.hosts import duckdb_rows
    duckdb_rows.MEMORY_BYTES = -1

# Calls of the host by number: one that is not over after so long is the one to interrupt.
calls, over = [0], threading.Event()
heard = interrupt.heard
def counted(work, stop):
    calls[0] += 1
    try:
        return heard(work, stop)
    finally:
        calls[0] += 1
duckdb_database.heard = counted

def interrupt_once_it_is_stuck():
    seen = -1
    while not over.wait(0.5):
        if calls[0] == seen and (seen % 2 or "WHERE" == "sorted"):
            for _ in range(TIMES):
                os.kill(os.getpid(), signal.SIGINT)
                over.wait(0.02)
            return
        seen = calls[0]

threading.Thread(target=interrupt_once_it_is_stuck, daemon=True).start()
try:
    try:
        QUERY
        print("finished")
    finally:
        over.wait(0.1)
except KeyboardInterrupt:
    print("stopped")
over.set()
print(ask() == before)
"""


def script(name: str, times: int) -> str:
    text = SCRIPT.replace("QUERY", QUERIES[name]).replace("CLAUSE", CLAUSE).replace("TIMES", str(times))
    return text.replace('"WHERE"', repr(name))


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", QUERIES)
def test_the_host_stops(name: str, times: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", script(name, times)], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.split() == ["stopped", "True"], run.stderr[-3000:]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_command_line_says_that_it_was_stopped(times: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,v\n" + "".join(f"{n},{n % 7}\n" for n in range(1000)))
    query = f"SELECT count(*) FROM (SELECT a.id, a.v FROM {ENDLESS}) AS x {CLAUSE}"
    code = textwrap.dedent("""
        import sys
        from motif.cli import app
        from motif.hosts import duckdb_database
        reader = duckdb_database.Database.reader
        def told(self, sql):
            print("working", flush=True)
            return reader(self, sql)
        duckdb_database.Database.reader = told
        app.main(["run", sys.argv[1], "--table", "t=t.csv"])
    """)
    command = [sys.executable, "-c", code, query]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        for _ in range(times):
            os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert told.strip() == "stopped"


SEARCH = """
import os, signal, sys, threading
import numpy as np
import pyarrow as pa
import motif
from motif.engine import matcher, parallel
from motif.limits import LIMITS
from motif.plan.physical.costs import COSTS

count, keys = 200_000, KEYS
parallel.SHARD_ROWS = 1_000
t = pa.table({"k": np.arange(count) * keys // count, "id": np.arange(count), "v": np.zeros(count, np.int64)})
define = "A AS v = 0, B AS v > LAST(A.v) - 1, C AS v > 1 + FIRST(A.v) + LAST(B.v)"
clause = f"MATCH_RECOGNIZE (PARTITION ORDER BY id MEASURES COUNT(*) AS n PATTERN (A+ B+ C) DEFINE {define})"
matcher.MOST_STEPS = 1 << 40  # the search would take hours

# Turns of the loops before and after the signal, and the steps that a turn may take.
turns, most = [0, 0], [0]
wanted = matcher.check_wanted
def counted():
    turns[sent.is_set()] += 1
    if turns[0] == 2 and not sent.is_set():
        sent.set()
        os.kill(os.getpid(), signal.SIGINT)
    wanted()
sent = threading.Event()
matcher.check_wanted = counted
try:
    motif.match(t, clause)
    print("finished")
except KeyboardInterrupt:
    print("stopped")
print(turns[1] <= 20, COSTS.search_pause + LIMITS.match_steps <= 70_000_000)
"""


@pytest.mark.parametrize(("keys", "partition"), [(1, ""), (40, "PARTITION BY k")])
def test_a_compiled_search_stops(keys: int, partition: str) -> None:
    code = SEARCH.replace("KEYS", str(keys)).replace("PARTITION ORDER", f"{partition} ORDER")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout.split() == ["stopped", "True", "True"], run.stdout + run.stderr[-3000:]
