"""Texts that are ordered and look like times: as texts, 03/01/2026 comes behind 01/02/2026 whatever they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from motif.errors import MotifWarning
from motif.ir.expr import Column, Expr
from motif.ir.query import Order
from motif.ir.types import Kind, Type
from motif.plan.program import Program
from motif.plan.source import HostRefusal
from motif.slips import tell

SAMPLE = 1_000
"""Texts that are looked at."""
_NUMBERS = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})")
_NAMED = re.compile(r"\d{1,2}([ -])([A-Za-z]{3,9})\1(\d{4}|\d{2})")
_CLOCK = re.compile(r"([ T])\d{1,2}:\d{2}(:\d{2})?")
_OF_SPARK = {"%d": "dd", "%m": "MM", "%Y": "yyyy", "%y": "yy", "%b": "MMM", "%B": "MMMM", "%H": "HH", "%M": "mm"}


class Texts(Protocol):
    """What a host can say of the columns of an input; raises HostRefusal for what it cannot."""

    dialect: str

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        """Types of row expressions."""
        ...

    def sample(self, expr: Expr, rows: int) -> list[str]:
        """Some values that are not NULL, as texts."""
        ...


def tell_text_times(program: Program, source: Texts) -> None:
    """Say where rows are ordered by texts that are times for those who wrote them."""
    for item in program.query.order:
        slip = _slip(program, item, source)
        if slip is not None:
            tell(slip)


def _slip(program: Program, item: Order, source: Texts) -> MotifWarning | None:
    if not isinstance(item.expr, Column):
        return None
    with suppress(HostRefusal):
        if source.types_of([item.expr])[0].kind is not Kind.STRING:
            return None
        texts = source.sample(item.expr, SAMPLE)
        if forms := forms_of(texts):
            name = item.expr.name
            ways = [_call(item.expr, form, source.dialect) for form in forms]
            both = f"; {ways[1]} if the month comes first" if len(ways) > 1 else ""
            return MotifWarning(
                f"{name} is a text such as {texts[0]!r}, and texts do not sort as the times they stand for",
                source=program.query.source,
                span=item.span,
                hint=f"write ORDER BY {ways[0]}{both}",
            )
    return None


def forms_of(texts: Sequence[str]) -> list[str]:
    """How texts are written that are all times, but do not sort as such: two forms where the month may come first."""
    found = [form for form in _forms(texts[0]) if all(form in _forms(text) for text in texts)] if texts else []
    return [] if any(form.startswith("%Y") for form in found) and len({len(text) for text in texts}) == 1 else found


def _forms(text: str) -> list[str]:
    """Every form in which one text can be read; day first before month first."""
    text = text.strip()
    date = _NUMBERS.match(text) or _NAMED.match(text)
    if date is None:
        return []
    clock = _CLOCK.fullmatch(text[date.end() :])
    if date.end() < len(text) and clock is None:
        return []
    time = "" if clock is None else f"{clock[1]}%H:%M{':%S' if clock[2] else ''}"
    return [form + time for form in _date_forms(date)]


def _date_forms(date: re.Match[str]) -> Iterator[str]:
    if date.re is _NAMED:
        yield date[1].join(("%d", "%b" if len(date[2]) == 3 else "%B", "%Y" if len(date[3]) == 4 else "%y"))
        return
    first, sign, second, third = date[1], date[2], int(date[3]), date[4]
    if len(first) == 4 and second <= 12 and len(third) <= 2:
        yield sign.join(("%Y", "%m", "%d"))
    if len(first) > 2 or len(third) not in (2, 4):
        return
    year = "%Y" if len(third) == 4 else "%y"
    if int(first) <= 31 and second <= 12:
        yield sign.join(("%d", "%m", year))
    if int(first) <= 12 and second <= 31:
        yield sign.join(("%m", "%d", year))


def _call(column: Column, form: str, dialect: str) -> str:
    """What makes a time of the text."""
    if dialect == "spark":
        for duckdb, spark in (*_OF_SPARK.items(), ("%S", "ss"), ("T", "'T'")):
            form = form.replace(duckdb, spark)
        return f"to_timestamp({column.name}, '{form}')"
    return f"strptime({column.name}, '{form}')"
