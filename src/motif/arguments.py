"""What callers give besides a query: each thing is checked where it arrives, and told by the name of its argument."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from motif.errors import MotifError, did_you_mean


def type_name(given: object) -> str:
    """How people call the type of a thing."""
    return "None" if given is None else f"of type {type(given).__name__}"


def check_choice(what: str, given: object, choices: tuple[str, ...]) -> None:
    """Raise unless an option is one of its words."""
    if given not in choices:
        raise MotifError(f"{what}= does not know {given!r}", hint=did_you_mean(str(given), choices))


def check_column(what: str, given: object, example: str) -> None:
    """Raise unless it can be the name of a column."""
    if not isinstance(given, str) or not given:
        shown = "is empty" if given == "" else f"cannot be {type_name(given)}"
        raise MotifError(f"{what}= {shown}", hint=f'give the name of a column: {what}="{example}"')


def names_of(what: str, given: object) -> tuple[str, ...]:
    """One column or several."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        shown = repr(given) if isinstance(given, str | int | float | list | tuple | set | None) else type_name(given)
        raise MotifError(f"{what}= cannot be {shown}", hint=f'name a column, or several: {what}=["user", "device"]')
    return tuple(names)


def check_tables(what: str, given: object) -> None:
    """Raise unless these are tables by name, whose names the host can tell apart."""
    if not isinstance(given, Mapping):
        raise MotifError(f"{what} cannot be {type_name(given)}", hint='give each table a name: {"trades": trades}')
    taken: dict[str, str] = {}
    for name in given:
        if not isinstance(name, str) or not name:
            raise MotifError(f"{name!r} cannot be the name of a table", hint='give it a name: {"trades": trades}')
        if (other := taken.setdefault(name.casefold(), name)) != name:
            raise MotifError(f"tables {other} and {name} differ in capitals only", hint="rename one of them")


def check_capitals(table: str, names: Iterable[str]) -> None:
    """Raise unless no two columns of a table differ in capitals only."""
    folded: dict[str, str] = {}
    for name in names:
        if name.casefold() in folded:
            raise columns_alike(table, folded[name.casefold()], name)
        folded[name.casefold()] = name


def columns_alike(table: str, one: str, other: str) -> MotifError:
    """What is wrong with two columns that no query can tell apart; a host might read one of them for the other."""
    if one == other:
        return MotifError(f"{table} has two columns {one}", hint="rename one of them")
    return MotifError(
        f"{table} has the columns {one} and {other}, which differ in capitals only", hint="rename one of them"
    )


def check_session(what: str, given: object) -> None:
    """Raise unless it can be a Spark session."""
    if not hasattr(given, "sql"):
        raise MotifError(f"{what} cannot be {type_name(given)}", hint="give a session, such as spark")


def file_path(given: object, example: str) -> Path:
    """Where to write a file, or to read it."""
    if not isinstance(given, str | os.PathLike) or not Path(given).name:
        raise MotifError(f"a file cannot be {given!r}", hint=f"name a file: {example!r}")
    return Path(given)


def not_a_query(given: object) -> MotifError:
    """What is wrong with something that was given in the place of a query."""
    if isinstance(given, os.PathLike):
        hint = "give the text of the file: path.read_text()"
    elif hasattr(given, "__arrow_c_stream__") or hasattr(given, "columns"):
        hint = "give the query in this place: motif.match(data, query), motif.sql(query, tables=...)"
    else:
        hint = "give the text of a query, or one made with motif.seq(...) or motif.rows(...)"
    return MotifError(f"a query cannot be {type_name(given)}", hint=hint)


def not_a_table(given: Any) -> MotifError:
    """What is wrong with something that was given in the place of a table."""
    if isinstance(given, Mapping):
        hint = "one table is given as itself; make one of columns with pyarrow.table(columns)"
    elif isinstance(given, list | tuple) and given and all(isinstance(row, Mapping) for row in given):
        hint = "make one of the rows: pyarrow.Table.from_pylist(rows)"
    else:
        hint = "give a path, or a pyarrow, pandas or Polars table (or a Spark DataFrame to motif.match)"
    return MotifError(f"a table cannot be {type_name(given)}", hint=hint)
