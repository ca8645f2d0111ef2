"""`match_id`: the same number whether matches are hashed one by one or as columns, and whatever they come with."""

import datetime as dt
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from motif import api
from motif.plan.physical.costs import COMPILED, PLAIN

QUERIES = [
    "SELECT * FROM SEQ(A a; B b) WITHIN 20 s",
    "SELECT * FROM SEQ(A a; B b+; C c?) WHERE [k] WITHIN 30 s",
    "SELECT * FROM OR(A a, SEQ(B b; C c)) WITHIN 5 s",
    "SELECT * FROM SEQ(A a{2,3}; B b) PICK EACH a WITHIN 1 min",
]
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "type": pa.string(),
        "k": pa.string(),
        "v": pa.float64(),
        "n": pa.int32(),
        "d": pa.decimal128(10, 2),
        "day": pa.date32(),
        "ok": pa.bool_(),
        "nothing": pa.null(),
        "raw": pa.binary(),
    }
)


def _events(rng: random.Random) -> pa.Table:
    """Few values, so that events are alike, and every kind of value that is easily mistaken."""
    base = dt.datetime(2026, 1, 1)
    rows = [
        {
            "ts": base + dt.timedelta(seconds=second),
            "type": rng.choice("ABC"),
            "k": rng.choice(["x", "", "é", None]),
            "v": rng.choice([0.0, -0.0, float("nan"), -1.5, None]),
            "n": rng.choice([0, -1, 2**31 - 1, None]),
            "d": rng.choice([None, 1, -3]),
            "day": rng.choice([None, dt.date(1969, 1, 1)]),
            "ok": rng.choice([True, False, None]),
            "raw": rng.choice([b"", b"\x00", None]),
        }
        for second in sorted(rng.choices(range(20), k=14))
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


WAYS = {
    "one by one": replace(PLAIN, few_ids=1_000_000),
    "as columns": replace(PLAIN, few_ids=-1),
    "as columns, texts as they are coded": replace(PLAIN, few_ids=-1, repeated_texts=0),
    "by loops, the events of matches": replace(COMPILED, few_ids=-1, hashed_events=0),
    "by loops, all events": replace(COMPILED, few_ids=-1, hashed_events=1_000_000, repeated_texts=0),
}
"""How the same number is to be found."""


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize("query", QUERIES)
def test_however_matches_are_hashed_it_gives_the_same_number(query: str) -> None:
    found = 0
    for seed in range(12):
        events = _events(random.Random(seed))
        coded = events.set_column(2, "k", events.column("k").dictionary_encode())
        ids = []
        for costs in WAYS.values():
            ids += [api.match(table, query, costs=costs).column("match_id").to_pylist() for table in (events, coded)]
        assert all(other == ids[0] for other in ids)
        assert len(set(ids[0])) == len(ids[0])
        found += len(ids[0])
    assert found > 20
