"""Lists of event queries on every host: what one takes, the others take, with the same matches; or the same message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from event_frames import in_some_order, plain, together

import motif
from motif.errors import MotifError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = datetime(2024, 1, 1, 12)


def events(types: str | None = "ABCABC", begin: int = 0, **columns: pa.Array) -> pa.Table:
    """An event each two seconds: its class, its number, and other columns."""
    count = 6 if types is None else len(types)
    own: dict[str, Any] = {"ts": pa.array([NOON + timedelta(seconds=begin + 2 * n) for n in range(count)])}
    if types is not None:
        own["type"] = list(types)
    return pa.table({**own, "u": pa.array(range(count), pa.int64()), **columns})


def numbers(kind: pa.DataType) -> pa.Array:
    return pa.array(range(6)).cast(kind)


ONE = events(x=numbers(pa.float64()), text=numbers(pa.string()))
PLAIN = {"A": events(None), "B": events(None, 1)}
"""Two inputs whose names are the classes of their events."""
PAIR = "DEFINE P SELECT a.u AS u FROM SEQ(A a; B b) WITHIN 5 s"
THEN = "SELECT p.u AS u, c.u AS c FROM SEQ(P p; C c) WITHIN 9 s"
THEN_B = "SELECT p.u AS u, c.u AS c FROM SEQ(P p; B c) WITHIN 9 s"
FROM_A = "DEFINE P SELECT a.u AS u FROM A SEQ(A a; A b) WITHIN 5 s"
K = "SELECT a.k AS k, b.u AS u FROM SEQ(A a; B b) WITHIN 5 s"


@dataclass(frozen=True)
class Case:
    """Queries over data; `refused`: how the message begins, of those that no host takes."""

    data: pa.Table | Mapping[str, pa.Table]
    queries: list[str]
    refused: str | None = None


def with_k(one: pa.DataType, other: pa.DataType) -> dict[str, pa.Table]:
    """Two inputs with a column k of two types, without a value."""
    return {"A": events(None, k=pa.nulls(6, one)), "B": events(None, 1, k=pa.nulls(6, other))}


CASES = {
    "a pair and what follows": Case(ONE, [PAIR, THEN]),
    "three queries": Case(
        ONE,
        [PAIR, THEN.replace("SELECT", "DEFINE Q SELECT"), "SELECT q.u AS u, a.u AS a FROM SEQ(Q q; A a) WITHIN 9 s"],
    ),
    "all columns are shown": Case(ONE, [PAIR, "SELECT p.u AS u, c.x AS x, c.text AS t FROM SEQ(P p; C c) WITHIN 9 s"]),
    "an item with the name of the time": Case(
        ONE, ["DEFINE P SELECT a.u AS u, b.ts AS ts FROM SEQ(A a; B b) WITHIN 5 s", THEN]
    ),
    "an item with the name of the class, of another type": Case(
        ONE, ["DEFINE P SELECT a.u AS u, b.u AS Type FROM SEQ(A a; B b) WITHIN 5 s", THEN]
    ),
    "an item called event, of another type": Case(
        events(event=numbers(pa.string())),
        ["DEFINE P SELECT a.u AS u, b.u AS event FROM SEQ(A a; B b) WITHIN 5 s", THEN],
        "event is already the name of a column of every result",
    ),
    "one query twice": Case(ONE, [PAIR, PAIR]),
    "two queries with one name": Case(ONE, [PAIR, PAIR.replace("A a; B b", "B a; C b"), THEN]),
    "a class that events have": Case(ONE, [PAIR.replace("P", "C"), THEN.replace("P p", "C p")]),
    "a query that names itself": Case(ONE, [PAIR.replace("A a", "P a"), THEN]),
    "queries that name each other": Case(ONE, [PAIR.replace("A a", "Q a"), THEN.replace("SELECT", "DEFINE Q SELECT")]),
    "two inputs": Case(PLAIN, [PAIR, THEN_B]),
    "a class with the name of an input": Case(PLAIN, [PAIR.replace("P", "B"), THEN_B.replace("P p", "B p")]),
    "one input of two": Case(PLAIN, [FROM_A, THEN_B]),
    "an input in other capitals": Case(PLAIN, [FROM_A.replace("FROM A", "FROM a"), THEN_B]),
    "FROM, over an input without a name": Case(ONE, [PAIR.replace("FROM", "FROM x"), THEN]),
    "a class column in one input only": Case({"E": events("ABABAB"), "C": events(None, 1)}, [PAIR, THEN]),
    "a column of one input only": Case(
        {**PLAIN, "B": PLAIN["B"].append_column("x", numbers(pa.string()))},
        [FROM_A, "SELECT p.u AS u, b.x AS x FROM SEQ(P p; B b) WITHIN 9 s"],
    ),
    "columns that differ in capitals, in two inputs": Case(
        {"A": PLAIN["A"], "B": PLAIN["B"].rename_columns(["TS", "U"])}, [PAIR, THEN_B]
    ),
    "whole numbers and others": Case(with_k(pa.int64(), pa.float64()), [K]),
    "a column without a type": Case(with_k(pa.null(), pa.string()), [K]),
    "a column without a type, the other way": Case(with_k(pa.string(), pa.null()), [K]),
    "a column without a type, in a stack": Case(
        with_k(pa.string(), pa.null()),
        [FROM_A, "SELECT p.u AS u, b.k AS k FROM SEQ(P p; B b) WITHIN 9 s"],
    ),
    "types that differ in an input that nobody reads": Case(
        with_k(pa.string(), pa.int64()), ["SELECT a.k AS k FROM A SEQ(A a; A b) WITHIN 5 s"]
    ),
    "an input that is not there": Case(PLAIN, [PAIR, THEN_B.replace("FROM", "FROM C")], "there is no input C"),
    "FROM matches": Case(PLAIN, [PAIR, THEN_B.replace("FROM", "FROM P")], "there is no input P"),
    "texts and numbers": Case(with_k(pa.string(), pa.int64()), [K], "column k is integer in B and string in A"),
    "texts and numbers in a stack": Case(
        with_k(pa.string(), pa.int64()), [FROM_A, THEN_B], "column k is integer in B and string in A"
    ),
    "dates and texts": Case(with_k(pa.string(), pa.date32()), [K], "column k is date in B and string in A"),
    "a class that is a number": Case(
        {"A": events(None), "B": events(None, 1, type=numbers(pa.int64()))},
        [K.replace("a.k AS k, ", "")],
        "column type is integer in B and string in A",
    ),
    "an item of another type": Case(
        ONE,
        ["DEFINE P SELECT a.text AS u FROM SEQ(A a; B b) WITHIN 5 s", THEN],
        "column u is string in P and integer in the events",
    ),
    "items that differ in capitals": Case(
        ONE,
        ["DEFINE P SELECT a.u AS u, b.u AS U FROM SEQ(A a; B b) WITHIN 5 s", THEN],
        "U is already the name of another item",
    ),
    "columns that differ in capitals": Case(
        events(U=numbers(pa.int64())), [PAIR, THEN], "the table has the columns u and U, which differ in capitals only"
    ),
    "columns that differ in capitals, in one of two inputs": Case(
        {**PLAIN, "B": PLAIN["B"].append_column("U", numbers(pa.int64()))},
        [PAIR, THEN_B],
        "table B has the columns u and U, which differ in capitals only",
    ),
    "a query in the middle without a name": Case(
        ONE, [PAIR, THEN, THEN], "a query that is followed by another one needs a name"
    ),
    "inputs that differ in capitals": Case(
        {"A": PLAIN["A"], "a": PLAIN["B"]}, [K], "tables A and a differ in capitals only"
    ),
    "no input": Case({}, [PAIR, THEN], "there are no events: the mapping is empty"),
}
TAKEN = {name: case for name, case in CASES.items() if case.refused is None}
REFUSED = {name: case for name, case in CASES.items() if case.refused is not None}


def frames(spark: SparkSession, data: pa.Table | Mapping[str, pa.Table]) -> Any:
    """The data as DataFrames."""
    if isinstance(data, Mapping):
        return {name: frames(spark, table) for name, table in data.items()}
    return spark.createDataFrame(data)


def streams(spark: SparkSession, data: Any) -> Any:
    """Streaming DataFrames with the columns of the data; nothing is read of them."""
    from pyspark.sql import functions as f

    if isinstance(data, Mapping):
        return {name: streams(spark, table) for name, table in data.items()}
    rate = spark.readStream.format("rate").load()
    nulls = (f.lit(None).cast(field.dataType).alias(field.name) for field in spark.createDataFrame(data).schema.fields)
    return rate.select(*nulls).withWatermark(data.column_names[0], "1 second")


def pushed(case: Case) -> list[dict[str, Any]]:
    """Matches of the case's events one by one, in the order of their times."""
    inputs = case.data if isinstance(case.data, Mapping) else {None: case.data}
    schema = {name: table.schema for name, table in inputs.items()} if None not in inputs else case.data.schema
    stream = motif.Stream(case.queries, schema)
    time = {name: table.column_names[0] for name, table in inputs.items()}
    rows = [(row[time[name]], name, row) for name, table in inputs.items() for row in table.to_pylist()]
    found = [stream.push(row, input=name) for _, name, row in sorted(rows, key=lambda each: each[0])]
    return [row for table in (*found, stream.close()) for row in table.to_pylist()]


