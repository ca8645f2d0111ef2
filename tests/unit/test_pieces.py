"""One sequence in pieces gives what one go gives, wherever it is cut and however far the searches go together."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

import motif
from motif import api
from motif.engine.execution import Execution
from motif.engine.pieces import Part, Sequence, leaves_by_piece
from motif.engine.session import Session
from motif.errors import LimitExceeded, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database, quoted
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import COMPILED, PLAIN, Costs
from motif.plan.physical.exact import why_not_pieces
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.generate import random_clause, random_rows
from motif.testing.tables import to_arrow

CASES, CHUNKS = 400, 8
SIZES = (1, 2, 3, 7, 20)
REACHES = (1, 2, 5, 1_000)
SOON = replace(PLAIN, overlap_rows=4)
"""Few rows are searched again at first."""


def sequence_of(clause: str, table: pa.Table) -> tuple[Program, pa.Table]:
    source = duckdb.DuckSource(Database({"data": table}), "", quoted("data"))
    program = plan(parse_clause(clause), source)
    return program, source.database.table(duckdb.input_sql(program, source))


def letters(text: str) -> pa.Table:
    return pa.table({"t": range(len(text)), "c": list(text)})


def in_one_go(program: Program, rows: pa.Table) -> pa.Table:
    session = Session(program, Execution.of(program, PLAIN))
    return pa.concat_tables([*session.feed(rows), *session.finish()])


def in_pieces(program: Program, rows: pa.Table, size: int, at_once: int, costs: Costs = PLAIN) -> pa.Table:
    execution = Execution.of(program, costs)
    return pa.concat_tables(leaves_by_piece(program, rows, execution, size=size, at_once=at_once))


def outcome(leaves: Callable[[], pa.Table]) -> str:
    """Rows, in words as no number that is none is the same as another, or the error."""
    try:
        return repr(leaves().to_pylist())
    except QueryDataError as error:
        return error.message


def random_sequence(seed: int) -> tuple[Program, pa.Table] | None:
    """A random clause without partitions over random rows; None if it is of no use here."""
    rng = random.Random(seed)
    clause = re.sub(r"PARTITION BY .*\n", "", random_clause(rng))
    rows = random_rows(rng, rng.choice((3, 12)))
    try:
        program, table = sequence_of(clause, to_arrow(rows))
    except UnsupportedQuery:
        return None
    return (program, table) if why_not_pieces(program) is None else None


def impatient(program: Program) -> Program:
    """The same, but given up soon."""
    return replace(program, limits=replace(program.limits, match_steps=20_000))


@pytest.mark.random
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_sequences(chunk: int) -> None:
    outcomes = set()
    for seed in range(chunk * CASES // CHUNKS, (chunk + 1) * CASES // CHUNKS):
        rng, case = random.Random(seed), random_sequence(seed)
        if case is None:
            continue
        try:
            expected = outcome(lambda: in_one_go(impatient(case[0]), case[1]))  # noqa: B023
        except LimitExceeded:
            continue
        for size in rng.sample(SIZES, 2):
            costs = replace(PLAIN, overlap_rows=rng.choice(REACHES), overlap_growth=rng.choice((1, 2, 8)))
            at_once = rng.randint(1, 5)
            found = outcome(lambda: in_pieces(*case, size, at_once, costs))  # noqa: B023
            assert found == expected, f"seed {seed}, pieces of {size}, {at_once} at once"
        outcomes.add(expected)
    assert len(outcomes) > CASES // CHUNKS // 3


def searched_rows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What is searched from now on: from one row to another."""
    stretches: list[tuple[int, int]] = []
    search = Sequence._searched

    def noted(self: Sequence, begin: int, end: int) -> Part:
        stretches.append((begin, end))
        return search(self, begin, end)

    monkeypatch.setattr(Sequence, "_searched", noted)
    return stretches


PAIRS = "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS f PATTERN (A A) DEFINE A AS c = 'a')"


