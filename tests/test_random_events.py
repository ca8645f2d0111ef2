"""20,000 random event query x stream pairs: every way to run the engine must give what the reference gives.

The seeds are fixed, so a failure here is one to debug, not one to run again; `make fuzz N=...` draws others.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from motif.testing.event_features import event_features
from motif.testing.event_fuzz import STREAMS, check_seed
from motif.testing.event_generate import random_event_query
from motif.testing.fuzz import campaign

pytestmark = pytest.mark.random

FIRST, CHUNKS, QUERIES = 5_000, 10, 51
PAIRS = 20_000
COMPILED_EVERY = 50


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("kernel_cache")
def test_engine_agrees_with_the_reference(chunk: int) -> None:
    """51 queries over 40 streams each: all plain, one compiled, those without a key also in time slices."""
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, compiled_every=COMPILED_EVERY, check=check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases >= PAIRS // CHUNKS
    assert tally.matched >= 0.5 * tally.queries
    assert tally.refused == 0


def test_the_queries_have_every_construct() -> None:
    """A construct that the seeds do not draw would go untested without anybody noticing."""
    seen: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + CHUNKS * QUERIES):
        seen.update(event_features(random_event_query(random.Random(seed))))
    drawn: Counter[str] = Counter()
    for seed in range(3_000):
        drawn.update(event_features(random_event_query(random.Random(seed))))
    common = {name for name, count in drawn.items() if count >= 60}
    assert common <= seen.keys(), common - seen.keys()
    assert len(common) >= 50
    assert STREAMS * QUERIES * CHUNKS >= PAIRS
