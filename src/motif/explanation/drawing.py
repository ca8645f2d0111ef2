"""A graph of states as SVG: boxes on lanes, loops as arcs above, ways around as arcs below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from motif.explanation.graph import Edge, Graph, Node, Shape

PALETTE = ("#4269d0", "#e08e0b", "#e4572e", "#2a9d8f", "#3ca951", "#d6568f", "#8e5bd6", "#5b9bd5", "#9c6b4e", "#7a828f")
"""One colour per variable, legible on light and on dark ground; the report uses the same."""
_STYLE = """
.motif-graph { font: 600 13px ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; }
.motif-graph path { fill: none; stroke: currentColor; stroke-width: 1.5; }
.motif-graph .other { stroke-dasharray: 4 4; opacity: .75; }
.motif-graph .tip { fill: currentColor; stroke: none; }
.motif-graph .dot { fill: currentColor; }
.motif-graph .ring { fill: none; stroke: currentColor; stroke-width: 1.5; }
.motif-graph text { fill: currentColor; text-anchor: middle; dominant-baseline: central; }
.motif-graph .note { font-weight: 400; font-size: 12px; text-anchor: start; opacity: .8; }
"""
_BOX = 30.0
_GAP = 34.0
_ARC = 15.0
_MARGIN = 14.0
_ENTRY = 26.0
_RADIUS = 8.0
_LONGEST_LABEL = 24

Point = tuple[float, float]
Interval = tuple[int, int]


def color_of(variable: int) -> str:
    """The colour of a variable."""
    return PALETTE[variable % len(PALETTE)]


def svg(graphs: Iterable[Graph]) -> str:
    """All graphs in one picture, one below the other."""
    pictures = [_Picture(graph) for graph in graphs]
    width = max((picture.width for picture in pictures), default=0)
    y, groups = 0.0, []
    for picture in pictures:
        groups.append(f'<g transform="translate(0 {y:g})">{picture.body()}</g>')
        y += picture.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="motif-graph" role="img" aria-label="the pattern" '
        f'viewBox="0 0 {width:g} {y:g}" width="{width:g}" height="{y:g}"><style>{_STYLE}</style>{"".join(groups)}</svg>'
    )


@dataclass(frozen=True, slots=True)
class _Arc:
    """An edge that leaves its lane: level 1 is the nearest to the lane."""

    edge: Edge
    level: int


class _Picture:
    """One graph with all its coordinates."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.occupied = {(node.column, node.lane) for node in graph.nodes}
        self.above = self._arcs(self._goes_above)
        self.below = self._arcs(self._goes_below)
        self.x = self._column_positions()
        self.y, self.height = self._lane_positions()
        last = graph.nodes[-1].column
        self.width = max(self.x[last] + max(self._widths()[last] / 2, 12) + _MARGIN, 260 if graph.left_out else 0)

    # -- which edge goes where ---------------------------------------------------------------------

    def _ends(self, edge: Edge) -> tuple[Node, Node]:
        return self.graph.nodes[edge.source], self.graph.nodes[edge.target]

    def _goes_above(self, edge: Edge) -> bool:
        source, target = self._ends(edge)
        return edge.is_back and source.lane == target.lane

    def _goes_below(self, edge: Edge) -> bool:
        source, target = self._ends(edge)
        if edge.is_back:
            return source.lane != target.lane
        between = range(source.column + 1, target.column)
        return source.lane >= target.lane and any((column, source.lane) in self.occupied for column in between)

    def _arcs(self, wanted: Callable[[Edge], bool]) -> list[_Arc]:
        """Nested arcs get higher levels, so that they do not cross."""
        edges = sorted((edge for edge in self.graph.edges if wanted(edge)), key=self._length)
        taken: dict[tuple[int, int], list[Interval]] = {}
        arcs = []
        for edge in edges:
            lane, (low, high) = self._ends(edge)[0].lane, self._interval(edge)
            level = 1
            while any(low <= end and start <= high for start, end in taken.get((lane, level), [])):
                level += 1
            taken.setdefault((lane, level), []).append((low, high))
            arcs.append(_Arc(edge, level))
        return arcs

    def _interval(self, edge: Edge) -> Interval:
        columns = [node.column for node in self._ends(edge)]
        return min(columns), max(columns)

    def _length(self, edge: Edge) -> int:
        low, high = self._interval(edge)
        return high - low

    # -- coordinates -------------------------------------------------------------------------------

    def _widths(self) -> list[float]:
        columns = max(node.column for node in self.graph.nodes) + 1
        widths = [0.0] * columns
        for node in self.graph.nodes:
            widths[node.column] = max(widths[node.column], _width(node))
        return widths

    def _column_positions(self) -> list[float]:
        x, centres = _MARGIN + _ENTRY, []
        for width in self._widths():
            centres.append(x + width / 2)
            x += width + _GAP
        return centres

    def _lane_positions(self) -> tuple[list[float], float]:
        lanes = max(node.lane for node in self.graph.nodes) + 1
        y, centres = _MARGIN, []
        for lane in range(lanes):
            y += self._room(self.above, lane)
            centres.append(y + _BOX / 2)
            y += _BOX + self._room(self.below, lane) + 12
        note = 18 if self.graph.left_out else 0
        return centres, y - 12 + _MARGIN + note

    def _room(self, arcs: Sequence[_Arc], lane: int) -> float:
        levels = [arc.level for arc in arcs if self._ends(arc.edge)[0].lane == lane]
        return max(levels, default=0) * _ARC

    # -- drawing -----------------------------------------------------------------------------------

    def body(self) -> str:
        parts = [self._entry()]
        arcs = {arc.edge: (arc.level, -1) for arc in self.above} | {arc.edge: (arc.level, 1) for arc in self.below}
        for edge in self.graph.edges:
            points = self._arc(edge, *arcs[edge]) if edge in arcs else self._direct(edge)
            parts.append(_line(points, is_preferred=edge.is_preferred))
        parts += [self._node(node) for node in self.graph.nodes]
        if self.graph.left_out:
            text = f"{self.graph.left_out:,} of {self.graph.states:,} states are not shown"
            parts.append(f'<text class="note" x="{_MARGIN:g}" y="{self.height - 12:g}">{text}</text>')
        return "".join(parts)

    def _entry(self) -> str:
        first = self.graph.nodes[0]
        x, y = self._at(first)
        return _line([(_MARGIN, y), (x - _width(first) / 2, y)], is_preferred=True)

    def _at(self, node: Node) -> Point:
        return self.x[node.column], self.y[node.lane]

    def _arc(self, edge: Edge, level: int, side: int) -> list[Point]:
        """Out of one node's top or bottom, along a level, into the other's."""
        source, target = self._ends(edge)
        (x1, y1), (x2, y2) = self._at(source), self._at(target)
        turn = y1 + side * (_BOX / 2 + level * _ARC - 4)
        aside = 5.0 if edge.is_back else -5.0
        if source is target:
            aside = _width(source) / 4
        shift1 = aside if source.shape is not Shape.SPLIT else 0.0
        shift2 = -aside if target.shape is not Shape.SPLIT else 0.0
        start, end = y1 + side * _height(source) / 2, y2 + side * _height(target) / 2
        if target.lane < source.lane and not edge.is_back:
            bend, left = x2 - _width(target) / 2 - _GAP / 2, x2 - _width(target) / 2
            return [(x1 + shift1, start), (x1 + shift1, turn), (bend, turn), (bend, y2), (left, y2)]
        return [(x1 + shift1, start), (x1 + shift1, turn), (x2 + shift2, turn), (x2 + shift2, end)]

    def _direct(self, edge: Edge) -> list[Point]:
        """Along the lane; to a lower lane at once, to a higher one only just before the target."""
        source, target = self._ends(edge)
        (x1, y1), (x2, y2) = self._at(source), self._at(target)
        end = (x2 - _width(target) / 2, y2)
        if source.lane == target.lane:
            return [(x1 + _width(source) / 2, y1), end]
        if source.lane < target.lane and source.shape is Shape.SPLIT:
            return [(x1, y1 + _height(source) / 2), (x1, y2), end]
        start = (x1 + _width(source) / 2, y1)
        bend = start[0] + 10 if source.lane < target.lane else end[0] - _GAP / 2
        return [start, (bend, y1), (bend, y2), end]

    def _node(self, node: Node) -> str:
        x, y = self._at(node)
        title = f"<title>{escape(_title(node))}</title>"
        return f"<g>{title}{_SHAPES[node.shape](node, x, y)}</g>"


