"""Pictures for the report, as SVG written by hand: dots for who takes how long, lines for how it grows. Log scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from definitions import HERE
from figures import short
from side_by_side import FLOORS, OWN, Race, by_workload, largest

FOLDER = HERE.parent / "docs" / "benchmarks"
COLORS = {
    "motif": "#4269d0", "match": "#4269d0", "spark motif": "#4269d0", "spark match": "#4269d0",
    "spark motif rows": "#97b0ee",
    "duckdb-sql": "#e08e0b", "duckdb-native": "#9c6b4e", "polars": "#8e5bd6", "pandas": "#d6568f",
    "spark plain": "#e4572e", "flink": "#3ca951", "flink-plain": "#2a9d8f", "reference": "#9c6b4e",
    "duckdb": "#7a828f", "spark sort": "#7a828f", "spark read": "#7a828f", "spark files": "#7a828f",
    "flink-scan": "#7a828f",
}  # fmt: skip
"""The palette of Motif's own pictures; floors are grey."""
NAMES = {"motif": "Motif in process", "match": "Motif in process", "spark motif": "Motif on Spark",
         "spark match": "Motif on Spark", "duckdb": "floor of the host", "spark sort": "floor of the host",
         "spark read": "floor of the host", "spark files": "floor of the host",
         "spark motif rows": "Motif on Spark, rows read by Spark", "flink-scan": "floor of the host"}  # fmt: skip
STYLE = """
svg { font: 13px ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; color: #33415c; background: #ffffff; }
text { fill: currentColor; dominant-baseline: central; }
.title { font-weight: 600; font-size: 15px; } .soft { opacity: .7; font-size: 12px; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: currentColor; opacity: .16; } .rule { stroke: currentColor; opacity: .07; }
.line { fill: none; stroke-width: 1.8; }
@media (prefers-color-scheme: dark) { svg { color: #c9d3e6; background: #11151c; } }
"""
WIDTH = 1080
LEFT = 340
RIGHT = 30
LANE = 15
Scale = Callable[[float], float]


def pictures(found: Sequence[Race]) -> dict[str, tuple[str, str]]:
    """All pictures by name: what each shows, and its text."""
    last = largest(found)
    groups = {
        "rows": ("Row patterns at their largest size, seconds", [race for race in last if "motif" in race.figures]),
        "events": ("Event queries at their largest size, seconds", [race for race in last if "match" in race.figures]),
    }
    drawn = {name: (title, _dots(title, some) + "\n") for name, (title, some) in groups.items() if some}
    sizes = by_workload(found)
    for name, title, axis in (
        ("growth-rows", "Seconds by number of rows (dashed: on Spark)", _rows_axis),
        ("growth-keys", "Seconds by number of keys (dashed: on Spark)", _keys_axis),
    ):
        panels = {key: grown for key, all_sizes in sizes.items() if len(grown := axis(all_sizes)) > 1}
        if panels:
            drawn[name] = (title, _panels(title, panels, by_keys=name.endswith("keys")) + "\n")
    return drawn


# -- dots: a line for each question, in process above, Spark and Flink below


def _dots(title: str, found: Sequence[Race]) -> str:
    walls = [figure.wall for race in found for figure in race.figures.values()]
    x, ticks = _log_scale(min(walls), max(walls), LEFT, WIDTH - RIGHT)
    top = 92
    height = top + len(found) * (2 * LANE + 12) + 34
    parts = [_axis(x(tick), tick, top - 8, height - 34) for tick in ticks]
    for number, race in enumerate(found):
        y = top + number * (2 * LANE + 12) + 8
        parts.append(
            f'<line class="rule" x1="10" x2="{WIDTH - RIGHT}" y1="{y + 2 * LANE - 1}" y2="{y + 2 * LANE - 1}"/>'
        )
        name = race.workload.name.removeprefix("peers/")
        parts.append(f'<text x="12" y="{y + 2}">{escape(name)}</text>')
        parts.append(f'<text class="soft" x="12" y="{y + 17}">{escape(race.size)}</text>')
        parts.append(f'<text class="soft end" x="{LEFT - 14}" y="{y}">in process</text>')
        parts.append(f'<text class="soft end" x="{LEFT - 14}" y="{y + LANE}">Spark, Flink</text>')
        # Motif last, so that it lies on top.
        for contender in sorted(race.figures, key=_depth):
            lane = y + (LANE if contender.startswith(("spark", "flink")) else 0)
            parts.append(_mark(contender, x(race.figures[contender].wall), lane, race))
    contenders = [name for race in found for name in race.figures]
    return _svg(title, _legend(contenders, 46) + "".join(parts), height)


def _depth(contender: str) -> int:
    return 0 if contender in FLOORS else 2 if _is_motif(contender) else 1


def _is_motif(contender: str) -> bool:
    return contender in OWN


def _mark(contender: str, x: float, y: float, race: Race) -> str:
    tip = f"<title>{escape(contender)}: {race.figures[contender].wall:.3f} s</title>"
    return _shape(contender, x, y, tip)


