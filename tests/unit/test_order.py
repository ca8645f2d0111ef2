"""The total order of rows: sorting in the worker equals DuckDB's ORDER BY, in memory and over the disk."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from motif.engine import order
from motif.engine import partitions as engine_partitions
from motif.engine.arrays import decoded, flat
from motif.engine.order import Arrangement, Layout, SortColumn, arrange
from motif.engine.partitions import groups, own_numbers, with_coded_keys
from motif.hosts.duckdb_types import type_of
from motif.hosts.spark import worker
from motif.ir.expr import Column

COLUMNS: dict[str, tuple[pa.DataType, str, list[object]]] = {
    "whole": (pa.int64(), "BIGINT", [0, 1, -1, 2**63 - 1, -(2**63), 7]),
    "small": (pa.int8(), "TINYINT", [0, 1, -128, 127]),
    "unsigned": (pa.uint64(), "UBIGINT", [0, 1, 2**63, 2**64 - 1]),
    "float": (pa.float64(), "DOUBLE", [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1.5, 5e-324]),
    "single": (pa.float32(), "FLOAT", [0.0, -0.0, math.nan, 1.5, -2.5]),
    "text": (pa.string(), "VARCHAR", ["", "a", "B", "b", "ä", "z", "aa", "😀"]),
    "bytes": (pa.binary(), "BLOB", [b"", b"\x00", b"\xff", b"a"]),
    "narrow": (pa.decimal128(10, 2), "DECIMAL(10,2)", [Decimal("0.00"), Decimal("-1.25"), Decimal("99999999.99")]),
    "wide": (
        pa.decimal128(38, 4),
        "DECIMAL(38,4)",
        [Decimal(10**33), Decimal(-(10**33)), Decimal("0.0001"), Decimal(0)],
    ),
    "flag": (pa.bool_(), "BOOLEAN", [True, False]),
    "day": (pa.date32(), "DATE", [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    "time": (pa.timestamp("us"), "TIMESTAMP", [datetime(2024, 1, 1) + timedelta(seconds=i) for i in (-1, 0, 5)]),
}
NAMES = list(COLUMNS)


def random_table(rng: random.Random, count: int) -> pa.Table:
    """Few different values, so most rows are tied in most columns; some are NULL."""
    arrays = [
        pa.array([None if rng.random() < 0.15 else rng.choice(values) for _ in range(count)], kind)
        for kind, _, values in COLUMNS.values()
    ]
    return pa.table([*arrays, pa.array(range(count))], names=[*NAMES, "id"])


def random_layout(rng: random.Random) -> Layout:
    def item(name: str, *, plain: bool) -> SortColumn:
        number = NAMES.index(name)
        descending, nulls_first = (False, False) if plain else (rng.random() < 0.5, rng.random() < 0.5)
        return SortColumn(number, type_of(COLUMNS[name][1]), descending, nulls_first)

    order = tuple(item(name, plain=False) for name in rng.sample(NAMES, rng.randint(0, 3)))
    ties = tuple(item(name, plain=True) for name in rng.sample(NAMES, rng.randint(0, 4)))
    keys = tuple(NAMES.index(name) for name in rng.sample(NAMES, rng.choice((0, 1, 1, 2))))
    exprs = tuple(Column(name) for name in [*NAMES, "id"])
    return Layout(exprs, len(exprs), keys, order, ties)


def by_duckdb(rows: pa.Table, plan: Layout) -> list[dict[str, Any]]:
    items = [f'"{NAMES[key]}" ASC NULLS LAST' for key in plan.keys]
    items += [
        f'"{NAMES[item.column]}" {"DESC" if item.descending else "ASC"} NULLS {"FIRST" if item.nulls_first else "LAST"}'
        for item in (*plan.order, *plan.ties)
    ]
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute("SET preserve_insertion_order = true")
        ordered = connection.sql(f"SELECT * FROM given {'ORDER BY ' + ', '.join(items) if items else ''}")
        return ordered.to_arrow_table().to_pylist()


def sort_values(row: dict[str, Any], plan: Layout) -> list[str]:
    """What the order is about; -0.0 and 0.0 are one value."""
    columns = [*plan.keys, *(item.column for item in (*plan.order, *plan.ties))]
    values = [row[NAMES[column]] for column in columns]
    return [repr(value + 0.0 if isinstance(value, float) else value) for value in values]


def partitions(rows: list[dict[str, Any]], plan: Layout) -> dict[str, list[list[str]]]:
    """Rows by partition: which one comes first does not matter, the order inside does."""
    found: dict[str, list[list[str]]] = {}
    last = None
    for row in rows:
        values = sort_values(row, plan)
        key = repr(values[: len(plan.keys)])
        assert key == last or key not in found, "the rows of a partition must be side by side"
        found.setdefault(key, []).append(values)
        last = key
    return found


@pytest.mark.parametrize("seed", range(40))
def test_arrange_is_order_by(seed: int) -> None:
    rng = random.Random(seed)
    rows, plan = random_table(rng, rng.choice((0, 1, 2, 30, 200))), random_layout(rng)
    arranged = arrange(rows, plan).to_pylist()
    assert sorted(row["id"] for row in arranged) == list(range(rows.num_rows))
    assert partitions(arranged, plan) == partitions(by_duckdb(rows, plan), plan)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_every_type_both_ways(name: str, descending: bool, nulls_first: bool) -> None:
    rows = random_table(random.Random(1), 60)
    item = SortColumn(NAMES.index(name), type_of(COLUMNS[name][1]), descending, nulls_first)
    plan = Layout(tuple(Column(n) for n in [*NAMES, "id"]), len(NAMES) + 1, (), (item,), ())
    found = partitions(arrange(rows, plan).to_pylist(), plan)
    assert found == partitions(by_duckdb(rows, plan), plan)


def test_ties_are_broken_only_among_equals() -> None:
    rows = pa.table({"t": [2, 1, 1, 2], "v": [1, 9, 3, 0]})
    kind = type_of("BIGINT")
    plan = Layout((Column("t"), Column("v")), 2, (), (SortColumn(0, kind),), (SortColumn(1, kind),))
    assert arrange(rows, plan).to_pylist() == [{"t": 1, "v": 3}, {"t": 1, "v": 9}, {"t": 2, "v": 0}, {"t": 2, "v": 1}]


def test_columns_only_the_sort_reads_are_left_behind() -> None:
    rows = pa.table({"v": [1, 2], "t": [2, 1]})
    plan = Layout((Column("v"), Column("t")), 1, (), (SortColumn(1, type_of("BIGINT")),), ())
    assert arrange(rows, plan).to_pylist() == [{"v": 2}, {"v": 1}]


def test_the_sort_does_not_depend_on_the_order_of_arrival() -> None:
    rng = random.Random(3)
    rows, plan = random_table(rng, 200), random_layout(random.Random(11))
    assert plan.order
    first = partitions(arrange(rows, plan).to_pylist(), plan)
    for _ in range(5):
        shuffled = rows.take(rng.sample(range(200), 200))
        assert partitions(arrange(shuffled, plan).to_pylist(), plan) == first


# --- shards, and rows that came in order ---


@pytest.mark.parametrize("key", [pa.int64(), pa.uint16(), pa.string()])
@pytest.mark.parametrize("seed", range(6))
def test_shards_are_whole_partitions_in_order(key: pa.DataType, seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice((0, 1, 5, 500, 9_000))
    keys = sorted(rng.choices(range(rng.choice((1, 7, 4_000))), k=count))
    rows = with_coded_keys(pa.table({"k": pa.array(keys).cast(key), "t": range(count)}), (0,))
    rows = pa.concat_tables([rows.slice(0, count // 3), rows.slice(count // 3)]) if key != pa.string() else rows
    plan = Layout((Column("k"), Column("t")), 2, (0,), (SortColumn(1, type_of("BIGINT")),), ())
    for given in (rows, rows.take(pa.array(rng.sample(range(count), count), pa.int64()))):
        arrangement = Arrangement(given, plan)
        assert arrangement.is_in_place or given is not rows
        shards = [shard.to_pylist() for shard in map(arrangement.shards(4), range(4))]
        found = [(row["k"], row["t"]) for shard in shards for row in shard]
        assert sorted(found, key=lambda row: row[1]) == [(row["k"], row["t"]) for row in rows.to_pylist()]
        assert sum(len({row["k"] for row in shard}) for shard in shards) == len(set(keys))
        for one, other in pairwise(found):
            assert one[0] != other[0] or one[1] < other[1]


@pytest.mark.parametrize("late", [0, 20])
def test_logs_of_more_partitions_than_two_bytes_count(late: int) -> None:
    rng = random.Random(late)
    times = list(range(100_000))
    for _ in range(late):
        times[rng.randrange(100_000)] = rng.randrange(100_000)
    keys = [rng.randrange(1 << rng.choice((3, 17))) for _ in times]
    plan = Layout((Column("k"), Column("t")), 2, (0,), (SortColumn(1, type_of("BIGINT")),), ())
    found = arrange(pa.table({"k": keys, "t": times}), plan)
    assert list(zip(*found.to_pydict().values(), strict=True)) == sorted(zip(keys, times, strict=True))


def test_rows_with_ties_are_not_in_place() -> None:
    kind = type_of("BIGINT")
    plan = Layout((Column("t"), Column("v")), 2, (), (SortColumn(0, kind),), (SortColumn(1, kind),))
    assert not Arrangement(pa.table({"t": [1, 1], "v": [2, 1]}), plan).is_in_place
    assert Arrangement(pa.table({"t": [1, 2], "v": [2, 1]}), plan).is_in_place


@pytest.mark.parametrize(
    ("pieces", "is_in_place"),
    [
        ([[(1, 1), (1, 2)], [(1, 3)], [], [(2, 1)]], True),
        ([[], [(1, 1)], []], True),
        ([[(1, 1), (1, 3)], [(1, 2)]], False),
        ([[(1, 1)], [(1, 1)]], False),
        ([[(1, 1), (2, 2)], [(1, 3)]], False),
        ([[(1, 2), (1, 1)], [(1, 3)]], False),
    ],
)
@pytest.mark.parametrize("look", [1, 4_096])
@pytest.mark.parametrize("kind", [pa.int64(), pa.date32(), pa.timestamp("us")])
def test_rows_are_in_place_across_pieces(
    monkeypatch: pytest.MonkeyPatch,
    pieces: list[list[tuple[int, int]]],
    is_in_place: bool,
    look: int,
    kind: pa.DataType,
) -> None:
    monkeypatch.setattr(order, "_LOOK", look)
    keys = pa.chunked_array([pa.array([k for k, _ in piece], pa.int32()) for piece in pieces]).cast(pa.int64())
    keys = keys.cast(pa.int32()).cast(kind) if kind == pa.date32() else keys.cast(kind)
    times = pa.chunked_array([pa.array([t for _, t in piece], pa.int64()) for piece in pieces])
    plan = Layout((Column("k"), Column("t")), 2, (0,), (SortColumn(1, type_of("BIGINT")),), ())
    assert Arrangement(pa.table({"k": keys, "t": times}), plan).is_in_place == is_in_place


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        (pa.array([7, 5, 5], pa.int64()), [2, 0, 0]),
        (pa.array([-128, -127], pa.int8()), [0, 1]),
        (pa.array([2**63 - 1, 2**63 - 2], pa.uint64()), [1, 0]),
        (pa.array([2**63, 2**63 + 1], pa.uint64()), None),
        (pa.array([-(2**63), 2**63 - 1], pa.int64()), None),
        (pa.array([1, None], pa.int64()), None),
        (pa.array(["1", "2"]), None),
        (pa.array([], pa.int64()), None),
    ],
)
def test_whole_numbers_are_numbers_of_partitions(key: pa.Array, numbers: list[int] | None) -> None:
    found = own_numbers(key)
    assert (None if found is None else found.tolist()) == numbers
    group = groups(pa.table({"k": key}), (0,)).tolist()
    assert len(set(group)) == len(set(key.to_pylist()))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_text_keys_are_coded_on_several_threads(monkeypatch: pytest.MonkeyPatch, kind: pa.DataType) -> None:
    monkeypatch.setattr(engine_partitions, "CODED_ROWS", 10)
    rng = random.Random(5)
    given = [rng.choice(("a", "bb", "", None, "\u00e4")) for _ in range(95)]
    column = pa.array([None if text is None else text.encode() for text in given]) if kind == pa.binary() else given
    rows = with_coded_keys(pa.table({"v": range(95), "k": pa.array(column).cast(kind)}), (1,))
    key = flat(rows.column("k"))
    assert pa.types.is_dictionary(key.type)
    assert decoded(key).type == kind
    assert decoded(key).cast(pa.binary()).cast(pa.string()).to_pylist() == given
    group = groups(rows, (1,)).tolist()
    assert len(set(zip(group, given, strict=True))) == len(set(group)) == len(set(given))


@pytest.mark.parametrize("values", [3, 10_000])
def test_partitions_of_several_columns(values: int) -> None:
    rng = random.Random(values)
    one, two = ([rng.choice((None, rng.randrange(values))) for _ in range(200)] for _ in range(2))
    found = groups(pa.table({"one": pa.array(one, pa.int64()), "two": map(str, two)}), (0, 1)).tolist()
    pairs = list(zip(one, two, strict=True))
    assert len(set(zip(found, pairs, strict=True))) == len(set(found)) == len(set(pairs))
    assert max(found) < 2 * len(found)


# --- in Spark's worker ---


def sorted_by_worker(rows: pa.Table, plan: Layout, memory_bytes: int) -> pa.Table:
    batches = iter(rows.to_batches(max_chunksize=17))
    return pa.concat_tables(worker._sorted(batches, plan, memory_bytes))


def column_types(rows: pa.Table) -> list[pa.DataType]:
    return [decoded(flat(column)).type for column in rows.columns]


@pytest.mark.parametrize("seed", range(12))
def test_sorting_over_the_disk_is_sorting_in_memory(seed: int) -> None:
    rng = random.Random(seed)
    rows, plan = random_table(rng, 200), random_layout(rng)
    in_memory, spilled = (sorted_by_worker(rows, plan, limit) for limit in (1 << 30, 1))
    assert column_types(spilled) == column_types(in_memory)
    assert sorted(spilled.column("id").to_pylist()) == list(range(200))
    assert partitions(spilled.to_pylist(), plan) == partitions(in_memory.to_pylist(), plan)
