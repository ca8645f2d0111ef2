"""Values come out as they went in: all types of Arrow, pandas and Polars, in all places where a value can stand."""

from __future__ import annotations

import datetime as dt
import os
import random
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import motif
from motif.errors import MotifError, QueryDataError

ZONES = ("UTC", "Europe/Berlin", "+02:00")
UNITS = ("s", "ms", "us", "ns")
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1, 1), None, dt.datetime(1970, 1, 1)]
DAYS = [dt.date(2020, 1, 1), dt.date(2021, 1, 1), None, dt.date(1, 1, 1)]
CLOCKS = [dt.time(1, 2, 3), dt.time(4, 5, 6), None, dt.time(0)]
LENGTHS = [dt.timedelta(1), dt.timedelta(hours=2), None, dt.timedelta(days=-100)]
NUMBERS = [Decimal("1.50"), Decimal("2.25"), None, Decimal("-3.00")]
WHOLE = [1, 2, None, 3]
INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
DECIMALS = (pa.decimal32(7, 2), pa.decimal64(15, 2), pa.decimal128(12, 2), pa.decimal128(38, 2), pa.decimal256(12, 2))
TIMES = (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))


def of_kind(kinds: Any, values: list[Any]) -> dict[str, pa.Array]:
    return {str(kind): pa.array(values, kind) for kind in kinds}


PLAIN: dict[str, pa.Array] = {
    "null": pa.nulls(4),
    "bool": pa.array([True, False, None, True]),
    **of_kind(INTEGERS, WHOLE),
    "largest": pa.array([2**64 - 1, 2**63, None, 0], pa.uint64()),
    "half": pa.array(np.array([1.5, 2.5, np.nan, -0.0], np.float16)),
    "float": pa.array([1.5, float("nan"), None, -0.0], pa.float32()),
    "double": pa.array([1.5, float("nan"), None, float("-inf")]),
    **of_kind(DECIMALS, NUMBERS),
    "thousands": pa.array([Decimal("1E3"), Decimal("2E3"), None, Decimal("-3E3")], pa.decimal128(12, -3)),
    **of_kind(TEXTS, ["a", "b", None, "c"]),
    **of_kind(BYTES, [b"a", b"b", None, b"c"]),
    **of_kind((pa.date32(), pa.date64()), DAYS),
    **of_kind(TIMES, CLOCKS),
    "nanosecond of a day": pa.array([1, 86_399_999_999_999, None, 0], pa.time64("ns")),
    **of_kind((pa.timestamp(unit) for unit in UNITS), MOMENTS),
    **of_kind((pa.timestamp(unit, zone) for unit in UNITS for zone in ZONES), MOMENTS),
    "nanosecond": pa.array([1, 1_577_836_800_000_000_001, None, 0], pa.timestamp("ns")),
    "nanosecond of a zone": pa.array([1, 1_577_836_800_000_000_001, None, 0], pa.timestamp("ns", "Europe/Berlin")),
    **of_kind((pa.duration(unit) for unit in UNITS), LENGTHS),
    "calendar": pa.array([(1, 2, 3000), (0, 0, 5000), None, (12, 0, 0)], pa.month_day_nano_interval()),
    "coded": pa.array(["a", "b", None, "c"]).dictionary_encode(),
    "coded large": pa.array(["a", "b", None, "c"], pa.large_string()).dictionary_encode(),
    "categories": pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None, 1], pa.int8()), pa.array(["small", "mid", "big", "none"]), ordered=True
    ),
    "coded numbers": pa.array([10, 20, None, 30]).dictionary_encode(),
    "coded times": pa.array(MOMENTS, pa.timestamp("us")).dictionary_encode(),
    "uuid": pa.array([uuid.UUID(int=1), uuid.UUID(int=2), None, uuid.UUID(int=3)], pa.uuid()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 1], pa.int8())),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "place", "us"), pa.array([b"a", b"b", None, b"c"])),
}
"""Values that can be compared."""
NESTED: dict[str, pa.Array] = {
    "list": pa.array([[1, 2], [3], None, []], pa.list_(pa.int32())),
    "large list": pa.array([[1, 2], [3], None, []], pa.large_list(pa.int32())),
    "list view": pa.array([[1, 2], [3], None, []], pa.list_view(pa.int32())),
    "array": pa.array([[1, 2], [3, 4], None, [5, 6]], pa.list_(pa.int32(), 2)),
    "durations": pa.array([[dt.timedelta(1)], [], None, [dt.timedelta(2)]], pa.list_(pa.duration("us"))),
    "zoned": pa.array([[MOMENTS[0]], [], None, [MOMENTS[1]]], pa.list_(pa.timestamp("us", "Europe/Berlin"))),
    "halves": pa.array([[np.float16(1.5)], [], None, [np.float16(2)]], pa.list_(pa.float16())),
    "struct": pa.array([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, None, {"x": None, "y": "c"}]),
    "struct of times": pa.array(
        [{"x": 1, "y": MOMENTS[0]}, {"x": 2, "y": None}, None, {"x": None, "y": MOMENTS[1]}],
        pa.struct([("x", pa.int8()), ("y", pa.timestamp("ns", "Europe/Berlin"))]),
    ),
    "nothing": pa.array([{}, {}, None, {}], pa.struct([])),
    "days beside nothing": pa.array(
        [[{"x": DAYS[0], "y": None}, {"x": DAYS[1], "y": None}], [], None, [{"x": DAYS[2], "y": None}]],
        pa.list_(pa.struct([("x", pa.date64()), ("y", pa.null())])),
    ),
    "times beside nothing": pa.array(
        [[{"x": MOMENTS[0], "y": None}, {"x": MOMENTS[1], "y": None}], [], None, [{"x": None, "y": None}]],
        pa.large_list(pa.struct([("x", pa.timestamp("us", "Europe/Berlin")), ("y", pa.null())])),
    ),
    "map": pa.array([[("a", 1)], [("b", 2)], None, []], pa.map_(pa.string(), pa.int32())),
    "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a":1}', "[1]", None, "1"])),
}
ENCODED: dict[str, pa.Array] = {
    "runs": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], pa.array(WHOLE)),
    "runs of texts": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], pa.array(["a", "b", None, "c"])),
}
ALL = PLAIN | NESTED | ENCODED

