"""Random clauses over columns of every type and name, with functions and aggregates of DuckDB from its catalogue.

`generate` draws deep queries over few types; this draws plain ones over all that a column can be and be called. The
reference judges; what a function of the host gives for a value, or an aggregate for some rows, it asks the host.
`python -m motif.testing.wide_fuzz --cases 20000` runs a campaign; a case is one query over one table.
"""

from __future__ import annotations

import random
import sys
import traceback
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import motif
from motif.errors import LimitExceeded, MotifError, QueryDataError, UnsupportedQuery
from motif.hosts.duckdb_database import Database, quoted
from motif.hosts.duckdb_refused import Refused
from motif.lang.statement import parse_clause
from motif.testing.evaluate import OverRows
from motif.testing.fuzz import REFERENCE_STEPS, Tally, run_campaign, same_answer
from motif.testing.reference import match_rows

ROWS = 24
NOON = datetime(2024, 3, 31, 12)  # noqa: DTZ001 - a time without a zone


@dataclass(frozen=True)
class Kind:
    """A type of columns, and values that meet each other often."""

    type: pa.DataType
    values: tuple[Any, ...]
    is_plain: bool = True
    """Compared, put in order and partitioned by; nested values are only shown here."""


def _whole(kind: pa.DataType) -> Kind:
    """Whole numbers, the least and the greatest too."""
    least = 0 if str(kind).startswith("u") else -(2 ** (kind.bit_width - 1))
    return Kind(kind, (least, 0, 1, 2, least + 2**kind.bit_width - 1))


def _moments(unit: str, zone: str | None = None) -> Kind:
    first = NOON.replace(tzinfo=UTC if zone else None)
    return Kind(pa.timestamp(unit, zone), tuple(first + timedelta(seconds=step) for step in (0, 1, 1, 3600, 86_400)))


