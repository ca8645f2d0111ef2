"""What DuckDB says of a mistake, in our words: the message, and below it one hint."""

from __future__ import annotations

import re
from collections.abc import Callable

from motif.errors import did_you_mean, perhaps

_OF_PATTERNS = ("PREV", "NEXT", "FIRST", "LAST", "CLASSIFIER", "MATCH_NUMBER", "COUNT", "SUM", "AVG", "MIN", "MAX")
_NAMED = re.compile(r'"((?:[^"]|"")+)"')
_A_TIME = "write it like '2026-03-01 09:00:00' or '2026-03-01'"
_TEXT_TIME = "make the text a time: CAST it if it is like 2026-03-01 09:00:00, else strptime(text, '%d/%m/%Y %H:%M')"
SEVERAL_ROWS = "a sub-query gives more than one row"
_ONE_SIDE = "CAST one side to the type of the other"


def in_our_words(said: str) -> str:
    """The same where we can say it better, else what DuckDB said."""
    first, _, rest = said.partition("\n")
    for pattern, words in _WORDS:
        if found := pattern.match(first):
            return words(found, rest)
    return said


def _no_function(found: re.Match[str], rest: str) -> str:
    name = found[1]
    near = perhaps(name, (*_OF_PATTERNS, *_NAMED.findall(rest)))
    return f"there is no function {name}\n{near or 'give one that DuckDB has; event queries take yours in functions='}"


def _no_name(what: str) -> Callable[[re.Match[str], str], str]:
    def words(found: re.Match[str], rest: str) -> str:
        near = did_you_mean(found[1], [name.replace('""', '"') for name in _NAMED.findall(rest)])
        return f"unknown {what} {found[1]}\n{near or 'name one that is there'}"

    return words


def _wrong_types(found: re.Match[str], _rest: str) -> str:
    types = found[2].replace("_LITERAL", "").replace(", ", " and ")
    hint = "CAST the arguments to types that it takes, and give no more than it takes"
    if not found[1][0].isalpha():
        hint = _side_hint(types)
    return f"{found[1]} does not take {types}\n{hint}"


def _not_comparable(one: str, other: str) -> str:
    return f"cannot compare {one} with {other}\n{_side_hint(f'{one} {other}')}"


def _side_hint(types: str) -> str:
    """What makes two values comparable."""
    is_text = re.search(r"\b(VARCHAR|STRING)\b", types)
    is_time = re.search(r"\b(INTERVAL|TIMESTAMP|DATE)\b", types)
    if is_time and re.search(r"INT\b|INTEGER|DOUBLE|DECIMAL", types):
        return "write a length of time as INTERVAL '5' MINUTE"
    return _TEXT_TIME if is_text and is_time else _ONE_SIDE


def _with_hint(hint: str) -> Callable[[re.Match[str], str], str]:
    return lambda found, _: f"{found.string}\n{hint}"


_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str]], ...] = (
    (re.compile(r"(?:Scalar |Aggregate |Table )?Function with name (\S+) does not exist!"), _no_function),
    (re.compile(r'Referenced column "(.+)" (?:was )?not found'), _no_name("column")),
    (re.compile(r'Referenced table "(.+)" not found'), _no_name("table")),
    (re.compile(r"No function matches the given name and argument types '([^(]+)\((.+)\)'"), _wrong_types),
    (
        re.compile(r"Cannot compare values of type (\w+) and type (\w+)"),
        lambda found, _: _not_comparable(found[1], found[2].removesuffix("_LITERAL")),
    ),
    (
        re.compile("Window functions are not supported here|.*cannot contain window functions"),
        lambda *_: "functions with OVER do not fit here\nwrite PREV(x) or NEXT(x), or compute it in a sub-query before",
    ),
    (
        re.compile("More than one row returned by a subquery"),
        lambda *_: f"{SEVERAL_ROWS}, and one value is wanted\nwrite IN (SELECT ...), or LIMIT 1",
    ),
    (re.compile("(?:Could not convert string|Conversion Error)"), _with_hint("give a value of that type")),
    (re.compile("(?:invalid )?(?:timestamp|date|time) field"), _with_hint(_A_TIME)),
    (re.compile("extract specifier"), _with_hint("write 'year', 'month', 'day', 'hour', 'minute' or 'second'")),
)
