"""Loops compiled by another process: nothing waits for it, nothing depends on it, and it ends with its parent."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import motif
from motif.engine.stream.session import StreamSession
from motif.kernels import aside, build, native
from motif.kernels.aside import NotLoaded, compile_aside
from motif.kernels.native import Native
from motif.plan.physical.costs import COSTS

SOURCE = "@kernel\ndef total(values, factor):\n    return len(values) * factor\n"
LONGEST = 120.0
"""Seconds that a compiler may take on a machine that does much else."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path))
    monkeypatch.setattr(aside, "_STARTED", {})
    return tmp_path


def until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + LONGEST
    while not (found := is_so()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def running() -> list[subprocess.Popen[str]]:
    return [process for process in aside._STARTED.values() if process is not None and process.poll() is None]


def test_nobody_waits_and_the_code_is_there_once_it_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Native("total", SOURCE, build.defined)
    with compile_aside(), pytest.raises(NotLoaded):
        loop(np.arange(3), 2)
    assert until(lambda: not running())
    assert len(list(folder.rglob("*.o"))) == 1
    assert not list(folder.rglob("*.tmp"))
    monkeypatch.setattr(Native, "_compiled", lambda *_: pytest.fail("it is compiled here"))
    with compile_aside():
        assert loop(np.arange(3), 2) == 6


def test_who_does_not_ask_for_it_waits(folder: Path) -> None:
    assert Native("total", SOURCE, build.defined)(np.arange(3), 2) == 6
    with compile_aside(wanted=False):
        assert Native("total", SOURCE, build.defined)(np.arange(3), 2.0 > 1) == 3
    assert not aside._STARTED


@pytest.mark.parametrize("reason", ["no Python", "no program", "it fails"])
def test_without_another_process_it_is_compiled_here(
    folder: Path, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason == "no Python":
        monkeypatch.setattr(sys, "executable", "/usr/bin/editor")
    elif reason == "no program":
        monkeypatch.setattr(sys, "executable", str(folder / "python3"))
    else:
        monkeypatch.setattr(aside, "__name__", "no.such.module")
    loop = Native("total", SOURCE, build.defined)

    def called() -> int:
        with compile_aside():
            return loop(np.arange(3), 2)

    if reason == "it fails":
        with pytest.raises(NotLoaded):
            called()
        assert until(lambda: not running())
    assert called() == 6


def test_it_ends_with_its_parent_and_leaves_nothing(folder: Path) -> None:
    slow = SOURCE.replace("    return", "    x = 0\n" + "    x += len(values) * factor // 3\n" * 3000 + "    return")
    script = f"""
import os, numpy as np
from motif.kernels import aside, build
from motif.kernels.native import Native
from motif.plan.physical.costs import COSTS
try:
    with aside.compile_aside():
        Native("total", {slow!r}, build.defined)(np.arange(3), 2)
except aside.NotLoaded:
    [process] = aside._STARTED.values()
    print(process.pid, flush=True)
    os.kill(os.getpid(), 9)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    child = Path(f"/proc/{int(ended.stdout)}/stat")
    assert until(lambda: not child.exists() or child.read_text().rsplit(")", 1)[1].split()[0] == "Z")
    assert not [path for path in folder.rglob("*") if path.is_file()]


def events(count: int) -> list[dict[str, Any]]:
    return [
        {"ts": dt.datetime(2026, 1, 1) + dt.timedelta(seconds=number), "type": "AB"[number % 2], "v": number * 7 % 11}
        for number in range(count)
    ]


SCHEMA = {"ts": "timestamp", "type": "string", "v": "int"}
QUERIES = {
    "events": "SELECT a.v AS a, b.v AS b FROM SEQ(A a; B b) WHERE b.v > a.v WITHIN 5 min",
    "consuming": "SELECT a.v AS a, b.v AS b FROM SEQ(A a; B b) WHERE b.v > a.v WITHIN 5 min CONSUMING ALL",
    "rows": "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.v AS a, SUM(B.v) AS b PATTERN (A B+) DEFINE B AS B.v > PREV(B.v))",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_stream_goes_on_meanwhile(folder: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for known in (build._compiled, build._compiled_consume, build.native_fold, build.native_reach):
        known.cache_clear()
    asked: list[str] = []
    own = Native._compiled

    def compiled(self: Native, shape: native.Shape) -> bytes:
        asked.append(self.name)
        return own(self, shape)

    monkeypatch.setattr(Native, "_compiled", compiled)
    rows = events(400)
    stream = motif.Stream(query, SCHEMA)
    soon = replace(COSTS, small_step_rows=2, plain_steps=1, kept_plain_steps=1, ready_rows=1)
    stream.links[0].session = StreamSession(stream.links[0].planned, costs=soon)
    parts = [stream.push(rows[start : start + 10]) for start in range(0, 200, 10)]
    assert aside._STARTED
    until(lambda: not running())
    parts += [stream.push(rows[start : start + 10]) for start in range(200, 400, 10)]
    until(lambda: not running())
    parts.append(stream.close())
    assert not asked or query == QUERIES["rows"]  # its last step, over all that is left, may wait
    kinds = [pa.timestamp("us"), pa.string(), pa.int64()]
    table = pa.Table.from_pylist(rows, pa.schema(list(zip(SCHEMA, kinds, strict=True))))
    assert pa.concat_tables(parts).to_pylist() == motif.match(table, query).to_pylist()
