"""3,000 random hostile texts in process, and 300 on Spark: nothing is run, opened, read, written or set.

The seeds are fixed; `make fuzz-text` draws others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from motif.hosts import duckdb_database
from motif.testing import text_fuzz
from motif.testing.fuzz import campaign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.random
def test_texts_in_process() -> None:
    tally = campaign(1, 60, check=text_fuzz.check_seed)
    assert not tally.differences
    assert tally.cases == 3_000
    assert tally.matched > 300  # what is harmless still runs
    assert tally.errors > 1_500


def _leaves_a_macro(_: str) -> str:
    [instance, *_others] = duckdb_database._INSTANCES.values()
    instance.execute("CREATE OR REPLACE MACRO memory.main.lower(a) AS 'x'")
    return ""


@pytest.mark.random
@pytest.mark.parametrize(
    ("door", "seen"), [(_leaves_a_macro, "has changed"), (lambda _: text_fuzz.SECRET, "shows the secret")]
)
def test_what_a_text_does_is_seen(door: Callable[[str], str], seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fuzz, "doors", lambda _: ("SELECT 1", door))
    assert seen in text_fuzz.check_seed(7).differences[-1]


@pytest.mark.spark
def test_texts_on_spark(spark: SparkSession) -> None:
    tally = text_fuzz.on_spark(spark, 1, 300)
    assert not tally.differences
    assert tally.matched > 10
    assert tally.errors > 200
