"""20,000 random query x partition pairs: every way to run the engine must give what the reference gives.

The seeds are fixed, so a failure here is one to debug, not one to run again; `make fuzz N=...` draws others.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from motif.errors import UnsupportedQuery
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database, quoted
from motif.lang.statement import parse_clause
from motif.plan.planner import plan
from motif.testing.features import features
from motif.testing.fuzz import campaign
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

pytestmark = pytest.mark.random

FIRST, CHUNKS, QUERIES = 1_000, 10, 80
PAIRS = 20_000
COMPILED_EVERY = 40
SEEDS = range(FIRST, FIRST + CHUNKS * QUERIES)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("kernel_cache")
def test_engine_agrees_with_the_reference(chunk: int) -> None:
    """80 queries over 30 partitions each: all plain, every fifth in pieces with save and restore, two compiled."""
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, compiled_every=COMPILED_EVERY)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases >= PAIRS // CHUNKS
    assert tally.matched >= 0.3 * tally.queries
    assert tally.refused + tally.too_long <= 0.1 * tally.queries


CONSTRUCTS = {
    *(f"PARTITION BY {what}" for what in ("none", "one", "several", "expression")),
    *(f"ORDER BY {way} NULLS {end}" for way in ("ASC", "DESC") for end in ("FIRST", "LAST")),
    *("ORDER BY several", "SUBSET", "WITHIN number", "WITHIN interval", "INCREMENTAL MATCH", "undefined variable"),
    *(f"SKIP {to}" for to in ("TO FIRST", "TO LAST", "TO LAST subset", "TO NEXT ROW", "PAST LAST ROW")),
    *("ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
    *(f"ALL ROWS PER MATCH {what} EMPTY MATCHES" for what in ("SHOW", "OMIT")),
    *(f"quantifier {sign}{lazy}" for sign in ("*", "+", "?", "{n}", "{n,}", "{n,m}") for lazy in ("", "?")),
    *("alternation", "alternation with empty", "PERMUTE", "exclusion", "anchor ^", "anchor $", "empty pattern ()"),
    *("nullable body under quantifier", "define on the row alone", "define on neighbour rows"),
    *("define on another variable", "define subset reference", "define CLASSIFIER", "define MATCH_NUMBER"),
    *(f"define {name}" for name in ("FIRST", "FIRST with offset", "LAST with offset", "PREV of FIRST/LAST", "NEXT")),
    *(f"define {name} over {what}" for name in ("sum", "count") for what in ("all", "variable", "subset")),
    *(f"define {name} over variable" for name in ("min", "max", "avg")),
    *(f"define {name}" for name in ("or", "not", "case", "coalesce", "in", "between", "is null", "/", "%", "-")),
    *(f"measure {name} over variable" for name in ("sum", "count", "min", "max", "avg", "array_agg")),
    *(f"measure {name} DISTINCT" for name in ("sum", "count", "array_agg")),
    *("measure FINAL aggregate", "measure RUNNING aggregate", "measure FINAL navigation", "measure PREV/NEXT of FINAL"),
}
"""What the seeds must cover, by the names that `features` gives."""


def test_the_seeds_cover_the_language() -> None:
    """Every construct is in several queries that are run, so agreement is not agreement on nothing."""
    source = duckdb.DuckSource(Database({"data": to_arrow([])}), "", quoted("data"))
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        query = parse_clause(random_example(random.Random(seed), partitions=0)[0])
        try:
            plan(query, source)
        except UnsupportedQuery:
            continue
        seen.update(features(query))
    assert {name: seen[name] for name in CONSTRUCTS if seen[name] < 3} == {}
