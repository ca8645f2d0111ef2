"""The same patterns as in text, built with Python objects: variables, operators, methods that return new patterns."""

from motif.lang.builder.event_parts import ALL, EventVar, each, ev, first, last, no, whole
from motif.lang.builder.events import EventPattern, all_of, any_of, one_of, seq, tseq
from motif.lang.builder.functions import case, col, fn, lit, match_number
from motif.lang.builder.row_parts import RowVar, at_end, at_start, classifier, exclude, permute, row, subset
from motif.lang.builder.rows import RowPattern, rows
from motif.lang.builder.value import Value

__all__ = [
    "ALL",
    "EventPattern",
    "EventVar",
    "RowPattern",
    "RowVar",
    "Value",
    "all_of",
    "any_of",
    "at_end",
    "at_start",
    "case",
    "classifier",
    "col",
    "each",
    "ev",
    "exclude",
    "first",
    "fn",
    "last",
    "lit",
    "match_number",
    "no",
    "one_of",
    "permute",
    "row",
    "rows",
    "seq",
    "subset",
    "tseq",
    "whole",
]
