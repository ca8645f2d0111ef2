"""Variables before they have names: keys, and the names they get by their place in the pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

_NUMBERS = count(1)
_MARK = "\0"
_NOT_A_WORD = re.compile(r"\W+")


def new_key(word: str) -> str:
    """A key that is like no other; `word` is the beginning of its later name."""
    plain = _NOT_A_WORD.sub("_", word).strip("_").lower() or "e"
    return f"{_MARK}{next(_NUMBERS)} {plain if not plain[0].isdigit() else f'e{plain}'}"


def shown(key: str) -> str:
    """How a variable is shown while it may have no name."""
    return key.partition(" ")[2] if key.startswith(_MARK) else key


def numbered(keys: Iterable[str]) -> dict[str, str]:
    """Names for the keys among them, in order: login1, login2; names that are given stay."""
    found = list(dict.fromkeys(keys))
    taken = {key.casefold() for key in found if not key.startswith(_MARK)}
    names: dict[str, str] = {}
    for key in found:
        names[key] = _free(shown(key), taken) if key.startswith(_MARK) else key
        taken.add(names[key].casefold())
    return names


def lettered(keys: Iterable[str]) -> dict[str, str]:
    """Names for the keys among them, in order: A, B, ..., Z, V27, ..."""
    found = list(dict.fromkeys(keys))
    taken = {key for key in found if not key.startswith(_MARK)}
    names: dict[str, str] = {}
    for key in found:
        letters = (chr(ord("A") + number) if number < 26 else f"V{number + 1}" for number in count())
        names[key] = next(name for name in letters if name not in taken) if key.startswith(_MARK) else key
        taken.add(names[key])
    return names


def _free(word: str, taken: set[str]) -> str:
    return next(name for name in (f"{word}{number}" for number in count(1)) if name.casefold() not in taken)
