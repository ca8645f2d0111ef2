"""Likely slips: told once, at the line that called, with their place; errors where one is strict."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import motif
from motif import slips
from motif.cli.app import app

START = dt.datetime(2026, 1, 1, 12)
EVENTS = pa.table(
    {
        "ts": [START + dt.timedelta(minutes=n) for n in range(6)],
        "type": ["A", "B", "C", "A", "B", "C"],
        "x": [1, 2, 3, 4, 5, 6],
    }
)
ENDLESS = "SELECT COUNT(b) AS n\nFROM SEQ(A a; B b+; C c)\nPICK EACH b"


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    slips._TOLD.clear()


def test_a_warning_has_place_and_hint() -> None:
    with pytest.warns(motif.MotifWarning) as caught:
        motif.match(EVENTS, ENDLESS)
    [one] = caught
    assert one.filename == __file__
    slip = one.message
    assert isinstance(slip, motif.MotifWarning)
    assert isinstance(slip, UserWarning)
    found = slip.diagnostic()
    assert (found.severity, found.line, found.column, found.hint) == (
        "warning",
        3,
        6,
        "give b an upper bound, such as b{1,3}, or PICK ALL b",
    )
    assert "  3 | PICK EACH b\n    |      ^^^^^^\n" in str(slip)


def test_a_warning_is_not_repeated() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            motif.match(EVENTS, ENDLESS)
        motif.match(EVENTS, ENDLESS)
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        motif.match(EVENTS, ENDLESS)
        motif.match(EVENTS, ENDLESS + " ")
    assert len(caught) == 1, "another query is another slip"


def test_filters_of_python_hold() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(motif.MotifWarning):
                motif.match(EVENTS, ENDLESS)
        warnings.simplefilter("ignore")
        motif.match(EVENTS, ENDLESS)
    for _ in range(2):
        with pytest.warns(motif.MotifWarning):
            motif.match(EVENTS, ENDLESS)


def test_strict_makes_it_an_error_every_time() -> None:
    for _ in range(2):
        with pytest.raises(motif.MotifError, match="PICK EACH b forms every list") as caught:
            motif.match(EVENTS, ENDLESS, strict=True)
        assert (caught.value.line, caught.value.column) == (3, 6)
    with pytest.raises(motif.MotifError, match="PICK EACH b"):
        motif.Stream(ENDLESS + " WITHIN 1 h", EVENTS.schema, strict=True)
    [found] = motif.check(ENDLESS, data=EVENTS, strict=True)
    assert found.severity == "error"
    with pytest.warns(motif.MotifWarning):
        motif.match(EVENTS, ENDLESS)


def test_what_was_told_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slips, "MOST_TOLD", 3)
    with warnings.catch_warnings(record=True):
        for number in range(10):
            motif.match(EVENTS, ENDLESS + " " * number)
    assert len(slips._TOLD) == 3


def test_the_command_line_tells_and_refuses(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(EVENTS, path)
    run = CliRunner().invoke(app, ["run", ENDLESS, "-t", f"events={path}"])
    assert run.exit_code == 0
    assert "warning: PICK EACH b forms every list" in run.stderr
    assert run.stderr.count("PICK EACH b forms") == 1
    strict = CliRunner().invoke(app, ["run", ENDLESS, "-t", f"events={path}", "--strict"])
    assert strict.exit_code == 2
    assert "error: PICK EACH b forms every list" in strict.stderr
    for tables in ([], ["-t", f"events={path}"]):
        check = CliRunner().invoke(app, ["check", ENDLESS, *tables])
        assert check.exit_code == 0
        assert check.stdout.startswith("warning: PICK EACH b forms every list")
        assert "no mistakes found" in check.stdout
        assert CliRunner().invoke(app, ["check", ENDLESS, *tables, "--strict"]).exit_code == 2
