"""Searches that ask the host: done again and again, until one of them asks nothing that is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from motif.engine.answers import Answers, Enough
from motif.errors import MotifError

if TYPE_CHECKING:
    from motif.engine.matcher import Standing
    from motif.engine.matches import Matches

    Search = Callable[[Standing], list[Matches]]


def matches_by_asking(search: Search, standing: Standing, answers: Answers, most: int) -> list[Matches]:
    """The matches of the first search in which the host has answered everything; `most`: rows of a match."""
    if answers.is_later:
        return _by_what_is_known(search, standing, answers)
    hopes = 0
    while True:
        found = _searched(search, standing, answers, hopes)
        if not answers.resolve():
            return found.taken(standing)
        hopes = 0 if found.failure is not None else min(max(1, 2 * hopes), most)


def _by_what_is_known(search: Search, standing: Standing, answers: Answers) -> list[Matches]:
    """The host is out of reach: what is asked is handed over, and the matches only count if that is nothing."""
    hopes = answers.hopes_later
    while True:
        found = _searched(search, standing, answers, hopes)
        if not (found.failure and answers.is_open and hopes):
            answers.hand_over()
            return found.taken(standing)
        hopes //= 2  # it may have failed on what is not so


@dataclass(frozen=True, slots=True)
class _Searched:
    """What a search has found, and how far it has come."""

    standing: Standing
    matches: list[Matches]
    failure: Exception | None = None

    def taken(self, standing: Standing) -> list[Matches]:
        """The matches, once they count; raises what the search failed on."""
        if self.failure is not None:
            raise self.failure
        standing.start[:], standing.number[:] = self.standing.start, self.standing.number
        return self.matches


def _searched(search: Search, standing: Standing, answers: Answers, hopes: int) -> _Searched:
    tried = replace(standing, start=standing.start.copy(), number=standing.number.copy())
    answers.begin(hopes)
    try:
        return _Searched(tried, search(tried))
    except (MotifError, OverflowError, Enough) as error:
        return _Searched(tried, [], error)
