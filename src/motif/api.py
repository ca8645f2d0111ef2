"""The public functions, by host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from motif.arguments import check_session, check_tables, not_a_query, type_name
from motif.errors import Diagnostic, HostError, MotifError, MotifWarning, QuerySyntaxError, UnsupportedQuery
from motif.hosts.frames import is_path, like
from motif.ir.query import RowQuery
from motif.lang.builder import RowPattern
from motif.lang.snoop import diagnose_events, looks_like_events
from motif.lang.statement import diagnose, parse_clause, parse_statement
from motif.options import EventOptions, LiveOptions, event_parts, is_events, parsed_queries, tell_slips, text_of
from motif.plan.events.slips import tell_any_events
from motif.plan.physical.choose import strategy_named
from motif.plan.physical.costs import COSTS, Costs
from motif.plan.physical.plan import Strategy
from motif.slips import listening

if TYPE_CHECKING:
    from motif.explanation import Explanation
    from motif.hosts.duckdb_database import Progress
    from motif.recipes import Funnel
    from motif.report import Report


LONGEST_HEAD = 10_000
"""Characters of a text that tell what it is."""
_OF_EVENTS = frozenset({"SEQ", "TSEQ", "PICK", "CONSUMING", "WITHIN"})
"""Words that SQL around clauses does not have."""
EVENTS, LIVE = EventOptions(), LiveOptions()


def sql(
    query: str,
    *,
    tables: Mapping[str, Any] | None,
    spark: Any,
    live: LiveOptions = LIVE,
    strategy: str | None = None,
    progress: Progress | None = None,
    costs: Costs = COSTS,
) -> Any:
    """See `motif.sql`; `progress` is told how many rows more have been read; in process a plan is chosen by `costs`."""
    wanted = strategy_named(strategy)
    _one_host(tables, spark)
    _refuse_for_sql(query)
    if spark is not None:
        from motif.hosts.spark import stream

        return stream.run_statement(parse_statement(query, "spark"), spark, live, wanted)
    live.refuse_for_tables()
    from motif.hosts import duckdb

    statement = parse_statement(query, "duckdb")
    return duckdb.run_statement(statement, tables or {}, costs=costs, wanted=wanted, progress=progress)


def match(
    data: Any,
    query: Any,
    options: EventOptions = EVENTS,
    live: LiveOptions = LIVE,
    *,
    strategy: str | None = None,
    progress: Progress | None = None,
    costs: Costs = COSTS,
) -> Any:
    """See `motif.match`; `progress` is told how many more rows were read; in process a plan is chosen by `costs`."""
    wanted = strategy_named(strategy)
    if not _is_streaming(data):
        live.refuse_for_tables()
    if isinstance(query, str) and not is_events(query):
        options.refuse_for_rows()
        return _match_rows(data, query, live, wanted, costs)
    parsed = parsed_queries(query, _dialect(data))
    if isinstance(parsed, RowQuery):
        options.refuse_for_rows()
        return _match_rows(data, parsed, live, wanted, costs)
    tell_slips(parsed)
    if _is_streaming(data):
        from motif.hosts.spark import stream

        return stream.match_stack(data, parsed, options.stream, options.functions, live, wanted)
    if _on_spark(data):
        from motif.hosts.spark import events

        return events.match_stack(data, parsed, options.stream, options.functions, wanted)
    from motif.hosts import duckdb_events

    found = duckdb_events.match_stack(
        data, parsed, options.stream, options.functions, costs=costs, wanted=wanted, progress=progress
    )
    return like(found, _sample(data))


def show(query: Any, data: Any, options: EventOptions, title: str) -> Report:
    """See `motif.show`."""
    if not isinstance(title, str):
        raise MotifError(f"title= cannot be {type_name(title)}", hint="give a text")
    from motif import report

    if _on_spark(data):
        raise MotifError("a report is drawn in process", hint="take some of the rows: data.limit(100_000).toPandas()")
    if is_events(query):
        parsed = parsed_queries(query, "duckdb")
        assert isinstance(parsed, list)
        text = "\n".join(text_of(part, "duckdb") for part in event_parts(query, "duckdb"))
        return report.event_report(parsed, data, options, text=query if isinstance(query, str) else text, title=title)
    if query is None or isinstance(query, bytes | int | float | PathLike):
        raise not_a_query(query)
    if not isinstance(query, str | RowPattern):
        return report.result_report(query, data, options.stream.time, title=title)
    options.refuse_for_rows()
    text = query if isinstance(query, str) else query.text()
    if not text.strip():
        raise QuerySyntaxError("the query is empty", hint="write SELECT ... FROM table MATCH_RECOGNIZE (...)")
    if text.lstrip().upper().startswith("MATCH_RECOGNIZE"):
        return report.statement_report(f"SELECT *\nFROM data {text}", {"data": data}, title=title)
    if not isinstance(data, Mapping):
        raise MotifError("a statement names its tables", hint="give them by name: motif.show(query, {'trades': data})")
    return report.statement_report(text, data, title=title)


def funnel_counts(data: Any, question: Funnel) -> Any:
    """The keys that reach each step of a funnel."""
    if _is_streaming(data):
        raise UnsupportedQuery(
            "counts per step need all rows, and this is a stream",
            hint='take the tries, per="try", and count them where they are written',
        )
    if is_spark(data):
        from motif.hosts.spark import batch

        return batch.over(match(data, question.tries()), partial(question.counts, "spark"))
    from motif.hosts import duckdb

    statement = parse_statement(question.statement("duckdb"), "duckdb")
    found = duckdb.run_statement(statement, {"events": data})
    if 0 in found["reached"].to_pylist():  # nobody comes so far, or nothing is called so
        duckdb.statement_errors(statement, {"events": data}, rows=True)
    return like(found, data)


def _event_host(data: Any) -> Any:
    """The module that answers event queries over this data."""
    if _is_streaming(data):
        from motif.hosts.spark import stream

        return stream
    if _on_spark(data):
        from motif.hosts.spark import events

        return events
    from motif.hosts import duckdb_events

    return duckdb_events


def _row_host(data: Any) -> Any:
    """The module that answers clauses over this table."""
    if is_spark(data):
        from motif.hosts.spark import batch

        return batch
    from motif.hosts import duckdb

    return duckdb


def _dialect(data: Any) -> Literal["duckdb", "spark"]:
    return "spark" if _on_spark(data) else "duckdb"


def _match_rows(data: Any, clause: str | RowQuery, live: LiveOptions, wanted: Strategy | None, costs: Costs) -> Any:
    if is_spark(data):
        from motif.hosts.spark import batch, stream

        parsed = _clause(clause, "spark")
        if _is_streaming(data):
            return stream.match_frame(data, parsed, live, wanted)
        return batch.match_frame(data, parsed, wanted)
    from motif.hosts import duckdb

    query = _clause(clause, "duckdb")
    return like(duckdb.match_table(data, query, costs=costs, wanted=wanted), data)


def _clause(clause: str | RowQuery, dialect: Literal["duckdb", "spark"]) -> RowQuery:
    """A clause; of a text that rather is an event query, with what is wrong with it as such."""
    if not isinstance(clause, str):
        return clause
    try:
        return parse_clause(clause, dialect)
    except MotifError:
        if _is_statement(clause):
            way = "spark=spark" if dialect == "spark" else "tables={'trades': trades}"
            raise QuerySyntaxError(
                "this is an SQL statement, which names its tables, not a query for one table",
                hint=f"give it to motif.sql(query, {way})",
            ) from None
        if looks_like_events(clause) and (found := diagnose_events(clause, dialect)):
            raise found[0] from None
        raise


def _on_spark(data: Any) -> bool:
    return any(is_spark(part) for part in data.values()) if isinstance(data, Mapping) else is_spark(data)


def _is_streaming(data: Any) -> bool:
    parts = data.values() if isinstance(data, Mapping) else [data]
    return any(is_spark(part) and getattr(part, "isStreaming", False) for part in parts)


def _sample(data: Any) -> Any:
    """The input whose kind the result takes."""
    return next(iter(data.values()), None) if isinstance(data, Mapping) else data


def explain(
    query: Any,
    *,
    tables: Mapping[str, Any] | None,
    spark: Any,
    data: Any,
    options: EventOptions,
    strategy: str | None = None,
    analyze: bool = False,
) -> Explanation:
    """See `motif.explain`."""
    from motif import explanation

    wanted = strategy_named(strategy)
    if analyze:
        return _analyzed(query, tables, spark, data, options, wanted)
    if is_events(query):
        events = _inputs(tables, spark, data)
        parsed = parsed_queries(query, _dialect(events))
        assert isinstance(parsed, list)
        if events is None:
            return explanation.explain_event_text(parsed, options)
        host = _event_host(events)
        return explanation.explain_events(
            host.stack_plans(events, parsed, options.stream, options.functions, wanted=wanted)
        )
    if data is not None:
        clause = _clause_over(data, query, tables, spark, options)
        return explanation.explain_clause(_row_host(data).clause_plan(data, clause, wanted=wanted))
    text = _statement_text(query, tables, spark, options)
    if spark is not None:
        from motif.hosts.spark import batch

        statement = parse_statement(text, "spark")
        return explanation.explain_statement(statement, batch.statement_plans(statement, spark, wanted=wanted))
    if tables:
        from motif.hosts import duckdb

        statement = parse_statement(text, "duckdb")
        return explanation.explain_statement(statement, duckdb.statement_plans(statement, tables, wanted=wanted))
    if _begins_clause(text):
        return explanation.explain_clause_text(parse_clause(text, "duckdb"))
    return explanation.explain_statement_text(parse_statement(text, "duckdb"))


def _analyzed(
    query: Any,
    tables: Mapping[str, Any] | None,
    spark: Any,
    data: Any,
    options: EventOptions,
    wanted: Strategy | None,
) -> Explanation:
    """The query is run, and what it did is shown beside its plan."""
    from motif import explanation

    if not tables and spark is None and data is None:
        raise MotifError("analyze= runs the query, and there are no rows", hint="give tables=, spark= or data=")
    if is_events(query):
        events = _inputs(tables, spark, data)
        parsed = parsed_queries(query, _dialect(events))
        assert isinstance(parsed, list)
        ran = _analyzing(events).stack(events, parsed, options.stream, options.functions, wanted)
        return explanation.with_runs(explanation.explain_events(ran[0]), *ran)
    if data is not None:
        clause = _clause_over(data, query, tables, spark, options)
        ran = _analyzing(data).clause(data, clause, wanted)
        return explanation.with_runs(explanation.explain_clause(ran[0][-1]), *ran)
    text = _statement_text(query, tables, spark, options)
    if spark is not None:
        from motif.hosts.spark import analysis

        statement = parse_statement(text, "spark")
        ran = analysis.statement(statement, spark, wanted)
        return explanation.with_runs(explanation.explain_statement(statement, ran[0]), *ran)
    from motif.hosts import duckdb_analysis

    statement = parse_statement(text, "duckdb")
    ran = duckdb_analysis.statement(statement, tables or {}, wanted)
    return explanation.with_runs(explanation.explain_statement(statement, ran[0]), *ran)


def _analyzing(data: Any) -> Any:
    """The module that runs queries over this data to see what they do."""
    if _on_spark(data):
        from motif.hosts.spark import analysis

        return analysis
    from motif.hosts import duckdb_analysis

    return duckdb_analysis


def check(
    query: Any,
    *,
    tables: Mapping[str, Any] | None,
    spark: Any,
    data: Any,
    options: EventOptions,
    strict: bool = False,
    rows: bool = False,
) -> list[Diagnostic]:
    """See `motif.check`."""
    if rows and tables is None and spark is None and data is None:
        raise MotifError("rows= reads the rows of tables, and there are none", hint="give tables=, spark= or data=")
    slips: list[MotifWarning] = []
    with listening(slips.append):
        try:
            errors = _errors(query, tables, spark, data, options, rows=rows)
        except HostError as error:
            errors = [error.as_error()]
    found = [*errors, *((slip.as_error() if strict else slip) for slip in slips)]
    return [one.diagnostic() for one in found]


def _errors(
    query: Any, tables: Mapping[str, Any] | None, spark: Any, data: Any, options: EventOptions, *, rows: bool
) -> list[MotifError]:
    if is_events(query):
        return _event_errors(query, _inputs(tables, spark, data), options, rows=rows)
    if data is not None:
        return _clause_errors(query, tables, spark, data, options, rows=rows)
    text = _statement_text(query, tables, spark, options)
    errors = diagnose(text, "spark" if spark is not None else "duckdb")
    if not errors and (tables is not None or spark is not None):
        errors = _host_errors(text, tables, spark, rows=rows)
    return errors


def _event_errors(query: Any, data: Any, options: EventOptions, *, rows: bool) -> list[MotifError]:
    dialect = _dialect(data)
    try:
        texts = [text_of(part, dialect) for part in event_parts(query, dialect)]
        errors = [error for text in texts for error in diagnose_events(text, dialect)]
        if errors:
            return errors
        parsed = parsed_queries(query, dialect)
    except MotifError as error:
        return [error]
    assert isinstance(parsed, list)
    tell_slips(parsed)
    if data is None:
        for one in parsed:
            tell_any_events(one, options.type)
        return []
    find = _event_host(data).stack_errors
    found: list[MotifError] = find(data, parsed, options.stream, options.functions, rows=rows)
    return found


def _inputs(tables: Mapping[str, Any] | None, spark: Any, data: Any) -> Any:
    """The events of an event query: `data`, or `tables` as a mapping of inputs."""
    if tables is not None:
        check_tables("tables=", tables)
    if spark is not None:
        raise MotifError("spark= is for SQL statements", hint="give the events themselves: data=spark.table('events')")
    if tables is not None and data is not None:
        raise MotifError("tables= and data= do not go together", hint="give the events of an event query as data=")
    return tables if data is None else data


def _statement_text(query: Any, tables: Mapping[str, Any] | None, spark: Any, options: EventOptions) -> str:
    """The text of a statement or a clause, once what does not belong to it is refused."""
    options.refuse_for_rows()
    _one_host(tables, spark)
    text = query.text("spark" if spark is not None else "duckdb") if isinstance(query, RowPattern) else query
    if not isinstance(text, str):
        raise not_a_query(query)
    if _begins_clause(text) and not (tables is None and spark is None):
        raise QuerySyntaxError(
            "this is a clause, which names no table",
            hint="give its table as data=, or write SELECT * FROM table MATCH_RECOGNIZE (...)",
        )
    return text


def _clause_over(
    data: Any, query: Any, tables: Mapping[str, Any] | None, spark: Any, options: EventOptions
) -> RowQuery:
    """A clause for one table, as `match` takes it."""
    options.refuse_for_rows()
    if tables is not None or spark is not None:
        other = "spark=" if tables is None else "tables="
        raise MotifError(
            f"data= and {other} do not go together", hint="data= is for a clause, the other for statements"
        )
    if not isinstance(query, str | RowPattern):
        raise not_a_query(query)
    return query.query if isinstance(query, RowPattern) else _clause(query, _dialect(data))


def _clause_errors(
    query: Any, tables: Mapping[str, Any] | None, spark: Any, data: Any, options: EventOptions, *, rows: bool
) -> list[MotifError]:
    if isinstance(query, str) and _begins_clause(query) and (errors := diagnose(query, _dialect(data))):
        return errors
    try:
        clause = _clause_over(data, query, tables, spark, options)
    except QuerySyntaxError as error:
        return [error]
    found: list[MotifError] = _row_host(data).clause_errors(data, clause, rows=rows)
    return found


def _host_errors(query: str, tables: Mapping[str, Any] | None, spark: Any, *, rows: bool) -> list[MotifError]:
    if spark is not None:
        from motif.hosts.spark import batch

        return batch.statement_errors(parse_statement(query, "spark"), spark, rows=rows)
    from motif.hosts import duckdb

    return duckdb.statement_errors(parse_statement(query, "duckdb"), tables or {}, rows=rows)


def is_spark(data: object) -> bool:
    """A Spark DataFrame, classic or Connect."""
    return not is_path(data) and type(data).__module__.startswith("pyspark.")


def _begins_clause(text: str) -> bool:
    return text.split("(", maxsplit=1)[0].strip().upper() == "MATCH_RECOGNIZE"


def _is_statement(text: str) -> bool:
    """Whether it is SQL around clauses, or without any."""
    words = re.findall(r"\w+", re.sub(r"--[^\n]*|/\*.*?\*/", " ", text[:LONGEST_HEAD], flags=re.DOTALL).upper())
    begins = words[:1] in (["SELECT"], ["WITH"], ["FROM"])
    return begins and ("MATCH_RECOGNIZE" in words or (words[0] != "FROM" and _OF_EVENTS.isdisjoint(words)))


def _refuse_for_sql(query: object) -> None:
    """What is a query, but no statement."""
    if is_events(query):
        raise QuerySyntaxError(
            "this is a query of the event language, not an SQL statement", hint="give it to motif.match(events, query)"
        )
    if isinstance(query, RowPattern):
        raise QuerySyntaxError("this is a clause, not an SQL statement", hint="give it to motif.match(table, clause)")
    if not isinstance(query, str):
        raise not_a_query(query)
    if _begins_clause(query):
        raise QuerySyntaxError(
            "this is a clause, not an SQL statement",
            hint="give it to motif.match(table, clause), or write SELECT * FROM table MATCH_RECOGNIZE (...)",
        )


def _one_host(tables: Mapping[str, Any] | None, spark: Any) -> None:
    if tables is not None:
        check_tables("tables=", tables)
    if spark is not None:
        check_session("spark=", spark)
    if tables is not None and spark is not None:
        raise MotifError("tables= and spark= do not go together", hint="make the tables views of the Spark session")
