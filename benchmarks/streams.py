"""Contenders that take events as they come, in process. What each returns is added to its measurement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from bench import Bench

Figures = dict[str, Any]
Contender = Callable[["Bench"], Figures]
WARM = 1_000
"""Pushes of single rows before latency counts."""
FEWEST = 8
"""Batches from which on the first and the last ones are compared."""


def pushed(bench: Bench) -> Figures:
    """The whole table in batches, reading and closing included."""
    table, workload = _table(bench), bench.workload
    stream = _stream(bench, table.schema)
    found, seconds, state = 0, [], []
    for start in range(0, table.num_rows, workload.batch):
        begin = time.perf_counter()
        found += stream.push(table.slice(start, workload.batch)).num_rows
        seconds.append(time.perf_counter() - begin)
        state.append(stream.status.state_bytes)
    live = stream.status.live
    if workload.left not in (None, live):
        raise ValueError(f"{live} events are kept at the end, not {workload.left}")
    return {"answer": found + stream.close().num_rows, **course(seconds, state), "final_state_mb": state[-1] / 1e6}


def latency(bench: Bench) -> Figures:
    """Row by row: how long a push takes, matches and all."""
    table = _table(bench)
    stream = _stream(bench, table.schema)
    found, seconds = 0, []
    for row in table.to_pylist():
        begin = time.perf_counter()
        found += stream.push(row).num_rows
        seconds.append(time.perf_counter() - begin)
    warm = sorted(seconds[WARM:])
    return {
        "wall_s": sum(seconds),
        "answer": found + stream.close().num_rows,
        "median_ms": median(warm) * 1e3,
        "p99_ms": warm[len(warm) * 99 // 100] * 1e3,
    }


def batch(bench: Bench) -> Figures:
    """The same query over the table as a whole."""
    import motif

    return {"answer": motif.match(bench.file, bench.query, **columns(bench)).num_rows}


def course(seconds: Sequence[float], state: Sequence[int]) -> Figures:
    """How the time of a batch and the bytes of state went: the last quarter of the stream over the second one."""
    peak = {"peak_state_mb": max(state) / 1e6} if state else {}
    if len(seconds) < FEWEST:
        return peak
    return peak | {"time_growth": _growth(seconds)} | ({"state_growth": _growth(state)} if state else {})


def _growth(values: Sequence[float]) -> float:
    quarter = len(values) // 4
    return median(values[-quarter:]) / max(median(values[quarter : 2 * quarter]), 1e-9)


def columns(bench: Bench) -> Figures:
    """The columns with time and class, which a clause names by itself."""
    is_clause = bench.query.lstrip().startswith("MATCH_RECOGNIZE")
    return {} if is_clause else {"time": bench.workload.time, "type": bench.workload.type}


def _table(bench: Bench) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(bench.file)


def _stream(bench: Bench, schema: pa.Schema) -> Any:
    import motif

    return motif.Stream(bench.query, schema, **columns(bench))


CONTENDERS: dict[str, Contender] = {"pushed": pushed, "latency": latency, "batch": batch}
