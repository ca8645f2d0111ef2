"""Row pattern -> automaton, as flat arrays.

States are numbered; state 0 is the entry. A SYMBOL takes a row, a SPLIT tries its preferred successor
before the other one, so the order of SPLITs is the preference of the pattern. Counted repetitions are
copies: the automaton is data, so a copy costs a few bytes, and a dead end can be remembered per state.

Patterns are compiled backwards, from what follows. A part is given two continuations, one for the case
that it matched no row and one for the case that it did; that is how a loop knows an empty iteration
(which ends it) without a counter at run time, and why every cycle of the automaton takes a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import factorial
from typing import assert_never

from motif import limits
from motif.errors import LimitExceeded, Span
from motif.ir import pattern as p
from motif.ir.query import RowQuery

SYMBOL, SPLIT, MATCH, AT_START, AT_END = range(5)


@dataclass(frozen=True, slots=True)
class Automaton:
    """One entry per state in each tuple."""

    op: tuple[int, ...]
    var: tuple[int, ...]
    preferred: tuple[int, ...]
    other: tuple[int, ...]
    excluded: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.op)

    def successors(self, state: int) -> tuple[int, ...]:
        """Where a state leads, preferred first."""
        match self.op[state]:
            case 1:
                return (self.preferred[state], self.other[state])
            case 2:
                return ()
            case _:
                return (self.preferred[state],)

    @property
    def line(self) -> tuple[int, ...] | None:
        """The states that take the rows of a match, one after the other; None where matches may differ in them."""
        states, state = [], 0
        while self.op[state] != MATCH:
            if self.op[state] == SPLIT:
                return None
            if self.op[state] == SYMBOL:
                states.append(state)
            state = self.preferred[state]
        return tuple(states)


@dataclass(slots=True)
class _State:
    op: int
    var: int = 0
    preferred: int = -1
    other: int = -1
    excluded: bool = False


class _Compiler:
    """Grows the list of states; every method returns the state at which its part begins."""

    def __init__(self, query: RowQuery) -> None:
        self.query = query
        self.numbers = {name: i for i, name in enumerate(query.variables())}
        self.states: list[_State] = []

    def add(self, state: _State, span: Span | None) -> int:
        if len(self.states) >= limits.LIMITS.pattern_states:
            raise self.too_large(span, "nested repetition counts multiply; use smaller counts, or * and +")
        self.states.append(state)
        return len(self.states) - 1

    def too_large(self, span: Span | None, hint: str) -> LimitExceeded:
        return LimitExceeded(
            f"the pattern needs more than {limits.LIMITS.pattern_states} states (limit pattern_states)",
            source=self.query.source,
            span=span,
            hint=hint,
        )

    def part(self, node: p.Pattern, empty: int, taken: int, excluded: bool) -> int:
        """Compile `node`; go on at `empty` if it matched no row, at `taken` if it did."""
        match node:
            case p.Var(name=name, span=span):
                return self.add(_State(SYMBOL, self.numbers[name], taken, excluded=excluded), span)
            case p.Anchor(at_start=at_start, span=span):
                return self.add(_State(AT_START if at_start else AT_END, preferred=empty), span)
            case p.Empty():
                return empty
            case p.Exclude(body=body):
                return self.part(body, empty, taken, True)
            case p.Seq(items=items):
                return self.sequence(items, empty, taken, excluded)
            case p.Choice(items=items):
                return self.choice(items, empty, taken, excluded)
            case p.Repeat():
                return self.repeat(node, empty, taken, excluded)
            case p.Permute():
                return self.permute(node, empty, taken, excluded)
            case _:
                assert_never(node)

    def sequence(self, items: tuple[p.Pattern, ...], empty: int, taken: int, excluded: bool) -> int:
        for position in reversed(range(len(items))):
            if empty == taken:
                empty = taken = self.part(items[position], taken, taken, excluded)
            else:
                # What follows was reached with and without rows before it: so may be this item.
                here = self.part(items[position], empty, taken, excluded)
                taken = self.part(items[position], taken, taken, excluded) if position else taken
                empty = here
        return empty

    def choice(self, items: tuple[p.Pattern, ...], empty: int, taken: int, excluded: bool) -> int:
        entry = self.part(items[-1], empty, taken, excluded)
        for item in reversed(items[:-1]):
            entry = self.add(_State(SPLIT, preferred=self.part(item, empty, taken, excluded), other=entry), item.span)
        return entry

    def split(self, greedy: bool, more: int, leave: int, span: Span | None) -> int:
        return self.add(_State(SPLIT, preferred=more if greedy else leave, other=leave if greedy else more), span)

    def repeat(self, node: p.Repeat, empty: int, taken: int, excluded: bool) -> int:
        if node.high is None:
            loop = self.loop(node, taken, None, excluded)
            rest_empty = loop if empty == taken else self.loop(node, empty, loop, excluded)
            rest_taken = loop
        else:
            rest_empty, rest_taken = empty, taken
            for _ in range(node.high - node.low):
                rest_empty, rest_taken = self.optional(node, (empty, taken), (rest_empty, rest_taken), excluded)
        return self.sequence((node.body,) * node.low, rest_empty, rest_taken, excluded)

    def loop(self, node: p.Repeat, leave: int, again: int | None, excluded: bool) -> int:
        """A SPLIT between one more iteration (then `again`, or here) and leaving; an empty one leaves."""
        entry = self.add(_State(SPLIT), node.span)
        more = self.part(node.body, leave, entry if again is None else again, excluded)
        state = self.states[entry]
        state.preferred, state.other = (more, leave) if node.greedy else (leave, more)
        return entry

    def optional(
        self, node: p.Repeat, leave: tuple[int, int], rest: tuple[int, int], excluded: bool
    ) -> tuple[int, int]:
        """One optional iteration before `rest`, for both cases; an empty iteration leaves."""
        after_rows = self.split(node.greedy, self.part(node.body, leave[1], rest[1], excluded), leave[1], node.span)
        if leave[0] == leave[1]:
            return after_rows, after_rows
        return self.split(
            node.greedy, self.part(node.body, leave[0], rest[1], excluded), leave[0], node.span
        ), after_rows

    def permute(self, node: p.Permute, empty: int, taken: int, excluded: bool) -> int:
        """A choice between all orders; where no item has a choice inside, orders with the same rest share it."""
        if all(_is_fixed(item) for item in node.items):
            return self.permute_by_subsets(node, empty, taken, excluded)
        self.check_orders(node)
        orders = tuple(p.Seq(order) for order in permutations(node.items))
        return self.choice(orders, empty, taken, excluded)

    def check_orders(self, node: p.Permute) -> None:
        """Refuse before n! orders are made."""
        if factorial(len(node.items)) * len(node.items) > limits.LIMITS.pattern_states:
            raise self.too_large(node.span, "PERMUTE of more than 6 parts needs plain variables as parts")

    def permute_by_subsets(self, node: p.Permute, empty: int, taken: int, excluded: bool) -> int:
        """States are the subsets still to come, not the orders: 2^n, not n!."""

        @cache
        def remaining(missing: int, has_rows: bool) -> int:
            if missing == 0:
                return taken if has_rows else empty
            entry = -1
            for index in reversed(range(len(node.items))):
                if missing >> index & 1:
                    after = missing & ~(1 << index)
                    begin = self.part(node.items[index], remaining(after, has_rows), remaining(after, True), excluded)
                    entry = begin if entry < 0 else self.add(_State(SPLIT, preferred=begin, other=entry), node.span)
            return entry

        return remaining((1 << len(node.items)) - 1, empty == taken)


def _is_fixed(node: p.Pattern) -> bool:
    """There is one way only to match it."""
    match node:
        case p.Var() | p.Anchor() | p.Empty():
            return True
        case p.Repeat(low=low, high=high) if low != high:
            return False
        case p.Choice() | p.Permute():
            return False
        case _:
            return all(_is_fixed(part) for part in p.parts(node))


def compile_pattern(query: RowQuery) -> Automaton:
    """The automaton of the query's pattern.

    Expects: the limits on quantifiers and PERMUTE were checked. Guarantees: state 0 is the entry, all states
    are reachable from it, and every cycle passes through a SYMBOL.
    """
    compiler = _Compiler(query)
    accept = compiler.add(_State(MATCH), None)
    entry = compiler.part(query.pattern, accept, accept, False)
    return _numbered_from_entry(compiler.states, entry)


def _numbered_from_entry(states: list[_State], entry: int) -> Automaton:
    order: dict[int, int] = {}
    pending = [entry]
    while pending:
        state = pending.pop()
        if state in order:
            continue
        order[state] = len(order)
        node = states[state]
        pending.extend(s for s in (node.other, node.preferred) if s >= 0)
    kept = [states[old] for old in order]
    return Automaton(
        op=tuple(s.op for s in kept),
        var=tuple(s.var for s in kept),
        preferred=tuple(order.get(s.preferred, 0) for s in kept),
        other=tuple(order.get(s.other, 0) for s in kept),
        excluded=tuple(s.excluded for s in kept),
    )
