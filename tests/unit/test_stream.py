"""`motif.Stream` as its user meets it: what can be pushed, what comes out, what is refused and how it is said."""

from __future__ import annotations

import datetime as dt
import logging
import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import motif

EPOCH = dt.datetime(2026, 1, 1)
SCHEMA = {"ts": "timestamp", "type": "string", "user": "string", "x": "int"}
PAIR = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE [user]"
CLEAN = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; NOT C c; B b) WHERE [user] WITHIN 12 s"
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES FIRST(x) AS a, LAST(x) AS b
    PATTERN (A B) DEFINE A AS type = 'A', B AS type = 'B')"""
Row = dict[str, Any]


def at(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)


def event(kind: str, seconds: float | None, x: int = 0, user: str | None = "ann") -> Row:
    return {"ts": None if seconds is None else at(seconds), "type": kind, "user": user, "x": x}


EVENTS = [event("A", 0, 1), event("B", 1, 2), event("A", 2, 3), event("C", 3, 4), event("B", 4, 5), event("B", 4, 5)]


def pairs(found: Any) -> list[tuple[Any, Any]]:
    return [(row["a"], row["b"]) for row in found.to_pylist()]


def all_of(stream: motif.Stream, events: list[Row]) -> pa.Table:
    """All that comes out if events are pushed one by one."""
    return pa.concat_tables([*(stream.push(one) for one in events), stream.close()])


def same(one: pa.Table, other: pa.Table) -> bool:
    return one.equals(other)


def as_in(expected: pa.Table, found: pa.Table) -> pa.Table:
    """What steps gave as it was decided, in the order of a table; of one user it stays as it is."""
    name = "match_id" if "match_id" in found.column_names else "user"
    places = {value: place for place, value in reversed([*enumerate(expected.column(name).to_pylist())])}
    values = found.column(name).to_pylist()
    return found.take(pa.array(sorted(range(len(values)), key=lambda row: places[values[row]]), pa.int64()))


def table(events: list[Row]) -> pa.Table:
    types = {"ts": pa.timestamp("us"), "type": pa.string(), "user": pa.string(), "x": pa.int64()}
    return pa.Table.from_pylist(events, schema=pa.schema(types.items()))


# -- what can be pushed

FORMS: dict[str, Callable[[list[Row]], Any]] = {
    "rows": lambda rows: rows,
    "a tuple of rows": tuple,
    "Arrow": table,
    "a record batch": lambda rows: table(rows).combine_chunks().to_batches()[0],
    "other order": lambda rows: table(rows).select(["x", "user", "type", "ts"]),
    "narrower types": lambda rows: table(rows).set_column(3, "x", table(rows)["x"].cast(pa.int16())),
    "pandas": lambda rows: table(rows).to_pandas(),
    "Polars": lambda rows: pl.from_arrow(table(rows)),
    "lazy Polars": lambda rows: pl.from_arrow(table(rows)).lazy(),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("query", [PAIR, CLEAN, CLAUSE], ids=["eager", "with NOT", "rows"])
def test_forms_of_rows(form: Callable[[list[Row]], Any], query: str) -> None:
    stream = motif.Stream(query, SCHEMA)
    found = [stream.push(form(EVENTS[start : start + 2])) for start in range(0, len(EVENTS), 2)]
    expected = motif.match(table(EVENTS), query)
    assert expected.num_rows
    assert same(pa.concat_tables([*found, stream.close()]), expected)


@pytest.mark.parametrize("query", [PAIR, CLEAN, CLAUSE], ids=["eager", "with NOT", "rows"])
def test_row_by_row(query: str) -> None:
    assert same(all_of(motif.Stream(query, SCHEMA), EVENTS), motif.match(table(EVENTS), query))


@pytest.mark.parametrize(
    "nothing", [[], (), table([]), table([]).to_pandas()], ids=["list", "tuple", "Arrow", "pandas"]
)
def test_pushing_nothing(nothing: Any) -> None:
    stream = motif.Stream(PAIR, SCHEMA)
    assert stream.push(nothing).num_rows == 0
    assert stream.status.events == 0


def test_columns_that_are_not_given_are_null() -> None:
    stream = motif.Stream("SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b)", SCHEMA)
    stream.push({"ts": at(0), "type": "A"})
    assert pairs(stream.push(pa.table({"ts": [at(1)], "type": ["B"]}))) == [(None, None)]


@pytest.mark.parametrize("query", [PAIR, CLAUSE], ids=["events", "rows"])
def test_every_result_has_the_columns_of_a_batch(query: str) -> None:
    stream = motif.Stream(query, SCHEMA)
    schema = motif.match(table(EVENTS), query).schema
    results = [stream.push([]), stream.push(EVENTS), stream.advance(at(2)), stream.advance(at(9)), stream.close()]
    assert [result.schema for result in results] == [schema] * 5


SCHEMAS: dict[str, Any] = {
    "names and types": SCHEMA,
    "Arrow types": {"ts": pa.timestamp("us"), "type": pa.string(), "user": pa.string(), "x": pa.int64()},
    "mixed": {"ts": pa.timestamp("us"), "type": "VARCHAR", "user": "str", "x": "BigInt"},
    "an Arrow schema": table([]).schema,
    "an Arrow table": table(EVENTS),
    "a pandas frame": table(EVENTS).to_pandas(),
    "a Polars frame": pl.from_arrow(table(EVENTS)),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_forms_of_schemas(schema: Any) -> None:
    stream = motif.Stream(PAIR, schema)
    assert stream.status.events == 0
    assert pairs(all_of(stream, EVENTS[:2])) == [(1, 2)]


@pytest.mark.parametrize(
    ("schema", "message", "hint"),
    [
        (42, "a schema cannot be of type int", "give a pyarrow.Schema"),
        (None, "a schema cannot be None", "give a pyarrow.Schema"),
        ([("ts", "timestamp")], "a schema cannot be of type list", "give a pyarrow.Schema"),
        ({"ts": "time stamp"}, "column ts: 'time stamp' is not a type", "give a pyarrow type, or one of bigint,"),
        ({"ts": "timestamp", "type": 3}, "column type: 3 is not a type", "give a pyarrow type"),
    ],
)
def test_what_is_no_schema(schema: Any, message: str, hint: str) -> None:
    with pytest.raises(motif.MotifError, match=message) as caught:
        motif.Stream(PAIR, schema)
    assert (caught.value.hint or "").startswith(hint)


def test_a_schema_without_columns() -> None:
    with pytest.raises(motif.MotifError):
        motif.Stream(PAIR, {})


TIMES: dict[str, tuple[Any, dt.timedelta, dt.timedelta]] = {
    "seconds": (pa.timestamp("s"), dt.timedelta(seconds=1), dt.timedelta(seconds=1)),
    "milliseconds": (pa.timestamp("ms"), dt.timedelta(seconds=1), dt.timedelta(milliseconds=1)),
    "microseconds": (pa.timestamp("us"), dt.timedelta(seconds=1), dt.timedelta(microseconds=1)),
    "nanoseconds": (pa.timestamp("ns"), dt.timedelta(seconds=1), dt.timedelta(microseconds=1)),
    "with a zone": (pa.timestamp("us", "UTC"), dt.timedelta(seconds=1), dt.timedelta(microseconds=1)),
    "dates": (pa.date32(), dt.timedelta(days=1), dt.timedelta(days=1)),
}


@pytest.mark.parametrize(("kind", "unit", "least"), TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("language", ["events", "rows"])
def test_times_of_all_kinds(kind: Any, unit: dt.timedelta, least: dt.timedelta, language: str) -> None:
    """The deadline is first + WITHIN, included, whatever times are counted in."""
    zero = dt.datetime(2026, 1, 1, tzinfo=dt.UTC if getattr(kind, "tz", None) else None)
    word = "DAY" if unit.days else "SECOND"
    query = (
        f"SELECT a.ts AS a FROM SEQ(A a; NOT B b) WITHIN 2 {word}"
        if language == "events"
        else f"MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS a PATTERN (A+) WITHIN INTERVAL '2' {word})"
    )
    stream = motif.Stream(query, {"ts": kind, "type": pa.string()})
    assert stream.push({"ts": zero, "type": "A"}).num_rows == 0
    assert stream.advance(zero + 2 * unit - least).num_rows == 0
    assert stream.advance(zero + 2 * unit).num_rows == 1
    assert stream.status.watermark == dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + 2 * unit
    assert stream.advance(zero + 3 * unit).num_rows == 0
    assert stream.status.live == 0


# -- what cannot


@pytest.mark.parametrize(
    ("rows", "message", "hint"),
    [
        ({**event("A", 0), "usr": "ann"}, "usr is not a column of the stream", "did you mean user?"),
        ({**event("A", 0), "amount": 3}, "amount is not a column", "known here: ts, type, user, x"),
        ([event("A", 0), {"tipe": "A"}], "tipe is not a column", "did you mean type?"),
        (pa.table({"ts": [at(0)], "tyype": ["A"]}), "tyype is not a column", "did you mean type?"),
        (pd.DataFrame({"ts": [at(0)], "typ": ["A"]}), "typ is not a column", "did you mean type?"),
        (event("A", 0) | {"x": "one"}, "column x is int64, and cannot be 'one'", "push values"),
        (event("A", 0) | {"x": 2**70}, "column x is int64, and cannot be 1180", "push values"),
        (event("A", 0) | {"ts": "noon"}, "cannot be 'noon'", "push values"),
        (event("A", 0) | {"user": 3}, "column user is string, and cannot be 3", "push values"),
        (pa.table({"x": ["one"]}), "the rows do not fit the columns of the stream", "push values"),
        (pa.table({"x": [1.5]}), "the rows do not fit the columns of the stream", "push values"),
        ([event("A", 0), 3], "a row cannot be of type int", "push mappings"),
        ("events.parquet", "rows cannot be a text", None),
        (None, "rows cannot be None", "push mappings"),
        (3, "rows cannot be of type int", "push mappings"),
    ],
)
def test_rows_that_do_not_fit(rows: Any, message: str, hint: str | None) -> None:
    stream = motif.Stream(PAIR, SCHEMA)
    stream.push(event("A", 0, 1))
    with pytest.raises(motif.MotifError, match=message) as caught:
        stream.push(rows)
    assert hint is None or (caught.value.hint or "").startswith(hint)
    assert stream.status.events == 1
    assert pairs(stream.push(event("B", 1, 2))) == [(1, 2)], "what was refused has changed nothing"


def test_a_row_on_which_the_host_fails_changes_nothing() -> None:
    query = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE CAST(a.user AS INTEGER) > 0"
    clause = CLAUSE.replace("A AS", "A AS CAST(user AS INTEGER) > 0 AND").replace("PARTITION BY user", "")
    for text in (query, clause):
        stream = motif.Stream(text, SCHEMA)
        stream.push(event("A", 0, 1, "7"))
        with pytest.raises(motif.QueryDataError, match="ann"):
            stream.push([event("A", 1, 2, "8"), event("A", 1, 3, "ann")])
        assert stream.status.events == 1
        assert pairs(pa.concat_tables([stream.push(event("B", 1, 4, "9")), stream.close()])) == [(1, 4)]


# -- several inputs

LOGINS = {"ts": "timestamp", "user": "string"}
ORDERS = {"ts": "timestamp", "user": "string", "amount": "double"}
TWO = "SELECT a.user AS user, b.amount AS amount FROM SEQ(logins a; NOT logins c; orders b) WHERE [user] WITHIN 10 s"


def two_inputs() -> dict[str, list[Row]]:
    logins = [{"ts": at(s), "user": user} for s, user in ((0, "ann"), (2, "bob"), (4, "ann"), (9, "bob"))]
    orders = [{"ts": at(s), "user": u, "amount": m} for s, u, m in ((1, "ann", 1.0), (3, "bob", 2.0), (5, "ann", 3.0))]
    return {"logins": logins, "orders": orders}


def test_several_inputs_are_one_stream() -> None:
    given = two_inputs()
    expected = motif.match({name: pa.Table.from_pylist(rows) for name, rows in given.items()}, TWO)
    assert expected.num_rows == 3
    stream = motif.Stream(TWO, {"logins": LOGINS, "orders": ORDERS})
    arriving = sorted(((row["ts"], name, row) for name, rows in given.items() for row in rows), key=lambda one: one[:2])
    found = [stream.push(row, input=name) for _, name, row in arriving]
    assert same(pa.concat_tables([*found, stream.close()]), expected)


def test_the_slowest_input_holds_the_watermark() -> None:
    stream = motif.Stream(TWO, {"logins": LOGINS, "orders": ORDERS})
    stream.push(two_inputs()["logins"], input="logins")
    assert stream.status.watermark is None, "orders have yet to come"
    found = stream.push(two_inputs()["orders"], input="orders")
    assert [row["amount"] for row in found.to_pylist()] == [1.0, 2.0]
    assert stream.status.watermark == (at(5) - dt.timedelta(microseconds=1)).replace(tzinfo=dt.UTC)
    assert [row["amount"] for row in stream.advance(at(5)).to_pylist()] == [3.0]
    assert stream.status.late == 0


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (None, "input= is needed", "logins, orders"),
        ("order", "there is no input order", "did you mean orders?"),
        ("payments", "there is no input payments", "logins, orders"),
    ],
)
def test_an_input_that_is_not_there(name: str | None, message: str, hint: str) -> None:
    stream = motif.Stream(TWO, {"logins": LOGINS, "orders": ORDERS})
    with pytest.raises(motif.MotifError, match=message) as caught:
        stream.push({"ts": at(0)}, input=name)
    assert hint in (caught.value.hint or "")


def test_a_stream_with_one_input_has_no_name_for_it() -> None:
    stream = motif.Stream(PAIR, SCHEMA)
    with pytest.raises(motif.MotifError, match="there is no input events") as caught:
        stream.push(event("A", 0), input="events")
    assert "__motif" not in str(caught.value)


def test_a_clause_has_one_input() -> None:
    with pytest.raises(motif.MotifError, match="a MATCH_RECOGNIZE clause has one input"):
        motif.Stream(CLAUSE, {"logins": LOGINS, "orders": ORDERS})


# -- stacks: matches are events of the next query

STACKS = {
    "eager on eager": [
        "DEFINE P SELECT a.x, a.user FROM SEQ(A a; B b) WHERE [user] WITHIN 4 s",
        "SELECT p.x AS a, q.x AS b FROM SEQ(P p; P q) WHERE [user] WITHIN 8 s",
    ],
    "NOT on NOT": [
        "DEFINE P SELECT a.x FROM SEQ(A a; NOT C c) WITHIN 3 s",
        "SELECT p.x AS a, q.x AS b FROM SEQ(P p; NOT C c; P q) WITHIN 9 s",
    ],
    "a list of matches and events": [
        "DEFINE P SELECT a.x FROM SEQ(A a; B b+) WITHIN 2 s",
        "SELECT c.x AS a, COUNT(p) AS b FROM SEQ(C c; P p*; C d) WITHIN 20 s",
    ],
    "three": [
        "DEFINE P SELECT a.x FROM SEQ(A a; B b) WITHIN 3 s",
        "DEFINE Q SELECT p.x FROM SEQ(P p; NOT C c; P q) WITHIN 6 s",
        "SELECT q.x AS a, c.x AS b FROM SEQ(Q q; C c) PICK FIRST c WITHIN 9 s",
    ],
    "the first without end": [
        "DEFINE P SELECT a.x FROM SEQ(A a; NOT C c; B b) PICK LAST a",
        "SELECT p.x AS a, c.x AS b FROM SEQ(P p; C c) CONSUMING p",
    ],
}


@pytest.mark.parametrize("queries", STACKS.values(), ids=STACKS)
@pytest.mark.parametrize("lateness", [0, 2])
def test_a_stack_gives_what_a_batch_gives(queries: list[str], lateness: int) -> None:
    rng = random.Random(5)
    matches = 0
    for _ in range(3):
        seconds, events = 0.0, []
        for number in range(25):
            seconds += rng.choice((0, 0.5, 1, 1, 2))
            events.append(event(rng.choice("AAABBBC"), seconds, number, rng.choice(("ann", "bob"))))
        expected = motif.match(table(events), queries)
        arriving = sorted(events, key=lambda one: one["ts"] + dt.timedelta(seconds=rng.uniform(0, lateness)))
        stream = motif.Stream(queries, SCHEMA, lateness=f"{lateness} s")
        assert same(all_of(stream, arriving), expected)
        assert (stream.status.late, stream.status.matches) == (0, expected.num_rows)
        matches += expected.num_rows
    assert matches
    assert same(all_of(motif.Stream("; ".join(queries), SCHEMA, lateness=f"{lateness} s"), arriving), expected)


def test_a_stack_gives_out_what_is_decided() -> None:
    """P is decided 3 s after its A, so the second query waits no longer than that."""
    stream = motif.Stream(STACKS["NOT on NOT"], SCHEMA, lateness="1 day")
    stream.push([event("A", 0, 1), event("A", 2, 2)])
    found = [stream.advance(at(seconds)).num_rows for seconds in (3, 4.999999, 5)]
    assert found == [0, 0, 1]


def test_an_event_that_is_late_for_a_stack_is_counted_once_and_given_out() -> None:
    queries = ["DEFINE P SELECT a.x FROM SEQ(A a; NOT B b) WITHIN 5 s", "SELECT p.x AS a FROM SEQ(P p; C c)"]
    for kind in "ABC":
        stream = motif.Stream(queries, SCHEMA, emit=("match", "late"))
        stream.push([event("A", 0), event("A", 10)])
        found = stream.push(event(kind, 8)).to_pylist()
        assert [row["kind"] for row in found] == ["late"], kind
        assert stream.status.late == 1, kind


# -- time


def test_advance_by_all_kinds_of_times() -> None:
    moment = at(3)
    micro = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    berlin = dt.timezone(dt.timedelta(hours=1))
    same_moments = (moment, moment.replace(tzinfo=dt.UTC), micro, dt.datetime(2026, 1, 1, 1, 0, 3, tzinfo=berlin))
    for given in same_moments:
        stream = motif.Stream(CLEAN, SCHEMA, lateness="1 day")
        stream.push([event("A", 1, 1), event("B", 3, 2)])
        assert stream.advance(micro - 1).num_rows == 0
        assert pairs(stream.advance(given)) == [(1, 2)]
    stream = motif.Stream(CLEAN, SCHEMA)
    stream.push([event("A", 1, 1), event("B", 3, 2)])
    assert pairs(stream.advance(dt.date(2026, 1, 2))) == [(1, 2)]
    assert stream.status.watermark == dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


@pytest.mark.parametrize("moment", ["2026-01-01", 1.5, True, None])
def test_advance_by_what_is_no_time(moment: Any) -> None:
    stream = motif.Stream(CLEAN, SCHEMA)
    with pytest.raises(motif.MotifError, match="a watermark cannot be ") as caught:
        stream.advance(moment)
    assert caught.value.hint == "give a datetime, or microseconds since 1970"


@pytest.mark.parametrize("query", [PAIR, CLEAN, CLAUSE], ids=["eager", "with NOT", "rows"])
def test_the_watermark_never_goes_back(query: str) -> None:
    stream = motif.Stream(query, SCHEMA, lateness="1 s")
    stream.push(event("A", 10, 1))
    stream.advance(at(20))
    before = stream.status
    assert stream.advance(at(5)).num_rows == 0
    assert stream.advance(at(20)).num_rows == 0
    assert stream.status == before
    assert stream.push(event("B", 15, 2)).num_rows == 0
    assert stream.status.watermark == before.watermark
    assert stream.status.late == 1
    assert pairs(pa.concat_tables([stream.push(event("B", 20.000001, 3)), stream.close()])) == [(1, 3)]


def test_a_clock_that_goes_backwards() -> None:
    """Events that are behind by more than the lateness are late, however many come in a row."""
    stream = motif.Stream(CLEAN, SCHEMA, lateness="2 s", emit=("match", "late"))
    events = [event("A", 100, 1), event("B", 50, 2), event("A", 51, 3), event("B", 98, 4), event("B", 101, 5)]
    found = all_of(stream, events).to_pylist()
    assert [(row["kind"], row["late"] and row["late"]["x"], row["b"]) for row in found] == [
        ("late", 2, None),
        ("late", 3, None),
        ("match", None, 5),
    ]
    assert (stream.status.events, stream.status.late) == (3, 2)


@pytest.mark.parametrize(
    ("lateness", "held"),
    [
        (None, 0),
        ("0 s", 0),
        ("5 s", 5),
        ("1 min 5 s", 65),
        ("2 hours", 7200),
        ("1500 ms", 1.5),
        (dt.timedelta(seconds=90), 90),
        (dt.timedelta(0), 0),
    ],
)
def test_lateness(lateness: Any, held: float) -> None:
    stream = motif.Stream(PAIR, SCHEMA, lateness=lateness)
    stream.push(event("A", 0))
    expected = at(-held) - dt.timedelta(microseconds=1)
    assert stream.status.watermark == expected.replace(tzinfo=dt.UTC)
    assert stream.status.lag_seconds == pytest.approx(held, abs=1e-5)


@pytest.mark.parametrize("lateness", ["soon", "", "5", "5 parsecs", "-5 s", 5, 1.5, True, dt.timedelta(seconds=-1)])
def test_what_is_no_lateness(lateness: Any) -> None:
    """Said when the stream is made, before an event is lost."""
    with pytest.raises(motif.MotifError, match=r"lateness|unit of time") as caught:
        motif.Stream(PAIR, SCHEMA, lateness=lateness)
    assert caught.value.hint


def test_events_without_time_are_set_aside_and_counted() -> None:
    for query in (PAIR, CLEAN, CLAUSE):
        stream = motif.Stream(query, SCHEMA)
        stream.push([event("A", 0, 1), event("A", None, 2)])
        stream.push(event("B", None, 3))
        assert stream.status.without_time == 2
        assert pairs(pa.concat_tables([stream.push(event("B", 1, 4)), stream.close()])) == [(1, 4)]
        assert stream.status.late == 0


def test_pushing_only_events_without_time() -> None:
    stream = motif.Stream(CLEAN, SCHEMA)
    assert stream.push(event("A", None)).num_rows == 0
    assert stream.status.watermark is None
    assert stream.status.without_time == 1
    assert stream.close().num_rows == 0


@pytest.mark.parametrize("query", [PAIR, CLEAN, CLAUSE], ids=["eager", "with NOT", "rows"])
def test_late_events_are_counted_and_not_used(query: str) -> None:
    stream = motif.Stream(query, SCHEMA, lateness="1 s")
    stream.push([event("A", 10, 1)])
    found = [stream.push([event("B", 8, 2), event("B", 11, 3)]), stream.push(event("A", 9, 4)), stream.close()]
    assert pairs(pa.concat_tables(found)) == [(1, 3)]
    in_time = [event("A", 10, 1), event("B", 11, 3)]
    assert same(pa.concat_tables(found), motif.match(table(in_time), query))
    assert stream.status.late == 2


def test_events_of_one_push_do_not_make_each_other_late() -> None:
    stream = motif.Stream(CLEAN, SCHEMA)
    assert pairs(stream.push([event("B", 100, 2), event("A", 95, 1), event("C", 200)])) == [(1, 2)]
    assert stream.status.late == 0


@pytest.mark.parametrize("query", [PAIR, CLEAN, CLAUSE], ids=["eager", "with NOT", "rows"])
def test_the_same_event_twice_is_two_events(query: str) -> None:
    events = [event("A", 0, 1), event("A", 0, 1), event("B", 1, 2), event("B", 1, 2)]
    expected = motif.match(table(events), query)
    assert expected.num_rows == (1 if query is CLAUSE else 4)
    for order in (events, events[::-1], [events[2], events[0], events[3], events[1]]):
        found = all_of(motif.Stream(query, SCHEMA, lateness="5 s"), order)
        assert same(as_in(expected, found), expected)


# -- several threads


@pytest.mark.parametrize("query", [PAIR, CLAUSE, [f"DEFINE P {PAIR}", "SELECT p.a AS a, p.b AS b FROM P p"]])
def test_several_threads_push_and_nothing_is_lost(query: Any) -> None:
    """Nor do those that only look, or save, see a stream in the middle of a step."""
    users = range(4)
    events = {user: [event("AB"[i % 2], i, i, str(user)) for i in range(60)] for user in users}
    stream = motif.Stream(query, SCHEMA, lateness="1 h")
    began = threading.Barrier(len(users))

    def push(user: int) -> pa.Table:
        began.wait()
        parts = []
        for one in events[user]:
            parts.append(stream.push(one))
            assert stream.status.late == 0
        return pa.concat_tables(parts)

    with ThreadPoolExecutor(len(users)) as pool:
        found = pa.concat_tables([*pool.map(push, users), stream.close()])
    assert stream.status.events == 60 * len(users)
    expected = motif.match(table([one for user in users for one in events[user]]), query)
    assert same(as_in(expected, found), expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query", [PAIR, CLAUSE, [f"DEFINE P {PAIR}", "SELECT p.a AS a, p.b AS b FROM P p"]])
def test_however_events_of_users_arrive_matches_are_the_same(query: Any, seed: int) -> None:
    """Whoever comes first: what the users do looks alike, and each match has the number that it has in a table."""
    rng = random.Random(seed)
    waiting = [[event("AB"[i % 2], i, i, str(user)) for i in range(6)] for user in range(4)]
    expected = motif.match(table([one for own in waiting for one in own]), query)
    arriving = [user for user, own in enumerate(waiting) for _ in own]
    rng.shuffle(arriving)
    stream = motif.Stream(query, SCHEMA, lateness="1 h")
    assert same(as_in(expected, all_of(stream, [waiting[user].pop(0) for user in arriving])), expected)


STEPS = {
    "rows in no match": CLAUSE.replace("PATTERN", "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN"),
    "rows in no match, overlapping matches": CLAUSE.replace(
        "PATTERN (A B)", "ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+)"
    ),
    "matches": CLAUSE,
    "numbered": CLAUSE.replace("MEASURES", "MEASURES MATCH_NUMBER() AS n,"),
}


@pytest.mark.parametrize("clause", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("seed", range(4))
def test_a_step_of_a_clause_gives_rows_in_the_order_of_a_table(clause: str, seed: int) -> None:
    """Users by name, those without one last; of each as in the table, also rows that are in no match."""
    rng = random.Random(seed)
    events = [event(rng.choice("AB"), second, second, rng.choice(("cid", "ann", None, "bob"))) for second in range(60)]
    expected = motif.match(table(events), clause)
    stream = motif.Stream(clause, SCHEMA, lateness="1 h")
    assert stream.push(rng.sample(events, 60)).num_rows == 0
    steps = [*(stream.advance(at(second)) for second in (17, 18, 35)), stream.close()]
    assert sum(step.num_rows > 1 for step in steps) >= 2
    names = ["ann", "bob", "cid", None]
    for step in steps:
        users = [names.index(user) for user in step.column("user").to_pylist()]
        assert users == sorted(users)
    assert same(as_in(expected, pa.concat_tables(steps)), expected)


def test_one_of_several_threads_closes_a_stream() -> None:
    """Each event was pushed before the stream was closed, and counted, or its push was refused."""
    stream = motif.Stream(PAIR, SCHEMA, lateness="1 h")
    began = threading.Barrier(3)

    def push(user: int) -> int:
        began.wait()
        for number in range(100):
            if stream.is_closed:
                with pytest.raises(motif.MotifError, match="the stream is closed"):
                    stream.push(event("A", number, user=str(user)))
                return number
            try:
                stream.push(event("A", number, user=str(user)))
            except motif.MotifError:
                return number
            if (user, number) == (0, 10):
                stream.close()
        return 100

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(push, range(3))) == stream.status.events


@pytest.mark.parametrize("use", ["push", "advance", "close", "save", "status"])
def test_a_function_does_not_use_the_stream_that_calls_it(use: str, tmp_path: Path) -> None:
    arguments: dict[str, list[Any]] = {"push": [event("A", 5)], "advance": [at(9)], "save": [tmp_path / "saved"]}

    def again(_: int) -> bool:
        used = getattr(stream, use)
        return bool(used(*arguments.get(use, [])))

    stream = motif.Stream(f"{PAIR} AND again(a.x)", SCHEMA, functions={"again": again})
    with pytest.raises(motif.MotifError, match="a function of the stream cannot use the stream that calls it"):
        stream.push(event("A", 0, 1))
    assert stream.status.events == 0
    assert not list(tmp_path.iterdir())


# -- closed


@pytest.mark.parametrize("use", ["push", "advance", "close"])
def test_a_closed_stream(use: str) -> None:
    stream = motif.Stream(PAIR, SCHEMA)
    stream.push(event("A", 0))
    stream.close()
    arguments: dict[str, list[Any]] = {"push": [event("B", 1)], "advance": [at(1)], "close": []}
    with pytest.raises(motif.MotifError, match="the stream is closed") as caught:
        getattr(stream, use)(*arguments[use])
    assert caught.value.hint == "begin a new one"
    assert (stream.status.events, stream.status.live, stream.status.waiting) == (1, 0, 0)


# -- status


def test_status() -> None:
    stream = motif.Stream(CLEAN, SCHEMA, lateness="2 s")
    assert stream.status.watermark is None
    stream.push([event("A", 0, 1), event("A", None), event("B", 1, 2), event("A", 9, 3), event("B", 10, 4)])
    stream.push([event("B", 1), event("A", 10, 5)])
    status = stream.status
    assert (status.events, status.matches, status.late, status.without_time) == (5, 1, 1, 1)
    assert (status.live, status.waiting) == (1, 3)
    assert status.state_bytes > 0
    assert status.watermark == (at(8) - dt.timedelta(microseconds=1)).replace(tzinfo=dt.UTC)
    assert status.lag_seconds == pytest.approx(2, abs=1e-5)
    stream.close()
    status = stream.status
    assert (status.matches, status.live, status.waiting, status.state_bytes) == (4, 0, 0, 0)


def test_status_for_people_and_for_prometheus() -> None:
    stream = motif.Stream(PAIR, SCHEMA)
    assert "watermark                    -" in str(stream.status)
    stream.push([event("A", 0, number) for number in range(1500)])
    stream.push(event("B", 1))
    shown = str(stream.status).splitlines()
    assert shown[0] == "events                   1,501"
    assert shown[1] == "matches                  1,500"
    assert "watermark     2026-01-01 00:00:00" in shown
    text = stream.status.prometheus(query='fraud "1"\n')
    assert 'motif_events_total{query="fraud \\"1\\"\\n"} 1501' in text.splitlines()
    lines = stream.status.prometheus("cep", job="a", query="b").splitlines()
    assert "# TYPE cep_matches_total counter" in lines
    assert 'cep_matches_total{job="a",query="b"} 1500' in lines
    assert "# TYPE cep_live gauge" in lines
    assert 'cep_watermark_timestamp_seconds{job="a",query="b"} 1767225600.999999' in lines
    values = [line for line in stream.status.prometheus().splitlines() if not line.startswith("#")]
    assert all(float(line.split()[1]) >= 0 for line in values)
    assert "motif_watermark" not in motif.Stream(PAIR, SCHEMA).status.prometheus()


# -- emit


@pytest.mark.parametrize(
    ("emit", "columns", "kinds"),
    [
        (None, ["match_id", "match_start", "match_end", "a", "b"], []),
        ("match", ["kind", "match_id", "match_start", "match_end", "a", "b"], ["match"]),
        (("match", "late"), ["kind", "match_id", "match_start", "match_end", "a", "b", "late"], ["late", "match"]),
        (["late", "match"], ["kind", "match_id", "match_start", "match_end", "a", "b", "late"], ["late", "match"]),
        ("late", ["kind", "late"], ["late"]),
    ],
)
def test_emit(emit: Any, columns: list[str], kinds: list[str]) -> None:
    stream = motif.Stream(PAIR, SCHEMA, emit=emit)
    results = [stream.push(event("A", 5, 1)), stream.push(event("B", 1, 2)), stream.push(event("B", 6, 3))]
    results += [stream.push([]), stream.close()]
    assert {tuple(result.column_names) for result in results} == {tuple(columns)}
    assert len({str(result.schema) for result in results}) == 1, "results can be put together"
    rows = pa.concat_tables(results).to_pylist()
    assert [row["kind"] for row in rows if "kind" in row] == kinds
    if "late" in kinds:
        late = next(row for row in rows if row["kind"] == "late")
        assert (late["late"]["ts"], late["late"]["x"], late["late"]["user"]) == (at(1), 2, "ann")
        assert all(value is None for name, value in late.items() if name not in ("kind", "late"))


def test_emit_of_rows() -> None:
    stream = motif.Stream(CLAUSE, SCHEMA, emit=("match", "late"))
    rows = all_of(stream, [event("A", 5, 1), event("B", 6, 2), event("A", 1, 3)]).to_pylist()
    assert [(row["kind"], row["user"], row["a"]) for row in rows] == [("late", None, None), ("match", "ann", 1)]
    assert rows[0]["late"] == event("A", 1, 3)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"emit": "matches"}, "emit= does not know 'matches'", "did you mean match?"),
        ({"emit": ("match", "error")}, "emit= does not know 'error'", None),
        ({"emit": ()}, "emit= is empty", 'write emit=("match",)'),
        ({"on_error": "ignore"}, "on_error= does not know 'ignore'", 'write "fail" or "skip"'),
        ({"time": "when"}, "time='when' is not a column of the events", None),
        ({"time": "x"}, r"time='x' is of type integer\(64\), not a time", None),
        ({"type": "kind"}, "A a needs the class of events, but the events have no column kind", None),
        ({"order_by": "y"}, "order_by='y' is not a column", None),
        ({"functions": {"f": 3}}, "is not a function", None),
    ],
)
def test_options_that_are_wrong(options: Mapping[str, Any], message: str, hint: str | None) -> None:
    with pytest.raises(motif.MotifError, match=message) as caught:
        motif.Stream(PAIR, SCHEMA, **options)
    assert hint is None or (caught.value.hint or "").startswith(hint)


def test_options_of_events() -> None:
    schema = {"when": "timestamp", "kind": "string", "x": "int", "n": "int"}
    stream = motif.Stream(
        "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) PICK LAST a WITHIN 9 s",
        schema,
        time="when",
        type="kind",
        order_by="n",
    )
    kinds = [("A", 1, 2), ("A", 2, 1), ("B", 3, 3)]
    stream.push([{"when": at(0), "kind": kind, "x": x, "n": n} for kind, x, n in kinds])
    assert pairs(stream.close()) == [(1, 3)], "of two events at one time the greater n is later"


@pytest.mark.parametrize("option", [{"time": "ts"}, {"type": "type"}, {"order_by": "x"}, {"functions": {"f": max}}])
def test_options_of_events_are_not_for_rows(option: Any) -> None:
    with pytest.raises(motif.MotifError, match="= is for event queries"):
        motif.Stream(CLAUSE, SCHEMA, **option)


# -- queries


@pytest.mark.parametrize(
    ("query", "message", "caret"),
    [
        ("SELECT a.x FROM SEQ(A a; B b", "this ( is never closed", (1, 20)),
        ("SELECT a.x AS x\nFROM SEQ(A a; B b)\nWHERE a.y > 1", "unknown column y", (3, 9)),
        ("SELECT a.x AS x FROM SEQ(A a; B b) PICK LAST c", "c is not a variable of the pattern", (1, 46)),
        ("SELECT a.x AS x FROM SEQ(A a; NOT B b)", "NOT at the end needs WITHIN", (1, 31)),
        ("SELECT * FROM events", "MATCH_RECOGNIZE", (1, 1)),
        ("MATCH_RECOGNIZE (ORDER BY ts\n PATTERN (A DEFINE A AS x > 1)", "this ( is never closed", (1, 17)),
        ("MATCH_RECOGNIZE (ORDER BY ts MEASURES x AS x\n PATTERN (A) DEFINE A AS y > 1)", "unknown column y", (2, 26)),
        ("MATCH_RECOGNIZE (ORDER BY tts MEASURES x AS x PATTERN (A))", "unknown column tts", (1, 27)),
        (f"DEFINE P {PAIR};\nSELECT p.z AS z FROM SEQ(P p; A a)", "unknown column z", (2, 10)),
        (f"{PAIR}; {PAIR}", "a query that is followed by another one needs a name", (1, 32)),
    ],
)
def test_mistakes_in_a_query_have_a_place(query: str, message: str, caret: tuple[int, int]) -> None:
    with pytest.raises(motif.MotifError) as caught:
        motif.Stream(query, SCHEMA)
    assert message in str(caught.value)
    assert f"(line {caret[0]}, column {caret[1]})" in str(caught.value)
    assert "^" in str(caught.value)


ORDERS_REFUSED = {
    "not a time": ("ORDER BY x", "ORDER BY does not begin with an ascending time column", 1),
    "descending": ("ORDER BY ts DESC", "ORDER BY does not begin with an ascending time column", 1),
    "not first": ("ORDER BY x, ts", "ORDER BY does not begin with an ascending time column", 1),
    "an expression": ("ORDER BY date_trunc('day', ts)", "ORDER BY does not begin with an ascending time column", 1),
    "missing": ("", "a stream needs an ORDER BY", 0),
}


@pytest.mark.parametrize(("order", "message", "carets"), ORDERS_REFUSED.values(), ids=ORDERS_REFUSED)
def test_rows_must_come_by_time(order: str, message: str, carets: int) -> None:
    with pytest.raises(motif.MotifError, match=message) as caught:
        motif.Stream(f"MATCH_RECOGNIZE ({order} MEASURES x AS x PATTERN (A))", SCHEMA)
    assert ("^" in str(caught.value)) == bool(carets)
    assert "ORDER BY" in (caught.value.hint or "")


def test_a_function_of_the_host_over_several_rows_is_refused() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY ts MEASURES x AS x PATTERN (A)
        DEFINE A AS levenshtein(type, PREV(type)) > 1)"""
    assert motif.match(table(EVENTS), clause).num_rows == 0
    with pytest.raises(motif.UnsupportedQuery, match="not supported in a stream") as caught:
        motif.Stream(clause, SCHEMA)
    assert "one row at a time" in (caught.value.hint or "")


