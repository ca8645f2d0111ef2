"""`motif.explain(..., analyze=True)`: what each step of a run took and gave, beside its plan."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import motif
from motif.cli import app
from motif.engine import ledger as ledgers
from motif.engine.execution import Execution
from motif.engine.ledger import SILENT, Ledger
from motif.explanation import Explanation
from motif.hosts import duckdb
from motif.kernels import build, join
from motif.lang.statement import parse_statement
from motif.plan.physical.plan import Running
from motif.plan.physical.ran import Work

COUNT = 600
TRADES = pa.table(
    {
        "k": [row % 3 for row in range(COUNT)],
        "t": list(range(COUNT)),
        "p": [row * 7 % 11 for row in range(COUNT)],
    }
)
ROWS = """
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY t MEASURES A.t AS begun, B.p + 1 AS p PATTERN (A B) DEFINE B AS p < PREV(p))
"""
EVENTS = TRADES.set_column(1, "t", TRADES.column("t").cast(pa.timestamp("us"))).append_column(
    "type", pa.array(["ab"[row % 2] for row in range(COUNT)])
)
PAIRS = "SELECT * FROM SEQ(a x; b y) WHERE [k] AND x.p > 8 AND y.p < x.p WITHIN 9 EVENTS"


def rows_of(found: Explanation) -> dict[tuple[int | None, str], dict[str, object]]:
    return {(row["query"], row["step"]): row for row in found.steps.to_pylist()}


def test_steps_of_rows_say_what_went_in_and_came_out() -> None:
    found = motif.explain(ROWS.replace("SELECT *", "SELECT begun"), tables={"trades": TRADES}, analyze=True)
    matches = motif.sql(ROWS, tables={"trades": TRADES}).num_rows
    steps = rows_of(found)
    assert matches > 0
    assert [step for _, step in steps] == ["read", "arrange", "match", "gather", "finish", "finish"]
    assert steps[1, "read"]["rows_out"] == COUNT
    assert (steps[1, "arrange"]["rows_in"], steps[1, "arrange"]["rows_out"]) == (COUNT, COUNT)
    assert (steps[1, "match"]["rows_in"], steps[1, "match"]["rows_out"]) == (COUNT, matches)
    assert steps[1, "match"]["tried"] >= COUNT  # type: ignore[operator]
    assert (steps[1, "gather"]["rows_in"], steps[1, "gather"]["rows_out"]) == (matches, matches)
    assert steps[1, "read"]["bytes"] == TRADES.nbytes
    assert steps[None, "finish"]["rows_out"] == matches  # the SELECT around the clause


@pytest.mark.parametrize("strategy", ["sequential", "partitions"])
def test_threads_count_together(strategy: str) -> None:
    steps = rows_of(motif.explain(ROWS, tables={"trades": TRADES}, strategy=strategy, analyze=True))
    matches = motif.sql(ROWS, tables={"trades": TRADES}).num_rows
    assert (steps[1, "match"]["rows_in"], steps[1, "match"]["rows_out"]) == (COUNT, matches)
    assert (steps[1, "arrange"]["rows_out"], steps[1, "gather"]["rows_out"]) == (COUNT, matches)


def test_rows_in_pieces_are_counted() -> None:
    query = ROWS.replace("PARTITION BY k", "")
    found = motif.explain(query, tables={"trades": TRADES}, strategy="pieces", analyze=True)
    steps, matches = rows_of(found), motif.sql(query, tables={"trades": TRADES}).num_rows
    assert (steps[1, "match"]["rows_in"], steps[1, "match"]["rows_out"]) == (COUNT, matches)
    assert steps[1, "gather"]["rows_out"] == matches


def test_rows_that_the_host_sorts_are_counted() -> None:
    statement = parse_statement(ROWS.replace("FROM trades", "FROM (SELECT * FROM trades LIMIT 500)"), "duckdb")
    database = duckdb.Database({"trades": TRADES})
    [(program, source)] = duckdb.plan_statement(database, statement)
    ledger = Ledger()
    execution = Execution.of(program)
    execution.ledger = ledger
    reader = database.reader(duckdb.input_sql(program, source))
    found = list(duckdb._drive(duckdb.Session(program, execution), database, reader, None))
    counted = {one.work: one for one in ledger.counted()}
    assert counted[Work.READ].rows_out == counted[Work.MATCH].rows_in == 500
    assert counted[Work.MATCH].rows_out == sum(part.num_rows for part in found) > 0


@pytest.mark.parametrize("strategy", ["sequential", "partitions", "shared"])
def test_steps_of_events_have_candidates(strategy: str) -> None:
    found = motif.explain(PAIRS, data=EVENTS, time="t", strategy=strategy, analyze=True)
    matches = motif.match(EVENTS, PAIRS, time="t").num_rows
    step = rows_of(found)[1, "match"]
    many = sum(row % 2 == 0 and row * 7 % 11 > 8 for row in range(COUNT))
    assert dict(step["candidates"]) == {"x": many, "y": COUNT // 2}  # type: ignore[call-overload]
    assert step["rows_out"] == matches > 0
    assert step["tried"] >= matches  # type: ignore[operator]
    assert "candidates were counted" in str(found)


def test_consuming_counts_what_it_tried() -> None:
    query = "SELECT * FROM SEQ(a x; b y) WHERE [k] WITHIN 9 EVENTS CONSUMING x, y"
    step = rows_of(motif.explain(query, data=EVENTS, time="t", analyze=True))[1, "match"]
    assert step["tried"] >= step["rows_out"] > 0  # type: ignore[operator]


def test_what_was_decided_again_is_told() -> None:
    found = motif.explain(PAIRS, data=EVENTS, time="t", analyze=True)
    plan, ran = found.plan, found.ran
    assert plan is not None
    assert ran is not None
    assert (plan.match.loops, ran.match.loops) == (Running.OPEN, Running.PLAIN_FIRST)
    change = next(change for change in found.changes if change.what == "match.loops")
    assert (change.before, change.after) == (str(Running.OPEN), str(Running.PLAIN_FIRST))
    assert f"match.loops: {change.after} instead of {change.before}" in str(found)


def test_the_plan_is_the_one_that_is_explained() -> None:
    plain, found = (motif.explain(ROWS, tables={"trades": TRADES}, analyze=analyze) for analyze in (False, True))
    assert plain.plan == found.plan == found.ran
    assert "nothing: the query ran as planned" in str(found)


def test_every_clause_and_every_query_is_counted() -> None:
    second = "MATCH_RECOGNIZE (ORDER BY begun ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS p > 1)"
    two = f"WITH first AS ({ROWS}) SELECT * FROM first {second}"
    found = motif.explain(two, tables={"trades": TRADES}, analyze=True)
    steps = rows_of(found)
    assert steps[1, "finish"]["rows_out"] == steps[2, "read"]["rows_out"]
    assert len(found.runs) == len(found.plans) == 2
    pair = "DEFINE pair AS " + PAIRS.replace("SELECT *", "SELECT x.k AS k")
    stack = [pair, "SELECT * FROM SEQ(pair u; pair v) WHERE u.k = v.k WITHIN 20 EVENTS"]
    found = motif.explain(stack, data=EVENTS, time="t", analyze=True)
    assert {query for query, _ in rows_of(found)} == {1, 2}


def test_numbers_stand_beside_the_steps() -> None:
    found = motif.explain(ROWS, tables={"trades": TRADES}, analyze=True)
    text = str(found)
    work = text[text.index("\nWork\n") : text.index("\nDecided again\n")]
    assert re.findall(r"^ > (\w+)", work, re.MULTILINE) == ["read", "arrange", "match", "gather", "finish"]
    assert f"{COUNT:,} rows" in work.split("2. ")[0]
    assert re.search(r"All of it took \d+\.\d{3} s", text)


def test_the_page_has_a_bar_for_each_step() -> None:
    page = motif.explain(ROWS.replace("SELECT *", "SELECT begun"), tables={"trades": TRADES}, analyze=True).html
    widths = [float(width) for width in re.findall(r'class="bar" style="width:([\d.]+)%"', page)]
    assert len(widths) == 6
    assert all(0 <= width <= 100 for width in widths)
    assert "currentColor" in page
    assert "<script" not in page


def test_nothing_is_run_unless_somebody_asks() -> None:
    found = motif.explain(ROWS, tables={"trades": TRADES})
    assert (found.ran, found.changes, found.steps.num_rows, found.total) == (None, (), 0, None)
    assert " > read" not in str(found)
    with pytest.raises(motif.MotifError, match="there are no rows"):
        motif.explain(ROWS, analyze=True)


def test_who_does_not_ask_has_no_ledger() -> None:
    statement = parse_statement(ROWS, "duckdb")
    [(program, _)] = duckdb.plan_statement(duckdb.Database({"trades": TRADES}), statement)
    assert Execution.of(program).ledger is SILENT
    parts = iter([1, 2])
    assert SILENT.each(Work.READ, parts) is parts


def test_time_of_who_waits_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(ledgers.time, "perf_counter", lambda: now[0])
    ledger = Ledger()

    def part(number: int) -> int:
        now[0] += 2.0
        return number

    with ledger.step(Work.MATCH):
        now[0] += 1.0
        assert ledger.on_threads(Work.MATCH, part, 1) == [0]
        with ledger.step(Work.GATHER):
            now[0] += 5.0
        now[0] += 1.0
    match, gather = ledger.counted()
    assert (match.work, match.seconds, match.wall_seconds) == (Work.MATCH, 4.0, 4.0)
    assert (gather.work, gather.seconds) == (Work.GATHER, 5.0)


def test_threads_share_a_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    now, gate = [0.0], threading.Barrier(2)
    monkeypatch.setattr(ledgers.time, "perf_counter", lambda: now[0])
    ledger = Ledger()

    def work() -> None:
        with ledger.step(Work.MATCH):
            if gate.wait(10) == 0:
                now[0] = 3.0
            gate.wait(10)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [match] = ledger.counted()
    assert (match.seconds, match.wall_seconds) == (6.0, 3.0)  # of both, and while any was at it


def test_the_command_line_runs_the_query(tmp_path: Path) -> None:
    path = tmp_path / "trades.parquet"
    pq.write_table(TRADES, path)
    given = ["explain", ROWS, "--table", f"trades={path}", "--analyze"]
    result = CliRunner().invoke(app.app, given)
    assert result.exit_code == 0, result.output
    assert " > match" in result.output
    pq.write_table(EVENTS, path)
    given = ["explain", PAIRS, "--table", f"events={path}", "--time", "t", "--analyze"]
    result = CliRunner().invoke(app.app, given)
    assert result.exit_code == 0, result.output
    assert "candidates x" in result.output


@pytest.mark.parametrize("rows", [COUNT, 250_000])
def test_levels_tell_what_they_tried_and_let_pass(rows: int) -> None:
    """As plain Python, and compiled; checked by every pair of events."""
    ticks = list(range(COUNT))
    table = pa.table(
        {
            "ts": pa.array([tick * 1_000_000 for tick in ticks], pa.timestamp("us")),
            "type": ["ab"[tick % 2] for tick in ticks],
            "p": [tick * 7 % 11 for tick in ticks],
        }
    )
    if rows > COUNT:  # those that come later are of no use
        more = {"ts": [10**12] * (rows - COUNT), "type": ["b"] * (rows - COUNT), "p": [0] * (rows - COUNT)}
        table = pa.concat_tables([table, pa.table(more, schema=table.schema)])
    query = "SELECT * FROM SEQ(a x; b y) WHERE y.p <> x.p + 1 WITHIN 9 seconds"
    found = motif.explain(query, data=table, strategy="sequential", analyze=True)
    first, second = found.levels.to_pylist()
    pairs = [(x, y) for x in ticks[::2] for y in ticks[1::2] if x < y <= x + 9]
    passed = sum(y * 7 % 11 != x * 7 % 11 + 1 for x, y in pairs)
    assert {first["variable"], second["variable"]} == {"x", "y"}
    assert (first["tried"], first["passed"]) == (COUNT // 2, COUNT // 2)
    assert (second["tried"], second["passed"]) == (len(pairs), passed)
    assert second["candidates"] == len(pairs)
    assert f"{len(pairs):,} tried, {passed:,} passed: y.p <> x.p + 1 holds for {passed / len(pairs):.1%}" in str(found)


def test_threads_share_the_counters_of_levels() -> None:
    one, shared = (
        motif.explain(PAIRS, data=EVENTS, time="t", strategy=strategy, analyze=True)
        for strategy in ("sequential", "shared")
    )
    assert one.levels == shared.levels
    assert one.levels.num_rows == 2


def test_the_loop_of_who_does_not_ask_counts_nothing() -> None:
    """Not one character of its text is another one, so neither is its code."""
    markers = (("test", "ok = bound[0] < pos"),)
    plain, counting = (build._filled(join.join, way) for way in (markers, build.counting((markers, ()))[0]))
    assert "count" not in {line.strip().removeprefix("# <").split(" ")[0] for line in plain.splitlines()}
    assert all(statement not in plain for _, statement in join.COUNTING)
    added = [line for line in counting.splitlines() if line.strip() in {statement for _, statement in join.COUNTING}]
    assert len(added) == 3
    assert plain == "\n".join(line for line in counting.splitlines() if line not in added) + "\n"
