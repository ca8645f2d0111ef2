"""Which constructs of the language a query uses: the coverage of random tests is counted with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Interval, Label, MatchNumber, Mode, Verbatim
from motif.ir.expr import walk as walk_expr
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var
from motif.ir.pattern import walk as walk_pattern
from motif.ir.query import Define, RowQuery, SkipTo
from motif.testing.random_pattern import is_nullable


def features(query: RowQuery) -> set[str]:
    """Names of the constructs in the query, such as `quantifier *?` or `define PREV`."""
    found = {str(query.rows), f"SKIP {query.skip.to}", str(query.match_mode)}
    found.update(_layout(query))
    for node in walk_pattern(query.pattern):
        found.update(_of_pattern(node))
    for define in query.defines:
        found.update(f"define {name}" for node in walk_expr(define.condition) for name in _of_expr(query, node))
        found.update(_dependence(define))
    for measure in query.measures:
        found.update(f"measure {name}" for node in walk_expr(measure.expr) for name in _of_expr(query, node))
    return found


def _layout(query: RowQuery) -> Iterator[str]:
    subsets = {subset.name for subset in query.subsets}
    yield f"PARTITION BY {('none', 'one', 'several')[min(2, len(query.partition))]}"
    if any(not isinstance(key.expr, Column) for key in query.partition):
        yield "PARTITION BY expression"
    yield f"ORDER BY {('none', 'one', 'several')[min(2, len(query.order))]}"
    for item in query.order:
        yield f"ORDER BY {'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if item.nulls_first else 'LAST'}"
    if subsets:
        yield "SUBSET"
    if query.skip.to in (SkipTo.FIRST, SkipTo.LAST) and query.skip.var in subsets:
        yield f"SKIP {query.skip.to} subset"
    if query.within is not None:
        yield f"WITHIN {'interval' if isinstance(query.within.bound, Interval) else 'number'}"
    if set(query.variables()) - {define.var for define in query.defines}:
        yield "undefined variable"


def _of_pattern(node: Pattern) -> Iterator[str]:
    match node:
        case Repeat(body=body):
            yield f"quantifier {_quantifier(node)}"
            if is_nullable(body):
                yield "nullable body under quantifier"
        case Anchor(at_start=at_start):
            yield "anchor ^" if at_start else "anchor $"
        case Choice(items=items):
            yield "alternation"
            if any(isinstance(item, Empty) for item in items):
                yield "alternation with empty"
        case Seq():
            yield "concatenation"
        case Permute():
            yield "PERMUTE"
        case Exclude():
            yield "exclusion"
        case Empty():
            yield "empty pattern ()"
        case Var():
            pass
        case _:
            assert_never(node)


def _quantifier(loop: Repeat) -> str:
    names = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    bounds = (loop.low, loop.high)
    braces = "{n}" if loop.low == loop.high else "{n,}" if loop.high is None else "{n,m}"
    return names.get(bounds, braces) + ("" if loop.greedy else "?")


def _of_expr(query: RowQuery, node: Expr) -> Iterator[str]:
    match node:
        case At():
            yield from _of_at(node)
            if node.var in {subset.name for subset in query.subsets}:
                yield "subset reference"
        case Aggregate(name=name):
            over = "all" if node.var is None else "subset" if node.var not in query.variables() else "variable"
            yield f"{name} over {over}"
            if node.arg is None:
                yield "count of rows"
            if node.distinct:
                yield f"{name} DISTINCT"
            if node.mode is not None:
                yield f"{node.mode} aggregate"
        case Label():
            yield "CLASSIFIER"
        case MatchNumber():
            yield "MATCH_NUMBER"
        case Call(name=name):
            yield name
        case Verbatim():
            yield "verbatim"
        case _:
            pass


def _of_at(at: At) -> Iterator[str]:
    edge = at.end is End.FIRST or at.index > 0
    if edge:
        yield f"{at.end}" + (" with offset" if at.index else "")
    if at.shift:
        step = "PREV" if at.shift < 0 else "NEXT"
        yield step + (" of FIRST/LAST" if edge else "") + (" with offset" if abs(at.shift) > 1 else "")
    if at.mode is not None:
        yield f"{at.mode} navigation"
    if at.mode is Mode.FINAL and at.shift:
        yield "PREV/NEXT of FINAL"


def _dependence(define: Define) -> Iterator[str]:
    """Whether the condition depends on the candidate row alone, on its neighbours, or on the match."""
    nodes = list(walk_expr(define.condition))
    others = [node for node in nodes if isinstance(node, At) and node.var not in (None, define.var)]
    if others:
        yield "define on another variable"
    elif not any(isinstance(node, Aggregate | Label | MatchNumber) for node in nodes):
        plain = all(node.end is End.LAST and node.index == 0 for node in nodes if isinstance(node, At))
        shifted = any(node.shift for node in nodes if isinstance(node, At))
        if plain:
            yield "define on neighbour rows" if shifted else "define on the row alone"
