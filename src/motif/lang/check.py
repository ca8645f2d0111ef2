"""Checks of a clause that need no table: names of variables, subsets and measures.

Expects a `RowQuery` whose parts were read without error. Returns all that is wrong, first to last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from motif.errors import MotifError, QueryBindError, Span, did_you_mean
from motif.ir.pattern import Exclude, walk
from motif.ir.query import RowQuery, Rows


def check_query(query: RowQuery) -> list[MotifError]:
    """All mistakes in the names of a clause."""
    found: list[MotifError] = []
    for check in (_defines, _subsets, _skip, _output_names, _exclusion):
        found.extend(check(query))
    return found


def _error(query: RowQuery, message: str, span: Span | None, hint: str | None) -> MotifError:
    return QueryBindError(message, source=query.source, span=span, hint=hint)


def _defines(query: RowQuery) -> Iterator[MotifError]:
    known = query.variables()
    subsets = {subset.name for subset in query.subsets}
    seen: set[str] = set()
    for define in query.defines:
        if define.var in seen:
            hint = "join both conditions with AND or OR"
            yield _error(query, f"{define.var} is defined twice", define.span, hint)
        elif define.var in subsets:
            hint = "define the variables it is made of"
            yield _error(query, f"{define.var} is a SUBSET and can not be defined", define.span, hint)
        elif define.var not in known:
            # A variable without DEFINE matches every row, so a typo here would go unnoticed.
            message = f"{define.var} is defined but not used in PATTERN"
            yield _error(query, message, define.span, did_you_mean(define.var, known))
        seen.add(define.var)


def _subsets(query: RowQuery) -> Iterator[MotifError]:
    known = query.variables()
    seen: set[str] = set()
    for subset in query.subsets:
        if subset.name in known:
            hint = "give the SUBSET another name"
            yield _error(query, f"SUBSET {subset.name} has the name of a pattern variable", subset.span, hint)
        elif subset.name in seen:
            yield _error(query, f"SUBSET {subset.name} is given twice", subset.span, "keep one of them")
        seen.add(subset.name)
        for member in subset.members:
            if member not in known:
                message = f"{member} in SUBSET {subset.name} is not a variable of the pattern"
                yield _error(query, message, subset.span, did_you_mean(member, known))
        for member in _repeated(subset.members):
            yield _error(query, f"{member} is in SUBSET {subset.name} twice", subset.span, "name it once")


def _skip(query: RowQuery) -> Iterator[MotifError]:
    known = (*query.variables(), *(subset.name for subset in query.subsets))
    var = query.skip.var
    if var is not None and var not in known:
        message = f"AFTER MATCH SKIP goes to {var}, which is not a variable of the pattern"
        yield _error(query, message, query.skip.span, did_you_mean(var, known))


def _output_names(query: RowQuery) -> Iterator[MotifError]:
    keys = {key.name.casefold(): key.name for key in query.partition}
    if len(keys) < len(query.partition):
        name = next(iter(_repeated([key.name.casefold() for key in query.partition])))
        span = [key.span for key in query.partition if key.name.casefold() == name][1]
        yield _error(query, f"PARTITION BY has {keys[name]} twice", span, "keep one of them, or rename it with AS")
    seen: set[str] = set()
    for measure in query.measures:
        folded = measure.name.casefold()
        if folded in seen:
            yield _error(query, f"two measures are called {measure.name}", measure.span, "rename one of them")
        elif folded in keys:
            hint = "partition columns are in the result anyway; rename the measure"
            yield _error(query, f"the measure {measure.name} has the name of a partition column", measure.span, hint)
        seen.add(folded)


def _exclusion(query: RowQuery) -> Iterator[MotifError]:
    if query.rows is not Rows.ALL_WITH_UNMATCHED:
        return
    excluded = next((node for node in walk(query.pattern) if isinstance(node, Exclude)), None)
    if excluded is not None:
        hint = "use SHOW EMPTY MATCHES, or filter on CLASSIFIER() outside"
        yield _error(query, "{- -} can not be combined with WITH UNMATCHED ROWS", excluded.span, hint)


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return list(dict.fromkeys(name for name in names if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
