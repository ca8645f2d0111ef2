"""A sample as the data a page draws: plain lists, cut to a size that opens at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from motif.report import values
from motif.report.sample import KEYS, MATCHES, Sample, Series, Span, shown_columns

ROWS_OF_KEY = 1_200
ROWS_OF_WINDOW = 400
_LEAST_ROWS = 40


def clause_data(sample: Sample, most_chars: int) -> dict[str, Any]:
    """Fewer rows are shown until the data fits."""
    rows = ROWS_OF_KEY if sample.counts.keys is not None else ROWS_OF_WINDOW
    while True:
        data = _clause(sample, rows)
        if rows <= _LEAST_ROWS or len(json.dumps(data)) <= most_chars:
            return data
        rows = max(rows // 2, _LEAST_ROWS)


def _clause(sample: Sample, rows: int) -> dict[str, Any]:
    panels = [_panel(sample, series, low, high) for series, low, high in _windows(sample, rows)]
    return {
        "variables": list(sample.variables),
        "rows": sample.rows,
        "axis": sample.axis,
        "y": sample.y,
        "columns": shown_columns(sample),
        "starts": sample.starts,
        "lengths": sample.lengths,
        "panels": panels,
        "table": _table(sample),
    }


def _windows(sample: Sample, rows: int) -> Iterator[tuple[Series, int, int]]:
    """Of each key the rows from its first match on; without keys, a window for each of the first groups of matches."""
    for series in sample.series:
        count, left = series.rows.num_rows, 1 if series.name is not None else KEYS
        before = rows // 20
        end = 0
        for span in series.spans or [Span(0, 0, 0)]:
            if left and span.first >= end:
                low = max(min(span.first - before, count - rows), end, 0)
                end = min(low + rows, count)
                left -= 1
                yield series, low, end


def _panel(sample: Sample, series: Series, low: int, high: int) -> dict[str, Any]:
    rows = series.rows.slice(low, high - low)
    labels = series.labels[low:high].tolist()
    spans = [
        [s.number, max(s.first, low) - low, min(s.last, high - 1) - low] for s in series.spans if low <= s.first < high
    ]
    return {
        "name": series.name if series.name is not None else f"{sample.rows} {low + 1:,} to {high:,}",
        "key": series.name,
        "first": low + 1,
        "total": series.rows.num_rows,
        "found": len(series.spans) if series.name is not None else len(spans),
        "x": values.json_numbers(values.on_axis(rows.column("__motif_from"))) if sample.axis else None,
        "y": values.json_numbers(values.on_axis(rows.column(sample.y))) if sample.y else None,
        "labels": labels,
        "spans": spans,
        "cells": [values.texts(rows.column(name).to_pylist()) for name in shown_columns(sample)],
    }


def _table(sample: Sample) -> dict[str, Any]:
    """The matches, with the number of the row in the result; the page picks those of a key by `keys`."""
    listed = sample.listed
    ours = {"__motif_number": "match", "__motif_from": "from", "__motif_to": "to", "__motif_length": sample.rows}
    names = [name for name in ours if name in listed.column_names] + list(sample.measures)
    columns = [values.texts(listed.column(name).to_pylist()) for name in names]
    rows: dict[str | None, int] = {}
    kept = []
    for index, key in enumerate(sample.listed_keys):
        rows[key] = rows.get(key, 0) + 1
        if rows[key] <= MATCHES or index < MATCHES or sample.counts.keys is None:
            kept.append(index)
    return {
        "names": [ours.get(name, name) for name in names],
        "numeric": [values.axis_kind(listed.schema.field(name).type) == "number" for name in names],
        "keys": [sample.listed_keys[index] for index in kept],
        "rows": [[column[index] for column in columns] for index in kept],
        "numbers": [listed.column("__motif_number")[index].as_py() for index in kept],
    }