@pytest.mark.filterwarnings("ignore")
def test_what_one_host_takes_the_others_take_with_the_same_matches(spark: SparkSession) -> None:
    expected, on_spark = dict[str, list[Any]](), dict[str, Any]()
    for name, case in TAKEN.items():
        expected[name] = [plain(row) for row in motif.match(case.data, case.queries).to_pylist()]
        assert in_some_order(map(plain, pushed(case))) == in_some_order(expected[name]), name
        on_spark[name] = motif.match(frames(spark, case.data), case.queries)
        wrong = motif.check(case.queries, data=streams(spark, case.data))
        assert not [str(mistake) for mistake in wrong if mistake.severity == "error"], name
    for name, rows in together(on_spark).items():
        assert in_some_order(rows) == in_some_order(expected[name]), name
    assert sum(map(len, expected.values())) > 3 * len(TAKEN) / 2


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_host_refuses_the_others_refuse_with_the_same_message(name: str, spark: SparkSession) -> None:
    case = REFUSED[name]
    hosts = [case.data, frames(spark, case.data), streams(spark, case.data)] if case.data else [case.data]
    asked: list[Callable[[], object]] = [partial(motif.match, data, case.queries) for data in hosts]
    told = [str(mistake) for data in hosts for mistake in motif.check(case.queries, data=data)]
    for ask in [*asked, partial(pushed, case)] if case.data else asked:
        with pytest.raises(MotifError) as caught:
            ask()
        told.append(str(caught.value))
    assert case.refused is not None
    assert told[0].startswith(case.refused)
    assert len(told) == (7 if case.data else 2)
    assert len(set(told)) == 1, told
