"""Random queries over random partitions: every engine must give what the reference gives.

`python -m motif.testing.fuzz --cases 100000` runs a campaign; a case is one query over one partition. A difference is
printed with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa

from motif.engine import pieces
from motif.engine.execution import Execution
from motif.engine.session import Session
from motif.errors import LimitExceeded, MotifError, QueryDataError, UnsupportedQuery
from motif.hosts import duckdb
from motif.hosts.duckdb_database import Database, quoted
from motif.ir.query import RowQuery
from motif.lang.lexer import Dialect
from motif.lang.statement import parse_statement
from motif.plan.physical.costs import COSTS, HASTY, PLAIN, Costs
from motif.plan.physical.exact import why_not_pieces
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.testing.cases import same_in_order, same_rows
from motif.testing.features import features
from motif.testing.generate import random_example
from motif.testing.random_expr import SUB_QUERIES
from motif.testing.reference import match_rows
from motif.testing.tables import to_arrow

Rows = list[dict[str, object]]
PARTITIONS = 60
REFERENCE_STEPS = 20_000
LONG_SEARCHES = (COSTS.long_search_steps, 0)
"""Half of the queries remember dead ends from the first step on, which otherwise only long searches do."""


@dataclass(slots=True)
class Tally:
    """What a campaign has seen."""

    queries: int = 0
    cases: int = 0
    matched: int = 0
    errors: int = 0
    refused: int = 0
    """Queries with a host function over several rows, which Motif does not offer."""
    too_long: int = 0
    """Queries on which the reference would take for ever."""
    features: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take over another tally."""
        self.queries += other.queries
        self.cases += other.cases
        self.matched += other.matched
        self.errors += other.errors
        self.refused += other.refused
        self.too_long += other.too_long
        self.features.update(other.features)
        self.differences += other.differences


@cache
def _database() -> Database:
    """One connection per process: opening one costs more than a query."""
    return Database({})


def memory_source(table: pa.Table) -> duckdb.DuckSource:
    """A table as the input of a query."""
    _database().add("data", table)
    return duckdb.DuckSource(_database(), "", quoted("data"))


def read(clause: str, dialect: Dialect = "duckdb") -> RowQuery:
    """The clause as part of a statement."""
    return parse_statement(f"SELECT * FROM data {clause}", dialect).clauses[0].query


def by_reference(query: RowQuery, rows: Rows, table: pa.Table) -> Rows | str:
    """The reference's rows, or the name of its error."""
    try:
        return match_rows(query, rows, table.column_names, steps=REFERENCE_STEPS, queries=SUB_QUERIES)
    except QueryDataError as error:
        return type(error).__name__


def by_engine(
    program: Program, source: duckdb.DuckSource, costs: Costs, cut: random.Random | None = None
) -> Rows | str:
    """The engine's rows on DuckDB; with `cut` fed in random pieces."""
    try:
        if cut is None:
            return list(duckdb.run_program(program, source, costs=costs).to_pylist())
        rows = source.database.table(duckdb.input_sql(program, source))
        session = Session(program, Execution.of(program, replace(costs, run_rows=1)))
        leaves = pa.concat_tables(_piecewise(session, rows, cut))
        return list(duckdb.final_columns(program, source, leaves).to_pylist())
    except QueryDataError as error:
        return type(error).__name__


def _piecewise(session: Session, rows: pa.Table, rng: random.Random) -> Iterator[pa.Table]:
    position = 0
    yield from session.feed(rows.slice(0, 0))
    while position < rows.num_rows:
        size = rng.choice((1, 1, 2, 3, 7, 50))
        yield from session.feed(rows.slice(position, size))
        position += size
    yield from session.finish()


def by_pieces(program: Program, source: duckdb.DuckSource, costs: Costs, rng: random.Random) -> Rows | str:
    """The engine's rows where threads share one sequence, cut anywhere."""
    rows = source.database.table(duckdb.input_sql(program, source))
    execution = Execution.of(program, replace(costs, overlap_rows=rng.choice((1, 3, 1_000))))
    size, at_once = rng.choice((1, 2, 3, 7)), rng.randint(1, 5)
    try:
        leaves = pieces.leaves_by_piece(program, rows, execution, size=size, at_once=at_once)
        return list(duckdb.final_columns(program, source, pa.concat_tables(leaves)).to_pylist())
    except QueryDataError as error:
        return type(error).__name__