ROWS = {
    "measure": "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS v PATTERN (A))",
    "beside a computed one": "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS v, A.id + 1 AS next PATTERN (A))",
    "all rows": "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A+))",
    "navigation": "MATCH_RECOGNIZE (ORDER BY id MEASURES FIRST(A.v) AS v, PREV(A.v) AS p PATTERN (A))",
    "key": "MATCH_RECOGNIZE (PARTITION BY v, id ORDER BY id MEASURES COUNT(*) AS n PATTERN (A+))",
    "order": "MATCH_RECOGNIZE (ORDER BY v DESC NULLS FIRST MEASURES A.v AS v PATTERN (A))",
    "ties": "MATCH_RECOGNIZE (ORDER BY one MEASURES A.v AS v PATTERN (A))",
}
"""Each gives all values, in some order."""
SOME = {
    "least": "MATCH_RECOGNIZE (ORDER BY id MEASURES MIN(A.v) AS v PATTERN (A+))",
    "equal": "MATCH_RECOGNIZE (ORDER BY id MEASURES B.v AS v PATTERN (A B) DEFINE B AS B.v = A.v)",
    "greater": "MATCH_RECOGNIZE (ORDER BY id MEASURES B.v AS v PATTERN (A B) DEFINE B AS B.v > A.v)",
}
EVENTS = {
    "item": "SELECT a.v AS v FROM SEQ(E a; L b)",
    "item beside a computed one": "SELECT a.v AS v, a.id + 1 AS next FROM SEQ(E a; L b)",
}


