"""What is known of a query before its loop is built is not asked while it runs.

A loop is written for all that a pattern can have. Of one query it is known that it has, say, neither lists nor events
that must be absent: what is only for these is left out of its loop, which takes half as long to compile, and less to
run, as plain Python most of all.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise, product

Known = tuple[tuple[str, tuple[int, ...]], ...]
"""Values that a variable may have by its name, and those that the elements of an array may have by `name[]`."""

_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def simplify(tree: ast.Module, known: Mapping[str, Known]) -> None:
    """Leave out of each function what cannot happen; `known` by its name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in known:
            _Simplifier(dict(known[node.name])).visit(node)


class _Simplifier(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, tuple[int, ...]]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._settled(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return self._settled(node)

    def _settled(self, node: ast.Name | ast.Subscript) -> ast.expr:
        values = self._values(node) if isinstance(node.ctx, ast.Load) else None
        return node if values is None or len(values) > 1 else _constant(values[0], node)

    def _values(self, node: ast.expr) -> tuple[int, ...] | None:
        """All that it may be, or None."""
        match node:
            case ast.Constant(value=int(value)):
                return (value,)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return (-value,)
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Subscript(value=ast.Name(id=name)):
                return self.known.get(f"{name}[]")
            case _:
                return None

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        values = [self._values(part) for part in (node.left, *node.comparators)]
        if None in values:
            return node
        comparisons = [_COMPARISONS[type(one)] for one in node.ops]
        answers = {
            all(compare(*pair) for compare, pair in zip(comparisons, pairwise(chosen), strict=True))
            for chosen in product(*values)  # type: ignore[arg-type]
        }
        return _constant(answers.pop(), node) if len(answers) == 1 else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return _constant(not node.operand.value, node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Parts have no effect: those that do not matter are left out, whatever comes before the one that decides."""
        self.generic_visit(node)
        decisive = isinstance(node.op, ast.Or)
        parts = [part for part in node.values if not isinstance(part, ast.Constant) or bool(part.value) is decisive]
        if any(isinstance(part, ast.Constant) for part in parts):
            return _constant(decisive, node)
        if not parts:
            return _constant(not decisive, node)
        return parts[0] if len(parts) == 1 else ast.copy_location(ast.BoolOp(node.op, parts), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        node.body = node.body or _nothing(node)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.body = node.body or _nothing(node)
        return node


def _constant(value: int, at: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(value), at)


def _nothing(at: ast.stmt) -> list[ast.stmt]:
    """Python wants a statement where none is left."""
    return [ast.copy_location(ast.Pass(), at)]
