"""3,000 random hostile texts in process, and 300 on Spark: nothing is run, opened, read, written or set.

The seeds are fixed; `make fuzz-text` draws others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motif.hosts import duckdb_database
from motif.testing import text_fuzz
from motif.testing.fuzz import campaign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.random
def test_texts_in_process() -> None:
    tally = campaign(1, 6, check=text_fuzz.check_seed)
    assert not tally.differences
    assert tally.cases == 3_000
    assert tally.matched > 300  # what is harmless still runs
    assert tally.errors > 1_500


def _leaves_a_macro(text: str) -> str:
    if "lower" in text:
        [instance, *_others] = duckdb_database._INSTANCES.values()
        instance.execute("CREATE OR REPLACE MACRO memory.main.lower(a) AS 'x'")
    return ""


def _writes_a_file(text: str) -> str:
    if "lower" in text:
        Path("written.csv").write_text(text, encoding="utf-8")
    return ""


@pytest.mark.random
@pytest.mark.parametrize(
    ("door", "seen"),
    [
        (_leaves_a_macro, "has changed what was there: 'SELECT lower(s)'"),
        (_writes_a_file, "has changed what was there: 'SELECT lower(s)'"),
        (lambda text: text_fuzz.SECRET if "lower" in text else "", "text 4 shows the secret: 'SELECT lower(s)'"),
    ],
)
def test_what_a_text_does_is_seen(door: Callable[[str], str], seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And which text did it, though what there is is looked at once for many of them."""
    monkeypatch.setattr(text_fuzz, "TEXTS", 5)
    valid = iter(["SELECT 1"] * (text_fuzz.TEXTS - 1) + ["SELECT lower(s)"])
    monkeypatch.setattr(text_fuzz, "doors", lambda _: (next(valid), door))
    monkeypatch.setattr(text_fuzz, "hostile", lambda _rng, text, *_: text)
    assert seen in text_fuzz.check_seed(7).differences[-1]


@pytest.mark.spark
def test_texts_on_spark(spark: SparkSession) -> None:
    tally = text_fuzz.on_spark(spark, 1, 300)
    assert not tally.differences
    assert tally.matched > 10
    assert tally.errors > 200
