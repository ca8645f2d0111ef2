"""Sub-queries of a clause are judged on their own, before anything else: they read tables, and nothing of the match."""

from __future__ import annotations

import re

from motif.errors import MotifError, Span, UnsupportedQuery
from motif.ir.expr import SubQuery
from motif.ir.nested import beyond_in, sub_queries
from motif.ir.query import RowQuery
from motif.plan.source import HostRefusal, QueryRefusal, Source

_JOIN = "join what it looks for to the table, in a sub-query in front of the clause"


def check_queries(query: RowQuery, source: Source) -> None:
    """Raise what is wrong with the first sub-query that the host does not take by itself."""
    variables = {*query.variables(), *(subset.name for subset in query.subsets)}
    if source.dialect == "spark" and (among := beyond_in(query)) is not None:
        what = "IN of a row of values" if among.parts[1] == " IN " else among.parts[1].split()[1]
        raise UnsupportedQuery(
            f"not supported on Spark: {what} with a sub-query",
            source=query.source,
            span=among.span,
            hint="join the table in front of the clause, or compare with (SELECT max(x) FROM ...)",
        )
    for node in sub_queries(query):
        refusal = source.query_refusal(node.text)
        if refusal is not None:
            raise _told(node, refusal, variables, query.source, source)


def _told(node: SubQuery, refusal: QueryRefusal, variables: set[str], text: str, source: Source) -> MotifError:
    span = _place(node, refusal, text) or node.span
    blamed = text[span.start : span.end] if span is not None else ""
    reads = re.match(r"\s*(\w+)\s*\.\s*\w+", text[span.start :]) if span is not None and span != node.span else None
    if reads is not None and reads[1].upper() in variables:
        end = span.start + reads.end() if span is not None else 0
        return _correlated(f" {reads[0].strip()}", text, Span(end - len(reads[0].lstrip()), end))
    if isinstance(refusal.error, UnsupportedQuery) or not _is_taken_inside(node, source):
        error = refusal.error
        return type(error)(error.message, source=text, span=span, hint=error.hint)
    return _correlated(f" {blamed}" if span != node.span else "", text, span)


def _correlated(what: str, text: str, span: Span | None) -> MotifError:
    message = f"a sub-query can not read{what or ' columns'} of the match: it is worked out once"
    return UnsupportedQuery(message, source=text, span=span, hint=_JOIN)


def _is_taken_inside(node: SubQuery, source: Source) -> bool:
    """Whether the columns of the input are what it lacks."""
    try:
        source.types_of([SubQuery(node.text, exists=True)])
    except HostRefusal:
        return False
    return True


def _place(node: SubQuery, refusal: QueryRefusal, text: str) -> Span | None:
    """What the host points at, in the text of the whole query."""
    if refusal.position is None or node.span is None:
        return None
    written = node.span.end - 1 - node.start
    wrapped = len(node.text) != written
    start = node.start + refusal.position - (len(node.text) - written - wrapped)
    if not node.start <= start < node.span.end:
        return None
    name = re.match(r"[\w.]+", text[start:])
    return Span(start, start + max(refusal.length, len(name[0]) if name else 1))