@pytest.mark.parametrize("query", [42, [], None, object()])
def test_what_is_no_query(query: Any) -> None:
    with pytest.raises(motif.MotifError):
        motif.Stream(query, SCHEMA)


def test_queries_of_the_builder() -> None:
    a, b = motif.ev("A", "a"), motif.ev("B", "b")
    built = motif.seq(a, b).by("user").select(a=a.x, b=b.x)
    rows = motif.rows(motif.row("A", motif.col.type == "A"), motif.row("B", motif.col.type == "B"))
    clause = rows.partition_by("user").order_by("ts").measures(a=motif.first(motif.col.x), b=motif.last(motif.col.x))
    for query, text in ((built, PAIR), (built.query, PAIR), ([built], PAIR), (clause, CLAUSE), (clause.query, CLAUSE)):
        found = all_of(motif.Stream(query, SCHEMA), EVENTS)
        assert pairs(found) == pairs(all_of(motif.Stream(text, SCHEMA), EVENTS)) != []


def test_measures_with_functions_of_the_host() -> None:
    clause = """MATCH_RECOGNIZE (PARTITION BY upper(user) AS u ORDER BY ts MEASURES strftime(LAST(ts), '%S') AS s,
        SUM(x) * 2 AS total PATTERN (A B+) WITHIN INTERVAL '5' SECOND
        DEFINE A AS lower(type) = 'a', B AS type ~ '[bB]')"""
    found = all_of(motif.Stream(clause, SCHEMA), EVENTS)
    assert same(found, motif.match(table(EVENTS), clause))
    assert found.to_pylist()[0] == {"u": "ANN", "s": "01", "total": 6}