def _title(node: Node) -> str:
    if not node.states:
        return "more states" if node.shape is Shape.MORE else node.label or str(node.shape)
    states = ", ".join(str(state) for state in node.states[:12])
    word = "state" if len(node.states) == 1 else "states"
    what = f"{node.label} " if node.shape is Shape.VARIABLE else f"{node.shape} "
    return f"{what}({word} {states})"


def _label(node: Node) -> str:
    return node.label if len(node.label) <= _LONGEST_LABEL else node.label[: _LONGEST_LABEL - 1] + "…"


def _width(node: Node) -> float:
    match node.shape:
        case Shape.VARIABLE:
            return max(36.0, 9.0 * len(_label(node)) + 20)
        case Shape.SPLIT:
            return 9.0
        case Shape.MATCH:
            return 24.0
        case Shape.FORK:
            return 8.0 * len(_label(node)) + 12
        case _:
            return 28.0


def _height(node: Node) -> float:
    match node.shape:
        case Shape.VARIABLE:
            return _BOX
        case Shape.SPLIT:
            return 9.0
        case _:
            return 24.0


def _variable(node: Node, x: float, y: float) -> str:
    color, width = color_of(node.variable), _width(node)
    dashes = ' stroke-dasharray="3 3"' if node.excluded else ""
    return (
        f'<rect x="{x - width / 2:g}" y="{y - _BOX / 2:g}" width="{width:g}" height="{_BOX:g}" rx="9" fill="{color}" '
        f'fill-opacity=".16" stroke="{color}" stroke-width="1.6"{dashes}/>'
        f'<text x="{x:g}" y="{y:g}">{escape(_label(node))}</text>'
    )


