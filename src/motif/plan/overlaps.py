"""Row patterns whose result grows with the square of the rows: matches that go on to the end, from every row."""

from __future__ import annotations

from motif.errors import MotifWarning
from motif.ir.expr import Literal
from motif.ir.pattern import Repeat, Var, walk
from motif.ir.query import MatchMode, RowQuery, Rows, SkipTo
from motif.slips import tell


def tell_overlaps(query: RowQuery) -> None:
    """Say where each row begins a match that takes any number of rows, and all of them come out."""
    if query.within is not None or query.skip.to is not SkipTo.NEXT:
        return
    if query.rows is Rows.ONE and query.match_mode is MatchMode.MAXIMAL:
        return
    asked = {define.var for define in query.defines if define.condition != Literal(True)}
    for node in walk(query.pattern):
        if isinstance(node, Repeat) and node.high is None and node.greedy and _is_any(node, asked):
            what = "rows" if query.match_mode is MatchMode.MAXIMAL else "matches"
            tell(
                MotifWarning(
                    f"from every row this takes all rows that follow, so there are as many {what} as pairs of rows",
                    source=query.source,
                    span=node.span,
                    hint="add WITHIN, a bound such as {0,100}, or a condition in DEFINE",
                )
            )
            return


def _is_any(node: Repeat, asked: set[str]) -> bool:
    """Whether what is repeated is any row."""
    return isinstance(node.body, Var) and node.body.name not in asked