def table(values: pa.Array) -> pa.Table:
    hours = [dt.datetime(2024, 1, 1, hour) for hour in range(4)]
    columns = {"id": [0, 1, 2, 3], "one": [1] * 4, "t": pa.array(hours, pa.timestamp("us")), "type": ["E"] * 4}
    return pa.table({**columns, "v": values})


def events(values: pa.Array) -> pa.Table:
    last = {"id": 4, "one": 1, "t": dt.datetime(2024, 1, 2), "type": "L"}
    rows = table(values)
    return pa.concat_tables([rows, pa.Table.from_pylist([last], rows.schema)])


def is_same(found: Any, given: Any) -> bool:
    return sorted(map(repr, found.to_pylist())) == sorted(map(repr, given.to_pylist()))


@pytest.mark.parametrize("place", ROWS)
@pytest.mark.parametrize("name", ALL)
def test_values_of_rows_come_out_as_they_went_in(name: str, place: str) -> None:
    found = motif.match(table(ALL[name]), ROWS[place])["v"]
    assert found.type == ALL[name].type
    assert is_same(found, ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_values_come_out_of_statements_as_they_went_in(name: str) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS w, A.id AS n PATTERN (A))"
    for query in (
        f"SELECT w AS x FROM t {clause}",
        f"SELECT * EXCLUDE (n), w AS x FROM t {clause} WHERE n >= 0 ORDER BY n",
        f"SELECT w AS x FROM (SELECT * FROM t WHERE id >= 0) {clause} LIMIT 9",
        f"WITH c AS (FROM t) SELECT m.w AS x, 1 AS one FROM c {clause} AS m",
    ):
        found = motif.sql(query, tables={"t": table(ALL[name])})["x"]
        assert found.type == ALL[name].type, query
        assert is_same(found, ALL[name]), query


@pytest.mark.parametrize("place", EVENTS)
@pytest.mark.parametrize("name", ALL)
def test_values_of_events_come_out_as_they_went_in(name: str, place: str) -> None:
    if isinstance(ALL[name], pa.RunEndEncodedArray | pa.ExtensionArray | pa.DictionaryArray):
        rows = events(pa.nulls(4)).drop(["v"]).append_column("v", pa.chunked_array([_with_null(ALL[name])]))
    else:
        rows = events(ALL[name])
    found = motif.match(rows, EVENTS[place], time="t", type="type")["v"]
    assert found.type == ALL[name].type
    assert is_same(found, ALL[name])


