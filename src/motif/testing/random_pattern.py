"""Random row patterns: every operator, nullable bodies under quantifiers, at most three levels deep."""

from __future__ import annotations

import random
from typing import assert_never

from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var

BOUNDS: tuple[tuple[int, int | None], ...] = (
    (0, None),
    (0, None),
    (1, None),
    (1, None),
    (0, 1),
    (0, 1),
    (2, 2),
    (1, 2),
    (2, 3),
    (0, 2),
    (2, None),
)


def random_pattern(rng: random.Random, names: str, exclusion: bool) -> Pattern:
    """A pattern over (some of) the variables; `{- -}` only where the query may use it."""
    pattern = _pattern(rng, names, rng.choice((1, 2, 2, 3)), exclusion)
    if rng.random() < 0.05:
        pattern = Seq((Anchor(at_start=True), pattern))
    if rng.random() < 0.05:
        pattern = Seq((pattern, Anchor(at_start=False)))
    return pattern


def _pattern(rng: random.Random, names: str, depth: int, exclusion: bool) -> Pattern:
    if depth == 0:
        return _leaf(rng, names)
    kinds = ["seq"] * 9 + ["choice"] * 5 + ["repeat"] * 7 + ["permute"] + ["exclude"] * (2 if exclusion else 0)
    kind = rng.choice(kinds)
    # What stands inside an exclusion has none of its own: the standard does not nest them.
    items = [_pattern(rng, names, depth - 1, exclusion and kind != "exclude") for _ in range(rng.choice((2, 2, 3)))]
    match kind:
        case "seq":
            return Seq(tuple(items))
        case "choice":
            return Choice((*items[:2], Empty()) if rng.random() < 0.1 else tuple(items))
        case "permute":
            # PERMUTE refuses an item that is nothing.
            return Permute(tuple(Var(rng.choice(names)) if isinstance(item, Empty) else item for item in items))
        case "exclude":
            return Exclude(items[0])
        case _:
            low, high = rng.choice(BOUNDS)
            return Repeat(items[0], low, high, greedy=rng.random() < 0.7)


def _leaf(rng: random.Random, names: str) -> Pattern:
    chance = rng.random()
    if chance < 0.015:
        return Empty()
    if chance < 0.025:
        return Anchor(at_start=rng.random() < 0.5)
    variable = Var(rng.choice(names))
    if chance < 0.25:
        low, high = rng.choice(BOUNDS)
        return Repeat(variable, low, high, greedy=rng.random() < 0.7)
    return variable


def pattern_text(pattern: Pattern, rng: random.Random) -> str:
    """The pattern as it stands between the parentheses of PATTERN."""
    match pattern:
        case Var(name=name):
            return name
        case Seq(items=items):
            return " ".join(_atom(item, rng) if isinstance(item, Choice) else pattern_text(item, rng) for item in items)
        case Choice(items=items):
            # An empty alternative may also be written as nothing.
            texts = ["" if item == Empty() and rng.random() < 0.5 else pattern_text(item, rng) for item in items]
            return " | ".join(texts)
        case Repeat(body=body):
            return _atom(body, rng) + _quantifier(pattern, rng)
        case Permute(items=items):
            return f"PERMUTE({', '.join(pattern_text(item, rng) for item in items)})"
        case Exclude(body=body):
            return f"{{- {pattern_text(body, rng)} -}}"
        case Anchor(at_start=at_start):
            return "^" if at_start else "$"
        case Empty():
            return "()"
        case _:
            assert_never(pattern)


def _atom(pattern: Pattern, rng: random.Random) -> str:
    text = pattern_text(pattern, rng)
    return text if isinstance(pattern, Var | Empty) else f"({text})"


def _quantifier(loop: Repeat, rng: random.Random) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((loop.low, loop.high))
    if short is None or rng.random() < 0.2:
        short = f"{{{_bounds(loop, rng)}}}"
    return short if loop.greedy else short + "?"


def _bounds(loop: Repeat, rng: random.Random) -> str:
    if loop.low == loop.high:
        return str(loop.low)
    low = "" if loop.low == 0 and loop.high is not None and rng.random() < 0.5 else loop.low
    return f"{low},{'' if loop.high is None else loop.high}"


def always_bound(pattern: Pattern) -> set[str]:
    """Variables that have a row in every match."""
    match pattern:
        case Var(name=name):
            return {name}
        case Seq(items=items) | Permute(items=items):
            return set().union(*map(always_bound, items))
        case Choice(items=items):
            return set.intersection(*map(always_bound, items))
        case Repeat(body=body, low=low):
            return always_bound(body) if low else set()
        case Exclude(body=body):
            return always_bound(body)
        case Anchor() | Empty():
            return set()
        case _:
            assert_never(pattern)


def possible_first(pattern: Pattern) -> set[str]:
    """Variables that the first row of a match may have."""
    match pattern:
        case Var(name=name):
            return {name}
        case Seq(items=items):
            firsts: set[str] = set()
            for item in items:
                firsts |= possible_first(item)
                if not is_nullable(item):
                    break
            return firsts
        case Choice(items=items) | Permute(items=items):
            return set().union(*map(possible_first, items))
        case Repeat(body=body) | Exclude(body=body):
            return possible_first(body)
        case Anchor() | Empty():
            return set()
        case _:
            assert_never(pattern)


def is_nullable(pattern: Pattern) -> bool:
    """Whether the pattern can match no row at all."""
    match pattern:
        case Var():
            return False
        case Seq(items=items) | Permute(items=items):
            return all(map(is_nullable, items))
        case Choice(items=items):
            return any(map(is_nullable, items))
        case Repeat(body=body, low=low):
            return low == 0 or is_nullable(body)
        case Exclude(body=body):
            return is_nullable(body)
        case Anchor() | Empty():
            return True
        case _:
            assert_never(pattern)
