"""Rows with any values, into tables with any constraints: each is written, or refused with a reason; none is lost."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import types as t

from motif.hosts.spark import sink_table
from motif.hosts.spark.sink_rows import SQL_TYPES
from motif.hosts.spark.sink_table import Table

pytestmark = pytest.mark.spark

EDGES = [0, 1, -1, 2**31, -(2**31), 2**53, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, 253_402_300_800_000_000]
TEXTS = [b"", b"ann", "Zoë".encode(), b"\x00", b"a\x00b", b"caf\xe9", b"\xff\xfe", b"\xed\xa0\x80", b"'; --", b"%s?:p1"]
KINDS: dict[t.DataType, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    t.LongType(): (pa.int64(), lambda rng: rng.choice(EDGES)),
    t.IntegerType(): (pa.int32(), lambda rng: rng.choice([0, 7, 2**31 - 1, -(2**31)])),
    t.BooleanType(): (pa.bool_(), lambda rng: rng.random() < 0.5),
    t.DoubleType(): (
        pa.float64(),
        lambda rng: rng.choice([0.5, -0.0, 1e308, 5e-324, *map(float, ("nan", "inf", "-inf"))]),
    ),
    t.DecimalType(38, 2): (pa.decimal128(38, 2), lambda rng: rng.choice([Decimal("1.50"), Decimal(10) ** 35])),
    t.StringType(): (pa.string(), lambda rng: rng.choice(TEXTS)),
    t.BinaryType(): (pa.binary(), lambda rng: rng.choice(TEXTS)),
    t.DateType(): (pa.date32(), lambda rng: rng.choice([0, -719_162, -719_163, 2_932_896, 2_932_897, 2**31 - 1])),
    t.TimestampType(): (pa.timestamp("us", "UTC"), lambda rng: rng.choice(EDGES)),
    t.TimestampNTZType(): (pa.timestamp("us"), lambda rng: rng.choice(EDGES)),
    t.DayTimeIntervalType(): (pa.duration("us"), lambda rng: rng.choice(EDGES)),
}
UNINDEXED = (t.DayTimeIntervalType(),)
"""What DuckDB has no index for."""


def column(kind: t.DataType, rng: random.Random, rows: int) -> pa.Array:
    to, draw = KINDS[kind]
    values = [None if rng.random() < 0.1 else draw(rng) for _ in range(rows)]
    if to == pa.string():
        return pa.array(values, pa.binary()).view(to)
    if pa.types.is_temporal(to):
        return pa.array(values, pa.int32() if to == pa.date32() else pa.int64()).view(to)
    return pa.array(values, to)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("driver", [sqlite3, duckdb])
def test_every_row_is_written_or_refused(
    driver: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    kinds = [rng.choice(list(KINDS)) for _ in range(rng.randrange(1, 5))]
    names = [f"c{i}" for i in range(len(kinds))]
    schema = t.StructType([t.StructField("n", t.LongType()), *map(t.StructField, names, kinds)])
    frame: Any = SimpleNamespace(schema=schema, columns=schema.names)
    count = rng.randrange(1, 40)

    def connect() -> Any:
        return driver.connect(tmp_path / "alerts.db")

    limits = ["", "", "NOT NULL", "UNIQUE", "NOT NULL UNIQUE"] if seed % 2 else [""]
    columns = [
        f"{name} {SQL_TYPES[type(kind)][driver is sqlite3]} {rng.choice(limits[: 3 if kind in UNINDEXED else None])}"
        for name, kind in zip(names, kinds, strict=True)
    ]
    connection = connect()
    connection.execute(f"CREATE TABLE alerts (n BIGINT PRIMARY KEY, {', '.join(columns)})")
    connection.close()
    table = Table(connect, "alerts", rng.choice([(), ("n",)]), create=False, dead_letters="refused")
    for batch in range(3):
        numbers = pa.array(range(batch * count, (batch + 1) * count))
        rows = pa.table([numbers, *(column(kind, rng, count) for kind in kinds)], schema.names)
        monkeypatch.setattr(sink_table, "collected", lambda _, rows=rows: rows)
        assert table.write(frame, batch, "query")
        assert not table.write(frame, batch, "query")
    connection = connect()
    written = [row[0] for row in connection.execute("SELECT n FROM alerts").fetchall()]
    letters = connection.execute("SELECT content, reason FROM refused").fetchall()
    connection.close()
    assert all(reason for _, reason in letters)
    assert sorted(written + [json.loads(content)["n"] for content, _ in letters]) == list(range(3 * count))