def _with_null(values: pa.Array) -> pa.Array:
    """One more value, NULL."""
    if isinstance(values, pa.RunEndEncodedArray):
        return pa.RunEndEncodedArray.from_arrays([1, 2, 3, 5], values.values)
    if isinstance(values, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(
            values.type, pa.array([*values.storage.to_pylist(), None], values.storage.type)
        )
    indices = pa.array([*values.indices.to_pylist(), None], values.indices.type)
    return pa.DictionaryArray.from_arrays(indices, values.dictionary, ordered=values.type.ordered)


@pytest.mark.parametrize("name", PLAIN | NESTED)
def test_whole_events_and_lists_keep_types(name: str) -> None:
    kind = ALL[name].type
    rows = table(ALL[name])
    whole = motif.match(rows, "SELECT * FROM SEQ(E a; E b+) WITHIN 9 h", time="t", type="type")
    assert whole.schema.field("a").type.field("v").type == kind
    assert whole.schema.field("b").type.value_type.field("v").type == kind
    assert [repr(row["a"]["v"]) for row in whole.to_pylist()] == [
        repr(ALL[name][row["a"]["id"]].as_py()) for row in whole.to_pylist()
    ]
    listed = motif.match(rows, "MATCH_RECOGNIZE (ORDER BY id MEASURES ARRAY_AGG(A.v) AS v PATTERN (A+))")["v"]
    assert listed.type.value_type == kind
    assert repr(listed.to_pylist()) == repr([ALL[name].to_pylist()])


def test_lists_of_events_keep_categories_beside_a_column_of_nulls() -> None:
    rows = table(PLAIN["coded"]).append_column("nothing", pa.nulls(4))
    found = motif.match(rows, "SELECT * FROM SEQ(E a; E b+) WITHIN 9 h", time="t", type="type")
    found.validate(full=True)
    kinds = found.schema.field("b").type.value_type
    assert (kinds.field("v").type, kinds.field("nothing").type) == (PLAIN["coded"].type, pa.null())
    assert [event["nothing"] for row in found.to_pylist() for event in row["b"]] == [None] * 6


@pytest.mark.parametrize("place", SOME)
@pytest.mark.parametrize("name", PLAIN)
def test_values_that_are_compared_keep_their_type(name: str, place: str) -> None:
    found = motif.match(table(PLAIN[name]), SOME[place])["v"]
    assert found.type == PLAIN[name].type
    assert all(value is None or repr(value) in map(repr, PLAIN[name].to_pylist()) for value in found.to_pylist())


@pytest.mark.parametrize("name", NESTED)
def test_nested_values_are_compared_by_the_host(name: str) -> None:
    found = motif.match(table(NESTED[name]), SOME["greater"])["v"]
    assert found.type == NESTED[name].type
    rises = name not in ("nothing", "durations", "zoned", "halves", "json") and "beside" not in name
    assert repr(found.to_pylist()) == repr([NESTED[name][1].as_py()] if rises else [])


@pytest.mark.parametrize("name", PLAIN | NESTED)
def test_values_come_out_of_streams_as_they_went_in(name: str) -> None:
    rows = table(ALL[name])
    for query, options in (
        ("MATCH_RECOGNIZE (PARTITION BY v, id ORDER BY t MEASURES A.v AS x PATTERN (A))", {}),
        ("SELECT a.v AS v, a.v AS x FROM SEQ(E a; E b) WITHIN 1 h", {"time": "t", "type": "type"}),
    ):
        stream = motif.Stream(query, schema=rows.schema, **options)
        if "nanosecond of" in name:
            with pytest.raises(MotifError, match="DuckDB counts in microseconds"):
                stream.push(rows)
            continue
        parts = [stream.push(rows.slice(row, 1)) for row in range(4)] + [stream.close()]
        found = pa.concat_tables(part for part in parts if part is not None)
        assert (found.schema.field("v").type, found.schema.field("x").type) == (ALL[name].type,) * 2


REFUSED = {
    "digits": pa.array([Decimal("1.50")] * 4, pa.decimal256(70, 2)),
    "length": pa.array([1, 2, 3, 4], pa.duration("ns")),
    "years": pa.array([10**10] * 4, pa.duration("s")),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0, 0, 0], pa.int8()), [pa.array([1, 2, 3, 4])]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_host_would_lose_is_refused_by_name(name: str) -> None:
    with pytest.raises(MotifError, match=r"column v of the table .* can not be read"):
        motif.match(table(REFUSED[name]), ROWS["measure"])


@pytest.mark.parametrize("names", [["a", "A"], ["a", "a"], ["Ä", "ä"]])
def test_columns_that_differ_in_capitals_are_refused(names: list[str], tmp_path: Path) -> None:
    rows = pa.table([pa.array([1]), pa.array([2])], names=names)
    for given in (rows, rows.to_batches()[0]):
        with pytest.raises(MotifError, match=f"the table has .*{names[1]}"):
            motif.match(given, f'MATCH_RECOGNIZE (MEASURES "{names[1]}" AS x PATTERN (Z))')
    if names == ["a", "A"]:
        pq.write_table(rows, tmp_path / "t.parquet")
        (tmp_path / "t.csv").write_text("a,A\n1,2\n")
        (tmp_path / "t.json").write_text('{"a": 1, "A": 2}\n')
        for ending in ("parquet", "csv", "json"):
            with pytest.raises(MotifError, match="the columns a and A, which differ in capitals only"):
                motif.match(tmp_path / f"t.{ending}", 'MATCH_RECOGNIZE (MEASURES "A" AS x PATTERN (Z))')


