"""Aggregates that only the host knows: over the rows of each match, as the host groups them itself."""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import motif
from motif.ir.expr import AGGREGATES as OURS
from motif.lang.statement import parse_clause
from motif.testing.reference import match_rows

ROWS = pa.table(
    {"id": [1, 2, 3, 4], "v": [9, 8, 7, 7], "s": ["a", "b", "c", "d"], "tags": [["x"], ["y", "z"], [], None]}
)
VALUES = {"BIGINT": "i", "DOUBLE": "f", "VARCHAR": "s", "BOOLEAN": "b", "DATE": "d", "TIMESTAMP": "ts"}
"""A column of the random rows for each type."""
PATTERNS = ("A B* C?", "A+ B?", "(A | B)+ C", "A* B?", "A B{2,4}")


def measured(measures: str, rows: str = "ONE ROW PER MATCH", pattern: str = "A B", define: str = "A AS TRUE") -> Any:
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measures} {rows} PATTERN ({pattern}) DEFINE {define})"
    return motif.match(ROWS, clause).to_pylist()


@pytest.mark.parametrize(
    ("measure", "due"),
    [
        ("mean(v)", [8.5, 7.0]),
        ('"SUM"(v)', [17, 14]),
        ("REGR_COUNT(v, id)", [2, 2]),
        ("mean(B.v)", [8.0, 7.0]),
        ("mean(A.v) - mean(B.v)", [1.0, 0.0]),
        ("round(mean(v), 0)", [9.0, 7.0]),
        ("count_if(v > 7)::INTEGER", [2, 0]),
        ("arg_max(s, v)", ["a", "c"]),
        ("SUM(ALL v)", [17, 14]),
        ("SUM(v) FILTER (WHERE v > 8)", [9, None]),
        ("COUNT(*) FILTER (WHERE v > 8)", [1, 0]),
        ("COUNT(B.*) FILTER (WHERE B.v > 7)", [1, 0]),
        ("median(v) FILTER (WHERE v > 8)", [9.0, None]),
        ("ARRAY_AGG(v ORDER BY v)", [[8, 9], [7, 7]]),
        ("ARRAY_AGG(v ORDER BY s DESC) FILTER (WHERE v < 9)", [[8], [7, 7]]),
        ("listagg(s, ',') WITHIN GROUP (ORDER BY id DESC)", ["b,a", "d,c"]),
        ("string_agg(DISTINCT s, '-' ORDER BY s)", ["a-b", "c-d"]),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY v)", [8.5, 7.0]),
        ("string_agg(CLASSIFIER(), '')", ["AB", "AB"]),
        ("string_agg(s || MATCH_NUMBER()::VARCHAR, '')", ["a1b1", "c2d2"]),
        ("EVERY(v > 7)", [True, False]),
        ("SOME(v > 8)", [True, False]),
    ],
)
def test_over_the_rows_of_a_match(measure: str, due: list[object]) -> None:
    assert [row["x"] for row in measured(f"{measure} AS x")] == due


def test_running_and_final() -> None:
    found = measured("RUNNING mean(v) AS r, FINAL mean(v) AS f, mean(A.v) AS a", "ALL ROWS PER MATCH")
    assert [(row["r"], row["f"], row["a"]) for row in found] == [(9, 8.5, 9), (8.5, 8.5, 9), (7, 7, 7), (7, 7, 7)]


def test_over_no_rows() -> None:
    found = measured("mean(v) AS m, regr_count(v, 1) AS n, count_star() AS c", pattern="A*", define="A AS v > 99")
    assert [(row["m"], row["n"], row["c"]) for row in found] == [(None, 0, 0)] * 4


def test_rows_in_no_match_have_none() -> None:
    found = measured("regr_count(v, 1) AS n", "ALL ROWS PER MATCH WITH UNMATCHED ROWS", define="A AS v = 8")
    assert [row["n"] for row in found] == [None, 1, 2, None]


def test_nothing_is_found_nothing_comes_out() -> None:
    assert measured("mean(v) AS x", define="A AS v > 99") == []


