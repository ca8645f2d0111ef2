"""800 random stacks of queries over random events, each over a table and over a stream: what the nested pattern gives.

The seeds are fixed; `python -m motif.testing.stack_fuzz` draws others.
"""

from __future__ import annotations

import pytest

from motif.testing.fuzz import campaign
from motif.testing.stack_fuzz import STREAMS, check_seed

pytestmark = pytest.mark.random

CHUNKS, QUERIES = 4, 50


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("kernel_cache")
def test_a_stack_means_what_the_nested_pattern_means(chunk: int) -> None:
    tally = campaign(chunk * QUERIES, QUERIES, compiled_every=25, check=check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases >= STREAMS * QUERIES - tally.too_long
    assert tally.matched >= 0.1 * tally.cases
    assert {"SEQ", "ALL", "2 queries", "3 queries", "order by time", "order by x"} <= tally.features.keys()
