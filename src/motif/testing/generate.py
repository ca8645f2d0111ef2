"""Random queries and rows, the same for the same seed.

Queries are text, so that parsers are tested too, and valid by construction: types agree, navigation stays on one
variable, nothing overflows. Most conditions are easy to satisfy, so that most random queries find something.
"""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal

from motif.ir.pattern import Pattern, variables
from motif.testing.features import features
from motif.testing.random_expr import ExprWriter
from motif.testing.random_pattern import always_bound, pattern_text, possible_first, random_pattern

__all__ = ["COLUMNS", "features", "random_clause", "random_example", "random_rows"]

COLUMNS = {
    "k": "VARCHAR",
    "g": "INTEGER",
    "t": "BIGINT",
    "ts": "TIMESTAMP",
    "v": "BIGINT",
    "w": "DOUBLE",
    "d": "DECIMAL(10,2)",
    "c": "VARCHAR",
    "b": "BOOLEAN",
    "day": "DATE",
}
"""The table that random queries read: names and SQL types, in order."""

PARTITIONS = ("k", "k", "k", "g", "k, g", "g, k", "UPPER(k) AS uk", "COALESCE(g, -1) AS g0", "k, g % 2 AS odd")
ROWS = (
    "ONE ROW PER MATCH",
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
)
SUBSETS = "UV"


def random_example(
    rng: random.Random, partitions: int = 30, *, with_queries: bool = False
) -> tuple[str, list[dict[str, object]]]:
    """A clause and rows for it; without PARTITION BY the rows stay few, since all of them are one partition."""
    clause = random_clause(rng, with_queries=with_queries)
    if "PARTITION BY" in clause:
        return clause, random_rows(rng, partitions)
    return clause, random_rows(rng, 1)


# --- clauses --------------------------------------------------------------------------------------------------


def random_clause(rng: random.Random, *, with_queries: bool = False) -> str:
    """The text of a MATCH_RECOGNIZE clause over `COLUMNS`; some have sub-queries, if they may."""
    rows = rng.choice(ROWS)
    pattern = random_pattern(rng, "ABCD"[: rng.choice((1, 2, 2, 3, 3, 4))], exclusion="UNMATCHED" not in rows)
    names = variables(pattern)
    subsets = _subsets(rng, names)
    order, within = _order(rng)
    all_names = [*names, *subsets]
    parts = [
        f"PARTITION BY {rng.choice(PARTITIONS)}" if rng.random() < 0.9 else "",
        f"ORDER BY {order}",
        _measures(rng, all_names, names, with_queries=with_queries),
        rows if rows != "ONE ROW PER MATCH" or rng.random() < 0.5 else "",
        _skip(rng, pattern, subsets),
        rng.choice(("", "", "", "", "MAXIMAL MATCH", "INCREMENTAL MATCH")),
        f"PATTERN ({pattern_text(pattern, rng)})",
        within,
        _subset_clause(subsets),
        _defines(rng, all_names, names, with_queries=with_queries),
    ]
    return "MATCH_RECOGNIZE (\n  " + "\n  ".join(part for part in parts if part) + "\n)"


def _subsets(rng: random.Random, names: tuple[str, ...]) -> dict[str, list[str]]:
    count = rng.choice((0, 0, 1, 1, 2)) if names else 0
    return {SUBSETS[i]: rng.sample(names, rng.randint(1, len(names))) for i in range(count)}


def _subset_clause(subsets: dict[str, list[str]]) -> str:
    items = [f"{name} = ({', '.join(members)})" for name, members in subsets.items()]
    return f"SUBSET {', '.join(items)}" if items else ""


def _order(rng: random.Random) -> tuple[str, str]:
    """ORDER BY items and a WITHIN clause that fits the first of them."""
    first = rng.choice(("t", "t", "t", "ts", "ts", "day", "w", "v"))
    rest = [name for name in rng.sample("vcdb", rng.choice((0, 0, 0, 1, 2))) if name != first]
    return ", ".join(_order_item(rng, name) for name in (first, *rest)), _within(rng, first)


def _order_item(rng: random.Random, name: str) -> str:
    direction = rng.choice(("", "", "", " ASC", " DESC", " DESC"))
    return name + direction + rng.choice(("", "", "", " NULLS FIRST", " NULLS LAST"))


def _within(rng: random.Random, order: str) -> str:
    if rng.random() < 0.7 or order not in ("t", "ts", "day"):
        return ""
    if order == "t":
        return f"WITHIN {rng.randint(0, 8)}"
    lengths = ("'2' MINUTE", "'90' SECOND", "'10' MINUTE") if order == "ts" else ("'1' DAY", "'2' DAY")
    return f"WITHIN INTERVAL {rng.choice(lengths)}"