def _split(_node: Node, x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="4.5"/>'


def _match(_node: Node, x: float, y: float) -> str:
    return (
        f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="11.2"/>'
        f'<path d="M{x - 5:g} {y + 0.5:g}l3.4 3.6 6.6 -7.6" style="stroke-width:2"/>'
    )


def _small_box(node: Node, x: float, y: float) -> str:
    return (
        f'<rect class="ring" x="{x - _width(node) / 2:g}" y="{y - 12:g}" width="{_width(node):g}" height="24" rx="4"/>'
        f'<text x="{x:g}" y="{y:g}">{escape(_label(node))}</text>'
    )


_SHAPES: dict[Shape, Callable[[Node, float, float], str]] = {
    Shape.VARIABLE: _variable,
    Shape.SPLIT: _split,
    Shape.MATCH: _match,
    Shape.EDGE: _small_box,
    Shape.FORK: _small_box,
    Shape.MORE: _small_box,
}


def _line(points: list[Point], *, is_preferred: bool) -> str:
    """A line with round corners and an arrow head."""
    kind = "" if is_preferred else ' class="other"'
    d = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        (x1, y1), (x2, y2) = _towards(corner, before), _towards(corner, after)
        d += f"L{x1:g} {y1:g}Q{corner[0]:g} {corner[1]:g} {x2:g} {y2:g}"
    d += f"L{points[-1][0]:g} {points[-1][1]:g}"
    return f'<path d="{d}"{kind}/>{_tip(points[-2], points[-1])}'


def _towards(corner: Point, other: Point) -> Point:
    """A point near the corner, at most half way to the other one."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(dx), abs(dy), 0.001)
    part = min(_RADIUS, length / 2) / length
    return corner[0] + dx * part, corner[1] + dy * part


def _tip(before: Point, end: Point) -> str:
    dx, dy = end[0] - before[0], end[1] - before[1]
    length = max((dx * dx + dy * dy) ** 0.5, 0.001)
    ux, uy = dx / length, dy / length
    left = (end[0] - 7 * ux - 3.6 * uy, end[1] - 7 * uy + 3.6 * ux)
    right = (end[0] - 7 * ux + 3.6 * uy, end[1] - 7 * uy - 3.6 * ux)
    corners = " ".join(f"{x:g},{y:g}" for x, y in (end, left, right))
    return f'<polygon class="tip" points="{corners}"/>'