def test_notes_on_a_query_are_warnings_at_the_call() -> None:
    with pytest.warns(motif.MotifWarning, match="PICK EACH b forms every list") as caught:
        motif.Stream("SELECT COUNT(b) AS n FROM SEQ(A a; B b+; A c) PICK EACH b", SCHEMA)
    assert caught[0].filename == __file__


# -- functions of the user

ONE = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE positive(a.x) WITHIN 10 s"
BOTH = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE closer(a.x, b.x) WITHIN 10 s"


def positive(x: int) -> bool:
    if x == 13:
        raise ValueError("unlucky")
    return x > 0


def closer(a: int, b: int) -> bool:
    return positive(a) and abs(a - b) < 5


FUNCTIONS: dict[str, Callable[..., Any]] = {"positive": positive, "closer": closer}


@pytest.mark.parametrize("query", [ONE, BOTH, f"{ONE} CONSUMING a", f"{BOTH} CONSUMING a, b", f"{BOTH} CONSUMING b"])
def test_functions(query: str) -> None:
    events = [event("A", 0, 1), event("A", 1, -1), event("B", 2, 2), event("A", 3, 9), event("B", 4, 3)]
    found = all_of(motif.Stream(query, SCHEMA, functions=FUNCTIONS), events)
    assert found.num_rows
    assert same(found, motif.match(table(events), query, functions=FUNCTIONS))


