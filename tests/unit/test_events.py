"""Event queries through the public door: inputs of every kind, stacks, functions, ids, and what goes wrong."""

from __future__ import annotations

import datetime as dt
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import motif
from motif import api
from motif.engine.events import joins, promising
from motif.engine.execution import Execution
from motif.engine.ledger import Silent
from motif.engine.threads import on_threads
from motif.errors import LimitExceeded, MotifError, QueryBindError, QueryDataError, UnsupportedQuery
from motif.options import parsed_queries
from motif.plan.events.functions import VECTORIZED
from motif.plan.physical.costs import COMPILED, COSTS, NEVER, PLAIN
from motif.plan.physical.ran import Work
from motif.testing.event_engines import Engine

NOON = dt.datetime(2026, 1, 1, 12)
COLUMNS = {"ts": "TIMESTAMP", "type": "VARCHAR", "k": "BIGINT", "x": "BIGINT"}
PAIR = "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s"


def stream(*rows: tuple[float | None, str, Any, Any]) -> pa.Table:
    """Seconds after noon, class, key, value."""
    times = [None if row[0] is None else NOON + dt.timedelta(seconds=row[0]) for row in rows]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us")),
            "type": [row[1] for row in rows],
            "k": [row[2] for row in rows],
            "x": [row[3] for row in rows],
        }
    )


EVENTS = stream((1, "A", 1, 1), (2, "A", 1, 2), (3, "B", 1, 3), (4, "B", 2, 4), (5, "C", 1, 5))


def pairs(table: Any) -> list[tuple[int, int]]:
    rows = table.to_pylist() if isinstance(table, pa.Table) else pa.Table.from_pandas(table).to_pylist()
    return [(row["one"], row["two"]) for row in rows]


# --- inputs --------------------------------------------------------------------------------------------------------


def test_arrow() -> None:
    found = motif.match(EVENTS, PAIR)
    assert found.column_names == ["match_id", "match_start", "match_end", "one", "two"]
    assert pairs(found) == [(1, 3), (2, 3)]
    assert found["match_start"].to_pylist() == [NOON + dt.timedelta(seconds=s) for s in (1, 2)]


def test_pandas_polars_and_paths(tmp_path: Any) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(EVENTS, path)
    assert pairs(motif.match(EVENTS.to_pandas(), PAIR)) == [(1, 3), (2, 3)]
    assert pairs(motif.match(pl.from_arrow(EVENTS), PAIR).to_arrow()) == [(1, 3), (2, 3)]
    assert pairs(motif.match(path, PAIR)) == [(1, 3), (2, 3)]


def test_other_names_for_time_and_class() -> None:
    renamed = EVENTS.rename_columns(["moment", "what", "k", "x"])
    assert pairs(motif.match(renamed, PAIR, time="moment", type="what")) == [(1, 3), (2, 3)]


def test_dates_are_times() -> None:
    days = EVENTS.set_column(0, "ts", pa.array([dt.date(2026, 1, day) for day in range(1, 6)]))
    assert pairs(motif.match(days, PAIR.replace("10 s", "2 days"))) == [(1, 3), (2, 3)]
    assert pairs(motif.match(days, PAIR.replace("10 s", "1 day"))) == [(2, 3)]


def test_several_inputs_are_merged_in_time() -> None:
    inputs = {
        "A": pa.table({"ts": EVENTS["ts"][:2], "u": [1, 2]}),
        "B": pa.table({"ts": EVENTS["ts"][2:4], "v": [2, 1]}),
    }
    found = motif.match(inputs, "SELECT a.u AS u, b.v AS v, b.u AS none FROM SEQ(A a; B b) WHERE a.u = b.v")
    assert [tuple(row.values())[3:] for row in found.to_pylist()] == [(2, 2, None), (1, 1, None)]


def test_inputs_whose_columns_do_not_fit() -> None:
    inputs = {"A": pa.table({"ts": EVENTS["ts"][:2], "u": [1, 2]}), "B": pa.table({"ts": EVENTS["ts"][:1], "u": ["x"]})}
    with pytest.raises(QueryBindError, match="column u is"):
        motif.match(inputs, "SELECT * FROM SEQ(A a; B b)")