def test_a_number_behind_a_name_is_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,a_1\n1,2\n")
    found = motif.match(tmp_path / "t.csv", "MATCH_RECOGNIZE (MEASURES A_1 AS x PATTERN (Z))")
    assert found.to_pylist() == [{"x": 2}]


def test_a_table_without_columns_is_refused() -> None:
    with pytest.raises(MotifError, match="a table without columns"):
        motif.match(pa.table({}), "MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A))")


# -- what is computed


def test_differences_of_times_are_durations() -> None:
    rows = pa.table(
        {
            "t": pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 1, 1)], pa.timestamp("us")),
            "z": pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 1, 1)], pa.timestamp("us", "Europe/Berlin")),
            "d": pa.array([dt.timedelta(1), dt.timedelta(2)], pa.duration("ms")),
        }
    )
    clause = """MATCH_RECOGNIZE (ORDER BY t
        MEASURES B.t - A.t AS t, B.z - A.z AS z, B.d - A.d AS d, [B.t - A.t] AS listed, A.z + INTERVAL '1' HOUR AS later
        PATTERN (A B) DEFINE B AS B.t - A.t > INTERVAL '59' DAY AND B.d - A.d = INTERVAL '24' HOUR)"""
    for found in (
        motif.match(rows, clause),
        motif.sql(f"SELECT t, z, d, listed, later FROM t {clause} WHERE t > d", tables={"t": rows}),
        motif.sql(f"SELECT t, z, d, listed, later FROM (SELECT * FROM t) {clause}", tables={"t": rows}),
    ):
        duration = pa.duration("us")
        assert found.schema.types == [duration] * 3 + [pa.list_(duration), pa.timestamp("us", "Europe/Berlin")]
        (row,) = found.to_pylist()
        length = dt.timedelta(days=60, hours=1)
        assert (row["t"], row["z"], row["d"], row["listed"]) == (length, length, dt.timedelta(1), [length])
    assert pl.from_arrow(found)["t"].dtype == pl.Duration("us")
    assert found.to_pandas()["t"].dtype == "timedelta64[us]"


def test_months_are_no_duration() -> None:
    rows = table(PLAIN["calendar"])
    with pytest.raises(QueryDataError, match="months has no fixed length"):
        motif.match(rows, "MATCH_RECOGNIZE (ORDER BY id MEASURES A.v + INTERVAL '1' DAY AS x PATTERN (A))")


IN_BERLIN = """
import datetime as dt, motif, pyarrow as pa
zone = pa.timestamp("us", "Europe/Berlin")
utc = [dt.datetime(2024, 3, 30, 11, tzinfo=dt.UTC), dt.datetime(2024, 3, 31, 10, tzinfo=dt.UTC)]
rows = pa.table({"ts": pa.array(utc, zone), "d": pa.array([dt.date(2024, 3, 30), dt.date(2024, 3, 31)])})
for condition in (
    "ts = PREV(ts) + INTERVAL '1' DAY",
    "ts = PREV(ts) + INTERVAL '23' HOUR",
    "ts - PREV(ts) = INTERVAL '23' HOUR",
    "d = PREV(d) + INTERVAL '1' DAY",
    "d = PREV(d) + INTERVAL '24' HOUR",
):
    measures = "B.ts - A.ts AS x, A.ts + INTERVAL '1' DAY AS y, A.ts + INTERVAL '1 day 1 hour' AS z"
    clause = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} PATTERN (A B) DEFINE B AS {condition})"
    (row,) = motif.match(rows, clause).to_pylist()
    assert row["x"] == dt.timedelta(hours=23), row
    assert row["y"] == utc[1] and row["z"] == utc[1] + dt.timedelta(hours=1), row
print("right")
"""


