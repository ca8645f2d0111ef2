"""A message is all that one sees: no frames of ours, in a script and in a notebook."""

from __future__ import annotations

import traceback
from pathlib import Path

import pyarrow as pa
import pytest

import motif
from motif.errors import perhaps

TABLE = pa.table({"t": [1], "x": [1]})
WRONG = "MATCH_RECOGNIZE (ORDER BY t MEASURES A.y AS y PATTERN (A))"
PACKAGE = str(Path(motif.__file__).parent)


def told() -> motif.MotifError:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(TABLE, WRONG)
    return caught.value


def test_one_frame_of_ours_and_one_chain() -> None:
    error = told()
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert sum(file.startswith(PACKAGE) for file in files) == 1
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_a_notebook_shows_the_line_and_the_message() -> None:
    shown = "\n".join(told()._render_traceback_())
    assert "motif.match(TABLE, WRONG)" in shown
    assert shown.endswith(f"QueryBindError: {told()}")
    assert PACKAGE not in shown


def test_all_frames_are_there_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIF_DEBUG", "1")
    files = [frame.filename for frame in traceback.extract_tb(told().__traceback__)]
    assert sum(file.startswith(PACKAGE) for file in files) > 3


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("web.events", "paths are relative to where you are; a table of Spark is given as spark.table('web.events')"),
        ("no/such.csv", "paths are relative to where you are"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, hint: str) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.match(path, "SELECT * FROM SEQ(A a)")
    assert caught.value.message == f"there is no file {path}"
    assert caught.value.hint == hint


def test_a_name_that_only_shares_a_few_letters_is_not_offered() -> None:
    with pytest.raises(motif.MotifError, match="there is no function nosuch") as caught:
        motif.match(TABLE, "MATCH_RECOGNIZE (ORDER BY t MEASURES nosuch(x) AS y PATTERN (A))")
    assert "did you mean" not in str(caught.value)
    assert perhaps("lowre", ["lower", "log"]) == "did you mean lower?"
