"""Files and pipes of the command line: what comes in, what goes out, and how it says so."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from motif.cli import main

QUERY = "SELECT a.account, b.amount FROM SEQ(a; b) WHERE [account] AND b.amount > 100 WITHIN 3 days"
PAYMENTS = """ts,account,amount
2026-03-01 09:00:00,A1,20
2026-03-01 10:00:00,A1,35
2026-03-02 08:00:00,A1,400
"""
AMOUNTS = [400, 400]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(PAYMENTS, encoding="utf-8")
    Path("q.motif").write_text(QUERY, encoding="utf-8")
    return tmp_path


def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "motif", *arguments], input=given, capture_output=True, check=False)


def motif(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


def test_a_pipe_gets_all_rows_as_csv(folder: Path) -> None:
    many = PAYMENTS + "".join(f"2026-03-02 08:00:00,A1,{amount}\n" for amount in range(101, 161))
    done = run("run", "q.motif", "-t", "p=-", given=many.encode())
    assert done.returncode == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert len(rows) > 100
    assert b"candidate events" in done.stderr


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_a_pipe_gets_the_format_it_asks_for(folder: Path, form: str) -> None:
    for output in ((), ("-o", "-")):
        out = run("run", "q.motif", "-t", "p=p.csv", "--format", form, *output).stdout
        match form:
            case "parquet":
                found = pq.read_table(io.BytesIO(out)).column("amount").to_pylist()
            case "json":
                found = [row["amount"] for row in json.loads(out)]
            case "jsonl":
                found = [json.loads(line)["amount"] for line in out.splitlines()]
            case _:
                lines = csv.DictReader(io.StringIO(out.decode()), delimiter="," if form == "csv" else "\t")
                found = [int(row["amount"]) for row in lines]
        assert found == AMOUNTS


@pytest.mark.parametrize("given", ["p.csv", "p.json", "p.jsonl", "p.parquet"])
def test_standard_input_is_what_it_begins_like(folder: Path, given: str) -> None:
    from pyarrow import csv as arrow_csv

    table = arrow_csv.read_csv("p.csv")
    pq.write_table(table, "p.parquet")
    rows = [{name: str(value) if name == "ts" else value for name, value in row.items()} for row in table.to_pylist()]
    Path("p.json").write_text(json.dumps(rows), encoding="utf-8")
    Path("p.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = run("run", "q.motif", "-t", "p=-", "--format", "jsonl", given=Path(given).read_bytes())
    assert [json.loads(line)["amount"] for line in done.stdout.splitlines()] == AMOUNTS, done.stderr


def test_nothing_is_piped_in(folder: Path) -> None:
    done = run("run", "q.motif", "-t", "p=-")
    assert done.returncode == 2
    assert b"standard input is empty" in done.stderr


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    many = PAYMENTS + "".join(f"2026-03-02 08:00:00,A1,{amount}\n" for amount in range(101, 700))
    Path("p.csv").write_text(many, encoding="utf-8")
    shell = f"{sys.executable} -m motif run q.motif -t p=p.csv | head -2"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, check=False)
    assert len(done.stdout.splitlines()) == 2
    assert b"Traceback" not in done.stderr
    assert b"mistake in Motif" not in done.stderr


@pytest.mark.parametrize("name", ["out.csv.gz", "out.jsonl.gz", "out.tsv"])
def test_files_are_written_and_said(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("run", "q.motif", "-t", "p=p.csv", "-o", name) == 0
    assert f"wrote {name}: 2 rows" in capsys.readouterr().err
    data = Path(name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    assert text.count("400") == 2


def test_a_packed_file_of_parquet_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("run", "q.motif", "-t", "p=p.csv", "-o", "out.parquet.gz") == 2
    assert "a Parquet file is packed by itself" in capsys.readouterr().err


def test_options_of_csv_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.csv").write_text(PAYMENTS.replace(",", ";").replace(";400", ";400,5"), encoding="utf-8")
    assert motif("run", "q.motif", "-t", "p=p.csv", "--csv", "delimiter=;,decimal=,", "--format", "jsonl") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["amount"] for row in rows] == [400.5, 400.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("delimter=;", "there is no option delimter of CSV files"),
        ("skip=two", "--csv skip= cannot be two"),
        ("header=maybe", "--csv header= cannot be maybe"),
        ("semicolon", "--csv takes NAME=VALUE, not semicolon"),
    ],
)
def test_options_with_mistakes(folder: Path, options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("run", "q.motif", "-t", "p=p.csv", "--csv", options) == 2
    assert message in capsys.readouterr().err


def test_options_of_csv_without_a_csv_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.json").write_text('[{"ts": "2026-03-01 09:00:00", "account": "A1", "amount": 1}]', encoding="utf-8")
    assert motif("run", "q.motif", "-t", "p=p.json", "--csv", "delimiter=;") == 2
    assert "--csv is for CSV files, and there is none" in capsys.readouterr().err


def test_check_shows_what_columns_are_taken_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = PAYMENTS.replace(",", ";").replace("2026-03-01", "31/01/2026").replace("2026-03-02", "01/02/2026")
    Path("p.csv").write_text(rows, encoding="utf-8")
    assert motif("check", "q.motif", "-t", "p=p.csv") == 0
    out = capsys.readouterr().out
    assert "p: ts TIMESTAMP, account VARCHAR, amount BIGINT" in out
    assert "delimiter ;" in out
    assert "times %d/%m/%Y %H:%M:%S" in out


def test_folders_and_patterns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("all").mkdir()
    lines = PAYMENTS.splitlines()
    for number, line in enumerate(lines[1:]):
        Path(f"all/{number}.csv").write_text(f"{lines[0]}\n{line}\n", encoding="utf-8")
    for path in ("all", "all/*.csv"):
        assert motif("run", "q.motif", "-t", f"p={path}", "--format", "jsonl") == 0
        assert [json.loads(line)["amount"] for line in capsys.readouterr().out.splitlines()] == AMOUNTS


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("--version") == 0
    assert capsys.readouterr().out.startswith("motif ")
    assert motif("-h") == 0
    assert "--install-completion" in capsys.readouterr().out
    assert motif("run", "-h") == 0
    assert "--csv" in capsys.readouterr().out