def test_equal_times_are_ordered_by_order_by() -> None:
    table = stream((1, "B", 1, 1), (1, "A", 1, 2)).append_column("n", pa.array([2, 1]))
    assert pairs(motif.match(table, PAIR, order_by=["n"])) == [(2, 1)]
    backwards = table.set_column(4, "n", pa.array([1, 2]))
    assert pairs(motif.match(backwards, PAIR, order_by=["n"])) == []


@pytest.mark.parametrize("is_file", [False, True])
def test_events_without_a_time_are_counted(tmp_path: Any, is_file: bool) -> None:
    table = pa.concat_tables([EVENTS, stream((None, "B", 1, 9), (None, "Z", None, 9))])
    path = tmp_path / "events.parquet"
    pq.write_table(table, path)
    with pytest.warns(motif.MotifWarning, match="2 events have no ts"):
        assert pairs(motif.match(path if is_file else table, PAIR)) == [(1, 3), (2, 3)]


def test_classes_may_be_numbers() -> None:
    numbered = EVENTS.set_column(1, "type", pa.array([1, 1, 2, 2, 3]))
    found = motif.match(numbered, PAIR.replace("A a; B b", '"1" a; "2" b'))
    assert pairs(found) == [(1, 3), (2, 3)]


def test_classes_with_and_without_conditions_of_their_own() -> None:
    query = "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b; %s) WHERE [k] AND a.x > 1 WITHIN 10 s"
    assert pairs(motif.match(EVENTS, query % "C c")) == [(2, 3)]
    assert pairs(motif.match(EVENTS, query % "any")) == [(2, 3)]
    assert pairs(motif.match(EVENTS, query % "NOT D d; any")) == [(2, 3)]
    assert pairs(motif.match(EVENTS, query % "NOT C d")) == []


def test_no_events() -> None:
    assert motif.match(EVENTS.slice(0, 0), PAIR).num_rows == 0
    assert motif.match(EVENTS.slice(0, 0), PAIR + " CONSUMING a").num_rows == 0


def test_whole_events() -> None:
    found = motif.match(EVENTS, "SELECT * FROM SEQ(A a+; B b; D d?) WHERE [k] PICK FIRST d WITHIN 10 s").to_pylist()
    assert [event["x"] for event in found[0]["a"]] == [1, 2]
    assert found[0]["b"] == {"ts": NOON + dt.timedelta(seconds=3), "type": "B", "k": 1, "x": 3}
    assert found[0]["d"] is None


# --- composite events ------------------------------------------------------------------------------------------------


def test_matches_are_events_for_the_next_query() -> None:
    first = "DEFINE P SELECT a.x AS ax FROM SEQ(A a; B b) WHERE [k] WITHIN 10 s"
    after = motif.match(EVENTS, [first, "SELECT p.ax AS one, c.x AS two FROM SEQ(P p; C c)"])
    assert pairs(after) == [(1, 5), (2, 5)]
    before = motif.match(EVENTS, [first, "SELECT p.ax AS one, a.x AS two FROM SEQ(A a; P p)"])
    assert pairs(before) == [(2, 1)], "P begins with its a: the other a must come before that"


@pytest.mark.parametrize("order", [[], ["x"], ["x", "k"]])
def test_a_match_stands_right_behind_its_last_event(order: list[str]) -> None:
    """All at one time: a stack finds what the pattern finds that is nested, in a table and in a stream."""
    events = stream((0, "A", 1, 1), (0, "B", 2, 2), (0, "C", 3, 3), (0, "A", 4, 4), (0, "B", 5, 5), (0, "C", 6, 6))
    pair = "DEFINE P SELECT a.x AS ax, b.x AS bx, a.k AS ak FROM SEQ(A a; B b)"
    stacks = {
        "SEQ(SEQ(A a; B b); C c)": [pair, "SELECT p.ax AS a, p.bx AS b, c.x AS c FROM SEQ(P p; C c)"],
        "SEQ(C c; SEQ(A a; B b))": [pair, "SELECT p.ax AS a, p.bx AS b, c.x AS c FROM SEQ(C c; P p)"],
        "ALL(SEQ(A a; B b), C c)": [pair, "SELECT p.ax AS a, p.bx AS b, c.x AS c FROM ALL(P p, C c)"],
    }
    for pattern, stack in stacks.items():
        nested = f"SELECT a.x AS a, b.x AS b, c.x AS c FROM {pattern} WHERE a.k < 9"
        expected = motif.match(events, nested, order_by=order).select(["a", "b", "c"]).to_pylist()
        assert expected or not order
        live = motif.Stream(stack, events.schema, order_by=order)
        pushed = pa.concat_tables([live.push(events.slice(3)), live.push(events.slice(0, 3)), live.close()])
        for found in (motif.match(events, stack, order_by=order), pushed):
            rows = found.select(["a", "b", "c"]).to_pylist()
            assert sorted(map(str, rows)) == sorted(map(str, expected)), pattern


