"""Event queries on the command line: their options, their inputs, and where they run."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from motif.cli import screen
from motif.cli.files import rows_of
from motif.errors import Diagnostic, MotifError
from motif.hosts.given_files import Files
from motif.ir.event import EventQuery
from motif.options import EventOptions, parsed_queries

if TYPE_CHECKING:
    import pyarrow as pa

    from motif.explanation import Explanation


def event_options(
    time_column: str | None, type_column: str | None, order_by: Sequence[str] | None, functions: str | None
) -> EventOptions:
    """`--time`, `--type`, `--order-by` and `--functions`."""
    names = [name.strip() for item in order_by or () for name in item.split(",") if name.strip()]
    return EventOptions(time_column, type_column, names, functions_of(functions) if functions else {})


def functions_of(name: str) -> dict[str, Callable[..., Any]]:
    """The public functions of a Python file or a module."""
    module = _file_module(Path(name)) if name.endswith(".py") else _named_module(name)
    found = {key: value for key, value in vars(module).items() if _is_function(value) and not key.startswith("_")}
    if not found:
        raise MotifError(f"there is no function in {name}", hint="define one: def matches(a, b): ...")
    return found


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _file_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise MotifError(f"there is no file {path}", hint="--functions takes a Python file or the name of a module")
    # Not in sys.modules: Spark then sends the functions themselves to its workers, not the name of the module.
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MotifError(f"cannot load {path}: {type(error).__name__}: {error}") from error
    return module


def _named_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        hint = "--functions takes a Python file or the name of a module"
        raise MotifError(f"cannot import {name}: {error}", hint=hint) from error


def inputs(tables: Mapping[str, Any], queries: Sequence[EventQuery]) -> Any:
    """One file without classes is just the events; else the name of a table is the class of events without one."""
    classed = any(event.type is not None for query in queries for event in (*query.events(), *query.negated()))
    elsewhere = any(query.input is not None and query.input not in tables for query in queries)
    return next(iter(tables.values())) if len(tables) == 1 and not classed and not elsewhere else dict(tables)


def _needed(tables: Mapping[str, Any]) -> None:
    if not tables:
        raise MotifError("there are no events to look at", hint="name a file: --table events=events.csv")


# -- run ------------------------------------------------------------------------------------------------


def run_in_process(
    text: str, tables: dict[str, Files], options: EventOptions, strategy: str | None
) -> tuple[pa.Table, int, float]:
    """The matches, the number of candidate events, and the seconds it took."""
    from motif import api

    queries = parsed(text, "duckdb")
    _needed(tables)
    begin = time.perf_counter()
    with screen.Waiting("matching", rows_of(tables)) as waiting:
        table = api.match(inputs(tables, queries), text, options, strategy=strategy, progress=waiting.advance)
    return table, waiting.rows, time.perf_counter() - begin


def run_on_spark(
    text: str, tables: dict[str, Files], options: EventOptions, strategy: str | None
) -> tuple[pa.Table, int, float]:
    """The same on a local Spark; events that are counted are those of the files."""
    from motif import api
    from motif.cli.on_spark import collected, frames_of, spark_with

    queries = parsed(text, "spark")
    _needed(tables)
    with screen.Waiting("running on Spark"), spark_with(tables) as session:
        frames = frames_of(session, tables)
        begin = time.perf_counter()
        table = collected(api.match(inputs(frames, queries), text, options, strategy=strategy))
        seconds = time.perf_counter() - begin
        return table, sum(frame.count() for frame in frames.values()), seconds


def parsed(text: str, dialect: Any = "duckdb") -> list[EventQuery]:
    """The queries of a text."""
    queries = parsed_queries(text, dialect)
    assert isinstance(queries, list)
    return queries


# -- check, explain ---------------------------------------------------------------------------------------


def mistakes(
    text: str, tables: dict[str, Files], options: EventOptions, *, on_spark: bool, rows: bool = False
) -> list[Diagnostic]:
    """Everything that is wrong with the queries of a text, and likely slips."""
    from motif import api

    found = api.check(text, tables=None, spark=None, data=None, options=options)
    if not tables or any(one.severity == "error" for one in found):
        return found
    if not on_spark:
        here = inputs(tables, parsed(text, "duckdb"))
        return api.check(text, tables=None, spark=None, data=here, options=options, rows=rows)
    from motif.cli.on_spark import frames_of, spark_with

    with screen.Waiting("checking on Spark"), spark_with(tables) as session:
        data = inputs(frames_of(session, tables), parsed(text, "spark"))
        return api.check(text, tables=None, spark=None, data=data, options=options, rows=rows)


def plan(text: str, tables: dict[str, Files], explain: Callable[..., Explanation], *, on_spark: bool) -> Explanation:
    """How the queries of a text will be answered, as `explain` says."""
    if not on_spark or not tables:
        data = inputs(tables, parsed(text, "duckdb")) if tables else None
        return explain(text, tables=None, spark=None, data=data)
    from motif.cli.on_spark import frames_of, spark_with

    with screen.Waiting("planning on Spark"), spark_with(tables) as session:
        data = inputs(frames_of(session, tables), parsed(text, "spark"))
        return explain(text, tables=None, spark=None, data=data)
