"""From loop to callable: as plain Python, or compiled.

A kernel is the source text of this folder's functions, for match-dependent patterns with generated
statements at the markers, and without what is known not to happen. The text holds only counters for names, so queries
of one shape share it, and its compiled code, too.
"""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from motif.kernels import arith, chance, columns, consume, fold, identity, join, lists, reach, search, sort
from motif.kernels.known import Known, simplify
from motif.kernels.native import NOTHING_KNOWN, Native

Loop = Callable[..., Any]
Markers = tuple[tuple[str, str], ...]
"""Statements for the markers of `search`, by marker; empty for row-only patterns."""
Join = tuple[Markers, Known]
"""Statements for the markers of `join`, and what is known of its arguments."""

_HELPERS = (arith.add, arith.sub, arith.mul, arith.rem, arith.frem, arith.below, arith.alike)
_LIST_HELPERS = (
    lists.known,
    lists.sum_whole,
    lists.sum_float,
    lists.min_whole,
    lists.max_whole,
    lists.min_float,
    lists.max_float,
)
_CONSUME_HELPERS = (consume.precedes, consume.agree, consume.decided)
_DEFINING = threading.Lock()
"""Python counts how deep a syntax tree is once for all threads: two that make one at a time fail."""
_HEADER = f"from __future__ import annotations\nMOST = {arith.MOST}\nLEAST = {arith.LEAST}\n"


def counting(way: Join) -> Join:
    """The same join, which counts what each level does."""
    markers, known = way
    return (*markers, *join.COUNTING), known


def search_loop(markers: Markers, *, compiled: bool) -> Loop:
    """The matching loop with these statements."""
    return _compiled(search.search, markers) if compiled else _plain(search.search, markers)


def join_loop(way: Join, *, compiled: bool) -> Loop:
    """The loop for event patterns with these tests."""
    return _compiled(join.join, *way) if compiled else _plain(join.join, *way)


def consume_loop(joins: tuple[Join, ...], *, compiled: bool) -> Loop:
    """The loop for CONSUMING over joins with these tests."""
    return _compiled_consume(joins) if compiled else _plain_consume(joins)


def native_search(markers: Markers) -> Native:
    """The compiled `search_loop`."""
    return _compiled(search.search, markers)


def native_joins(joins: tuple[Join, ...], *, consuming: bool) -> list[Native]:
    """The compiled `consume_loop`, or `join_loop` of each of them."""
    return [_compiled_consume(joins)] if consuming else [_compiled(join.join, *way) for way in joins]


@cache
def native_fold(*, floats: bool) -> Native:
    """The compiled `fold_loop`."""
    return _native(_fold(floats), "\n".join(map(_decorated, (arith.add, arith.below, _fold(floats)))))


@cache
def native_reach() -> Native:
    """The compiled `reach_loop`."""
    return _native(reach.reach, _decorated(reach.reach))


def columns_loop(markers: Markers) -> Loop:
    """The loop that computes row expressions with these statements, for rows too few to compile anything."""
    return _plain(columns.columns, markers)


def fold_loop(*, floats: bool, compiled: bool) -> Loop:
    """The aggregate loop for integers or floats."""
    return native_fold(floats=floats) if compiled else _fold(floats)


def reach_loop(*, compiled: bool) -> Loop:
    """The loop that finds how far WITHIN lets matches go."""
    return native_reach() if compiled else reach.reach


@cache
def chance_loops() -> tuple[Native, Native]:
    """The compiled loops `complete` and `span`; few events take no loop but NumPy."""
    return _native(chance.complete, _decorated(chance.complete)), _native(chance.span, _decorated(chance.span))


@cache
def neighbours_loop() -> Native:
    """The compiled loop `neighbours`."""
    return _native(chance.neighbours, _decorated(chance.neighbours))


@cache
def sort_loop() -> Native:
    """The compiled loop `by_columns`."""
    return _native(sort.by_columns, _decorated(sort.by_columns))


@cache
def identity_loops() -> tuple[Native, Native]:
    """The compiled loops `hash_values` and `hash_matches`."""
    mixed = _decorated(identity.mixed)
    return (
        _native(identity.hash_values, mixed + _decorated(identity.hash_values)),
        _native(identity.hash_matches, mixed + _decorated(identity.hash_matches)),
    )


