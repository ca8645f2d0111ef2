"""Host syntax that is only carried: the source text around the arguments Motif understands."""

from __future__ import annotations

from motif.errors import Span
from motif.ir.expr import Aggregate, At, Column, Expr, HostAggregate, Label, MatchNumber, Verbatim, walk
from motif.lang.cursor import Cursor


class VerbatimBuilder:
    """Collects arguments from left to right; everything between them is text, letter for letter, without comments."""

    def __init__(self, cursor: Cursor, start: int) -> None:
        self.cursor = cursor
        self.start = start
        self.first = cursor.tokens[start]
        self.offset = cursor.tokens[start].span.start
        self.parts: list[str] = []
        self.args: list[Expr] = []

    def add(self, arg: Expr, start: int) -> None:
        """`arg` was written by the tokens from `start` to the cursor (its parentheses included)."""
        self._add(arg, self.cursor.span_from(start))

    def add_names_of(self, body: Expr) -> None:
        """Only what `body` reads from rows becomes an argument; its operators stay text.

        A lambda's body cannot be evaluated apart from the lambda, so nothing bigger may be cut out of it.
        """
        for leaf in _leaves(body):
            if leaf.span is not None:
                self._add(leaf, leaf.span)

    def _add(self, arg: Expr, span: Span) -> None:
        self.parts.append(self.cursor.tokens.for_host[self.offset : span.start])
        self.args.append(arg)
        self.offset = span.end

    def build(self) -> Verbatim:
        """The node, up to the cursor."""
        span = self.cursor.span_from(self.start)
        last = self.cursor.tokens.for_host[self.offset : span.end]
        return Verbatim((*self.parts, last), tuple(self.args), span)


def _leaves(expr: Expr) -> list[Expr]:
    """Outermost nodes that read rows, in the order of the text; a rewritten CASE holds some twice."""
    found: dict[Span, Expr] = {}
    covered: set[int] = set()
    for node in walk(expr):
        if id(node) in covered:
            continue
        if isinstance(node, At | Aggregate | HostAggregate | Column | Label | MatchNumber) and node.span is not None:
            found[node.span] = node
            covered.update(id(inner) for inner in walk(node))
    return [found[span] for span in sorted(found, key=lambda span: span.start)]