def _measures(rng: random.Random, names: list[str], labels: tuple[str, ...], *, with_queries: bool) -> str:
    if not names:
        return "MEASURES MATCH_NUMBER() AS m0, COUNT(*) AS m1"
    writer = ExprWriter(rng, names, labels, with_queries=with_queries)
    items = [f"{writer.measure()} AS m{i}" for i in range(rng.randint(1, 4))]
    if with_queries and rng.random() < 0.3:
        items.append(f"{writer.condition(1)} AS q")
    return f"MEASURES {', '.join(items)}"


def _defines(rng: random.Random, names: list[str], labels: tuple[str, ...], *, with_queries: bool) -> str:
    defined = [name for name in labels if rng.random() < 0.8]
    writers = {name: ExprWriter(rng, names, labels, name, with_queries) for name in defined}
    items = [f"{name} AS {writer.definition()}" for name, writer in writers.items()]
    return f"DEFINE {', '.join(items)}" if items else ""


def _skip(rng: random.Random, pattern: Pattern, subsets: dict[str, list[str]]) -> str:
    members = {name: [name] for name in variables(pattern)} | subsets
    bound, firsts = always_bound(pattern), possible_first(pattern)
    safe = [name for name, of in members.items() if bound & set(of) and not firsts & set(of)]
    safe_subsets = [name for name in safe if name in subsets]
    target = rng.choice(safe_subsets or safe) if safe else ""
    if members and rng.random() < 0.01:  # an error for some rows: every engine has to raise it
        target = rng.choice(list(members))
    if target and rng.random() < 0.7:
        return f"AFTER MATCH SKIP TO {rng.choice(('', 'FIRST ', 'LAST '))}{target}"
    return rng.choice(("", "", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"))


# --- rows -----------------------------------------------------------------------------------------------------

EPOCH = datetime(2024, 1, 1)  # noqa: DTZ001  TIMESTAMP has no zone
EARLIEST = datetime(1, 1, 3)  # noqa: DTZ001
LATEST = datetime(9999, 12, 29, 23, 59, 59, 999_999)  # noqa: DTZ001
FARTHEST = 2**63 - 1


def random_rows(rng: random.Random, partitions: int, max_rows: int = 20) -> list[dict[str, object]]:
    """Rows of that many keys, shuffled: ties, exact duplicates, NULLs, NaN, and now and then extreme times."""
    rows = [row for number in range(partitions) for row in _random_partition(rng, number, max_rows)]
    rng.shuffle(rows)
    return rows


def _random_partition(rng: random.Random, number: int, max_rows: int) -> list[dict[str, object]]:
    size = rng.randint(9, 20) if rng.random() < 0.03 else rng.choice((0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8))
    extremes = rng.random() < 0.05
    key: dict[str, object] = {"k": f"p{number}", "g": None if number % 11 == 5 else number}
    rows: list[dict[str, object]] = []
    clock = rng.randint(-5, 5)
    for _ in range(min(size, max_rows)):
        clock += rng.choice((0, 0, 1, 1, 1, 2, 4))
        rows.append(dict(rows[-1]) if rows and rng.random() < 0.08 else key | _random_row(rng, clock, extremes))
    return rows


def _random_row(rng: random.Random, clock: int, extremes: bool) -> dict[str, object]:
    far = extremes and rng.random() < 0.4
    ends = (EARLIEST, LATEST)
    return {
        "t": rng.choice((-FARTHEST, FARTHEST)) if far else _or_null(rng, 0.03, clock),
        "ts": rng.choice(ends) if far else _or_null(rng, 0.03, EPOCH + timedelta(seconds=30 * clock)),
        "v": _or_null(rng, 0.12, rng.choice((-2, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6))),
        "w": _or_null(rng, 0.1, float("nan") if rng.random() < 0.04 else rng.randint(-4, 16) * 0.25),
        "d": _or_null(rng, 0.1, Decimal(rng.randint(-8, 36) * 25) / 100),
        "c": _or_null(rng, 0.08, rng.choice("aaabbbccd")),
        "b": _or_null(rng, 0.15, rng.random() < 0.6),
        "day": _or_null(rng, 0.05, date(2024, 2, 27) + timedelta(days=clock // 2)),
    }


def _or_null(rng: random.Random, chance: float, value: object) -> object:
    return None if rng.random() < chance else value
