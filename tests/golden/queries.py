"""Queries whose plans are kept as text, so that a change of a plan is seen in a review.

A case is a query with what is given to it. What the machine says (cores, memory) is fixed by costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import motif
from motif.explanation.text import steps_text
from motif.hosts import duckdb, duckdb_events
from motif.lang.statement import parse_clause, parse_statement
from motif.options import parsed_queries
from motif.plan.events.program import Stream
from motif.plan.physical.choose import strategy_named
from motif.plan.physical.costs import COMPILED, COSTS, PLAIN, Costs
from motif.plan.physical.plan import PhysicalPlan
from motif.plan.physical.text import work

TWO_CORES = replace(COSTS, cores=2, sort_bytes=64 << 20)
ONE_CORE = replace(TWO_CORES, cores=1)
FILES_ARE_LARGE = replace(TWO_CORES, small_file_rows=1_000)
ON_CORES = {"one core": ONE_CORE, "two cores": TWO_CORES}

BY_KEY = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(v) AS v
  PATTERN (A B+) DEFINE B AS v > PREV(v))"""
ALL_ROWS = BY_KEY.replace("PARTITION BY k ", "")
NUMBERED = ALL_ROWS.replace("v > PREV(v)", "MATCH_NUMBER() < 3")
COMPUTED = BY_KEY.replace("LAST(v) AS v", "upper(LAST(c)) AS c, count(B.v) AS n").replace("v > PREV(v)", "v % 2 = 0")
WITHIN = BY_KEY.replace("(A B+)", "(A B+) WITHIN INTERVAL '9' SECOND")
EVERY_ROW = BY_KEY.replace("LAST(v) AS v\n", "LAST(v) AS last\n  ALL ROWS PER MATCH\n")
ASKING = BY_KEY.replace("v > PREV(v)", "levenshtein(A.c, B.c) < 2")

EVENTS = "SELECT a.v AS v, b.v AS w FROM SEQ(A a; B b) WHERE [k] WITHIN 9 s"
UNKEYED = EVENTS.replace("WHERE [k] ", "")
ENDLESS = UNKEYED.replace(" WITHIN 9 s", "")
COUNTED = UNKEYED.replace("9 s", "9 EVENTS")
ABSENT = EVENTS.replace("A a; B b", "A a; NOT C c; B b")
ABSENT_AT_THE_END = "SELECT a.v AS v FROM SEQ(A a; NOT B b) WITHIN 9 s"
LIST = "SELECT a.v AS v, count(b.v) AS n FROM SEQ(A a; B b+; C c) WHERE [k] WITHIN 9 s"
PICKED = "SELECT a.v AS v FROM SEQ(A a; B b) PICK LAST a, FIRST b WITHIN 9 s"
CONSUMING = f"{UNKEYED} CONSUMING a"
CONSUMING_BY_KEY = f"{EVENTS} CONSUMING a"
COMPARED = UNKEYED.replace("WITHIN", "WHERE a.v < b.v WITHIN")
OF_EITHER = "SELECT a.v AS v FROM SEQ(OR(A a, B b); C c) WITHIN 9 s"
FILTERED = EVENTS.replace("[k]", "[k] AND a.v % 2 = 0 AND upper(b.c) = 'B'")
UPPER = EVENTS.replace("a.v AS v", "upper(a.c) AS c")
USER = UNKEYED.replace("WITHIN", "WHERE near(a.v, b.v) WITHIN")
SIMILAR = UNKEYED.replace("WITHIN", "WHERE levenshtein(a.c, b.c) < 2 WITHIN")
SIMILAR_CONSUMING = f"{SIMILAR} CONSUMING a"
PAIRS = EVENTS.replace("a.v AS v", "a.k AS k")
STACK = f"DEFINE Pair {PAIRS};\nSELECT p.k AS k FROM SEQ(Pair p; C c) WHERE [k] WITHIN 1 minute"
OF_INPUTS = "SELECT a.v AS v FROM SEQ(Clicks a; Buys b) WHERE [k] WITHIN 9 s"