def test_a_stack_is_one_after_the_other() -> None:
    first = "SELECT * FROM SEQ(A a; B b) WITHIN 10 s RETURN P(a.x AS ax, b.x AS bx)"
    by_hand = motif.match(EVENTS, first)
    assert by_hand.column_names[0] == "event"
    events = pa.concat_tables(
        [
            EVENTS.select(["ts", "type"]).append_column("ax", pa.nulls(5, pa.int64())),
            pa.table({"ts": by_hand["match_end"], "type": by_hand["event"], "ax": by_hand["ax"]}),
        ]
    )
    second = "SELECT p.ax AS one, c.ax AS two FROM SEQ(P p; C c)"
    assert pairs(motif.match(EVENTS, [first, second])) == pairs(motif.match(events, second))


def test_the_alternative_that_is_written_first_fires() -> None:
    """Both are over the same events; the one that binds the first variable comes first, also on the compiled loop."""
    query = "SELECT a.x AS a, b.x AS b, any.x AS c FROM SEQ(A a; OR(C b, any)) CONSUMING any, b"
    events = stream((1, "A", 1, 1), (2, "C", 1, 2), (3, "D", 1, 3))
    expected = [{"a": 1, "b": 2, "c": None}, {"a": 1, "b": None, "c": 3}]
    assert motif.match(events, query).select(["a", "b", "c"]).to_pylist() == expected
    engine = Engine(parsed_queries(query, "duckdb")[0], events.to_pylist(), COLUMNS)
    for costs in (PLAIN, COMPILED):
        assert engine.matches(costs) == [{"a": 0, "b": 1, "any": None}, {"a": 0, "b": None, "any": 2}]
    kept = motif.match(events, query.split(" CONSUMING")[0]).select(["b", "c"]).to_pylist()
    assert kept == [{"b": 2, "c": None}, {"b": None, "c": 2}, {"b": None, "c": 3}]


@pytest.mark.parametrize("key", ["", "WHERE [k]"])
def test_matches_that_end_and_begin_together_come_in_canonical_order(key: str) -> None:
    """In a table, and of a stream whatever it takes at once."""
    query = f"SELECT b.x AS b FROM SEQ(A a; B b; C c) {key} WITHIN 1 h"
    events = stream((0, "A", 1, 0), *((x, "B", 1, x) for x in range(1, 9)), (20, "C", 1, 0))
    assert motif.match(events, query).column("b").to_pylist() == list(range(1, 9))
    for size in (1, 3, 10):
        live = motif.Stream(query, events.schema)
        found = [live.push(events.slice(at, size)) for at in range(0, events.num_rows, size)]
        assert pa.concat_tables([*found, live.close()]).column("b").to_pylist() == list(range(1, 9))


def test_a_definition_needs_a_name() -> None:
    with pytest.raises(QueryBindError, match="needs a name"):
        motif.match(EVENTS, [PAIR, PAIR])


# --- functions -------------------------------------------------------------------------------------------------------


def test_a_function_of_one_event_is_called_once_per_event() -> None:
    calls = []

    def big(x: int) -> bool:
        calls.append(x)
        return x > 1

    found = motif.match(EVENTS, PAIR.replace("WHERE", "WHERE big(a.x) AND"), functions={"big": big})
    assert pairs(found) == [(2, 3)]
    assert sorted(calls) == [1, 2]


