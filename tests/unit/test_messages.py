"""What people are told is of bounded length and only says something, whatever data is in it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import motif
from motif.errors import LONGEST, MotifError, Span, shown

EVIL = "a\x1b[31m\x07\x9b2J\r\u202eb\u2066c\u2028d\ud800"
LONG = "x" * 600_000


def tells_safely(text: str) -> bool:
    return len(text) < 3 * LONGEST and all(c.isprintable() or c in "\n\t" for c in text)


@pytest.mark.parametrize("data", [EVIL, LONG, EVIL * 100_000, f"{LONG}\n{EVIL}"])
def test_every_message_is_safe_to_show(data: str) -> None:
    for error in (
        MotifError(f"there is no {data}"),
        MotifError("there is no such", hint=f"did you mean {data}?"),
        MotifError(f"no {data}", source=f"SELECT {data}", span=Span(8, 8 + len(data)), hint=data),
    ):
        assert tells_safely(str(error))
        assert tells_safely(str(error.diagnostic()))
        assert tells_safely(f"{error.message} {error.hint}")


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = shown(f"there is no {LONG} in the table")
    assert text.startswith("there is no xxx")
    assert text.endswith("xxx in the table")
    assert "characters left out" in text
    assert shown("it fits\n\tas it is: äöü 漢字") == "it fits\n\tas it is: äöü 漢字"


@pytest.mark.parametrize("data", [EVIL.replace("\ud800", ""), LONG])
def test_data_in_the_errors_of_a_host_is_safe_to_show(data: str) -> None:
    rows = pa.table({"id": [1], "v": [data]})
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES CAST(A.v AS INTEGER) AS v PATTERN (A) DEFINE A AS TRUE)"
    with pytest.raises(MotifError) as told:
        motif.sql(f"SELECT * FROM t {clause}", tables={"t": rows})
    assert tells_safely(str(told.value))
    assert "onver" in str(told.value)


def test_a_failing_function_does_not_pour_out_its_arguments() -> None:
    def fails(value: str) -> bool:
        raise ValueError(value)

    events = pa.table(
        {"ts": pa.array([1], pa.timestamp("us")), "type": ["A"], "v": [EVIL.replace("\ud800", "") + LONG]}
    )
    with pytest.raises(MotifError, match="function fails failed") as told:
        motif.match(events, "SELECT * FROM A a WHERE fails(a.v)", functions={"fails": fails})
    assert tells_safely(str(told.value))
