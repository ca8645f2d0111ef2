"""Sessions: rows that come sorted, in pieces, give what one go gives; matches come when they are decided.

Streams, whose rows come in any order and which are saved and restored, are in `test_stream_state` and its neighbours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from motif.engine.execution import Execution
from motif.engine.session import Session
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database, quoted
from motif.lang.statement import parse_clause
from motif.plan.physical.costs import PLAIN
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.cases import same_in_order
from motif.testing.generate import random_rows
from motif.testing.tables import to_arrow

Row = dict[str, object]


class Input:
    """A planned clause and its sorted rows."""

    def __init__(self, clause: str, table: pa.Table) -> None:
        self.source = duckdb.DuckSource(Database({"data": table}), "", quoted("data"))
        self.program: Program = plan(parse_clause(clause), self.source)
        self.rows: pa.Table = self.source.database.table(duckdb.input_sql(self.program, self.source))

    def final(self, leaves: list[pa.Table]) -> list[Row]:
        """The output columns over what a session gave."""
        return duckdb.final_columns(self.program, self.source, pa.concat_tables(leaves)).to_pylist()  # type: ignore[no-any-return]

    def in_one_go(self) -> list[Row]:
        session = Session(self.program, Execution.of(self.program, PLAIN))
        return self.final([*session.feed(self.rows), *session.finish()])

    def row_by_row(self, session: Session) -> Iterator[list[Row]]:
        """What is given out after each row, and after the end."""
        yield self.final([*session.feed(self.rows.slice(0, 0)), self.nothing()])
        for position in range(self.rows.num_rows):
            session.next_run = 1  # look at every row; without this a session waits until its rows have doubled
            yield self.final([*session.feed(self.rows.slice(position, 1)), self.nothing()])
        yield self.final([*session.finish()])

    def nothing(self) -> pa.Table:
        session = Session(self.program, Execution.of(self.program, PLAIN))
        return pa.concat_tables([*session.feed(self.rows.slice(0, 0)), *session.finish()])


def by_letter(pattern: str, letters: str, rest: str = "") -> Input:
    """Rows of one letter each; variable A takes an `a`, and so on. Every match as its labels."""
    names = sorted({char for char in pattern if char.isalpha()})
    defines = ", ".join(f"{name} AS c = '{name.lower()}'" for name in names)
    clause = f"""MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS number, FIRST(t) AS first, LAST(t) AS last
        {rest} PATTERN ({pattern}) DEFINE {defines})"""
    return Input(clause, pa.table({"t": range(1, len(letters) + 1), "c": list(letters)}))


def spans(rows: list[Row]) -> list[tuple[object, object]]:
    return [(row["first"], row["last"]) for row in rows]


# --- pieces ---

CLAUSES = {
    "row-only with unmatched rows": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS n,
        CLASSIFIER() AS label ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+) DEFINE A AS v < 3, B AS v > 1)""",
    "unmatched rows and overlapping matches": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
        MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A A B) DEFINE A AS v < 4, B AS v > 1)""",
    "rows before and after the match": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES PREV(FIRST(v), 2) AS p,
        NEXT(LAST(v), 2) AS n PATTERN (A+) DEFINE A AS v > PREV(v) OR v < NEXT(v, 2))""",
    "the match so far": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES SUM(A.v) AS s, COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS SUM(A.v) < 9, B AS w < LAST(A.w))""",
    "strings and labels": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES ARRAY_AGG(c) AS cs
        PATTERN ((A | B)+ X) DEFINE A AS c <> 'b', X AS c = FIRST(B.c) OR PREV(CLASSIFIER()) = 'A')""",
    "number of the match": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS n, COUNT(*) AS size
        ALL ROWS PER MATCH PATTERN (A* B?) DEFINE A AS MATCH_NUMBER() % 2 = 0 AND v > 1, B AS v > 3)""",
    "WITHIN": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS c, FIRST(ts) AS f
        PATTERN (A B*) WITHIN INTERVAL '90' SECOND DEFINE A AS v > 0)""",
    "INCREMENTAL MATCH": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS n, LAST(t) AS l
        INCREMENTAL MATCH PATTERN (A B+) DEFINE A AS v < 4, B AS v > 0)""",
    "anchors": """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES FIRST(t) AS f, LAST(t) AS l
        PATTERN (^ A+ | B+ $) DEFINE A AS v > 1, B AS v < 4)""",
    "no partition": """MATCH_RECOGNIZE (ORDER BY t, k MEASURES FIRST(t) AS f, COUNT(*) AS c PATTERN (A B B*?)
        DEFINE B AS v > A.v)""",
}
SAMPLE = to_arrow(random_rows(random.Random(7), partitions=12))


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_pieces_give_what_one_go_gives(clause: str, size: int) -> None:
    given = Input(clause, SAMPLE)
    session = Session(given.program, Execution.of(given.program, replace(PLAIN, run_rows=1)))
    leaves = [given.nothing()]
    for position in range(0, given.rows.num_rows, size):
        leaves += session.feed(given.rows.slice(position, size))
    leaves += session.finish()
    assert same_in_order(given.final(leaves), given.in_one_go())
    assert given.in_one_go(), "the sample should have matches"


# --- decided, and not before ---


@pytest.mark.parametrize(
    ("pattern", "letters", "given_after"),
    [
        pytest.param("A B C D | A B", "abcd", {4: [(1, 4)]}, id="S1: the longer alternative comes"),
        pytest.param("A B C D | A B", "abcx", {4: [(1, 2)]}, id="S1: it does not come"),
        pytest.param("A B C D | A B", "abx", {3: [(1, 2)]}, id="S1: it cannot come any more"),
        pytest.param("X N N | N", "xnn", {3: [(1, 3)]}, id="S2: the earlier start wins"),
        pytest.param("X N N | N", "xnx", {3: [(2, 2)]}, id="S2: the earlier start fails"),
        pytest.param("A B+", "abbbx", {5: [(1, 4)]}, id="S3: a trailing greedy loop ends"),
        pytest.param("A B+", "abbb", {"end": [(1, 4)]}, id="S3: ... or the rows do"),
        pytest.param("A B*?", "abbb", {1: [(1, 1)]}, id="a reluctant loop is decided at once"),
        pytest.param("A B{2}", "abbb", {3: [(1, 3)]}, id="a counted loop is decided when full"),
        pytest.param("A", "axa", {1: [(1, 1)], 3: [(3, 3)]}, id="single rows"),
        pytest.param("A+ $", "aa", {"end": [(1, 2)]}, id="an end anchor waits for the end"),
        pytest.param("A (B C)?", "abcab", {3: [(1, 3)], "end": [(4, 4)]}, id="an optional tail"),
    ],
)
def test_matches_come_when_decided(
    pattern: str, letters: str, given_after: dict[object, list[tuple[int, int]]]
) -> None:
    given = by_letter(pattern, letters)
    moments = [0, *range(1, len(letters) + 1), "end"]
    pieces = given.row_by_row(Session(given.program, Execution.of(given.program, PLAIN)))
    found = {moment: spans(piece) for moment, piece in zip(moments, pieces, strict=True) if piece}
    assert found == given_after


def test_next_in_a_measure_waits_for_the_row_it_reads() -> None:
    table = pa.table({"t": [1, 2, 3], "v": [10, 20, 30]})
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES v AS v, NEXT(v) AS n PATTERN (A) DEFINE A AS v < 25)"
    given = Input(clause, table)
    session = Session(given.program, Execution.of(given.program, PLAIN))
    pieces = [[tuple(row.values()) for row in piece] for piece in given.row_by_row(session)]
    assert pieces == [[], [], [(10, 20)], [(20, 30)], []]


def test_within_decides_a_trailing_loop() -> None:
    table = pa.table({"t": [1, 2, 3, 9]})
    given = Input(
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS first, LAST(t) AS last PATTERN (A+) WITHIN 4)", table
    )
    pieces = [spans(piece) for piece in given.row_by_row(Session(given.program, Execution.of(given.program, PLAIN)))]
    assert pieces == [[], [], [], [], [(1, 3)], [(9, 9)]]


def test_a_decided_match_is_not_held_back() -> None:
    given = by_letter("X N N | N", "xnn")
    session = Session(given.program, Execution.of(given.program, replace(PLAIN, run_rows=1)))
    leaves = [given.nothing()]
    for position in range(3):
        leaves += session.feed(given.rows.slice(position, 1))
    assert spans(given.final(leaves)) == [(1, 3)]


def test_unmatched_rows_come_when_decided() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS number
        ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE A AS c = 'a', B AS c = 'b')"""
    given = Input(clause, pa.table({"t": range(1, 7), "c": list("xaabxa")}))
    pieces = given.row_by_row(Session(given.program, Execution.of(given.program, PLAIN)))
    found = [[(row["t"], row["number"]) for row in piece] for piece in pieces]
    assert found == [[], [(1, None)], [], [(2, None)], [(3, 1), (4, 1)], [(5, None)], [], [(6, None)]]