@pytest.mark.parametrize(
    ("measure", "error", "message"),
    [
        ("sum(mean(v))", motif.QueryBindError, "MEAN inside of SUM"),
        ("mean(sum(v))", motif.QueryBindError, "SUM inside of MEAN"),
        ("mean(median(v))", motif.QueryBindError, "MEDIAN inside of MEAN"),
        ("LAST(mean(v))", motif.QueryBindError, "MEAN inside of LAST"),
        ("mean(LAST(v))", motif.QueryBindError, "LAST inside of MEAN"),
        ("mean(PREV(v))", motif.QueryBindError, "PREV inside of MEAN"),
        ("corr(A.v, B.v)", motif.QueryBindError, "CORR reads one variable, but A and B are named in it"),
        ("corr(A.v, v)", motif.QueryBindError, "CORR mixes columns of A with columns of any row"),
        ("FINAL lower(s)", motif.QueryBindError, "FINAL stands before FIRST, LAST or an aggregate"),
        ("SUM(A.v) FILTER (WHERE B.v > 1)", motif.QueryBindError, "FILTER names columns of B, but SUM reads rows of A"),
        ("unnest(tags)", motif.UnsupportedQuery, "UNNEST gives rows, and MEASURES takes one value"),
        ("unnest(list(v))", motif.UnsupportedQuery, "UNNEST gives rows, and MEASURES takes one value"),
        ("lower(unnest(tags))", motif.UnsupportedQuery, "UNNEST gives rows, and MEASURES takes one value"),
        ("generate_subscripts(tags, 1)", motif.UnsupportedQuery, "GENERATE_SUBSCRIPTS gives rows, and MEASURES takes"),
    ],
)
def test_what_has_no_meaning_is_told(measure: str, error: type[motif.MotifError], message: str) -> None:
    with pytest.raises(error) as caught:
        measured(f"{measure} AS x")
    assert caught.value.message.startswith(message)
    assert caught.value.line
    assert caught.value.hint


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        (
            "PARTITION BY mean(v) AS m MEASURES A.v AS x PATTERN (A)",
            "MEAN reads a match, but PARTITION BY is read before",
        ),
        (
            "PARTITION BY unnest(tags) AS m MEASURES A.v AS x PATTERN (A)",
            "UNNEST gives rows, and PARTITION BY takes one",
        ),
        ("ORDER BY unnest(tags) MEASURES A.v AS x PATTERN (A)", "UNNEST gives rows, and ORDER BY takes one"),
        (
            "MEASURES A.v AS x PATTERN (A) DEFINE A AS unnest(tags) = 'x'",
            "UNNEST gives rows, and DEFINE takes one value",
        ),
        ("MEASURES A.v AS x PATTERN (A) DEFINE A AS mean(1) > 0", "MEAN is not offered in DEFINE"),
    ],
)
def test_elsewhere_they_are_refused(clause: str, message: str) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({clause})"
    with pytest.raises(motif.MotifError) as caught:
        motif.sql(text, tables={"t": ROWS})
    assert caught.value.message.startswith(message)
    assert caught.value.line
    assert [found.message for found in motif.check(text, tables={"t": ROWS})] == [caught.value.message]


# -- event queries


def test_in_items_of_event_queries() -> None:
    start = dt.datetime(2026, 1, 1)
    kinds = "abbcabc"
    events = pa.table(
        {
            "type": list(kinds),
            "x": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
            "ts": [start + dt.timedelta(seconds=i) for i in range(len(kinds))],
        }
    )
    query = """SELECT median(b.x) AS m, list(b.x ORDER BY b.x DESC) AS l, mean(a.x) AS a, regr_count(b.x, 1) AS n,
        COUNT(b) FILTER (WHERE b.x > 2) AS big FROM SEQ(a a; b b*; c c) WITHIN 3 s"""
    due = [
        {"m": 3.0, "l": [4.0, 2.0], "a": 1.0, "n": 2, "big": 1},
        {"m": 32.0, "l": [32.0], "a": 16.0, "n": 1, "big": 1},
    ]
    found = motif.match(events, query).select(["m", "l", "a", "n", "big"]).to_pylist()
    assert found == due
    stream = motif.Stream(query, events.schema)
    pushed = pa.concat_tables([*(stream.push(events.slice(i, 1)) for i in range(len(kinds))), stream.close()])
    assert pushed.select(["m", "l", "a", "n", "big"]).to_pylist() == due
    for wrong, message in (
        ("unnest([b.x])", "UNNEST gives rows, and SELECT"),
        ("corr(a.x, b.x)", "CORR reads one variable"),
    ):
        with pytest.raises(motif.MotifError, match=message.replace("(", r"\(")):
            motif.match(events, f"SELECT {wrong} AS y FROM SEQ(a a; b b*; c c) WITHIN 3 s")
    with pytest.raises(motif.UnsupportedQuery, match="STDDEV is not offered in WHERE"):
        motif.match(events, "SELECT a.x FROM SEQ(a a; b b*; c c) WHERE stddev(b.x) > 1 WITHIN 3 s")


# -- drawn from the catalogue


