"""The command line: exit codes, messages, files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from motif.cli import answers, main
from motif.cli.on_spark import worker_message
from motif.cli.screen import printable

QUERY = """
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY t
  MEASURES FIRST(DOWN.t) AS from_t, LAST(UP.price) AS high, ARRAY_AGG(price) AS prices
  PATTERN (DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))
ORDER BY symbol
"""
TRADES = {"symbol": ["a"] * 4 + ["b"] * 4, "t": [1, 2, 3, 4] * 2, "price": [3.0, 2.0, 1.0, 4.5, 9.0, 8.0, 8.5, 8.75]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(TRADES), "trades.parquet")
    Path("q.sql").write_text(QUERY, encoding="utf-8")
    return tmp_path


def motif(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


RUN = ("run", "q.sql", "-t", "trades=trades.parquet")
TABLE = ("--format", "table")


def test_run_shows_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif(*RUN) == 0
    out, err = capsys.readouterr()
    assert "from_t" in out
    assert "4.5" in out
    assert "8.75" in out
    assert err.startswith("8 rows in, 2 rows out, ")
    assert "\x1b" not in out + err


def test_run_says_what_is_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif(*RUN, *TABLE, "--limit", "1") == 0
    out = capsys.readouterr().out
    assert "1 more row not shown" in out
    assert "8.75" not in out


def test_run_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + QUERY.encode())))
    assert motif("run", "-", "-t", "trades=trades.parquet") == 0
    assert "8.75" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.json", "out.jsonl", "OUT.PARQUET"])
def test_outputs_round_trip(folder: Path, name: str) -> None:
    Path(name).write_text("old", encoding="utf-8")
    assert motif(*RUN, "-o", name) == 0
    expected = [("a", 2, 4.5), ("b", 2, 8.75)]
    rows = read_back(Path(name))
    assert [(row["symbol"], row["from_t"], row["high"]) for row in rows] == expected
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


def read_back(path: Path) -> list[dict[str, object]]:
    match path.suffix.lower():
        case ".parquet":
            return pq.read_table(path).to_pylist()
        case ".csv":
            return pyarrow.csv.read_csv(path).to_pylist()
        case ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        case _:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_empty_results_are_files_too(folder: Path) -> None:
    Path("q.sql").write_text(QUERY.replace("ORDER BY symbol", "WHERE high > 100"), encoding="utf-8")
    for name in ("out.parquet", "out.csv", "out.json", "out.jsonl"):
        assert motif(*RUN, "-o", name) == 0
        assert read_back(Path(name)) == []


def test_a_mistake_gets_a_caret_and_no_traceback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_text(QUERY.replace("LAST(UP.price)", "LAST(UPP.price)"), encoding="utf-8")
    assert motif(*RUN) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "line 4" in err
    assert "^^^" in err
    assert "did you mean UP" in err
    assert "Traceback" not in err


def test_a_file_that_is_not_utf8(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_bytes(b"SELECT 1\n-- caf\xe9\n")
    assert motif(*RUN) == 2
    assert "q.sql is not UTF-8: byte 0xe9 at offset 15, line 2" in capsys.readouterr().err


def test_a_byte_order_mark_counts_in_offsets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_bytes(b"\xef\xbb\xbfSELECT \xff")
    assert motif(*RUN) == 2
    assert "byte 0xff at offset 10, line 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "none.sql"), "there is no file none.sql"),
        (("run", "."), "cannot read ."),
        (("run", "q.sql", "-t", "trades=none.csv"), "there is no file none.csv (table trades)"),
        (("run", "q.sql", "-t", "trades.parquet"), "write --table trades=trades.parquet"),
        (("run", "q.sql", "-t", "t=q.sql"), "cannot tell the format of q.sql"),
        ((*RUN, "-t", "trades=q.sql"), "the table trades is given twice"),
        ((*RUN, "-o", "out.xlsx"), "use a name that ends in .parquet"),
        ((*RUN, "-o", "none/out.csv"), "there is no folder none"),
        ((*RUN, "--report", "none/r.html"), "there is no folder none"),
        ((*RUN, "--host", "flink"), "flink"),
        ((*RUN, "--limit", "-1"), "limit"),
        (("run",), "QUERY"),
        (("fly",), "fly"),
    ],
)
def test_mistakes_of_the_user_are_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert motif(*arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert "Traceback" not in err
    assert out == ""


def test_a_failed_run_leaves_the_old_output(folder: Path) -> None:
    Path("out.csv").write_text("old", encoding="utf-8")
    Path("q.sql").write_text(QUERY.replace("symbol ORDER", "symbl ORDER"), encoding="utf-8")
    assert motif(*RUN, "-o", "out.csv") == 2
    assert Path("out.csv").read_text(encoding="utf-8") == "old"


def test_our_own_mistakes_are_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops\nsecond line")

    monkeypatch.setattr(answers, "_in_process", broken)
    assert motif(*RUN) == 1
    err = capsys.readouterr().err
    assert "mistake in Motif" in err
    assert "ZeroDivisionError: oops" in err
    assert "Traceback" not in err
    assert motif(*RUN, "--debug") == 1
    assert "Traceback" in capsys.readouterr().err


def test_stopping_is_130(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(answers, "write_table", stopped)
    assert motif(*RUN, "-o", "out.csv") == 130
    assert capsys.readouterr().err.endswith("stopped\n")
    assert not Path("out.csv").exists()


def test_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("check", "q.sql") == 0
    assert "the text only" in capsys.readouterr().out
    assert motif("check", "q.sql", "-t", "trades=trades.parquet") == 0
    assert "against trades" in capsys.readouterr().out


def test_check_lists_all_mistakes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = QUERY.replace("price < PREV", "prise < PREV").replace("price > PREV", "prize > PREV")
    Path("q.sql").write_text(wrong, encoding="utf-8")
    assert motif("check", "q.sql", "-t", "trades=trades.parquet") == 2
    out = capsys.readouterr().out
    assert "unknown column prise" in out
    assert "unknown column prize" in out


@pytest.mark.parametrize(
    ("form", "begins"), [("text", "MATCH_RECOGNIZE"), ("mermaid", "flowchart"), ("svg", "<svg"), ("html", "<!doctype")]
)
def test_explain(folder: Path, capsys: pytest.CaptureFixture[str], form: str, begins: str) -> None:
    arguments = ("explain", "q.sql", "-t", "trades=trades.parquet", "--format", form)
    assert motif(*arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(begins)
    assert motif(*arguments, "-o", "plan") == 0
    assert Path("plan").read_text(encoding="utf-8").rstrip() == shown.rstrip()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("version") == 0
    out = capsys.readouterr().out
    assert out.startswith("motif ")
    assert "duckdb" in out


def test_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif(*RUN, "--report", "r.html") == 0
    assert "report: r.html" in capsys.readouterr().err
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_data_cannot_steer_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["\x1b[31m[bold]x[/bold]\x07"] * 4
    pq.write_table(pa.table({"symbol": names, "t": [1, 2, 3, 4], "price": [3.0, 2.0, 1.0, 4.5]}), "trades.parquet")
    assert motif(*RUN, *TABLE) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31m[bold]x[/bold]\\x07" in out


def test_printable() -> None:
    assert printable("Zoë\n\u202e\x9b") == "Zoë\\n\\u202e\\x9b"


def test_the_message_of_a_spark_worker() -> None:
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1, in match\nmotif.errors.LimitExceeded: too many steps (line 1, column 2)\n'
        "    |\n  1 | SELECT\n    |  ^^^\n  hint: make it smaller\n\n\tat org.apache.spark.X(Y.scala:1)\n"
    )
    expected = "too many steps (line 1, column 2)\n    |\n  1 | SELECT\n    |  ^^^\n  hint: make it smaller"
    assert worker_message(text) == expected
    assert worker_message("java.lang.OutOfMemoryError") is None


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from motif.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_as_a_process(folder: Path) -> None:
    done = run_process(*RUN, "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert run_process("run", "none.sql").returncode == 2


@pytest.mark.spark
def test_on_spark(folder: Path) -> None:
    done = run_process(*RUN, "--host", "spark", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("8 rows in, 2 rows out, "), done.stderr
    assert [(row["symbol"], row["high"]) for row in read_back(Path("out.csv"))] == [("a", 4.5), ("b", 8.75)]


@pytest.mark.spark
def test_a_mistake_found_by_a_spark_worker(folder: Path) -> None:
    query = QUERY.replace("PATTERN (DOWN+ UP+)", "AFTER MATCH SKIP TO FIRST X PATTERN (DOWN+ UP+ X?)")
    Path("q.sql").write_text(query.replace("DEFINE", "DEFINE X AS price < 0,"), encoding="utf-8")
    done = run_process(*RUN, "--host", "spark")
    assert done.returncode == 2
    assert done.stderr.startswith("error: AFTER MATCH SKIP TO FIRST X")
    assert "Traceback" not in done.stderr
    assert "\tat " not in done.stderr


def test_lengths_of_time_read_well() -> None:
    import pyarrow as pa

    from motif.cli.screen import _interval

    assert _interval(pa.MonthDayNano([0, 0, 90_000_000_000])) == "0:01:30"
    assert _interval(pa.MonthDayNano([1, 2, -60_000_000_000])) == "1 months 2 days -0:01:00"
    assert _interval(pa.MonthDayNano([0, 0, 0])) == "0:00:00"