@pytest.mark.parametrize("consuming", ["", " CONSUMING a"])
def test_a_function_of_several_events(consuming: str) -> None:
    query = PAIR.replace("WHERE [k]", "WHERE distance(a.x, b.x) <= 2 PICK LAST a") + consuming
    found = motif.match(EVENTS, query, functions={"distance": lambda one, two: two - one})
    assert pairs(found) == ([(2, 3), (2, 4)] if not consuming else [(2, 3)])


@pytest.mark.parametrize("style", ["numpy", "arrow"])
def test_a_function_of_columns(style: str) -> None:
    def close(one: Any, two: Any) -> Any:
        assert isinstance(one, np.ndarray if style == "numpy" else pa.Array)
        return two - one < 2 if style == "numpy" else pc.less(pc.subtract(two, one), 2)

    setattr(close, VECTORIZED, style)
    assert pairs(
        motif.match(EVENTS, PAIR.replace("WHERE", "WHERE close(a.x, b.x) AND"), functions={"close": close})
    ) == [(2, 3)]


def test_a_function_that_fails_says_on_what() -> None:
    def bad(one: int, two: int) -> bool:
        raise ValueError("no such luck")

    with pytest.raises(
        QueryDataError, match=r"function bad failed on the events with \(1, 3\): ValueError: no such luck"
    ):
        motif.match(EVENTS, PAIR.replace("WHERE", "WHERE bad(a.x, b.x) AND"), functions={"bad": bad})


def test_a_function_that_returns_too_little() -> None:
    def few(one: Any) -> list[bool]:
        return [True]

    setattr(few, VECTORIZED, "numpy")
    with pytest.raises(QueryDataError, match="given 2 events and returned 1"):
        motif.match(EVENTS, PAIR.replace("WHERE", "WHERE few(a.x) AND"), functions={"few": few})


# --- match_id --------------------------------------------------------------------------------------------------------


def test_ids_depend_on_query_and_events_only() -> None:
    shuffled = EVENTS.take(pa.array([4, 2, 0, 3, 1]))
    ids = motif.match(EVENTS, PAIR)["match_id"].to_pylist()
    assert motif.match(shuffled, PAIR)["match_id"].to_pylist() == ids
    assert motif.match(EVENTS.slice(1), PAIR)["match_id"].to_pylist() == ids[1:]
    assert not set(motif.match(EVENTS, PAIR.replace("10 s", "11 s"))["match_id"].to_pylist()) & set(ids)


def test_ids_tell_duplicates_apart() -> None:
    twice = pa.concat_tables([EVENTS, EVENTS.slice(0, 1)])
    ids = motif.match(twice, PAIR)["match_id"].to_pylist()
    assert len(ids) == len(set(ids)) == 3


# --- many events -----------------------------------------------------------------------------------------------------


