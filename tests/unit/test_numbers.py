"""Numbers that conditions compare with constants are compared here: as the host would, for every type and constant."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import motif
from motif.hosts.duckdb import DuckSource
from motif.hosts.duckdb_database import Database, quoted
from motif.lang.statement import parse_clause
from motif.plan.planner import plan

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
WHOLE = ("0", "1", "-1", "127", "128", "255", "16777217", "9007199254740993", "9223372036854775807")
BROKEN = ("0.1", "-0.5", "9.5", "1e300", "-1e-300", "123456789.123456789", "0.1000000000000000055511151231257827")
BEYOND = ("9223372036854775808", "18446744073709551615")
VALUES = {
    "TINYINT": [None, 0, 1, -1, 127, -128],
    "INTEGER": [None, 0, 1, 128, 16777217, -(2**31)],
    "BIGINT": [None, 0, 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**53],
    "UBIGINT": [None, 0, 1, 2**63, 2**64 - 1],
    "HUGEINT": [None, 0, 1, 2**63, -(2**63)],
    "FLOAT": [None, 0.0, -0.0, 0.1, 16777216.0, float("nan"), float("inf")],
    "DOUBLE": [None, 0.0, -0.0, 0.1, -0.5, 9.5, 2.0**53, 1e300, 123456789.123456789, float("nan"), float("-inf")],
    "DECIMAL(10,2)": [None, Decimal("0.10"), Decimal("9.50"), Decimal("-1.00")],
}


def rows_of(kind: str) -> pa.Table:
    database = duckdb.connect()
    database.execute(f"CREATE TABLE rows (i BIGINT, v {kind})")
    database.executemany("INSERT INTO rows VALUES (?, ?)", list(enumerate(VALUES[kind])))
    return database.sql("SELECT * FROM rows").to_arrow_table()


def asked_of_the_host(rows: pa.Table, condition: str) -> list[int]:
    return [i for (i,) in duckdb.sql(f"SELECT i FROM rows WHERE {condition} ORDER BY i").fetchall()]  # rows: by name


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("constant", [*WHOLE, *BROKEN, *BEYOND])
def test_comparisons_are_the_hosts(kind: str, constant: str) -> None:
    rows = rows_of(kind)
    for condition in (*(f"v {operator} {constant}" for operator in OPERATORS), f"{constant} < v"):
        clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES A.i AS i PATTERN (A) DEFINE A AS {condition})"
        try:
            expected = asked_of_the_host(rows, condition)
        except duckdb.ConversionException:
            with pytest.raises(motif.MotifError):
                motif.match(rows, clause)
            continue
        assert motif.match(rows, clause).column("i").to_pylist() == expected, condition


@pytest.mark.parametrize(
    ("kind", "condition", "is_here"),
    [
        ("BIGINT", "v = 1", True),
        ("TINYINT", "-1 < v", True),
        ("DOUBLE", "v >= 0.1", True),
        ("DOUBLE", "v = 123456789.123456789", False),
        ("FLOAT", "v > 0", False),
        ("BIGINT", "v > 0.5", False),
        ("UBIGINT", "v = 1", False),
        ("DECIMAL(10,2)", "v = 1", False),
        ("BIGINT", "v + 1 = 2", False),
        ("BIGINT", "v = NULL", False),
        ("BIGINT", "v = TRUE", False),
        ("BIGINT", "v = '1'", False),
    ],
)
def test_only_what_cannot_differ_is_compared_here(kind: str, condition: str, is_here: bool) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES A.i AS i PATTERN (A) DEFINE A AS {condition})"
    program = plan(parse_clause(clause), DuckSource(Database({"data": rows_of(kind)}), "", quoted("data")))
    assert (program.row_columns == (None,)) == is_here
