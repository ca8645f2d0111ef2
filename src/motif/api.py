"""The public functions, by host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from motif.errors import Diagnostic, MotifError
from motif.hosts.frames import is_path, like
from motif.lang.statement import diagnose, parse_clause, parse_statement

if TYPE_CHECKING:
    from motif.explanation import Explanation


def sql(query: str, *, tables: Mapping[str, Any] | None, spark: Any) -> Any:
    """See `motif.sql`."""
    _one_host(tables, spark)
    if spark is not None:
        from motif.hosts.spark import batch

        return batch.run_statement(parse_statement(query, "spark"), spark)
    from motif.hosts import duckdb

    return duckdb.run_statement(parse_statement(query, "duckdb"), tables or {})


def match(data: Any, clause: str, **options: Any) -> Any:
    """See `motif.match`."""
    if options:
        raise MotifError(f"unknown option {next(iter(options))}", hint="MATCH_RECOGNIZE takes no options")
    if is_spark(data):
        from motif.hosts.spark import batch

        return batch.match_frame(data, parse_clause(clause, "spark"))
    from motif.hosts import duckdb

    return like(duckdb.match_table(data, parse_clause(clause, "duckdb")), data)


def explain(query: str, *, tables: Mapping[str, Any] | None, spark: Any) -> Explanation:
    """See `motif.explain`."""
    from motif.explanation import explain_statement

    _one_host(tables, spark)
    return explain_statement(query, tables or {}, spark)


def check(query: str, *, tables: Mapping[str, Any] | None, spark: Any) -> list[Diagnostic]:
    """See `motif.check`."""
    _one_host(tables, spark)
    errors = diagnose(query, "spark" if spark is not None else "duckdb")
    if not errors and (tables is not None or spark is not None):
        errors = _host_errors(query, tables, spark)
    return [error.diagnostic() for error in errors]


def _host_errors(query: str, tables: Mapping[str, Any] | None, spark: Any) -> list[MotifError]:
    if spark is not None:
        from motif.hosts.spark import batch

        return batch.statement_errors(parse_statement(query, "spark"), spark)
    from motif.hosts import duckdb

    return duckdb.statement_errors(parse_statement(query, "duckdb"), tables or {})


def is_spark(data: object) -> bool:
    """A Spark DataFrame, classic or Connect."""
    return not is_path(data) and type(data).__module__.startswith("pyspark.")


def _one_host(tables: Mapping[str, Any] | None, spark: Any) -> None:
    if tables is not None and spark is not None:
        raise MotifError("tables= and spark= do not go together", hint="make the tables views of the Spark session")
