"""The pattern of an event query as a drawing sees it: SEQ from left to right, parts of ALL, ANY and OR in lanes."""

from __future__ import annotations

from typing import assert_never

from motif.explanation.graph import Graph, Node, Shape, layout
from motif.ir.event import (
    AnyOf,
    Conjunction,
    Disjunction,
    Event,
    EventQuery,
    Not,
    Pattern,
    Sequence,
    TimedSequence,
    walk,
)
from motif.ir.render_event import render_duration, render_event_pattern


def graph_of_events(query: EventQuery) -> Graph:
    """What is drawn of an event pattern."""
    drawing = _Drawing([node.var for node in walk(query.pattern) if isinstance(node, Event)])
    ends = drawing.add(query.pattern, [])
    drawing.node(Shape.MATCH, "match", ends)
    return layout(drawing.nodes, drawing.successors)


class _Drawing:
    """Adds nodes in the order of the text; a part is added behind the nodes at which the one before it ends."""

    def __init__(self, variables: list[str]) -> None:
        self.variables = variables
        self.nodes: list[Node] = []
        self.successors: list[list[int]] = []

    def node(self, shape: Shape, label: str, before: list[int], variable: int = -1, absent: bool = False) -> list[int]:
        number = len(self.nodes)
        self.nodes.append(Node(shape, label, (), variable, absent))
        self.successors.append([])
        for other in before:
            # The way on stands before the loop of a repeated event: it is the one drawn as a full line.
            self.successors[other].insert(len(self.successors[other]) - (other in self.successors[other]), number)
        return [number]

    def add(self, pattern: Pattern, before: list[int]) -> list[int]:
        """Add a part; where it ends."""
        match pattern:
            case Event():
                return self.event(pattern, before)
            case Not(event=event):
                number = self.variables.index(event.var)
                return self.node(Shape.VARIABLE, render_event_pattern(pattern), before, number, absent=True)
            case Sequence(items=items):
                for item in items:
                    before = self.add(item, before)
                return before
            case TimedSequence(first=first, second=second, low=low, high=high):
                ends = self.add(first, before)
                times = f"{render_duration(low)} to {render_duration(high)}"
                return self.add(second, self.node(Shape.FORK, times, ends))
            case Conjunction(items=items):
                return self.fork("ALL", items, before)
            case AnyOf(count=count, items=items):
                return self.fork(f"ANY {count}", items, before)
            case Disjunction(items=items):
                return self.fork("OR", items, before)
            case _:
                assert_never(pattern)

    def event(self, event: Event, before: list[int]) -> list[int]:
        number = self.variables.index(event.var)
        found = self.node(Shape.VARIABLE, render_event_pattern(event), before, number)
        if event.repeat is not None and event.repeat.high != 1:
            self.successors[found[0]].append(found[0])
        return found

    def fork(self, label: str, items: tuple[Pattern, ...], before: list[int]) -> list[int]:
        start = self.node(Shape.FORK, label, before)
        ends = [end for item in items for end in self.add(item, start)]
        return self.node(Shape.SPLIT, "", ends)