def check_seed(seed: int, *, compiled: bool) -> Tally:
    """One random query over its partitions, on every way to run it that is cheap enough."""
    rng = random.Random(seed)
    clause, rows = random_example(rng, PARTITIONS, with_queries=seed % 3 == 0)
    tally = Tally(queries=1)
    try:
        query = read(clause)
        table = to_arrow(rows)
        expected = by_reference(query, rows, table)
        source = memory_source(table)
        program = plan(query, source)
        plain = replace(PLAIN, long_search_steps=LONG_SEARCHES[seed % 2])
        ways = {"plain": by_engine(program, source, plain)}
        # A row-only query uses the one compiled loop there is; others would be compiled each.
        if compiled:
            ways["compiled"] = by_engine(program, source, replace(plain, compile_rows=0))
            ways["compiled after a while"] = by_engine(
                program, source, replace(HASTY, long_search_steps=plain.long_search_steps)
            )
        if seed % 5 == 0:
            ways["fed in pieces"] = by_engine(program, source, plain, rng)
        if table.num_rows and why_not_pieces(program) is None:
            ways["shared in pieces"] = by_pieces(program, source, plain, rng)
    except UnsupportedQuery:
        tally.refused += 1
        return tally
    except LimitExceeded:
        tally.too_long += 1
        return tally
    except MotifError as error:
        tally.differences.append(f"seed {seed}: refused\n{clause}\n{error}")
        return tally
    except Exception:  # noqa: BLE001 - a campaign reports crashes of any kind
        tally.differences.append(f"seed {seed}: crashed\n{clause}\n{traceback.format_exc(limit=-6)}")
        return tally
    tally.cases = PARTITIONS if query.partition else 1
    tally.features.update(features(query))
    tally.errors += isinstance(expected, str)
    tally.matched += not isinstance(expected, str) and bool(expected)
    for name, got in ways.items():
        if not same_answer(expected, got):
            tally.differences.append(
                f"seed {seed}: {name} differs from the reference\n{clause}\n{_brief(expected, got)}"
            )
    return tally


def same_answer(expected: Rows | str, got: Rows | str) -> bool:
    """The same rows and columns, or the same error."""
    if isinstance(expected, str) or isinstance(got, str):
        return expected == got
    if expected and got and list(expected[0]) != list(got[0]):
        return False
    return same_in_order(expected, got)


def _brief(expected: Rows | str, got: Rows | str) -> str:
    if isinstance(expected, str) or isinstance(got, str):
        said = ["rows" if not isinstance(answer, str) else answer for answer in (expected, got)]
        return f"  expected {said[0]}, got {said[1]}"
    missing = [row for row in expected if not any(same_rows([row], [other]) for other in got)]
    extra = [row for row in got if not any(same_rows([row], [other]) for other in expected)]
    found = f"  expected {len(expected)} rows, got {len(got)}"
    if not missing and not extra:
        return f"{found}, in another order\n  expected {expected[:5]}\n  got {got[:5]}"
    return f"{found}\n  missing {missing[:3]}\n  extra {extra[:3]}"


Check = Callable[..., Tally]
"""Checks one seed; `compiled` asks for the compiled engine too."""


def campaign(
    first: int, count: int, *, compiled_every: int = 0, stop_after: int = 5, check: Check = check_seed
) -> Tally:
    """Check seeds one after the other; every `compiled_every`-th also compiled."""
    tally = Tally()
    for seed in range(first, first + count):
        tally.add(check(seed, compiled=bool(compiled_every) and seed % compiled_every == 0))
        if len(tally.differences) >= stop_after:
            break
    return tally


def _chunk(job: tuple[int, int, int, Check]) -> Tally:
    return campaign(job[0], job[1], compiled_every=job[2], check=job[3])


def run_campaign(check: Check, per_query: int, arguments: list[str] | None, description: str) -> int:
    """Run a campaign on several processes and report it; a query gives about `per_query` cases."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=20_000, help="query x partition pairs")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compiled-every", type=int, default=0, help="also compile the kernel of every n-th query")
    options = parser.parse_args(arguments)
    queries = -(-options.cases // per_query)
    jobs = [
        (first, min(50, options.seed + queries - first), options.compiled_every, check)
        for first in range(options.seed, options.seed + queries, 50)
    ]
    total, began = Tally(), time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        for tally in pool.map(_chunk, jobs):
            total.add(tally)
            if total.differences:
                pool.shutdown(cancel_futures=True)
                break
    return report(total, time.monotonic() - began)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on row patterns."""
    # Some queries have one partition, or are refused.
    return run_campaign(check_seed, PARTITIONS - 8, arguments, __doc__ or "")


def report(total: Tally, seconds: float) -> int:
    """Print what was seen; 1 if anything differed."""
    print(f"{total.cases} cases ({total.queries} queries) in {seconds:.0f} s, {total.cases / max(seconds, 1e-9):.0f}/s")
    print(f"queries with matches {total.matched / max(total.queries, 1):.1%}, with a data error {total.errors}")
    print(f"queries refused as unsupported {total.refused}, too long for the reference {total.too_long}")
    for name, count in sorted(total.features.items()):
        print(f"  {name:<40} {count / max(total.queries, 1):7.2%}")
    print(f"{len(total.differences)} differences")
    for difference in total.differences[:5]:
        print(difference)
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