def near(one: int, other: int) -> bool:
    return abs(one - other) < 3


FUNCTIONS: dict[str, Callable[..., Any]] = {"near": near}


@dataclass(frozen=True)
class Case:
    """A query as it is given."""

    text: str
    rows: int = 8
    costs: Costs = TWO_CORES
    given: str = "memory"
    """"memory", "file", "inputs", "statement"; on Spark also "small" and "files"."""
    strategy: str | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def is_of_rows(self) -> bool:
        return "MATCH_RECOGNIZE" in self.text


IN_MEMORY = {
    "rows by key, few": Case(BY_KEY),
    "rows by key, some": Case(BY_KEY, 2_000),
    "rows by key, many": Case(BY_KEY, 300_000),
    "rows by key, many, one core": Case(BY_KEY, 300_000, ONE_CORE),
    "rows by key, compiled whatever it takes": Case(BY_KEY, costs=replace(COMPILED, cores=2, sort_bytes=64 << 20)),
    "rows by key, never compiled": Case(BY_KEY, 300_000, replace(PLAIN, cores=2, sort_bytes=64 << 20)),
    "all rows, few": Case(ALL_ROWS),
    "all rows, many": Case(ALL_ROWS, 300_000),
    "all rows, many, in sequence": Case(ALL_ROWS, 300_000, strategy="sequential"),
    "rows that are numbered": Case(NUMBERED, 300_000),
    "rows with what the host computes": Case(COMPUTED, 2_000),
    "rows within a time": Case(WITHIN),
    "rows, all of a match": Case(EVERY_ROW),
    "rows of which the host is asked": Case(ASKING, 2_000),
    "a statement around a clause": Case(f"SELECT k, count(*) FROM t {BY_KEY} GROUP BY k", given="statement"),
    "a clause over the matches of another": Case(
        f"WITH m AS (SELECT * FROM t {EVERY_ROW}) SELECT * FROM m {BY_KEY}", given="statement"
    ),
    "events by key": Case(EVENTS),
    "events by key, one core": Case(EVENTS, costs=ONE_CORE),
    "all events": Case(UNKEYED),
    "events without WITHIN": Case(ENDLESS),
    "events within a number": Case(COUNTED),
    "events with an absent one": Case(ABSENT),
    "events with a list": Case(LIST),
    "events that are picked": Case(PICKED),
    "events that are consumed": Case(CONSUMING),
    "events that are consumed, by key": Case(CONSUMING_BY_KEY),
    "events that are compared": Case(COMPARED),
    "events of either class": Case(OF_EITHER),
    "events by key, shared": Case(EVENTS, strategy="shared"),
    "events with a function of the user": Case(USER, functions=FUNCTIONS),
    "events of which the host is asked": Case(SIMILAR),
    "a stack of queries": Case(STACK),
    "events of several inputs": Case(OF_INPUTS, given="inputs"),
}
IN_FILES = {
    "rows by key": Case(BY_KEY, 2_000, given="file"),
    "rows by key, many for a file": Case(BY_KEY, 2_000, FILES_ARE_LARGE, given="file"),
    "rows with what the host computes": Case(COMPUTED, 2_000, given="file"),
    "rows with what the host computes, many for a file": Case(COMPUTED, 2_000, FILES_ARE_LARGE, given="file"),
    "all rows": Case(ALL_ROWS, 8, given="file"),
    "rows of which the host is asked": Case(ASKING, 8, given="file"),
    "events by key": Case(EVENTS, 2_000, given="file"),
    "events that are filtered": Case(FILTERED, 2_000, given="file"),
    "events that are filtered, many for a file": Case(FILTERED, 2_000, FILES_ARE_LARGE, given="file"),
    "events with what the host computes of matches": Case(UPPER, 2_000, given="file"),
}
IN_STREAMS = {
    "rows by key": Case(BY_KEY),
    "all rows": Case(ALL_ROWS),
    "events by key": Case(EVENTS),
    "all events": Case(UNKEYED),
    "events with an absent one at the end": Case(ABSENT_AT_THE_END),
    "events with a list": Case(LIST),
    "events that are consumed": Case(CONSUMING),
    "events with a function of the user": Case(USER, functions=FUNCTIONS),
    "events of which the host is asked": Case(SIMILAR),
    "a stack of queries": Case(STACK),
    "events of several inputs": Case(OF_INPUTS, given="inputs"),
}
ON_SPARK = {
    "rows by key": Case(BY_KEY),
    "all rows": Case(ALL_ROWS),
    "rows by key, in sequence": Case(BY_KEY, strategy="sequential"),
    "rows with what the host computes": Case(COMPUTED),
    "rows of which the host is asked": Case(ASKING),
    "rows by key, a small table": Case(BY_KEY, given="small"),
    "all rows, small files": Case(ALL_ROWS, given="files"),
    "rows by key, small files": Case(BY_KEY, given="files"),
    "rows by key, small files, exchanged": Case(BY_KEY, given="files", strategy="partitions"),
    "a statement around a clause": Case(f"SELECT k, count(*) FROM t {BY_KEY} GROUP BY k", given="statement"),
    "events by key": Case(EVENTS),
    "all events": Case(UNKEYED),
    "all events, in sequence": Case(UNKEYED, strategy="sequential"),
    "events without WITHIN": Case(ENDLESS),
    "events within a number": Case(COUNTED),
    "events with an absent one": Case(ABSENT),
    "events that are picked": Case(PICKED),
    "events that are consumed": Case(CONSUMING),
    "events that are filtered": Case(FILTERED),
    "events with a function of the user": Case(USER, functions=FUNCTIONS),
    "events of which the host is asked": Case(SIMILAR),
    "events of which the host is asked, and that are consumed": Case(SIMILAR_CONSUMING),
    "events by key, a small table": Case(EVENTS, given="small"),
    "events with a function of the user, a small table": Case(USER, given="small", functions=FUNCTIONS),
    "a stack of queries": Case(STACK),
    "events of several inputs": Case(OF_INPUTS, given="inputs"),
}
IN_SPARK_STREAMS = {
    "rows by key": Case(BY_KEY),
    "all rows": Case(ALL_ROWS),
    "rows by key, in sequence": Case(BY_KEY, strategy="sequential"),
    "events by key": Case(EVENTS),
    "all events": Case(UNKEYED),
    "events with an absent one at the end": Case(ABSENT_AT_THE_END),
    "events that are consumed, by key": Case(CONSUMING_BY_KEY),
    "events that are filtered": Case(FILTERED),
    "events with a function of the user": Case(USER, functions=FUNCTIONS),
    "a stack of queries": Case(STACK),
    "events of several inputs": Case(OF_INPUTS, given="inputs"),
}
IN_PROCESS = {"in_process_memory": IN_MEMORY, "in_process_files": IN_FILES, "in_process_streams": IN_STREAMS}
SPARK = {"spark_batch": ON_SPARK, "spark_streams": IN_SPARK_STREAMS}


