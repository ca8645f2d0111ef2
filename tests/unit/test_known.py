"""What is known is left out of a loop, and what is left does the same."""

from __future__ import annotations

import ast
import inspect
import random
from itertools import product
from textwrap import dedent
from typing import Any

import pytest

from motif.engine.events.join_plan import planned
from motif.engine.events.rows import EventRows
from motif.engine.execution import Execution
from motif.kernels import join
from motif.kernels.known import Known, simplify
from motif.lang.snoop import parse_events
from motif.testing.event_engines import Engine

DOMAINS = {"a": (0,), "b": (-1, 2), "c": (0, 1, 4), "d": (1,), "e[]": (0, 4), "f[]": (3,)}
"""Values that the functions below are called with; some of this is told."""


def simplified(source: str, known: Known) -> str:
    tree = ast.parse(source)
    simplify(tree, {"loop": known})
    return ast.unparse(tree)


def called(source: str, *arguments: Any) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["loop"](*arguments)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("x = a", "x = 0"),
        ("x = f[y]", "x = 3"),
        ("x = e[y]", "x = e[y]"),
        ("x = a < b", "x = 0 < b"),
        ("x = b < 3", "x = True"),
        ("x = 0 < e[y] < 4", "x = False"),
        ("x = y and b < 3", "x = y"),
        ("x = y and b > 3", "x = False"),
        ("x = y or b < 3", "x = True"),
        ("x = not d", "x = False"),
        ("x = 1 if d else 2", "x = 1"),
        ("if a:\n    x = 1\nelse:\n    x = 2", "x = 2"),
        ("if y:\n    if a:\n        x = 1", "if y:\n    pass"),
        ("for x in y:\n    if a:\n        continue", "for x in y:\n    pass"),
        ("a = 5", "a = 5"),
        ("f[0] = 5", "f[0] = 5"),
    ],
)
def test_what_is_left(statement: str, wanted: str) -> None:
    known = tuple(DOMAINS.items())
    body = "\n".join(f"    {line}" for line in statement.splitlines())
    found = simplified(f"def loop():\n{body}", known)
    assert dedent(found.split("\n", 1)[1]) == wanted
    assert simplified(f"def other():\n{body}", known) == ast.unparse(ast.parse(f"def other():\n{body}"))


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(("a", "b", "c", "d", "e[0]", "e[1]", "f[0]", "0", "2", "-1"))
    one, other, third = (expression(rng, depth - 1) for _ in range(3))
    comparison = rng.choice(("==", "!=", "<", "<=", ">", ">="))
    return rng.choice(
        (
            f"({one} {comparison} {other})",
            f"({one} {comparison} {other} < {third})",
            f"bool({one} and {other})",
            f"bool({one} or {other} or {third})",
            f"(not {one})",
            f"({one} if {other} else {third})",
        )
    )


@pytest.mark.parametrize("seed", range(100))
def test_the_rest_does_the_same(seed: int) -> None:
    rng = random.Random(seed)
    lines = ["def loop(a, b, c, d, e, f):", "    x = 0"]
    for number in range(6):
        word = "if" if number % 3 == 0 else "elif"
        lines += [f"    {word} {expression(rng, 3)}:", f"        x += {1 << number}"]
    lines.append(f"    return x, {expression(rng, 2)}")
    source = "\n".join(lines)
    known = tuple((name, values) for name, values in DOMAINS.items() if rng.random() < 0.7)
    shorter = simplified(source, known)
    for a, b, c, d, one, other, f in product(*(DOMAINS[name] for name in ("a", "b", "c", "d", "e[]", "e[]", "f[]"))):
        arguments = (a, b, c, d, (one, other), (f,))
        assert called(shorter, *arguments) == called(source, *arguments), source


@pytest.mark.parametrize(
    ("query", "left_out"),
    [
        ("SELECT * FROM ALL(A a, B b) WITHIN 9 s", {"alive", "fixed", "gap_low", "head_at", "item_cursor"}),
        ("SELECT * FROM SEQ(A a; B b+; C c) WITHIN 9 s", {"alive", "fixed", "gap_low", "head_at", "item_cursor"}),
        ("SELECT * FROM SEQ(A a; NOT B b; C c) WITHIN 9 s", {"alive", "fixed", "gap_low", "head_at", "item_cursor"}),
        ("SELECT * FROM SEQ(A a; B b) WITHIN 9 s CONSUMING a", {"gap_low", "head_at"}),
    ],
)
def test_what_a_query_does_not_have_is_not_in_its_loop(query: str, left_out: set[str]) -> None:
    engine = Engine(parse_events(query), [], {"ts": "TIMESTAMP", "type": "VARCHAR"})
    known = planned(EventRows(engine.program, engine.table, Execution.of(engine.program)), 0).known
    whole = ast.parse(inspect.getsource(join.join))
    names = _read(whole)
    assert {name.removesuffix("[]") for name, _ in known} <= names
    simplify(whole, {"join": known})
    assert not _read(whole) & left_out
    assert left_out <= names


def _read(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