def aggregates_of_duckdb() -> list[tuple[str, tuple[str, ...]]]:
    """Names and types of arguments that the random rows have columns for."""
    found = duckdb.sql(
        "SELECT DISTINCT function_name, parameter_types FROM duckdb_functions() WHERE function_type = 'aggregate'"
    )
    drawn = {"ANY": ("BIGINT", "VARCHAR"), "T": ("BIGINT", "VARCHAR"), "DECIMAL": ("DOUBLE",), "NUMERIC": ("DOUBLE",)}
    listed = []
    for name, kinds in found.fetchall():
        choices = [drawn.get(kind, (kind,)) for kind in kinds]
        if kinds and name.isidentifier() and all(kind in VALUES for choice in choices for kind in choice):
            listed += [(name, tuple(choice[i % len(choice)] for choice in choices)) for i in range(2)]
    return sorted(set(listed))


_JOINING = ("string_agg", "group_concat", "listagg")
RANDOM_ANSWERS = (
    "mode",
    "reservoir_quantile",
    "approx_quantile",
    "approx_top_k",
    "approx_count_distinct",
    "histogram_exact",
)
"""Not the same twice, only about right, or any one of several."""
AGGREGATES = [one for one in aggregates_of_duckdb() if one[0] not in (*RANDOM_ANSWERS, *OURS)]


def random_rows(rng: random.Random, count: int) -> pa.Table:
    def values(draw: Any) -> list[Any]:
        return [None if rng.random() < 0.2 else draw() for _ in range(count)]

    start = dt.datetime(2026, 1, 1)
    return pa.table(
        {
            "t": pa.array(range(count), pa.int64()),
            "i": pa.array(values(lambda: rng.randrange(-3, 9)), pa.int64()),
            "f": pa.array(values(lambda: rng.randrange(8) / 4), pa.float64()),
            "s": pa.array(values(lambda: rng.choice("xyz")), pa.string()),
            "b": pa.array(values(lambda: rng.random() < 0.5), pa.bool_()),
            "d": pa.array(values(lambda: start.date() + dt.timedelta(days=rng.randrange(5))), pa.date32()),
            "ts": pa.array(values(lambda: start + dt.timedelta(hours=rng.randrange(5))), pa.timestamp("us")),
            "a": pa.array([rng.random() < 0.5 for _ in range(count)]),
        }
    )


def differences(seed: int) -> tuple[int, list[str]]:
    """How many aggregates were compared, and those whose answer is not the host's own over the reference's rows."""
    rng = random.Random(seed)
    rows = random_rows(rng, 40)
    pattern = rng.choice(PATTERNS)
    rest = (
        f"AFTER MATCH SKIP {rng.choice(('PAST LAST ROW', 'TO NEXT ROW'))} PATTERN ({pattern}) DEFINE A AS a, B AS NOT a"
    )
    drawn = rng.sample(AGGREGATES, 12)
    var = rng.choice(("", "A."))
    filtered = rng.choice(("", " FILTER (WHERE {0}i > 1)"))
    texts = []
    for name, kinds in drawn:
        quantifier = "DISTINCT " if len(kinds) == 1 and name not in _JOINING and rng.random() < 0.3 else ""
        inside = quantifier + ", ".join("{0}" + VALUES[kind] for kind in kinds)
        ordered = " ORDER BY {0}t DESC" if not quantifier and rng.random() < 0.3 else ""
        texts.append(f'"{name}"({inside}{ordered}){filtered}')
    reference = parse_clause(
        f"MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH {rest})"
    )
    members = match_rows(reference, rows.to_pylist(), rows.column_names)
    shape = pa.schema([("n", pa.int64()), ("c", pa.string()), *rows.schema])
    host = duckdb.connect()
    host.register(
        "matched", pa.Table.from_pylist([{name: row[name] for name in shape.names} for row in members], shape)
    )
    compared, wrong = 0, []
    for text in texts:
        own = text.format("")
        empty = " AND c IS NOT NULL" if var == "" else " AND c = 'A'"
        condition = f"({own.partition(' FILTER (WHERE ')[2][:-1] or 'TRUE'}){empty}"
        call = own.partition(" FILTER")[0]
        try:
            ordered = "(SELECT * FROM matched ORDER BY n, t)"
            grouped = f"SELECT {call} FILTER (WHERE {condition}) FROM {ordered} GROUP BY n ORDER BY n"
            due = [row[0] for row in host.sql(grouped).fetchall()]
        except duckdb.Error:
            continue
        clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES {text.format(var)} AS x {rest})"
        found = motif.match(rows, clause).column("x").to_pylist()
        compared += 1
        if not alike(found, due, ordered=not distinct(text)):
            wrong.append(f"seed {seed}: {clause}\n  found {found}\n  due   {due}")
    return compared, wrong


def distinct(text: str) -> bool:
    return "DISTINCT" in text or "histogram" in text