def test_a_day_of_the_calendar_keeps_the_time_of_the_day() -> None:
    """Where clocks change, a day has 23 hours: DuckDB counts in the zone of the process."""
    command = [sys.executable, "-c", IN_BERLIN]
    done = subprocess.run(
        command, env={**os.environ, "TZ": "Europe/Berlin"}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "right\n", done.stderr


# -- pandas, Polars, Parquet


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": range(3),
            "category": pd.Categorical(["a", "b", None]),
            "ordered": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"], ordered=True),
            "Int64": pd.array([2**60 + 1, None, 3], "Int64"),
            "boolean": pd.array([True, None, False], "boolean"),
            "string": pd.array(["a", None, "c"], "string"),
            "delta": pd.to_timedelta([1, 2, None], unit="h"),
            "zone": pd.to_datetime(["2024-01-01", "2024-06-01", None]).tz_localize("Europe/Berlin"),
            "moment": pd.to_datetime(["2024-01-01", "2024-06-01", None]),
            "decimal": [Decimal("1.1"), None, Decimal("2.2")],
            "date": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)],
            "uuid": [uuid.UUID(int=5), None, uuid.UUID(int=6)],
            "half": np.array([1, 2, 3], np.float16),
            "arrow": pd.Series([1, None, 3], dtype="int32[pyarrow]"),
            "seconds": pd.Series([dt.timedelta(1)] * 3, dtype=pd.ArrowDtype(pa.duration("s"))),
            "period": pd.period_range("2024", periods=3, freq="M"),
        }
    )


def test_pandas_gets_back_its_types() -> None:
    frame = pandas_frame()
    found = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A+))")[frame.columns]
    pd.testing.assert_frame_equal(found, frame)
    measured = motif.match(frame, 'MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(A."Int64") AS n PATTERN (A A))')
    assert (measured["n"].dtype, measured["n"].isna().tolist()) == ("Int64", [True])


def test_times_of_pandas_are_computed_with() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(A.zone) - FIRST(A.zone) AS took PATTERN (A A))"
    assert motif.match(pandas_frame(), clause)["took"].tolist() == [pd.Timedelta(days=151, hours=23)]


@pytest.mark.parametrize("values", [[1, "a"], np.array([1j, 2]), pd.arrays.SparseArray([1, 0])])
def test_what_arrow_can_not_hold_is_told_by_column(values: Any) -> None:
    with pytest.raises(MotifError, match=r"column v .* is nothing that Arrow can hold"):
        motif.match(pd.DataFrame({"id": [0, 1], "v": values}), ROWS["measure"])


def polars_frame() -> pl.DataFrame:
    moments = pl.Series([dt.datetime(2024, 1, 1), None, dt.datetime(2024, 7, 1)])
    return pl.DataFrame(
        {
            "id": [0, 1, 2],
            "category": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["y", "x", "z"])),
            "duration": pl.Series([dt.timedelta(1), None, dt.timedelta(2)], dtype=pl.Duration("us")),
            "nanoseconds": pl.Series([1000, None, 2000]).cast(pl.Duration("ns")),
            "zone": moments.dt.replace_time_zone("Europe/Berlin"),
            "zone_ms": moments.dt.replace_time_zone("Europe/Berlin").dt.cast_time_unit("ms"),
            "decimal": pl.Series([Decimal("1.10"), None, Decimal(2)], dtype=pl.Decimal(38, 2)),
            "list": [[1], None, [2, 3]],
            "struct": [{"a": 1}, None, {"a": 2}],
            "array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            "time": [dt.time(1, 2, 3, 4), None, dt.time(0)],
            "u8": pl.Series([1, None, 2], dtype=pl.UInt8),
            "binary": [b"a", None, b"b"],
            "null": [None, None, None],
            "date": [dt.date(2020, 1, 1), None, dt.date(1, 1, 1)],
            "categories": pl.Series([["a"], None, ["b"]], dtype=pl.List(pl.Categorical)),
        }
    )


