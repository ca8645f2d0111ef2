"""The automaton as a drawing sees it: equal states are one node, and every node has a place.

Nodes stand left to right in the order they are first visited, the body of a loop before what follows the loop.
The preferred way stays in the top lane, alternatives go into lanes below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from motif.plan import automaton as a
from motif.plan.automaton import Automaton

MOST_STATES = 60
"""Larger automata are cut: nobody reads a drawing of a thousand boxes."""


class Shape(StrEnum):
    """What a node looks like."""

    VARIABLE = "variable"
    SPLIT = "split"
    MATCH = "match"
    EDGE = "edge of the partition"
    FORK = "parts of an operator"
    MORE = "more"


_SHAPES = {
    a.SYMBOL: Shape.VARIABLE,
    a.SPLIT: Shape.SPLIT,
    a.MATCH: Shape.MATCH,
    a.AT_START: Shape.EDGE,
    a.AT_END: Shape.EDGE,
}


@dataclass(frozen=True, slots=True)
class Node:
    """One or more equal states; `variable` counts the variables of the pattern, -1 for none."""

    shape: Shape
    label: str
    states: tuple[int, ...]
    variable: int = -1
    excluded: bool = False
    column: int = 0
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """`is_back`: closes a loop. The preferred edge of a split is tried first."""

    source: int
    target: int
    is_preferred: bool
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order of first visit; `left_out` states are not shown."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    states: int
    left_out: int = 0


def state_lines(machine: Automaton, variables: tuple[str, ...]) -> list[str]:
    """One line of text per state."""
    width = max((len(name) for name in variables), default=0)
    lines = [f"{state:>4}  {_state_text(machine, variables, state, width)}" for state in _shown(machine)]
    if len(machine) > MOST_STATES:
        lines.append(f"   ... and {len(machine) - MOST_STATES:,} more states, not shown")
    return lines


def _state_text(machine: Automaton, variables: tuple[str, ...], state: int, width: int) -> str:
    preferred, other = machine.preferred[state], machine.other[state]
    match machine.op[state]:
        case a.SYMBOL:
            note = "   (not in ALL ROWS)" if machine.excluded[state] else ""
            return f"row {variables[machine.var[state]]:<{width}} -> {preferred}{note}"
        case a.SPLIT:
            return f"try {preferred}, else {other}"
        case a.MATCH:
            return "match"
        case op:
            where = "first" if op == a.AT_START else "last"
            return f"at the {where} edge of the partition -> {preferred}"


def _shown(machine: Automaton) -> range:
    return range(min(len(machine), MOST_STATES))


def graph_of(machine: Automaton, variables: tuple[str, ...]) -> Graph:
    """What is drawn of an automaton."""
    groups = _merge(machine)
    numbers = {state: number for number, group in enumerate(groups) for state in group}
    nodes = [_node(machine, variables, group) for group in groups]
    cut = len(nodes)
    if len(machine) > MOST_STATES:
        nodes.append(Node(Shape.MORE, "...", ()))
    successors = [[numbers.get(s, cut) for s in machine.successors(group[0])] for group in groups]
    successors += [[]] * (len(nodes) - len(groups))
    return _Layout(nodes, successors).graph(len(machine), len(machine) - len(_shown(machine)))


def _node(machine: Automaton, variables: tuple[str, ...], group: tuple[int, ...]) -> Node:
    state = group[0]
    shape = _SHAPES[machine.op[state]]
    if shape is Shape.VARIABLE:
        number = machine.var[state]
        return Node(shape, variables[number], group, number, machine.excluded[state])
    label = {a.MATCH: "match", a.AT_START: "^", a.AT_END: "$"}.get(machine.op[state], "")
    return Node(shape, label, group)


def layout(nodes: list[Node], successors: list[list[int]]) -> Graph:
    """A graph of nodes that are not states of an automaton; node 0 is the entry."""
    shown, left_out = nodes[:MOST_STATES], len(nodes[MOST_STATES:])
    ways = [list(dict.fromkeys(min(target, MOST_STATES) for target in row)) for row in successors[: len(shown)]]
    if left_out:
        shown.append(Node(Shape.MORE, "...", ()))
        ways.append([])
    return _Layout(shown, ways).graph(len(nodes), left_out)


def _merge(machine: Automaton) -> list[tuple[int, ...]]:
    """States that do the same and go on alike: begin with what they do, part them by where they lead."""
    shown = _shown(machine)
    kinds: dict[tuple[object, ...], int] = {}
    group = [-1 - state for state in range(len(machine))]
    for state in shown:
        does = (machine.op[state], machine.var[state], machine.excluded[state])
        group[state] = kinds.setdefault(does, len(kinds))
    count = 0
    while count < len(kinds):
        count, kinds, parted = len(kinds), {}, group.copy()
        for state in shown:
            ways = (group[state], *(group[s] for s in machine.successors(state)))
            parted[state] = kinds.setdefault(ways, len(kinds))
        group = parted
    members: dict[int, list[int]] = {}
    for state in shown:
        members.setdefault(group[state], []).append(state)
    return [tuple(states) for states in members.values()]


class _Layout:
    """Finds loops, an order from left to right, and lanes."""

    def __init__(self, nodes: list[Node], successors: list[list[int]]) -> None:
        self.nodes = nodes
        self.successors = successors
        self.back: set[tuple[int, int]] = set()
        self.order = self._visit()

    def graph(self, states: int, left_out: int) -> Graph:
        columns = self._columns()
        lanes = self._lanes(columns)
        place = {node: number for number, node in enumerate(self.order)}
        nodes = [self._placed(node, columns[node], lanes[node]) for node in self.order]
        edges = [
            Edge(place[node], place[target], rank == 0 or self._is_plain(node, target), (node, target) in self.back)
            for node in self.order
            for rank, target in enumerate(self.successors[node])
        ]
        return Graph(tuple(nodes), tuple(edges), states, left_out)

    def _is_plain(self, node: int, target: int) -> bool:
        """A part of ALL, ANY or OR, or the loop of a repeated event: nothing is preferred to it."""
        return node == target or self.nodes[node].shape is Shape.FORK

    def _placed(self, node: int, column: int, lane: int) -> Node:
        n = self.nodes[node]
        return Node(n.shape, n.label, n.states, n.variable, n.excluded, column, lane)

    def _visit(self) -> list[int]:
        """Reverse postorder; what comes back to a split is visited last, so that it stands before what leaves it."""
        done: list[int] = []
        seen = {0}
        path = [0]
        pending = [self._ways(0, path)]
        while path:
            if not pending[-1]:
                pending.pop()
                done.append(path.pop())
                continue
            target = pending[-1].pop(0)
            if target in path:
                self.back.add((path[-1], target))
            elif target not in seen:
                seen.add(target)
                path.append(target)
                pending.append(self._ways(target, path))
        return done[::-1]

    def _ways(self, node: int, path: list[int]) -> list[int]:
        ways = list(reversed(self.successors[node]))
        above = set(path) - {node}
        return sorted(ways, key=lambda way: node in self._reached(way, above))

    def _reached(self, start: int, without: Iterable[int]) -> set[int]:
        seen = set(without)
        found: set[int] = set()
        pending = [start]
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                found.add(node)
                pending.extend(self.successors[node])
        return found

    def _forward(self) -> list[tuple[int, int]]:
        return [(n, t) for n in self.order for t in self.successors[n] if (n, t) not in self.back]

    def _columns(self) -> dict[int, int]:
        """The longest way from the entry; a loop's exit also stands behind the loop's body."""
        place = {node: number for number, node in enumerate(self.order)}
        edges = self._forward()
        for last, head in self.back:
            exits = [t for t in self.successors[head] if place[t] > place[last]]
            edges += [(last, way_out) for way_out in exits]
        columns = dict.fromkeys(self.order, 0)
        for source, target in sorted(edges, key=lambda edge: place[edge[0]]):
            columns[target] = max(columns[target], columns[source] + 1)
        return columns

    def _lanes(self, columns: dict[int, int]) -> dict[int, int]:
        before: dict[int, list[int]] = {node: [] for node in self.order}
        for source, target in self._forward():
            before[target].append(source)
        taken: set[tuple[int, int]] = set()
        lanes: dict[int, int] = {}
        for node in self.order:
            lane = min((lanes[source] for source in before[node]), default=0)
            while (columns[node], lane) in taken:
                lane += 1
            lanes[node] = lane
            taken.add((columns[node], lane))
        return lanes


def mermaid(graphs: Iterable[Graph], kind: str = "MATCH_RECOGNIZE") -> str:
    """The automata, or the patterns of event queries, as one Mermaid flowchart."""
    lines = ["flowchart LR"]
    drawn = list(graphs)
    for number, graph in enumerate(drawn, 1):
        if len(drawn) > 1:
            lines.append(f'  subgraph clause{number} ["{kind} {number}"]')
        lines += [f"  {line}" for line in _mermaid_lines(graph, f"q{number}_")]
        if len(drawn) > 1:
            lines.append("  end")
    return "\n".join(lines) + "\n"


def _mermaid_lines(graph: Graph, prefix: str) -> list[str]:
    lines = [f"{prefix}in(( )) --> {prefix}0"]
    for number, node in enumerate(graph.nodes):
        lines.append(f"{prefix}{number}{_mermaid_node(node)}")
    for edge in graph.edges:
        arrow = "-->" if edge.is_preferred else "-.->"
        lines.append(f"{prefix}{edge.source} {arrow} {prefix}{edge.target}")
    if graph.left_out:
        lines.append(f"%% {graph.left_out} of {graph.states} states are not shown")
    return lines


def _mermaid_node(node: Node) -> str:
    label = "".join(c if c.isalnum() or c in "_ ." else f"#{ord(c)};" for c in node.label)
    match node.shape:
        case Shape.VARIABLE:
            return f'("{label}")'
        case Shape.MATCH:
            return f'((("{label}")))'
        case Shape.SPLIT:
            return '{" "}'
        case _:
            return f'["{label}"]'