def alike(found: Any, due: Any, *, ordered: bool = True) -> bool:
    """Equal, up to the last digits of floats; of DISTINCT a list may have any order."""
    if isinstance(found, list | tuple) and isinstance(due, list | tuple):
        if len(found) != len(due):
            return False
        if all(alike(one, other, ordered=ordered) for one, other in zip(found, due, strict=True)):
            return True
        return not ordered and sorted(map(repr, found)) == sorted(map(repr, due))
    if isinstance(found, dict) and isinstance(due, dict):
        return sorted(map(repr, found.items())) == sorted(map(repr, due.items()))
    if isinstance(found, float) and isinstance(due, float):
        return (math.isnan(found) and math.isnan(due)) or math.isclose(found, due, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == due) or (isinstance(found, list) and dict(found) == due)


@pytest.mark.parametrize("seed", range(8))
def test_aggregates_of_the_catalogue(seed: int) -> None:
    compared, wrong = differences(seed)
    assert compared > 4
    assert not wrong, "\n".join(wrong)


def test_the_catalogue_is_read() -> None:
    assert len({name for name, _ in AGGREGATES}) > 60


# -- computed for the rows of a match only


def lazy_difference(seed: int) -> str | None:
    """A text that is a number on rows of A only must be read as one there, and nowhere else."""
    rng = random.Random(seed)
    rows = random_rows(rng, 60)
    rest = f"AFTER MATCH SKIP {rng.choice(('PAST LAST ROW', 'TO NEXT ROW'))} PATTERN ({rng.choice(PATTERNS)})"
    rest += " DEFINE A AS a, B AS NOT a"
    labels = parse_clause(f"MATCH_RECOGNIZE (ORDER BY t MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH {rest})")
    of_a = {row["t"] for row in match_rows(labels, rows.to_pylist(), rows.column_names) if row["c"] == "A"}
    numbers = rows.column("i").to_pylist()
    texts = [("" if n is None else str(n)) if t in of_a else "none" for t, n in enumerate(numbers)]
    rows = rows.append_column("w", pa.array([text or None for text in texts], pa.string()))
    read = rng.choice(("CAST({} AS BIGINT)", "1 + {}::BIGINT", "CASE WHEN {} <> '0' THEN 10 // {}::BIGINT END"))
    shape = rng.choice(
        (
            *("SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})", "ARRAY_AGG({})"),
            *("ARRAY_AGG(DISTINCT {})", "LAST({})", "FIRST({}, 1)", "median({})", "list({} ORDER BY t DESC)"),
            *("SUM({}) FILTER (WHERE A.i > 2)", "SUM({} + MATCH_NUMBER())"),
        )
    )
    mode = rng.choice(("ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"))
    asked = shape.replace("ORDER BY t", "ORDER BY A.t")
    lazy = asked.format(read.replace("{}", "A.w"))
    plain = asked.format(read.replace("{}", "CAST(A.i AS VARCHAR)"))
    clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES {lazy} AS x, {plain} AS y {mode} {rest})"
    found = motif.match(rows, clause)
    return None if found.column("x").to_pylist() == found.column("y").to_pylist() else f"seed {seed}: {clause}"


@pytest.mark.parametrize("seed", range(40))
def test_only_rows_that_are_read_can_fail(seed: int) -> None:
    assert lazy_difference(seed) is None


def test_a_row_that_is_read_fails_with_its_place() -> None:
    with pytest.raises(motif.QueryDataError, match="Could not convert string 'a'") as caught:
        measured("SUM(CAST(A.s AS INTEGER)) AS x")
    assert caught.value.line


def test_case_decides_what_is_computed() -> None:
    found = measured("CASE WHEN A.v > 99 THEN SUM(CAST(B.s AS INTEGER)) END AS x", define="A AS v < 9")
    assert [row["x"] for row in found] == [None]


@pytest.mark.parametrize(
    "measure",
    ["median(A.x)", "CASE WHEN LAST(A.x) % 2 IN (SELECT v FROM odd) THEN LAST(A.x) ELSE LAST(A.x) END"],
    ids=["an aggregate of the host", "a sub-query"],
)
def test_many_matches_keep_what_was_computed_for_them(measure: str) -> None:
    """DuckDB makes joins of both, which give rows as its threads are done with them."""
    count = 20_000
    rows = pa.table({"k": np.arange(count) // 2, "t": np.arange(count), "x": np.arange(count) // 2})
    found = motif.sql(
        f"""SELECT * FROM rows MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
            MEASURES LAST(A.x) AS own, {measure} AS computed PATTERN (A A) DEFINE A AS x >= 0)""",
        tables={"rows": rows, "odd": pa.table({"v": [1]})},
    )
    assert found.num_rows == count // 2
    assert found["own"].to_pylist() == found["computed"].to_pylist()
