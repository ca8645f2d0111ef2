"""What a report shows of one clause, taken from the data: counts over all of it, rows of a few keys.

The clause is run twice. Once over everything with one row per match, for counts and the table of matches; once over
the chosen keys with all their rows, matched or not, for the drawing. Whole keys are matched, then cut to a window, so
what is drawn is what the query finds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from motif.engine.arrays import flat
from motif.engine.runs import changes
from motif.hosts.duckdb import DuckSource, input_sql, row_sql, run_program
from motif.hosts.duckdb_database import Database, quoted
from motif.ir import pattern as p
from motif.ir.expr import Aggregate, At, Column, End, Expr, Label, MatchNumber, walk
from motif.ir.query import Key, Measure, Rows, SkipTo
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.report import values

KEYS = 8
BINS = 80
MATCHES = 100
COLUMNS = 8
_NUMBER, _FROM, _TO, _LENGTH, _LABEL, _ROW = (
    f"__motif_{name}" for name in ("number", "from", "to", "length", "label", "row")
)
_SUMMARY, _CHOSEN, _SAMPLE = "__motif_summary", "__motif_chosen", "__motif_sample"


@dataclass(frozen=True, slots=True)
class Counts:
    """Over all rows; `keys` is None where the query has no PARTITION BY."""

    rows: int
    matches: int
    keys: int | None
    keys_matched: int
    median_length: float | None
    rows_matched: int | None
    """None where matches may overlap."""


@dataclass(slots=True)
class Span:
    """A match as positions of rows in its key, both inclusive."""

    number: int
    first: int
    last: int


@dataclass(slots=True)
class Series:
    """All rows of one key in order."""

    name: str | None
    rows: pa.Table
    labels: np.ndarray[Any, np.dtype[np.int64]]
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is shown of one query."""

    variables: tuple[str, ...]
    measures: tuple[str, ...]
    counts: Counts
    starts: dict[str, Any] | None
    lengths: dict[str, Any] | None
    axis: str | None
    """Kind of the time axis; None: rows are counted."""
    y: str | None
    series: list[Series]
    listed: pa.Table
    """The first matches of all, and those of the keys shown, with the user's measures."""
    listed_keys: list[str | None]
    rows: str = "rows"
    """What rows are called."""