def text_of(group: Mapping[str, Case], plans: Callable[[Case], Sequence[PhysicalPlan]]) -> str:
    """The plans of a group, one after the other."""
    return "\n\n".join(part for name, case in group.items() for part in _parts(name, case, plans(case))) + "\n"


def _parts(name: str, case: Case, plans: Sequence[PhysicalPlan]) -> Iterator[str]:
    strategy = f'\nstrategy="{case.strategy}"' if case.strategy else ""
    yield f"{name}\n{'=' * len(name)}\n{case.text}{strategy}"
    for number, plan in enumerate(plans, 1):
        title = f"Work of {number} of {len(plans)}\n" if len(plans) > 1 else "Work\n"
        yield title + "\n".join(line.rstrip() for line in steps_text(work(plan)))


# -- in process


@cache
def table(rows: int) -> pa.Table:
    at = np.arange(rows)
    return pa.table(
        {
            "ts": pa.array(at * 1_000_000, pa.timestamp("us")),
            "type": pa.array(np.array(["A", "B", "C"])[at % 3]),
            "k": at % 7,
            "v": at % 11,
            "c": pa.array(np.array(["ab", "ac", "xyz"])[at % 3]),
        }
    )


def of_process(case: Case, folder: Path) -> list[PhysicalPlan]:
    """The plans of a case over a table or file; nothing is run."""
    data: Any = table(case.rows)
    if case.given == "file":
        path = folder / f"{case.rows}.parquet"
        pq.write_table(data, path)
        data = str(path)
    wanted = strategy_named(case.strategy)
    if case.given == "statement":
        statement = parse_statement(case.text, "duckdb")
        planned = duckdb.statement_plans(statement, {"t": data}, wanted=wanted, costs=case.costs)
    elif case.is_of_rows:
        planned = [duckdb.clause_plan(data, parse_clause(case.text), wanted=wanted, costs=case.costs)]
    else:
        if case.given == "inputs":
            data = {"Clicks": data.drop_columns("type"), "Buys": data.drop_columns("type")}
        queries = parsed_queries(case.text, "duckdb")
        assert isinstance(queries, list)
        planned = duckdb_events.stack_plans(data, queries, Stream(), case.functions, wanted=wanted, costs=case.costs)
    return [one.plan for one in planned]