def _shape(contender: str, x: float, y: float, tip: str = "") -> str:
    """Floors are bars, Motif a diamond, others dots."""
    color = COLORS.get(contender, "#7a828f")
    if contender in FLOORS:
        return f'<rect x="{x - 1.5:.1f}" y="{y - 6:.1f}" width="3" height="12" fill="{color}">{tip}</rect>'
    if _is_motif(contender):
        corners = f"{x:.1f},{y - 8:.1f} {x + 8:.1f},{y:.1f} {x:.1f},{y + 8:.1f} {x - 8:.1f},{y:.1f}"
        return f'<polygon points="{corners}" fill="{color}">{tip}</polygon>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}" fill-opacity=".85">{tip}</circle>'


def _legend(contenders: Sequence[str], y: float) -> str:
    """Each name once, from left to right."""
    entries = {NAMES.get(name, name): name for name in sorted(dict.fromkeys(contenders), key=list(COLORS).index)}
    entries.pop("Motif on Spark", None)
    if "Motif in process" in entries:
        entries = {"Motif": entries.pop("Motif in process")} | entries
    x, parts = 20.0, []
    for label, name in entries.items():
        parts.append(_shape(name, x, y) + f'<text x="{x + 13:.0f}" y="{y}">{escape(label)}</text>')
        x += 13 + 7.2 * len(label) + 24
    return "".join(parts)


# -- lines: a panel for each question


def _rows_axis(sizes: Sequence[Race]) -> list[Race]:
    """Sizes that differ in rows; none where several differ in keys only."""
    found = [race for race in sizes if race.rows >= 100_000]
    return found if len({race.rows for race in found}) == len(found) else []


def _keys_axis(sizes: Sequence[Race]) -> list[Race]:
    rows = max(race.rows for race in sizes)
    return sorted((race for race in sizes if race.rows == rows), key=lambda race: race.keys)


COLUMNS, PANEL, TALL = 3, 340, 250


def _panels(title: str, panels: dict[str, list[Race]], *, by_keys: bool) -> str:
    parts = []
    for number, (name, sizes) in enumerate(panels.items()):
        left, top = 10 + number % COLUMNS * (PANEL + 15), 80 + number // COLUMNS * TALL
        parts.append(f'<g transform="translate({left} {top})">{_panel(name, sizes, by_keys=by_keys)}</g>')
    contenders = [name for sizes in panels.values() for race in sizes for name in race.figures]
    return _svg(title, _legend(contenders, 46) + "".join(parts), 80 + -(-len(panels) // COLUMNS) * TALL + 10)


def _panel(name: str, sizes: Sequence[Race], *, by_keys: bool) -> str:
    """One question."""
    walls = [figure.wall for race in sizes for figure in race.figures.values()]
    y, ticks = _log_scale(min(walls), max(walls), TALL - 55, 28)
    at = [race.keys if by_keys else race.rows for race in sizes]
    x, _ = _log_scale(min(at), max(at), 64, PANEL - 22, whole=False)  # marks keep off the figures of the axis
    unit = sizes[0].workload.keys_are if by_keys else "rows"
    parts = [f'<text x="0" y="8" class="title">{escape(name.removeprefix("peers/"))}</text>']
    for tick in ticks:
        parts.append(f'<line class="grid" x1="52" x2="{PANEL - 12}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="soft end" x="46" y="{y(tick):.1f}">{_seconds(tick)}</text>')
    parts += [f'<text class="soft middle" x="{x(value):.1f}" y="{TALL - 40}">{short(value)}</text>' for value in at]
    parts.append(f'<text class="soft middle" x="{PANEL / 2 + 16}" y="{TALL - 25}">{escape(unit)}</text>')
    names = dict.fromkeys(contender for race in sizes for contender in race.figures)
    for contender in sorted(names, key=_depth):
        points = [
            (x(v), y(r.figures[contender].wall)) for v, r in zip(at, sizes, strict=True) if contender in r.figures
        ]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        dash = ' stroke-dasharray="5 4"' if contender.startswith("spark") else ""
        parts.append(f'<polyline class="line" points="{path}" stroke="{COLORS.get(contender, "#7a828f")}"{dash}/>')
        parts += [_shape(contender, a, b) for a, b in points]
    return "".join(parts)


# -- scales


def _log_scale(low: float, high: float, start: float, end: float, *, whole: bool = True) -> tuple[Scale, list[float]]:
    """From a value to a place between two, and the powers of ten between; whole decades where wanted."""
    first, last = math.log10(low), math.log10(high)
    if whole:
        first, last = math.floor(first), max(math.ceil(last), math.floor(first) + 1)
    span = max(last - first, 1e-9)

    def place(value: float) -> float:
        return start + (math.log10(value) - first) / span * (end - start)

    return place, [10.0**power for power in range(math.ceil(first), math.floor(last) + 1)]


def _axis(x: float, tick: float, top: float, bottom: float) -> str:
    line = f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
    label = f'<text class="soft middle" x="{x:.1f}" y="{{}}">{_seconds(tick)} s</text>'
    return line + label.format(top - 10) + label.format(bottom + 14)


def _seconds(value: float) -> str:
    return f"{value:g}"


def _svg(title: str, body: str, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"><style>{STYLE}</style>'
        f'<text class="title" x="12" y="18">{escape(title)}</text>{body}</svg>'
    )