class Sampler:
    """Reads one clause's input for its report."""

    def __init__(self, database: Database, source: DuckSource, program: Program) -> None:
        self.database = database
        self.source = source
        self.query = program.query
        self.key_names = [f"__motif_key_{number}" for number in range(len(self.query.partition))]
        keys = zip(self.query.partition, self.key_names, strict=True)
        self.keys = tuple(Key(key.expr, name) for key, name in keys)
        self.time = self.query.order[0].expr if self.query.order else None
        self.y = self._value_column()

    def sample(self) -> Sample:
        summary = self._summary()
        self.database.add(_SUMMARY, summary)
        lengths = summary.column(_LENGTH).to_numpy()
        axis = values.axis_kind(summary.column(_FROM).type) if self.time is not None else None
        starts = values.histogram(values.on_axis(summary.column(_FROM)), BINS) if axis else None
        counts = self._counts(lengths)
        self.database.add(_CHOSEN, self._chosen_keys())
        series = self._series()
        listed = self._listed()
        names = [self._name(row) for row in listed.select(self.key_names).to_pylist()]
        bars = values.lengths(lengths, BINS // 2)
        measures = tuple(measure.name for measure in self.query.measures)
        return Sample(self.query.variables(), measures, counts, starts, bars, axis, self.y, series, listed, names)

    # -- over everything ---------------------------------------------------------------------------

    def _summary(self) -> pa.Table:
        ours = [Measure(MatchNumber(), _NUMBER), Measure(Aggregate("count", None), _LENGTH)]
        if self.time is not None:
            ours += [Measure(At(self.time, end=End.FIRST), _FROM), Measure(At(self.time), _TO)]
        measures = (*ours, *self.query.measures)
        query = replace(self.query, rows=Rows.ONE, measures=measures, partition=self.keys)
        return run_program(plan(query, self.source), self.source)

    def _counts(self, lengths: np.ndarray[Any, np.dtype[np.int64]]) -> Counts:
        known, matched = None, 0
        if self.keys:
            known = self._one(f"SELECT count(*) FROM ({self.source.select(f'DISTINCT {self._key_items()}')})")
            matched = self._one(f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(self.key_names)} FROM {_SUMMARY})")
        overlapping = self.query.skip.to is not SkipTo.PAST_LAST
        return Counts(
            self._one(self.source.select("count(*)")),
            len(lengths),
            known,
            matched,
            float(np.median(lengths)) if len(lengths) else None,
            None if overlapping else int(lengths.sum()),
        )

    def _key_items(self) -> str:
        return ", ".join(f"{row_sql(key.expr)} AS {key.name}" for key in self.keys)

    def _one(self, sql: str) -> int:
        return int(self.database.execute(sql).fetchall()[0][0])

    # -- of a few keys -----------------------------------------------------------------------------

    def _chosen_keys(self) -> pa.Table:
        """The keys with most matches; without matches, the first ones."""
        if not self.keys:
            return pa.table({"one": [1]})
        names = ", ".join(self.key_names)
        best = f"SELECT {names} FROM {_SUMMARY} GROUP BY {names} ORDER BY count(*) DESC, {names} LIMIT {KEYS}"
        chosen = self.database.table(best)
        if chosen.num_rows:
            return chosen
        some = f"{self.source.select(f'DISTINCT {self._key_items()}')} ORDER BY {names} LIMIT 3"
        return self.database.table(some)

    def _is_chosen(self, items: list[str]) -> str:
        """The condition that the key given by `items` is one of those shown."""
        pairs = zip(items, self.key_names, strict=True)
        same = " AND ".join(f"{item} IS NOT DISTINCT FROM {_CHOSEN}.{name}" for item, name in pairs)
        return f"EXISTS (SELECT 1 FROM {_CHOSEN} WHERE {same})" if same else "TRUE"

    def _series(self) -> list[Series]:
        source = self._sample_source()
        measures = (Measure(MatchNumber(), _NUMBER), Measure(At(Label()), _LABEL))
        query = replace(
            self.query,
            rows=Rows.ALL_WITH_UNMATCHED,
            measures=measures,
            partition=self.keys,
            pattern=_without_exclusion(self.query.pattern),
        )
        program = plan(query, source)
        ordered = self._ordered(program, source)
        series = self._parted(ordered)
        found = run_program(program, source)
        self._add_matches(series, ordered.column(_ROW).to_numpy(), found)
        return series

    def _sample_source(self) -> DuckSource:
        """The rows of the chosen keys, numbered, with the columns that matter."""
        chosen = self._is_chosen([row_sql(key.expr) for key in self.keys])
        items = ", ".join(quoted(name) for name in self._columns())
        rows = self.database.table(self.source.select(items, f"WHERE {chosen}"))
        self.database.add(_SAMPLE, rows.append_column(_ROW, pa.array(np.arange(rows.num_rows))))
        return DuckSource(self.database, "", _SAMPLE)

    def _columns(self) -> list[str]:
        """Those the query's conditions and measures read, then others while there is room."""
        query, schema = self.query, self.source.schema
        needed = _names([d.condition for d in query.defines]) | self._placing() | ({self.y} if self.y else set())
        extra = [n for n in _names([m.expr for m in query.measures]) if n not in needed]
        extra += [n for n in schema if n not in needed and n not in extra]
        return [n for n in schema if n in needed or n in extra[: max(0, COLUMNS - len(needed))]] or list(schema)[:1]

    def _ordered(self, program: Program, source: DuckSource) -> pa.Table:
        """The sampled rows in the order of the matching: keys, the time axis, then columns by name."""
        rows = self.database.table(input_sql(program, source))
        wanted: dict[str, Expr] = {key.name: key.expr for key in self.keys}
        wanted |= {expr.name: expr for expr in program.columns if isinstance(expr, Column)}
        picked = {name: rows.column(program.columns.index(expr)) for name, expr in wanted.items()}
        if self.time is not None:
            picked[_FROM] = self._time_of(program, rows)
        return pa.table(picked)

    def _time_of(self, program: Program, rows: pa.Table) -> pa.ChunkedArray:
        """The ORDER BY item, which crosses only where the query reads it."""
        if self.time in program.columns:
            return rows.column(program.columns.index(self.time))
        row = rows.column(program.columns.index(Column(_ROW)))
        items = f"{row_sql(self.time)} AS at" if self.time is not None else "NULL AS at"
        times = self.database.table(f"SELECT {items} FROM {_SAMPLE} ORDER BY {_ROW}")
        return times.column("at").take(row)

    def _parted(self, ordered: pa.Table) -> list[Series]:
        starts = np.zeros(max(ordered.num_rows - 1, 0), bool)
        for name in self.key_names:
            starts |= changes(flat(ordered.column(name)))
        bounds = [0, *(np.flatnonzero(starts) + 1).tolist(), ordered.num_rows] if ordered.num_rows else []
        series = []
        for low, high in pairwise(bounds):
            rows = ordered.slice(low, high - low)
            first = rows.select(self.key_names).slice(0, 1).to_pylist()[0]
            series.append(Series(self._name(first), rows, np.full(high - low, -1, np.int64)))
        return series

    def _add_matches(self, series: list[Series], order: np.ndarray[Any, Any], found: pa.Table) -> None:
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        begins = np.cumsum([0, *(s.rows.num_rows for s in series)])
        numbers = {name: number for number, name in enumerate(self.query.variables())}
        matched = found.filter(found.column(_NUMBER).is_valid())
        at = place[matched.column(_ROW).to_numpy()]
        owner = np.searchsorted(begins, at, side="right") - 1
        open_spans: dict[tuple[int, int], Span] = {}
        rows = zip(
            at.tolist(),
            owner.tolist(),
            matched.column(_NUMBER).to_pylist(),
            matched.column(_LABEL).to_pylist(),
            strict=True,
        )
        for position, one, number, label in rows:
            inside = position - int(begins[one])
            if series[one].labels[inside] < 0:
                series[one].labels[inside] = numbers.get(label, -1)
            span = open_spans.get((one, number))
            if span is None:
                span = open_spans[one, number] = Span(number, inside, inside)
                series[one].spans.append(span)
            span.first, span.last = min(span.first, inside), max(span.last, inside)

    def _listed(self) -> pa.Table:
        """Matches for the table: the first of all, and up to as many of each chosen key."""
        first = f"SELECT *, row_number() OVER () AS {_ROW} FROM {_SUMMARY}"
        if not self.keys:
            return self.database.table(f"{first} LIMIT {KEYS * MATCHES}")
        chosen = self._is_chosen([f"one.{name}" for name in self.key_names])
        keep = f"one.{_ROW} <= {MATCHES} OR {chosen} AND one.{_NUMBER} <= {10 * MATCHES}"
        return self.database.table(f"SELECT * FROM ({first}) AS one WHERE {keep} ORDER BY {_ROW}")

    # -- names -------------------------------------------------------------------------------------

    def _name(self, row: dict[str, object]) -> str | None:
        """How people call a key; None where there is none."""
        if not self.keys:
            return None
        return ", ".join(values.text(row[name]) or "NULL" for name in self.key_names)

    def _placing(self) -> set[str]:
        """Columns that say where a row belongs: its key and its order."""
        query = self.query
        return _names([key.expr for key in query.partition]) | _names([item.expr for item in query.order])

    def _value_column(self) -> str | None:
        """What the line shows: the first number a condition reads, else the first number there is."""
        schema = self.source.schema
        read = [node.name for d in self.query.defines for node in walk(d.condition) if isinstance(node, Column)]
        ruled_out = self._placing()
        for name in (*read, *schema):
            if values.is_number(schema[name]) and name not in ruled_out:
                return name
        return None


def shown_columns(sample: Sample) -> list[str]:
    """Columns of the input that a tooltip lists."""
    names = sample.series[0].rows.column_names if sample.series else []
    return [name for name in names if not name.startswith("__motif_")]


def _names(exprs: list[Expr]) -> set[str]:
    return {node.name for expr in exprs for node in walk(expr) if isinstance(node, Column)}


def _without_exclusion(pattern: p.Pattern) -> p.Pattern:
    """Excluded rows are matched rows: they are drawn."""
    match pattern:
        case p.Exclude(body=body):
            return _without_exclusion(body)
        case p.Seq(items=items) | p.Choice(items=items) | p.Permute(items=items):
            return replace(pattern, items=tuple(_without_exclusion(item) for item in items))
        case p.Repeat(body=body):
            return replace(pattern, body=_without_exclusion(body))
        case _:
            return pattern