def test_match_numbers_go_on_across_pieces_and_start_anew_in_each_partition() -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS n, t AS t PATTERN (A))"
    given = Input(clause, pa.table({"k": [1, 1, 1, 2, 2], "t": [1, 2, 3, 1, 2]}))
    pieces = list(given.row_by_row(Session(given.program, Execution.of(given.program, PLAIN))))
    found = [tuple(row.values()) for piece in pieces for row in piece]
    assert found == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 1, 1), (2, 2, 2)]


def test_a_match_number_in_a_condition_goes_on_across_pieces() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES MATCH_NUMBER() AS n, COUNT(*) AS rows
        PATTERN (A B?) DEFINE B AS MATCH_NUMBER() % 2 = 0)"""
    given = Input(clause, pa.table({"t": range(6)}))
    pieces = given.row_by_row(Session(given.program, Execution.of(given.program, PLAIN)))
    assert [tuple(row.values()) for piece in pieces for row in piece] == [(1, 1), (2, 2), (3, 1), (4, 2)]


# --- what is kept ---


def kept_rows(given: Input, after: int) -> int:
    session = Session(given.program, Execution.of(given.program, replace(PLAIN, run_rows=1)))
    for position in range(after):
        session.next_run = 1
        list(session.feed(given.rows.slice(position, 1)))
    return session.waiting_rows


def test_decided_rows_are_not_kept() -> None:
    """What is kept depends on the pattern, not on how many rows there were."""
    given = by_letter("A B", "abx" * 300)
    assert kept_rows(given, 899) <= 1
    assert kept_rows(given, 898) <= 2


def test_rows_that_prev_reads_are_kept() -> None:
    table = pa.table({"t": range(100)})
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES PREV(t, 5) AS p PATTERN (A))"
    assert kept_rows(Input(clause, table), 100) <= 6


def test_a_finished_partition_leaves_one_row() -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+))"
    given = Input(clause, pa.table({"k": [1] * 50 + [2], "t": range(51)}))
    assert kept_rows(given, 50) == 50
    assert kept_rows(given, 51) == 1


def test_a_finished_session_keeps_nothing() -> None:
    given = by_letter("A B+", "abbbbb" * 20)
    session = Session(given.program, Execution.of(given.program, PLAIN))
    list(session.feed(given.rows))
    assert session.waiting_rows == 120
    list(session.finish())
    assert session.waiting_rows == 0


def test_a_finished_session_can_be_fed_anew() -> None:
    given = by_letter("A B", "abab")
    session = Session(given.program, Execution.of(given.program, PLAIN))
    for _ in range(2):
        leaves = [*session.feed(given.rows), *session.finish()]
        assert [(row["number"], row["first"]) for row in given.final(leaves)] == [(1, 1), (2, 3)]