@pytest.mark.parametrize("query", [ONE, BOTH, f"{BOTH} CONSUMING b"])
def test_a_function_that_fails_is_named(query: str) -> None:
    stream = motif.Stream(query, SCHEMA, functions=FUNCTIONS)
    with pytest.raises(motif.QueryDataError, match=r"function (positive|closer) failed .*13.* ValueError: unlucky"):
        all_of(stream, [event("A", 0, 13), event("B", 1, 14)])


@pytest.mark.parametrize("query", [ONE, BOTH, f"{ONE} CONSUMING a", f"{BOTH} CONSUMING b"])
def test_a_push_that_fails_changes_nothing_and_can_be_repeated(query: str) -> None:
    """Say a service that a function asks is away for a while."""
    query = query.replace("WITHIN", "AND [user] WITHIN")
    events = [event("A", 0, 1), event("A", 0, 2, "bob"), event("B", 1, 3), event("B", 2, 4, "bob"), event("A", 3, 5)]
    events += [event("B", 3, 6), event("B", 4, 7, "bob"), event("B", 5, 8)]
    away: list[str] = []

    def flaky(*given: int) -> bool:
        if away:
            raise ValueError(away.pop())
        return True

    names = ("positive", "closer")
    stream = motif.Stream(query, SCHEMA, functions=dict.fromkeys(names, flaky))
    found, failed = [], 0
    for start in range(0, len(events), 2):
        away.append("away")
        try:
            found.append(stream.push(events[start : start + 2]))
        except motif.QueryDataError:
            failed += 1
            found.append(stream.push(events[start : start + 2]))
        away.clear()
    found.append(stream.close())
    assert failed > 1
    expected = motif.match(table(events), query, functions=dict.fromkeys(names, lambda *given: True))
    assert same(pa.concat_tables(found), expected)
    assert (stream.status.events, stream.status.late) == (len(events), 0)


