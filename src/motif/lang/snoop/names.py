"""Variables of a pattern, found by any spelling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """Names as the pattern spells them; `negated` are those of NOT."""

    bound: tuple[str, ...] = ()
    negated: tuple[str, ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    """Classes with a variable of each."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every variable, those of NOT last."""
        return (*self.bound, *self.negated)

    def find(self, name: str) -> str | None:
        """The variable meant by a reference: the same spelling first, then any case."""
        return same_name(name, self.all)


def same_name(name: str, known: Iterable[str]) -> str | None:
    """The name among `known` that is spelled like `name`, or differs from it in case only."""
    names = list(known)
    if name in names:
        return name
    return next((other for other in names if other.casefold() == name.casefold()), None)
