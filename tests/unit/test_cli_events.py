"""The command line with queries of the event language."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import motif, read_back, run_process

FRAUD = """-- small, small, large
DEFINE Fraud
SELECT * FROM SEQ(E1; E2; E3)
WHERE FILTER
    [account]
    E1.amount < 100 AND E2.amount < 100
    E3.amount > 250
WITHIN 72 hours
CONSUMING E1, E2, E3
"""
PAYMENTS = """ts,account,amount
2026-03-01 09:00:00,A1,20
2026-03-01 10:00:00,A1,35
2026-03-01 11:30:00,A2,15
2026-03-02 08:00:00,A1,400
2026-03-03 08:00:00,A2,900
"""
RUN_EVENTS = ("run", "fraud.motif", "-t", "payments=payments.csv")
TABLE = ("--format", "table")


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("payments.csv").write_text(PAYMENTS, encoding="utf-8")
    Path("fraud.motif").write_text(FRAUD, encoding="utf-8")
    return tmp_path


def test_events_are_shown_line_by_line(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif(*RUN_EVENTS, *TABLE) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1.\n  event         Fraud\n")
    assert "  E3            ts 2026-03-02 08:00:00, account A1, amount 400\n" in out
    assert err.startswith("5 candidate events, 1 match, ")


def test_a_list_of_events_is_a_line_each(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("run", "SELECT * FROM SEQ(a+; b) WHERE [account] AND b.amount > 300", *RUN_EVENTS[2:], *TABLE) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  a "))
    assert lines[at].endswith("amount 20")
    assert lines[at + 1].strip().endswith("amount 35")


def test_items_are_a_table(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT E1.account, E2.amount AS second FROM SEQ(E1; E2) WHERE [account] AND E2.amount > 500"
    assert motif("run", text, *RUN_EVENTS[2:], *TABLE) == 0
    assert "second" in capsys.readouterr().out.splitlines()[1]


def test_events_without_a_match(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("run", "SELECT * FROM SEQ(a; b) WITHIN 1 s", *RUN_EVENTS[2:], *TABLE) == 0
    out, err = capsys.readouterr()
    assert out == "no matches\n"
    assert "0 matches" in err


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.json", "out.jsonl"])
def test_matches_are_written(events: Path, name: str) -> None:
    assert motif(*RUN_EVENTS, "-o", name) == 0
    assert [row["event"] for row in read_back(Path(name))] == ["Fraud"]


def test_event_columns_have_other_names(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = PAYMENTS.replace("ts,", "at,").replace("account", "who")
    Path("payments.csv").write_text(renamed, encoding="utf-8")
    text = "SELECT a.amount AS x FROM SEQ(A1 a; A2 b)"
    assert motif("run", text, *RUN_EVENTS[2:], "--time", "at", "--type", "who", "--order-by", "amount") == 0
    assert "5 matches" in capsys.readouterr().err


def test_several_tables_are_several_inputs(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("logins.csv").write_text("ts,account\n2026-03-01 08:00:00,A1\n", encoding="utf-8")
    text = "SELECT p.amount FROM SEQ(logins l; payments p) WHERE [account] PICK FIRST p"
    assert motif("run", text, *RUN_EVENTS[2:], "-t", "logins=logins.csv", "-o", "out.jsonl") == 0
    assert [row["amount"] for row in read_back(Path("out.jsonl"))] == [20]


def test_queries_in_one_text_are_a_stack(events: Path) -> None:
    stack = FRAUD.replace("SELECT *", "SELECT E1.account") + ";\nSELECT f.account, p.amount AS next\n"
    Path("fraud.motif").write_text(stack + "FROM SEQ(Fraud f; p) WHERE p.amount > 500", encoding="utf-8")
    assert motif(*RUN_EVENTS, "-o", "out.jsonl") == 0
    assert [(row["account"], row["next"]) for row in read_back(Path("out.jsonl"))] == [("A1", 900)]


def test_places_in_a_stack_are_places_in_the_file(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fraud.motif").write_text(f"{FRAUD};\nSELECT f.acount FROM SEQ(Fraud f)\nWITHIN 1 h", encoding="utf-8")
    assert motif(*RUN_EVENTS) == 2
    err = capsys.readouterr().err
    assert "unknown column acount (line 11, column 10)" in err
    assert "  11 | SELECT f.acount FROM SEQ(Fraud f)\n     |          ^^^^^^" in err


def test_functions_from_a_file(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text("def doubled(a, b):\n    return b > 2 * a\n_hidden = len\n", encoding="utf-8")
    text = "SELECT a.amount AS x, b.amount AS y FROM SEQ(a; b) WHERE [account] AND doubled(a.amount, b.amount)"
    assert motif("run", text, *RUN_EVENTS[2:], "--functions", "mine.py", "-o", "out.jsonl") == 0
    assert [(row["x"], row["y"]) for row in read_back(Path("out.jsonl"))] == [(20, 400), (35, 400), (15, 900)]
    Path("mine.py").write_text("x = 1 / 0", encoding="utf-8")
    assert motif("run", text, *RUN_EVENTS[2:], "--functions", "mine.py") == 2
    assert "cannot load mine.py: ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "fraud.motif"), "there are no events to look at"),
        ((*RUN_EVENTS, "--time", "at"), "time='at' is not a column of the events"),
        ((*RUN_EVENTS, "--functions", "none.py"), "there is no file none.py"),
        ((*RUN_EVENTS, "--functions", "no.such.module"), "cannot import no.such.module"),
        ((*RUN_EVENTS, "--functions", "__main__x"), "cannot import __main__x"),
        (("run", "SELECT * FROM SEQ(Login a; b)", *RUN_EVENTS[2:]), ""),
        (("run", "SELECT * FROM other SEQ(a; b)", *RUN_EVENTS[2:]), "there is no input other"),
        (("run", "SELECT * FROM SEQ(a; b WITHIN", *RUN_EVENTS[2:]), "^"),
        (("run", "SELECT 1 AS x, f( FROM t", *RUN_EVENTS[2:], "--time", "at"), "time= is for event queries"),
    ],
)
def test_mistakes_around_event_queries(
    events: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert motif(*arguments) == (2 if message else 0)
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_events_without_a_time_are_counted(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("payments.csv").write_text(PAYMENTS + ",A1,3\n", encoding="utf-8")
    assert motif(*RUN_EVENTS) == 0
    assert "warning: 1 events have no ts" in capsys.readouterr().err


def test_check_events(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("check", "fraud.motif") == 0
    assert motif("check", "fraud.motif", *RUN_EVENTS[2:]) == 0
    assert "against payments" in capsys.readouterr().out
    assert motif("check", "SELECT a.amont, b.acount FROM SEQ(a; b)", *RUN_EVENTS[2:]) == 2
    out = capsys.readouterr().out
    assert "unknown column amont" in out
    assert "unknown column acount" in out


def test_a_note_is_no_mistake(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert motif("check", "SELECT * FROM SEQ(a; b+; c) PICK EACH b", *RUN_EVENTS[2:]) == 0
    out = capsys.readouterr().out
    assert "no mistakes found" in out
    assert out.count("warning: PICK EACH b forms every list") == 1


@pytest.mark.parametrize(
    ("form", "begins"), [("text", "Event query"), ("mermaid", "flowchart"), ("svg", "<svg"), ("html", "<!doctype")]
)
def test_explain_events(events: Path, capsys: pytest.CaptureFixture[str], form: str, begins: str) -> None:
    for tables in ((), RUN_EVENTS[2:]):
        assert motif("explain", "fraud.motif", *tables, "--format", form) == 0
        assert capsys.readouterr().out.startswith(begins)


@pytest.mark.spark
def test_events_on_spark(events: Path) -> None:
    Path("mine.py").write_text("def small(a):\n    return a < 100\n", encoding="utf-8")
    Path("fraud.motif").write_text(FRAUD.replace("E1.amount < 100", "small(E1.amount)"), encoding="utf-8")
    done = run_process(*RUN_EVENTS, "--host", "spark", "--functions", "mine.py", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("5 candidate events, 1 match, "), done.stderr
    assert motif(*RUN_EVENTS, "--functions", "mine.py", "-o", "own.jsonl") == 0
    assert [row["match_id"] for row in read_back(Path("out.jsonl"))] == [
        row["match_id"] for row in read_back(Path("own.jsonl"))
    ]
    explained = run_process("explain", "fraud.motif", *RUN_EVENTS[2:], "--host", "spark", "--functions", "mine.py")
    assert "Event query on Spark" in explained.stdout, explained.stderr