@pytest.mark.parametrize(("query", "failures"), [(ONE, 1), (BOTH, 2), (f"{BOTH} CONSUMING b", 2)])
def test_an_event_for_which_a_function_fails_is_skipped_and_counted(
    query: str, failures: int, caplog: pytest.LogCaptureFixture
) -> None:
    stream = motif.Stream(query, SCHEMA, functions=FUNCTIONS, on_error="skip")
    events = [event("A", 0, 13), event("A", 1, 12), event("B", 2, 14), event("B", 3, 15)]
    with caplog.at_level(logging.WARNING, "motif"):
        found = all_of(stream, events)
    assert same(found, motif.match(table(events[1:]), query, functions=FUNCTIONS))
    assert found.num_rows == 2
    assert stream.status.failed == failures
    assert "ValueError: unlucky" in caplog.text


def test_vectorized_functions_are_halved_until_the_bad_event_is_alone() -> None:
    sizes = []

    @motif.vectorized
    def small(x: Any) -> Any:
        sizes.append(len(x))
        if (x == 13).any():
            raise ValueError("unlucky")
        return x < 100

    query = "SELECT a.x AS a, b.x AS b FROM SEQ(A a; B b) WHERE small(a.x)"
    stream = motif.Stream(query, SCHEMA, functions={"small": small}, on_error="skip")
    stream.push([event("A", number, number) for number in range(64)])
    assert [row["a"] for row in stream.push(event("B", 99)).to_pylist()] == [x for x in range(64) if x != 13]
    assert stream.status.failed == 1
    assert sum(sizes) < 64 * 8


def test_an_unknown_function() -> None:
    with pytest.raises(motif.MotifError, match=r"(?i)closer"):
        motif.Stream(BOTH, SCHEMA)
