"""The order in which a join binds events is the cheapest of all, found without asking the same again and again."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from motif.plan.events import steps
from motif.plan.events.steps import Estimates, Lookup
from motif.plan.events.ways import Element, Role, Way


def tried(
    way: Way, equal: list[tuple[Lookup, int]], known: Estimates, tested: list[set[int]], order: list[int]
) -> float:
    """Candidates tried altogether; every condition leaves some of them out as soon as it can be tested."""
    total, bindings = 0.0, 1.0
    for level, element in enumerate(order):
        bindings *= steps._candidates(way, equal, known, order[:level], element)
        total += bindings
        now = set(order[: level + 1])
        bindings *= steps._PASSES ** sum(element in names and names <= now for names in tested)
    return total


@pytest.mark.parametrize("seed", range(60))
def test_the_order_is_the_first_of_the_cheapest(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 6)
    elements = tuple(Element(f"v{number}", Role.SINGLE) for number in range(count))
    before = tuple(frozenset(b for b in range(number) if rng.random() < 0.5) for number in range(count))
    way = Way(elements, before)
    pairs = [rng.sample(range(count), 2) for _ in range(rng.randint(0, 4))] if count > 1 else []
    equal = [(Lookup(b, rng.randrange(3), 0), a) for a, b in pairs if rng.random() < 0.5]
    candidates = {element.var: rng.choice((0, 1, 5, 5, 100, 3_000)) for element in elements}
    known = Estimates(candidates, rng.choice((1, 10)), rng.choice((1.0, 0.1)), {0: 5.0, 1: 50.0})
    tested = [set(pair) for pair in pairs]
    ends = rng.sample(range(count), min(count, 1))
    first, last = rng.choice((([], []), (ends, []), ([], ends)))
    between = [number for number in reversed(range(count)) if number not in first + last]
    orders = [[*first, *order, *last] for order in permutations(between)]
    wanted = min(orders, key=lambda order: tried(way, equal, known, tested, order))
    assert steps._Cheapest(way, equal, known, tested, last).order(first, between) == wanted