def test_only_a_few_rows_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that ends every match makes the searches meet, though a cut lies within what could be a match."""
    given = sequence_of(PAIRS, letters("aaaaaaabaa" * 101))
    stretches = searched_rows(monkeypatch)
    assert in_pieces(*given, 253, 4, SOON).equals(in_one_go(*given))
    whole = [(0, 252), (252, 505), (505, 757), (757, 1010)]
    again = [stretch for stretch in stretches if stretch not in whole]
    assert len(stretches) - len(again) == 4
    assert 3 <= len(again) <= 6
    assert all(end - begin < 60 for begin, end in again)


def test_searches_that_never_meet_search_all_again_once_or_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """An odd cut in pairs: what the second piece found is of no use, and the next one is even again."""
    given = sequence_of(PAIRS, letters("a" * 999))
    stretches = searched_rows(monkeypatch)
    assert in_pieces(*given, 333, 3, SOON).equals(in_one_go(*given))
    assert sum(end - begin for begin, end in stretches) < 2.5 * 999


def test_what_fails_where_the_search_never_comes_is_no_error() -> None:
    """AFTER MATCH SKIP TO LAST B has no B to go to in matches that begin at a `c`, all of which are in others."""
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS f, LAST(t) AS l AFTER MATCH SKIP TO LAST B
        PATTERN (A X B | X Y) DEFINE A AS c = 'a', X AS c = 'c', B AS c = 'b', Y AS c = 'b')"""
    program, rows = sequence_of(clause, letters("acb" * 20))
    expected = in_one_go(program, rows)
    assert expected.num_rows == 20
    assert in_pieces(program, rows, 7, 3).equals(expected)
    with pytest.raises(QueryDataError, match="found no row of that variable"):
        in_pieces(program, rows.slice(1), 7, 3)


def test_numbers_and_rows_in_no_match_go_on_from_piece_to_piece() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS v
        ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+) DEFINE A AS c = 'a', B AS c = 'b')"""
    given = sequence_of(clause, letters("abbxaxabbbbbbbbbbbbbbbbxxab"))
    rows = in_pieces(*given, 2, 3)
    assert rows.num_rows == 27
    assert rows.equals(in_one_go(*given))


def test_what_reads_the_number_of_the_match_is_not_cut() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS f PATTERN (A)
        DEFINE A AS MATCH_NUMBER() < 3)"""
    program = sequence_of(clause, letters("aaa"))[0]
    assert why_not_pieces(program) == "conditions read the number of the match, so each depends on all before it"
    keyed = sequence_of(clause.replace("(ORDER", "(PARTITION BY c ORDER"), letters("aaa"))[0]
    assert why_not_pieces(keyed) == "there is a PARTITION BY, and partitions are not cut"
    assert why_not_pieces(sequence_of(PAIRS, letters("aaa"))[0]) is None


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.usefixtures("kernel_cache")
def test_a_query_over_a_table_is_shared_by_all_cores(is_sorted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same matches, compiled, on one core and on three; `t` has ties, which `v` breaks."""
    rng = random.Random(1)
    times = sorted(rng.randrange(400) for _ in range(1_000))
    rows = [{"t": t, "v": rng.randrange(6), "c": rng.choice("abc")} for t in times]
    rows = sorted(rows, key=lambda row: (row["t"], row["v"])) if is_sorted else rng.sample(rows, 1_000)
    query = """SELECT * FROM data MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, FIRST(t) AS f, SUM(v) AS s,
        LAST(c) AS c, NEXT(LAST(v)) AS w PATTERN (A B* C)
        DEFINE B AS v >= PREV(v) AND c <> 'b', C AS c = 'a' AND v > A.v)"""
    tables = {"data": pa.Table.from_pylist(rows)}
    one = motif.sql(query, tables=tables, strategy="sequential")
    stretches = searched_rows(monkeypatch)
    costs = replace(COMPILED, cores=3, piece_rows=50, overlap_rows=10)
    assert api.sql(query, tables=tables, spark=None, costs=costs).equals(one)
    assert len(stretches) >= 5
    assert one.num_rows > 100
