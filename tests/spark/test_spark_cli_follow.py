"""`motif run --follow` for real: files that come one after the other, Ctrl-C, the same command again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark
PATIENCE_S = 600
MOTIF = [sys.executable, "-c", "from motif.cli import main; main()"]
QUERY = """
SELECT symbol, name, bottom, top FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY t
  MEASURES LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
  PATTERN (DOWN+ UP+) WITHIN INTERVAL '1' HOUR
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))
JOIN names USING (symbol)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    return tmp_path


def add(name: str, text: str) -> None:
    Path("in", f".{name}").write_text(text, encoding="utf-8")
    Path("in", f".{name}").rename(Path("in", name))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MOTIF, "run", *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, Path("err").read_text(encoding="utf-8")
        assert time.monotonic() < end, Path("err").read_text(encoding="utf-8")
        time.sleep(0.5)


def pairs(lines: str) -> list[tuple[int, int]]:
    return [(match["x"], match["y"]) for match in map(json.loads, lines.splitlines())]


def shown() -> list[tuple[int, int]]:
    return pairs(Path("out").read_text(encoding="utf-8"))


def event(second: int, kind: str, key: int, value: int) -> str:
    return json.dumps({"ts": f"2026-01-01T12:00:{second:02}", "type": kind, "k": key, "v": value}) + "\n"


def test_events_as_they_come_ctrl_c_and_on(folder: Path) -> None:
    query = "SELECT a.v AS x, b.v AS y FROM SEQ(A a; B b) WHERE [k] WITHIN 5 s"
    command = (query, "-t", "events=in", "--follow", "--host", "spark", "--lateness", "1 s")
    add("1.jsonl", event(0, "A", 1, 1) + event(1, "B", 1, 2))
    with Path("out").open("w") as out, Path("err").open("w") as err:
        process = subprocess.Popen([*MOTIF, "run", *command], stdout=out, stderr=err, text=True)
        try:
            wait_until(lambda: len(shown()) == 1, process)
            add("2.jsonl", event(2, "B", 1, 3) + event(20, "A", 2, 4))
            wait_until(lambda: len(shown()) == 2, process)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0, Path("err").read_text(encoding="utf-8")
        finally:
            process.kill()
    assert shown() == [(1, 2), (1, 3)]
    said = Path("err").read_text(encoding="utf-8")
    assert "stopped: 4 events, 2 matches\n" in said
    assert "Traceback" not in said
    add("3.jsonl", event(22, "B", 2, 5))
    done = run(*command, "--once")
    assert done.returncode == 0, done.stderr
    assert pairs(done.stdout) == [(4, 5)]
    assert "going on after 4 events, 2 matches\n" in done.stderr
    assert "done: 5 events, 3 matches\n" in done.stderr


def test_matches_are_written_once_and_a_bad_file_is_named(folder: Path) -> None:
    Path("q.sql").write_text(QUERY, encoding="utf-8")
    Path("names.csv").write_text("symbol,name\nABC,Alphabet\n", encoding="utf-8")
    command = (
        "q.sql",
        "-t",
        "trades=in",
        "-t",
        "names=names.csv",
        "--follow",
        "--host",
        "spark",
        "--once",
        "-o",
        "out",
    )
    header, minute = "symbol,t,price\n", "2026-01-01 12:00:"
    prices = [10, 9, 8, 9, 8, 7, 9]
    add("1.csv", header + "".join(f"ABC,{minute}{second:02},{price}\n" for second, price in enumerate(prices)))
    done = run(*command)
    assert done.returncode == 0, done.stderr
    add("2.csv", header + f"ABC,{minute}10,9.5\n")
    failed = run(*command)
    assert failed.returncode == 2, failed.stderr
    assert "in/2.csv does not fit the stream of trades: price is double there, not bigint" in failed.stderr
    assert "--columns 'price DOUBLE'" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert done.stdout == failed.stdout == ""
    matches = pq.read_table("out").select(["name", "bottom", "top"]).to_pylist()
    assert matches == [{"name": "Alphabet", "bottom": 8, "top": 9}]
