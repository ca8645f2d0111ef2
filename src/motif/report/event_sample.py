"""What a report shows of an event query: counts of all, events of a few keys in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.engine.arrays import Array, numpy_of
from motif.report import values
from motif.report.bound import Bound
from motif.report.sample import BINS, COLUMNS, KEYS, MATCHES, Counts, Sample, Series, Span


def event_sample(bound: Bound) -> Sample:
    """A sample as of row patterns, of which lists, NOT and events between are no part."""
    sizes = np.bincount(bound.match, minlength=bound.found.num_rows)
    begins = bound.found.column("match_start")
    axis = values.axis_kind(begins.type)
    keys = None if bound.keys is None else _names(bound.events.select(list(bound.keys)))
    of_matches = None if keys is None else keys[_a_row_of_each(bound)]
    listed = _listed(bound, sizes)
    return Sample(
        bound.variables,
        bound.items,
        _counts(bound, keys, sizes),
        values.histogram(values.on_axis(begins), BINS) if axis else None,
        values.lengths(sizes, BINS // 2),
        axis,
        _value_column(bound),
        _all_series(bound, keys, of_matches),
        listed,
        [None] * listed.num_rows if of_matches is None else of_matches[: listed.num_rows].tolist(),
        "events",
    )


def _names(keys: pa.Table) -> Array:
    """How people call the key of each event."""
    columns = [values.texts(column.to_pylist()) for column in keys.columns]
    names = [", ".join(value or "NULL" for value in row) for row in zip(*columns, strict=True)]
    return np.array(names, object)


def _a_row_of_each(bound: Bound) -> Array:
    rows = np.zeros(bound.found.num_rows, np.int64)
    rows[bound.match] = bound.rows
    return rows


def _counts(bound: Bound, keys: Array | None, sizes: Array) -> Counts:
    matched = np.unique(bound.rows)
    return Counts(
        bound.events.num_rows,
        len(sizes),
        None if keys is None else len(set(keys.tolist())),
        0 if keys is None else len(set(keys[matched].tolist())),
        float(np.median(sizes)) if len(sizes) else None,
        len(matched),
    )


def _listed(bound: Bound, sizes: Array) -> pa.Table:
    """Matches for the table."""
    count = min(len(sizes), KEYS * MATCHES)
    ours = {
        "__motif_number": pa.array(np.arange(1, count + 1)),
        "__motif_from": bound.found.column("match_start").slice(0, count),
        "__motif_to": bound.found.column("match_end").slice(0, count),
        "__motif_length": pa.array(sizes[:count]),
    }
    return pa.table(ours | {name: bound.found.column(name).slice(0, count) for name in bound.items})


def _all_series(bound: Bound, keys: Array | None, of_matches: Array | None) -> list[Series]:
    """Of the keys with most matches; without matches, the first ones."""
    if keys is None or of_matches is None:
        return [_series(bound, None, np.arange(bound.events.num_rows))]
    chosen = _most(of_matches) or list(dict.fromkeys(keys.tolist()))[:3]
    return [_series(bound, name, np.flatnonzero(keys == name)) for name in chosen]


def _most(names: Array) -> list[str]:
    found, counts = np.unique(names, return_counts=True)
    return [str(found[index]) for index in np.argsort(-counts, kind="stable")[:KEYS]]


def _series(bound: Bound, name: str | None, rows: Array) -> Series:
    """Events at some rows, in the order of time, with the matches among them."""
    times = bound.events.column(bound.time)
    rows = rows[numpy_of(pc.sort_indices(times.take(pa.array(rows)))).astype(np.int64)]
    place = np.full(bound.events.num_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    own = place[bound.rows] >= 0
    at, match, variable = place[bound.rows[own]], bound.match[own], bound.variable[own]
    labels = np.full(len(rows), -1, np.int64)
    labels[at[::-1]] = variable[::-1]  # of several the one that is written first
    shown = bound.events.select(_columns(bound)).append_column("__motif_from", times)
    return Series(name, shown.take(pa.array(rows)), labels, list(_spans(match, at)))


def _spans(match: Array, at: Array) -> Iterable[Span]:
    """Where matches begin and end."""
    if not len(match):
        return []
    order = np.lexsort((at, match))
    match, at = match[order], at[order]
    begins = np.flatnonzero(np.concatenate(([True], match[1:] != match[:-1])))
    ends = np.append(begins[1:], len(match)) - 1
    triples = zip((match[begins] + 1).tolist(), at[begins].tolist(), at[ends].tolist(), strict=True)
    return sorted((Span(*triple) for triple in triples), key=lambda span: (span.first, span.last, span.number))


def _columns(bound: Bound) -> list[str]:
    """Those that say when and whose, those the query reads, then others while there is room."""
    needed = {bound.time, *(bound.keys or ()), *bound.read}
    extra = [name for name in bound.events.column_names if name not in needed]
    return [name for name in bound.events.column_names if name in needed or name in extra[: COLUMNS - len(needed)]]


def _value_column(bound: Bound) -> str | None:
    """What the line shows: the first number that the query reads."""
    placing: Sequence[str] = (bound.time, *(bound.keys or ()))
    for name in bound.read:
        if name not in placing and values.axis_kind(bound.events.schema.field(name).type) == "number":
            return name
    return None