@cache
def _plain(loop: Loop, markers: Markers, known: Known = ()) -> Loop:
    if not markers:
        return loop
    helpers = {helper.__name__: helper for helper in (*_HELPERS, *_LIST_HELPERS)}
    result: Loop = defined(_filled(loop, markers), helpers, {loop.__name__: known})[loop.__name__]
    return result


@cache
def _compiled(loop: Loop, markers: Markers, known: Known = ()) -> Native:
    return _native(loop, _with_helpers("@kernel\n" + _filled(loop, markers)), {loop.__name__: known})


def _native(loop: Loop, source: str, known: Mapping[str, Known] = NOTHING_KNOWN) -> Native:
    # What is known makes it another loop, but need not be thought through where this is kept on disk.
    return Native(loop.__name__, f"# {known}\n" + _HEADER + source, partial(defined, known=known), known)


def _with_helpers(source: str) -> str:
    for helper in (*reversed(_LIST_HELPERS), *_HELPERS):  # those of lists call those of arithmetic
        if f"{helper.__name__}(" in source:  # each takes time to compile
            source = _decorated(helper) + "\n" + source
    return source


@cache
def _plain_consume(joins: tuple[Join, ...]) -> Loop:
    names = {helper.__name__: helper for helper in _CONSUME_HELPERS}
    names |= {f"join_{number}": _plain(join.join, *way) for number, way in enumerate(joins)}
    source = _filled(consume.run_join, _calls(len(joins))) + _source(consume.consume)
    result: Loop = defined(source, names)["consume"]
    return result


@cache
def _compiled_consume(joins: tuple[Join, ...]) -> Native:
    bodies = [
        _filled(join.join, markers).replace("def join(", f"def join_{number}(", 1)
        for number, (markers, _) in enumerate(joins)
    ]
    bodies += [_source(helper) for helper in _CONSUME_HELPERS]
    bodies += [_filled(consume.run_join, _calls(len(joins))), _source(consume.consume)]
    known = {f"join_{number}": known for number, (_, known) in enumerate(joins)}
    return _native(consume.consume, _with_helpers("\n".join("@kernel\n" + body for body in bodies)), known)


def _calls(joins: int) -> Markers:
    """Calls of join_0, join_1, ...: in `statics` what is only read, in `works` what is bound."""
    names = list(inspect.signature(join.join).parameters)
    statics, works = names.index("fixed") - names.index("kind"), names.index("state") - names.index("bound")
    lines = []
    for number in range(joins):
        first = ", ".join(f"statics[{number}][{i}]" for i in range(statics))
        then = ", ".join(f"works[{number}][{i}]" for i in range(works))
        results = f"join_state, rows, items, envs[{number}]"
        lines.append(f"{'elif' if number else 'if'} j == {number}:")
        lines.append(f"    status = join_{number}(run, {first}, fixed, alive, {then}, {results})")
    return (("call", "\n".join(lines)),)


def _fold(floats: bool) -> Loop:
    return fold.fold_float if floats else fold.fold_whole


def _decorated(function: Loop) -> str:
    """The text of a function that is to be compiled."""
    return "@kernel\n" + _source(function)


@cache
def _source(function: Loop) -> str:
    return inspect.getsource(function)


def _filled(loop: Loop, markers: Markers) -> str:
    """The text of a loop with each marker line replaced by its statements at the same indent.

    Markers of counters that nobody asks for leave nothing behind: not even another text, by which code is kept.
    """
    statements: Mapping[str, str] = dict(markers)
    lines: list[str] = []
    for line in _source(loop).splitlines():
        name = line.strip().removeprefix("# <").removesuffix(">")
        if name in statements and line.strip() == f"# <{name}>":
            indent = line[: len(line) - len(line.lstrip())]
            lines.extend(indent + statement for statement in statements[name].splitlines())
        elif not line.strip().startswith("# <count "):
            lines.append(line)
    return "\n".join(lines) + "\n"


def defined(source: str, names: dict[str, Any], known: Mapping[str, Known] = NOTHING_KNOWN) -> dict[str, Any]:
    """The names that a text defines, besides those it may use; it is generated, and holds nothing of the query's."""
    with _DEFINING:
        tree = ast.parse(source)
        simplify(tree, known)
        exec(compile(tree, "<motif kernel>", "exec"), names)  # noqa: S102
    return names