PAIR = pa.struct({"a": pa.int64(), "b c": pa.string()})
LONG = Decimal("1234567890123456789012345678.0123456789")
KINDS: Mapping[str, Kind] = {
    **{str(kind): _whole(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): _whole(kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "half": Kind(pa.float16(), tuple(np.float16(value) for value in (-1.5, 0.0, 0.5, 2.0))),
    "float": Kind(pa.float32(), (-1.5, 0.0, 0.25, float("nan"))),
    "double": Kind(pa.float64(), (-1.5, 0.0, 0.1, float("nan"), float("inf"))),
    "decimal": Kind(pa.decimal128(5, 2), (Decimal("-1.25"), Decimal("0.00"), Decimal("999.99"))),
    "wide decimal": Kind(pa.decimal128(38, 10), (Decimal("-1.5"), LONG)),
    "text": Kind(pa.string(), ("", "a", "B", "\u00e4", "\u65e5\u672c", "a'b", 'q"q')),
    "large text": Kind(pa.large_string(), ("a", "b", "c")),
    "binary": Kind(pa.binary(), (b"", b"\x00", b"a", b"\xff")),
    "boolean": Kind(pa.bool_(), (False, True)),
    "date": Kind(pa.date32(), (date(1969, 12, 31), date(2024, 2, 29), date(2024, 3, 1))),
    "time of day": Kind(pa.time64("us"), (time(0), time(12, 30), time(23, 59, 59, 999_999))),
    **{f"timestamp {unit}": _moments(unit) for unit in ("s", "ms", "us", "ns")},
    "zone": _moments("us", "Europe/Berlin"),
    "duration": Kind(pa.duration("us"), (timedelta(0), timedelta(seconds=90), timedelta(days=-1))),
    "dictionary": Kind(pa.dictionary(pa.int32(), pa.string()), ("low", "high", "mid")),
    "uuid": Kind(pa.uuid(), tuple(uuid.UUID(int=number) for number in (0, 1, 2**127, 2**128 - 1))),
    "list": Kind(pa.list_(pa.int64()), ([], [1], [1, None], [2, 3]), is_plain=False),
    "struct": Kind(PAIR, ({"a": 1, "b c": "x"}, {"a": None, "b c": ""}), is_plain=False),
    "map": Kind(pa.map_(pa.string(), pa.int64()), ([("k", 1)], []), is_plain=False),
    "nested": Kind(pa.list_(pa.struct({"d": pa.date32()})), ([{"d": date(2024, 1, 1)}], [{"d": None}]), is_plain=False),
}
NAMES = (
    *("v", "Wert", "select", "from", "a b", "x.y", "gr\u00f6\u00dfe", "\u65e5\u672c", 'qu"ote', "it's", "order", "A"),
    *("1st", "_", "match", "e\u0301", "\u00e9", "last", "null", "\U0001f4a5", "a;b", "--", "/*", "running", "m."),
)
"""Words of the language, what has to be quoted, and two that look alike."""
PATTERNS = ("A", "A+", "A B", "A B*", "A B+ C?", "(A | B) C", "A B{1,2}", "A (B | C)+?", "PERMUTE(A, B)", "A+ B?")
ROWS_PER_MATCH = ("ONE ROW PER MATCH", "", "", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS")
SKIPS = ("", "", "AFTER MATCH SKIP TO NEXT ROW")


class Drawn:
    """A table, a clause over it, and what its functions of the host are."""

    hidden: Sequence[str] = ()
    """Columns of the answer that the reference leaves NULL."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        kinds = rng.sample(sorted(KINDS), rng.randint(2, 5))
        *names, self.number = rng.sample(NAMES, len(kinds) + 1)
        self.kinds = dict(zip(names, (KINDS[kind] for kind in kinds), strict=True))
        self.features = [f"type {kind}" for kind in kinds]
        self.table = self._table()
        self.functions: dict[str, Callable[..., Any]] = {}
        self.plain = [name for name, kind in self.kinds.items() if kind.is_plain]
        self.text = self._query()

    def _table(self) -> pa.Table:
        empty = self.rng.choice((0.0, 0.1, 0.3))
        columns = {}
        for name, kind in self.kinds.items():
            values = [None if self.rng.random() < empty else self.rng.choice(kind.values) for _ in range(ROWS)]
            columns[name] = _column(values, kind.type)
        columns[self.number] = pa.array(self.rng.sample(range(ROWS), ROWS), pa.int64())
        return pa.table(columns)

    def _query(self) -> str:
        """The query, which is a clause here."""
        rng, pattern = self.rng, self.rng.choice(PATTERNS)
        variables = [name for name in "ABC" if name in pattern.replace("PERMUTE", "")]
        keys = rng.sample(self.plain, min(len(self.plain), rng.choice((0, 1, 1, 2))))
        first = [name for name in self.plain if name not in keys and rng.random() < 0.4]
        order = [f"{quoted(name)}{rng.choice(('', ' DESC', ' NULLS FIRST'))}" for name in (*first, self.number)]
        measures = [f"{self._measure(rng.choice(variables))} AS m{number}" for number in range(rng.randint(1, 4))]
        defines = [f"{name} AS {self._condition(name)}" for name in variables if rng.random() < 0.7]
        parts = [
            f"PARTITION BY {', '.join(map(quoted, keys))}" if keys else "",
            f"ORDER BY {', '.join(order)}",
            f"MEASURES {', '.join(measures)}",
            rng.choice(ROWS_PER_MATCH),
            rng.choice(SKIPS),
            f"PATTERN ({pattern})",
            f"DEFINE {', '.join(defines)}" if defines else "",
        ]
        return "MATCH_RECOGNIZE (\n  " + "\n  ".join(part for part in parts if part) + "\n)"

    def _measure(self, variable: str) -> str:
        name = self.rng.choice(list(self.kinds))
        column, kind = f"{variable}.{quoted(name)}", self.kinds[name]
        chance = self.rng.random()
        if chance < 0.25 and (found := self._function(name, f"LAST({column})")):
            return found
        if 0.25 <= chance < 0.45 and (found := self._aggregate(kind.type, column)):
            return found
        forms = [f"FIRST({column})", f"LAST({column})", f"PREV({column})", f"COUNT({column})", f"ARRAY_AGG({column})"]
        forms += [f"MIN({column})", f"MAX({column})", f"COUNT(DISTINCT {column})"] if kind.is_plain else []
        return self.rng.choice(forms)

    def _condition(self, variable: str) -> str:
        column = quoted(self.rng.choice(self.plain or [self.number]))
        forms = (
            f"{column} IS NOT NULL",
            f"{column} >= PREV({column}) OR PREV({column}) IS NULL",
            f"{column} <> PREV({column}) OR {column} IS NULL",
            f"{column} IS NOT DISTINCT FROM FIRST({variable}.{column})",
            f"COALESCE({column} <= LAST({variable}.{column}, 1), TRUE)",
            f"COALESCE({column} < NEXT({column}), TRUE)",
        )
        return self.rng.choice(forms)

    def _function(self, name: str, value: str) -> str | None:
        """A function of one value that the host has; the reference knows what it gives for all values of the column."""
        function = self.rng.choice(_catalogue("scalar"))
        answers = None if function.lower() in self.functions else _answers(function, self.table.column(name))
        if answers is None:
            return None
        self.features.append("function by name")
        self.functions[function.lower()] = lambda argument: answers[repr(argument)]
        return f"{function}({value})"

    def _aggregate(self, kind: pa.DataType, column: str) -> str | None:
        """An aggregate that the host has, over the values of rows in their order."""
        function = self.rng.choice(_catalogue("aggregate"))
        if function.lower() in self.functions or not _takes(function, kind):
            return None
        self.features.append("aggregate by name")
        self.functions[function.lower()] = OverRows(
            lambda rows: _of_host(function, [value for (value,) in rows], kind)[0]
        )
        return f"{function}({column})"


# -- the host's own

OURS = frozenset("count sum avg min max array_agg first last list coalesce prev next classifier".split())
UNSTEADY = tuple(
    "random uuid now current today txid nextval currval pg_ setseed getenv time date age alias sleep".split()
)
"""Other answers at another time, of another session, or under another name."""
ROUGH = tuple("approx reservoir any_value arbitrary histogram entropy kurtosis skew kahan fsum sketch mode".split())
"""What is not exact, or any of several."""
BY_RIGHT = ("does more than compute", "Could not retrieve required statistics")
"""Words with which functions are refused that look at more than values, and one that has to be told bounds."""


@cache
def _host() -> Database:
    return Database({})


@cache
def _catalogue(kind: str) -> tuple[str, ...]:
    """Names of functions of one argument."""
    functions = f"duckdb_functions() WHERE function_type = '{kind}' AND len(parameters) = 1"
    sql = f"SELECT DISTINCT function_name FROM {functions}"
    names = sorted(name for (name,) in _host().connection.execute(sql).fetchall())  # which queries may not ask
    left_out = (*UNSTEADY, *ROUGH)
    return tuple(
        name
        for name in names
        if name.isidentifier() and name[0] != "_" and name not in OURS and not any(word in name for word in left_out)
    )


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([value.bytes if isinstance(value, uuid.UUID) else value for value in values], kind)


def _of_host(function: str, values: Sequence[Any], kind: pa.DataType) -> list[Any]:
    """What the host gives for values in one column."""
    _host().add("given", pa.table({"c": _column(values, kind)}))
    found = _host().table(f"SELECT {function}(c) AS f FROM given")
    return [_as_shown(value) for value in found.column("f").to_pylist()]


def _as_shown(value: Any) -> Any:
    """An interval as Motif shows it."""
    if isinstance(value, pa.MonthDayNano) and not value.months:
        return timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    return value


def _answers(function: str, column: pa.ChunkedArray) -> dict[str, Any] | None:
    """What the host makes of each value, and of NULL; None where it does not take them."""
    values = [*column.to_pylist(), None]
    try:
        return dict(zip(map(repr, values), _of_host(function, values, column.type), strict=True))
    except (Refused, OverflowError):  # of an interval that Python cannot hold
        return None


def _takes(function: str, kind: pa.DataType) -> bool:
    try:
        return len(_of_host(function, [], kind)) == 1
    except Refused:
        return False


# -- both ways


def check_seed(seed: int, *, compiled: bool = False) -> Tally:  # noqa: ARG001 - what is compiled does not know of types
    """One random clause over one table."""
    return checked(seed, Drawn(random.Random(seed)), _expected)


def checked(seed: int, drawn: Drawn, expected_of: Callable[[Any], list[dict[str, object]]]) -> Tally:
    """What Motif answers, held against what the reference says."""
    tally = Tally(queries=1, cases=1)
    shown = f"{drawn.text}\n{drawn.table.schema}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = motif.match(drawn.table, drawn.text).to_pylist()
        expected = expected_of(drawn)
    except (UnsupportedQuery, QueryDataError, Refused) as error:
        tally.refused += 1
        tally.features[f"refused: {str(error).splitlines()[0][:60]}"] += 1
    except LimitExceeded:
        tally.too_long += 1
    except MotifError as error:
        if any(words in error.message for words in BY_RIGHT):
            tally.refused += 1
        else:
            tally.differences.append(f"seed {seed}: refused\n{shown}\n{error}")
    except Exception:  # noqa: BLE001 - a campaign reports crashes of any kind
        tally.differences.append(f"seed {seed}: crashed\n{shown}\n{traceback.format_exc(limit=-6)}")
    else:
        tally.features.update([*drawn.features, "judged by the reference"])
        tally.matched += bool(expected)
        got = [row | dict.fromkeys(drawn.hidden) for row in got]
        if not same_answer(expected, got):
            pairs = enumerate(zip(expected, got, strict=False))
            place = next((number for number, (one, other) in pairs if not same_answer([one], [other])), 0)
            tally.differences.append(
                f"seed {seed}: differs from the reference\n{shown}\n"
                f"  expected {len(expected)} rows, got {len(got)}; row {place}\n"
                f"  expected {expected[place : place + 1]}\n  got {got[place : place + 1]}"
            )
    return tally


def _expected(drawn: Drawn) -> list[dict[str, object]]:
    query, table = parse_clause(drawn.text), drawn.table
    return match_rows(query, table.to_pylist(), table.column_names, drawn.functions, REFERENCE_STEPS)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign on several processes and report it."""
    return run_campaign(check_seed, 1, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