def many(count: int, keys: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0, 2000, count)).astype("datetime64[us]")
    kinds = np.array(["A", "B", "C"])[rng.integers(0, 3, count)]
    x = pa.array(rng.random(count).round(2), mask=rng.random(count) < 0.02)
    return pa.table({"ts": times, "type": kinds, "k": rng.integers(0, keys, count), "x": x})


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In how many shares joins were cut."""
    counts: list[int] = []

    def noted(_: Silent, work: Work, part: Callable[[int], object], parts: int) -> list[object]:
        if work is Work.MATCH:
            counts.append(parts)
        return on_threads(part, parts)

    monkeypatch.setattr(Silent, "on_threads", noted)
    return counts


FOUR = replace(COMPILED, cores=4, share_steps=1)
"""Four cores that share whatever there is, by compiled loops."""
ALONE = replace(FOUR, cores=1)
BY_PARTITION = replace(FOUR, shard_rows=500, events_per_call=1)


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE a.x > b.x AND b.x < 0.05 WITHIN 300 ms",
        "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE a.x <= b.x AND a.x > 0.95 PICK LAST a WITHIN 300 ms",
        "SELECT a.x AS one, COUNT(b) AS two FROM SEQ(A a; B b+; C c) WHERE b.x >= a.x AND a.x > 0.9 WITHIN 20 ms",
    ],
)
def test_shards_and_threads_change_nothing(sharing: list[int], query: str) -> None:
    events = many(6_000, 10)
    shared = api.match(events, query, costs=FOUR)
    assert shared.num_rows > 50
    assert max(sharing) > 4
    assert api.match(events, query, costs=ALONE).equals(shared)
    keyed = query.replace("WHERE", "WHERE [k] AND").replace("00 ms", " s").replace("20 ms", "1 s")
    alone = api.match(events, keyed, costs=ALONE)
    sharing.clear()
    assert api.match(events, keyed, costs=FOUR).equals(alone)
    assert max(sharing) > 4
    sharing.clear()
    assert api.match(events, keyed, costs=BY_PARTITION).equals(alone)
    assert not sharing  # each thread had partitions of its own


@pytest.mark.usefixtures("kernel_cache")
@pytest.mark.parametrize(
    ("query", "is_shared"),
    [
        ("SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE a.x > 0.97 AND b.x < 0.05", True),  # no WITHIN
        ("SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE a.x < b.x WITHIN 20 EVENTS", True),
        ("SELECT a.x AS one FROM A a PICK LAST a WITHIN 1 s", True),  # all compete
        (
            "SELECT a.x AS one FROM OR(SEQ(A a; B b), SEQ(B c; A d)) WHERE a.x > 0.9 AND b.x > 0.9 WITHIN 9 ms",
            True,
        ),
        ("SELECT a.x AS one FROM SEQ(A a; NOT B b) WHERE a.x > 0.2 WITHIN 2 ms", True),
        ("SELECT a.x AS one FROM SEQ(A a; B b) WHERE a.x > 0.9 WITHIN 30 ms CONSUMING a, b", False),
    ],
)
def test_what_is_shared_without_a_key(sharing: list[int], query: str, *, is_shared: bool) -> None:
    events = many(4_000, 10)
    shared = api.match(events, query, costs=FOUR)
    assert (max(sharing, default=1) > 1) == is_shared
    sharing.clear()
    assert api.match(events, query, costs=ALONE).equals(shared)
    assert shared.num_rows > 0
    assert not sharing


@pytest.mark.usefixtures("kernel_cache")
def test_events_with_a_length_are_shared(sharing: list[int]) -> None:
    queries = [
        "DEFINE Pair SELECT a.x AS x FROM SEQ(A a; B b) WHERE b.x > 0.9 WITHIN 5 ms",
        "SELECT p.x AS one, c.x AS two FROM SEQ(Pair p; C c) WHERE c.x > p.x WITHIN 20 ms",
    ]
    shared = api.match(many(4_000, 10), queries, costs=FOUR)
    assert shared.num_rows > 50
    assert max(sharing) > 4
    assert api.match(many(4_000, 10), queries, costs=ALONE).equals(shared)


@pytest.mark.usefixtures("kernel_cache")
def test_a_partition_with_most_events_is_shared(sharing: list[int]) -> None:
    query = "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE [k] AND a.x > b.x AND b.x < 0.05 WITHIN 300 ms"
    events = many(6_000, 10)
    hot = events.set_column(2, "k", pc.if_else(pc.less(events.column("k"), 7), 7, events.column("k")))
    shared = api.match(hot, query, costs=BY_PARTITION)
    assert shared.num_rows > 50
    assert max(sharing) > 4
    sharing.clear()
    assert api.match(hot, query, costs=replace(BY_PARTITION, skewed_share=1.0)).equals(shared)
    assert not sharing


@pytest.mark.usefixtures("kernel_cache")
def test_a_long_join_asks_whether_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(joins, "check_wanted", lambda: asked.append(threading.current_thread().name))
    query = "SELECT a.x AS one FROM SEQ(A a; B b) WHERE a.x + b.x = 7 WITHIN 30 ms"
    api.match(many(2_000, 10), query, costs=replace(FOUR, join_pause=500))
    assert sum(name.startswith("motif-match") for name in asked) > 8


def test_few_steps_are_not_shared(sharing: list[int]) -> None:
    query = "SELECT a.x AS one FROM SEQ(A a; B b) WITHIN 9 ms"
    assert api.match(many(500, 1), query, costs=replace(FOUR, share_steps=NEVER)).num_rows > 50
    assert set(sharing) == {1}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b; C c) WHERE [k]",
        "SELECT a.x AS one, b.x AS two FROM OR(SEQ(A a; B b), C c) WHERE [k] AND a.x > 0.5",
        "SELECT a.x AS one, COUNT(b) AS two FROM SEQ(A a; B b*; C c) WHERE [k]",
        "SELECT a.x AS one FROM SEQ(A a; NOT B b; C c) WHERE [k]",
        "SELECT a.x AS one FROM SEQ(A a; B b; C c) WHERE [k] WITHIN 2500 ms",
        "SELECT a.x AS one FROM ALL(A a, B b, C c) WHERE [k] WITHIN 2500 ms",
        "SELECT a.x AS one FROM OR(SEQ(A a; B b), SEQ(C c; A d)) WHERE [k] WITHIN 900 ms",
        "SELECT a.x AS one FROM SEQ(A a; B b+; C c) WHERE [k] AND a.x > 0.1 WITHIN 2900 ms",
        "SELECT a.x AS one FROM SEQ(A a; B b; C c) WHERE [k] WITHIN 4 EVENTS",
    ],
)
def test_partitions_without_a_chance_change_nothing(query: str) -> None:
    events = many(4_000, 2_000)
    some = api.match(events, query, costs=PLAIN)
    assert api.match(events, query, costs=replace(PLAIN, leaving_out_effort=0)).equals(some)
    assert api.match(events, query, costs=replace(PLAIN, few_events=0)).equals(some)
    assert some.num_rows > 50


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k]", [1, 1, 2, 2, 3, 3, 4, 4, 4]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 5 s", [1, 1, 4, 4, 4]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 4 s", [4, 4, 4]),
        ("SELECT a.k FROM ALL(A a, B b) WHERE [k] WITHIN 5 s", [1, 1, 3, 3, 4, 4, 4]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 2 EVENTS", [1, 1, 2, 2, 3, 3, 4, 4, 4]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 1 h", [1, 1, 2, 2, 3, 3, 4, 4, 4]),
    ],
)
def test_partitions_in_which_events_are_too_far_apart_have_no_chance(
    query: str, left: list[int], compiled: bool
) -> None:
    """Near enough (1), too far (2), in the other order (3), overlapping (4), and one without a B (5)."""
    rows = [(1, 0, "A"), (1, 5, "B"), (2, 0, "A"), (2, 9, "B"), (3, 0, "B"), (3, 5, "A")]
    rows += [(4, 0, "A"), (4, 20, "B"), (4, 40, "A"), (5, 0, "A"), (5, 90, "A")]
    events = [{"k": k, "ts": NOON + dt.timedelta(seconds=s), "type": kind} for k, s, kind in rows]
    assert keys_left(query, events, compiled=compiled) == left


def engine_of(query: str, events: list[dict[str, Any]]) -> Engine:
    parsed = parsed_queries(query, "duckdb")
    assert isinstance(parsed, list)
    return Engine(parsed[0], events, {"k": "BIGINT", "ts": "TIMESTAMP", "type": "VARCHAR", "x": "BIGINT"})


def keys_left(query: str, events: list[dict[str, Any]], *, compiled: bool) -> list[int]:
    """Of the events of partitions that have a chance."""
    engine = engine_of(query, events)
    keys: list[int] = engine.left(compiled=compiled).column(engine.program.keys[0]).to_pylist()
    return keys


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT a.k FROM SEQ(A a; A b) WHERE [k] WITHIN 5 s", {1, 2, 3}),
        ("SELECT a.k FROM SEQ(A a; A b) WHERE [k] AND b.x > 1 WITHIN 5 s", {1, 2}),
        ("SELECT one.k FROM SEQ(one; B b) WHERE [k] WITHIN 5 s", {2, 4}),
        ("SELECT a.k FROM OR(SEQ(A a; B b), SEQ(B c; B d)) WHERE [k] WITHIN 5 s", {2, 4}),
        ("SELECT a.k FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 5 s", {2}),
        ("SELECT a.k FROM SEQ(A a; C c) WHERE [k] WITHIN 5 s", set()),
    ],
)
def test_what_a_way_must_bind_may_be_bound_by_the_same_events(query: str, left: set[int], compiled: bool) -> None:
    rows = [(1, 0, "A", 1), (1, 1, "A", 2), (2, 0, "A", 2), (2, 1, "B", 1), (3, 0, "A", 1), (4, 9, "B", 3)]
    events = [{"k": k, "ts": NOON + dt.timedelta(seconds=s), "type": kind, "x": x} for k, s, kind, x in rows]
    assert set(keys_left(query, events, compiled=compiled)) == left


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 5 s", [0, 5, 100, 103]),
        ("SELECT a.k FROM SEQ(A a; NOT C c; B b) WHERE [k] WITHIN 5 s", [0, 2, 5, 100, 103]),
        ("SELECT a.k FROM SEQ(A a; C c*; B b) WHERE [k] WITHIN 5 s", [0, 2, 5, 100, 103]),
        ("SELECT a.k FROM OR(SEQ(A a; B b), C c) WHERE [k] WITHIN 5 s", [0, 2, 5, 100, 103, 300]),
        ("SELECT a.k FROM SEQ(A a; B b; C c) WHERE [k] WITHIN 5 s", [0, 2, 5]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 2 s", []),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k] WITHIN 2 EVENTS", [0, 2, 5, 50, 100, 103, 200, 300]),
        ("SELECT a.k FROM SEQ(A a; B b) WHERE [k]", [0, 5, 50, 100, 103, 200]),
    ],
)
def test_events_that_are_alone_are_left_out(query: str, left: list[int], compiled: bool) -> None:
    """Of one partition: what another one has is no neighbour."""
    rows = [(0, "A"), (2, "C"), (5, "B"), (50, "A"), (100, "A"), (103, "B"), (200, "B"), (300, "C")]
    events = [{"k": 1, "ts": NOON + dt.timedelta(seconds=s), "type": kind, "x": 0} for s, kind in rows]
    events += [{"k": 2, "ts": NOON + dt.timedelta(seconds=s), "type": "A", "x": 0} for s in (49, 199, 299)]
    engine = engine_of(query, events)
    places = engine.near(compiled=compiled)
    assert places.num_rows == sum(1 for key in places.column(engine.program.keys[0]).to_pylist() if key == 1)
    times = places.column(engine.program.time).to_pylist()
    assert [round((time - NOON).total_seconds()) for time in times] == left


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b; C c) WHERE [k] AND a.x < c.x WITHIN 60 ms",
        "SELECT a.x AS one FROM ALL(A a, B b, C c) WHERE [k] WITHIN 60 ms",
        "SELECT a.x AS one, COUNT(b) AS two FROM SEQ(A a; B b*; C c) WHERE [k] WITHIN 60 ms",
        "SELECT a.x AS one FROM SEQ(A a; NOT B b; C c) WHERE [k] WITHIN 60 ms",
        "SELECT a.x AS one FROM SEQ(A a; B b) WHERE [k] WITHIN 60 ms CONSUMING ALL",
    ],
)
@pytest.mark.parametrize("far", [False, True])
def test_events_without_neighbours_change_nothing(monkeypatch: pytest.MonkeyPatch, query: str, far: bool) -> None:
    """`far`: stretches that are far apart share their place."""
    events = many(60_000, 600)
    plain = replace(PLAIN, cells_per_event=1 if far else 16)
    asked: list[int] = []
    found = promising.with_neighbours

    def noted(*arguments: Any, **options: Any) -> Any:
        places = found(*arguments, **options)
        asked.append(-1 if places is None else len(places))
        return places

    monkeypatch.setattr(promising, "with_neighbours", noted)
    some = api.match(events, query, costs=plain)
    assert 0 < asked[0] < (60_000 if far else 30_000)
    assert api.match(events, query, costs=replace(plain, leaving_out_effort=0)).equals(some)
    assert asked[1] == asked[0], "by compiled loops"
    assert api.match(events, query, costs=replace(plain, worth_leaving_out=1.1)).equals(some), "nothing is left out"
    assert some.num_rows > 1


@pytest.mark.parametrize("compiled", [False, True])
def test_of_many_roles_only_some_are_asked_for(compiled: bool) -> None:
    kinds = "ABCDEFGHIJ"
    query = f"SELECT a.k FROM SEQ({'; '.join(f'{kind} {kind.lower()}' for kind in kinds)}) WHERE [k] WITHIN 1 m"
    rows = [(1, kind) for kind in kinds] + [(2, kind) for kind in kinds[:8]] + [(3, kind) for kind in kinds[1:]]
    events = [{"k": k, "ts": NOON + dt.timedelta(seconds=i), "type": kind, "x": 0} for i, (k, kind) in enumerate(rows)]
    assert set(keys_left(query, events, compiled=compiled)) == {1, 2}


@pytest.mark.parametrize(
    ("events", "ready", "kept", "compiled"),
    [
        (100, True, True, False),
        (2_000, True, True, True),
        (COSTS.ready_rows - 1, False, True, False),
        (COSTS.ready_rows, False, True, True),
        (100_000, False, False, False),
        (300_000, False, False, False),
        (1_000_000, False, False, True),
    ],
)
def test_few_events_do_not_wait_for_a_compiler_to_leave_some_out(
    events: int, ready: bool, kept: bool, compiled: bool
) -> None:
    execution = Execution.of(engine_of(PAIR, []).program)
    loops: Any = [SimpleNamespace(is_loaded=ready, is_kept=kept)]
    assert execution.compiles(events, lambda: loops, COSTS.leaving_out_effort) == compiled


def test_inequalities_over_many_blocks() -> None:
    """Blocks of candidates are passed over; the answer is that of comparing all pairs."""
    events = many(9_000, 1, seed=3)
    found = motif.match(events, "SELECT a.x AS one, b.x AS two FROM SEQ(A a; B b) WHERE a.x < b.x AND b.x <= 0.03")
    kind, x = events["type"].to_numpy(), events["x"].to_numpy()
    late = [i for i in np.flatnonzero(kind == "B") if x[i] <= 0.03]
    expected = sum(int(((kind[:i] == "A") & (x[:i] < x[i])).sum()) for i in late)
    assert found.num_rows == expected > 1000


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "options", "kind", "text"),
    [
        (PAIR, {"time": "x"}, QueryBindError, "time='x' is of type integer(64), not a time"),
        (PAIR, {"time": "tsx"}, QueryBindError, "time='tsx' is not a column of the events"),
        (PAIR, {"type": "typ"}, QueryBindError, "A a needs the class of events, but the events have no column typ"),
        (PAIR.replace("a.x", "a.y"), {}, QueryBindError, "unknown column y (line 1, column 10)"),
        (PAIR.replace("[k]", "[key]"), {}, QueryBindError, "unknown column key"),
        (PAIR.replace("[k]", "a.x"), {}, QueryBindError, "WHERE needs conditions, but this is of type integer"),
        (PAIR.replace("[k]", "a.type > b.x"), {}, QueryBindError, "cannot compare or combine"),
        (
            "SELECT a.x AS one FROM SEQ(A a; NOT C c; B b) WHERE concat(a.type, c.type) = 'x' WITHIN 10 s",
            {},
            UnsupportedQuery,
            "CONCAT on the event of a NOT together with other events",
        ),
        ("SELECT * FROM A f+ WITHIN 1 s", {}, MotifError, "only lists"),
    ],
)
def test_mistakes(query: str, options: dict[str, Any], kind: type[MotifError], text: str) -> None:
    with pytest.raises(kind) as caught:
        motif.match(EVENTS, query, **options)
    assert text in str(caught.value)


def test_each_of_many_events_is_refused() -> None:
    events = stream((0, "A", 1, 0), *((i / 10, "B", 1, i) for i in range(1, 40)), (9, "C", 1, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(LimitExceeded, match="each_events = 20"):
            motif.match(events, "SELECT COUNT(b) AS n FROM SEQ(A a; B b+; C c) PICK EACH b")


def test_options_of_events_are_refused_for_rows() -> None:
    with pytest.raises(MotifError, match="time= is for event queries"):
        motif.match(EVENTS, "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A))", time="ts")
