"""1,000 random clauses, and as many event queries, over columns of every type and odd names: as the reference says.

Some call functions and aggregates that the host has by name. The seeds are fixed; `make fuzz N=...` draws others.
"""

from __future__ import annotations

import pytest

from motif.testing import event_wide_fuzz
from motif.testing.fuzz import campaign
from motif.testing.wide_fuzz import KINDS, check_seed

pytestmark = pytest.mark.random

FIRST, CHUNKS, QUERIES = 0, 4, 250


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_columns_of_every_type_and_name(chunk: int) -> None:
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, check=check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.features["judged by the reference"] >= 0.9 * QUERIES
    assert tally.matched >= 0.7 * QUERIES
    assert {f"type {kind}" for kind in KINDS} <= tally.features.keys()
    assert min(tally.features[name] for name in ("function by name", "aggregate by name")) >= 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_events_of_every_type_and_name(chunk: int) -> None:
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, check=event_wide_fuzz.check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.features["judged by the reference"] >= 0.9 * QUERIES
    assert tally.matched >= 0.7 * QUERIES
    assert {f"type {kind}" for kind in KINDS} <= tally.features.keys()
    assert tally.features["function by name"] >= 10