def test_polars_gets_back_its_types() -> None:
    frame = polars_frame()
    found = motif.match(frame, "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A+))")
    assert found.schema == {name: frame.schema[name] for name in found.columns}
    assert found.select(frame.columns).equals(frame)


def test_polars_has_integers_that_arrow_has_not() -> None:
    frame = pl.DataFrame({"id": [1], "v": pl.Series([2**100], dtype=pl.Int128)})
    with pytest.raises(MotifError, match=r"column v \(Int128\) is nothing that Arrow can hold"):
        motif.match(frame, ROWS["measure"])


def test_files_keep_zones_and_values_of_their_own(tmp_path: Path) -> None:
    names = [
        "timestamp[us, tz=Europe/Berlin]",
        "timestamp[ms, tz=UTC]",
        "uuid",
        "date32[day]",
        "decimal128(12, 2)",
        "list",
    ]
    rows = pa.table({"id": range(4), **{f"v{n}": ALL[name] for n, name in enumerate(names)}})
    pq.write_table(rows, tmp_path / "t.parquet")
    found = motif.match(tmp_path / "t.parquet", "MATCH_RECOGNIZE (ORDER BY id ALL ROWS PER MATCH PATTERN (A+))")
    assert found.schema.types == pq.read_table(tmp_path / "t.parquet").schema.types
    assert found.equals(rows)
    pq.write_table(found, tmp_path / "again.parquet")


# -- order

NAN = float("nan")
ORDERED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.float64(), [float("-inf"), -1.5, 0.0, 1e300, float("inf"), NAN, None]),
    (pa.decimal128(38, 4), [Decimal("-1e20"), Decimal(0), Decimal("0.0001"), Decimal("1e20"), None]),
    (pa.duration("s"), [dt.timedelta(-5), dt.timedelta(0), dt.timedelta(9), None]),
    (pa.month_day_nano_interval(), [(0, 0, 0), (0, 1, 0), (0, 0, 90_000 * 10**9), (1, 0, 0), None]),
    (pa.list_(pa.float64()), [[], [-1.0], [-1.0, 2.0], [0.0], [NAN], [None], None]),
    (
        pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string()))]),
        [
            {"x": 1, "y": []},
            {"x": 1, "y": ["b"]},
            {"x": 1, "y": None},
            {"x": 2, "y": ["a"]},
            {"x": None, "y": ["a"]},
            None,
        ],
    ),
    (pa.list_(pa.int8(), 2), [[1, 1], [1, 2], [1, None], [2, 0], None]),
    (pa.map_(pa.string(), pa.int8()), [[], [("a", 1)], [("a", 2)], [("b", 0)], None]),
]


def shuffled(kind: pa.DataType, values: list[Any], seed: int) -> pa.Table:
    numbers = random.Random(seed).sample(range(len(values)), len(values))
    return pa.table({"one": [1] * len(values), "n": numbers, "v": pa.array([values[n] for n in numbers], kind)})


@pytest.mark.parametrize(("kind", "values"), ORDERED, ids=[str(kind) for kind, _ in ORDERED])
def test_all_types_have_an_order(kind: pa.DataType, values: list[Any]) -> None:
    numbers = list(range(len(values)))
    for order, expected in (("v", numbers), ("v DESC NULLS LAST", [*reversed(numbers[:-1]), numbers[-1]])):
        clause = f"MATCH_RECOGNIZE (ORDER BY {order} MEASURES ARRAY_AGG(A.n) AS n, COUNT(A.v) AS known PATTERN (A+))"
        for seed in range(5):
            (row,) = motif.match(shuffled(kind, values, seed), clause).to_pylist()
            assert row == {"n": expected, "known": len(values) - 1}


