"""Generated kernels: nothing of the query's text gets into them, and queries of one shape share one."""

from __future__ import annotations

import inspect
import keyword
import re

import pyarrow as pa
import pytest

from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database, quoted
from motif.kernels import build, search
from motif.lang.statement import parse_clause
from motif.plan import codegen, markers
from motif.plan.planner import plan
from motif.plan.program import Program

TABLE = pa.table({"t": [1, 2], "v": [1, 2], "w": [1.5, 2.5], "s": ["a", "b"]})


def program(defines: str, pattern: str = "A+ B", table: pa.Table = TABLE, rest: str = "") -> Program:
    source = duckdb.DuckSource(Database({"data": table}), "", quoted("data"))
    clause = f"MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n PATTERN ({pattern}) {rest} DEFINE {defines})"
    return plan(parse_clause(clause), source)


def text_of(planned: Program) -> str:
    return "\n".join(text for _, text in planned.markers)


# --- no text of the query ---

HOSTILE = ["zzz_name", "*/ zzz", '"""zzz', "zzz\n    import os", "\\N{DIGIT ZERO}zzz", "zzz\u202e", "__zzz__", "{zzz}"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_literals_stay_out(name: str) -> None:
    quoted, literal = '"' + name.replace('"', '""') + '"', "'" + name.replace("'", "''") + "'"
    table = pa.table({"t": [1, 2], name: ["x", "y"]})
    planned = program(
        f"{quoted} AS {quoted}.{quoted} <> LAST(X.{quoted}) AND FIRST(X.{quoted}) = {literal} "
        f"AND PREV(CLASSIFIER()) <> {literal} AND COUNT(X.{quoted}) < 4242424242 AND 0.424242 < COUNT(X.*)",
        pattern=f"X+ {quoted}",
        table=table,
    )
    text = text_of(planned)
    assert text
    assert "zzz" not in text
    assert "4242" not in text


@pytest.mark.parametrize(
    "defines",
    [
        "B AS v > A.v AND SUM(A.v) < 100 AND w / AVG(A.w) > 1.5 AND s = FIRST(A.s)",
        "B AS CASE WHEN v > A.v THEN s ELSE 'none' END IN ('a', A.s) OR NOT (A.w BETWEEN 1 AND w)",
        "A AS MATCH_NUMBER() % 2 = 1, B AS PREV(CLASSIFIER()) = 'A' AND COALESCE(A.v, v, 0) IS DISTINCT FROM 7",
        "B AS GREATEST(v, A.v) - LEAST(A.v, 3) * 2 <= MAX(A.v) + MIN(A.v) AND PREV(LAST(A.v, 1), 2) IS NULL",
    ],
)
def test_words_of_generated_text_are_ours(defines: str) -> None:
    """Every name in it, its counter taken off, is written in the modules that write it; there is nothing quoted."""
    ours = words(inspect.getsource(codegen) + inspect.getsource(markers) + inspect.getsource(search))
    for _, text in program(defines).markers:
        unknown = {name for name in words(text) if name.rstrip("0123456789") not in ours}
        assert not unknown - {"c", "z", "m", "p", "n", "t", "u", "v", "e", "q", "k"} - set(keyword.kwlist)
        assert not re.search(r"['\"#\\]", text), "no strings, no comments, no escapes"


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


# --- shapes ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("B AS v > A.v", "B AS v > A.v"),
        ("B AS v > A.v + 1", "B AS v > A.v + 99"),
        ("B AS v > A.v", "B AS t > A.t"),
        ("B AS s = A.s", "B AS v = A.v"),
        ("B AS s = FIRST(A.s) OR s = 'x'", "B AS s = FIRST(A.s) OR s = 'it''s'"),
        ("B AS SUM(A.v) > 1 AND v > 5", "B AS SUM(A.v) > 1 AND w < 7"),
    ],
)
def test_one_shape_is_one_kernel(one: str, other: str) -> None:
    assert program(one).markers == program(other).markers


def test_names_of_variables_do_not_matter() -> None:
    assert program("B AS v > A.v").markers == program("UP AS v > DOWN.v", pattern="DOWN+ UP").markers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("B AS v > A.v", "B AS v >= A.v"),
        ("B AS v > A.v", "B AS v > FIRST(A.v)"),
        ("B AS v > A.v", "B AS w > A.w"),
        ("B AS v > A.v", "A AS v > B.v"),
        ("B AS SUM(A.v) > 1", "B AS MAX(A.v) > 1"),
    ],
)
def test_other_shapes_are_other_kernels(one: str, other: str) -> None:
    assert program(one).markers != program(other).markers


@pytest.mark.parametrize(
    "defines", ["B AS v > 1", "B AS v > PREV(v)", "A AS v < NEXT(v, 2) AND s = PREV(s), B AS w > 1"]
)
def test_row_only_conditions_need_no_generated_text(defines: str) -> None:
    planned = program(defines)
    assert planned.markers == ()
    assert planned.is_row_only


def test_all_row_only_queries_share_the_loop_as_it_stands() -> None:
    assert build.search_loop((), compiled=False) is build.search_loop((), compiled=False)
    marked = build._filled(build.search.search, program("B AS v > A.v").markers)
    assert marked != build._filled(build.search.search, ())
    assert marked.count("\ndef ") == build._filled(build.search.search, ()).count("\ndef ")


def test_a_program_is_the_same_every_time() -> None:
    one, other = program("B AS v > A.v AND SUM(A.w) < 2.5"), program("B AS v > A.v AND SUM(A.w) < 2.5")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != program("B AS v > A.v AND SUM(A.w) < 2.6").fingerprint
