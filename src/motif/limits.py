"""Every limit, its default and its name, in one place.

A limit that is reached raises `LimitExceeded` with this name; nothing is ever cut short silently.
The operator may change them (`motif.limits.LIMITS = replace(LIMITS, ...)`), a query can not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from motif.errors import MotifError


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on what a query may ask for."""

    query_chars: int = 65_536
    query_tokens: int = 40_000
    """Words, numbers, strings and signs of a query's text: what hosts do with many takes long."""
    name_parts: int = 32
    """Names with points between them, such as `catalog.schema.table`."""
    csv_columns: int = 10_000
    """Columns of a CSV file in process: what DuckDB does to find their types grows with the square of them."""
    nesting_depth: int = 200
    pattern_variables: int = 256
    quantifier_bound: int = 1_000
    pattern_states: int = 20_000
    permute_items: int = 10
    pattern_ways: int = 1_000
    """Ways through an event pattern, once OR and ANY are spelled out."""
    each_events: int = 20
    """Events of which PICK EACH of a repeated variable may form lists: n events have 2^n of them."""
    navigation_offset: int = 1_000
    literal_digits: int = 4_300
    identifier_chars: int = 512
    match_steps: int = 50_000_000
    """Steps of one search from one row before a match-dependent pattern is given up. All searches over half a million
    rows may take a hundred times as many."""
    memo_bytes: int = 512_000_000
    """Memory for remembered dead ends; a run that would need more remembers none and relies on match_steps."""
    host_questions: int = 1_000_000
    """Combinations of values that Spark is asked about for one condition over values of different rows."""
    host_rounds: int = 200
    """Rounds of questions to Spark about such conditions."""
    stream_events: int = 1_000_000
    """Events that a stream keeps of one partition; with more, the oldest are let go, counted and logged."""
    stream_matches: int = 10_000_000
    """Matches of one partition in one step of a stream; with more, the partition is let go, counted and logged."""
    result_rows: int = 1_000_000_000
    """Rows of a result in process, and of what one of its clauses or event queries finds."""
    memory_bytes: int | None = None
    """Memory for a query in process, half of it for DuckDB, which puts what does not fit on disk, half for what Motif
    holds of rows, matches and results. By default four fifths of what the process may use."""
    spill_bytes: int | None = None
    """Disk for what does not fit into DuckDB's memory. By default half of what is free."""
    temp_folder: str | None = None
    """Where that is written: in a folder of this process that nobody else can read, and that is removed at its end or,
    if it was killed, by the next one. By default the system's folder for temporary files."""

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), str(each.type))


def _check(name: str, value: object, kind: str) -> None:
    """A wrong value is told where it is set, not by the query that meets it."""
    if kind.endswith("None") and value is None:
        return
    if kind.startswith("str"):
        if not isinstance(value, str) or not value:
            raise MotifError(f"the limit {name} cannot be {value!r}", hint="give the path of a folder as a text")
    elif not isinstance(value, int) or isinstance(value, bool):
        raise MotifError(f"the limit {name} cannot be {value!r}", hint=_whole(value))
    elif value < 0:
        raise MotifError(f"the limit {name} cannot be {value}", hint="give a number that is not negative")


def _whole(value: object) -> str:
    """What to write in the place of something that is no whole number."""
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value):_}: a whole number"
    return "give a whole number, such as 1_000_000"


LIMITS = Limits()