@pytest.mark.parametrize(("kind", "values"), ORDERED, ids=[str(kind) for kind, _ in ORDERED])
def test_rows_that_tie_have_one_order(kind: pa.DataType, values: list[Any]) -> None:
    """Whatever their order in the table was; nested values go by their text."""
    clause = "MATCH_RECOGNIZE (ORDER BY one MEASURES ARRAY_AGG(A.v) AS v PATTERN (A+))"
    found = {repr(motif.match(shuffled(kind, values, seed), clause).to_pylist()) for seed in range(8)}
    assert len(found) == 1


def test_partitions_of_nested_values_and_intervals() -> None:
    for kind, values in (
        (pa.list_(pa.float64()), [[0.0], [-0.0], [NAN], [NAN], None, None]),
        (pa.duration("us"), [dt.timedelta(1), dt.timedelta(1), dt.timedelta(0), dt.timedelta(0), None, None]),
    ):
        rows = pa.table({"id": range(6), "v": pa.array(values, kind)})
        found = motif.match(rows, "MATCH_RECOGNIZE (PARTITION BY v ORDER BY id MEASURES COUNT(*) AS n PATTERN (A+))")
        assert found["n"].to_pylist() == [2, 2, 2]
        counted = motif.match(rows, "MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(DISTINCT A.v) AS n PATTERN (A+))")
        assert counted["n"].to_pylist() == [2]


# -- times that can not be counted with

FAR = [(2**62, "us"), (2**63 - 1, "us"), (-(2**63) + 1, "us"), (2**62, "ns")]


@pytest.mark.parametrize(("moment", "unit"), FAR)
def test_times_that_are_too_far_away_are_told(moment: int, unit: str) -> None:
    rows = pa.table({"t": pa.array(sorted([0, 1, moment]), pa.timestamp(unit)), "type": ["E"] * 3})
    pairs, options = "SELECT a.t AS x FROM SEQ(E a; E b)", {"time": "t", "type": "type"}
    within = "MATCH_RECOGNIZE (ORDER BY t MEASURES A.t AS x PATTERN (A B) WITHIN INTERVAL '1' HOUR)"
    for query, given in ((pairs, options), (pairs + " WITHIN 1 h", options), (within, {})):
        with pytest.raises(QueryDataError, match="a time is infinite or too far away"):
            motif.match(rows, query, **given)
        with pytest.raises(QueryDataError, match="a time is infinite or too far away"):
            motif.Stream(query, schema=rows.schema, **given).push(rows)
    found = motif.match(rows, "MATCH_RECOGNIZE (ORDER BY t MEASURES A.t AS x PATTERN (A))")
    assert found["x"].cast(pa.int64()).to_pylist() == sorted([0, 1, moment])


def test_a_date_that_is_infinite_is_told() -> None:
    rows = pa.table({"t": pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()), "type": ["E", "E"]})
    with pytest.raises(QueryDataError, match="a time is infinite or too far away"):
        motif.match(rows, "SELECT a.t AS x FROM SEQ(E a; E b)", time="t", type="type")


@pytest.mark.parametrize("words", ["ORDER BY u", "PARTITION BY u ORDER BY u, t"])
def test_rows_are_ordered_by_uuids(words: str) -> None:
    """They are texts to the host, and no texts that could stand for times."""
    ids = [uuid.UUID(int=number) for number in (2**127, 5, 2**128 - 1)]
    rows = pa.table({"u": pa.array([one.bytes for one in ids], pa.uuid()), "t": [1, 2, 3]})
    found = motif.match(rows, f"MATCH_RECOGNIZE ({words} MEASURES A.u AS id PATTERN (A))")
    assert found["id"].to_pylist() == sorted(ids)
