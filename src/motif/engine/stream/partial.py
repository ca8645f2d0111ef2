"""Partial matches of row patterns whose time is over: how far the search came when WITHIN ran out.

The pattern is made to match wherever it stands; a start that found nothing then gives what it had taken by its most
preferred way. It has timed out if it still went on at the last row of its window; otherwise a row ended it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motif.engine.arrays import Array
from motif.engine.matcher import Rows, Run, Standing
from motif.engine.matches import Matches, no_matches
from motif.errors import LimitExceeded
from motif.ir.query import MatchMode, Skip, SkipTo
from motif.plan import automaton as a
from motif.plan.physical.plan import Running
from motif.plan.program import Memory, Program


def stopping_anywhere(program: Program) -> Program:
    """The program whose pattern may end after every row."""
    machine = program.automaton
    size = len(machine)
    symbols = [state for state in range(size) if machine.op[state] == a.SYMBOL]
    split_of = {state: size + 1 + number for number, state in enumerate(symbols)}
    added = len(symbols) + 1  # one MATCH, then a SPLIT behind every SYMBOL
    ways_on = [machine.preferred[state] for state in symbols]
    anywhere = a.Automaton(
        op=(*machine.op, a.MATCH, *(a.SPLIT for _ in symbols)),
        var=(*machine.var, *(0 for _ in range(added))),
        preferred=(*(split_of.get(s, machine.preferred[s]) for s in range(size)), -1, *ways_on),
        other=(*machine.other, -1, *(size for _ in symbols)),
        excluded=(*machine.excluded, *(False for _ in range(added))),
    )
    count = len(anywhere)
    return replace(
        program,
        automaton=anywhere,
        memory=Memory((-1,) * count, (False,) * count, (False,) * count),
        query=replace(program.query, skip=Skip(SkipTo.NEXT), match_mode=MatchMode.MAXIMAL),
    )


def timed_out(rows: Rows, starts: Array, limits: Array, running: Running) -> Matches:
    """What was taken from each of `starts` (flags per row); `limits`: first row out of reach, per row.

    `rows` are those of a program that may stop anywhere.
    """
    standing = Standing.of(rows.bounds, more=False)
    try:
        found = list(Run(rows, standing, running).matches())
    except LimitExceeded:
        return no_matches()  # partial matches are a courtesy
    whole = Matches.joined(found)
    wanted = starts[whole.start] & (whole.end > whole.start) & (whole.end == limits[whole.start])
    return _chosen(whole, np.flatnonzero(wanted))


def _chosen(matches: Matches, chosen: Array) -> Matches:
    lengths = (matches.end - matches.start)[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    place = np.arange(int(lengths.sum())) + np.repeat(matches.offsets[:-1][chosen] - offsets[:-1], lengths)
    labels = matches.labels[place]
    return Matches(
        matches.start[chosen], matches.end[chosen], matches.number[chosen], matches.segment[chosen], labels, offsets
    )
