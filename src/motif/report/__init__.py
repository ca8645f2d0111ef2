"""A page that draws the matches of a query on their time line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from motif.errors import MotifError

_MOST_CHARS = 1_400_000
"""Data of all clauses together; the page stays below 2 MB."""


def write_report(path: str | Path, query: str, tables: Mapping[str, Any], *, title: str | None = None) -> Path:
    """Run the query in process and write the page; it appears only when it is complete."""
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    text = report_page(query, tables, title=title)
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        raise MotifError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def report_page(query: str, tables: Mapping[str, Any], *, title: str | None = None) -> str:
    """The page as text."""
    from motif.explanation.hosts import duckdb_facts
    from motif.hosts import duckdb
    from motif.hosts.duckdb_database import Database
    from motif.lang.statement import parse_statement
    from motif.report.data import clause_data
    from motif.report.page import ClausePart, render
    from motif.report.sample import Sampler

    statement = parse_statement(query, "duckdb")
    facts = duckdb_facts(statement, tables)
    database = Database(tables)
    parts = []
    for clause, known in zip(statement.clauses, facts, strict=True):
        program, source = duckdb.plan_clause(database, statement, clause)
        sample = Sampler(database, source, program).sample()
        parts.append(ClausePart(known, sample.counts, clause_data(sample, _MOST_CHARS // len(facts))))
        if clause is not statement.clauses[-1]:
            database.add(clause.name, duckdb.run_program(program, source))
    return render(title or "Matches", query, parts)