def of_stream(case: Case) -> list[PhysicalPlan]:
    """The plan of a case over rows that are pushed."""
    schema: Any = table(case.rows).schema
    if case.given == "inputs":
        own = table(case.rows).drop_columns("type").schema
        schema = {"Clicks": own, "Buys": own}
    return [motif.Stream(case.text, schema, functions=dict(case.functions)).plan]


# -- on Spark


def in_utc(rows: pa.Table) -> pa.Table:
    """Times as Spark knows them."""
    return rows.set_column(0, "ts", rows.column("ts").cast(pa.timestamp("us", "UTC")))


def of_spark(case: Case, session: Any, folder: Path) -> list[PhysicalPlan]:
    """The plans of a case over DataFrames; no job is run."""
    frame = session.range(10_000).selectExpr(
        "timestamp_seconds(id) AS ts",
        "substr('ABC', id % 3 + 1, 1) AS type",
        "id % 7 AS k",
        "id % 11 AS v",
        "substr('abcabc', id % 3 + 1, 2) AS c",
    )
    if case.given == "files":
        path = str(folder / "rows.parquet")
        if not Path(path).exists():
            pq.write_table(in_utc(table(2_000)), path)
        frame = session.read.parquet(path)
    is_small = case.given in ("small", "files")
    session.conf.set("spark.motif.costs", "{}" if is_small else '{"one_task_bytes": 0}')
    return _explained(case, frame, session)


def of_spark_stream(case: Case, session: Any) -> list[PhysicalPlan]:
    """The plans of a case over streaming DataFrames; none is started."""
    frame = session.readStream.format("rate").load()
    columns = ("timestamp AS ts", "substr('ABC', value % 3 + 1, 1) AS type", "value AS k", "value AS v", "'ab' AS c")
    return _explained(case, frame.selectExpr(*columns), session)


def _explained(case: Case, frame: Any, session: Any) -> list[PhysicalPlan]:
    given: dict[str, Any] = {"functions": dict(case.functions)} if case.functions else {}
    if case.given == "statement":
        frame.createOrReplaceTempView("t")
        return list(motif.explain(case.text, spark=session, strategy=case.strategy).plans)
    if case.given == "inputs":
        frame = {"Clicks": frame.drop("type"), "Buys": frame.drop("type")}
    return list(motif.explain(case.text, data=frame, strategy=case.strategy, **given).plans)
