"""Random event queries over columns of every type and name, classes with odd names, and functions of the host by name.

`event_generate` draws deep queries over few types; this draws plain ones over what `wide_fuzz` draws columns from.
`python -m motif.testing.event_wide_fuzz --cases 20000` runs a campaign; a case is one query over one table.
"""

from __future__ import annotations

import random
import re
import sys
from datetime import timedelta
from typing import Any

import pyarrow as pa

from motif.hosts.duckdb_database import quoted
from motif.lang.snoop import parse_events
from motif.testing.event_reference import fire_events, in_total_order, selected
from motif.testing.fuzz import Tally, run_campaign
from motif.testing.wide_fuzz import NOON, ROWS, Drawn, checked

STEPS = 60_000
FACTS = ("match_id", "match_start", "match_end")
CLASSES = ("A", "B", "my class", "select", "gr\u00f6\u00dfe", "b.c", "a", "SEQ", "it's", "\u65e5\u672c")
PATTERNS = (
    "SEQ({0} p; {1} q)",
    "SEQ({0} p; {1} q?; {2} r)",
    "SEQ({0} p; NOT {1} n; {2} q)",
    "SEQ({0} p; {1} q+)",
    "SEQ({0} p; OR({1} q, {2} r))",
    "SEQ({0} p; ANY(1, {1} q, SEQ({2} r; {0} s)))",
    "ALL({0} p, SEQ({1} q; {2} r))",
    "ALL({0} p, {1} q, {2} r)",
    "OR({0} p, SEQ({1} q; {2} r))",
)


class DrawnEvents(Drawn):
    """A stream of events, and a query over it."""

    hidden = FACTS

    def _table(self) -> pa.Table:
        rng, table = self.rng, super()._table()
        self.classes = rng.sample(CLASSES, 3)
        steps = (
            (0, 1, 1, 2) if all(kind.is_plain for kind in self.kinds.values()) else (1, 2)
        )  # texts of nested ones break ties
        clock, times = NOON, []
        for _ in range(ROWS):
            clock += timedelta(seconds=rng.choice(steps))
            times.append(clock)
        rng.shuffle(times)
        kinds = [rng.choice((*self.classes, None) if rng.random() < 0.1 else self.classes) for _ in times]
        return table.append_column("ts", pa.array(times, pa.timestamp("us"))).append_column("type", pa.array(kinds))

    def _query(self) -> str:
        rng = self.rng
        pattern = rng.choice(PATTERNS).format(*map(quoted, self.classes))
        variables = [name for name in "pqrs" if f'" {name}' in pattern]
        lists = set(re.findall(r'" (\w)\+', pattern))
        items = [f"{self._item(rng.choice(variables), lists)} AS o{number}" for number in range(rng.randint(1, 4))]
        conditions = [
            self._condition_of(rng.choice(variables), rng.choice(variables)) for _ in range(rng.choice((0, 1, 1, 2)))
        ]
        where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
        pick = rng.choice(("", "", "", "\nPICK FIRST p"))
        within = f"\nWITHIN {rng.choice((2, 3, 5))} s"
        consuming = rng.choice(("", "", "\nCONSUMING ALL"))
        return f"SELECT {', '.join(items)}\nFROM {pattern}{where}{pick}{within}{consuming}"

    def _item(self, variable: str, lists: set[str]) -> str:
        name = self.rng.choice(list(self.kinds))
        column, kind = f"{variable}.{quoted(name)}", self.kinds[name]
        if variable in lists:
            forms = [f"COUNT({column})", f"FIRST({column})", f"LAST({column})"]
            return self.rng.choice([*forms, f"MIN({column})", f"MAX({column})"] if kind.is_plain else forms)
        if self.rng.random() < 0.4 and (found := self._function(name, column)):
            return found
        return column

    def _condition_of(self, one: str, other: str) -> str:
        """True of most events, and no equality, by which events would be dealt out to keys."""
        name = self.rng.choice(self.plain or [self.number])
        left, right = (f"{variable}.{quoted(name)}" for variable in (one, other))
        if one == other:
            return f"({left} IS NOT NULL)"
        operator = self.rng.choice(("<=", ">=", "<>", "<"))
        return f"({left} {operator} {right} OR {left} IS NULL OR {right} IS NULL)"


def check_seed(seed: int, *, compiled: bool = False) -> Tally:  # noqa: ARG001 - what is compiled does not know of types
    """One random query over one table."""
    return checked(seed, DrawnEvents(random.Random(seed)), _expected)


def _expected(drawn: DrawnEvents) -> list[dict[str, object]]:
    query, table = parse_events(drawn.text), drawn.table
    events = in_total_order(query, table.to_pylist(), table.column_names)
    fired = fire_events(query, events, functions=drawn.functions, steps=STEPS)
    if not query.consuming:
        fired.sort(key=lambda one: one.rank)
    names = [item.name for item in query.items or ()]

    def end(match: dict[str, Any]) -> Any:
        bound = [
            number for one in match.values() if one is not None for number in (one if isinstance(one, list) else [one])
        ]
        return max(events[number]["ts"] for number in bound)

    matches = sorted((one.match for one in fired), key=end)  # those that end together stay as they are
    values = (selected(query, events, match, drawn.functions) for match in matches)
    return [dict.fromkeys(FACTS) | dict(zip(names, own, strict=True)) for own in values]


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    return run_campaign(check_seed, 1, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
