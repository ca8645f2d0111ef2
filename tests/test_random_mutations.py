"""2,000 texts of queries with slips in them: the right answer, or an error of ours that `check` finds too.

The seeds are fixed, so a failure here is one to debug, not one to run again; `make fuzz N=...` draws others.
"""

from __future__ import annotations

import random

import pytest

from motif.testing.fuzz import campaign
from motif.testing.mutation_fuzz import TEXTS, check_seed, mutated

pytestmark = pytest.mark.random

FIRST, CHUNKS, QUERIES = 7_000, 4, 25


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_slips_end_in_an_answer_or_in_an_error_of_ours(chunk: int) -> None:
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, check=check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases == TEXTS * QUERIES
    assert tally.matched >= 0.1 * tally.cases  # judged by the reference; long queries seldom survive a slip
    assert tally.errors >= 0.2 * tally.cases


def test_slips_change_the_text() -> None:
    text = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A B+) DEFINE B AS v > PREV(v))"
    texts = {mutated(random.Random(seed), text) for seed in range(100)}
    assert len(texts) > 70  # a short text has few other words to put in place of one
    assert any(other.count("PREV") != text.count("PREV") for other in texts)
    assert any("NEXT(v)" in other for other in texts)
