"""PICK: of the matches that agree on all other variables, the one that binds a variable earliest or latest."""

from __future__ import annotations

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.matches import NEVER, EventMatches
from motif.ir.event import Pick, PickMode
from motif.plan.events.decision import choosing


def apply_picks(matches: EventMatches, picks: tuple[Pick, ...], segment: Array) -> EventMatches:
    """Filter by each pick in turn; `segment` is the partition of each event."""
    for pick in choosing(picks):
        if len(matches) > 1:
            matches = matches.take(_kept(matches, pick, segment))
    return matches


def _kept(matches: EventMatches, pick: Pick, segment: Array) -> Array:
    own = matches.singles[pick.var]
    others = [segment[matches.last()]]
    others += [column for var, column in matches.singles.items() if var != pick.var]
    others += [matches.list_numbers(var) for var in matches.lists]
    rank = np.where(own < 0, NEVER, own if pick.mode is PickMode.FIRST else -own)
    order = np.lexsort((rank, *others))
    leads = np.ones(len(order), bool)
    leads[1:] = np.logical_or.reduce([column[order][1:] != column[order][:-1] for column in others])
    return np.sort(order[leads])
