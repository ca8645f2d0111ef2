"""The canonical order of matches, whatever fits into a word."""

from __future__ import annotations

import numpy as np
import pytest

from motif.engine.events.matches import EventMatches

VARIABLES = "abcd"


def by_definition(columns: list[list[int]]) -> list[int]:
    """By last event, first event, then the events one by one, then by what the variables bind (nothing: last)."""

    def key(match: int) -> tuple[int, list[int], list[tuple[bool, int]]]:
        bound = [column[match] for column in columns]
        events = sorted(event for event in bound if event >= 0)
        return events[-1], [*events, 1 << 62], [(event < 0, event) for event in bound]

    return sorted(range(len(columns[0])), key=key)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("events", [4, 1_000, 1 << 20, 1 << 40])
@pytest.mark.parametrize("kind", ["sequence", "any order", "not all bound"])
def test_matches_are_in_the_order_that_is_defined(kind: str, events: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-1 if kind == "not all bound" else 0, events, (200, len(VARIABLES)))
    table[:, 1] = rng.integers(0, events, 200)  # one is bound at least
    if kind == "sequence":
        table = np.sort(table, axis=1) + np.arange(len(VARIABLES))
    singles = {var: table[:, number].copy() for number, var in enumerate(VARIABLES)}
    matches = EventMatches(singles, {}, np.zeros(0, np.int64), np.arange(200))
    wanted = by_definition([column.tolist() for column in singles.values()])
    assert matches.in_order(VARIABLES).way.tolist() == wanted
