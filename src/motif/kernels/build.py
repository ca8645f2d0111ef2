"""From loop to callable: as plain Python, or compiled and kept on disk.

A kernel is the source text of this folder's functions, for match-dependent patterns with generated
statements at the markers. The text holds only counters for names, so queries of one shape share it;
its hash names the file under which the compiled code is kept.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from motif.kernels import arith, columns, consume, fold, join, lists, reach, search

Loop = Callable[..., Any]
Markers = tuple[tuple[str, str], ...]
"""Statements for the markers of `search`, by marker; empty for row-only patterns."""

_LOADING = threading.Lock()
_COMPILED: set[tuple[object, ...]] = set()
"""Loops that this process has compiled or loaded already: using them costs nothing more."""
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


def search_loop(markers: Markers, *, compiled: bool) -> Loop:
    """The matching loop with these statements."""
    return _compiled(search.search, markers) if compiled else _plain(search.search, markers)


def join_loop(markers: Markers, *, compiled: bool) -> Loop:
    """The loop for event patterns with these tests."""
    return _compiled(join.join, markers) if compiled else _plain(join.join, markers)


def consume_loop(joins: tuple[Markers, ...], calls: Markers, *, compiled: bool) -> Loop:
    """The loop for CONSUMING over joins with these tests; `calls` are its calls of join_0, join_1, ..."""
    return _compiled_consume(joins, calls) if compiled else _plain_consume(joins, calls)


def is_search_compiled(markers: Markers) -> bool:
    """Whether `search_loop` has this one already."""
    return (search.search, markers) in _COMPILED


def are_joins_compiled(joins: tuple[Markers, ...], *, consuming: bool) -> bool:
    """Whether `consume_loop`, or `join_loop` for each of them, has these already."""
    if consuming:
        return (consume.consume, *joins) in _COMPILED
    return all((join.join, markers) in _COMPILED for markers in joins)


def is_search_kept(markers: Markers) -> bool:
    """Whether compiled code of this `search_loop` has only to be loaded from disk."""
    return _is_kept(_source(search.search, markers))


def are_joins_kept(joins: tuple[Markers, ...]) -> bool:
    """Whether that of `join_loop` is for each of them."""
    return all(_is_kept(_source(join.join, markers)) for markers in joins)


def columns_loop(markers: Markers) -> Loop:
    """The loop that computes row expressions with these statements, for rows too few to compile anything."""
    return _plain(columns.columns, markers)


def fold_loop(*, floats: bool, compiled: bool) -> Loop:
    """The aggregate loop for integers or floats."""
    loop = fold.fold_float if floats else fold.fold_whole
    return _compiled_fold(loop.__name__) if compiled else loop


def reach_loop(*, compiled: bool) -> Loop:
    """The loop that finds how far WITHIN lets matches go."""
    return _compiled_reach() if compiled else reach.reach


@cache
def _plain(loop: Loop, markers: Markers) -> Loop:
    if not markers:
        return loop
    namespace: dict[str, Any] = {helper.__name__: helper for helper in (*_HELPERS, *_LIST_HELPERS)}
    exec(compile(_filled(loop, markers), "<motif kernel>", "exec"), namespace)  # noqa: S102 - generated, no query text
    result: Loop = namespace[loop.__name__]
    return result


@cache
def _compiled(loop: Loop, markers: Markers) -> Loop:
    result: Loop = getattr(_load(_source(loop, markers)), loop.__name__)
    _COMPILED.add((loop, markers))
    return result


def _source(loop: Loop, markers: Markers) -> str:
    return _with_helpers("@kernel\n" + _filled(loop, markers))


def _with_helpers(source: str) -> str:
    for helper in (*reversed(_LIST_HELPERS), *_HELPERS):  # those of lists call those of arithmetic
        if f"{helper.__name__}(" in source:  # each takes time to compile
            source = _decorated(helper) + "\n" + source
    return source


@cache
def _plain_consume(joins: tuple[Markers, ...], calls: Markers) -> Loop:
    namespace: dict[str, Any] = {helper.__name__: helper for helper in _CONSUME_HELPERS}
    namespace |= {f"join_{number}": _plain(join.join, markers) for number, markers in enumerate(joins)}
    source = _filled(consume.run_join, calls) + inspect.getsource(consume.consume)
    exec(compile(source, "<motif kernel>", "exec"), namespace)  # noqa: S102 - generated, no query text
    result: Loop = namespace["consume"]
    return result


@cache
def _compiled_consume(joins: tuple[Markers, ...], calls: Markers) -> Loop:
    bodies = [
        _filled(join.join, markers).replace("def join(", f"def join_{number}(", 1)
        for number, markers in enumerate(joins)
    ]
    bodies += [inspect.getsource(helper) for helper in _CONSUME_HELPERS]
    bodies.append(_filled(consume.run_join, calls))
    source = "\n".join((*("@inner\n" + body for body in bodies), _decorated(consume.consume)))
    result: Loop = _load(_with_helpers(source)).consume
    _COMPILED.add((consume.consume, *joins))
    return result


@cache
def _compiled_fold(name: str) -> Loop:
    loops = (arith.add, arith.below, fold.fold_whole, fold.fold_float)
    loop: Loop = getattr(_load("\n".join(_decorated(loop) for loop in loops)), name)
    return loop


@cache
def _compiled_reach() -> Loop:
    loop: Loop = _load(_decorated(reach.reach)).reach
    return loop


def _decorated(function: Loop) -> str:
    """The text of a function that is to be compiled."""
    return "@kernel\n" + inspect.getsource(function)


def _filled(loop: Loop, markers: Markers) -> str:
    """The text of a loop with each marker line replaced by its statements at the same indent."""
    statements: Mapping[str, str] = dict(markers)
    lines: list[str] = []
    for line in inspect.getsource(loop).splitlines():
        name = line.strip().removeprefix("# <").removesuffix(">")
        if name in statements and line.strip() == f"# <{name}>":
            indent = line[: len(line) - len(line.lstrip())]
            lines.extend(indent + statement for statement in statements[name].splitlines())
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


_HEADER = "\n".join(
    (
        "# Generated by Motif; safe to delete.",
        "from __future__ import annotations",
        "from typing import Any",
        "from numba import njit",
        "kernel = njit(nogil=True, cache={cached})",
        "inner = njit(nogil=True, cache={cached}, no_cpython_wrapper=True, no_cfunc_wrapper=True)",
        f"MOST = {arith.MOST}",
        f"LEAST = {arith.LEAST}",
        "",
    )
)


def _name_of(body: str) -> str:
    return f"motif_kernel_{hashlib.sha256((_HEADER + body).encode()).hexdigest()[:24]}"


def _is_kept(body: str) -> bool:
    try:
        return "numba" in sys.modules and (cache_folder() / f"{_name_of(body)}.py").exists()
    except (OSError, RuntimeError):  # there is no such folder, nor a home
        return False


def _load(body: str) -> Any:
    """Import the text as a module whose compiled functions Numba keeps beside it."""
    with _LOADING:  # two threads may ask for the same kernel
        return _import(_name_of(body), _HEADER, body)


def _import(name: str, header: str, body: str) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    path = _write(name, header.format(cached=True) + body)
    cached = path is not None
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="motif-")) / f"{name}.py"
        path.write_text(header.format(cached=False) + body)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not cached:
        path.unlink()
    return module


def cache_folder() -> Path:
    """Where compiled kernels are kept: MOTIF_CACHE, else the user's cache folder."""
    chosen = os.environ.get("MOTIF_CACHE") or os.environ.get("XDG_CACHE_HOME")
    base = Path(chosen) if chosen else Path.home() / ".cache"
    return base / "motif" / "kernels"


def _write(name: str, text: str) -> Path | None:
    """Put the text into the cache folder in one step; None where that folder cannot be used."""
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{name}.py"
        if not path.exists() or path.read_text() != text:
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(temporary, path)  # noqa: PTH105 - atomic
    except (OSError, RuntimeError):
        return None
    return path
